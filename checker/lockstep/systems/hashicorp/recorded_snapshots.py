"""The FSM and its snapshots: commands applied, states read and saved, and entries deleted then.

The routine of snapshots runs beside the main loop. The spec reads the FSM and the configuration in one step; here that
step is taken where the FSM is read, if a snapshot came of it, or as soon after that as the main loop takes events. The
end of the log is read before entries are deleted, and the spec does both in one step: it is taken where the entries go,
or before a step after which other entries would.
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
from lockstep.tla.state import State
from lockstep.tla.values.function_operators import table_of
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
        #: The lines of deletions whose snapshot is saved, by server.
        self.compacting: dict[str, DeleteRange] = {}
        replay.before_step = self._compact_before_step
        replay.before_refusal = self._compact_before_refusal

    def applies(self, line: FsmApply) -> None:
        """The FSM applies a command."""
        self.take_if_waiting(line.node)
        self._pass_barriers(line.node, line.i)
        server = self.servers[line.node]
        item: Tree = {
            "index": line.i,
            "entry": {"term": line.t, "type": "Command", "value": line.v, "configuration": NO_CONFIGURATION},
        }
        queue = self.replay.server(line.node)["fsmQueue"]
        is_alike = bool(queue) and self.replay.tree(queue[0]) == item
        server.applied.append(queue[0] if is_alike else item)
        self.require_count(line, "count", line)
        fsm: Tree = {"index": line.i, "term": line.t}
        if queue and not is_alike:  # the whole of it only where it differs
            fsm["applied"] = [each if isinstance(each, dict) else self.replay.tree(each) for each in server.applied]
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
        server.applied = list(fields(self.replay.server(line.node)["fsm"])["applied"])
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
        if line.seq in self.lookahead.compacted:
            self.compacting[node] = self.lookahead.compacted[line.seq]
        elif line.seq in self.lookahead.completed:
            shows = log_shown(self.servers[node].log)
            self.replay.take(node, "CompactLogs", {"outcome": DONE}, shows, (), hidden=True)

    def compacts(self, line: DeleteRange) -> None:
        """The routine of snapshots deletes entries; once the step was taken, its line says nothing new."""
        compacting = self.compacting.get(line.node)
        if compacting is not None and compacting.seq == line.seq:
            self._compact(line, early=False)

    def _compact(self, line: DeleteRange, *, early: bool) -> None:
        node = line.node
        del self.compacting[node]
        self.leaders.build_before_step(node, "CompactLogs", {"outcome": DONE})
        server = self.servers[node]
        server.write(line)
        log = {} if early else log_shown(server.log)  # which may have what the step that comes next writes
        self.replay.take(node, "CompactLogs", {"outcome": DONE}, log, (), line=line)

    def _compact_before_step(self, node: str, after: State) -> None:
        """Delete the entries that a line deletes before a step, if that leads to where others would go."""
        line = self.compacting.get(node)
        if line is not None and self._would_delete(line) and not self._would_delete(line, after):
            self._compact(line, early=True)

    def _compact_before_refusal(self, node: str) -> None:
        """Delete the entries that a line deletes before a step that is none while they are there.

        They are gone before the line is written, and a routine that looks for them in between sends the snapshot.
        """
        line = self.compacting.get(node)
        if line is not None and self._would_delete(line):
            self._compact(line, early=True)

    def _would_delete(self, line: DeleteRange, state: State | None = None) -> bool:
        """Return whether CompactLogs deletes these entries, in the present state if none is given."""
        args = {"outcome": DONE}
        before, after = state or self.replay.state, self.replay.trial_in(state, line.node, "CompactLogs", args)
        if after is None:
            return False
        kept, had = (table_of(self.replay.server(line.node, each)["log"]).keys() for each in (after, before))
        # A log has a gap where a snapshot was installed over it.
        return had - kept == {index for index in had if line.min <= index <= line.max}

    def forget(self, node: str) -> None:
        """The process of a server is over."""
        self.waiting.pop(node, None)
        self.compacting.pop(node, None)
