"""Requests of clients to a server of hashicorp/raft, and its answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import NO_INDEX, NO_TERM, Configuration, Entry, Index, Log, NodeId, Place, Term, Value
from raftref.runtime.driver import Seconds


class RaftError(StrEnum):
    """The errors that have a name. Those of a restore by the user and of a live bootstrap are left out.

    Source: the variables of api.go.
    """

    NOT_LEADER = "ErrNotLeader"
    LEADERSHIP_LOST = "ErrLeadershipLost"
    LEADERSHIP_TRANSFER_IN_PROGRESS = "ErrLeadershipTransferInProgress"
    ENQUEUE_TIMEOUT = "ErrEnqueueTimeout"
    NOTHING_NEW_TO_SNAPSHOT = "ErrNothingNewToSnapshot"
    RAFT_SHUTDOWN = "ErrRaftShutdown"


# ---- Requests --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ApplyRequest:
    """Append a command, and answer with what the FSM returns for it. Source: Apply."""

    value: Value


@dataclass(frozen=True, slots=True)
class BarrierRequest:
    """Answer once the FSM has applied all that was appended before. Source: Barrier."""


@dataclass(frozen=True, slots=True)
class VerifyLeaderRequest:
    """Answer once a quorum has said that this server still leads. Source: VerifyLeader."""


@dataclass(frozen=True, slots=True)
class LeadershipTransferRequest:
    """Hand the leadership over to a server, or to the voter that is furthest where none is named.

    Source: LeadershipTransfer, LeadershipTransferToServer.
    """

    to: NodeId | None = None


@dataclass(frozen=True, slots=True)
class ConfigurationChangeRequest:
    """Add, demote or remove a server.

    `prev_index`, if it is not 0, is the index of the only configuration to which the change may be applied. After
    `timeout`, if it is not 0, a change waits no longer for the one before it to be committed.

    Source: AddVoter, AddNonvoter, DemoteVoter, RemoveServer.
    """

    command: ChangeCommand
    server: NodeId
    prev_index: Index = NO_INDEX
    timeout: Seconds = 0.0


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """Take a snapshot now. Source: Snapshot."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """Read the command at an index, if this server's FSM has applied it; it may be behind the leader's."""

    index: Index


@dataclass(frozen=True, slots=True)
class StateRequest:
    """Read all that this server's FSM has applied. No line of a client asks for it: it is as long as the history."""


@dataclass(frozen=True, slots=True)
class StatsRequest:
    """Ask for the server's statistics. Source: Stats."""


ClientRequest = (
    ApplyRequest
    | BarrierRequest
    | VerifyLeaderRequest
    | LeadershipTransferRequest
    | ConfigurationChangeRequest
    | SnapshotRequest
    | ReadRequest
    | StateRequest
    | StatsRequest
)

# ---- Answers ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FutureResult:
    """The end of a request.

    `error` is None after a success, else a RaftError, or the words of an error that has no name. `leader` is the leader
    as this server knows it. `index` and `term` are those of the entry, or of the snapshot, if there is one; `response`
    is what the FSM returned for a command.

    Source: Future, IndexFuture, ApplyFuture.
    """

    error: str | None = None
    leader: NodeId | None = None
    index: Index = NO_INDEX
    term: Term = NO_TERM
    response: Any = None


@dataclass(frozen=True, slots=True)
class ReadResult:
    """The command at an index, None where the FSM has applied none there."""

    index: Index
    entry: Entry | None


@dataclass(frozen=True, slots=True)
class StateResult:
    """All commands that the FSM has applied, in their order, and where the log was when it last applied something."""

    last: Place
    applied: tuple[Log, ...]


@dataclass(frozen=True, slots=True)
class StatsResult:
    """Statistics of a server. `last_contact` is None where it never heard of a leader, 0 where it leads.

    Source: Stats.
    """

    state: Role
    term: Term
    leader: NodeId | None
    last_log: Place
    commit_index: Index
    applied_index: Index
    fsm_pending: int
    last_snapshot: Place
    latest_configuration: Configuration
    latest_configuration_index: Index
    last_contact: Seconds | None

    @property
    def peer_count(self) -> int:
        """The number of voters besides this server. Source: num_peers."""
        return max(0, len(self.latest_configuration.voters) - 1)
