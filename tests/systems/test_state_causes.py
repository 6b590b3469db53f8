"""Causes of behaviours that are given by their states, as in files of the Informal Trace Format (ITF)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.deadline import Deadline
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.state_check import StateCheck
from lockstep.jobs.view.trace_view import view_own_logs
from lockstep.models.search_result import SpecFiles
from lockstep.report.diagnosis_text import cause_text
from lockstep.systems import state_diagnosis, trace_diagnosis
from lockstep.systems.file_check import own_check
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep
from tests.support.sampling import sampled

#: Two counters; the second follows the first.
TWO = r"""
VARIABLES x, y
Init == x = 0 /\ y = 0
Up == x < 2 /\ x' = x + 1 /\ UNCHANGED y
Follow == y < x /\ y' = y + 1 /\ UNCHANGED x
Set(n) == n > 5 /\ x' = n /\ UNCHANGED y
Next == Up \/ Follow \/ \E n \in 1..9 : Set(n)
"""


def files(folder: Path, spec: str) -> SpecFiles:
    (folder / "Own.tla").write_text(f"---- MODULE Own ----\nEXTENDS Integers\n{spec.strip()}\n====")
    (folder / "Own.cfg").write_text("INIT Init\nNEXT Next\n")
    return SpecFiles(folder / "Own.tla", folder / "Own.cfg")


def states(folder: Path, values: Sequence[Mapping[str, Any]], **more: Any) -> Path:
    path = folder / "t.itf.json"
    path.write_text(json.dumps({"vars": ["x", "y"], "states": [dict(each) for each in values], **more}))
    return path


def xy(*pairs: str) -> list[dict[str, Any]]:
    """The states with these digits as x and y."""
    return [{"x": int(pair[0]), "y": int(pair[1])} for pair in pairs]


def diagnosed(folder: Path, spec: str, values: Sequence[Mapping[str, Any]], **more: Any) -> Diagnosis:
    found = own_check(files(folder, spec)).diagnosis(states(folder, values, **more))
    assert found is not None
    return found


def first(folder: Path, spec: str, *pairs: str) -> DeviationCause:
    found = diagnosed(folder, spec, xy(*pairs))
    assert found.causes, found.notes
    return found.causes[0]


def test_the_condition_that_keeps_a_state_from_being_reached_is_named_whatever_the_action(tmp_path: Path) -> None:
    cause = first(tmp_path, TWO, "00", "10", "20", "30", "31", "32")
    assert (cause.kind, cause.what, cause.sides, cause.action) == ("formula", "x < 2", ("2", "2"), "Up")
    assert (cause.accepts, cause.whole, cause.again) == (3, True, 0)
    assert cause_text(cause, 1) == (
        "Own.tla:5:7: x < 2 is FALSE (2 and 2) in Up; were it TRUE, the spec would allow the rest of the file"
    )


def test_a_value_that_the_step_computes_otherwise_is_named_and_counted_where_it_is_so_again(tmp_path: Path) -> None:
    spec = TWO.replace("y' = y + 1", "y' = y + 2")
    cause = first(tmp_path, spec, "00", "10", "11", "21", "22")
    assert (cause.kind, cause.what, cause.came_to, cause.would_be, cause.again) == ("number", "y + 2", "2", "1", 1)


def test_a_step_that_is_missing_between_two_states_is_named(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, TWO, xy("00", "10", "21", "22"))
    steps = [cause for cause in found.causes if cause.kind == "step"]
    assert [(cause.what, cause.accepts, cause.whole) for cause in steps] == [("Up()", 2, True)]


def test_a_state_that_alone_is_wrong_is_named_as_such(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, TWO, xy("00", "10", "25", "21", "22"))
    assert [(cause.kind, cause.accepts) for cause in found.causes] == [("value", 3)]
    assert "with the spec's in its place the spec allows all states after it" in cause_text(found.causes[0], 1)
    # Where two variables are otherwise, it is hardly a slip.
    assert not any(cause.kind == "value" for cause in diagnosed(tmp_path, TWO, xy("00", "10", "55", "21")).causes)


def test_a_state_that_is_too_much_is_named_as_such(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, TWO, xy("00", "10", "57", "20", "21"))
    assert [(cause.kind, cause.accepts) for cause in found.causes] == [("event", 3)]


@pytest.mark.parametrize(("pairs", "named"), [(("10", "20", "21"), "0"), (("90", "91"), None)])
def test_the_expression_of_init_is_named_where_the_first_state_is_none(
    pairs: tuple[str, ...], named: str | None, tmp_path: Path
) -> None:
    found = diagnosed(tmp_path, TWO, xy(*pairs))
    if named is None:
        assert found.causes == ()
        return
    cause = found.causes[0]
    assert (cause.what, cause.would_be, cause.action, cause.is_initial, cause.whole) == (named, "1", "Init", True, True)
    assert "the number 0 in the initial state; were it 1" in cause_text(cause, 1)


def test_a_set_of_initial_states_may_lack_one(tmp_path: Path) -> None:
    spec = TWO.replace("x = 0 /\\ y = 0", "x \\in 1..3 /\\ x < 2 /\\ y = 0")
    cause = first(tmp_path, spec, "20", "21")
    assert (cause.what, cause.is_initial, cause.accepts) == ("x < 2", True, 2)


def test_the_action_that_a_file_names_is_the_one_that_is_looked_at(tmp_path: Path) -> None:
    values = xy("00", "10", "20", "30")
    for action, args, what in (("Up", {}, "x < 2"), ("Set", {"n": {"#bigint": "3"}}, "n > 5")):
        values[3]["#meta"] = {"action": action, "args": args}
        found = diagnosed(tmp_path, TWO, values)
        assert (found.causes[0].what, {cause.action for cause in found.causes}) == (what, {action})


def test_the_step_back_to_the_beginning_of_a_loop_is_diagnosed(tmp_path: Path) -> None:
    spec = TWO.replace("Next == Up", "Back == x > 5 /\\ x' = 0 /\\ y' = 0\nNext == Back \\/ Up")
    found = diagnosed(tmp_path, spec, xy("00", "10", "20"), loop=0)
    assert (found.causes[0].what, found.causes[0].action, found.causes[0].accepts) == ("x > 5", "Back", 1)


def test_a_rule_that_is_mistaken_each_time_is_counted_in_every_state(tmp_path: Path) -> None:
    cause = first(tmp_path, TWO, "00", "10", "20", "30", "40", "50")
    assert (cause.what, cause.accepts, cause.whole, cause.again) == ("x < 2", 3, True, 2)


def test_an_action_that_a_later_state_names_wrongly_is_not_believed(tmp_path: Path) -> None:
    values = xy("00", "10", "20", "30", "31", "32")
    values[4]["#meta"] = {"action": "Up", "args": {}}
    cause = diagnosed(tmp_path, TWO, values).causes[0]
    assert (cause.what, cause.accepts, cause.whole) == ("x < 2", 3, True)


def test_the_step_back_counts_as_one_that_the_spec_must_allow(tmp_path: Path) -> None:
    cause = diagnosed(tmp_path, TWO, xy("00", "10", "20", "30", "31"), loop=0).causes[0]
    assert (cause.what, cause.accepts, cause.whole) == ("x < 2", 2, False)


def test_a_refused_step_back_is_at_the_last_state(tmp_path: Path) -> None:
    spec = TWO.replace("Next == Up", "Back == x > 5 /\\ x' = 0 /\\ y' = 0\nNext == Back \\/ Up")
    (tmp_path / "t.itf.json").write_text(
        json.dumps({"vars": ["x", "y"], "states": xy("00", "10", "20"), "loop": 0}, indent=1)
    )
    check = own_check(files(tmp_path, spec))
    found, verdict = check.diagnosis(tmp_path / "t.itf.json"), check(tmp_path / "t.itf.json")
    assert found is not None
    assert verdict.deviation is not None
    assert found.causes[0].line == verdict.deviation.line


def test_a_change_in_an_action_with_several_next_states_is_found(tmp_path: Path) -> None:
    spec = r"""
