"""A group of nodes and the network between them: it takes one action at a time and returns it as an event.

It holds no rule of the protocol: whether an action may be taken and what it does is asked of the nodes. Messages
that are no steps (vote requests, heartbeats, terms heard of) are carried here, within one step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from raftref.action import NotEnabled
from raftref.dledger.choices import Config, Feature
from raftref.dledger.messages import (
    ElectionResponse,
    ElectionType,
    Entry,
    HeartBeat,
    Index,
    Message,
    NodeId,
    PushType,
    Response,
    Term,
    TransferCall,
    VoteMessage,
)
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.simulation.network import Network
from raftref.dledger.simulation.plan import FaultPlan
from raftref.dledger.state import Role
from raftref.dledger.steps import Effects
from raftref.dledger.store import LedgerStore

#: One event of a trace, by the trace format's names.
Event: TypeAlias = dict[str, Any]

#: The actions of the environment: not of a node, but of the network.
NETWORK_ACTIONS = ("Lose", "Duplicate")


class Cluster:
    """Nodes, network, and the heartbeats of all leaders there have been."""

    def __init__(self, plan: FaultPlan, new_store: Callable[[Config], LedgerStore] = LedgerStore) -> None:
        """Make the group of a plan, never started before.

        Args:
            plan: Its shape, features and flaws; the rates play no part here.
            new_store: Makes the store of a node.
        """
        self.plan = plan
        self.node_ids = plan.node_ids
        self.servers = {each: Server(each, plan.node_ids, plan.config, new_store) for each in plan.node_ids}
        self.network = Network(plan.node_ids, fifo=plan.fifo)
        #: The heartbeats of the leaders there have been, in their order.
        self.elected: dict[HeartBeat, None] = {}
        #: The entries that clients were answered with SUCCESS for.
        self.acknowledged: set[tuple[Index, Entry]] = set()
        self.seq = 0

    def enabled(self, node: NodeId, action: str, *args: Any) -> bool:
        """Return whether a node may take an action now.

        Args:
            node: The node; of Lose and Duplicate, the message's destination.
            action: The action's trace name.
            args: Its parameters, in the spec's order.
        """
        if action in NETWORK_ACTIONS:
            return args[0].dst == node and self.network.may_be_disturbed(args[0])
        known = ACTIONS[action]
        if known.messages and not isinstance(args[0], known.messages):
            return False
        if known.messages and not self._takes_from_queue(action) and not self.network.is_deliverable(args[0]):
            return False
        try:
            carried = self._carried(node, action, args)
        except NotEnabled:
            return False
        return known.enabled(self.servers[node], *args, **carried)

    def take(self, node: NodeId, action: str, *args: Any) -> Event:
        """Take an action and return it as an event.

        Args:
            node: The node that takes it; of Lose and Duplicate, the message's destination.
            action: Its trace name.
            args: Its parameters, in the spec's order. A message must be deliverable to the node.

        Returns:
            The event: seq, node, action, args, shows, sent.

        Raises:
            NotEnabled: The node may not take it now.
            LookupError: The message cannot come next.
        """
        server = self.servers[node]
        log_before, waited_before = server.ledger_store.log, len(server.client_futures)
        disturbs = action in NETWORK_ACTIONS
        effects = self._disturb(node, action, args) if disturbs else self._perform(node, action, args)
        names = ("m",) if disturbs else ACTIONS[action].parameters
        with_log = action == "Restart" or server.ledger_store.log is not log_before
        shows = server.observe(with_log=with_log)
        # It grows like the log, and is shown where a client was answered, or should have been.
        if effects.acknowledged or len(server.client_futures) < waited_before:
            shows["acknowledged"] = self.acknowledged_record()
        self.seq += 1
        return {
            "seq": self.seq,
            "node": node,
            "action": action,
            "args": {name: _argument(value) for name, value in zip(names, args, strict=True)},
            "shows": shows,
            "sent": [m.record() for m in effects.sent],
        }

    def acknowledged_record(self) -> dict[str, Any]:
        """Return the acknowledged entries as the spec's set."""
        entries = sorted(self.acknowledged, key=lambda each: (each[0], each[1].term))
        return {"#set": [{"index": index, "entry": entry.record()} for index, entry in entries]}

    def _perform(self, node: NodeId, action: str, args: tuple[Any, ...]) -> Effects:
        carried = self._carried(node, action, args)
        takes_message = bool(ACTIONS[action].messages) and not self._takes_from_queue(action)
        if takes_message:
            self.network.check_deliverable(args[0])
        effects: Effects = ACTIONS[action].perform(self.servers[node], *args, **carried)
        if takes_message:
            self.network.take(args[0])
        if action == "SetCurrVoteFor":
            self.servers[args[0]].vote_accepted(node)
        if effects.heart_beat is not None:
            self.elected[effects.heart_beat] = None
        self.acknowledged.update((each.index, each.entry) for each in effects.acknowledged)
        self.network.apply(node, effects)
        if effects.abandoned is not None:
            peers = [effects.abandoned.peer] if effects.abandoned.peer else self.servers[node].peers
            for peer in peers:
                self.servers[peer].no_longer_awaited(node, effects.abandoned.type)
        return effects

    def _takes_from_queue(self, action: str) -> bool:
        """Return whether an action takes its message from a queue of the node, not from the network."""
        return self.plan.has(Feature.REQUEST_QUEUES) and action in PUSH_HANDLERS

    def _carried(self, node: NodeId, action: str, args: tuple[Any, ...]) -> dict[str, Any]:
        """Return the content of messages that are no steps, as the keyword arguments of an action."""
        if action == "NextTerm":
            return {"heard": [each.member_state.curr_term for each in self.servers.values()]}
        if action == "SetCurrVoteFor":
            return {"request": self.servers[args[0]].vote_request(node)}
        if action == "CrashInPersistTerm":
            return {"requests": self._vote_requests(node)}
        if action == "ChangeToFollower":
            return {"heart_beat": self.heart_beat(node, args[0])}
        return {}

    def _vote_requests(self, node: NodeId) -> list[VoteMessage]:
        """Return the requests for votes that may come next to a node: under way, or of any candidate."""
        if not self.plan.has(Feature.VOTE_MESSAGES):
            candidates = (each for each in self.servers.values() if each.member_state.role is Role.CANDIDATE)
            return [each.vote_request(node) for each in candidates]
        channels = [self.network.channels[peer, node] for peer in self.servers[node].peers]
        return [m for channel in channels for m in channel.deliverable() if isinstance(m, VoteMessage)]

    def heart_beat(self, node: NodeId, leader: NodeId) -> HeartBeat:
        """Return the heartbeat of `leader` in the term `node` is in.

        Raises:
            NotEnabled: It was not elected in that term.
        """
        beat = HeartBeat(leader, self.servers[node].member_state.curr_term)
        if beat not in self.elected:
            raise NotEnabled(f"{leader} was not elected in term {beat.term}")
        return beat

    def _disturb(self, node: NodeId, action: str, args: tuple[Any, ...]) -> Effects:
        (m,) = args
        if m.dst != node:
            raise NotEnabled(f"{action}: {m} is not for {node}")
        if not self.network.may_be_disturbed(m):
            raise LookupError(f"{action}: {m} is not the first in its channel")
        if action == "Lose":
            self.network.take(m)
        else:
            self.network.duplicate(m)
        return Effects()

    def handler_of(self, m: Message) -> str | None:
        """Return the action that would handle a message now, None if its receiver takes it by none."""
        answers = isinstance(m, Response | ElectionResponse)
        names = (_RESPONSE_HANDLERS if answers else _REQUEST_HANDLERS)[m.type]
        if not isinstance(m, Response) and isinstance(m.type, PushType) and self.plan.has(Feature.REQUEST_QUEUES):
            names = ("HandlePush",)
        return next((name for name in names if self.enabled(m.dst, name, m)), None)

    def waiting(self, node: NodeId) -> list[tuple[str, Message]]:
        """Return the messages that wait at a node and that it may handle now, each with its action."""
        requests = self.servers[node].requests()
        found = [(name, m) for m in requests for name in _REQUEST_HANDLERS[m.type]]
        return [(name, m) for name, m in found if self.enabled(node, name, m)]

    def highest_term(self, node: NodeId) -> Term:
        """Return the highest term of a running node that `node` is connected with, itself included."""
        return max(
            each.member_state.curr_term
            for name, each in self.servers.items()
            if each.is_up and self.network.connected(node, name)
        )


