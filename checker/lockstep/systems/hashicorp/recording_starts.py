"""The starts of servers: the first configuration, and the voters in that."""

from __future__ import annotations

from msgspec import structs

from lockstep.systems.hashicorp import recording_lines as s
from lockstep.systems.hashicorp.recorded_calls import members
from lockstep.trace.json_lines import TraceError


class Starts:
    """The starts of servers; one that is bootstrapped once it runs starts with that configuration, as the spec's do.

    Until then it has none, and does nothing by itself. Source: Raft.BootstrapCluster, liveBootstrap.
    """

    def __init__(self, source: str) -> None:
        """Begin before the first line; `source` names the recording in messages."""
        self._source = source
        self._empty: dict[tuple[str, int], s.StartLine] = {}
        self._given: dict[tuple[str, int], s.LogEntry] = {}
        self._configured: s.StartLine | None = None

    def add(self, line: s.ServerLine) -> None:
        """Read the next line; raises TraceError where what it gives a server is no first configuration."""
        if isinstance(line, s.StartLine):
            if _is_empty(line.persisted):
                self._empty[line.life] = line
            elif self._configured is None and first_configuration(line) is not None:
                self._configured = structs.replace(line, persisted=_with_log(line.persisted, line.persisted.log[0]))
        elif isinstance(line, s.StoreLogs) and line.function == "BootstrapCluster" and line.life in self._empty:
            first, *others = line.entries
            if others or first.i != 1 or first.type != "Configuration":
                raise TraceError(
                    self._source, line.number, "field `entries`: BootstrapCluster stores one, a configuration"
                )
            self._given[line.life] = first

    def complete(self, line: s.ServerLine) -> None:
        """Put into a line what its server has of the configuration that it is given below."""
        first = self._given.get(line.life)
        if first is None:
            return
        if isinstance(line, s.StartLine) and _is_empty(line.persisted):
            stores = structs.replace(line.persisted, CurrentTerm=first.t, first=1, last=1)
            line.persisted = _with_log(stores, first)
        elif isinstance(line, s.StableSet) and (line.function, line.key) == ("NewRaft", "CurrentTerm"):
            line.value = line.value or first.t  # what the server of the spec has read

    def first(self) -> s.StartLine | None:
        """Return the first start with a first configuration, completed; None where there is none."""
        given = [line for life, line in self._empty.items() if life in self._given]
        for line in given:
            self.complete(line)
        found = [*given, *([] if self._configured is None else [self._configured])]
        return min(found, key=lambda line: line.seq, default=None)


def _with_log(stores: s.Persisted, first: s.LogEntry) -> s.Persisted:
    return structs.replace(stores, log=(first,))


def _is_empty(stores: s.Persisted) -> bool:
    return not (stores.log or stores.CurrentTerm or stores.LastVoteTerm or stores.snapshot)


def first_configuration(line: s.StartLine) -> s.LogEntry | None:
    """Return the first entry that a server starts with if it is a configuration."""
    first = line.persisted.log[0] if line.persisted.log else None
    return first if first is not None and (first.type, first.i) == ("Configuration", 1) else None


def first_voters(header: s.RecordingHeader, start: s.StartLine | None, source: str) -> int:
    """Return how many servers, the first of the header, vote in the first configuration that one starts with, if any.

    Raises TraceError where others vote.
    """
    first = None if start is None else first_configuration(start)
    if start is None or first is None:
        return len(header.nodes)
    voters, nonvoters = members(first.v or "")
    if nonvoters or voters != {*header.nodes[: len(voters)]}:
        raise TraceError(
            source, start.number, f"field `persisted.log`: {first.v} are not the first servers of the header"
        )
    return len(voters)
