"""The fault plan: the shape of a group, its faults and their rates, and the features and flaws of its nodes.

A plan is a small dict, as read from JSON or TOML. It is read strictly: what is unknown, of the wrong type or
out of range is an error that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from raftref.dledger.choices import IN_0_2_7, Config, Feature, Flaw
from raftref.dledger.messages import NodeId
from raftref.limits import EVENTS_MAX
from raftref.simulation.plans import (
    PlanError,
    check_boolean,
    check_fields,
    check_integer,
    check_probability,
    check_total,
    read_plan,
)

NODES_MIN, NODES_MAX = 3, 7

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """A simulation's shape and faults.

    `nodes` is the number of members (3 to 7), `events` the number of steps to take, `fifo` whether channels keep
    order. `features` and `flaws` are those of the nodes.

    Probabilities for each message whose turn has come: `loss`, `duplicate`, and `delay`, which holds its
    channel for up to `delay_events` events. In a channel without order any message is next with probability
    `reorder`, and the oldest otherwise; and with probability `late` a TRUNCATE is doubled besides, and passed over
    once its caller waits for it no more, as it does after the answer to the other copy.

    Probabilities of being tried at each moment, together at most 1; ordinary work (delivering, pushing,
    electing, handling what waits) takes the rest: `client` appends, `client_timeout` of one that waits,
    `quorum_check` and `refresh` passes of the leader's quorum checker, `resend` of an unanswered APPEND,
    `commit` told to a peer, `push_timeout` of a call that could still be answered, `step_down` of a leader or
    follower for no reason, `check_point`, `crash` of a process, `crash_in_persist` while term and vote, or
    the checkpoint, are written, `power_loss` of a machine, `shutdown` in good order, `flush` of the data file,
    `restart`, `partition` and `heal`; and, where votes are messages, `transfer` of a leadership.

    `max_down` is the number of nodes that may be down at once.
    """

    nodes: int = 3
    events: int = 2000
    fifo: bool = False
    loss: float = 0.03
    duplicate: float = 0.02
    delay: float = 0.05
    delay_events: int = 40
    reorder: float = 0.4
    late: float = 0.0
    client: float = 0.05
    client_timeout: float = 0.005
    quorum_check: float = 0.06
    refresh: float = 0.02
    resend: float = 0.03
    commit: float = 0.03
    push_timeout: float = 0.003
    step_down: float = 0.001
    check_point: float = 0.01
    crash: float = 0.001
    crash_in_persist: float = 0.0
    power_loss: float = 0.0005
    shutdown: float = 0.0005
    flush: float = 0.02
    restart: float = 0.02
    partition: float = 0.0015
    heal: float = 0.008
    transfer: float = 0.0
    max_down: int = 1
    features: frozenset[Feature] = frozenset()
    flaws: frozenset[Flaw] = IN_0_2_7

    def __post_init__(self) -> None:
        """Raise PlanError where a field is out of range or of another type."""
        check_integer("nodes", self.nodes, NODES_MIN, NODES_MAX)
        check_integer("events", self.events, 0, EVENTS_MAX)
        check_integer("delay_events", self.delay_events, 1, EVENTS_MAX)
        check_integer("max_down", self.max_down, 0, self.nodes)
        check_boolean("fifo", self.fifo)
        if self.has(Feature.BATCHES) and not self.has(Feature.PENDING_MAP):
            raise PlanError("features", "Batches needs PendingMap: a batch is pushed again as it was pushed")
        for name in (*MESSAGE_PROBABILITIES, "reorder", "late", *EVENT_PROBABILITIES):
            check_probability(name, getattr(self, name))
        for names in (MESSAGE_PROBABILITIES, EVENT_PROBABILITIES):
            check_total(self, names)

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

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FaultPlan:
        """Read a plan; what it does not name has its default.

        Args:
            data: The fields by name; `features` and `flaws` are lists of the spec's names.

        Raises:
            PlanError: A field is unknown, of the wrong type or out of range.
        """
        check_fields(data, [each.name for each in fields(cls)])
        given = dict(data)
        for name, kind in (("features", Feature), ("flaws", Flaw)):
            if name in given:
                given[name] = _read_names(name, given[name], kind)
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as from_dict reads it."""
        lists = {name: sorted(getattr(self, name)) for name in ("features", "flaws")}
        return {each.name: getattr(self, each.name) for each in fields(self)} | lists


MESSAGE_PROBABILITIES = ("loss", "duplicate", "delay")
EVENT_PROBABILITIES = (
    "client",
    "client_timeout",
    "quorum_check",
    "refresh",
    "resend",
    "commit",
    "push_timeout",
    "step_down",
    "check_point",
    "crash",
    "crash_in_persist",
    "power_loss",
    "shutdown",
    "flush",
    "restart",
    "partition",
    "heal",
    "transfer",
)


def _read_names(field_name: str, data: Any, kind: type[E]) -> frozenset[E]:
    if not isinstance(data, list | tuple | set | frozenset):
        raise PlanError(field_name, f"{data!r} is not a list of names")
    known = {str(each): each for each in kind}
    for name in data:
        if name not in known:
            raise PlanError(field_name, f"{name!r} is unknown; there are {', '.join(known)}")
    return frozenset(known[name] for name in data)


def load_plan(path: Path | str) -> FaultPlan:
    """Read the plan in a .json or .toml file.

    Raises:
        PlanError: The file is of neither type or malformed, or a field is wrong.
        OSError: The file cannot be read.
    """
    return read_plan(Path(path), FaultPlan.from_dict)
