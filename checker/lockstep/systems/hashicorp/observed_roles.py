"""The roles that lines show beside what they record, held against the lines that record a change of role."""

from __future__ import annotations

from lockstep.systems.hashicorp.recording_lines import ServerLine, StartLine, StateLine, StoppedLine
from lockstep.systems.hashicorp.recording_replay import RecordingReplay


class ObservedRoles:
    """The role of each server by its last change, and one that a line shows and no line has recorded yet.

    The library sets its role and then reports the change, so a line of another goroutine may show a role just before
    that is recorded. A role that a line shows is therefore the last one recorded or the next one. Any other becomes an
    observation of the trace, which the spec's state contradicts: nothing has led the spec to that role.
    """

    def __init__(self, replay: RecordingReplay) -> None:
        """Start without a server."""
        self.replay = replay
        self.recorded: dict[str, str] = {}
        self.early: dict[str, str] = {}

    def read(self, line: ServerLine) -> None:
        """Read a line, before its step is taken."""
        node = line.node
        if isinstance(line, StartLine):
            self.recorded[node] = "Follower"
            return
        if isinstance(line, StateLine):
            self._change(node, line.state)
        if line.obs is not None and node in self.recorded:
            if self.early.get(node, line.obs.role) != line.obs.role:
                self._contradict(node)  # the role shown before has gone, and no line recorded it
            if line.obs.role != self.recorded[node]:
                self.early[node] = line.obs.role
        if isinstance(line, StoppedLine):
            self._contradict(node)

    def end(self) -> None:
        """Note that no line follows."""
        for node in list(self.early):
            self._contradict(node)

    def _change(self, node: str, role: str) -> None:
        self.recorded[node] = role
        if self.early.get(node) == role:
            del self.early[node]
        self._contradict(node)

    def _contradict(self, node: str) -> None:
        """Show a role that no change leads to, if there is one."""
        role = self.early.pop(node, None)
        if role is not None:
            self.replay.observe(node, {"role": role})
