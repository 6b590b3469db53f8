"""What a cluster would do: any action with any arguments, tried on a copy, whatever the schedule does."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, TypeAlias

from raftref.dledger import ACTIONS, Message, NodeId, Term, TransferCall
from raftref.dledger.records import call_of, message_of
from raftref.dledger.simulation.cluster import NETWORK_ACTIONS, Cluster, Event

#: A node, an action by its trace name, and its arguments as an event has them.
Offer: TypeAlias = tuple[NodeId, str, Mapping[str, Any]]

#: What a client may append.
VALUE = "tried"


class Trial:
    """A cluster between two steps. Nothing that is tried changes it."""

    def __init__(self, cluster: Cluster) -> None:
        """Take the cluster as it is now, before its next step."""
        self.cluster = cluster

    @cached_property
    def _image(self) -> bytes:
        return pickle.dumps(self.cluster)

    @cached_property
    def _asked(self) -> Cluster:
        """A copy that is only asked what is enabled."""
        return self._copy()

    def _copy(self) -> Cluster:
        copy = pickle.loads(self._image)
        assert isinstance(copy, Cluster)
        return copy

    def take(self, node: NodeId, action: str, args: Mapping[str, Any]) -> list[Event] | None:
        """Take an action on a copy of the cluster.

        Args:
            node: The node that takes it; of Lose and Duplicate, the message's destination.
            action: Its trace name.
            args: Its parameters by name, as an event has them.

        Returns:
            The event, and after it what every other node shows then; None where the node may not take it.
        """
        names = _parameters(action)
        if names is None:
            return None
        given = [_read(name, args[name]) for name in names]
        if not self._asked.enabled(node, action, *given):
            return None
        copy = self._copy()
        event = copy.take(node, action, *given)
        others = [other for other in copy.node_ids if other != node]
        return [event, *({"node": other, "shows": copy.servers[other].observe()} for other in others)]

    def offers(self) -> Iterator[Offer]:
        """Yield what is worth trying though no rule allows it: arguments beyond those that there are.

        A message that is not the next one, or is for another node; an index, a count or a term beyond the last.
        """
        for node in self.cluster.node_ids:
            for action in (*ACTIONS, *NETWORK_ACTIONS):
                for args in self._beyond(node, action):
                    yield node, action, args

    def _beyond(self, node: NodeId, action: str) -> Iterator[Mapping[str, Any]]:
        server, names = self.cluster.servers[node], _parameters(action)
        match names:
            case ("m",):
                yield from ({"m": record} for record in self._records)
            case ("term",):
                terms = [each.member_state.curr_term for each in self.cluster.servers.values()]
                yield from ({"term": term} for term in range(-1, max(terms) + 3))
            case ("kept",):
                yield from ({"kept": count} for count in (-1, len(server.ledger_store.file) + 1))
            case ("resurrected",):
                yield from ({"resurrected": count} for count in (-1, server.ledger_store.resurrectable_count() + 1))
            case ("peer", "count"):
                for peer in server.peers:
                    most = len(server.ledger_store.log) - server.dispatchers[peer].write_index
                    yield from ({"peer": peer, "count": count} for count in (0, max(most, 0) + 1))
            case ("call",):
                last = server.member_state.curr_term
                calls = [TransferCall(peer, term) for peer in server.peers for term in (last, Term(last + 1))]
                yield from ({"call": call.record()} for call in calls)
            case ("leader",) | ("transferee",) | ("candidate",):
                yield from ({names[0]: other} for other in self.cluster.node_ids)
            case ("value",):
                yield {"value": VALUE}

    @cached_property
    def _records(self) -> list[dict[str, Any]]:
        """Every message, as it is written: under way, next or not, or waiting at a node."""
        under_way = [m for channel in self.cluster.network.channels.values() for m in channel]
        for server in self.cluster.servers.values():
            under_way += [*server.write_request_map.values(), *server.compare_or_truncate_requests]
        return [m.record() for m in dict.fromkeys(under_way)]


def _parameters(action: str) -> tuple[str, ...] | None:
    """Return the parameters of an action, None where no node and no network has it."""
    if action in NETWORK_ACTIONS:
        return ("m",)
    return ACTIONS[action].parameters if action in ACTIONS else None


def _read(name: str, value: Any) -> Message | TransferCall | Any:
    """Read an argument as an event has it."""
    if name == "m":
        return message_of(value)
    return call_of(value) if name == "call" else value
