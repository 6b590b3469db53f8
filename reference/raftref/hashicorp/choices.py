"""Choices of a model, or of the header of a trace: features, flaws, bounds. The names are the spec's."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from raftref.choices import Choices


class Feature(StrEnum):
    """Parts of the library, and steps that are split."""

    PRE_VOTE = "PreVote"
    HEARTBEATS = "Heartbeats"
    PIPELINE = "Pipeline"
    ZOMBIES = "Zombies"
    FSM_QUEUE = "FsmQueue"
    SNAPSHOTS = "Snapshots"
    CONFIGURATION_CHANGES = "ConfigurationChanges"
    TRANSFERS = "Transfers"
    VERIFY = "Verify"
    SHUTDOWN_ON_REMOVE = "ShutdownOnRemove"
    RESTORE_COMMITTED_LOGS = "RestoreCommittedLogs"


class Flaw(StrEnum):
    """Flaws of the library, of its older releases, and of a published sketch of it.

    TORN_VOTE: a vote is two writes, its term and its candidate.
    CONFLICT_AT_SNAPSHOT: a snapshot that is installed leaves a log alone that disagrees with it.
    COMMIT_UNVERIFIED: a follower commits up to the end of its log, past the entries of the request.
    DELETE_THEN_STORE: where entries were deleted and the new ones cannot be stored, lastLog stays.
    SNAPSHOT_REGRESS: a snapshot that is saved after a newer one was installed takes the place of that.
    STALE_INSTALL: a snapshot of what was applied long ago is installed.
    REAPED_INSTALL: a snapshot older than those that the store keeps is removed as it is saved, which is an error.
    COMPACTED_PREV_REJECTED: a follower looks for the entry before the new ones in its log alone, not in its snapshot.
    UNKNOWN_CANDIDATE_REJECTED: a voter refuses a candidate that has no vote in the configuration that the voter knows.
    HEARTBEAT_RACE: a heartbeat is handled while the main loop goes from candidate to leader.
    VERIFY_COUNTS_NONVOTERS: VerifyLeader counts the answers of servers without a vote.
    VERIFY_COUNTS_OLD_ACKS: VerifyLeader counts answers to what was sent before it was asked.
    TRANSFER_FLAG_LEFT: the flag that a transfer is in progress outlives the leadership.

    TRUNCATE_WITHOUT_CONFLICT: what a request has is deleted and stored anew, conflict or not.
    EVEN_QUORUM: half of an even number of voters is enough to commit.
    LAST_LOG_NOT_LOWERED: lastLog is not lowered by a truncation.
    LONGER_LOG_OLDER_TERM: a candidate with a shorter log is refused even if its last entry is of a later term.
    KNOWN_LEADER_REJECTED: a server that knows a leader refuses every candidate, that leader, too.

    REPLAY_UNCOMMITTED: a start applies the whole log to the FSM.
    MATCH_WITHOUT_RECALCULATE: a leader that stored an entry does not compute anew what is committed.
    """

    TORN_VOTE = "TornVote"
    CONFLICT_AT_SNAPSHOT = "ConflictAtSnapshot"
    COMMIT_UNVERIFIED = "CommitUnverified"
    DELETE_THEN_STORE = "DeleteThenStore"
    SNAPSHOT_REGRESS = "SnapshotRegress"
    STALE_INSTALL = "StaleInstall"
    REAPED_INSTALL = "ReapedInstall"
    COMPACTED_PREV_REJECTED = "CompactedPrevRejected"
    UNKNOWN_CANDIDATE_REJECTED = "UnknownCandidateRejected"
    HEARTBEAT_RACE = "HeartbeatRace"
    VERIFY_COUNTS_NONVOTERS = "VerifyCountsNonvoters"
    VERIFY_COUNTS_OLD_ACKS = "VerifyCountsOldAcks"
    TRANSFER_FLAG_LEFT = "TransferFlagLeft"

    TRUNCATE_WITHOUT_CONFLICT = "TruncateWithoutConflict"
    EVEN_QUORUM = "EvenQuorum"
    LAST_LOG_NOT_LOWERED = "LastLogNotLowered"
    LONGER_LOG_OLDER_TERM = "LongerLogOlderTerm"
    KNOWN_LEADER_REJECTED = "KnownLeaderRejected"

    REPLAY_UNCOMMITTED = "ReplayUncommitted"
    MATCH_WITHOUT_RECALCULATE = "MatchWithoutRecalculate"


#: Flaws of older releases, repaired since.
IN_OLDER = frozenset(
    {
        Flaw.TRUNCATE_WITHOUT_CONFLICT,
        Flaw.EVEN_QUORUM,
        Flaw.LAST_LOG_NOT_LOWERED,
        Flaw.LONGER_LOG_OLDER_TERM,
        Flaw.KNOWN_LEADER_REJECTED,
    }
)
#: Flaws of the sketch, which the library never had.
IN_SKETCH = frozenset({Flaw.REPLAY_UNCOMMITTED, Flaw.MATCH_WITHOUT_RECALCULATE})
#: The flaws of v1.7.3.
IN_V173 = frozenset(Flaw) - IN_OLDER - IN_SKETCH
#: The features unless others are chosen: those of v1.7.3 without the pipeline, so that a trace has one call at a time.
DEFAULT_FEATURES = frozenset(Feature) - {Feature.PIPELINE, Feature.RESTORE_COMMITTED_LOGS}


@dataclass(frozen=True, slots=True)
class Config(Choices):
    """The setup of a server: its features, its flaws, and its bounds.

    `max_append_entries` is how many entries a request may have, `trailing_logs` how many a snapshot leaves in the
    log, `retain_snapshots` how many snapshots are kept.

    Source: Config, NewFileSnapshotStore.
    """

    all_features = Feature
    all_flaws = Flaw
    features: frozenset[Feature] = DEFAULT_FEATURES
    flaws: frozenset[Flaw] = IN_V173
    max_append_entries: int = 64
    trailing_logs: int = 10240
    retain_snapshots: int = 2
