"""The lines of elections: changes of role, votes, heartbeats."""

from typing import Literal

import msgspec

from lockstep.systems.dledger.recording.lines.line import Count, Index, Name, NodeLine, NodeState, Role


class RoleLine(NodeLine, tag="role", kw_only=True):
    """A node changes its role, its term or its vote."""

    op: Literal["changeToLeader", "changeToFollower", "changeToCandidate", "nextTerm", "setCurrVoteFor"]
    role: Role
    term: Index
    leaderId: str | None  # noqa: N815 - the recording's name
    votedFor: str | None  # noqa: N815
    knownMaxTerm: Index  # noqa: N815
    endIndex: Index  # noqa: N815
    endTerm: Index  # noqa: N815
    by: Name
    prevRole: Role | None = None  # noqa: N815
    argTerm: Index | None = None  # noqa: N815
    prevTerm: Index | None = None  # noqa: N815


class Vote(NodeLine, kw_only=True):
    """A vote message; what it leads to is told by role lines."""

    mid: Count | None = None
    self: bool = False
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    candidate: str | None = None
    term: Index
    ledgerEndIndex: Index | None = None  # noqa: N815
    ledgerEndTerm: Index | None = None  # noqa: N815
    result: str | None = None
    reqTerm: Index | None = None  # noqa: N815
    st: NodeState | None = None
    copy: Count | None = None


class SendVote(Vote, tag="send_vote", kw_only=True):
    """A vote is asked for."""


class RecvVote(Vote, tag="recv_vote", kw_only=True):
    """A request for a vote arrives."""


class RespVote(Vote, tag="resp_vote", kw_only=True):
    """A request for a vote is answered."""


class RecvRespVote(Vote, tag="recv_resp_vote", kw_only=True):
    """The answer arrives; it is ignored where the call had ended."""

    ignored: bool = False


class VoteParse(NodeLine, tag="vote_parse", kw_only=True):
    """The outcome of a round of votes."""

    term: Index
    memberNum: Count  # noqa: N815
    all: Count
    accepted: Count
    notReady: Count  # noqa: N815
    biggerLedger: Count  # noqa: N815
    alreadyHasLeader: bool  # noqa: N815
    maxTerm: Index  # noqa: N815
    result: str


class Heartbeat(NodeLine, kw_only=True):
    """A heartbeat message; what it leads to is told by role lines."""

    mid: Count
    to: str | None = None
    source: str | None = msgspec.field(name="from", default=None)
    leaderId: str | None = None  # noqa: N815
    code: str | None = None
    term: Index
    reqTerm: Index | None = None  # noqa: N815
    st: NodeState | None = None
    copy: Count | None = None


class SendHeartbeat(Heartbeat, tag="send_heartbeat", kw_only=True):
    """A heartbeat is sent."""


class RecvHeartbeat(Heartbeat, tag="recv_heartbeat", kw_only=True):
    """A heartbeat arrives."""


class RespHeartbeat(Heartbeat, tag="resp_heartbeat", kw_only=True):
    """A heartbeat is answered."""


class RecvRespHeartbeat(Heartbeat, tag="recv_resp_heartbeat", kw_only=True):
    """The answer arrives; it is ignored where the call had ended."""

    ignored: bool = False
