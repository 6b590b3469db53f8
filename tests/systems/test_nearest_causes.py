"""Causes in the initial state, and the change that comes nearest where none lets the trace go on."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.deadline import Deadline
from lockstep.conformance import deviation
from lockstep.conformance.deviation import find_deviation
from lockstep.conformance.initial_causes import changed_beginnings
from lockstep.conformance.nearest_change import nearest_change
from lockstep.conformance.search_limit import SearchLimit
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.report.diagnosis_text import cause_text
from lockstep.trace.trace_format import Event
from tests.support.systems.own_diagnoses import diagnosed, first, steps_of

BEGINNING = r"""
VARIABLES s, t
Start == [a |-> 1, b |-> 7]
Init == s = Start /\ t = 0
Up == t' = t + 1 /\ s' = [s EXCEPT !.a = @ + t]
Again == t' = 0 /\ s' = Start
Next == Up \/ Again
"""


def test_what_is_otherwise_from_the_start_is_named_where_the_spec_begins(tmp_path: Path) -> None:
    """A record that is written down is evaluated at each use, so that the start has another one, too."""
    steps = [("Up", {"s": {"b": 8}, "t": 1}), ("Again", {"s": {"a": 1, "b": 8}, "t": 0}), ("Up", {"s": {"b": 8}})]
    cause = first(tmp_path, BEGINNING, steps)
    assert (cause.kind, cause.what, cause.came_to, cause.would_be) == ("number", "7", "7", "8")
    assert (cause.action, cause.node, cause.line, cause.again, cause.whole) == ("Init", "", 1, 1, True)
    assert "the number 7 in the initial state; were it 8, and in 1 later step too, the spec" in cause_text(cause, 2)


def test_where_no_single_change_explains_it_the_nearest_is_named(tmp_path: Path) -> None:
    spec = r"""
VARIABLES a, b, c, d
Init == a = 0 /\ b = 0 /\ c = 0 /\ d = 0
Up == /\ IF a < 5 THEN a' = 1 /\ b' = 1 /\ c' = 1 ELSE a' = 2 /\ b' = 2 /\ c' = 2
      /\ d' = d * 2
Next == Up
"""
    cause = first(tmp_path, spec, [("Up", {"a": 2, "b": 2, "c": 2, "d": 40})])
    assert (cause.kind, cause.what, cause.accepts, cause.differ) == ("formula", "a < 5", 0, (1, 4))
    assert cause_text(cause, 2) == (
        "no likely single change lets the trace go on; nearest comes Own.tla:5:13: a < 5 is TRUE (0 and 5); were it"
        " FALSE, 1 value would differ, not 4"
    )


def test_of_the_nearest_changes_the_one_that_leaves_least_is_named(tmp_path: Path) -> None:
    spec = r"""
VARIABLES a, b, c, d
Init == a = 0 /\ b = 0 /\ c = 0 /\ d = 0
Up == /\ IF a < 5 THEN (IF b < 5 THEN a' = 1 /\ b' = 1 /\ c' = 1 ELSE a' = 2 /\ b' = 2 /\ c' = 2)
         ELSE a' = 2 /\ b' = 2 /\ c' = 1
      /\ d' = d * 2
Next == Up
"""
    cause = first(tmp_path, spec, [("Up", {"a": 2, "b": 2, "c": 2, "d": 40})])
    assert (cause.what, cause.differ) == ("b < 5", (1, 4))


def test_of_nearest_changes_that_leave_as_much_a_condition_comes_first_and_what_is_written_down_last(
    tmp_path: Path,
) -> None:
    spec = r"""
VARIABLES k, r, s
Init == k = 0 /\ r = 0 /\ s = [a |-> 0, b |-> 0]
Up == k' = k + 1 /\ r' = (IF k < 5 THEN 1 ELSE 90) /\ UNCHANGED s
Set == r' = (IF TRUE THEN 1 ELSE 90) /\ s' = [s EXCEPT !.a = 50] /\ UNCHANGED k
Next == Up \/ Set
"""
    cause = first(tmp_path, spec, [("Up", {"k": 2, "r": 90})])
    assert (cause.what, cause.differ) == ("k < 5", (1, 2))
    cause = first(tmp_path, spec, [("Set", {"r": 90, "s": {"a": 0}})])
    assert (cause.what, cause.differ) == ("!.a = 50", (1, 2))


def test_of_nearest_changes_that_leave_as_much_the_spec_s_own_comes_first(tmp_path: Path) -> None:
    spec = r"""
