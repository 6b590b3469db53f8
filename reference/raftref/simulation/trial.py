"""What a simulated group would do between two of its steps: anything is tried on a copy."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

#: A node, an action by its trace name, and its arguments as an event has them.
Offer: TypeAlias = tuple[str, str, Mapping[str, Any]]


class Observed(Protocol):
    """A node that shows what a trace may show of it."""

    def observe(self) -> dict[str, Any]:
        """Return that, as JSON."""


class Group(Protocol):
    """A simulated group: what is enabled can be taken."""

    @property
    def node_ids(self) -> Sequence[str]:
        """Its nodes."""

    @property
    def servers(self) -> Mapping[str, Observed]:
        """What they show."""

    def enabled(self, node: str, action: str, *args: Any) -> bool:
        """Return whether a node may take an action now."""

    def take(self, node: str, action: str, *args: Any) -> dict[str, Any]:
        """Take it, and return the event."""


G = TypeVar("G", bound=Group)


class CopiedTrial(ABC, Generic[G]):
    """A group between two steps. Nothing that is tried changes it."""

    def __init__(self, cluster: G) -> None:
        """Take the group as it is now, before its next step."""
        self.cluster = cluster

    @abstractmethod
    def parameters(self, action: str) -> tuple[str, ...] | None:
        """Return the parameters of an action, None where no node and no network has it."""

    @abstractmethod
    def read(self, name: str, value: Any) -> Any:
        """Read an argument as an event has it."""

    def arguments(self, action: str, args: Mapping[str, Any]) -> list[Any] | None:
        """Return the arguments of an event of an action; None where there is no such action, or one is missing."""
        names = self.parameters(action)
        if names is None or not set(names) <= args.keys():
            return None
        return [self.read(name, args[name]) for name in names]

    @cached_property
    def _image(self) -> bytes:
        return pickle.dumps(self.cluster)

    @cached_property
    def _asked(self) -> G:
        """A copy that is only asked what is enabled."""
        return self._copy()

    def _copy(self) -> G:
        copy: G = pickle.loads(self._image)
        return copy

    def take(self, node: str, action: str, args: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """Take an action on a copy of the group.

        Args:
            node: The node that takes it; of Lose and Duplicate, the message's destination.
            action: Its trace name.
            args: Its parameters by name, as an event has them.

        Returns:
            The event, and after it what every other node shows then; None where the node may not take it.
        """
        given = self.arguments(action, args)
        if given is None or not self._asked.enabled(node, action, *given):
            return None
        copy = self._copy()
        event = copy.take(node, action, *given)
        others = [other for other in copy.node_ids if other != node]
        return [event, *({"node": other, "shows": copy.servers[other].observe()} for other in others)]
