"""The lines of a recording's beginning and end, and of the lives of its nodes."""

from typing import Annotated, Literal

from msgspec import Meta

from lockstep.systems.dledger.recording.lines.line import Count, Index, Line, LogEntry, Name, NodeLine, NodeState


class RecordingHeader(Line, tag="header", kw_only=True):
    """The first line: what was recorded, and how."""

    format: str
    version: Name
    scenario: str
    nodes: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=64)]
    client: Name
    seed: int
    faults: str
    config: dict[str, bool | int | float | str | None]
    java: str
    fields: str


class Start(NodeLine, tag="start", kw_only=True):
    """A node starts."""

    why: Literal["boot", "restart"]


class Recovered(NodeLine, tag="recovered", kw_only=True):
    """What a node loaded at its start."""

    currTerm: Index  # noqa: N815 - the recording's name
    votedFor: str | None  # noqa: N815
    st: NodeState
    log: tuple[LogEntry, ...]


class Crash(NodeLine, tag="crash", kw_only=True):
    """The process is killed."""

    st: NodeState


class Stopping(NodeLine, tag="stopping", kw_only=True):
    """An orderly shutdown begins."""

    st: NodeState


class Stop(NodeLine, tag="stop", kw_only=True):
    """An orderly shutdown has ended."""

    st: NodeState


class Final(NodeLine, tag="final", kw_only=True):
    """A node at the end."""

    st: NodeState
    votedFor: str | None  # noqa: N815
    log: tuple[LogEntry, ...]


class RecordingEnd(Line, tag="end", kw_only=True):
    """The last line: how many lines of each kind stand before it."""

    counts: dict[str, Count]