INSTANCE Quorum
VARIABLES n, k, marks
Init == n = 0 /\ k = 0 /\ marks = <<7, 70, 700>>
Up == n' = QuorumIndexBySorting(marks) /\ k' = k + 1 /\ UNCHANGED marks
Next == Up
"""
    cause = first(tmp_path, spec, [("Up", {"n": 700, "k": 2})])
    assert (cause.what, cause.differ) == ("k + 1", (1, 2))


def test_the_nearest_change_may_be_one_of_the_initial_state(tmp_path: Path) -> None:
    cause = first(tmp_path, BEGINNING, [("Up", {"s": {"b": 8}, "t": 5})])
    assert (cause.what, cause.action, cause.differ) == ("7", "Init", (1, 2))


def test_a_nearest_change_of_the_initial_state_says_in_which_later_steps_it_is_needed_too(tmp_path: Path) -> None:
    spec = BEGINNING.replace("Next == Up", "Off == t' = s.b - Start.b /\\ UNCHANGED s\nNext == Off \\/ Up")
    cause = first(tmp_path, spec, [("Off", {"t": 0}), ("Up", {"s": {"b": 8}, "t": 5})])
    assert (cause.what, cause.is_initial, cause.again) == ("7", True, 1)
    assert "were it 8, and in 1 later step too, 1 value would differ, not 2" in cause_text(cause, 3)


def test_a_change_of_the_initial_state_that_an_earlier_line_refutes_is_not_the_nearest(tmp_path: Path) -> None:
    """With b = 8 from the start the second line would come nearer, but the first shows that it was 7."""
    found = diagnosed(tmp_path, BEGINNING, [("Up", {"s": {"b": 7}}), ("Up", {"s": {"b": 8}, "t": 5})])
    assert [(cause.kind, cause.differ) for cause in found.causes] == [("rule", None)]


def test_of_causes_that_explain_as_much_the_spec_s_own_comes_before_a_shared_module(tmp_path: Path) -> None:
    """A number within Quorum that is one more gives 3 as well, and is evaluated first."""
    spec = r"""
INSTANCE Quorum
VARIABLES n, k, marks
Init == n = 0 /\ k = 0 /\ marks = <<1, 2, 3>>
Up == n' = QuorumIndexBySorting(marks) + k /\ UNCHANGED <<k, marks>>
Next == Up
"""
    found = diagnosed(tmp_path, spec, [("Up", {"n": 3}), ("Up", {"n": 3})])
    assert [cause.what for cause in found.causes if cause.kind == "number"] == ["QuorumIndexBySorting(marks) + k"]


def test_an_action_that_is_called_init_is_not_the_initial_state(tmp_path: Path) -> None:
    spec = "VARIABLE n\nBegin == n = 0\nInit == n' = n + 1\nNext == Init\n"
    cause = first(tmp_path, spec, [("Init", {"n": 1}), ("Init", {"n": 3})], init="Begin")
    assert (cause.what, cause.is_initial, cause.line) == ("n + 1", False, 3)
    assert "initial state" not in cause_text(cause, 3)


@pytest.mark.parametrize(("mended", "differ"), [(1, []), (2, [(2, 4)]), (3, [(1, 4)])])
def test_a_change_is_the_nearest_where_it_mends_half_of_what_differs(
    tmp_path: Path, mended: int, differ: list[tuple[int, int]]
) -> None:
    names = "bcde"
    begin = " /\\ ".join(f"{name} = 0" for name in names)
    some = " /\\ ".join(f"{name}' = 1" for name in names[:mended])
    others = " /\\ ".join(f"{name}' = 2" for name in names[:mended])
    rest = " /\\ ".join(f"{name}' = {name} * 3" for name in names[mended:])
    spec = f"""
