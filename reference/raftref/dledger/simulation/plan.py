"""The fault plan: what may go wrong in a simulation, how often, and in which variant of the protocol.

A plan is a small dict, as read from JSON or TOML. It is read strictly: what is unknown, of the wrong type or
out of range is an error that names the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from raftref.dledger.messages import NodeId
from raftref.dledger.switches import GRAINS, SWITCHES, Grain, Switches, Variant
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


@dataclass(frozen=True, slots=True)
class FaultPlan:
    """A simulation's shape and faults.

    `nodes` is how many members the group has (3 to 7), `events` how many steps are taken, `fifo` whether
    channels keep order, `switches` the variants of the protocol, `grain` how fine its steps are.

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

    `max_down` is how many nodes may be down at once.
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
    switches: Switches = field(default_factory=Switches)
    grain: Grain = field(default_factory=Grain)

    def __post_init__(self) -> None:
        """Raise PlanError where a field is out of range or of another type."""
        check_integer("nodes", self.nodes, NODES_MIN, NODES_MAX)
        check_integer("events", self.events, 0, EVENTS_MAX)
        check_integer("delay_events", self.delay_events, 1, EVENTS_MAX)
        check_integer("max_down", self.max_down, 0, self.nodes)
        check_boolean("fifo", self.fifo)
        if not isinstance(self.grain, Grain):
            raise PlanError("grain", f"{self.grain!r} is not a table of the grain")
        if self.grain.batches and not self.grain.pending_map:
            raise PlanError("grain", "Batches needs PendingMap: a batch is pushed again as it was pushed")
        if not isinstance(self.switches, Switches):
            raise PlanError("switches", f"{self.switches!r} is not a table of switches")
        for name in (*MESSAGE_PROBABILITIES, "reorder", "late", *EVENT_PROBABILITIES):
            check_probability(name, getattr(self, name))
        for names in (MESSAGE_PROBABILITIES, EVENT_PROBABILITIES):
            check_total(self, names)

    @property
    def vote_messages(self) -> bool:
        """Whether votes, heartbeats and transfers are messages."""
        return self.grain.vote_messages

    @property
    def node_ids(self) -> tuple[NodeId, ...]:
        """The members' names: n1, n2, ..."""
        return tuple(f"n{number}" for number in range(1, self.nodes + 1))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> FaultPlan:
        """Read a plan; what it does not name has its default.

        Args:
            data: The fields by name; `switches` maps the spec's names to "published" or "repaired".

        Raises:
            PlanError: A field is unknown, of the wrong type or out of range.
        """
        check_fields(data, [each.name for each in fields(cls)])
        given = dict(data)
        if "switches" in given and not isinstance(given["switches"], Switches):
            given["switches"] = read_switches(given["switches"])
        if "grain" in given and not isinstance(given["grain"], Grain):
            given["grain"] = read_grain(given["grain"])
        return cls(**given)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan as from_dict reads it."""
        return {each.name: getattr(self, each.name) for each in fields(self)} | {
            "switches": self.switches.constants(),
            "grain": self.grain.constants(),
        }


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


def read_switches(data: Any) -> Switches:
    """Read switches by the spec's names; what is not named is as published.

    Raises:
        PlanError: A switch is unknown, or neither "published" nor "repaired".
    """
    if not isinstance(data, Mapping):
        raise PlanError("switches", f"{data!r} is not a table of switches")
    given: dict[str, Variant] = {}
    for name, value in data.items():
        if name not in SWITCHES:
            raise PlanError(f"switches.{name}", f"unknown; there are {', '.join(SWITCHES)}")
        if value not in tuple(Variant):
            raise PlanError(f"switches.{name}", f"{value!r} is neither 'published' nor 'repaired'")
        given[SWITCHES[name]] = Variant(value)
    return Switches(**given)


def read_grain(data: Any) -> Grain:
    """Read the grain by the spec's names; what is not named is as coarse as can be.

    Raises:
        PlanError: A feature is unknown, or neither true nor false.
    """
    if not isinstance(data, Mapping):
        raise PlanError("grain", f"{data!r} is not a table of the grain")
    for name, value in data.items():
        if name not in GRAINS:
            raise PlanError(f"grain.{name}", f"unknown; there are {', '.join(GRAINS)}")
        if not isinstance(value, bool):
            raise PlanError(f"grain.{name}", f"{value!r} is neither true nor false")
    return Grain(**{GRAINS[name]: value for name, value in data.items()})


def load_plan(path: Path | str) -> FaultPlan:
    """Read the plan in a .json or .toml file.

    Raises:
        PlanError: The file is of neither type or malformed, or a field is wrong.
        OSError: The file cannot be read.
    """
    return read_plan(Path(path), FaultPlan.from_dict)
