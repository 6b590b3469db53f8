"""States that differ in kind only, such as x = 1 and x = TRUE: two for TLC, which compares fingerprints, and for both
compiled engines.

Python holds 1 and TRUE equal, so that whatever looks states up by their values alone takes them for one. Where TLC
compares the values themselves, as it does to sort a set or to order the images of a state, it fails, and so do these.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.tables.table_search import explore_by_tables
from lockstep.tlc import PropertyKind, run_tlc
from tests.support.sampling import sampled
from tests.support.tla.tables import differences

SYMMETRIC = ("SYMMETRY Same", "CONSTANT P = {p, q}")

APART = {
    "an initial integer and an initial boolean": ("VARIABLE x\nInit == x = FALSE \\/ x = 0\nNext == x' = x", ()),
    "the same initial state twice between others": (
        "VARIABLE x\nInit == x = TRUE \\/ x = 1 \\/ x = 1 \\/ x = TRUE\nNext == x' = x",
        (),
    ),
    "successors": ("VARIABLE x\nInit == x = 5\nNext == x' = TRUE \\/ x' = 1", ()),
    "variables that are exchanged": (
        "VARIABLES x, y\nInit == x \\in {0, 1} /\\ y = IF x = 0 THEN FALSE ELSE TRUE\nNext == x' = y /\\ y' = x",
        (),
    ),
    "sets": ("VARIABLE x\nInit == x = {0} \\/ x = {FALSE}\nNext == x' = x", ()),
    "sets of sets": ("VARIABLE x\nInit == x = {{0}, {}} \\/ x = {{FALSE}, {}}\nNext == x' = x", ()),
    "sequences": ("VARIABLE x\nInit == x = <<0, 2>> \\/ x = <<FALSE, 2>>\nNext == x' = Append(SubSeq(x, 1, 1), 2)", ()),
    "records": ("VARIABLE x\nInit == x = [a |-> 0] \\/ x = [a |-> FALSE]\nNext == x' = x", ()),
    "domains": (
        "VARIABLE f\nInit == f = [i \\in {0, 1} |-> 5] \\/ f = [i \\in BOOLEAN |-> 5]\nNext == UNCHANGED f",
        (),
    ),
    "a domain that becomes another": (
        """VARIABLES f, n
Init == f = [x \\in {0, 1} |-> 5] /\\ n = 0
Next == n < 3 /\\ n' = n + 1 /\\ (f' = [x \\in BOOLEAN |-> 5] \\/ f' = f)""",
        (),
    ),
    "elements of a quantifier's set": (
        """VARIABLES s, y
Init == s = {0, 1} /\\ y = 5
Next == \\/ \\E a \\in s : y' = a /\\ UNCHANGED s
        \\/ s' = BOOLEAN /\\ UNCHANGED y""",
        (),
    ),
    "states outside the model": (
        """VARIABLE x
Init == x = TRUE \\/ x = 1 \\/ x = 7
Next == x' = 0 \\/ x' = FALSE \\/ x' = 7
Few == ToString(x) # "0\"""",
        ("CONSTRAINT Few",),
    ),
    "states under SYMMETRY": (
        """CONSTANT P
VARIABLES x, y
Init == x = [ok |-> 1] /\\ y \\in P
Next == (x' = [ok |-> TRUE] \\/ x' = [ok |-> 1]) /\\ y' \\in P
Same == Permutations(P)""",
        SYMMETRIC,
    ),
    "sets of sets under SYMMETRY": (
        """CONSTANT P
VARIABLES x, y
Init == x = {{}} /\\ y \\in P
Next == \\/ \\E a \\in P : y' = a /\\ x' \\in {{{a}}, {{}}} /\\ y # a
        \\/ x' = {{TRUE}} /\\ UNCHANGED y
        \\/ x' = {{1}} /\\ y' \\in P
Same == Permutations(P)""",
        SYMMETRIC,
    ),
}

#: Verdict, distinct and generated states, and depth, by TLC.
COUNTS: dict[str, tuple[object, ...]] = {
    "an initial integer and an initial boolean": ("holds", 2, 4, 1),
    "the same initial state twice between others": ("holds", 2, 6, 1),
    "successors": ("holds", 3, 7, 2),
    "variables that are exchanged": ("holds", 4, 6, 2),
    "sets": ("holds", 2, 4, 1),
    "sets of sets": ("holds", 2, 4, 1),
    "sequences": ("holds", 2, 4, 1),
    "records": ("holds", 2, 4, 1),
    "domains": ("holds", 2, 4, 1),
    "a domain that becomes another": ("violated", 7, 11, 4),
    "elements of a quantifier's set": ("holds", 8, 25, 3),
    "states outside the model": ("holds", 4, 15, 2),
    "states under SYMMETRY": ("holds", 2, 10, 2),
    "sets of sets under SYMMETRY": ("holds", 4, 22, 2),
}
#: Specs whose counts TLC confirms in every run; it confirms the others at night.
CONFIRMED = ("sets of sets under SYMMETRY",)

