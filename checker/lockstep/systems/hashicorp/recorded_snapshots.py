"""The FSM and its snapshots: commands applied, states read and saved, and entries deleted then.

The routine of snapshots runs beside the main loop. The spec reads the FSM and the configuration in one step; here that
step is taken where the FSM is read, if a snapshot came of it, or as soon after that as the main loop takes events.
"""

from __future__ import annotations

from lockstep.systems.hashicorp.recorded_calls import NO_CONFIGURATION, Tree
from lockstep.systems.hashicorp.recorded_leaders import Leaders
from lockstep.systems.hashicorp.recorded_servers import RecordedServer, log_shown
from lockstep.systems.hashicorp.recording_lines import (
    DeleteRange,
    FsmApply,
    FsmRestore,
    FsmSnapshot,
    FsmState,
    ServerLine,
    SnapshotSaved,
)
from lockstep.systems.hashicorp.recording_lookahead import Lookahead
from lockstep.systems.hashicorp.recording_replay import DONE, RecordingReplay, fields
from lockstep.trace.json_lines import TraceError


class Snapshots:
    """The FSMs, and the routines of snapshots."""

    def __init__(
        self,
        replay: RecordingReplay,
        lookahead: Lookahead,
        leaders: Leaders,
        servers: dict[str, RecordedServer],
        source: str,
    ) -> None:
        """Read a recording of these servers; `source` names it in messages."""
        self.replay, self.lookahead, self.leaders, self.servers, self.source = (
            replay,
            lookahead,
            leaders,
            servers,
            source,
        )
        self.waiting: dict[str, FsmSnapshot] = {}

    def applies(self, line: FsmApply) -> None:
        """The FSM applies a command."""
        self.take_if_waiting(line.node)
        self._pass_barriers(line.node, line.i)
        server = self.servers[line.node]
        item: Tree = {
            "index": line.i,
            "entry": {"term": line.t, "type": "Command", "value": line.v, "configuration": NO_CONFIGURATION},
        }
        server.applied.append(item)
        self.require_count(line, "count", line)
        fsm: Tree = {"index": line.i, "term": line.t}
        queue = self.replay.server(line.node)["fsmQueue"]
        if queue and self.replay.tree(queue[0]) != item:
            fsm["applied"] = list(server.applied)  # the whole of it only where it differs
        self.replay.take(line.node, "ApplyFsm", shows={"fsm": fsm})

    def _pass_barriers(self, node: str, index: int) -> None:
        """The FSM comes past the barriers up to an index. The client's state machine does not hear of them."""
        while queue := self.replay.server(node)["fsmQueue"]:
            first = fields(queue[0])
            if first["index"] > index or fields(first["entry"])["type"] != "Barrier":
                return
            self.replay.take(node, "ApplyFsm", hidden=True)

    def restores(self, line: FsmRestore) -> None:
        """The FSM has taken the state of a snapshot; the step that this is a part of was taken."""
        server = self.servers[line.node]
        self.require_count(line, "before.count", line.before)
        server.applied = list(self.replay.tree(fields(self.replay.server(line.node)["fsm"])["applied"]))
        if line.state.count not in (None, len(server.applied)):
            problem = f"field `state.count`: {line.state.count}: the snapshot has {len(server.applied)}"
            raise TraceError(self.source, line.number, problem)

    def require_count(self, line: ServerLine, field: str, state: FsmState | FsmApply) -> None:
        """Raise TraceError where an FSM has applied another number of commands than were recorded, if it knows that."""
        count = len(self.servers[line.node].applied)
        if state.count not in (None, count):
            problem = f"field `{field}`: {state.count}: the lines above lead to {count}"
            raise TraceError(self.source, line.number, problem)

    def reads(self, line: FsmSnapshot) -> None:
        """The FSM is read for a snapshot."""
        self.require_count(line, "state.count", line.state)
        if line.seq in self.lookahead.saved:
            self._pass_barriers(line.node, self.lookahead.saved[line.seq].last_index)
            self.waiting[line.node] = line
            self.leaders.end_transfer(line.node)
            self.take_if_waiting(line.node)

    def take_if_waiting(self, node: str, *, at_last: bool = False) -> None:
        """Take the step of a snapshot that was begun, if it can be taken, or must."""
        line = self.waiting.get(node)
        if line is None or not (at_last or self.replay.trial(node, "TakeSnapshot", {}) is not None):
            return
        del self.waiting[node]
        self.replay.take(node, "TakeSnapshot", line=line)

    def saves(self, line: SnapshotSaved) -> None:
        """A snapshot is durable; entries that it makes needless go then."""
        node = line.node
        self.take_if_waiting(node, at_last=True)
        self.leaders.build_before_step(node, "PersistSnapshot", {"outcome": DONE})
        place = {"index": line.last_index, "term": line.last_term}
        self.replay.take(node, "PersistSnapshot", {"outcome": DONE}, {"lastSnapshot": place}, ())
        if line.seq in self.lookahead.completed and line.seq not in self.lookahead.compacted:
            shows = log_shown(self.servers[node].log)
            self.replay.take(node, "CompactLogs", {"outcome": DONE}, shows, (), hidden=True)

    def compacts(self, line: DeleteRange) -> None:
        """The routine of snapshots deletes entries."""
        node = line.node
        self.leaders.build_before_step(node, "CompactLogs", {"outcome": DONE})
        self.servers[node].write(line)
        self.replay.take(node, "CompactLogs", {"outcome": DONE}, log_shown(self.servers[node].log), ())
