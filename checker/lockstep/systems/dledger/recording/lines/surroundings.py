"""The lines of what surrounds the nodes: the network, the clients, and the harness that makes faults."""

from typing import Literal

import msgspec

from lockstep.systems.dledger.recording.lines.line import Count, Index, Line, Name, NodeLine, NodeState
from lockstep.systems.dledger.recording.lines.replication import PushType


class Dropped(Line, tag="dropped", kw_only=True):
    """A message is lost."""

    node: Name
    mid: Count
    rpc: Name
    dir: Literal["req", "resp"]
    src: Name
    dst: Name
    reason: str
    copy: Count | None = None


class Duplicated(Line, tag="duplicated", kw_only=True):
    """A request will be delivered twice."""

    node: str | None = None
    inc: Count | None = None
    mid: Count
    rpc: Name
    dir: Literal["req", "resp"] = "req"
    src: str | None = None
    dst: str | None = None
    type: str | None = None
    delayMs: float | list[float] | None = None  # noqa: N815 - the recording's name
    reason: str | None = None
    copy: Count | None = None


class Held(Duplicated, tag="held", kw_only=True):
    """A message is delayed."""


class NetError(NodeLine, tag="net_error", kw_only=True):
    """A call fails at its caller."""

    mid: Count
    rpc: Name
    dst: Name
    type: PushType | None = None
    reason: Literal["refused", "rpc_timeout"]
    gives: str


class ClientLine(Line, kw_only=True):
    """A client's call; what it leads to is told by the store."""

    node: Name
    inc: Count | None = None
    req: Count
    mid: Count
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    val: str | None = None
    code: str | None = None
    reason: str | None = None
    index: Index | None = None
    term: Index | None = None
    by: str | None = None
    ignored: bool = False
    st: NodeState | None = None


class ClientAppend(ClientLine, tag="client_append", kw_only=True):
    """A client asks."""


class RecvAppend(ClientLine, tag="recv_append", kw_only=True):
    """The request arrives."""


class RespAppend(ClientLine, tag="resp_append", kw_only=True):
    """The node answers."""


class ClientAck(ClientLine, tag="client_ack", kw_only=True):
    """The answer arrives."""


class Fault(Line, tag="fault", kw_only=True):
    """The harness changes the faults."""

    action: Name
    drop: float | None = None
    dup: float | None = None
    delayMs: list[float] | float | None = None  # noqa: N815
    spikeProb: float | None = None  # noqa: N815
    spikeMs: list[float] | float | None = None  # noqa: N815
    fifo: bool | None = None
    rules: list[str] | None = None
    rule: str | None = None
    match: str | None = None
    node: str | None = None
    count: int | None = None


class Note(Line, tag="note", kw_only=True):
    """Free text."""

    msg: str


class Quiesced(Line, tag="quiesced", kw_only=True):
    """All faults have ended and the nodes are at rest."""

    reached: bool
