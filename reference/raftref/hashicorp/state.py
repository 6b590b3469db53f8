"""The volatile state of a server, which it loses when it goes down. All parts of it are frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from raftref.hashicorp.messages import RpcType
from raftref.hashicorp.values import (
    NO_CONFIGURATION,
    NO_INDEX,
    NO_TERM,
    Configuration,
    EntryType,
    Index,
    Log,
    NodeId,
    Place,
    Snapshot,
    Term,
    Zombie,
)


class Role(StrEnum):
    """The part that a server plays. SHUTDOWN: its process does not run. Source: RaftState."""

    FOLLOWER = "Follower"
    CANDIDATE = "Candidate"
    LEADER = "Leader"
    SHUTDOWN = "Shutdown"


class Loop(StrEnum):
    """The next step of the main loop: take an event; the first lines of runCandidate; those of runLeader.

    OVERTAKEN: take one more event as the candidate or the leader that the server was (HeartbeatRace).
    """

    SELECT = "SELECT"
    CAMPAIGN = "CAMPAIGN"
    LEAD = "LEAD"
    OVERTAKEN = "OVERTAKEN"


class CampaignPhase(StrEnum):
    """The kind of votes that a candidate counts."""

    NONE = "NONE"
    PREVOTE = "PREVOTE"
    VOTE = "VOTE"


@dataclass(frozen=True, slots=True)
class Campaign:
    """The votes that a candidate has been granted, of `votes_needed`. `transfer`: a leader has chosen it.

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


@dataclass(frozen=True, slots=True)
class Configurations:
    """The latest configuration in the log, which counts, and the latest that is known to be committed.

    Source: configurations.
    """

    committed: Configuration = NO_CONFIGURATION
    committed_index: Index = NO_INDEX
    latest: Configuration = NO_CONFIGURATION
    latest_index: Index = NO_INDEX

    def set_latest(self, configuration: Configuration, index: Index) -> Configurations:
        """Let a configuration count. Source: setLatestConfiguration."""
        return replace(self, latest=configuration, latest_index=index)

    def set_committed(self) -> Configurations:
        """Take the latest for committed. Source: setCommittedConfiguration, as it is called with the latest."""
        return replace(self, committed=self.latest, committed_index=self.latest_index)

    def fall_back(self) -> Configurations:
        """Take the committed one for the latest, whose entry was deleted. Source: appendEntries."""
        return replace(self, latest=self.committed, latest_index=self.committed_index)

    @property
    def is_stable(self) -> bool:
        """Whether the latest is committed."""
        return self.latest_index == self.committed_index


# ---- The FSM ----


@dataclass(frozen=True, slots=True)
class Fsm:
    """The client's state machine, whose state is what it has applied; `queue` is what waits for it.

    `last` is where the log was when it last applied something, or restored a snapshot that was installed. It is unknown
    after a start, also where the FSM began with a snapshot.

    Source: FSM, runFSM.
    """

    applied: tuple[Log, ...] = ()
    last: Place = field(default_factory=Place)
    queue: tuple[Log, ...] = ()

    def enqueue(self, log: Log) -> Fsm:
        """Let an entry wait."""
        return replace(self, queue=(*self.queue, log))

    def apply_single(self, log: Log) -> Fsm:
        """Apply an entry: the FSM sees no barrier. Source: applySingle."""
        applied = (*self.applied, log) if log.entry.type is EntryType.COMMAND else self.applied
        return replace(self, applied=applied, last=Place(log.index, log.entry.term))

    def restore(self, snapshot: Snapshot) -> Fsm:
        """Begin anew with a snapshot; what waited comes before it. Source: restore."""
        return Fsm(snapshot.applied, snapshot.place)


class SnapshotPhase(StrEnum):
    """The progress of the routine that takes a snapshot: the FSM was read; what was read is saved."""

    NONE = "NONE"
    TAKEN = "TAKEN"
    SAVED = "SAVED"


@dataclass(frozen=True, slots=True)
class Snapshotting:
    """The snapshot that is being taken, if one is. Source: takeSnapshot."""

    phase: SnapshotPhase = SnapshotPhase.NONE
    snapshot: Snapshot | None = None


# ---- A leader's state ----


