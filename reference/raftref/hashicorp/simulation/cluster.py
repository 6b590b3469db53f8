"""A group of servers and the network between them: takes one action at a time and tells it as an event.

It holds no rule of the protocol: whether an action may be taken and what it does is asked of the servers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, TypeAlias

from raftref.action import NotEnabled
from raftref.hashicorp.core.effects import Effects
from raftref.hashicorp.core.outcome import Outcome
from raftref.hashicorp.messages import Message, MessageRecord, Response, RpcType
from raftref.hashicorp.raft import ACTIONS, Raft, bootstrap_cluster
from raftref.hashicorp.simulation.network import Network
from raftref.hashicorp.simulation.plan import FaultPlan
from raftref.hashicorp.stores import InmemLogStore, InmemSnapshotStore, InmemStableStore, Stores
from raftref.hashicorp.switches import Config
from raftref.hashicorp.values import ClientLog, NodeId, Zombie

#: One event of a trace, by the trace format's names.
Event: TypeAlias = dict[str, Any]

#: The actions of the environment: not of a server, but of the network.
NETWORK_ACTIONS = ("Lose", "Duplicate")

#: Which action handles a message.
REQUEST_HANDLERS: Mapping[RpcType, str] = {
    **{type_: type_.value for type_ in RpcType},
    RpcType.HEARTBEAT: "AppendEntries",
}
RESPONSE_HANDLERS: Mapping[RpcType, str] = {type_: f"Handle{type_.value}Response" for type_ in RpcType}


def inmem_stores(config: Config) -> Stores:
    """Return stores in memory."""
    return Stores(InmemLogStore(), InmemStableStore(), InmemSnapshotStore(config.retain_snapshots))


class Cluster:
    """Servers, and the network."""

    def __init__(self, plan: FaultPlan, new_stores: Callable[[Config], Stores] = inmem_stores) -> None:
        """Make the group of a plan, bootstrapped and just started.

        Args:
            plan: Its shape and flaws; the rates play no part here.
            new_stores: Makes the stores of a server.
        """
        self.plan = plan
        self.node_ids = plan.node_ids
        self.servers = {each: self._started(each, new_stores(plan.config)) for each in plan.node_ids}
        self.network = Network(plan.node_ids, fifo=plan.fifo)
        self.seq = 0
        self._shown: set[NodeId] = set()

    def _started(self, node: NodeId, stores: Stores) -> Raft:
        configuration = self.plan.configuration
        if node in configuration.servers:
            bootstrap_cluster(stores, configuration)
        server = Raft(node, self.node_ids, self.plan.config, stores)
        server.start()
        return server

    def enabled(self, node: NodeId, action: str, *args: Any) -> bool:
        """Tell whether a server may take an action now.

        Args:
            node: The server; of Lose and Duplicate, the message's destination.
            action: The action's trace name.
            args: Its parameters, in the spec's order.
        """
        if action in NETWORK_ACTIONS:
            return self._may_disturb(node, action, args[0])
        known = ACTIONS[action]
        if known.messages and not isinstance(args[0], known.messages):
            return False
        if known.messages and not self._is_deliverable(args[0]):
            return False
        return known.enabled(self.servers[node], *args)

    def _is_deliverable(self, m: Message) -> bool:
        return m.src != m.dst and self.network.is_deliverable(m)

    def _may_disturb(self, node: NodeId, action: str, m: Any) -> bool:
        comes_twice = action == "Lose" or not isinstance(m, Response)
        return bool(m.dst == node) and comes_twice and self.network.may_be_disturbed(m)

    def take(self, node: NodeId, action: str, *args: Any) -> Event:
        """Take an action and tell it.

        Args:
            node: The server that takes it; of Lose and Duplicate, the message's destination.
            action: Its trace name.
            args: Its parameters, in the spec's order. A message must be deliverable to the server.

        Returns:
            The event: seq, node, action, args, shows, sent. A request whose answer nobody awaits is not told: it cannot
            be told from one that was given up.

        Raises:
            NotEnabled: The server may not take it now.
            LookupError: The message cannot come next.
        """
        server = self.servers[node]
        before = _long(server)
        disturbs = action in NETWORK_ACTIONS
        effects = self._disturb(node, action, args) if disturbs else self._perform(node, action, args)
        names = ("m",) if disturbs else ACTIONS[action].parameters
        whole = action == "Restart" or node not in self._shown
        unchanged = () if whole else [name for name, value in _long(server).items() if before[name] is value]
        self._shown.add(node)
        self.seq += 1
        return {
            "seq": self.seq,
            "node": node,
            "action": action,
            "args": {name: told(value) for name, value in zip(names, args, strict=True)},
            "shows": server.observe(unchanged),
            "sent": [m.record() for m in effects.sent if isinstance(m, Response) or m.awaited],
        }

    def _perform(self, node: NodeId, action: str, args: tuple[Any, ...]) -> Effects:
        known = ACTIONS[action]
        if known.messages:
            self.network.check_deliverable(args[0])
        effects: Effects = known.perform(self.servers[node], *args)
        if known.messages:
            self.network.take(args[0])
        self.network.apply(node, effects)
        return effects

    def _disturb(self, node: NodeId, action: str, args: tuple[Any, ...]) -> Effects:
        (m,) = args
        if not self._may_disturb(node, action, m):
            raise NotEnabled(f"{action}: {m} cannot be disturbed")
        if action == "Lose":
            self.network.take(m)
        else:
            self.network.duplicate(m)
        return Effects()


def _long(server: Raft) -> dict[str, Any]:
    """Return what grows with the log, as values that are another one where it has changed.

    It is shown then, at first, and after a restart.
    """
    routine = server.fsm_routine
    return {"log": server.log, "fsm": routine.last, "fsmQueue": routine.queue}


def told(value: Any) -> Any:
    """Write an argument as the trace does."""
    if isinstance(value, MessageRecord | Outcome | Zombie | ClientLog):
        return value.record()
    if isinstance(value, frozenset | set):
        return {"#set": sorted(value)}
    if isinstance(value, tuple):
        return [told(each) for each in value]
    return value.value if isinstance(value, StrEnum) else value
