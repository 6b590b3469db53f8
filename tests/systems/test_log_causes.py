"""Causes of logs that leave steps open: the change with which a behaviour explains the line that none explains."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.deadline import Deadline
from lockstep.jobs.view.trace_view import view_own_logs
from lockstep.report.page.shown_behaviour import ShownBehaviour, ShownStep
from lockstep.report.sarif_report import sarif_log
from lockstep.systems import log_diagnosis
from tests.support.systems.log_diagnoses import DiagnosedLogs

#: A producer fills a box; a courier, which writes no log, empties it; each delivery is noted.
BOX = r"""
VARIABLES made, sent, noted
Init == made = 0 /\ sent = 0 /\ noted = 0
Make == made' = made + 1 /\ UNCHANGED <<sent, noted>>
Send(n) == /\ sent < n /\ n < made
           /\ sent' = n /\ UNCHANGED <<made, noted>>
Note(n) == /\ noted < n /\ n <= sent
           /\ noted' = n /\ UNCHANGED <<made, sent>>
Next == Make \/ \E n \in 1..made : Send(n) \/ Note(n)
"""
MAPPING = """
[hidden]
Send = 2
[lines.made]
action = "Make"
shows = { made = "count" }
[lines.noted]
action = "Note"
args = { n = "n" }
"""


def made(count: int) -> dict[str, Any]:
    return {"event": "made", "count": count}


def noted(n: int) -> dict[str, Any]:
    return {"event": "noted", "n": n}


def test_the_condition_that_keeps_a_line_from_being_explained_is_named(tmp_path: Path) -> None:
    spec = BOX.replace("n < made", "n <= made").replace("noted < n /", "noted + 1 < n /")
    logs = DiagnosedLogs(tmp_path, spec, MAPPING, {"a.log": [made(1), noted(1), made(2), noted(2), made(3), noted(3)]})
    cause = logs.first
    assert (cause.kind, cause.what, cause.sides, cause.line) == ("formula", "noted + 1 < n", ("1", "1"), 2)
    assert (cause.again, cause.accepts, cause.whole, cause.is_hidden) == (2, 5, True, False)
    assert logs.text.startswith(
        "cause      Own.tla:8:15: noted + 1 < n is FALSE (1 and 1); were it TRUE, and in 2 later"
    )


def test_a_condition_of_a_step_without_a_line_is_named_with_the_line_that_it_comes_before(tmp_path: Path) -> None:
    logs = DiagnosedLogs(tmp_path, BOX, MAPPING, {"a.log": [made(1), noted(1), made(2), noted(2)]})
    hidden = [cause for cause in logs.diagnosis.causes if cause.is_hidden]
    assert [(cause.action, cause.what, cause.came_to, cause.line) for cause in hidden] == [
        ("Send", "n < made", "FALSE", 2)
    ]
    assert "n < made is FALSE in a step without a line, Send, before line 2; were it TRUE" in logs.text


def test_what_an_earlier_line_did_is_blamed_at_its_line(tmp_path: Path) -> None:
    spec = r"""
VARIABLES n, double
Init == n = 0 /\ double = 0
Up == n' = n + 1 /\ double' = double + 3
Next == Up
"""
    mapping = """
