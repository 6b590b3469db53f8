"""The fault plan: the shape of a group, what may go wrong in it and how often, and which flaws its servers have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from raftref.choices import features_in, flaws_in
from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Config, Feature, Flaw
from raftref.hashicorp.values import Configuration, NodeId
from raftref.simulation.group_plan import EVENT, WRITE, GroupPlan, integer, names, probability
from raftref.simulation.plans import check_integer

MAX_NODES = 9
#: The most that each bound of a server may be, and the most entries that a snapshot may leave in the log.
MAX_BOUND, MAX_TRAILING_LOGS = 64, 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan(GroupPlan):
    """A simulation's shape and faults.

    `voters` vote from the start, `nonvoters` only store the log, `spares` are servers that may be added. `features` and
    `flaws` are what the servers have, `max_append_entries`, `trailing_logs` and `retain_snapshots` their bounds.

    Probabilities of each step that writes: `store_failure`, that a write fails, and `crash_in_write`, that the process
    dies right after one.

    Probabilities of being tried at each moment; ordinary work takes the rest: `client` appends, `barrier` of a client,
    `timeout` of a follower or a candidate that need not, `lease` of a leader that need not, `rpc_error` of a call that
    could still be answered, `zombie`, a routine of a lost leadership that sends entries or a snapshot,
    `zombie_heartbeat`, one that sends a heartbeat, `snapshot`, `change` of the configuration, `transfer` of a
    leadership, `end_transfer`, `verify` of one, `crash` of a process, `restart`, `partition` and `heal`.
    """

    spec_name: ClassVar[str] = "HashicorpRaft"
    voters: int = integer(3, 1, MAX_NODES)
    nonvoters: int = integer(0, 0, MAX_NODES)
    spares: int = integer(0, 0, MAX_NODES)
    max_append_entries: int = integer(4, 1, MAX_BOUND)
    trailing_logs: int = integer(2, 0, MAX_TRAILING_LOGS)
    retain_snapshots: int = integer(2, 1, MAX_BOUND)
    store_failure: float = probability(0.0, WRITE)
    crash_in_write: float = probability(0.0, WRITE)
    client: float = probability(0.06, EVENT)
    barrier: float = probability(0.005, EVENT)
    timeout: float = probability(0.001, EVENT)
    lease: float = probability(0.001, EVENT)
    rpc_error: float = probability(0.004, EVENT)
    zombie: float = probability(0.002, EVENT)
    # A third of the rate before it: of what a leader's routines send, a quarter is heartbeats, too.
    zombie_heartbeat: float = probability(0.0007, EVENT)
    snapshot: float = probability(0.0, EVENT)
    change: float = probability(0.0, EVENT)
    transfer: float = probability(0.0, EVENT)
    end_transfer: float = probability(0.004, EVENT)
    verify: float = probability(0.0, EVENT)
    crash: float = probability(0.0015, EVENT)
    restart: float = probability(0.02, EVENT)
    partition: float = probability(0.0015, EVENT)
    heal: float = probability(0.01, EVENT)
    features: frozenset[Feature] = names(DEFAULT_FEATURES, Feature)
    flaws: frozenset[Flaw] = names(IN_V173, Flaw)

    def __post_init__(self) -> None:
        """Raise PlanError where a field is out of range or of another type, or there are too many servers."""
        GroupPlan.__post_init__(self)
        check_integer("nonvoters", self.nonvoters, 0, MAX_NODES - self.voters)
        check_integer("spares", self.spares, 0, MAX_NODES - self.voters - self.nonvoters)

    @property
    def node_ids(self) -> tuple[NodeId, ...]:
        """The servers' names: n1, n2, ...; those with a vote come first, then those without, then the spares."""
        return tuple(f"n{number}" for number in range(1, self.voters + self.nonvoters + self.spares + 1))

    @property
    def configuration(self) -> Configuration:
        """The configuration of the bootstrap."""
        ids = self.node_ids
        return Configuration(frozenset(ids[: self.voters]), frozenset(ids[self.voters : self.voters + self.nonvoters]))

    @property
    def config(self) -> Config:
        """The setup of the servers."""
        bounds = (self.max_append_entries, self.trailing_logs, self.retain_snapshots)
        return Config(self.features, self.flaws, *bounds)

    def constants(self) -> dict[str, bool | str | int]:
        """Return the spec's constants."""
        return {
            "Fifo": self.fifo,
            "Voters": self.voters,
            "Nonvoters": self.nonvoters,
            "MaxAppendEntries": self.max_append_entries,
            "TrailingLogs": self.trailing_logs,
            "RetainSnapshots": self.retain_snapshots,
            **self.config.constants(),
        }

    @classmethod
    def from_constants(cls, nodes: Sequence[NodeId], constants: Mapping[str, Any]) -> Self:
        """Return the plan of a group as the header of a trace describes it.

        A feature that it does not name, as a header of before that feature, is there if it is by default.
        """
        features = {each.value: each in DEFAULT_FEATURES for each in Feature} | dict(constants)
        voters, nonvoters = int(constants["Voters"]), int(constants["Nonvoters"])
        return cls(
            voters=voters,
            nonvoters=nonvoters,
            spares=len(nodes) - voters - nonvoters,
            fifo=bool(constants["Fifo"]),
            max_append_entries=int(constants["MaxAppendEntries"]),
            trailing_logs=int(constants["TrailingLogs"]),
            retain_snapshots=int(constants["RetainSnapshots"]),
            features=features_in(features, Feature),
            flaws=flaws_in(constants, Flaw),
        )
