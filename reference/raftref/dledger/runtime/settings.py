"""The constants of a DLedger node that runs: how long it waits and for what, and its limits."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from raftref.dledger.state import MAX_PENDING_REQUESTS
from raftref.runtime.driver import Seconds, refuse_short_times


@dataclass(frozen=True, slots=True)
class Settings:
    """Times of a node in seconds, sizes in bytes, and counts, by the names and with the defaults of DLedger.

    Raises:
        ValueError: More clients may wait than the spec lets wait, or a time is too short.

    Source: DLedgerConfig, and where it is named otherwise the constants of a class.
    """

    heart_beat_time_interval: Seconds = 2.0
    #: The number of intervals without a heartbeat after which a follower stands for election.
    max_heart_beat_leak: int = 3
    min_vote_interval: Seconds = 0.3
    max_vote_interval: Seconds = 1.0
    min_take_leadership_vote_interval: Seconds = 0.03
    max_take_leadership_vote_interval: Seconds = 0.1
    #: The wait for the answers of a round of votes, before what is drawn. Source: maintainAsCandidate.
    vote_wait: Seconds = 2.0
    check_point_interval: Seconds = 3.0
    flush_file_interval: Seconds = 0.01
    #: The time between two looks at the disk. Source: DLedgerMmapFileStore.CleanSpaceService.
    clean_space_interval: Seconds = 0.1
    max_wait_ack_time: Seconds = 2.5
    rpc_timeout: Seconds = 3.0
    leadership_transfer_wait_timeout: Seconds = 1.0
    #: The rest of a dispatcher after an error. Source: EntryDispatcher.doWork.
    dispatcher_sleep: Seconds = 0.5
    #: The time between two COMMITs to a peer that has everything. Source: EntryDispatcher.doCommit.
    push_commit: Seconds = 1.0
    #: The time between two checks of what was pushed and has no answer. Source: lastCheckLeakTimeMs.
    check_leak: Seconds = 1.0
    #: The time after which an APPEND without an answer is pushed again.
    max_push_time_out: Seconds = 1.0
    #: The time between two checks of APPENDs that are not the next. Source: lastCheckFastForwardTimeMs.
    check_fast_forward: Seconds = 1.0
    #: The time after which a leader marks again what it stores itself. Source: QuorumAckChecker.doWork.
    refresh_own_water_mark: Seconds = 1.0
    #: The time in which `peer_push_quota` may be pushed. Source: Quota.
    quota_second: Seconds = 1.0
    #: The number of waiting clients above which a leader refuses more with LEADER_PENDING_FULL.
    max_pending_requests_num: int = MAX_PENDING_REQUESTS
    #: The bytes that a batch reaches before it is pushed, unless there are no more entries.
    max_batch_push_size: int = 4 * 1024
    #: The bytes by which a peer must be behind for the quota to count.
    peer_push_throttle_point: int = 300 * 1024 * 1024
    #: The bytes that are pushed in a second to a peer that is that far behind.
    peer_push_quota: int = 20 * 1024 * 1024

    def __post_init__(self) -> None:
        refuse_short_times({name: getattr(self, name) for name in self._times()})
        if self.max_pending_requests_num > MAX_PENDING_REQUESTS:
            raise ValueError(f"no more than {MAX_PENDING_REQUESTS} clients may wait: {self.max_pending_requests_num}")

    @property
    def max_silence(self) -> Seconds:
        """The time without a heartbeat, or without a quorum of their answers, after which a role ends.

        Source: DLedgerLeaderElector.maintainAsFollower, maintainAsLeader.
        """
        return self.max_heart_beat_leak * self.heart_beat_time_interval

    def scaled(self, factor: float) -> Settings:
        """Return the same settings with every time multiplied by a factor; sizes and counts stay."""
        return replace(self, **{name: getattr(self, name) * factor for name in self._times()})

    @classmethod
    def _times(cls) -> list[str]:
        return [each.name for each in fields(cls) if each.type == "Seconds"]
