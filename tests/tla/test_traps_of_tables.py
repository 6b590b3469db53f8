"""Small specs on which a search by tables, which reads only parts of a state, could find something else than TLC."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from lockstep.base.errors import GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.tables import evaluator, expander, table_search
from lockstep.tla.tables.table_search import explore_by_tables
from lockstep.tla.values import bag_operators
from tests.support.sampling import sampled
from tests.support.tla.tables import differences


def written(folder: Path, text: str, *cfg: str) -> tuple[Path, Path]:
    """A module of these lines, and its cfg."""
    module, config = folder / "M.tla", folder / "M.cfg"
    module.write_text(f"---- MODULE M ----\nEXTENDS Integers, Sequences, FiniteSets, TLC\n{text}\n====\n")
    config.write_text("\n".join(["INIT Init", "CHECK_DEADLOCK FALSE", *cfg, ""]))
    return module, config


def parsed_in(folder: Path) -> Path:
    """The folder of compiled specs of all tests here: many a module is loaded with several configurations."""
    return folder.parent / "parsed"


def differ(folder: Path, text: str, *cfg: str) -> list[str]:
    """List the differences of tables from the search state by state."""
    return differences(load_spec(*written(folder, text, *cfg), cache_dir=parsed_in(folder)))


# ---- Domains that differ in kind only ----

FROM_NUMBERS_TO_TRUTHS = """VARIABLES f, n
Init == f = [x \\in {0, 1} |-> 5] /\\ n = 0
Next == n < 3 /\\ n' = n + 1 /\\ (f' = [x \\in BOOLEAN |-> 5] \\/ f' = f)
Sets == n < 3 /\\ n' = n + 1 /\\ f' = [x \\in {{n}} |-> 5]
Inv == DOMAIN f = {0, 1}"""


def test_a_domain_that_becomes_another_in_kind_only_is_compared_where_the_spec_compares_it(tmp_path: Path) -> None:
    files = written(tmp_path, FROM_NUMBERS_TO_TRUTHS, "NEXT Next", "INVARIANT Inv")
    assert differ(tmp_path, FROM_NUMBERS_TO_TRUTHS, "NEXT Next", "INVARIANT Inv") == []
    found = explore_spec(SpecFiles(*files), Engine.TABLES)
    assert found.verdict is Verdict.MALFORMED
    assert "cannot be compared" in found.reason


@pytest.mark.parametrize(
    "other",
    sampled(
        ["[x \\in BOOLEAN |-> 5]", "[x \\in {{TRUE}} |-> 5]", "[x \\in {<<FALSE>>} |-> 5]"],
        ["[x \\in {{TRUE}} |-> 5]"],
    ),
)
def test_initial_domains_that_differ_in_kind_only_are_not_taken_apart(other: str, tmp_path: Path) -> None:
    like = other.replace("BOOLEAN", "{0, 1}").replace("TRUE", "1").replace("FALSE", "0")
    text = (
        f"VARIABLES f, n\nInit == n \\in 0..1 /\\ f = IF n = 0 THEN {like} ELSE {other}\nNext == UNCHANGED f /\\ n' = 0"
    )
    found = explore_by_tables(load_spec(*written(tmp_path, text, "NEXT Next"), cache_dir=parsed_in(tmp_path)))
    assert (found.distinct, found.generated) == (3, 5)


BEHIND_SYMMETRY = """CONSTANT P
VARIABLES x, y
Init == x = [ok |-> 1] /\\ y \\in P
Next == x' = [ok |-> TRUE] /\\ y' \\in P
Same == Permutations(P)
Inv == ToString(x) # "[ok |-> TRUE]"
"""


def test_states_that_differ_in_kind_only_are_not_taken_for_images_of_one_another(tmp_path: Path) -> None:
    files = written(tmp_path, BEHIND_SYMMETRY, "NEXT Next", "INVARIANT Inv", "SYMMETRY Same", "CONSTANT P = {p, q}")
    for engine in (Engine.COMPILED, Engine.TABLES):
        found = explore_spec(SpecFiles(*files), engine)
        assert (found.verdict, found.property, found.distinct) == (Verdict.VIOLATED, "Inv", 2)


def test_images_are_found_whichever_of_them_was_met_first(tmp_path: Path) -> None:
    """An image of a state is compared with that image, and not with the state."""
    text = """CONSTANT P
