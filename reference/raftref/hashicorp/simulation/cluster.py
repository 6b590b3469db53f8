"""A group of servers and the network between them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raftref.action import Action
from raftref.hashicorp.choices import Feature
from raftref.hashicorp.failures import start
from raftref.hashicorp.hashicorp_raft import ACTIONS, observe
from raftref.hashicorp.messages import AppendEntriesRequest, Message, Request, Response, message_from
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation.fault_plan import FaultPlan
from raftref.hashicorp.steps import Effects
from raftref.hashicorp.stores import Stores, bootstrap_cluster
from raftref.hashicorp.values import NodeId
from raftref.simulation.group import Group
from raftref.simulation.network import Channels

#: The action that handles each class of messages.
HANDLERS = {kind: name for name, action in ACTIONS.items() for kind in action.messages}

#: The parameters of actions that are messages.
MESSAGES = ("m", "request", "heartbeat")


class Network(Channels[Message]):
    """All channels of a group. The requests of a pipeline come in their order."""

    def is_deliverable(self, m: Message) -> bool:
        """Return whether a message may come next."""
        return super().is_deliverable(m) and not self._waits(m)

    def check_deliverable(self, m: Message) -> None:
        """Raise LookupError unless a message may come next."""
        super().check_deliverable(m)
        if self._waits(m):
            raise LookupError(f"another request of its pipeline comes before: {m}")

    def _waits(self, m: Message) -> bool:
        if not isinstance(m, AppendEntriesRequest) or not m.awaited:
            return False
        requests = [each for each in self.channels[m.src, m.dst] if isinstance(each, AppendEntriesRequest)]
        return any(each.awaited and each.is_earlier(m) for each in requests)

    def apply(self, node: NodeId, effects: Effects) -> None:
        """Apply the effects of a step of `node`: calls are given up, then messages are sent."""
        for abandoned in effects.abandoned:
            self.abandon(node, abandoned)
        for m in effects.sent:
            self.send(m)


class Cluster(Group[Server, Message, Effects]):
    """Servers, and the network between them."""

    actions = ACTIONS
    network: Network

    def __init__(self, plan: FaultPlan) -> None:
        """Make the group of a plan, bootstrapped and just started; the rates play no part here."""
        self.plan = plan
        servers = {each: self._started(each) for each in plan.node_ids}
        super().__init__(servers, Network(plan.node_ids, fifo=plan.fifo))
        self._shown: set[NodeId] = set()

    def _started(self, node: NodeId) -> Server:
        configuration = self.plan.configuration
        stores = bootstrap_cluster(configuration) if node in configuration.servers else Stores()
        server = Server(node, self.plan.node_ids, self.plan.config, stores)
        start(server)
        return server

    def perform(self, node: NodeId, action: str, args: tuple[Any, ...]) -> Effects:
        """Let a server take an action, and the network apply the effects of its step."""
        handled = [each for each in args if isinstance(each, Message)]
        for m in handled:
            self.network.check_deliverable(m)
        effects: Effects = ACTIONS[action].perform(self.servers[node], *args)
        for m in handled:
            self.network.take(m)
        self.network.apply(node, effects)
        return effects

    def is_enabled(self, node: NodeId, action: Action, args: tuple[Any, ...]) -> bool:
        """Return whether a server may take an action now, all of whose messages are of its kinds and can come next."""
        for kind, m in zip(action.types.values(), args, strict=True):
            if isinstance(m, Message) and not (isinstance(m, kind) and self.network.is_deliverable(m)):
                return False
        return super().is_enabled(node, action, args)

    def may_disturb(self, node: NodeId, action: str, m: Message) -> bool:
        """Return whether the network may lose or double a message to a server now.

        No answer is doubled, and no request of a pipeline: of its two answers one would be left over on the connection.
        """
        return (action == "Lose" or self._may_come_twice(m)) and super().may_disturb(node, action, m)

    def _may_come_twice(self, m: Message) -> bool:
        is_pipelined = self.plan.config.has(Feature.PIPELINE) and isinstance(m, AppendEntriesRequest) and m.awaited
        return isinstance(m, Request) and not is_pipelined

    def before(self, node: NodeId) -> dict[str, Any]:
        """Return what grows with the log of a server, as values that are another one where it has changed."""
        server = self.servers[node]
        return {"log": server.log, "fsm": server.fsm.last, "fsmQueue": server.fsm.queue}

    def shows(self, node: NodeId, action: str, before: dict[str, Any], effects: Effects | None) -> dict[str, Any]:
        """Return what a server shows; what grows with the log where it changed, at first, and after a restart."""
        is_whole = action == "Restart" or node not in self._shown
        after = {} if is_whole else self.before(node)
        self._shown.add(node)
        return observe(self.servers[node], [name for name, value in after.items() if before[name] is value])

    def observe(self, node: NodeId) -> dict[str, Any]:
        """Return all that a trace may show of a server."""
        return observe(self.servers[node])

    def sent(self, effects: Effects) -> list[Message]:
        """Return what was sent, but for a request whose answer nobody awaits: it looks like one that was given up."""
        return [m for m in effects.sent if isinstance(m, Response) or (isinstance(m, Request) and m.awaited)]

    def messages(self) -> Iterator[Message]:
        """Yield every message under way."""
        for channel in self.network.channels.values():
            yield from channel

    def read(self, name: str, kind: Any, value: Any) -> Any:
        """Return an argument of a type, as an event has it."""
        return message_from(value) if name in MESSAGES else super().read(name, kind, value)