[lines.up]
action = "Up"
shows = { n = "n" }
[lines.seen]
shows = { double = "double" }
"""
    lines = [{"event": "up", "n": 1}, {"event": "up", "n": 2}, {"event": "seen", "double": 5}, {"event": "up", "n": 3}]
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": lines})
    cause = logs.first
    assert (cause.what, cause.came_to, cause.would_be, cause.line, cause.action) == ("double + 3", "6", "5", 2, "Up")
    assert "double + 3 is 6 at line 2 (Up); were it 5, the spec would allow the rest of the logs" in logs.text


@pytest.mark.parametrize(("count", "is_named"), [(5, True), (4, False)])
def test_a_line_alone_is_wrong_where_enough_others_are_explained_without_it(
    count: int, is_named: bool, tmp_path: Path
) -> None:
    later = [made(number) for number in range(2, 2 + count)]
    logs = DiagnosedLogs(tmp_path, BOX, MAPPING, {"a.log": [made(1), noted(7), *later]})
    assert ("event" in {cause.kind for cause in logs.diagnosis.causes}) == is_named
    assert ("the line alone: without it the spec allows all lines after it" in logs.text) == is_named


TOGETHER = f"""
files = "together"
time = {{ field = "ts", unit = "ms" }}
{MAPPING}
"""


def test_a_cause_in_another_log_is_named_with_its_file(tmp_path: Path) -> None:
    spec = BOX.replace("n < made", "n <= made").replace("made' = made + 1", "made' = made + 2")
    mapping = TOGETHER.replace('shows = { made = "count" }\n', "")
    producer = [{**made(0), "ts": 1}, {**made(0), "ts": 3}]
    shown = [{"event": "seen", "ts": 5, "count": 3}]
    mapping += '[lines.seen]\nshows = { made = "count" }\n'
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": producer, "b.log": shown})
    cause = logs.first
    assert (cause.what, cause.source, cause.line) == ("made + 2", str(tmp_path / "a.log"), 2)
    assert f"made + 2 is 4 at {tmp_path / 'a.log'}:2 (Make); were it 3, the spec would allow this line" in logs.text


def test_the_page_and_sarif_name_a_step_of_another_log_by_its_file(tmp_path: Path) -> None:
    spec = BOX.replace("n < made", "n <= made").replace("made' = made + 1", "made' = made + 2")
    mapping = TOGETHER.replace('shows = { made = "count" }\n', "") + '[lines.seen]\nshows = { made = "count" }\n'
    producer = [{**made(0), "ts": 1}, {**made(0), "ts": 3}]
    logs = DiagnosedLogs(
        tmp_path, spec, mapping, {"a.log": producer, "b.log": [{"event": "seen", "ts": 5, "count": 3}]}
    )
    shown, _ = view_own_logs(logs.paths, logs.files, diagnoses=True)
    assert shown.diagnosis is not None
    assert shown.diagnosis.decided is not None
    assert shown.names[shown.diagnosis.decided] == "a.log:2"
    assert shown.names[shown.diagnosis.seen] == "b.log:1"
    logs.verdict.explain(logs.diagnosis)
    (text,) = [
        each["message"]["text"] for each in json.loads(sarif_log([logs.verdict], logs.files))["runs"][0]["results"]
    ]
    assert all(line in text for line in logs.text.splitlines())


def test_two_logs_of_one_name_go_by_their_folders() -> None:
    steps = [ShownStep(0, "Init", {}, "", {})]
    steps += [ShownStep(at, "Up", {}, "", {}, line=1, source=f"{at}/a.log") for at in (1, 2)]
    assert ShownBehaviour("", "", "", tuple(steps), 2, (), by_log=True).names[1:] == ["1/a.log:1", "2/a.log:1"]


def test_a_hidden_step_that_decides_is_marked_where_it_is_taken(tmp_path: Path) -> None:
    spec = r"""
VARIABLES a, b
Init == a = 0 /\ b = 0
Double == a < 1 /\ a' = a + 2 /\ UNCHANGED b
Show == a = 1 /\ b' = a /\ UNCHANGED a
Next == Double \/ Show
"""
    mapping = '[hidden]\nDouble = 1\n[lines.seen]\nshows = { a = "a" }\n'
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": [{"event": "seen", "a": 0}, {"event": "seen", "a": 1}]})
    shown, _ = view_own_logs(logs.paths, logs.files, diagnoses=True)
    assert (logs.first.what, logs.first.is_hidden, logs.first.line) == ("a + 2", True, 2)
    assert "a + 2 is 2 in a step without a line, Double, before line 2; were it 1" in logs.text
    assert shown.diagnosis is not None
    assert shown.diagnosis.decided is not None
    decided = shown.steps[shown.diagnosis.decided]
    assert (decided.action, decided.is_hidden) == ("Double", True)


def test_only_a_later_line_of_the_same_log_shows_that_a_line_alone_is_wrong(tmp_path: Path) -> None:
    other = [{**made(count), "ts": count * 10} for count in range(2, 9)]
    first = [{**made(1), "ts": 1}]
    for last, is_named in (([], False), ([{**noted(1), "ts": 90}], True)):
        spec = BOX.replace("n < made", "n <= made")
        wrong = [{**noted(7), "ts": 5}, *last]
        # One line more that nothing explains, so that not all that follows agrees.
        logs = DiagnosedLogs(
            tmp_path, spec, TOGETHER, {"a.log": [*first, *other, {**made(50), "ts": 99}], "b.log": wrong}
        )
        assert ("event" in {cause.kind for cause in logs.diagnosis.causes}) == is_named


def test_a_line_of_several_steps_must_go_on_to_its_end(tmp_path: Path) -> None:
    spec = r"""