VARIABLE x
Init == x \\in {{<<p, 1>>} : p \\in P}
Next == UNCHANGED x
Same == Permutations(P)"""
    files = written(tmp_path, text, "NEXT Next", "SYMMETRY Same", "CONSTANT P = {p, q}")
    assert differences(load_spec(*files, cache_dir=parsed_in(tmp_path))) == []
    assert explore_spec(SpecFiles(*files), Engine.LITERAL).distinct == 1


def test_a_state_whose_own_images_differ_in_kind_only_is_an_error(tmp_path: Path) -> None:
    text = """CONSTANT P
VARIABLE x
Init == \\E a \\in P : x = [i \\in P |-> IF i = a THEN 1 ELSE TRUE]
Next == UNCHANGED x
Same == Permutations(P)"""
    files = written(tmp_path, text, "NEXT Next", "SYMMETRY Same", "CONSTANT P = {p, q}")
    for engine in (Engine.LITERAL, Engine.TABLES):
        assert explore_spec(SpecFiles(*files), engine).verdict is Verdict.MALFORMED


def test_views_that_differ_in_kind_only_are_two_as_for_tlc(tmp_path: Path) -> None:
    text = """VARIABLE x
Init == x = 0
Next == x' = (x + 1) % 5
Seen == IF x = 1 THEN TRUE ELSE IF x = 2 THEN 1 ELSE x
Inv == x # 4"""
    files = written(tmp_path, text, "NEXT Next", "INVARIANT Inv", "VIEW Seen")
    files[1].write_text(files[1].read_text().replace("CHECK_DEADLOCK FALSE", ""))  # no entry that TLC 2.15 knows
    for engine in (Engine.LITERAL, Engine.TABLES, Engine.TLC):
        found = explore_spec(SpecFiles(*files), engine)
        assert (found.verdict, found.property, found.distinct) == (Verdict.VIOLATED, "Inv", 5)


def test_a_view_that_fails_is_named(tmp_path: Path) -> None:
    text = "VARIABLE x\nInit == x = 0\nNext == x' = x + 1\nSeen == IF x > 1 THEN <<>>[x] ELSE x"
    files = written(tmp_path, text, "NEXT Next", "VIEW Seen")
    assert differences(load_spec(*files, cache_dir=parsed_in(tmp_path))) == []
    assert "Seen: the function" in explore_spec(SpecFiles(*files), Engine.TABLES).reason


# ---- Errors below what is chosen ----

ONE_FAILS = """VARIABLES q, n
Init == q = {} /\\ n = 0
Add == n < 3 /\\ n' = n + 1 /\\ q' = q \\cup {n}
Take(m) == (IF m = 2 THEN Head(<<>>) = 1 ELSE TRUE) /\\ q' = q \\ {m} /\\ UNCHANGED n
Next == Add \\/ \\E m \\in q : Take(m)
Below == Add \\/ \\E m \\in q : \\E k \\in q : k = m /\\ Take(k)"""


@pytest.mark.parametrize("following", ["Next", "Below"])
def test_an_action_that_fails_for_one_of_what_is_chosen_ends_the_search(following: str, tmp_path: Path) -> None:
    assert differ(tmp_path, ONE_FAILS, f"NEXT {following}") == []
    found = explore_spec(SpecFiles(*written(tmp_path, ONE_FAILS, f"NEXT {following}")), Engine.TABLES)
    assert found.verdict is Verdict.MALFORMED
    assert "Head" in found.reason


# ---- What the constraints exclude ----

EXCLUDED = """VARIABLES x, y
Init == x = 0 /\\ y = 0
Next == x < 4 /\\ x' = x + 1 /\\ (y' = 9 \\/ y' = y)
Few == y < 5
FewNext == y' < 5
Seen == x
Inv == ~(x = 3 /\\ y = 0)
Least == x < 3"""

EXCLUDED_IMAGE = """CONSTANTS P, p1
VARIABLES o, x
Init == o = "none" /\\ x = 0
Next == x < 3 /\\ \\E p \\in P : o' = p /\\ x' = x + 1
Few == o # p1
FewNext == o' # p1
Symmetry == Permutations(P)
Least == x < 3"""


@pytest.mark.parametrize("constraint", ["CONSTRAINT Few", "ACTION_CONSTRAINT FewNext"])
@pytest.mark.parametrize("broken", ["Inv", "Least"])
def test_no_counterexample_leads_through_what_the_constraints_exclude(
    constraint: str, broken: str, tmp_path: Path
) -> None:
    """Under the VIEW an excluded successor looks like the one that is expanded."""
    assert differ(tmp_path, EXCLUDED, "NEXT Next", constraint, "VIEW Seen", f"INVARIANT {broken}") == []


