"""Each entry of a cfg takes what TLC takes, and refuses what TLC refuses, whichever engine is asked."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SearchResult, SpecFiles, refused_result
from lockstep.models.spec_search import explore_spec
from lockstep.tla.compile.spec_fault import SpecFault
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from tests.support.sampling import sampled

ROOT = """---- MODULE Root ----
EXTENDS Integers, TLC
CONSTANTS P, F(_), _ ++ _
VARIABLE s
I == INSTANCE Other WITH K <- 3, v <- s
Init == s = 0
Next == s' = 1 - s
Spec == Init /\\ [][Next]_s
Num == 3
Num2 == 4
St == s + 1
Id(a) == a
Plus(a, b) == a + b
Takes(a) == Init /\\ [][Next]_s
Op(G(_)) == G(1)
Inv == s < Num
Sees == I!Two = 7
Seven == F(s) = 7 /\\ s ++ 1 = s + 1
Box == []Init
Zero == Num > 3
One == Num = 3
====
"""
OTHER = """---- MODULE Other ----
EXTENDS Naturals
CONSTANT K
VARIABLE v
Low == v < K
Two == 2
====
"""
GIVEN = "CONSTANT P = {p1, p2}\nCONSTANT F <- Id\nCONSTANT ++ <- Plus\n"
START = "INIT Init\nNEXT Next\n"

#: Entries that TLC 2.15 does not know.
LATER = {
    f"{START}ALIAS Nope": "ALIAS Nope is not defined in Root",
    f"{START}ALIAS Id": "ALIAS Id takes 1 argument, and a configuration gives none",
    f"{START}ALIAS St": "",
    f"{START}POSTCONDITION Nope": "POSTCONDITION Nope is not defined in Root",
}
#: An entry that is added to the cfg, and the error; none where both engines find that all holds.
ADDED = {
    "INIT Takes\nNEXT Next": "INIT Takes takes 1 argument, and a configuration gives none",
    "INIT Init\nNEXT Takes": "NEXT Takes takes 1 argument, and a configuration gives none",
    "SPECIFICATION Takes": "SPECIFICATION Takes takes 1 argument, and a configuration gives none",
    **{
        f"{START}{entry} Id": f"{entry} Id takes 1 argument, and a configuration gives none"
        for entry in ("INVARIANT", "PROPERTY", "CONSTRAINT", "ACTION_CONSTRAINT", "VIEW", "SYMMETRY")
    },
    f"{START}INVARIANT Op": "INVARIANT Op takes 1 argument, and a configuration gives none",
    f"{START}INVARIANT s": "INVARIANT s is a variable, and should be a definition",
    f"{START}VIEW P": "VIEW P is a constant, and should be a definition",
    "INIT Next\nNEXT Next": "the INIT Next speaks of the next state",
    "INIT Init\nNEXT Box": "the NEXT Box is a temporal formula",
    f"{START}INVARIANT Box": "the INVARIANT Box is a temporal formula",
    f"{START}CONSTRAINT Next": "the CONSTRAINT Next speaks of the next state",
    f"{START}VIEW Next": "the VIEW Next speaks of the next state",
    f"{START}PROPERTY Next": "what the PROPERTY Next asks of the first state speaks of the next state",
    f"{START}SYMMETRY St": "the SYMMETRY St speaks of the variables",
    f"{START}SYMMETRY Num": "the SYMMETRY Num should be a set of permutations of model values, and is 3",
    f"{START}CONSTRAINT Num": "the CONSTRAINT: a formula needs TRUE or FALSE, but was given 3",
    "INIT Init\nNEXT Num": "a formula needs TRUE or FALSE, but was given 3",
    **{
        f"{START}{entry} Zero": f"the {entry} Zero speaks of no variable, and is FALSE"
        for entry in ("INVARIANT", "PROPERTY", "CONSTRAINT", "ACTION_CONSTRAINT")
    },
    f"{START}INVARIANT Zero\nCONSTANT Num <- Num2": "",
    f"{START}INVARIANT Inv One\nPROPERTY One\nCONSTRAINT One\nACTION_CONSTRAINT One": "",
    "INIT Init\nNEXT Zero": "the NEXT Zero speaks of no variable",
    "INIT One\nNEXT Next": "the INIT One speaks of no variable",
    "SPECIFICATION Next": "the SPECIFICATION Next should be Init /\\ [][Next]_vars",
    "SPECIFICATION Spec\nINIT Init": "Init stands beside the SPECIFICATION Spec",
    "SPECIFICATION Spec\nNEXT Next": "Next stands beside the SPECIFICATION Spec",
    "INIT Init": "there is INIT, but no NEXT",
    "NEXT Next": "there is NEXT, but no INIT",
    f"{START}CONSTANT Num <- s": "the configuration names s, which is a variable",
    f"{START}CONSTANT s <- Num": "the configuration gives s, which is a variable",
    f"{START}CONSTANT Num <- Num2 Num2 <- Num": "Num2 stands for Num, but the configuration replaces Num2, too",
    f"{START}CONSTANT Num <- Num": "Num stands for Num, but the configuration replaces Num, too",
    f"{START}CONSTANT Num <- Id": "Num takes 0 arguments, but the configuration gives it 1",
    f"{START}CONSTANT K <- [Other]Num": "the configuration replaces K, which Other declares and does not define",
    f"{START}CONSTANT Two <- [Other]Low Low <- [Other]Inv": "Low stands for Two, but the configuration replaces Low",
    f"{START}CONSTANT Two <- [Other]s": "the configuration names s, which is a variable",
    f"{START}INVARIANT Inv\nCONSTANT s = 9": "",
    f"{START}INVARIANT Inv\nCONSTANT Num <- Num2 Num2 = 9": "",
    f"{START}INVARIANT Inv\nCONSTANT Num <- St": "",
    f"{START}INVARIANT Sees\nCONSTANT Two = [Other]7": "",
    f"{START}INVARIANT Inv\nCONSTANT K = [Other]0": "",
    f"{START}INVARIANT Inv Inv\nVIEW Num\nACTION_CONSTRAINT Init": "",
}
#: The whole cfg, for tests of constants.
WHOLE = {
    f"CONSTANT P <- St F <- Id ++ <- Plus\n{START}": "St, which stands for the constant P, speaks of the variables",
    f"CONSTANT P = 1 F = 7 ++ <- Plus\n{START}INVARIANT Seven\n": "",
    f"CONSTANT P = 7 F <- P ++ <- Plus\n{START}INVARIANT Seven\n": "",
    f"CONSTANT P = 7 F <- Num ++ <- Plus\n{START}": "F takes 1 argument, but the configuration gives it 0",
}
CFGS = {**{GIVEN + added + "\n": said for added, said in ADDED.items()}, **WHOLE}
#: Entries that TLC reads in every run: with a parameter, a substitution, signs and values of operators.
OFTEN = [(cfg, said) for cfg, said in CFGS.items() if "SYMMETRY Id" in cfg or "Num2 <- Num" in cfg or "F = 7" in cfg]


def asked(engine: Engine, cfg: str, folder: Path) -> SearchResult:
    for name, text in (("Root.tla", ROOT), ("Other.tla", OTHER), ("Root.cfg", cfg)):
        (folder / name).write_text(text)
    files = SpecFiles(folder / "Root.tla", folder / "Root.cfg")
    try:
        return explore_spec(files, engine)
    except BadInputError as error:
        return refused_result(files, engine, error)


TAKEN = {**CFGS, **{GIVEN + added + "\n": said for added, said in LATER.items()}}


@pytest.mark.parametrize(("cfg", "said"), TAKEN.items(), ids=[*ADDED, *map(str, range(len(WHOLE))), *LATER])
def test_an_entry_is_refused_with_its_place_and_a_code_or_taken(cfg: str, said: str, tmp_path: Path) -> None:
    found = asked(Engine.COMPILED, cfg, tmp_path)
    assert found.verdict is (Verdict.MALFORMED if said else Verdict.HOLDS), found.reason
    assert said in found.reason
    place, code, _ = found.reason.removeprefix(f"{tmp_path}/").split(" ", 2)
    assert not said or (place.startswith("Root.") and place.count(":") == 3 and code in ("LS602", "LS603"))


@pytest.mark.parametrize(("cfg", "said"), sampled(CFGS.items(), OFTEN))
def test_tlc_refuses_and_takes_the_same(cfg: str, said: str, tmp_path: Path) -> None:
    tlc, ours = (asked(engine, cfg, tmp_path) for engine in (Engine.TLC, Engine.COMPILED))
    assert tlc.verdict is (Verdict.MALFORMED if said else Verdict.HOLDS), tlc.reason
    assert (tlc.reason, tlc.distinct, tlc.generated, tlc.depth) == (
        ours.reason,
        ours.distinct,
        ours.generated,
        ours.depth,
    )


#: Formulas that are FALSE in every state, and that TLC does not take for constants.
FALSE_IN_STATES = """---- MODULE Root ----
EXTENDS Naturals, TLC, Base
CONSTANT Max
Same == INSTANCE Base
Init == s = 0
Next == s < 3 /\\ s' = s + 1
Never == ENABLED (1 = 2)
Primed == Max' > 3
AtLevel == TLCGet("level") > 5
Far == AtLevel
Unused == LET a == s IN 1 = 2
Given == Max = 3
No == Max > 3
RECURSIVE Down(_)
Down(n) == IF n = 0 THEN FALSE ELSE Down(n - 1)
Deep == Down(200000)
====
"""
BASE = "---- MODULE Base ----\nEXTENDS Naturals\nVARIABLE s\nSmall == 1 > 3\n====\n"
NO_CONSTANTS = [
    *(f"{entry} {name}" for entry in ("CONSTRAINT", "INVARIANT") for name in ("Never", "Far", "Unused", "Small")),
    "ACTION_CONSTRAINT Primed",
    "ACTION_CONSTRAINT Given\nCONSTANT Given <- No",
    "INVARIANT Given\nCONSTANT Given <- No",
]


@pytest.mark.parametrize("entry", sampled(NO_CONSTANTS, ["CONSTRAINT Small"]))
def test_an_entry_that_is_false_in_every_state_is_evaluated_in_states(entry: str, tmp_path: Path) -> None:
    (tmp_path / "Base.tla").write_text(BASE)
    (tmp_path / "Root.tla").write_text(FALSE_IN_STATES)
    (tmp_path / "Root.cfg").write_text(f"{START}CONSTANT Max = 3\n{entry}\n")
    tlc, ours = (
        explore_spec(SpecFiles(tmp_path / "Root.tla", tmp_path / "Root.cfg"), each, SearchOptions(check_deadlock=False))
        for each in (Engine.TLC, Engine.COMPILED)
    )
    assert tlc.verdict is not Verdict.MALFORMED
    assert (tlc.verdict, tlc.reason) == (ours.verdict, ours.reason)
    assert tlc.distinct in (None, ours.distinct)  # of an initial state TLC gives no counts


def test_a_constant_that_recurs_too_deeply_is_left_to_who_evaluates_it(tmp_path: Path) -> None:
    (tmp_path / "Base.tla").write_text(BASE)
    (tmp_path / "Root.tla").write_text(FALSE_IN_STATES)
    for entry, wrong in (("INVARIANT Deep", False), ("INVARIANT No", True)):
        (tmp_path / "Root.cfg").write_text(f"{START}CONSTANT Max = 3\n{entry}\n")
        spec = load_spec(tmp_path / "Root.tla", tmp_path / "Root.cfg")
        with pytest.raises(SpecFault, match="No speaks of no variable") if wrong else nullcontext():
            spec.refuse_false_constants()


@pytest.mark.parametrize(
    ("cfg", "said"),
    [
        ("", ""),
        *((each, "has no variable") for each in ("INIT Init\nNEXT Next", "SPECIFICATION Spec")),
        ("INVARIANT No", "No speaks of no variable, and is FALSE"),
    ],
)
def test_a_module_without_variables_has_no_behaviour_whatever_it_calls_init(
    cfg: str, said: str, tmp_path: Path
) -> None:
    text = "EXTENDS Naturals\nInit == TRUE\nNext == TRUE\nSpec == Init\nNo == 1 = 2\nASSUME 2 > 1\n"
    (tmp_path / "Root.tla").write_text(f"---- MODULE Root ----\n{text}====\n")
    (tmp_path / "Root.cfg").write_text(cfg)
    if not said:
        assert (
            explore_spec(SpecFiles(tmp_path / "Root.tla", tmp_path / "Root.cfg"), Engine.COMPILED).verdict
            is Verdict.HOLDS
        )
        return
    with pytest.raises((BadInputError, SpecFault), match=said):
        load_spec(tmp_path / "Root.tla", tmp_path / "Root.cfg").refuse_false_constants()
