"""The choices of a node: features and flaws, by the spec's names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from raftref.choices import Choices


class Feature(StrEnum):
    """Parts of the protocol, and steps that are split. Elections are always stepwise here (StepwiseElections).

    REQUEST_QUEUES: a request waits in a queue of the follower until it is handled.
    SPLIT_QUORUM_CHECK: a pass of the quorum checker reads in one step and acts in another.
    PENDING_MAP: a dispatcher remembers what it has pushed and has no answer to.
    LATE_RESEND: a dispatcher has looked whether it may push more before it pushes again; needs PENDING_MAP.
    BATCHES: a client may append, and an APPEND push, several entries at once; needs PENDING_MAP.
    NOT_FOLLOWER: a node that does not follow refuses COMPARE, TRUNCATE and COMMIT, as from 0.3.0 on.
    LATE_ROLE: an EntryHandler has looked whether its node follows before it handles an APPEND or TRUNCATE, and learns
        what is committed after it.
    CLIENTS: clients wait for the entries they appended, and are answered.
    APPLIES: a state machine applies what is committed, and answers the clients.
    VOTE_MESSAGES: votes, heartbeats and transfers of leadership are messages.
    """

    REQUEST_QUEUES = "RequestQueues"
    SPLIT_QUORUM_CHECK = "SplitQuorumCheck"
    PENDING_MAP = "PendingMap"
    LATE_RESEND = "LateResend"
    BATCHES = "Batches"
    NOT_FOLLOWER = "NotFollower"
    LATE_ROLE = "LateRole"
    CLIENTS = "Clients"
    APPLIES = "Applies"
    VOTE_MESSAGES = "VoteMessages"


class Flaw(StrEnum):
    """Flaws of published releases; spec/dledger/README.md has the origin of each.

    PRIOR_TERM_COMMIT: entries of earlier terms commit by counting watermarks.
    TRUNCATED_TAIL: what TRUNCATE cuts can come back after a restart.
    PUSH_TERM_CHECK: COMPARE and COMMIT are obeyed whatever their term and leader.
    APPEND_TERM_CHECK: an APPEND of any term and leader succeeds if its entries are stored already.
    LATE_TRUNCATE: a late TRUNCATE cuts what its leader appended behind it, or leaves a gap where the log was cut.
    DEPOSED_TRUNCATE: a deposed leader sends the TRUNCATE it was about to send, with what its log holds by then.
    COMMIT_PAST_END: a TRUNCATE cuts below the committed index.
    ASYNC_FLUSH: an entry is acknowledged before it is on the disk.
    VOTE_FILE: the file of term and vote, or the checkpoint, is gone while it is replaced.
    APPLY_UNCLAMPED: the state machine applies up to an index that the store did not commit.
    ACK_BY_QUORUM_INDEX: clients are answered by the quorum index, committed or not.
    STALE_COMPARE_INDEX: a new leadership compares from where an earlier one of the same node stopped.
    REPEATED_PUSH: an APPEND after a gap stays queued once answered, and the same one sent again is refused.
    HIGH_TERM_LAGGARD: a leader with a quorum stays in its term whatever higher term a member is in.
    LEDGER_END_TERM: votes look at the term in which the last entry was stored; in 0.1 alone.
    """

    PRIOR_TERM_COMMIT = "PriorTermCommit"
    TRUNCATED_TAIL = "TruncatedTail"
    PUSH_TERM_CHECK = "PushTermCheck"
    APPEND_TERM_CHECK = "AppendTermCheck"
    LATE_TRUNCATE = "LateTruncate"
    DEPOSED_TRUNCATE = "DeposedTruncate"
    COMMIT_PAST_END = "CommitPastEnd"
    ASYNC_FLUSH = "AsyncFlush"
    VOTE_FILE = "VoteFile"
    APPLY_UNCLAMPED = "ApplyUnclamped"
    ACK_BY_QUORUM_INDEX = "AckByQuorumIndex"
    STALE_COMPARE_INDEX = "StaleCompareIndex"
    REPEATED_PUSH = "RepeatedPush"
    HIGH_TERM_LAGGARD = "HighTermLaggard"
    LEDGER_END_TERM = "LedgerEndTerm"


#: The flaws of 0.2.7.
IN_0_2_7 = frozenset(Flaw) - {Flaw.LEDGER_END_TERM}
#: Elections message by message; everything else is as coarse as can be.
VOTES = frozenset({Feature.VOTE_MESSAGES})
#: Every queue, every future, every pass in its parts; elections are as coarse as can be.
FINE = frozenset({Feature.REQUEST_QUEUES, Feature.SPLIT_QUORUM_CHECK, Feature.PENDING_MAP, Feature.CLIENTS})


@dataclass(frozen=True, slots=True)
class Config(Choices):
    """Features and flaws of a node: by default the coarsest steps, and 0.2.7 as published."""

    all_features = Feature
    all_flaws = Flaw
    features: frozenset[Feature] = frozenset()
    flaws: frozenset[Flaw] = IN_0_2_7

    def without(self, *flaws: Flaw) -> Config:
        """Return this config with some flaws repaired."""
        return replace(self, flaws=self.flaws - set(flaws))


PUBLISHED = Config()
REPAIRED = Config(flaws=frozenset())
