"""An APPEND above a gap waits too long, and is answered with INCONSISTENT_STATE.

Source: EntryHandler.checkAppendFuture, which takes it from writeRequestMap in 0.3.2, and only looks at it before.
"""

from __future__ import annotations

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import Continued


def fast_forward(*, leaves: bool, code: str = "INCONSISTENT_STATE") -> tuple[Imported, int]:
    """The APPEND of 3 is lost, and that of 4 waits; return the import, and the line of the answer."""
    recorded = Continued()
    recorded.append()
    recorded.append()
    recorded.send("APPEND", 3)
    push = recorded.send("APPEND", 4)
    recorded.receive(push)
    recorded.handler("enqueue", push)
    if leaves:
        recorded.handler("take", push, done=False)
    answer = recorded.answer(push, code)
    line = len(recorded.lines)
    recorded.arrive(answer)
    return import_lines(recorded.recording(), "recorded"), line


@pytest.mark.parametrize(("leaves", "steps"), [(False, ["CheckAppendFuture"]), (True, ["CheckAppendFuture", "Lose"])])
def test_an_append_above_a_gap_is_answered_and_stays_or_leaves(*, leaves: bool, steps: list[str]) -> None:
    found, line = fast_forward(leaves=leaves)
    assert [event.action for event in found if event.line == line] == steps
    assert found.summary.forced == ()
    trace = Trace(trace_lines(found.header, found), "recorded")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is Verdict.HOLDS


def test_one_that_is_confirmed_across_the_gap_leaves_the_spec() -> None:
    found, line = fast_forward(leaves=True, code="SUCCESS")
    trace = Trace(trace_lines(found.header, found), "recorded")
    verdict = check_dledger(trace, trace_spec(trace.header, trace.source))
    assert verdict.deviation is not None
    assert (verdict.verdict, verdict.deviation.recorded_line) == (Verdict.VIOLATED, line)