@pytest.mark.parametrize("constraint", ["CONSTRAINT Few", "ACTION_CONSTRAINT FewNext"])
def test_no_counterexample_leads_through_an_excluded_image(constraint: str, tmp_path: Path) -> None:
    constants = "CONSTANTS p1 = p1 p2 = p2 P = {p1, p2}"
    more = (constants, constraint, "SYMMETRY Symmetry", "INVARIANT Least")
    assert differ(tmp_path, EXCLUDED_IMAGE, "NEXT Next", *more) == []


# ---- DefinitionColumns ----

DEFINITIONS = """VARIABLES x, y
Init == x = 0 /\\ y = 0
f[n \\in 0..2] == IF n = 0 THEN x ELSE f[n - 1] + y
g == [n \\in 1..2 |-> IF n = 1 THEN x ELSE y]
h == [n \\in {"a", "b"} |-> IF n = "a" THEN x ELSE y]
pair == <<x, y>>
record == [a |-> x, b |-> <<y, x>>]
sets == SUBSET (0..(x + y))
functions == [0..y -> 0..x]
either == IF x + y > 4 THEN y ELSE 3
Step == x' = x + 1 /\\ y' = (y + 1) % 3
Pair == x < 9 /\\ pair # <<1, 5>> /\\ Step
Pairs == x < 9 /\\ (x > y \\/ pair = <<x, y>>) /\\ pair # <<y, 7>> /\\ Step
Record == x < 9 /\\ record.b[1] < 5 /\\ record.a < 9 /\\ Step
Recursive == x < 9 /\\ f[2] >= 0 /\\ Step
Function == x < 9 /\\ g[2] >= 0 /\\ h["a"] >= 0 /\\ Step
Sets == x < 9 /\\ {0} \\in sets /\\ (x = 0 \\/ Cardinality(functions) > 0) /\\ Step
Either == x < 9 /\\ either # 7 /\\ either >= 0 /\\ Step"""


@pytest.mark.parametrize("every", [1, 257])
@pytest.mark.parametrize("following", ["Pair", "Pairs", "Record", "Recursive", "Function", "Sets", "Either"])
def test_tables_find_the_same_where_a_definition_holds_what_was_not_read(
    following: str, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluator, "_AUDIT_EVERY", every)
    assert differ(tmp_path, DEFINITIONS, f"NEXT {following}") == []


# ---- Deep recursion ----

ENDLESS = """VARIABLE x
RECURSIVE Loop(_)
Loop(n) == IF n = -1 THEN 0 ELSE Loop(n + 1)
Init == x \\in {0, 1}
Next == (x = 0 /\\ x' = 5) \\/ (x = 1 /\\ Loop(0) = 0 /\\ x' = 6)
Inv == x # 5"""


def test_no_verdict_is_lost_to_an_endless_recursion_in_a_later_state(tmp_path: Path) -> None:
    files = written(tmp_path, ENDLESS, "NEXT Next", "INVARIANT Inv")
    assert differences(load_spec(*files, cache_dir=parsed_in(tmp_path))) == []
    assert explore_spec(SpecFiles(*files), Engine.TABLES).verdict is Verdict.VIOLATED


