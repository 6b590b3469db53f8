"""StaleCompareIndex of the real DLedger 0.3.2, which no script forced: a loaded group with random faults came to it.

n2 led before, and its dispatcher of n0 still has the index 5 of then, to which all nodes had the same. It leads again
when n0 has 16 entries, all committed, and cuts what n0 has behind that index.
"""

from __future__ import annotations

import json
import lzma

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.places import TESTS
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import encoded

#: The lines of the comparison with an old index, and of the cut.
COMPARED, CUT = 437, 453


def verdict(**constants: str) -> TraceVerdict:
    packed = TESTS / "recorded" / "dledger-0.3.2-stale_compare_by_chance.ndjson.xz"
    found = import_lines(encoded(list(map(json.loads, lzma.decompress(packed.read_bytes()).splitlines()))), "recorded")
    header = msgspec.structs.replace(found.header, constants={**found.header.constants, **constants})
    trace = Trace(trace_lines(header, found), "recorded")
    return check_dledger(trace, trace_spec(trace.header, trace.source))


def test_a_group_with_random_faults_cuts_committed_entries_by_a_stale_compare_index() -> None:
    found = verdict()
    assert found.verdict is Verdict.VIOLATED
    broken = {(each.name, each.recorded_line) for each in found.findings}
    assert broken == {("CommittedEntriesStayProp", CUT), ("IndexOrder", CUT)}


def test_the_repaired_spec_refuses_the_comparison_with_the_old_index() -> None:
    found = verdict(StaleCompareIndex="repaired")
    assert found.deviation is not None
    assert (found.verdict, found.deviation.action, found.deviation.recorded_line) == (
        Verdict.VIOLATED,
        "DoCompare",
        COMPARED,
    )
