"""Trials of a simulated group between two of its steps: each is taken on a copy."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, TypeAlias, TypeVar

from raftref.records import record
from raftref.simulation.group import Group

#: A node, an action by the spec's name, and its arguments as an event has them.
Offer: TypeAlias = tuple[str, str, Mapping[str, Any]]

G = TypeVar("G", bound=Group[Any, Any, Any])


class ClusterTrial(ABC, Generic[G]):
    """A group between two steps. Nothing that is tried changes it."""

    def __init__(self, cluster: G) -> None:
        """Take the group as it is now, before its next step."""
        self.cluster = cluster

    @abstractmethod
    def offers(self) -> Iterator[Offer]:
        """Yield steps whose arguments no quantifier of the spec binds."""

    @cached_property
    def _image(self) -> bytes:
        return pickle.dumps(self.cluster)

    def _copy(self) -> G:
        copy: G = pickle.loads(self._image)
        return copy

    @cached_property
    def _unchanged(self) -> G:
        """A copy in which no step is taken."""
        return self._copy()

    def take(self, node: str, action: str, args: Mapping[str, Any]) -> list[dict[str, Any]] | None:
        """Take an action on a copy of the group.

        Args:
            node: The node that takes it; of Lose and Duplicate, the message's destination.
            action: Its name in the spec.
            args: Its parameters by name, as an event has them.

        Returns:
            The event, and after it what every other node shows then; None where the node may not take it.
        """
        given = self.arguments(action, args)
        if given is None or not self._unchanged.enabled(node, action, *given):
            return None
        copy = self._copy()
        event = copy.take(node, action, *given)
        others = [other for other in copy.node_ids if other != node]
        return [event, *({"node": other, "shows": copy.observe(other)} for other in others)]

    def arguments(self, action: str, args: Mapping[str, Any]) -> list[Any] | None:
        """Return the arguments of an event of an action; None where there is no such action, or one is missing."""
        return self.cluster.arguments(action, args)

    def under_way(self) -> list[dict[str, Any]]:
        """Return every message once, as an event has it: under way, next or not, or waiting at a node."""
        return [record(m) for m in dict.fromkeys(self.cluster.messages())]
