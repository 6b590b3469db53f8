"""Steps worth trying at a cluster though no rule allows them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from raftref.hashicorp.hashicorp_raft import ACTIONS
from raftref.hashicorp.replication import most_entries
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation.cluster import Cluster
from raftref.hashicorp.steps import DONE, Outcome, Result
from raftref.hashicorp.values import ClientLog, EntryType, Index, Term, Zombie
from raftref.records import record
from raftref.simulation.cluster_trial import ClusterTrial, Offer
from raftref.simulation.group import NETWORK_ACTIONS

#: The number of a write that no step has.
NO_WRITE = 9
#: Requests of clients.
LOGS: tuple[tuple[ClientLog, ...], ...] = (
    (),
    (ClientLog(EntryType.COMMAND, "tried"),),
    (ClientLog(EntryType.BARRIER), ClientLog(EntryType.COMMAND, "tried")),
)
#: Outcomes of the writes of a step.
OUTCOMES = (DONE, *(Outcome(result, write) for result in (Result.FAIL, Result.CRASH) for write in (1, 2, 3)))


class Trial(ClusterTrial[Cluster]):
    """A cluster between two steps. Nothing that is tried changes it."""

    def offers(self) -> Iterator[Offer]:
        """Yield steps with arguments outside the sets of those that may be allowed, and what clients append.

        A message for another node; a count, an index or a write after the last.
        """
        messages = self.under_way()
        for node, server in self.cluster.servers.items():
            for action in (*ACTIONS, *NETWORK_ACTIONS):
                for args in self._out_of_range(server, messages, tuple(self.cluster.parameters(action) or ())):
                    yield node, action, args

    def _out_of_range(
        self, server: Server, messages: list[dict[str, Any]], names: tuple[str, ...]
    ) -> Iterator[Mapping[str, Any]]:
        others = [other for other in self.cluster.node_ids if other != server.node_id]
        last = {"outcome": record(DONE)} if "outcome" in names else {}
        match names[:2]:
            case ("m", *_):
                yield from ({"m": each, **last} for each in messages)
            case ("peer", "count"):
                for peer in others:
                    most = most_entries(server, server.replication(peer).next_index)
                    yield from ({"peer": peer, "count": count} for count in (-1, most + 1))
            case ("logs", *_):
                yield from ({"logs": record(logs), "outcome": record(each)} for logs in LOGS for each in OUTCOMES)
            case ("zombie", *_):
                counts = {"count": 0} if "count" in names else {}
                zombie = Zombie(server.node_id, Term(0), Index(1))
                yield {"zombie": record(zombie), **counts}
            case ("asked", *_):
                yield {"asked": record(frozenset({server.node_id})), **last}
            case ("outcome",):
                yield {"outcome": record(Outcome(Result.CRASH, NO_WRITE))}
            case ("peer",):
                yield {"peer": server.node_id}
