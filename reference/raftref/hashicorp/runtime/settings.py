"""The constants of a server that runs: how long it waits, and for what; and the bounds of the protocol."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace

from raftref.hashicorp.choices import DEFAULT_FEATURES, Config, Feature, Flaw
from raftref.runtime.driver import Seconds, refuse_short_times

#: The fields that are times.
_TIMES = (
    "heartbeat_timeout",
    "election_timeout",
    "commit_timeout",
    "leader_lease_timeout",
    "min_check_interval",
    "snapshot_interval",
    "failure_wait",
    "rpc_timeout",
    "persist_time",
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Times of a server, in seconds, and its bounds, with the defaults of the library.

    Raises:
        ValueError: A time is too short.

    Source: DefaultConfig, and where it is named otherwise the constants of a file.
    """

    #: A follower that has heard nothing for a time between this and twice this stands for election.
    heartbeat_timeout: Seconds = 1.0
    #: A candidate begins anew after a time between this and twice this; a transfer of the leadership fails after it.
    election_timeout: Seconds = 1.0
    #: A leader that has nothing to send sends all the same after a time between this and twice this.
    commit_timeout: Seconds = 0.05
    #: A leader that has not heard of a quorum for this time steps down.
    leader_lease_timeout: Seconds = 0.5
    #: The least time between two checks of the lease. Source: minCheckInterval of raft.go.
    min_check_interval: Seconds = 0.01
    #: A server looks whether to take a snapshot after a time between this and twice this.
    snapshot_interval: Seconds = 120.0
    #: It takes one if its log goes this far past the last one.
    snapshot_threshold: int = 8192
    #: The number of entries that a snapshot leaves in the log.
    trailing_logs: int = 10240
    max_append_entries: int = 64
    #: A pipeline has no more calls without an answer. Source: DefaultMaxRPCsInFlight of net_transport.go.
    max_rpcs_in_flight: int = 2
    #: The number of snapshots that are kept. Source: NewFileSnapshotStore, whose callers choose it.
    retain_snapshots: int = 2
    #: The wait after a call that failed; it doubles with each failure. Source: failureWait of replication.go.
    failure_wait: Seconds = 0.01
    #: The number of failures from which on the wait grows no more. Source: maxFailureScale of replication.go.
    max_failure_scale: int = 12
    #: The time after which a call has failed. Source: NewNetworkTransport, whose callers choose it, mostly 10 s. It is
    #: shorter here, since the routine that waits does nothing else.
    rpc_timeout: Seconds = 1.0
    #: How long the writing of a snapshot takes while the server goes on. Source: takeSnapshot, which is not timed.
    persist_time: Seconds = 0.0

    def __post_init__(self) -> None:
        refuse_short_times({name: getattr(self, name) for name in _TIMES if name != "persist_time"})

    @property
    def heartbeat_interval(self) -> Seconds:
        """The least time between two heartbeats to a peer; the most is twice this. Source: heartbeat."""
        return self.heartbeat_timeout / 10

    @property
    def max_heartbeat_backoff(self) -> Seconds:
        """The longest wait after a heartbeat that failed. Source: heartbeat."""
        return self.heartbeat_timeout / 2

    def backoff(self, failure_count: int) -> Seconds:
        """Return the wait before the next call to a peer after failures. Source: backoff of util.go."""
        return float(self.failure_wait * 2 ** max(0, min(failure_count, self.max_failure_scale) - 2))

    def heartbeat_backoff(self, failure_count: int) -> Seconds:
        """Return the wait after a heartbeat that failed after others. Source: cappedExponentialBackoff of util.go."""
        return min(self.backoff(failure_count), self.max_heartbeat_backoff)

    def config(self, flaws: Set[Flaw], features: Set[Feature] = DEFAULT_FEATURES) -> Config:
        """Return the setup of a server with these bounds, flaws and features."""
        bounds = (self.max_append_entries, self.trailing_logs, self.retain_snapshots)
        return Config(frozenset(features), frozenset(flaws), *bounds)

    def scaled(self, factor: float) -> Settings:
        """Return the same settings with every time multiplied by a factor."""
        return replace(self, **{name: getattr(self, name) * factor for name in _TIMES})
