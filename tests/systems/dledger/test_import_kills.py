"""A node that is killed between writing entries and the committed index that came with them.

The code does both one after the other, the spec in one step. Source: EntryHandler.handleDoAppend, handleDoBatchAppend.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.sampling import sampled
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import CAPTURED, FAULT_FREE, Json, encoded, ended, lines_of


def killed_before_the_committed_index(path: Path) -> list[Json]:
    """The lines up to an entry whose push commits more, and the death of its node; its own thread writes no more."""
    lines = lines_of(path)
    written = [(number, line) for number, line in enumerate(lines) if line["kind"] == "store"]
    for number, line in written:
        after = next((other for at, other in written if at > number and other["node"] == line["node"]), None)
        commits = after is not None and after["op"] == "updateCommittedIndex" and after["pre"] != after["st"]
        if line["op"] == "appendAsFollower" and commits and after is not None and after["by"] == "EntryHandler":
            node = {"role": "FOLLOWER", "term": line["leaderTerm"], "leader": line["leaderId"], **line["st"]}
            crash = {"kind": "crash", "node": line["node"], "inc": line["inc"], "st": node}
            return [*lines[: number + 1], crash]
    raise AssertionError(f"{path} has no such entry")


@pytest.mark.parametrize(
    "path", sampled([FAULT_FREE, CAPTURED / "dledger-0.2.7-batch_push.ndjson"], [FAULT_FREE]), ids=["one", "batch"]
)
def test_its_committed_index_is_left_open(path: Path) -> None:
    found = import_lines(encoded(ended(killed_before_the_committed_index(path))), "recorded")
    assert [event.action for event in found][-1] == "Crash"
    trace = Trace(trace_lines(found.header, found), "recorded")
    verdict = check_dledger(trace, trace_spec(trace.header, trace.source))
    assert verdict.verdict is Verdict.HOLDS, verdict.findings
