"""The fault plan: the shape of a group, what may go wrong in it and how often, and which flaws its servers have.

A plan is a small dict, as read from JSON or TOML. It is read strictly: what is unknown, of the wrong type or
out of range is an error that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, TypeVar

from raftref.hashicorp.switches import ALL_FEATURES, IN_V173, Config, Feature, Flaw
from raftref.hashicorp.values import Configuration, NodeId
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

NODES_MAX = 9
#: The most that each bound of a server may be.
BOUND_MAX = 64

E = TypeVar("E", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """A simulation's shape and faults.

    `voters` vote from the start, `nonvoters` only store the log, `spares` are servers that may be added. `events` is
    how many steps are taken, `fifo` whether channels keep order. `features` and `flaws` are what the servers have,
    `max_append_entries`, `trailing_logs` and `retain_snapshots` their bounds.

    Probabilities for each message whose turn has come: `loss`, `duplicate` of a request, and `delay`, which holds its
    channel for up to `delay_events` events. In a channel without order any message is next with probability
    `reorder`, and the oldest otherwise.

    Probabilities of each step that writes: `store_failure`, that a write fails, and `crash_in_write`, that the process
    dies right after one.

    Probabilities of being tried at each moment, together at most 1; ordinary work takes the rest: `client` appends,
    `barrier` of a client, `timeout` of a follower or a candidate that need not, `lease` of a leader that need not,
    `rpc_error` of a call that could still be answered, `zombie`, a routine of a lost leadership that sends entries or a
    snapshot, `zombie_heartbeat`, one that sends a heartbeat, `snapshot`, `change` of the configuration, `transfer` of a
    leadership, `end_transfer`, `verify` of one, `crash` of a process, `restart`, `partition` and `heal`.

    `max_down` is how many servers may be down at once.
    """

    voters: int = 3
    nonvoters: int = 0
    spares: int = 0
    events: int = 2000
    fifo: bool = False
    max_append_entries: int = 4
    trailing_logs: int = 2
    retain_snapshots: int = 2
    loss: float = 0.03
    duplicate: float = 0.02
    delay: float = 0.05
    delay_events: int = 40
    reorder: float = 0.4
    store_failure: float = 0.0
    crash_in_write: float = 0.0
    client: float = 0.06
    barrier: float = 0.005
    timeout: float = 0.001
    lease: float = 0.001
    rpc_error: float = 0.004
    zombie: float = 0.002
    # A third of the rate before it: of what a leader's routines send, a quarter is heartbeats, too.
    zombie_heartbeat: float = 0.0007
    snapshot: float = 0.0
    change: float = 0.0
    transfer: float = 0.0
    end_transfer: float = 0.004
    verify: float = 0.0
    crash: float = 0.0015
    restart: float = 0.02
    partition: float = 0.0015
    heal: float = 0.01
    max_down: int = 1
    features: frozenset[Feature] = ALL_FEATURES
    flaws: frozenset[Flaw] = field(default=IN_V173)

    def __post_init__(self) -> None:
        """Raise PlanError where a field is out of range or of another type."""
        check_integer("voters", self.voters, 1, NODES_MAX)
        check_integer("nonvoters", self.nonvoters, 0, NODES_MAX - self.voters)
        check_integer("spares", self.spares, 0, NODES_MAX - self.voters - self.nonvoters)
        check_integer("events", self.events, 0, EVENTS_MAX)
        check_integer("delay_events", self.delay_events, 1, EVENTS_MAX)
        check_integer("max_down", self.max_down, 0, len(self.node_ids))
        check_integer("max_append_entries", self.max_append_entries, 1, BOUND_MAX)
        check_integer("trailing_logs", self.trailing_logs, 0, BOUND_MAX)
        check_integer("retain_snapshots", self.retain_snapshots, 1, BOUND_MAX)
        check_boolean("fifo", self.fifo)
        for name in (*MESSAGE_PROBABILITIES, "reorder", *WRITE_PROBABILITIES, *EVENT_PROBABILITIES):
            check_probability(name, getattr(self, name))
        for names in (MESSAGE_PROBABILITIES, WRITE_PROBABILITIES, EVENT_PROBABILITIES):
            check_total(self, names)

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
        """How the servers are set up."""
        bounds = (self.max_append_entries, self.trailing_logs, self.retain_snapshots)
        return Config(self.features, self.flaws, *bounds)

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
WRITE_PROBABILITIES = ("store_failure", "crash_in_write")
EVENT_PROBABILITIES = (
    "client",
    "barrier",
    "timeout",
    "lease",
    "rpc_error",
    "zombie",
    "zombie_heartbeat",
    "snapshot",
    "change",
    "transfer",
    "end_transfer",
    "verify",
    "crash",
    "restart",
    "partition",
    "heal",
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