VARIABLES x, y
Init == x = 0 /\ y = 0
Pick == x' \in {x + 1, x + 2} /\ UNCHANGED y
Follow == y < x - 1 /\ y' = y + 1 /\ UNCHANGED x
Next == Pick \/ Follow
"""
    cause = first(tmp_path, spec, "00", "20", "21", "22", "42", "43")
    assert (cause.what, cause.accepts, cause.whole) == ("y < x - 1", 3, True)


def test_an_action_may_be_called_observe_and_a_state_may_stay(tmp_path: Path) -> None:
    spec = TWO.replace("Set(n) == n > 5 /\\ x' = n /\\ UNCHANGED y", "Observe(n) == y' = n /\\ UNCHANGED x")
    cause = first(tmp_path, spec.replace("Set(n)", "Observe(n)"), "00", "00", "10", "10", "20", "30", "30", "31")
    assert (cause.what, cause.accepts, cause.whole) == ("x < 2", 3, True)


def test_what_is_left_out_of_many_steps_is_noted(tmp_path: Path) -> None:
    spec = TWO.replace("1..9 : Set(n)", "1..999 : Set(n)").replace("n > 5", "n > 900")
    found = diagnosed(tmp_path, spec, xy("00", "10", "20", "30"))
    assert found.causes[0].what == "x < 2"
    assert "of Set only 200 arguments were tried" in found.notes


def test_an_initial_state_that_is_hard_to_find_takes_no_longer_than_it_may(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    spec = TWO.replace("x = 0 /\\ y = 0", "x \\in 1..2000000 /\\ x * 3 = 3000000 /\\ y \\in 0..3 /\\ y < 2")
    check, path = own_check(files(tmp_path, spec)), states(tmp_path, xy("30"))
    check(path)
    monkeypatch.setattr(trace_diagnosis, "DIAGNOSIS_SECONDS", 0.2)
    monkeypatch.setattr(StateCheck, "_refuse_late", lambda *_: None)
    found = check.diagnosis(path)
    assert found is not None
    assert found.notes == ("the time was over before all expressions of the initial state were tried",)


def test_a_function_may_have_another_domain_in_each_state(tmp_path: Path) -> None:
    spec = r"""
