"""Trials of a cluster: any action with any arguments, on a copy, whatever the schedule does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from raftref.dledger.messages import Message, Term, TransferCall, read_call, read_message
from raftref.dledger.server import ACTIONS
from raftref.dledger.simulation.cluster import NETWORK_ACTIONS, Cluster
from raftref.simulation.trial import CopiedTrial, Offer

#: The value that a client appends.
VALUE = "tried"


class Trial(CopiedTrial[Cluster]):
    """A cluster between two steps. Nothing that is tried changes it."""

    def parameters(self, action: str) -> tuple[str, ...] | None:
        """Return the parameters of an action, None where no node and no network has it."""
        return _parameters(action)

    def read(self, name: str, value: Any) -> Message | TransferCall | Any:
        """Read an argument as an event has it."""
        if name == "m":
            return read_message(value)
        return read_call(value) if name == "call" else value

    def offers(self) -> Iterator[Offer]:
        """Yield arguments beyond those that there are, which no rule allows.

        A message that is not the next one, or is for another node; an index, a count or a term beyond the last.
        """
        for node in self.cluster.node_ids:
            for action in (*ACTIONS, *NETWORK_ACTIONS):
                for args in self._out_of_range(node, action):
                    yield node, action, args

    def _out_of_range(self, node: str, action: str) -> Iterator[Mapping[str, Any]]:
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
        return list(self.under_way())

    def under_way(self) -> Iterator[dict[str, Any]]:
        """Yield the record of every message: under way, next or not, or waiting at a node."""
        under_way = [m for channel in self.cluster.network.channels.values() for m in channel]
        for server in self.cluster.servers.values():
            under_way += [*server.write_request_map.values(), *server.compare_or_truncate_requests]
        yield from (m.record() for m in dict.fromkeys(under_way))


def _parameters(action: str) -> tuple[str, ...] | None:
    """Return the parameters of an action, None where no node and no network has it."""
    if action in NETWORK_ACTIONS:
        return ("m",)
    return ACTIONS[action].parameters if action in ACTIONS else None
