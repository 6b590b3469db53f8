"""The EntryHandler takes an APPEND while its node follows, and the store refuses it: the node follows no more.

Source: EntryHandler.doWork, DLedgerMmapFileStore.appendAsFollower; the answer is INCONSISTENT_STATE.
"""

from __future__ import annotations

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import Continued, Json


class FormerFollower(Continued):
    """n1 takes the entry 3, becomes a candidate, and does not store it."""

    def __init__(self, *, follows: bool) -> None:
        self.role = "FOLLOWER"
        super().__init__()
        self.append()
        push = self.send("APPEND", 3)
        self.receive(push)
        self.handler("enqueue", push)
        self.handler("take", push, done=False)
        self.role = "FOLLOWER" if follows else "CANDIDATE"
        if not follows:
            change = {"op": "changeToCandidate", "role": "CANDIDATE", "term": 0, "leaderId": None, "votedFor": "n1"}
            self.add("role", "n1", **change, knownMaxTerm=0, endIndex=2, endTerm=0, by="StateMaintainer")
        state = self.store_state("n1")
        entry = {name: push[name] for name in ("index", "entryTerm", "val", "pos")}
        entry |= {"leaderTerm": 0, "leaderId": "n0", "pre": state, "st": state, "by": "EntryHandler"}
        self.failed = self.add("store", "n1", op="appendAsFollower", ok=False, err="DLedgerException", **entry)
        self.arrive(self.answer(push, "INCONSISTENT_STATE"))

    def state(self, node: str) -> Json:
        stands = node == "n1" and self.role == "CANDIDATE"
        return super().state(node) | ({"role": self.role, "leader": None} if stands else {})


def verdict(found: Imported, **constants: bool) -> TraceVerdict:
    header = msgspec.structs.replace(found.header, constants={**found.header.constants, **constants})
    trace = Trace(trace_lines(header, found), "recorded")
    return check_dledger(trace, trace_spec(trace.header, trace.source))


def test_a_node_that_follows_no_more_refuses_what_it_took_before() -> None:
    recorded = FormerFollower(follows=False)
    found = import_lines(recorded.recording(), "recorded")
    assert [event.action for event in found if event.line == recorded.failed] == ["FailStore"]
    assert found.summary.forced == ()
    assert verdict(found).verdict is Verdict.HOLDS
    refused = verdict(found, LateRole=False)
    assert (refused.verdict, refused.deviation and refused.deviation.action) == (Verdict.VIOLATED, "FailStore")


def test_a_follower_that_refuses_an_entry_of_its_leader_leaves_the_spec() -> None:
    recorded = FormerFollower(follows=True)
    found = import_lines(recorded.recording(), "recorded")
    refused = verdict(found)
    assert refused.deviation is not None
    assert (refused.verdict, refused.deviation.action) == (Verdict.VIOLATED, "HandleDoAppend")
    assert refused.deviation.recorded_line == recorded.failed
