"""A simulated group of nodes, and the network between them.

It holds no rule of the protocol: the servers decide whether an action may be taken, and what it does.
"""

from __future__ import annotations

import importlib.metadata
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Generic, Protocol, TypeAlias, TypeVar

from raftref.action import Action, NotEnabled
from raftref.records import from_record, record
from raftref.simulation.channels import Addressed
from raftref.simulation.group_plan import GroupPlan
from raftref.simulation.network import Channels

#: One event of a trace, by the trace format's names.
Event: TypeAlias = dict[str, Any]

#: The actions of the environment: not of a node, but of the network.
NETWORK_ACTIONS = ("Lose", "Duplicate")


class Running(Protocol):
    """A node whose process runs, or not."""

    @property
    def is_up(self) -> bool:
        """Whether it runs."""


S = TypeVar("S", bound=Running)
M = TypeVar("M", bound=Addressed)
E = TypeVar("E")


class Group(ABC, Generic[S, M, E]):
    """Nodes, and the network between them: takes one action at a time and returns it as an event."""

    actions: ClassVar[Mapping[str, Action]]

    def __init__(self, servers: Mapping[str, S], network: Channels[M]) -> None:
        """Begin with nodes that are just started."""
        self.node_ids = tuple(servers)
        self.servers = servers
        self.network = network
        self.seq = 0

    # ---- The system's part ---------------------------------------------------------------------------

    @abstractmethod
    def perform(self, node: str, action: str, args: tuple[Any, ...]) -> E:
        """Let a node take an action, and the network apply the effects of its step."""

    @abstractmethod
    def before(self, node: str) -> Any:
        """Return the state of a node that shows later what a step has changed."""

    @abstractmethod
    def shows(self, node: str, action: str, before: Any, effects: E | None) -> dict[str, Any]:
        """Return the fields that an event shows of its node after a step."""

    @abstractmethod
    def sent(self, effects: E) -> list[M]:
        """Return the messages that an event has of a step."""

    @abstractmethod
    def observe(self, node: str) -> dict[str, Any]:
        """Return all that a trace may show of a node."""

    @abstractmethod
    def messages(self) -> Iterator[M]:
        """Yield every message: under way, next or not, or waiting at a node."""

    def may_disturb(self, node: str, action: str, m: M) -> bool:
        """Return whether the network may lose or double a message to a node now."""
        return m.dst == node and self.network.may_be_disturbed(m)

    def is_enabled(self, node: str, action: Action, args: tuple[Any, ...]) -> bool:
        """Return whether a node may take an action now, whose message, if it has one, can come next."""
        return action.enabled(self.servers[node], *args)

    def comes_next(self, action: Action, m: M) -> bool:
        """Return whether an action can be about a message now."""
        return isinstance(m, action.messages) and m.src != m.dst and self.network.is_deliverable(m)

    def read(self, name: str, kind: Any, value: Any) -> Any:
        """Return an argument of a type, as an event has it."""
        return from_record(kind, value)

    # ---- Taking a step -------------------------------------------------------------------------------

    def parameters(self, action: str) -> Mapping[str, Any] | None:
        """Return the parameters of an action with their types, None where no node and no network has it."""
        if action in NETWORK_ACTIONS:
            return {"m": Any}
        return self.actions[action].types if action in self.actions else None

    def arguments(self, action: str, args: Mapping[str, Any]) -> list[Any] | None:
        """Return the arguments of an event of an action; None where there is no such action, or one is missing."""
        types = self.parameters(action)
        if types is None or not types.keys() <= args.keys():
            return None
        return [self.read(name, kind, args[name]) for name, kind in types.items()]

    def enabled(self, node: str, action: str, *args: Any) -> bool:
        """Return whether a node may take an action now.

        Args:
            node: The node; of Lose and Duplicate, the message's destination.
            action: The action by the spec's name.
            args: Its parameters, in the spec's order.
        """
        if action in NETWORK_ACTIONS:
            return self.may_disturb(node, action, args[0])
        known = self.actions[action]
        if known.messages and not self.comes_next(known, args[0]):
            return False
        return self.is_enabled(node, known, args)

    def take(self, node: str, action: str, *args: Any) -> Event:
        """Take an action and return the event.

        Args:
            node: The node that takes it; of Lose and Duplicate, the message's destination.
            action: Its name in the spec.
            args: Its parameters, in the spec's order. A message must be deliverable to the node.

        Returns:
            The event: seq, node, action, args, shows, sent.

        Raises:
            NotEnabled: The node may not take it now.
            LookupError: The message cannot come next.
        """
        before = self.before(node)
        effects = self.step(node, action, *args)
        return {
            "seq": self.seq,
            "node": node,
            "action": action,
            "args": {name: record(value) for name, value in zip(self.parameters(action) or (), args, strict=True)},
            "shows": self.shows(node, action, before, effects),
            "sent": [] if effects is None else [record(m) for m in self.sent(effects)],
        }

    def step(self, node: str, action: str, *args: Any) -> E | None:
        """Take an action as `take` does, and return the effects of the step alone, None where the network took it."""
        effects = None
        if action in NETWORK_ACTIONS:
            self._disturb(node, action, args[0])
        else:
            effects = self.perform(node, action, args)
        self.seq += 1
        return effects

    def _disturb(self, node: str, action: str, m: M) -> None:
        if not self.may_disturb(node, action, m):
            raise NotEnabled(f"{action}: {m} cannot be disturbed")
        if action == "Lose":
            self.network.take(m)
        else:
            self.network.duplicate(m)


# ---- The trace ----


def trace_lines(plan: GroupPlan, events: Iterable[Event], *, scenario: str = "") -> Iterator[str]:
    """Yield the lines of the trace of a group: header, events, end line; `lockstep check` reads it.

    Args:
        plan: The group's plan, whose nodes and constants are the header's.
        events: What the group returned of each step, from its start on.
        scenario: Free text in the header: which run this is.
    """
    header = {
        "kind": "header",
        "format": "lockstep-trace/1",
        "system": "raftref",
        "version": importlib.metadata.version("lockstep-raft"),
        "spec": plan.spec_name,
        "nodes": list(plan.node_ids),
        "constants": plan.constants(),
        "scenario": scenario,
    }
    count = 0
    yield json.dumps(header) + "\n"
    for event in events:
        count += 1
        yield json.dumps({"kind": "event", **event}) + "\n"
    yield json.dumps({"kind": "end", "events": count}) + "\n"