_REQUEST_HANDLERS: dict[PushType | ElectionType, tuple[str, ...]] = {
    PushType.COMPARE: ("HandleDoCompare", "ClearCompareOrTruncateRequests"),
    PushType.TRUNCATE: ("HandleDoTruncate", "ClearCompareOrTruncateRequests"),
    PushType.APPEND: ("HandleDoAppend", "HandleDoBatchAppend", "CheckAppendFuture"),
    PushType.COMMIT: ("HandleDoCommit", "ClearCompareOrTruncateRequests"),
    ElectionType.VOTE: ("HandleVote",),
    ElectionType.HEARTBEAT: ("HandleHeartBeat",),
    ElectionType.TRANSFER: ("WaitToTakeLeadership",),
}
#: The actions by which a node handles what it received from a leader.
PUSH_HANDLERS = frozenset(name for type_ in PushType for name in _REQUEST_HANDLERS[type_])

_RESPONSE_HANDLERS: dict[PushType | ElectionType, tuple[str, ...]] = {
    PushType.COMPARE: ("HandleCompareResponse",),
    PushType.TRUNCATE: ("HandleTruncateResponse",),
    PushType.APPEND: ("HandleAppendResponse",),
    ElectionType.VOTE: ("HandleVoteResponse",),
    ElectionType.HEARTBEAT: ("HandleHeartBeatResponse",),
    ElectionType.TRANSFER: ("HandleTransferResponse",),
}


def _argument(value: Any) -> Any:
    """Return an argument as a trace has it: a message or call as its record, anything else as it is."""
    return value.record() if isinstance(value, Message | TransferCall) else value
