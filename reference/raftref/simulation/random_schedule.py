"""The schedule of a simulated group: one seed and one plan give one run.

Time is nothing but this order. At each moment the plan's rates decide what is tried; ordinary work takes the rest. A
moment at which nothing comes of it is no event.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

from raftref.simulation.chances import Chances, Try
from raftref.simulation.group import Event, Group
from raftref.simulation.group_plan import EVENT, GroupPlan

#: Nobody sends into a channel that holds this many messages.
CHANNEL_FULL = 12
#: A message across a partition, or to a node that is down, is lost at this rate when its turn comes.
CUT_LOSS = 0.3

T = TypeVar("T")
G = TypeVar("G", bound=Group[Any, Any, Any])


class RandomSchedule(Chances[Event], Generic[G]):
    """Chooses and takes one action after another.

    It holds no rule of the protocol. It knows what an environment knows: who runs, who is connected with whom, what is
    under way.
    """

    def __init__(self, seed: int, plan: GroupPlan, cluster: G) -> None:
        """Begin a run of a group; all chance comes from the seed."""
        super().__init__(seed)
        self.cluster = cluster
        self.event_count = plan.events
        #: Until which event a channel delivers nothing.
        self.held_until: dict[tuple[str, str], int] = {}

    def share(self, plan: GroupPlan, *ordinary: tuple[Try[Event], float]) -> None:
        """Set what is tried: `try_NAME` at the rate NAME of a plan, and ordinary work by its shares of the rest."""
        rare = {name: getattr(self, f"try_{name}") for name in plan.rates(EVENT)}
        self.share_out(plan, rare, ordinary)

    def run(self) -> Iterator[Event]:
        """Yield what happens, as many events as the plan has; fewer only where nothing is possible any more."""
        for _ in range(self.event_count):
            event = self.next_event()
            if event is None:
                return
            yield event

    # ---- Choosing ------------------------------------------------------------------------------------

    def one_of(self, choices: Sequence[T]) -> T | None:
        """Choose one; None if there are none."""
        return self.random.choice(choices) if choices else None

    def attempt(self, node: str, action: str, *args: Any) -> Event | None:
        """Take an action if it is enabled."""
        return self.cluster.take(node, action, *args) if self.cluster.enabled(node, action, *args) else None

    # ---- Messages ------------------------------------------------------------------------------------

    def reaches(self, one: str, other: str) -> bool:
        """Return whether both run and are connected."""
        servers = self.cluster.servers
        return servers[one].is_up and servers[other].is_up and self.cluster.network.connected(one, other)

    def is_full(self, node: str, peer: str) -> bool:
        """Return whether a channel takes no more."""
        return len(self.cluster.network.channels[node, peer]) >= CHANNEL_FULL

    def next_message(self, reorder: float) -> Any:
        """Choose a channel that delivers, and a message of it, out of order at a rate; None if there is none."""
        channels, seq = self.cluster.network.channels, self.cluster.seq
        links = [link for link, channel in channels.items() if len(channel) and self.held_until.get(link, 0) <= seq]
        link = self.one_of(links)
        if link is None:
            return None
        deliverable = channels[link].deliverable()
        return self.random.choice(deliverable) if self.chance(reorder) else deliverable[0]

    def hold(self, m: Any, event_count: int) -> None:
        """Hold the channel of a message for some of the next events."""
        self.held_until[m.src, m.dst] = self.cluster.seq + self.random.randint(1, event_count)

    # ---- Partitions ----------------------------------------------------------------------------------

    def try_partition(self) -> None:
        """Cut the group in two, if it is whole."""
        ids = self.cluster.node_ids
        if not self.cluster.network.is_partitioned and len(ids) > 1:
            self.cluster.network.partition(self.random.sample(ids, self.random.randint(1, len(ids) - 1)))

    def try_heal(self) -> None:
        """End the partition."""
        self.cluster.network.heal()