def test_no_verdict_is_lost_to_an_endless_recursion_in_a_state_of_the_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time per state, one by one, is measured on states that the search may not have reached."""
    text = ENDLESS.replace("{0, 1}", "0..2").replace("x = 1 /\\", "x = 2 /\\").replace("x = 0 /\\", "x = 1 /\\")
    spec = load_spec(*written(tmp_path, text, "NEXT Next", "INVARIANT Inv"), cache_dir=parsed_in(tmp_path))
    for name, value in {
        "GAIN_CHECK": 1,
        "DOUBTFUL_EVALUATION_SHARE": 0.0,
        "MAX_EVALUATION_SHARE": float("inf"),
        "MAX_SLOWDOWN": float("inf"),
    }.items():
        monkeypatch.setattr(table_search, name, value)
    monkeypatch.setattr(expander.Expander, "size", 1)
    assert differences(spec) == []
    assert explore_by_tables(spec).violation is not None


SUM = """VARIABLES x, y
RECURSIVE Sum(_, _)
Sum(s, n) == IF n = 0 THEN x ELSE y + Sum(Append(s, 1), n - 1)
"""
IN_A_LATER_STATE = """Init == x = 0 /\\ y = 0
Next == x < 2 /\\ Sum(<<>>, DEEP) >= 0 /\\ x' = x + 1 /\\ y' = y
Inv == TRUE"""
IN_AN_INITIAL_STATE = """Init == x \\in 0..2 /\\ y = 0
Next == x < 9 /\\ x' = x + 1 /\\ y' = y
Inv == Sum(<<>>, DEEP) >= 0"""


IN_THE_VIEW = """Init == x \\in 0..2 /\\ y = 0
Next == y' = y /\\ ((x \\in 3..9 /\\ x' = x + 1) \\/ (x = 1 /\\ x' = 3))
Seen == IF x \\in {0, 1} THEN <<0, Sum(<<>>, DEEP)>> ELSE <<1, x>>
Inv == x # 7"""


@pytest.mark.parametrize(
    "where",
    [
        pytest.param(IN_A_LATER_STATE, id="later", marks=pytest.mark.nightly),
        pytest.param(IN_AN_INITIAL_STATE, id="initial", marks=pytest.mark.nightly),
        pytest.param(IN_THE_VIEW, id="view", marks=pytest.mark.nightly),
    ],
)
def test_a_recursion_too_deep_for_tables_alone_is_followed_state_by_state(where: str, tmp_path: Path) -> None:
    def explored(deep: int) -> SearchResult | None:
        view = ["VIEW Seen"] if where == IN_THE_VIEW else []
        files = written(tmp_path, SUM + where.replace("DEEP", str(deep)), "NEXT Next", "INVARIANT Inv", *view)
        with contextlib.suppress(GaveUpError):
            return explore_spec(SpecFiles(*files), Engine.TABLES)
        return None

    few, many = 8_000, 12_000
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if explored(middle) is None else (middle, many)
    found = explored(few)  # the deepest that Python follows at all; tables need some levels of their own
    assert found is not None
    assert "note: explored state by state, not by tables: it has a recursion too deep for tables" in found.notes
    for deep in range(few - 12, few + 1) if where == IN_THE_VIEW else [few]:
        found = explored(deep)
        assert found is not None
        assert found.verdict is (Verdict.VIOLATED if where == IN_THE_VIEW else Verdict.HOLDS)


def test_a_violation_is_found_before_what_is_chosen_recurs_without_end(tmp_path: Path) -> None:
    text = """VARIABLE x
RECURSIVE Below(_)
Below(n) == IF n = -1 THEN {} ELSE Below(n + 1)
Init == x = 0
Five == x' = 5
Take(each) == x' = each
Next == Five \\/ \\E each \\in Below(0) : Take(each)
Inv == x # 5"""
    files = written(tmp_path, text, "NEXT Next", "INVARIANT Inv")
    assert differences(load_spec(*files, cache_dir=parsed_in(tmp_path))) == []
    assert explore_spec(SpecFiles(*files), Engine.TABLES).verdict is Verdict.VIOLATED


# ---- Bounds ----


@pytest.mark.parametrize("most", [1, 4, 5, 6, 11])
def test_a_bound_below_the_number_of_initial_states_ends_after_the_first(most: int, tmp_path: Path) -> None:
    text = (
        "VARIABLES x, y\nInit == x \\in 1..5 /\\ y = 0\nNext == y < 3 /\\ y' = y + 1 /\\ x' \\in {x, 6}\nInv == y # 3"
    )
    files = written(tmp_path, text, "NEXT Next", "INVARIANT Inv")
    spec = load_spec(*files, cache_dir=parsed_in(tmp_path))
    assert differences(spec, max_states=most) == []


# ---- Steps ----


def test_a_constraint_of_steps_may_be_asked_before_any_step_writes_something(tmp_path: Path) -> None:
    text = "VARIABLES x, y\nInit == x = 0 /\\ y = 0\nNext == UNCHANGED <<x, y>>\nAct == x' >= y"
    assert differ(tmp_path, text, "NEXT Next", "ACTION_CONSTRAINT Act") == []


# ---- Parts within operands ----

COUNTS = """VARIABLES b, n
Init == b = [p \\in {"p", "q"} |-> 0] /\\ n = 0
Next == n < 3 /\\ n' = n + 1 /\\ b' = (IF n = 1 THEN [p \\in {"p", "q"} |-> 1] ELSE b)
Inv == ~IsABag(b)"""

COMPUTED_ON_DEMAND = """VARIABLES f, n
Init == f = 0 /\\ n = 0
Next == n < 3 /\\ n' = n + 1 /\\ f' = n
Inv == ~IsABag([x \\in SUBSET {1} |-> f])"""

OF_RECORDS = """VARIABLES x, n
Init == x = {1} /\\ n = 0
Next == n < 6 /\\ n' = n + 1 /\\ x' = (IF n = 3 THEN {} ELSE {n + 5})
Compared == [a : x] # [a : {}]
Written == ToString(SUBSET [a : x]) # ToString({{}})
Counted == Cardinality([a : x, b : x] \\ {[a |-> 1, b |-> 1]}) > -1 /\\ n < 5"""

OF_TWO_ARGUMENTS = """VARIABLES x, n
Init == x = {1} /\\ n = 0
Next == n < 6 /\\ n' = n + 1 /\\ x' = {n + 1}
Inv == <<1>> \\notin DOMAIN [p \\in x, q \\in {4} |-> 6 \\div (q - p)]"""

A_TREE_TURNED_ROUND = """VARIABLES parent, n
Node == {"a", "b", "c"}
RECURSIVE Rank(_)
Rank(i) == IF parent[i] = i THEN 0 ELSE 1 + Rank(parent[i])
Init == parent = [i \\in Node |-> IF i = "a" THEN "b" ELSE "c"] /\\ n = 0
Reroot(r, i) == /\\ parent[r] = r /\\ parent[i] = r /\\ i # r
                /\\ parent' = [parent EXCEPT ![r] = i, ![i] = i] /\\ n' = (n + 1) % 9
Next == \\E r, i \\in Node : Reroot(r, i)
Inv == \\A i \\in Node : Rank(i) < 3"""


@pytest.mark.parametrize("invariant", ["Compared", "Written", "Counted"])
def test_a_set_of_records_is_known_before_it_is_asked_what_it_is(tmp_path: Path, invariant: str) -> None:
    files = written(tmp_path, OF_RECORDS, "NEXT Next", f"INVARIANT {invariant}")
    assert explore_spec(SpecFiles(*files), Engine.TABLES).verdict is Verdict.VIOLATED
    assert differ(tmp_path, OF_RECORDS, "NEXT Next", f"INVARIANT {invariant}") == []


def test_the_domains_of_a_function_of_two_arguments_are_known(tmp_path: Path) -> None:
    files = written(tmp_path, OF_TWO_ARGUMENTS, "NEXT Next", "INVARIANT Inv")
    found = explore_spec(SpecFiles(*files), Engine.TABLES)
    assert found.verdict is Verdict.MALFORMED
    assert "the second argument of \\div is 0" in found.reason


@pytest.mark.parametrize("text", [COUNTS, COMPUTED_ON_DEMAND])
def test_the_counts_of_a_bag_are_read_where_it_is_asked_whether_it_is_one(text: str, tmp_path: Path) -> None:
    module, config = written(tmp_path, text, "NEXT Next", "INVARIANT Inv")
    module.write_text(module.read_text().replace("FiniteSets", "FiniteSets, Bags"))
    assert explore_spec(SpecFiles(module, config), Engine.TABLES).verdict is Verdict.VIOLATED


IS_A_BAG = "IsABag([x \\in SUBSET {1} |-> f])"
FIRST_ONE = COMPUTED_ON_DEMAND.replace("f = 0 ", "f = 1 ")
#: Specs in which a value that reads nothing is wrong in the first state, in a later one alone, or as a set of choices.
READS_NOTHING = {
    "first": FIRST_ONE.replace("Next == ", f"Next == {IS_A_BAG} /\\ "),
    "later": COMPUTED_ON_DEMAND,
    "chosen": FIRST_ONE.replace("Next ==", "Take(m) ==")
    + f"\nNext == \\E m \\in {{y \\in {{1, 2}} : {IS_A_BAG}}} : Take(m)",
}


@pytest.mark.parametrize("where", READS_NOTHING)
def test_a_part_that_reads_nothing_and_is_evaluated_once_for_all_states_is_audited(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Planted: an operator that asks a part for its type, which a part that was not read answers in silence."""
    invariant = ["INVARIANT Inv"] if where == "later" else []
    module, config = written(tmp_path, READS_NOTHING[where], "NEXT Next", *invariant)
    module.write_text(module.read_text().replace("FiniteSets", "FiniteSets, Bags"))
    spec = load_spec(module, config, cache_dir=parsed_in(tmp_path))
    monkeypatch.setattr(evaluator, "_AUDITED", 0)
    monkeypatch.setattr(expander, "_EVALUATE_AGAIN_AT", 3)
    assert differences(spec) == []
    monkeypatch.setattr(bag_operators, "_is_number", lambda count: type(count) is int)
    with pytest.raises(evaluator.LeakError, match=r"that reads? nothing (answers|has)"):
        explore_by_tables(spec)


def test_definitions_that_use_one_another_in_different_states_are_followed_once(tmp_path: Path) -> None:
    assert differ(tmp_path, A_TREE_TURNED_ROUND, "NEXT Next", "INVARIANT Inv") == []
    files = written(tmp_path, A_TREE_TURNED_ROUND, "NEXT Next", "INVARIANT Inv")
    assert explore_spec(SpecFiles(*files), Engine.TABLES).verdict is Verdict.HOLDS
