"""What a cluster would do: any action with any arguments, tried on a copy, whatever the schedule does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from raftref.hashicorp.core.outcome import DONE, Outcome, Result
from raftref.hashicorp.raft import ACTIONS, Raft
from raftref.hashicorp.simulation.cluster import NETWORK_ACTIONS, Cluster, told
from raftref.hashicorp.simulation.records import argument_of
from raftref.hashicorp.values import ClientLog, EntryType, Index, Term, Zombie
from raftref.simulation.trial import CopiedTrial, Offer

#: More writes than any step has.
BEYOND_ALL_WRITES = 9
#: What clients may append.
LOGS: tuple[tuple[ClientLog, ...], ...] = (
    (),
    (ClientLog(EntryType.COMMAND, "tried"),),
    (ClientLog(EntryType.BARRIER), ClientLog(EntryType.COMMAND, "tried")),
)
#: What may be said of the writes of a step.
OUTCOMES = (DONE, *(Outcome(result, write) for result in (Result.FAIL, Result.CRASH) for write in (1, 2, 3)))


class Trial(CopiedTrial[Cluster]):
    """A cluster between two steps. Nothing that is tried changes it."""

    def parameters(self, action: str) -> tuple[str, ...] | None:
        """Return the parameters of an action, None where no node and no network has it."""
        if action in NETWORK_ACTIONS:
            return ("m",)
        return ACTIONS[action].parameters if action in ACTIONS else None

    def read(self, name: str, value: Any) -> Any:
        """Read an argument as an event has it."""
        return argument_of(name, value)

    def offers(self) -> Iterator[Offer]:
        """Yield what is worth trying though no rule allows it, or no set has all of it: arguments beyond the others.

        A message for another node; a count, an index or a write beyond the last; what clients append.
        """
        for node, server in self.cluster.servers.items():
            for action in (*ACTIONS, *NETWORK_ACTIONS):
                for args in self._beyond(server, self.parameters(action) or ()):
                    yield node, action, args

    def _beyond(self, server: Raft, names: tuple[str, ...]) -> Iterator[Mapping[str, Any]]:
        others = [other for other in self.cluster.node_ids if other != server.node_id]
        last = {"outcome": told(DONE)} if "outcome" in names else {}
        match names[:2]:
            case ("m", *_):
                yield from ({"m": record, **last} for record in self._records)
            case ("peer", "count"):
                for peer in others:
                    most = server.most(server.replication(peer).next_index)
                    yield from ({"peer": peer, "count": count} for count in (-1, most + 1))
            case ("logs", *_):
                yield from ({"logs": told(logs), "outcome": told(each)} for logs in LOGS for each in OUTCOMES)
            case ("zombie", *_):
                counts = {"count": 0} if "count" in names else {}
                zombie = Zombie(server.node_id, Term(0), Index(1))
                yield {"zombie": told(zombie), **counts}
            case ("asked", *_):
                yield {"asked": told(frozenset({server.node_id})), **last}
            case ("outcome",):
                yield {"outcome": told(Outcome(Result.CRASH, BEYOND_ALL_WRITES))}
            case ("peer",):
                yield {"peer": server.node_id}

    @cached_property
    def _records(self) -> list[dict[str, Any]]:
        return list(self.under_way())

    def under_way(self) -> Iterator[dict[str, Any]]:
        """Yield every message under way, as it is written."""
        under_way = [m for channel in self.cluster.network.channels.values() for m in channel]
        yield from (m.record() for m in dict.fromkeys(under_way))
