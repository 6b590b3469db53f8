"""Every term that is drawn has TLC's value in the compiled specification, and fails there if it fails in TLC."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from lockstep.tla.values.kinds import Fcn, format_value
from tests.support.sampling import SEED
from tests.support.tla.tla_term_maker import made_up
from tests.support.tla.tla_term_values import (
    Comparison,
    Failed,
    answers_of_compiled,
    answers_of_tlc,
    ask_tlc,
    compare,
    compared,
    compile_terms,
    reduced,
)
from tests.support.tla.tla_terms import ERRORS, INT, Term

pytestmark = pytest.mark.filterwarnings("ignore::lockstep.tla.values.function_operators.ExceptWarning")

#: Number of terms that every run compares, that are compared at night, and that one run of TLC evaluates.
IN_EVERY_RUN, AT_NIGHT, BATCH = 60, 5_000, 500


def described(folder: Path, made: Sequence[Term], outcome: Comparison) -> str:
    """Return the message for terms that differ: the smallest terms that still differ in the same way."""
    smallest = reduced(folder, [made[place] for place in outcome.differing])
    shown = compare(folder / "smallest", [str(term) for term in smallest]).differing.values()
    return f"seed {SEED}: {len(outcome.differing)} terms differ from TLC, such as\n" + "\n".join(
        sorted({str(difference) for difference in shown}, key=len)
    )


def check(folder: Path, made: Sequence[Term]) -> Comparison:
    outcome = compare(folder, [str(term) for term in made])
    if outcome.differing:
        pytest.fail(described(folder / "reduced", made, outcome))
    return outcome


# ---- Made-up terms ----


def test_a_few_made_up_terms_are_worth_what_tlc_says(tmp_path: Path) -> None:
    outcome = check(tmp_path, made_up(IN_EVERY_RUN))
    assert 0.1 * IN_EVERY_RUN < outcome.failing < 0.5 * IN_EVERY_RUN, "too few terms fail in TLC, or too many"


@pytest.mark.nightly
def test_thousands_of_made_up_terms_are_worth_what_tlc_says(tmp_path: Path) -> None:
    made = made_up(AT_NIGHT)
    for start in range(0, AT_NIGHT, BATCH):
        outcome = check(tmp_path / str(start), made[start : start + BATCH])
        assert 0.1 * BATCH < outcome.failing < 0.5 * BATCH


#: Constructs of the language and its standard modules; each must occur in some term.
CONSTRUCTS = (
    r"/\ \/ ~( => <=> = # \in \notin \subseteq < <= > >= + - * \div % ^ .. (-",
    r"TRUE FALSE BOOLEAN STRING Nat Int Seq(",
    r"SUBSET UNION \cup \cap \X \A \E CHOOSE DOMAIN EXCEPT @ !.a ![ LAMBDA",
    r"IF CASE OTHER LET RECURSIVE |-> -> :> @@ << {",
    r"Len( Head( Tail( Append( SubSeq( SelectSeq( SortSeq( \o",
    r"Cardinality( IsFiniteSet( Permutations( ToString( Assert(",
    r"(+) (-) SetToBag( BagToSet( BagIn( BagUnion( BagOfAll( SubBag( BagCardinality( CopiesIn(",
    r"EmptyBag IsABag( \sqsubseteq",
    r"Twice( Apply( Second( Pick( Sum( Count( Reverse( Swap( fact[ table[ Inner!Add( Inner!Both( ++",
)


#: Other signs, which contain some of them.
OTHERS = ("==", ">>", "IN", "THEN", "ELSE", "UNCHANGED", '"')


def test_every_construct_of_the_subset_occurs_in_some_term() -> None:
    texts = "\n".join(map(str, made_up(1_500)))
    for error in ERRORS:  # what occurs in them only never has a value
        texts = texts.replace(error, "")
    constructs = {construct for line in CONSTRUCTS for construct in line.split()}
    longest_first = sorted({*constructs, *OTHERS}, key=len, reverse=True)
    found = set(re.findall("|".join(map(re.escape, longest_first)), texts))
    assert constructs - found == set()


# ---- The oracle ----


def test_the_oracle_distinguishes_values_from_errors(tmp_path: Path) -> None:
    texts = ["1 + 1", "Head(<<>>)", "[a |-> {1, 2}]", '1 = "p"', "m1", "fact[4]", "Print(3, 4)"]
    answers = answers_of_tlc(tmp_path, texts)
    assert [type(answer) is Failed for answer in answers] == [False, True, False, True, False, False, False]
    assert answers[0] == 2
    assert answers[2] == Fcn({"a": frozenset({1, 2})})


def test_a_difference_is_found_and_shown(tmp_path: Path) -> None:
    theirs = ask_tlc(tmp_path, ["4", "Head(<<>>)", "1 + 2147483647"])
    assert not compared([4, Failed(), Failed()], theirs).differing
    outcome = compared([5, 6, Failed()], theirs)
    assert [str(difference) for difference in outcome.differing.values()] == [
        "4\n    here: 5\n    TLC:  4",
        "Head(<<>>)\n    here: 6\n    TLC:  an error",
    ]


def test_a_term_is_made_small_by_what_stands_within_it() -> None:
    one, scope = Term(INT, ("1",)), frozenset({"x"})
    bound = Term(INT, ("x",), scope, name="x")
    body = Term(INT, ("(", bound, " + ", one, ")"), scope)
    term = Term(INT, ("(LET x == ", one, " IN ", body, ")"), binds=frozenset({"x"}))
    simpler = [str(other) for other in term.smaller()]
    assert "1" in simpler
    assert "x" not in simpler, "a variable means nothing outside the LET that binds it"
    assert "(LET x == 1 IN x)" in simpler


# ---- Where TLC's answer depends on more than the term ----

#: Terms whose value by TLC 2.15 is wrong, or depends on how an equal value was written; terms that are drawn
#: have none of them. Each has TLC's value and the compiled specification's (None: an error).
KNOWN = {
    r"{0 : x, y \in SUBSET {}}": ("{}", "{0}"),
    '<<"p">> = "p"': ("TRUE", None),
    '"p" = <<"p">>': (None, None),
    "[a |-> 1] = <<1, 2>>": (None, "FALSE"),
    "<<1, 2>> = [a |-> 1]": ("FALSE", "FALSE"),
    "[<<>> EXCEPT ![TRUE] = 1]": (None, "<<>>"),
    r"[[x \in {} |-> x] EXCEPT ![TRUE] = 1]": ("<<>>", "<<>>"),
    "<<m1>> = (m2 :> m1)": (None, "FALSE"),
    r"SortSeq(<<>>, LAMBDA x, y : 0)": (None, "<<>>"),
    r"BagOfAll(LAMBDA x : 1, SetToBag({2}))": (None, "<<1>>"),
    '[a |-> 1, b |-> TRUE] = [a |-> 2, b |-> "p"]': ("FALSE", "FALSE"),
    '[a |-> TRUE, b |-> 1] = [a |-> "p", b |-> 2]': (None, "FALSE"),
}


def test_the_terms_that_are_known_to_differ_from_tlc_differ_as_listed(tmp_path: Path) -> None:
    texts = list(KNOWN)
    theirs = answers_of_tlc(tmp_path, texts)
    ours = answers_of_compiled(compile_terms(tmp_path, texts), len(texts))
    shown = [
        [None if isinstance(answer, Failed) else format_value(answer) for answer in each] for each in (theirs, ours)
    ]
    assert dict(zip(texts, zip(*shown, strict=True), strict=True)) == KNOWN