VARIABLES a, b
Init == a = 0 /\ b = 0
First == a < 0 /\ a' = a + 1 /\ UNCHANGED b
Second == a = 1 /\ b' = b + 1 /\ UNCHANGED a
Next == First \/ Second
"""
    mapping = """
[lines.both]
steps = [{ action = "First" }, { action = "Second", shows = { b = "b" } }]
"""
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": [{"event": "both", "b": 1}]})
    assert (logs.first.kind, logs.first.what, logs.first.action) == ("formula", "a < 0", "First")
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": [{"event": "both", "b": 7}]})
    assert not any(cause.accepts for cause in logs.diagnosis.causes)


def test_a_step_that_a_line_repeats_is_replayed_as_often_as_it_was_taken(tmp_path: Path) -> None:
    spec = r"""
VARIABLES n, seen
Init == n = 0 /\ seen = 0
Up == n' = n + 1 /\ UNCHANGED seen
See == n < 3 /\ seen' = n /\ UNCHANGED n
Next == Up \/ See
"""
    mapping = """
[lines.up]
action = "Up"
repeat = 5
shows = { n = "n" }
[lines.see]
action = "See"
"""
    lines = [{"event": "up", "n": 3}, {"event": "see"}, {"event": "up", "n": 4}]
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": lines})
    assert (logs.first.what, logs.first.sides, logs.first.whole) == ("n < 3", ("3", "3"), True)
    earlier = [cause for cause in logs.diagnosis.causes if cause.kind == "number"]
    assert all(cause.accepts == logs.first.accepts for cause in earlier)


def test_a_node_may_be_a_number(tmp_path: Path) -> None:
    spec = r"""
VARIABLE stored
Init == stored = [n \in 1..2 |-> 0]
Store(n) == stored' = [stored EXCEPT ![n] = @ + 2]
Next == \E n \in 1..2 : Store(n)
Observe(n) == [stored |-> stored[n]]
"""
    mapping = """
node = "node"
[lines.store]
action = "Store"
args = { n = "node" }
shows = { stored = "stored" }
"""
    lines = [{"event": "store", "node": 2, "stored": 1}, {"event": "store", "node": 1, "stored": 1}]
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": lines})
    assert (logs.first.what, logs.first.would_be, logs.first.node, logs.first.again) == ("@ + 2", "1", "2", 1)


@pytest.mark.parametrize(("start", "is_blamed"), [("", True), ('start = "Anywhere"\n', False)])
def test_the_initial_state_is_blamed_only_where_the_logs_begin_in_it(
    start: str, is_blamed: bool, tmp_path: Path
) -> None:
    spec = r"""
