"""A pass of the QuorumAckChecker reads the leader's own mark before the threads that append have raised it.

A thread marks its entry once it has left the store; the spec does both in one step, but for the entries of a client's
batch. Source: DLedgerServer.handleAppend, DLedgerEntryPusher.waitAck, QuorumAckChecker.doWork.
"""

from __future__ import annotations

import json
import lzma
from typing import Any

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.places import TESTS
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import Json, encoded, ended

#: The line of a pass that reads the marks 62, 63 and 5, when the leader has stored 64 entries after the first; and that
#: of the leader's next own mark.
PASS, MARK = 774, 775


def recorded() -> list[Json]:
    """Return the beginning of a recording of a loaded group of DLedger 0.3.2 with batches."""
    packed = TESTS / "recorded" / "dledger-0.3.2-marked_late.ndjson.xz"
    return list(map(json.loads, lzma.decompress(packed.read_bytes()).splitlines()))


def verdict(lines: list[Json]) -> tuple[Imported, TraceVerdict]:
    found = import_lines(encoded(lines), "recorded")
    trace = Trace(trace_lines(found.header, found), "recorded")
    return found, check_dledger(trace, trace_spec(trace.header, trace.source))


def with_pass(index: int) -> list[Json]:
    """Return the lines up to a pass that commits this index."""
    lines = recorded()[:PASS]
    lines[-1] |= {"argIndex": index, "st": lines[-1]["st"] | {"committed": index}}
    return ended(lines)


def test_a_pass_reads_the_own_mark_before_the_threads_that_append_have_raised_it() -> None:
    found, holds = verdict(recorded())
    assert (found.summary.forced, holds.verdict) == ((), Verdict.HOLDS)
    unmarked: list[Any] = [event.shows["ledgerEndIndex"] for event in found if event.action == "AppendInBatch"]
    assert unmarked == [63, 64]
    marks = [event for event in found if event.action == "RefreshOwnWaterMark"]
    assert [(event.line, event.shows["peerWaterMarks"]["n0"]) for event in marks] == [(MARK, 64)]


def test_a_pass_that_commits_the_index_of_no_quorum_is_not_explained_by_late_marks() -> None:
    assert verdict(with_pass(62))[1].verdict is Verdict.HOLDS
    for other in (60, 64):  # the marks were 62, 61 and 5 before
        found, refused = verdict(with_pass(other))
        assert refused.verdict is not Verdict.HOLDS
        assert "AppendInBatch" not in {event.action for event in found}


def test_an_own_mark_that_is_not_the_end_of_the_log_is_not_explained() -> None:
    lines = recorded()[:MARK]
    mark = lines[-1]
    lines[-1] = mark | {"index": 63, "marks": mark["marks"] | {"n0": 63}}
    _, refused = verdict(ended(lines))
    assert refused.verdict is not Verdict.HOLDS