VARIABLES a, b, c, d, e
Init == a = 0 /\\ {begin}
Up == a' = a /\\ (IF a < 5 THEN {some} ELSE {others}) /\\ {rest}
Next == Up
"""
    shown = {name: 2 if at < mended else 7 for at, name in enumerate(names)}
    found = [cause.differ for cause in diagnosed(tmp_path, spec, [("Up", shown)]).causes]
    assert found == (differ or [None])  # else the rule that the spec states


def test_the_search_for_the_nearest_change_ends_with_its_time(tmp_path: Path) -> None:
    spec = "VARIABLES a, b\nInit == a = 0 /\\ b = 0\nUp == a' = a + 1 /\\ b' = b * 2\nNext == Up\n"
    steps = steps_of(tmp_path, spec)
    trace = ListedTrace.numbered("t", [Event(seq=0, node="n1", action="Up", shows={"a": 2, "b": 7})])
    found = find_deviation(trace, steps.check)
    assert found is not None
    limits = [SearchLimit(Deadline(seconds)) for seconds in (60.0, 0.0)]
    assert [nearest_change(found, steps, limit, (), ()) is None for limit in limits] == [False, True]
    assert [len(limit.notes) for limit in limits] == [0, 1]


def test_the_search_for_changes_of_the_initial_state_ends_with_its_time_though_none_gives_another(
    tmp_path: Path,
) -> None:
    spec = 'VARIABLE n\nInit == n = "a" /\\ (1 < 2 \\/ 3 < 4)\nUp == n\' = "b"\nNext == Up\n'
    steps = steps_of(tmp_path, spec)
    trace = ListedTrace.numbered("t", [Event(seq=0, node="n1", action="Up", shows={"n": "a"})])
    found = find_deviation(trace, steps.check)
    assert found is not None
    limit = SearchLimit(Deadline(0.0))
    assert [*changed_beginnings(found, steps, limit)] == []
    assert limit.notes == ["the time was over before all expressions of the initial state were tried"]


def test_the_initial_state_is_not_looked_at_where_a_later_step_explains_the_trace(tmp_path: Path) -> None:
    """It would explain more."""
    spec = r"""
VARIABLES n, by
Init == n = 0 /\ by = 1
Up == n' = n + by /\ UNCHANGED by
Twice == n' = n + by + by /\ UNCHANGED by
Next == Up \/ Twice
"""
    found = diagnosed(tmp_path, spec, [("Up", {"n": 2}), ("Twice", {"n": 6}), ("Up", {"n": 8})])
    assert [(cause.what, cause.action) for cause in found.causes] == [("n + by", "Up")]


def test_the_initial_state_is_not_looked_at_where_the_beginning_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deviation, "MAX_EVENTS", 2)
    steps = [("Up", {}), ("Up", {}), ("Up", {"s": {"b": 8}})]
    found = diagnosed(tmp_path, BEGINNING, steps)
    assert [cause.kind for cause in found.causes if cause.action == "Init"] == []
    monkeypatch.undo()
    assert first(tmp_path, BEGINNING, steps).action == "Init"


def test_a_line_that_alone_is_wrong_is_likelier_than_the_nearest_change(tmp_path: Path) -> None:
    spec = r"""
VARIABLES a, b
Init == a = 0 /\ b = 0
Up == (IF a < 5 THEN a' = a + 1 ELSE a' = 90) /\ b' = b * 2
Next == Up
"""
    steps = [("Up", {"a": 90, "b": 9}), ("Up", {"a": 2, "b": 0})]
    assert first(tmp_path, spec, steps[:1]).differ == (1, 2)
    assert first(tmp_path, spec, steps).kind == "value"


def test_what_follows_is_left_out_where_the_beginning_no_longer_matters(tmp_path: Path) -> None:
    steps = steps_of(tmp_path, BEGINNING)
    events = [(line, Event(seq=line, node="n1", action=action)) for line, action in enumerate(("Up", "Again", "Up"), 2)]
    usual = steps.later_with(steps.check.initial(), events).states
    begun = [(outcome, state) for outcome, _, state in steps.initial_states() if state is not None]
    others = [steps.later_with(state, events, outcome, usual=usual) for outcome, state in begun]
    assert others
    assert {each.count for each in others} == {2}, "Again sets all anew"


def test_another_outcome_is_one_of_the_initial_state_only_where_it_changes_the_one_state(tmp_path: Path) -> None:
    """With the second formula there would be two, and with the third the same."""
    spec = r"""
VARIABLE n
Init == n \in (IF 1 < 2 THEN {5} ELSE {6}) \cup (IF 3 < 4 THEN {} ELSE {4}) /\ (IF 5 < 6 THEN n > 0 ELSE n > 1)
Up == n' = n
Next == Up
"""
    steps = steps_of(tmp_path, spec)
    changed = [outcome for outcome, _, state in steps.initial_states() if state is not None]
    texts = {steps.probed.probed[outcome.number].text for outcome in changed}
    assert "1 < 2" in texts
    assert texts.isdisjoint({"3 < 4", "5 < 6"})
