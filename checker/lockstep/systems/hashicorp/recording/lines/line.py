"""What every line of a recording has, and what a node's line shows beside its own words.

Every line has `seq` (0, 1, 2, ... without gaps), `t_ms` and `kind`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct

from lockstep.trace.json_lines import MAX_INTEGER

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Index = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]
Role = Literal["Follower", "Candidate", "Leader", "Shutdown"]


class Seen(Struct, forbid_unknown_fields=True, frozen=True):
    """`obs`: what the library's atomics held when the line was written.

    `last` is the end of the log or of the snapshot, whichever is further; `applied` is what was handed to the FSM.
    """

    role: Role
    term: Index
    commit: Index
    last: Index
    applied: Index


class LogEntry(Struct, forbid_unknown_fields=True, frozen=True):
    """An entry: index, term, type, and what a client wrote; of a configuration, its voters."""

    i: Annotated[int, Meta(ge=1, le=MAX_INTEGER)]
    t: Index
    type: Literal["Command", "Noop", "Configuration"]
    v: str | None = None


class Place(Struct, forbid_unknown_fields=True, frozen=True):
    """An entry's index and term."""

    i: Index
    t: Index


class SnapshotPlace(Struct, forbid_unknown_fields=True, frozen=True):
    """Where a snapshot ends."""

    last_index: Index
    last_term: Index


class Persisted(Struct, forbid_unknown_fields=True, frozen=True):
    """What is in the stores: the three keys, the log with its ends, the newest snapshot."""

    CurrentTerm: Index
    LastVoteTerm: Index
    LastVoteCand: str
    first: Index
    last: Index
    log: tuple[LogEntry, ...]
    snapshot: SnapshotPlace | None = None


class FsmState(Struct, forbid_unknown_fields=True, frozen=True):
    """What the FSM holds: how many commands, the last of them, and a running hash of all."""

    count: Count
    last_index: Index
    last_term: Index
    digest: Count


class Line(Struct, tag_field="kind", forbid_unknown_fields=True, kw_only=True):
    """What every line has."""

    seq: Count
    t_ms: float

    @property
    def number(self) -> int:
        """The line's number in the file; 1 is the first."""
        return self.seq + 1

    @property
    def kind(self) -> str:
        """What the line is."""
        return str(self.__struct_config__.tag)

    @property
    def label(self) -> str:
        """The kind, with what tells lines of one kind apart: `recv.RequestVote`."""
        told = (getattr(self, name, None) for name in ("msg", "key", "why", "state"))
        variant = next((each for each in told if isinstance(each, str)), None)
        return self.kind if variant is None or self.kind == "stop_begin" else f"{self.kind}.{variant}"


class NodeLine(Line, kw_only=True):
    """A line of one node in one life: 0 is the bootstrap, 1 the first start."""

    node: Name
    inc: Count
    obs: Seen | None = None

    @property
    def life(self) -> tuple[str, int]:
        """The node and which of its lives."""
        return self.node, self.inc