VARIABLES n, m
Init == n = 5 /\ m = 0
Anywhere == n = 5 /\ m \in 0..1
See == UNCHANGED <<n, m>>
Next == See
"""
    mapping = start + '[lines.see]\nshows = { n = "n" }\n'
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": [{"event": "see", "n": 6}, {"event": "see", "n": 6}]})
    found = logs.check.diagnosis_of(logs.refuted)
    assert found is not None
    assert any(cause.is_initial for cause in found.causes) == is_blamed


def test_of_the_states_that_explain_the_lines_before_one_is_taken_that_a_single_change_lets_go_on(
    tmp_path: Path,
) -> None:
    """Without the step that no line records the second condition is false as well."""
    spec = BOX.replace("n < made", "n <= made").replace("noted < n /", "noted > n /")
    logs = DiagnosedLogs(tmp_path, spec, MAPPING, {"a.log": [made(1), noted(1)]})
    assert (logs.first.what, logs.first.besides) == ("noted > n", "")


def test_a_diagnosis_without_time_says_so_and_the_verdict_stands(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    logs = DiagnosedLogs(tmp_path, BOX, MAPPING, {"a.log": [made(1), noted(1), made(2)]})
    monkeypatch.setattr(log_diagnosis, "diagnosis_deadline", lambda _: Deadline(0))
    found = logs.check.diagnosis_of(logs.refuted)
    assert found is not None
    assert (found.causes, found.notes) == ((), ("the time was over before all reasons were looked at",))
    assert logs.finding.line == 2


def test_a_hidden_step_explains_no_other_line_in_the_place_of_the_one_that_nothing_explains(tmp_path: Path) -> None:
    """The lines of the other log are explained with any change of the hidden action; the odd one is not."""
    mapping = TOGETHER.replace('time = { field = "ts", unit = "ms" }', "")
    mapping += '[lines.odd]\nshows = { noted = "noted" }\n'
    odd, other = [{"event": "odd", "noted": 5}], [made(1), noted(1), made(2)]
    logs = DiagnosedLogs(tmp_path, BOX, mapping, {"a.log": odd, "b.log": other})
    found = logs.check.diagnosis_of(logs.refuted)
    assert found is not None
    assert not any(cause.is_hidden for cause in found.causes)


def test_a_change_in_a_step_without_a_line_is_of_no_other_action(tmp_path: Path) -> None:
    """`Can` is evaluated by the hidden action as well, and stands in the way in Note alone."""
    spec = BOX.replace("Init ==", "Can(n) == n < made\nInit ==").replace("/\\ n < made", "/\\ (Can(n) \\/ n = made)")
    spec = spec.replace("n <= sent", "n <= sent /\\ Can(n)")
    logs = DiagnosedLogs(tmp_path, spec, MAPPING, {"a.log": [made(1), noted(1), made(2), noted(2)]})
    assert [cause.is_hidden for cause in logs.diagnosis.causes] == [False]


def test_a_line_that_is_left_out_leaves_none_of_its_steps(tmp_path: Path) -> None:
    """Without its first step, too, the rest has other values."""
    spec = r"""
VARIABLES a, b, c
Init == a = 0 /\ b = 0 /\ c = 0
First == a' = a + 1 /\ UNCHANGED <<b, c>>
Second == b < a - 5 /\ b' = b + 1 /\ UNCHANGED <<a, c>>
Third == c' = c + 1 /\ UNCHANGED <<a, b>>
Next == First \/ Second \/ Third
"""
    mapping = """
[lines.both]
steps = [{ action = "First" }, { action = "Second" }, { action = "Third" }]
[lines.third]
action = "Third"
shows = { c = "c", a = "a" }
"""

    def kinds(a: int, c: int) -> set[str]:
        later = [{"event": "third", "c": c + number, "a": a} for number in range(6)]
        lines = [{"event": "third", "c": 1, "a": 0}, {"event": "both"}, *later]
        return {cause.kind for cause in DiagnosedLogs(tmp_path, spec, mapping, {"a.log": lines}).diagnosis.causes}

    assert "event" not in kinds(a=1, c=3)
    assert "event" in kinds(a=0, c=2)


def test_a_line_is_not_wrong_where_the_next_of_the_log_shows_the_same(tmp_path: Path) -> None:
    spec = r"""
