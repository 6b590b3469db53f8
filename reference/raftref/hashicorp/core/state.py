"""What a server knows besides what is durable: it loses all of this when it goes down."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from raftref.hashicorp.leader.commitment import Commitment
from raftref.hashicorp.leader.follower_replication import FollowerReplication
from raftref.hashicorp.values import (
    NO_CONFIGURATION,
    NO_INDEX,
    NO_TERM,
    Configuration,
    Index,
    NodeId,
    Snapshot,
    Term,
    set_record,
)


class Role(StrEnum):
    """The part that a server plays. SHUTDOWN: its process does not run. Source: RaftState."""

    FOLLOWER = "Follower"
    CANDIDATE = "Candidate"
    LEADER = "Leader"
    SHUTDOWN = "Shutdown"


class Loop(StrEnum):
    """What the main loop does next: take an event; the first lines of runCandidate; those of runLeader."""

    SELECT = "SELECT"
    CAMPAIGN = "CAMPAIGN"
    LEAD = "LEAD"


class CampaignPhase(StrEnum):
    """Which votes a candidate counts."""

    NONE = "NONE"
    PREVOTE = "PREVOTE"
    VOTE = "VOTE"


@dataclass(slots=True)
class Campaign:
    """What a candidate counts: who granted, of `votes_needed`. `transfer`: a leader has chosen it.

    Source: runCandidate; candidateFromLeadershipTransfer.
    """

    phase: CampaignPhase = CampaignPhase.NONE
    granted: frozenset[NodeId] = frozenset()
    transfer: bool = False
    votes_needed: int = 0

    @property
    def is_won(self) -> bool:
        """Whether enough granted."""
        return 0 < self.votes_needed <= len(self.granted)

    def record(self) -> dict[str, Any]:
        """Return it as the spec's record."""
        return {"phase": self.phase.value, "granted": set_record(self.granted), "transfer": self.transfer}


@dataclass(slots=True)
class Configurations:
    """The latest configuration in the log, which counts, and the latest that is known to be committed.

    Source: configurations.
    """

    committed: Configuration = NO_CONFIGURATION
    committed_index: Index = NO_INDEX
    latest: Configuration = NO_CONFIGURATION
    latest_index: Index = NO_INDEX

    def set_latest(self, configuration: Configuration, index: Index) -> None:
        """Let a configuration count. Source: setLatestConfiguration."""
        self.latest, self.latest_index = configuration, index

    def set_committed(self) -> None:
        """Take the latest for committed. Source: setCommittedConfiguration, as it is called with the latest."""
        self.committed, self.committed_index = self.latest, self.latest_index

    def fall_back(self) -> None:
        """Take the committed one for the latest: the entry of that was deleted. Source: appendEntries."""
        self.latest, self.latest_index = self.committed, self.committed_index

    @property
    def is_stable(self) -> bool:
        """Whether the latest is committed."""
        return self.latest_index == self.committed_index

    def record(self) -> dict[str, Any]:
        """Return them as the spec's record."""
        return {
            "committed": self.committed.record(),
            "committedIndex": self.committed_index,
            "latest": self.latest.record(),
            "latestIndex": self.latest_index,
        }


@dataclass(slots=True)
class LeaderState:
    """What a leader keeps. `step_down`: a peer told of a higher term. Source: leaderState."""

    commitment: Commitment = field(default_factory=Commitment)
    repl_state: dict[NodeId, FollowerReplication] = field(default_factory=dict)
    step_down: bool = False


class SnapshotPhase(StrEnum):
    """How far the routine that takes a snapshot has come: the FSM was read; what was read is saved."""

    NONE = "NONE"
    TAKEN = "TAKEN"
    SAVED = "SAVED"


@dataclass(slots=True)
class Snapshotting:
    """The snapshot that is being taken, if one is. Source: takeSnapshot."""

    phase: SnapshotPhase = SnapshotPhase.NONE
    snapshot: Snapshot | None = None


@dataclass(slots=True)
class Transfer:
    """A leadership that is being handed over, in the term of which, to whom, and whether it was told to campaign.

    Source: leadershipTransferInProgress.
    """

    in_progress: bool = False
    to: NodeId | None = None
    term: Term = NO_TERM
    asked: bool = False

    def record(self) -> dict[str, Any]:
        """Return it as the spec's record."""
        return {"inProgress": self.in_progress, "to": self.to, "term": self.term, "asked": self.asked}


@dataclass(slots=True)
class Verification:
    """A client's question whether the server leads: who said so, who may still, and whether one said no.

    Source: verifyFuture.
    """

    active: bool = False
    acks: frozenset[NodeId] = frozenset()
    waiting: frozenset[NodeId] = frozenset()
    quorum_size: int = 0
    refused: bool = False

    @property
    def is_verified(self) -> bool:
        """Whether a quorum said that it leads, the leader counted, vote or no vote."""
        return len(self.acks) + 1 >= self.quorum_size

    @property
    def is_decided(self) -> bool:
        """Whether the main loop is told: no answer counts any more."""
        return self.refused or self.is_verified

    def vote(self, peer: NodeId, leader: bool) -> None:
        """Count the answer of a peer, once. Source: verifyFuture.vote, followerReplication.notifyAll."""
        if not self.active or peer not in self.waiting:
            return
        self.waiting -= {peer}
        if self.is_decided:
            return
        if leader:
            self.acks |= {peer}
        else:
            self.refused = True

    def record(self) -> dict[str, Any]:
        """Return of it what the spec shows."""
        return {"active": self.active, "acks": set_record(self.acks)}
