"""The fault plan: the shape of a group, its faults and their rates, and the features and flaws of its nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from raftref.choices import features_in, flaws_in
from raftref.dledger.choices import IN_0_2_7, Config, Feature, Flaw
from raftref.dledger.messages import NodeId
from raftref.simulation.group_plan import EVENT, GroupPlan, integer, names, probability
from raftref.simulation.plans import PlanError

MIN_NODES, MAX_NODES = 3, 7


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultPlan(GroupPlan):
    """A simulation's shape and faults.

    `nodes` is the number of members. `features` and `flaws` are those of the nodes.

    Where channels keep no order, a TRUNCATE is doubled with probability `late`, and passed over once its caller waits
    for it no more, as it does after the answer to the other copy.

    Probabilities of being tried at each moment; ordinary work (delivering, pushing, electing, handling what waits)
    takes the rest: `client` appends, `client_timeout` of one that waits, `quorum_check` and `refresh` passes of the
    leader's quorum checker, `resend` of an unanswered APPEND, `commit` sent to a peer, `push_timeout` of a call that
    could still be answered, `step_down` of a leader or follower for no reason, `check_point`, `crash` of a process,
    `crash_in_persist` while term and vote, or the checkpoint, are written, `power_loss` of a machine, `shutdown` in
    good order, `flush` of the data file, `restart`, `partition` and `heal`; and, where votes are messages, `transfer`
    of a leadership.
    """

    spec_name: ClassVar[str] = "DLedger"
    nodes: int = integer(3, MIN_NODES, MAX_NODES)
    late: float = probability(0.0)
    client: float = probability(0.05, EVENT)
    client_timeout: float = probability(0.005, EVENT)
    quorum_check: float = probability(0.06, EVENT)
    refresh: float = probability(0.02, EVENT)
    resend: float = probability(0.03, EVENT)
    commit: float = probability(0.03, EVENT)
    push_timeout: float = probability(0.003, EVENT)
    step_down: float = probability(0.001, EVENT)
    check_point: float = probability(0.01, EVENT)
    crash: float = probability(0.001, EVENT)
    crash_in_persist: float = probability(0.0, EVENT)
    power_loss: float = probability(0.0005, EVENT)
    shutdown: float = probability(0.0005, EVENT)
    flush: float = probability(0.02, EVENT)
    restart: float = probability(0.02, EVENT)
    partition: float = probability(0.0015, EVENT)
    heal: float = probability(0.008, EVENT)
    transfer: float = probability(0.0, EVENT)
    features: frozenset[Feature] = names(frozenset(), Feature)
    flaws: frozenset[Flaw] = names(IN_0_2_7, Flaw)

    def __post_init__(self) -> None:
        """Raise PlanError where a field is out of range or of another type, or a feature lacks one that it needs."""
        GroupPlan.__post_init__(self)
        if self.has(Feature.BATCHES) and not self.has(Feature.PENDING_MAP):
            raise PlanError("features", "Batches needs PendingMap: a batch is pushed again as it was pushed")
        if self.has(Feature.LATE_RESEND) and not self.has(Feature.PENDING_MAP):
            raise PlanError("features", "LateResend needs PendingMap: only what has no answer is pushed again")

    @property
    def config(self) -> Config:
        """The features and flaws of each node."""
        return Config(self.features, self.flaws)

    def has(self, choice: Feature | Flaw) -> bool:
        """Return whether the nodes have a feature, or a flaw."""
        return self.config.has(choice)

    @property
    def node_ids(self) -> tuple[NodeId, ...]:
        """The members' names: n1, n2, ..."""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))

    def constants(self) -> dict[str, bool | str | int]:
        """Return the spec's constants."""
        return {"StepwiseElections": True, "Fifo": self.fifo, **self.config.constants()}

    @classmethod
    def from_constants(cls, nodes: Sequence[NodeId], constants: Mapping[str, Any]) -> Self:
        """Return the plan of a group as the header of a trace describes it."""
        return cls(
            nodes=len(nodes),
            fifo=constants["Fifo"],
            features=features_in(constants, Feature),
            flaws=flaws_in(constants, Flaw),
        )