VARIABLES v, w, k
Init == v = 0 /\ w = 0 /\ k = 0
Raise == w' = 1 /\ UNCHANGED <<v, k>>
Sync == w = 1 /\ v = 0 /\ v' = w /\ UNCHANGED <<w, k>>
Work == k' = k + 1 /\ UNCHANGED <<v, w>>
Next == Raise \/ Sync \/ Work
"""
    mapping = """
[hidden]
Sync = 1
[lines.raise]
action = "Raise"
shows = { v = "v" }
[lines.work]
action = "Work"
shows = { v = "v", k = "k" }
"""
    work = [{"event": "work", "v": 1, "k": number} for number in range(2, 8)]
    logs = DiagnosedLogs(
        tmp_path, spec, mapping, {"a.log": [{"event": "work", "v": 0, "k": 1}, {"event": "raise", "v": 1}, *work]}
    )
    assert {cause.kind for cause in logs.diagnosis.causes} == {"rule"}


UP = r"""
VARIABLES n, m
Init == n = 0 /\ m = 0
Up == n < 3 /\ n' = n + 1 /\ UNCHANGED m
M == m' = m + 1 /\ UNCHANGED n
Next == Up \/ M
"""


def test_the_condition_is_named_that_keeps_a_line_from_repeating_its_step_once_more(tmp_path: Path) -> None:
    mapping = '[lines.up]\naction = "Up"\nrepeat = 10\nshows = { n = "n" }\n'
    lines = [{"event": "up", "n": 2}, {"event": "up", "n": 5}, {"event": "up", "n": 6}]
    logs = DiagnosedLogs(tmp_path, UP, mapping, {"a.log": lines})
    assert (logs.first.what, logs.first.sides, logs.first.whole) == ("n < 3", ("3", "3"), True)


def test_a_step_that_either_of_two_claims_may_be_of_is_one_of_the_second_where_that_needs_one(tmp_path: Path) -> None:
    mapping = """
[lines.up]
steps = [{ action = "Up", repeat = 2 }, { action = "Up" }]
[lines.m]
action = "M"
shows = { n = "n" }
"""
    spec = UP.replace("n + 1", "n + 2").replace("n < 3 /\\ ", "")
    logs = DiagnosedLogs(
        tmp_path, spec, mapping, {"a.log": [{"event": "up"}, {"event": "m", "n": 3}, {"event": "m", "n": 3}]}
    )
    assert (logs.first.what, logs.first.line, logs.first.whole) == ("n + 2", 1, True)
    assert not logs.diagnosis.notes


def test_a_later_claim_of_a_line_may_need_the_change_as_well(tmp_path: Path) -> None:
    spec = UP.replace("n < 3", "n < 1")
    mapping = '[lines.up]\nsteps = [{ action = "Up" }, { action = "Up" }, { action = "Up", shows = { n = "n" } }]\n'
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": [{"event": "up", "n": 3}, {"event": "up", "n": 6}]})
    assert (logs.first.what, logs.first.whole, logs.first.again) == ("n < 1", True, 3)


def test_a_change_in_an_action_with_several_next_states_is_found(tmp_path: Path) -> None:
    spec = r"""
VARIABLE x
Init == x = 0
Up == x < 3 /\ x' \in {x + 1, x + 2}
Next == Up
"""
    mapping = '[lines.up]\naction = "Up"\nshows = { x = "x" }\n'
    lines = [{"event": "up", "x": number} for number in (2, 3, 5, 6)]
    logs = DiagnosedLogs(tmp_path, spec, mapping, {"a.log": lines})
    assert (logs.first.what, logs.first.whole) == ("x < 3", True)


def test_the_taken_steps_of_the_refused_line_go_by_it(tmp_path: Path) -> None:
    mapping = '[lines.up]\nsteps = [{ action = "Up" }, { action = "Up" }]\n'
    logs = DiagnosedLogs(tmp_path, UP, mapping, {"a.log": [{"event": "up"}, {"event": "up"}]})
    shown, _ = view_own_logs(logs.paths, logs.files)
    assert shown.names == ["initial state", "line 1", "line 1", "line 2", "line 2"]
    assert [step.is_refused for step in shown.steps] == [False, False, False, False, True]