VARIABLES x, y
Init == x = [i \in {} |-> 0] /\ y = 0
Add(i) == y < 2 /\ x' = [j \in DOMAIN x \cup {i} |-> 1] /\ y' = y + 1
Next == \E i \in {"a", "b", "c"} : Add(i)
"""
    tables = [{"#map": [[name, 1] for name in names]} for names in ("", "a", "ab", "abc")]
    cause = diagnosed(tmp_path, spec, [{"x": table, "y": y} for y, table in enumerate(tables)]).causes[0]
    assert (cause.what, cause.accepts, cause.whole) == ("y < 2", 1, True)


def test_where_no_change_leads_to_a_state_the_nearest_is_named(tmp_path: Path) -> None:
    spec = r"""
VARIABLES x, y
Init == x = 0 /\ y = 0
Jump == IF x < 1 THEN x' = 1 /\ y' = 1 ELSE x' = 7 /\ y' = 3
Next == Jump
"""
    cause = first(tmp_path, spec, "00", "79")
    assert (cause.kind, cause.what, cause.differ) == ("formula", "x < 1", (1, 2))


def test_a_file_that_the_spec_allows_has_no_diagnosis(tmp_path: Path) -> None:
    assert own_check(files(tmp_path, TWO)).diagnosis(states(tmp_path, xy("00", "10"))) is None


def test_a_diagnosis_without_time_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(state_diagnosis, "diagnosis_deadline", lambda _: Deadline(0))
    found = diagnosed(tmp_path, TWO, xy("00", "10", "20", "30"))
    assert (found.causes, found.notes) == ((), (state_diagnosis.TOO_LATE,))


def test_the_page_of_a_file_of_states_begins_with_the_cause(tmp_path: Path) -> None:
    path = states(tmp_path, xy("00", "10", "20", "30"))
    shown, _ = view_own_logs([path], files(tmp_path, TWO), diagnoses=True)
    assert shown.diagnosis is not None
    assert "x < 2 is FALSE (2 and 2)" in shown.diagnosis.rows[0].text
    assert view_own_logs([path], files(tmp_path, TWO))[0].diagnosis is None


COUNTEREXAMPLES = ROOT / "traces" / "counterexamples"
DEVIATING = ("hashicorp/elections/torn_vote", "hashicorp/log/even_quorum", "dledger/push/stale_compare_index")


@pytest.mark.parametrize("name", sampled(DEVIATING, DEVIATING[1:]))
def test_a_trace_that_was_exported_as_states_has_the_causes_of_the_trace(name: str, tmp_path: Path) -> None:
    trace, exported = COUNTEREXAMPLES / f"{name}.trace.ndjson", tmp_path / "t.itf.json"
    done = lockstep("export", trace, "--to", "itf", "-o", exported, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    by_file = [lockstep("check", "--switch", "repaired", file, cwd=tmp_path).stdout for file in (trace, exported)]
    (events, states) = ([line for line in text.splitlines() if line.startswith("    cause")] for text in by_file)
    assert events == [line.replace("the file", "the trace").replace("this state", "this event") for line in states]
    assert "=published: the spec with it allows" in events[0]
