"""A group of nodes and the network between them: it takes one action at a time and returns it as an event.

It holds no rule of the protocol: the nodes decide whether an action may be taken, and what it does. Messages
that are no steps (vote requests, heartbeats, terms heard of) are carried here, within one step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from raftref.action import Action, NotEnabled
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
    VoteMessage,
    message_from,
)
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.simulation.fault_plan import FaultPlan
from raftref.dledger.simulation.network import Network
from raftref.dledger.steps import Effects
from raftref.dledger.store import LedgerStore
from raftref.records import record
from raftref.simulation.group import Group


class Cluster(Group[Server, Message, Effects]):
    """Nodes, network, and the heartbeats of all leaders there have been."""

    actions = ACTIONS
    network: Network

    def __init__(self, plan: FaultPlan, new_store: Callable[[Config], LedgerStore] = LedgerStore) -> None:
        """Make the group of a plan, never started before.

        Args:
            plan: Its shape, features and flaws; the rates play no part here.
            new_store: Makes the store of a node.
        """
        self.plan = plan
        servers = {each: Server(each, plan.node_ids, plan.config, new_store) for each in plan.node_ids}
        super().__init__(servers, Network(plan.node_ids, fifo=plan.fifo))
        #: The heartbeats of the leaders there have been, in their order.
        self.elected: dict[HeartBeat, None] = {}
        #: The entries that clients were answered with SUCCESS for.
        self.acknowledged: set[tuple[Index, Entry]] = set()

    # ---- A step ----

    def is_enabled(self, node: NodeId, action: Action, args: tuple[Any, ...]) -> bool:
        """Return whether a node may take an action now, with what messages carry that are no steps."""
        try:
            carried = self._carried(node, action.name, args)
        except NotEnabled:
            return False
        return action.enabled(self.servers[node], *args, **carried)

    def comes_next(self, action: Action, m: Message) -> bool:
        """Return whether an action can be about a message now: one that comes next, or one in a queue of the node."""
        if self._takes_from_queue(action.name):
            return isinstance(m, action.messages)
        return super().comes_next(action, m)

    def perform(self, node: NodeId, action: str, args: tuple[Any, ...]) -> Effects:
        """Let a node take an action, and the others and the network apply the effects of its step."""
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

    # ---- Events ----

    def before(self, node: NodeId) -> tuple[Any, int]:
        """Return the log of a node, which is another object once it has changed, and the number of its clients."""
        server = self.servers[node]
        return server.ledger_store.log, len(server.client_futures)

    def shows(self, node: NodeId, action: str, before: tuple[Any, int], effects: Effects | None) -> dict[str, Any]:
        """Return the state of a node after a step: its log where it changed and after a restart.

        The acknowledged entries, which grow like the log, are shown where a client was answered, or should have been.
        """
        server, (log_before, waited_before) = self.servers[node], before
        shows = server.observe(with_log=action == "Restart" or server.ledger_store.log is not log_before)
        answered = effects is not None and bool(effects.acknowledged)
        if answered or len(server.client_futures) < waited_before:
            entries = sorted(self.acknowledged, key=lambda each: (each[0], each[1].term))
            shows["acknowledged"] = {"#set": [{"index": index, "entry": record(entry)} for index, entry in entries]}
        return shows

    def observe(self, node: NodeId) -> dict[str, Any]:
        """Return all that a trace may show of a node."""
        return self.servers[node].observe()

    def sent(self, effects: Effects) -> list[Message]:
        """Return the messages that an event has of a step."""
        return list(effects.sent)

    def messages(self) -> Iterator[Message]:
        """Yield every message: under way, or waiting at a node."""
        for channel in self.network.channels.values():
            yield from channel
        for server in self.servers.values():
            yield from server.write_request_map.values()
            yield from server.compare_or_truncate_requests

    def read(self, name: str, kind: Any, value: Any) -> Any:
        """Return an argument of a type, as an event has it."""
        return message_from(value) if name == "m" else super().read(name, kind, value)

    # ---- Messages that are no steps ----

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
        """Return the requests for votes that may come next to a node: under way, or of any node that may have asked."""
        if not self.plan.has(Feature.VOTE_MESSAGES):
            requests = []
            for each in self.servers.values():
                with suppress(NotEnabled):
                    requests.append(each.vote_request(node))
            return requests
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

    # ---- What a schedule may choose ----

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
    PushType.TRUNCATE: ("HandleDoTruncate", "ClearCompareOrTruncateRequests", "FailStore", "SkipCommit"),
    PushType.APPEND: ("HandleDoAppend", "HandleDoBatchAppend", "FailStore", "CheckAppendFuture", "SkipCommit"),
    PushType.COMMIT: ("HandleDoCommit", "ClearCompareOrTruncateRequests", "SkipCommit"),
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
