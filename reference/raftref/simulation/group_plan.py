"""Plans of faults: the shape of a simulated group, what may go wrong in it and how often.

A plan is a dataclass whose fields declare their ranges. It is read strictly: what is unknown, of the wrong type or out
of range is an error that names the field.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from raftref.limits import MAX_EVENTS
from raftref.simulation.plans import (
    PlanError,
    check_boolean,
    check_fields,
    check_integer,
    check_probability,
    check_total,
    read_plan,
)

E = TypeVar("E", bound=StrEnum)

#: Kinds of rates that exclude each other: those of each message, of each write, of each moment.
MESSAGE, WRITE, EVENT = "message", "write", "event"


# ---- Fields ----


def integer(default: int, least: int, most: int) -> Any:
    """Declare a field that is an integer in a range."""
    return field(default=default, metadata={"check": lambda name, value: check_integer(name, value, least, most)})


def boolean(default: bool) -> Any:
    """Declare a field that is true or false."""
    return field(default=default, metadata={"check": check_boolean})


def probability(default: float, kind: str = "") -> Any:
    """Declare a field that is a probability; those of a kind exclude each other."""
    return field(default=default, metadata={"check": check_probability, "kind": kind})


def names(default: frozenset[E], kind: type[E]) -> Any:
    """Declare a field that is a set of names; a file has it as a list."""
    return field(default=default, metadata={"read": lambda name, value: read_names(name, value, kind)})


def read_names(field_name: str, data: Any, kind: type[E]) -> frozenset[E]:
    """Return the members of a set of names; raises PlanError where one is unknown."""
    if not isinstance(data, list | tuple | set | frozenset):
        raise PlanError(field_name, f"{data!r} is not a list of names")
    known = {str(each): each for each in kind}
    for name in data:
        if name not in known:
            raise PlanError(field_name, f"{name!r} is unknown; there are {', '.join(known)}")
    return frozenset(known[name] for name in data)


# ---- Plans ----


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan(ABC):
    """The part that the plans of all systems share.

    `events` is how many steps are taken, `fifo` whether channels keep order. Probabilities for each message whose turn
    has come: `loss`, `duplicate`, and `delay`, which holds its channel for up to `delay_events` events. In a channel
    without order any message is next with probability `reorder`, and the oldest otherwise. `max_down` is how many nodes
    may be down at once.
    `spec_name` is the spec's name in the header of a trace.
    """

    spec_name: ClassVar[str]
    events: int = integer(2000, 0, MAX_EVENTS)
    fifo: bool = boolean(False)
    loss: float = probability(0.03, MESSAGE)
    duplicate: float = probability(0.02, MESSAGE)
    delay: float = probability(0.05, MESSAGE)
    delay_events: int = integer(40, 1, MAX_EVENTS)
    reorder: float = probability(0.4)
    max_down: int = 1

    @property
    @abstractmethod
    def node_ids(self) -> tuple[str, ...]:
        """The names of the nodes: n1, n2, ..."""

    @abstractmethod
    def constants(self) -> dict[str, bool | str | int]:
        """Return the spec's constants, as the header of a trace of this plan has them."""

    @classmethod
    @abstractmethod
    def from_constants(cls, nodes: Sequence[str], constants: Mapping[str, Any]) -> Self:
        """Return the plan of a group as the header of a trace describes it; raises PlanError where there is none."""

    def __post_init__(self) -> None:
        """Raise PlanError where a field is out of range or of another type."""
        for each in fields(self):
            if "check" in each.metadata:
                each.metadata["check"](each.name, getattr(self, each.name))
        check_integer("max_down", self.max_down, 0, len(self.node_ids))
        for kind in (MESSAGE, WRITE, EVENT):
            check_total(self, list(self.rates(kind)))

    def rates(self, kind: str) -> dict[str, float]:
        """Return the probabilities of a kind by their names, in the order in which they are declared."""
        return {
            each.name: float(getattr(self, each.name)) for each in fields(self) if each.metadata.get("kind") == kind
        }

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read a plan; what it does not name has its default.

        Args:
            data: The fields by name, as JSON has them.

        Raises:
            PlanError: A field is unknown, of the wrong type or out of range.
        """
        readers = {each.name: each.metadata.get("read") for each in fields(cls)}
        check_fields(data, list(readers))
        return cls(**{name: read(name, data[name]) if (read := readers[name]) else data[name] for name in data})

    @classmethod
    def load(cls, path: Path | str) -> Self:
        """Read the plan in a .json or .toml file.

        Raises:
            PlanError: The file is of neither type or malformed, or a field is wrong.
            OSError: The file cannot be read.
        """
        return read_plan(Path(path), cls.from_dict)
