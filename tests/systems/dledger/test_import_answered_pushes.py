"""A dispatcher looks for what has no answer, then pushes it again, with the committedIndex that it reads last.

An answer in between may commit the entry. Source: EntryDispatcher.doCheckAppendResponse, doAppendInner.
"""

from __future__ import annotations

import msgspec
import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import Continued


class Answered(Continued):
    """n1 has answered the entry 3, which the leader has committed since."""

    def __init__(self) -> None:
        super().__init__()
        self.append()
        self.replicate(3)
        self.mark("n1", 3)
        self.before = self.committed["n0"]
        self.commit("n0", 3, by="QuorumAckChecker")

    def pushed_again(self, commit: int | None = None) -> Imported:
        """Import the recording with the entry pushed again at its end."""
        self.send("APPEND", 3, commit)
        return import_lines(self.recording(), "recorded")


def verdict(found: Imported, **constants: bool) -> TraceVerdict:
    header = msgspec.structs.replace(found.header, constants={**found.header.constants, **constants})
    trace = Trace(trace_lines(header, found), "recorded")
    return check_dledger(trace, trace_spec(trace.header, trace.source))


def pushes(found: Imported) -> list[str]:
    """Return how the entry 3 was pushed to n1."""
    sent = [(event.action, (event.sent or [{}])[0]) for event in found]
    return [action for action, push in sent if (push.get("type"), push.get("index")) == ("APPEND", 3)]


def test_an_entry_that_was_answered_is_pushed_again_with_what_its_answer_has_committed() -> None:
    found = Answered().pushed_again()
    assert (pushes(found)[0], pushes(found)[-1]) == ("DoAppend", "PushAnsweredAgain")
    assert found.summary.forced == ()
    assert verdict(found).verdict is Verdict.HOLDS


def test_a_dispatcher_that_looks_and_pushes_in_one_step_pushes_nothing_that_was_answered() -> None:
    refused = verdict(Answered().pushed_again(), LateResend=False)
    assert (refused.verdict, refused.deviation and refused.deviation.action) == (Verdict.VIOLATED, "PushAnsweredAgain")


def test_an_entry_that_is_pushed_again_with_an_older_index_was_pushed_before_its_answer() -> None:
    recorded = Answered()
    found = recorded.pushed_again(recorded.before)
    assert pushes(found)[-1] == "DoCheckAppendResponse"
    assert found.summary.forced == ()
    assert verdict(found).verdict is Verdict.HOLDS


@pytest.mark.parametrize("index", [4, 5])
def test_an_entry_that_nobody_has_answered_cannot_be_pushed_so(index: int) -> None:
    recorded = Answered()
    recorded.append()
    recorded.append()
    recorded.send("APPEND", 4)
    recorded.send("APPEND", 5)
    recorded.send("APPEND", index)
    found = import_lines(recorded.recording(), "recorded")
    again = [event for event in found if (event.sent or [{}])[0].get("index") == index][-1]
    assert again.action == "DoCheckAppendResponse"
    assert (verdict(found).verdict is Verdict.HOLDS) is (index == 4)


def test_committed_index_may_have_moved_once_more_when_the_push_is_recorded() -> None:
    """The dispatcher has read it, and writes the line of its push later."""
    recorded = Answered()
    recorded.append()
    recorded.replicate(4)
    recorded.mark("n1", 4)
    recorded.commit("n0", 4, by="QuorumAckChecker")
    found = recorded.pushed_again(3)
    assert pushes(found)[-1] == "PushAnsweredAgain"
    assert found.summary.forced == ()
    assert verdict(found).verdict is Verdict.HOLDS
