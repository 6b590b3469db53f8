"""A follower that is a thousand entries behind fills the dispatcher's pendingMap: DLedgerEntryPusher.EntryDispatcher.

While the map is full, doAppend pushes nothing new and doCheckAppendResponse pushes the first entry again, though more
is left to push.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.dledger.pushing import MAX_PENDING_SIZE
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import QUIET, Continued

#: The first entry that is pushed to the follower without an answer.
FIRST = 3


class Behind(Continued):
    """n1 is behind: n0 has pushed as much as it may, and three entries more are left."""

    def __init__(self, pushed: int = MAX_PENDING_SIZE) -> None:
        super().__init__()
        for _ in range(pushed + 3):
            self.append()
        self.pushes = [self.push(FIRST + place) for place in range(pushed)]

    def push(self, index: int, pending: int = MAX_PENDING_SIZE) -> dict[str, Any]:
        push = self.send("APPEND", index)
        self.lines[-1]["disp"]["pending"] = min(pending, index - FIRST)
        return push

    def store(self, push: dict[str, Any]) -> dict[str, Any]:
        """n1 receives and stores the entry of a push; return its answer."""
        self.receive(push)
        self.handler("enqueue", push)
        self.handler("take", push, done=False)
        self.store_entry(push)
        recorded = self.answer(push, "SUCCESS")
        if push["commitIndex"] > self.committed["n1"]:
            self.commit("n1", push["commitIndex"])
        return recorded

    @functools.cached_property
    def imported(self) -> Imported:
        return import_lines(self.recording(), "recorded")

    @property
    def verdict(self) -> TraceVerdict:
        trace = Trace(trace_lines(self.imported.header, self.imported), "recorded")
        return check_dledger(trace, trace_spec(trace.header, trace.source))

    def actions(self) -> list[tuple[str, int | None]]:
        return [(event.action, event.line) for event in self.imported if (event.line or 0) > QUIET]


def again_while_more_is_left() -> Behind:
    recorded = Behind()
    recorded.push(FIRST)
    return recorded


def answered_before_the_line() -> Behind:
    """The dispatcher reads the watermark, then the answer takes effect, then the line of the push is written."""
    recorded = Behind()
    recorded.arrive(recorded.store(recorded.pushes[0]))
    recorded.mark("n1", FIRST)
    recorded.push(FIRST)
    return recorded


def room_before_the_mark() -> Behind:
    """The callback removes the push from the map before it raises the watermark: the next push may come between."""
    recorded = Behind()
    recorded.arrive(recorded.store(recorded.pushes[0]))
    recorded.push(FIRST + MAX_PENDING_SIZE)
    recorded.mark("n1", FIRST)
    return recorded


def leaked() -> Behind:
    """The answers to the first two pushes are lost; that to the third raises the watermark above them."""
    recorded = Behind()
    answers = [recorded.store(push) for push in recorded.pushes[:3]]
    lost = {"rpc": "push", "dir": "resp", "src": "n1", "dst": "n0", "reason": "loss"}
    for answer in answers[:2]:
        recorded.lines.append({"kind": "dropped", "node": "n1", "mid": answer["mid"], **lost})
    recorded.arrive(answers[2])
    recorded.mark("n1", FIRST + 2)
    recorded.push(FIRST + MAX_PENDING_SIZE)
    recorded.push(FIRST + MAX_PENDING_SIZE + 1)
    return recorded


def pushed_into_a_full_map() -> Behind:
    recorded = Behind()
    recorded.push(FIRST + MAX_PENDING_SIZE)
    return recorded


def test_a_full_dispatcher_pushes_again_while_more_is_left_to_push() -> None:
    recorded = again_while_more_is_left()
    assert recorded.imported.header.constants["PendingMap"] is True
    assert recorded.actions()[-1] == ("DoCheckAppendResponse", len(recorded.lines))
    assert (recorded.imported.summary.moved, recorded.imported.summary.forced) == ((), ())


def test_a_push_is_repeated_before_the_answer_after_which_the_map_is_not_full() -> None:
    recorded = answered_before_the_line()
    again, raised = len(recorded.lines), len(recorded.lines) - 1
    found = recorded.actions()
    assert found.index(("DoCheckAppendResponse", again)) < found.index(("HandleAppendResponse", raised))
    assert recorded.imported.summary.forced == ()


def test_the_next_push_follows_the_answer_that_let_it_in() -> None:
    recorded = room_before_the_mark()
    raised, sent = len(recorded.lines), len(recorded.lines) - 1
    found = recorded.actions()
    assert found.index(("HandleAppendResponse", raised)) < found.index(("DoAppend", sent))
    assert recorded.imported.summary.forced == ()


def test_what_leaked_from_the_map_is_forgotten_where_the_next_push_needs_its_place() -> None:
    recorded = leaked()
    second = len(recorded.lines)  # for the first, the answer that came had left before
    assert recorded.imported.summary.hidden["CheckLeak"] == 1
    found = recorded.actions()
    assert found[found.index(("DoAppend", second)) - 1] == ("CheckLeak", second)
    assert recorded.imported.summary.forced == ()


def test_a_push_that_no_recorded_answer_makes_room_for_is_forced() -> None:
    """The answer had arrived, and the recording ends before the line that shows its effect."""
    recorded = Behind()
    recorded.arrive(recorded.store(recorded.pushes[0]))
    recorded.push(FIRST + MAX_PENDING_SIZE)
    assert recorded.imported.summary.forced == (len(recorded.lines),)
    fault = "DoAppend of n0 has read a value that no line gave"
    assert recorded.imported.summary.notes == (f"recorded:{len(recorded.lines)}: {fault}",)


def test_a_recording_in_which_nothing_is_ever_pending_does_not_say_that_there_is_a_map() -> None:
    recorded = Continued()
    for line in recorded.lines:
        if line.get("disp"):
            line["disp"]["pending"] = 0
    assert import_lines(recorded.recording(), "recorded").header.constants["PendingMap"] is False


@pytest.mark.nightly
@pytest.mark.parametrize(
    "play",
    [again_while_more_is_left, answered_before_the_line, room_before_the_mark, leaked],
    ids=lambda play: play.__name__,
)
def test_a_group_with_a_follower_a_thousand_entries_behind_conforms(play: Callable[[], Behind]) -> None:
    assert play().verdict.verdict is Verdict.HOLDS


@pytest.mark.nightly
def test_a_push_into_a_full_map_is_refused_by_the_spec() -> None:
    recorded = pushed_into_a_full_map()
    found = recorded.verdict
    assert found.deviation is not None
    assert (found.deviation.action, found.deviation.recorded_line) == ("DoAppend", len(recorded.lines))
    assert "~IsFull(dispatcher)" in found.deviation.details[0]
    assert found.verdict is Verdict.VIOLATED
