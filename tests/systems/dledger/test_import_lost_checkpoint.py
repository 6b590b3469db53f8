"""A node that stops in order may lose its checkpoint: DLedgerMmapFileStore.shutdown, IOUtils.string2File.

`shutdown` writes the checkpoint before it stops FlushDataService, which writes it as well. Each removes the file and
then renames another to it, so that the second may remove what the first has renamed. The same is lost in a crash.
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


def restarted(committed: int) -> Imported:
    """n1 writes its checkpoint, stops, and comes back with `committed`."""
    told = Continued()
    told.add("checkpoint", "n1", endIndex=2, committedIndex=1)
    told.add("stop", "n1", st=told.state("n1"))
    told.add("start", "n1", why="restart", inc=2)
    entries = {line["index"]: line["val"] for line in told.lines if line.get("op") == "appendAsLeader"}
    log = [[index, 0, entries[index]] for index in sorted(entries)]
    state = told.state("n1") | {"role": "CANDIDATE", "leader": None, "committed": committed}
    told.add("recovered", "n1", inc=2, currTerm=0, votedFor="n1", st=state, log=log)
    return import_lines(told.recording(), "told")


@pytest.mark.parametrize(("committed", "death"), [(-1, "CrashInPersistCheckPoint"), (1, "Crash")])
def test_a_checkpoint_is_lost_where_nothing_is_committed_after_it(committed: int, death: str) -> None:
    found = restarted(committed)
    assert [event.action for event in found if "Crash" in event.action] == [death]
    trace = Trace(trace_lines(found.header, found), "told")
    assert check_dledger(trace, trace_spec(trace.header, trace.source)).verdict is Verdict.HOLDS
