"""A log against a cfg that also asks something of behaviours without end: the part that a trace shows is checked.

Of `Counts`, which refines `Abs`, TLC alone and the compiled spec say the same of the same log.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockstep.systems.file_check import check
from tests.support.programs.lockstep_command import lockstep

COUNTS = """---- MODULE Counts ----
EXTENDS Naturals
CONSTANT Most
VARIABLE x
Init == x = 0
Step == x' = (x + 1) % Most
Leap == x' = (x + 2) % Most
Next == Step \\/ Leap
Spec == Init /\\ [][Next]_x /\\ WF_x(Step)
Small == x <= 2
SmallUp == [][x' <= 2]_x
Live == []<>(x = 0)
ByOne == x = 0 /\\ [][x' = (x + 1) % Most]_x /\\ WF_x(Step) /\\ []Small
Late == x = 1 /\\ <>(x = 0)
Small1 == x <= 1
Kept == []Small1 /\\ <>(x = 0)
One == x = 1
Begun == One
Abs == INSTANCE Abs WITH y <- x
Refines == Abs!Spec
Nameless == Abs!Whole
====
"""
ABS = """---- MODULE Abs ----
EXTENDS Naturals
VARIABLE y
Init == y = 0
Next == y' \\in {y + 1, 0}
Spec == Init /\\ [][Next]_y /\\ []<>(y = 0)
Whole == y = 0 /\\ [][y' \\in {y + 1, 0}]_y /\\ []<>(y = 0)
====
"""
MAPPING = """kind = "what"
[lines.step]
action = "Step"
shows = { x = "now" }
[lines.leap]
action = "Leap"
shows = { x = "now" }
"""
STEPS = [("step", 1), ("step", 2), ("step", 0)]
LEAP = [("step", 1), ("leap", 0), ("leap", 2)]

#: With TLC one case in every run, and the others at night.
BY_NIGHT = pytest.mark.parametrize("engine", ["compiled", pytest.param("tlc", marks=pytest.mark.nightly)])
#: As lines with one step each, and as a search for what explains the lines.
SEARCH = "[hidden]\nLeap = 1\n"
WAYS = pytest.mark.parametrize("way", ["", SEARCH], ids=["each line", "search"])


def check_log(
    folder: Path, properties: str, lines: list[tuple[str, int]], *options: str, way: str = ""
) -> tuple[int, dict]:  # type: ignore[type-arg]  # JSON
    (folder / "Counts.tla").write_text(COUNTS)
    (folder / "Abs.tla").write_text(ABS)
    (folder / "Counts.cfg").write_text(f"SPECIFICATION Spec\nCONSTANT Most = 3\n{properties}\n")
    (folder / "mapping.toml").write_text(MAPPING + way)
    log = "".join(json.dumps({"what": what, "now": now}) + "\n" for what, now in lines)
    (folder / "my.log").write_text(log)
    given = ["--spec", "Counts.tla", "--mapping", "mapping.toml", "--format", "json", *options, "my.log"]
    found = lockstep("check", *given, cwd=folder)
    assert found.stderr == ""
    (verdict,) = json.loads(found.stdout)
    return found.returncode, verdict


#: TLC checks lines with one step each; only the compiled spec searches for what explains them.
@pytest.mark.parametrize(
    ("engine", "way"), [("compiled", ""), ("compiled", SEARCH), pytest.param("tlc", "", marks=pytest.mark.nightly)]
)
def test_a_property_of_behaviours_without_end_is_named_as_not_checked(engine: str, way: str, tmp_path: Path) -> None:
    code, verdict = check_log(tmp_path, "INVARIANT Small\nPROPERTY Live SmallUp", STEPS, "--engine", engine, way=way)
    assert (code, verdict["verdict"], verdict["steps"]) == (0, "holds", 3)
    assert verdict["reason"].endswith("; every property that a trace can be checked for holds")
    place = "Counts.tla:12:11"
    assert f"note: the PROPERTY Live ({place}) is not checked: it speaks of behaviours without end" in verdict["notes"]


@BY_NIGHT
@pytest.mark.parametrize(
    ("name", "lines", "at", "action"),
    [
        ("ByOne", STEPS, 0, ""),
        ("ByOne", LEAP, 2, "Leap"),
        ("Refines", LEAP, 3, "Leap"),
        ("Late", STEPS, 1, "Init"),
        ("Kept", STEPS, 2, "Step"),
    ],
)
def test_the_part_of_such_a_property_about_the_first_state_and_steps_is_checked(
    name: str, lines: list[tuple[str, int]], at: int, action: str, engine: str, tmp_path: Path
) -> None:
    code, verdict = check_log(tmp_path, f"PROPERTY {name}", lines, "--engine", engine)
    found = [(each["name"], each["action"]) for each in verdict["findings"]]
    assert (code, found) == ((1, [(name, action)]) if action else (0, []))
    if at:
        assert verdict["findings"][0]["line"] == at
    (note,) = (each for each in verdict["notes"] if name in each)
    assert note.startswith(f"note: what {name} says of behaviours without end (")


def test_a_search_for_what_explains_the_lines_checks_as_much(tmp_path: Path) -> None:
    code, verdict = check_log(tmp_path, "PROPERTY Refines Kept", LEAP, way=SEARCH)
    assert (code, sorted(each["name"] for each in verdict["findings"])) == (1, ["Kept", "Refines"])


def test_tlc_is_understood_where_it_names_what_a_property_is_made_of(tmp_path: Path) -> None:
    _, verdict = check_log(tmp_path, "PROPERTY Begun", STEPS, "--engine", "tlc")
    assert [(each["name"], each["line"]) for each in verdict["findings"]] == [("Begun", 1)]


def test_where_tlc_cannot_be_asked_of_the_steps_alone_it_says_so(tmp_path: Path) -> None:
    code, verdict = check_log(tmp_path, "PROPERTY Nameless", LEAP, "--engine", "tlc")
    assert code == 0
    assert any(each.startswith("note: TLC cannot find where the PROPERTY Nameless fails") for each in verdict["notes"])
    code, verdict = check_log(tmp_path, "PROPERTY Nameless", LEAP)
    assert (code, verdict["findings"][0]["name"]) == (1, "Nameless")


def test_a_property_of_behaviours_without_end_is_not_checked_of_a_counterexample_of_another_tool(
    tmp_path: Path,
) -> None:
    check_log(tmp_path, "PROPERTY Live", STEPS)
    itf = tmp_path / "found.itf.json"
    itf.write_text(json.dumps({"vars": ["x"], "states": [{"x": 0}, {"x": 1}], "loop": 1}))
    verdict = check(itf, spec=tmp_path / "Counts.tla")
    assert str(verdict.verdict) == "holds"
    assert any("the PROPERTY Live (Counts.tla:12:11) is not checked" in note for note in verdict.notes)


def test_a_postcondition_of_the_whole_search_is_not_checked(tmp_path: Path) -> None:
    _, verdict = check_log(tmp_path, "POSTCONDITION Init", STEPS)
    assert verdict["notes"] == ["note: the POSTCONDITION Init is not checked: it is of a whole search"]
