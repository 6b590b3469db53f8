"""The notes of a search besides its verdict, and its errors where TLC refuses to search."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.tla.loading.load_spec import load_spec
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

ENGINES = pytest.mark.parametrize("engine", sampled(["tlc", "compiled"], ["compiled"]))
SPEC = """---- MODULE Notes ----
EXTENDS Naturals
CONSTANT Nodes
VARIABLE pos
Init == pos = [n \\in Nodes |-> 0]
Up(n) ==
    /\\ pos[n] < 1
    /\\ pos' = [pos EXCEPT ![n] = 1, ![0] = 1]
Next == \\E n \\in Nodes : Up(n)
====
"""


def model(folder: Path, constants: str, *options: str, cfg: str = "", spec: str = SPEC) -> tuple[int, dict, str]:  # type: ignore[type-arg]  # JSON
    (folder / "Notes.tla").write_text(spec)
    (folder / "Notes.cfg").write_text(f"CONSTANTS {constants}\nINIT Init\nNEXT Next\n{cfg}")
    found = lockstep("model", "--spec", "Notes.tla", "--format", "json", *options, cwd=folder)
    return found.returncode, json.loads(found.stdout), found.stderr


@pytest.mark.parametrize(
    ("engine", "note"),
    [
        ("tlc", "Notes.tla:8:16: note: EXCEPT at what is not in the domain changes nothing"),
        ("compiled", "Notes.tla:8:8: note: Up: EXCEPT at 0, which is not in the domain, changes nothing"),
    ],
)
def test_an_except_that_changes_nothing_is_noted_once_with_its_place(engine: str, note: str, tmp_path: Path) -> None:
    code, result, said = model(tmp_path, "Nodes = {1, 2}", "--no-deadlock", "--engine", engine)
    assert (code, result["notes"], said) == (0, [note], "")


def test_the_command_graph_prints_a_note_on_standard_error(tmp_path: Path) -> None:
    model(tmp_path, "Nodes = {1, 2}", "--engine", "compiled")
    drawn = lockstep("graph", "--spec", "Notes.tla", "-o", "drawn.svg", cwd=tmp_path)
    assert drawn.stderr == "Notes.tla:8:8: note: Up: EXCEPT at 0, which is not in the domain, changes nothing\n"


def test_both_engines_find_the_deadlock_where_next_has_no_action(tmp_path: Path) -> None:
    """TLC does not search then, and says that no next state actions are defined."""
    ours, tlc = (model(tmp_path, "Nodes = {}", "--engine", engine) for engine in ("compiled", "tlc"))
    assert (ours[0], ours[1]["verdict"], ours[1]["property"]) == (1, "violated", "deadlock")
    apart = ("engine", "seconds", "notes")
    assert [tlc[0], *(tlc[1][key] for key in tlc[1] if key not in apart)] == [
        ours[0],
        *(ours[1][key] for key in ours[1] if key not in apart),
    ]
    assert tlc[1]["notes"][0].startswith("note: TLC does not search, for Next has no action")
    assert model(tmp_path, "Nodes = {}", "--no-deadlock")[0] == 0


@ENGINES
def test_a_value_that_is_no_set_is_a_mistake_of_init(engine: str, tmp_path: Path) -> None:
    """TLC prints the initial state as far as it has been computed."""
    code, result, _ = model(tmp_path, "Nodes = 5", "--engine", engine)
    assert (code, result["reason"]) == (2, "Notes.tla:5:9: LS603 Init: a bound needs a set, but was given 5")
    assert result["counterexample"] is None


@ENGINES
def test_a_value_for_a_name_that_is_nearly_a_constant_s_is_noted(engine: str, tmp_path: Path) -> None:
    given = "Nodes = {1} Nods = {2} a = a Zzz = 3"
    _, result, _ = model(tmp_path, given, "--engine", engine, "--no-deadlock", spec=SPEC.replace(", ![0] = 1", ""))
    note = "Notes.cfg:1:23: LS602 note: no module declares Nods, which is passed over; did you mean Nodes?"
    assert result["notes"] == [note]


def test_check_deadlock_in_a_cfg_overrules_the_option_and_a_note_says_so(tmp_path: Path) -> None:
    spec = SPEC.replace(", ![0] = 1", "")
    given = ("Nodes = {1}", "--engine", "compiled", "--deadlock")
    assert model(tmp_path, *given, spec=spec)[0] == 1
    code, result, _ = model(tmp_path, *given, cfg="CHECK_DEADLOCK FALSE\n", spec=spec)
    assert (code, result["notes"]) == (
        0,
        ["note: Notes.cfg has CHECK_DEADLOCK FALSE, which counts more than --deadlock"],
    )


@ENGINES
def test_a_case_that_does_not_apply_has_its_own_place_and_no_other(engine: str, tmp_path: Path) -> None:
    spec = SPEC.replace("pos[n] < 1", "(CASE n = 1 -> pos[n] < 1)")
    _, result, _ = model(tmp_path, "Nodes = {1, 2}", "--engine", engine, spec=spec)
    assert result["reason"] == "Notes.tla:7:9: LS603 Up(n = 2): no case applies"


def test_a_recursion_without_end_has_a_place(tmp_path: Path) -> None:
    spec = SPEC.replace("====", "RECURSIVE Down(_)\nDown(n) == Down(n + 1)\nDeep == Down(1) = 1\n====")
    code, result, _ = model(tmp_path, "Nodes = {1}", "--engine", "compiled", cfg="INVARIANT Deep\n", spec=spec)
    assert code == 3
    assert result["reason"].startswith("Notes.tla:11:1: the compiled spec cannot follow so deep a recursion")


def test_an_unknown_name_is_reported_with_the_name_that_may_be_meant(tmp_path: Path) -> None:
    model(tmp_path, "Nodes = {1}", "--engine", "compiled")
    spec = load_spec(tmp_path / "Notes.tla", tmp_path / "Notes.cfg")
    state = next(spec.initial_states())
    with pytest.raises(KeyError, match="Notes has no action Upp; did you mean Up"):
        spec.step(state, "Upp", {})
    with pytest.raises(KeyError, match="Notes has no action Upp; did you mean Up"):
        spec.explain(state, "Upp", {})
    with pytest.raises(KeyError, match="Notes has no definition Nxt; did you mean Next"):
        spec.evaluate("Nxt", state)
