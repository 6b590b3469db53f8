"""The constants of a DLedger node that runs: how long it waits, and for what."""

from __future__ import annotations

from dataclasses import dataclass

from raftref.runtime.driver import Seconds


@dataclass(frozen=True, slots=True)
class Settings:
    """Times of a node, in seconds, with the defaults of DLedger.

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
    max_wait_ack_time: Seconds = 2.5
    rpc_timeout: Seconds = 3.0
    leadership_transfer_wait_timeout: Seconds = 1.0
    #: The rest of a dispatcher after an error. Source: EntryDispatcher.doWork.
    dispatcher_sleep: Seconds = 0.5
    #: The time between two COMMITs to a peer that has everything. Source: EntryDispatcher.doCommit.
    push_commit: Seconds = 1.0
    #: The time between two checks of what was pushed and has no answer. Source: lastCheckLeakTimeMs.
    check_leak: Seconds = 1.0
    #: The time between two checks of APPENDs that are not the next. Source: lastCheckFastForwardTimeMs.
    check_fast_forward: Seconds = 1.0
    #: The time after which a leader marks again what it stores itself. Source: QuorumAckChecker.doWork.
    refresh_own_water_mark: Seconds = 1.0
    max_batch_count: int = 100

    @property
    def max_silence(self) -> Seconds:
        """The time without a heartbeat, or without a quorum of their answers, after which a role ends.

        Source: DLedgerLeaderElector.maintainAsFollower, maintainAsLeader.
        """
        return self.max_heart_beat_leak * self.heart_beat_time_interval

    def scaled(self, factor: float) -> Settings:
        """Return the same settings with every time multiplied by a factor; counts stay."""
        times = {name: getattr(self, name) for name in self.__dataclass_fields__ if not name.startswith("max_batch")}
        scaled = {name: value * factor for name, value in times.items() if name != "max_heart_beat_leak"}
        return Settings(**scaled, max_heart_beat_leak=self.max_heart_beat_leak, max_batch_count=self.max_batch_count)