FAILS = {
    "a set of both": "VARIABLE x\nInit == x \\in {FALSE, 0}\nNext == x' = x",
    "a set of both, the integer first": "VARIABLE x\nInit == x \\in {1, TRUE}\nNext == x' = x",
    "a string and an integer": 'VARIABLE x\nInit == x \\in {"a", 0}\nNext == x\' = x',
    "a union of both": "VARIABLE x\nInit == x \\in BOOLEAN \\cup {0, 1}\nNext == x' = x",
    "records of both": "VARIABLE x\nInit == x \\in {[a |-> 0], [a |-> FALSE]}\nNext == x' = x",
    "sequences of both": "VARIABLE x\nInit == x \\in {<<0>>, <<FALSE, 1>>, <<FALSE>>}\nNext == x' = x",
    "an action that compares them": "VARIABLE x\nInit == x = TRUE \\/ x = 1\nNext == x = TRUE /\\ x' = x",
}

OWN_IMAGES = """CONSTANT P
VARIABLE x
Init == \\E a \\in P : x = [i \\in P |-> IF i = a THEN 1 ELSE TRUE]
Next == UNCHANGED x
Same == Permutations(P)"""


def written(folder: Path, text: str, *cfg: str) -> tuple[Path, Path]:
    """A module of these lines, and its cfg."""
    module, config = folder / "M.tla", folder / "M.cfg"
    module.write_text(f"---- MODULE M ----\nEXTENDS Naturals, Sequences, TLC\n{text}\n====\n")
    config.write_text("\n".join(["INIT Init", "NEXT Next", *cfg, ""]))
    return module, config


def counts(found: SearchResult) -> tuple[object, ...]:
    assert found.property == (None if found.verdict is Verdict.HOLDS else "deadlock")
    return found.verdict.value, found.distinct, found.generated, found.depth


def said_by_tlc(module: Path, cfg: Path) -> str:
    result = run_tlc(module, cfg)
    assert result.violation is not None and result.violation.kind is PropertyKind.EVALUATION
    return result.reason


@pytest.mark.parametrize("name", APART)
def test_states_that_differ_in_kind_only_are_two_as_for_tlc(name: str, tmp_path: Path) -> None:
    text, cfg = APART[name]
    files = written(tmp_path, text, *cfg)
    for engine in (Engine.LITERAL, Engine.TABLES):
        assert counts(explore_spec(SpecFiles(*files), engine)) == COUNTS[name]


def test_every_pinned_search_meets_values_of_two_kinds() -> None:
    """A search of one state would keep nothing apart."""
    assert COUNTS.keys() == APART.keys()
    assert all(isinstance(count[1], int) and count[1] >= 2 for count in COUNTS.values())


@pytest.mark.parametrize("name", sampled(APART, CONFIRMED))
def test_the_counts_of_states_that_differ_in_kind_only_are_those_of_tlc(name: str, tmp_path: Path) -> None:
    text, cfg = APART[name]
    assert counts(explore_spec(SpecFiles(*written(tmp_path, text, *cfg)), Engine.TLC)) == COUNTS[name]


@pytest.mark.parametrize("name", [name for name in APART if "quantifier" not in name])
def test_tables_themselves_keep_states_that_differ_in_kind_only_apart(name: str, tmp_path: Path) -> None:
    """The search by tables is called directly, so that no search state by state replaces it."""
    text, cfg = APART[name]
    spec = load_spec(*written(tmp_path, text, *cfg))  # compiled by the test above
    by_tables, state_by_state = explore_by_tables(spec), explore(spec)
    assert by_tables.distinct == state_by_state.distinct >= 2
    assert differences(spec) == []


@pytest.mark.parametrize("name", sampled(FAILS, ["an action that compares them"]))
def test_tlc_cannot_compare_values_of_two_kinds(name: str, tmp_path: Path) -> None:
    assert "Attempted to c" in said_by_tlc(*written(tmp_path, FAILS[name]))


@pytest.mark.parametrize("name", FAILS)
def test_values_that_tlc_cannot_compare_end_every_search(name: str, tmp_path: Path) -> None:
    files = written(tmp_path, FAILS[name])
    for engine in (Engine.LITERAL, Engine.TABLES):
        found = explore_spec(SpecFiles(*files), engine)
        assert found.verdict is Verdict.MALFORMED
        assert "cannot be compared" in found.reason


def test_images_of_one_state_that_differ_in_kind_only_end_every_search(tmp_path: Path) -> None:
    """TLC compares the images of a state to find the least one."""
    files = written(tmp_path, OWN_IMAGES, *SYMMETRIC)
    assert "Attempted to compare boolean TRUE with non-boolean: 1" in said_by_tlc(*files)
    for engine in (Engine.LITERAL, Engine.TABLES):
        assert "two images of a state differ in kind only" in explore_spec(SpecFiles(*files), engine).reason


@pytest.mark.nightly
def test_a_lasso_leads_from_a_state_to_one_that_differs_in_kind_only(tmp_path: Path) -> None:
    text = """VARIABLE x
Init == x = 1
Next == IF ToString(x) = "1" THEN x' = TRUE ELSE x' = x
Stays == [](ToString(x) = "TRUE" => [](ToString(x) = "TRUE"))
Back == []<>(ToString(x) = "1")"""
    for name, verdict in (("Stays", Verdict.HOLDS), ("Back", Verdict.VIOLATED)):
        files = written(tmp_path, text, f"PROPERTY {name}")
        found = [explore_spec(SpecFiles(*files), each) for each in (Engine.LITERAL, Engine.TABLES, Engine.TLC)]
        assert [(each.verdict, each.distinct) for each in found] == [(verdict, 2)] * 3