@dataclass(frozen=True, slots=True)
class Commitment:
    """The matchIndexes of the voters, and what is committed by them.

    `start_index` is the first index of the leadership: nothing before it commits by itself. `half_commits`: half of an
    even number of voters is enough (EvenQuorum).

    Source: commitment.
    """

    start_index: Index = NO_INDEX
    voters: frozenset[NodeId] = frozenset()
    half_commits: bool = False
    commit_index: Index = NO_INDEX
    match_indexes: Mapping[NodeId, Index] = field(default_factory=dict)

    def set_configuration(self, voters: frozenset[NodeId]) -> Commitment:
        """Let others vote from now on, and forget the marks of servers that do not.

        Source: commitment.setConfiguration.
        """
        marks = {each: mark for each, mark in self.match_indexes.items() if each in voters}
        return replace(self, voters=voters, match_indexes=marks).recalculate()

    def match(self, server: NodeId, index: Index) -> Commitment:
        """Learn that a server stores the log up to an index.

        Source: commitment.match.
        """
        if server not in self.voters or index <= self.match_indexes.get(server, 0):
            return self
        return self.mark(server, index).recalculate()

    def mark(self, server: NodeId, index: Index) -> Commitment:
        """Set a mark, and compute nothing."""
        return replace(self, match_indexes={**self.match_indexes, server: index})

    def recalculate(self) -> Commitment:
        """Take the index that a quorum has reached for committed, if it is of this leadership.

        Source: commitment.recalculate.
        """
        if not self.voters:
            return self
        matched = sorted(self.match_indexes.get(each, Index(0)) for each in self.voters)
        quorum_match_index = matched[len(matched) // 2 if self.half_commits else (len(matched) - 1) // 2]
        if quorum_match_index > self.commit_index and quorum_match_index >= self.start_index:
            return replace(self, commit_index=quorum_match_index)
        return self


class PipelinePhase(StrEnum):
    """Whether a routine has a pipeline. ALLOWED: a call has succeeded, so that it may open one."""

    NONE = "NONE"
    ALLOWED = "ALLOWED"
    OPEN = "OPEN"


@dataclass(frozen=True, slots=True)
class PipelinedCall:
    """A call of a pipeline without an answer: the last index of its entries, 0 if it has none.

    `old`: it was made before VerifyLeader was asked.
    """

    sent_index: Index
    old: bool = False


@dataclass(frozen=True, slots=True)
class FollowerReplication:
    """The two routines for one peer: what it is sent next, and what it was sent and has not answered.

    `running` holds until the peer answers with a higher term; `term` is that of the leadership. `awaiting` is the call
    of the replication routine that has no answer yet, and `sent_index` the last index that it was about, 0 if it had no
    entry. `in_flight` are the calls of an open pipeline without an answer, in their order. `beating`: a heartbeat has
    no answer yet. `old` and `old_call`: heartbeat or call were sent before VerifyLeader was asked.

    Source: followerReplication, pipelineReplicate.
    """

    running: bool = False
    term: Term = NO_TERM
    next_index: Index = NO_INDEX
    awaiting: RpcType | None = None
    sent_index: Index = NO_INDEX
    pipeline: PipelinePhase = PipelinePhase.NONE
    in_flight: tuple[PipelinedCall, ...] = ()
    beating: bool = False
    old: bool = False
    old_call: bool = False

    @property
    def has_pipeline(self) -> bool:
        """Whether a pipeline is open."""
        return self.pipeline is PipelinePhase.OPEN

    @property
    def may_pipeline(self) -> bool:
        """Whether it has a pipeline, or may open one."""
        allowed = self.pipeline is PipelinePhase.ALLOWED and self.awaiting is None
        return self.running and (self.has_pipeline or allowed)

    @property
    def pipeline_index(self) -> Index:
        """The index behind all that was sent. Source: pipelineReplicate, nextIndex."""
        return max([self.next_index, *(Index(each.sent_index + 1) for each in self.in_flight)])

    def pipelined(self, sent_index: Index) -> FollowerReplication:
        """Have one more call under way in the pipeline."""
        return replace(self, pipeline=PipelinePhase.OPEN, in_flight=(*self.in_flight, PipelinedCall(sent_index)))

    def decoded(self) -> FollowerReplication:
        """Take the answer to the oldest call of the pipeline."""
        return replace(self, in_flight=self.in_flight[1:])

    def closed(self) -> FollowerReplication:
        """Close the pipeline."""
        return replace(self, pipeline=PipelinePhase.NONE, in_flight=())

    def send(self, type_: RpcType, sent_index: Index) -> FollowerReplication:
        """Wait for the answer to a call."""
        return replace(self, awaiting=type_, sent_index=sent_index)

    def answered(self) -> FollowerReplication:
        """Wait no more for the answer to a call."""
        return replace(self, awaiting=None, sent_index=NO_INDEX, old_call=False)

    def beaten(self) -> FollowerReplication:
        """Wait for no heartbeat any more."""
        return replace(self, beating=False, old=False)

    def verify(self) -> FollowerReplication:
        """Remember what was sent before VerifyLeader was asked."""
        in_flight = tuple(replace(each, old=True) for each in self.in_flight)
        return replace(
            self, old=self.old or self.beating, old_call=self.old_call or self.awaiting is not None, in_flight=in_flight
        )

    def zombies(self, peer: NodeId) -> frozenset[Zombie]:
        """Return what is left of the routine when it is stopped: it may be about to send.

        One with a pipeline sends behind what it has sent there, or from where the last answer led that it still takes.
        """
        acked = {Index(each.sent_index + 1) for each in self.in_flight if each.sent_index}
        return frozenset(Zombie(peer, self.term, index) for index in {self.next_index, *acked})


NO_REPLICATION = FollowerReplication()


@dataclass(frozen=True, slots=True)
class Transfer:
    """A leadership that is being handed over: to whom, in which term, and whether that server was asked to campaign.

    Source: leadershipTransferInProgress.
    """

    in_progress: bool = False
    to: NodeId | None = None
    term: Term = NO_TERM
    asked: bool = False


@dataclass(frozen=True, slots=True)
class Verification:
    """A client's question whether the server leads: the peers that said so, those that may, and whether one refused.

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
        """Whether no answer counts any more."""
        return self.refused or self.is_verified

    def vote(self, peer: NodeId, leader: bool) -> Verification:
        """Count the answer of a peer, once. Source: verifyFuture.vote, followerReplication.notifyAll."""
        if not self.active or peer not in self.waiting:
            return self
        heard = replace(self, waiting=self.waiting - {peer})
        if self.is_decided:
            return heard
        return replace(heard, acks=self.acks | {peer}) if leader else replace(heard, refused=True)
