"""An APPEND above a gap waits too long, and is answered with INCONSISTENT_STATE.

Source: EntryHandler.checkAppendFuture, which takes it from writeRequestMap in 0.3.2, and only looks at it before.
"""

from __future__ import annotations

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import Continued


class Gap(Continued):
    """The APPEND of 3 is lost, and that of 4 waits."""

    def __init__(self) -> None:
        super().__init__()
        self.append()
        self.append()
        self.send("APPEND", 3)
        self.push = self.send("APPEND", 4)
        self.receive(self.push)
        self.handler("enqueue", self.push)

    def answered(self, code: str = "INCONSISTENT_STATE") -> int:
        """Let it be answered; return the line."""
        self.answer(self.push, code)
        return len(self.lines)

    def leader_dies(self) -> None:
        """Kill n0."""
        self.add("crash", "n0", st=self.state("n0"))

    def verdict(self) -> tuple[Imported, TraceVerdict]:
        """Import the recording, and check it."""
        found = import_lines(self.recording(), "recorded")
        trace = Trace(trace_lines(found.header, found), "recorded")
        return found, check_dledger(trace, trace_spec(trace.header, trace.source))


def fast_forward(*, leaves: bool, code: str = "INCONSISTENT_STATE") -> tuple[Imported, TraceVerdict, int]:
    """Return what an answer that arrives is imported as, what the check says, and its line."""
    recorded = Gap()
    if leaves:
        recorded.handler("take", recorded.push, done=False)
    answer = recorded.answer(recorded.push, code)
    line = len(recorded.lines)
    recorded.arrive(answer)
    return *recorded.verdict(), line


def actions(found: Imported, line: int) -> list[str]:
    """Return what a line is imported as."""
    return [event.action for event in found if event.line == line]


@pytest.mark.parametrize(("leaves", "steps"), [(False, ["CheckAppendFuture"]), (True, ["CheckAppendFuture", "Lose"])])
def test_an_append_above_a_gap_is_answered_and_stays_or_leaves(*, leaves: bool, steps: list[str]) -> None:
    found, verdict, line = fast_forward(leaves=leaves)
    assert actions(found, line) == steps
    assert found.summary.forced == ()
    assert verdict.verdict is Verdict.HOLDS


def test_one_that_is_confirmed_across_the_gap_leaves_the_spec() -> None:
    _, verdict, line = fast_forward(leaves=True, code="SUCCESS")
    assert verdict.deviation is not None
    assert (verdict.verdict, verdict.deviation.recorded_line) == (Verdict.VIOLATED, line)


def test_one_that_stays_is_answered_again_and_again_and_only_the_first_answer_is_sent() -> None:
    recorded = Gap()
    answers = [recorded.answered() for _ in range(3)]
    found, verdict = recorded.verdict()
    assert [actions(found, line) for line in answers] == [["CheckAppendFuture"], ["Observe"], ["Observe"]]
    assert (found.summary.forced, verdict.verdict) == ((), Verdict.HOLDS)


def test_one_that_is_stored_meanwhile_leaves_though_it_was_answered() -> None:
    recorded = Gap()
    recorded.answered()
    recorded.replicate(3)
    recorded.handler("take", recorded.push, done=True)
    recorded.store_entry(recorded.push)
    found, verdict = recorded.verdict()
    assert [event.action for event in found][-1] == "HandleDoAppend"
    assert (found.summary.forced, verdict.verdict) == ((), Verdict.HOLDS)


def test_one_that_is_confirmed_across_the_gap_after_it_was_refused_leaves_the_spec() -> None:
    recorded = Gap()
    recorded.answered()
    line = recorded.answered("SUCCESS")
    _, verdict = recorded.verdict()
    assert verdict.deviation is not None
    assert (verdict.verdict, verdict.deviation.recorded_line) == (Verdict.VIOLATED, line)


@pytest.mark.parametrize(("leaves", "steps"), [(False, ["Observe"]), (True, ["Observe", "Lose"])])
def test_one_whose_leader_has_died_is_answered_though_nobody_hears_it(*, leaves: bool, steps: list[str]) -> None:
    recorded = Gap()
    recorded.leader_dies()
    if leaves:
        recorded.handler("take", recorded.push, done=False)
    line = recorded.answered()
    found, verdict = recorded.verdict()
    assert actions(found, line) == steps
    assert (found.summary.forced, verdict.verdict) == ((), Verdict.HOLDS)


def test_an_answer_to_nobody_shows_the_log_of_its_node() -> None:
    recorded = Gap()
    recorded.answered()
    recorded.end["n1"] += 1
    line = recorded.answered()
    with pytest.raises(TraceError, match=rf"recorded:{line}: field `st.end`"):
        recorded.verdict()
