"""The lines of what surrounds the servers: their lives, their clients, and the harness that makes faults."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from lockstep.systems.hashicorp.recording.lines.line import Count, FsmState, Index, Line, Name, NodeLine, Persisted


class Config(Struct, forbid_unknown_fields=True, frozen=True):
    """The library's configuration."""

    heartbeat_timeout_ms: Count
    election_timeout_ms: Count
    leader_lease_ms: Count
    commit_timeout_ms: Count
    max_append_entries: Annotated[int, Meta(ge=1)]
    snapshot_interval_ms: Count
    snapshot_threshold: Count
    trailing_logs: Count


class Faults(Struct, forbid_unknown_fields=True, frozen=True):
    """How often the network loses, delays and copies."""

    drop_req: float
    drop_resp: float
    dup_req: float
    delay_prob: float
    delay_max_ms: float
    rpc_timeout_ms: float


class Header(Line, tag="header", kw_only=True):
    """The first line."""

    schema: str
    impl: str
    library_version: Name
    go: str
    capture: str
    nodes: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=64)]
    seed: int
    prevote: bool
    pipeline: Literal[False]
    faults: Faults
    config: Config
    note: str


class Start(NodeLine, tag="start", kw_only=True):
    """A server is about to start on what is in its stores."""

    persisted: Persisted
    heartbeat_timeout_ms: Count


class Started(NodeLine, tag="started", kw_only=True):
    """It has started."""


class StopBegin(NodeLine, tag="stop_begin", kw_only=True):
    """It is told to stop; what it sends from now on is lost."""

    why: str


class Stopped(NodeLine, tag="stopped", kw_only=True):
    """It has stopped."""

    persisted: Persisted


class Final(NodeLine, tag="final", kw_only=True):
    """A server at the end."""

    persisted: Persisted
    fsm: FsmState


class ClientReq(NodeLine, tag="client_req", kw_only=True):
    """A client calls Apply."""

    op: Count
    v: str


class ClientResp(NodeLine, tag="client_resp", kw_only=True):
    """A client is told what became of it; `i` where all went well."""

    op: Count
    v: str
    ok: bool
    i: Index | None = None
    err: str | None = None
    after_stop: bool = False
    on_inc: Count | None = None


class TransferReq(NodeLine, tag="transfer_req", kw_only=True):
    """A client asks for LeadershipTransfer, to a server or to any."""

    to: str
    k: Count


class TransferResp(NodeLine, tag="transfer_resp", kw_only=True):
    """It is told what became of that."""

    to: str
    k: Count
    ok: bool
    err: str | None = None


class Partition(Line, tag="partition", kw_only=True):
    """The harness parts the network."""

    groups: tuple[tuple[Name, ...], ...]
    why: str | None = None


class Heal(Line, tag="heal", kw_only=True):
    """It ends that."""

    why: str | None = None


class CutOneway(Line, tag="cut_oneway", kw_only=True):
    """It cuts one direction."""

    source: Name = field(name="from")
    to: Name
    why: str | None = None


class Script(Line, tag="script", kw_only=True):
    """It says what it does next."""

    step: str


class FaultsOff(Line, tag="faults_off", kw_only=True):
    """It ends all faults."""


class End(Line, tag="end", kw_only=True):
    """The last line, which counts all."""

    events: Count
