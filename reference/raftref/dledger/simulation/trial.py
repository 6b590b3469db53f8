"""Steps worth trying at a cluster though no rule allows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raftref.dledger.messages import Term, TransferCall
from raftref.dledger.server import ACTIONS
from raftref.dledger.simulation.cluster import Cluster
from raftref.records import record
from raftref.simulation.cluster_trial import ClusterTrial, Offer
from raftref.simulation.group import NETWORK_ACTIONS

#: The value that a client appends.
VALUE = "tried"


class Trial(ClusterTrial[Cluster]):
    """A cluster between two steps. Nothing that is tried changes it."""

    def offers(self) -> Iterator[Offer]:
        """Yield steps with arguments outside the sets of those that may be allowed.

        A message that is not the next one, or is for another node; an index, a count or a term after the last.
        """
        messages = self.under_way()
        for node in self.cluster.node_ids:
            for action in (*ACTIONS, *NETWORK_ACTIONS):
                for args in self._out_of_range(node, messages, tuple(self.cluster.parameters(action) or ())):
                    yield node, action, args

    def _out_of_range(
        self, node: str, messages: list[dict[str, Any]], names: tuple[str, ...]
    ) -> Iterator[Mapping[str, Any]]:
        server = self.cluster.servers[node]
        match names:
            case ("m",):
                yield from ({"m": each} for each in messages)
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
                yield from ({"call": record(call)} for call in calls)
            case ("leader",) | ("transferee",) | ("candidate",):
                yield from ({names[0]: other} for other in self.cluster.node_ids)
            case ("value",):
                yield {"value": VALUE}
