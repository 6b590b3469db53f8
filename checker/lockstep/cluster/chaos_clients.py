"""The clients of a run of chaos in simulated time: they append and read, and ask leaders whether they still lead."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from lockstep.cluster.chaos_weather import ChaosWeather
from lockstep.cluster.client_history import Append, Read, Verified
from lockstep.cluster.leaders_by_term import LeadersByTerm
from lockstep.systems.running_nodes import RunningNodes
from raftref.runtime.virtual import VirtualGroup

#: The time after which a client gives up, in seconds.
CLIENT_TIMEOUT = 3.0
#: The most clients of a burst, and how long one lasts, in seconds.
MAX_BURST, BURST_LASTS = 6, 0.3


class ChaosClients:
    """The clients of a group, and what they have done: `appends`, `reads`, and leaders that were `verified`."""

    def __init__(
        self, group: VirtualGroup, running: RunningNodes, leaders: LeadersByTerm, weather: ChaosWeather, chance: Random
    ) -> None:
        """Prepare the clients that a weather has; `leaders` as they show, `chance` is that of all that is random."""
        self.appends: list[Append] = []
        self.reads: list[Read] = []
        self.verified: list[Verified] = []
        #: The number of clients so far.
        self._more = weather.clients
        self.group, self.running, self.leaders, self.weather, self.random = group, running, leaders, weather, chance

    def begin(self) -> None:
        """Let all clients begin, each after a rest, and go on for as long as the group runs."""
        for number in range(self.weather.clients):
            self.group.at(self.group.now + self.rest(), _ChaosClient(self, number).goes_on)

    def burst(self, node: str) -> None:
        """Let a few clients more append at a node, each once, about now."""
        for _ in range(self.random.randint(1, MAX_BURST)):
            self._more += 1
            self.group.at(self.group.now + self.random.uniform(0, BURST_LASTS), _Passer(self, self._more, node).append)

    def rest(self) -> float:
        """Draw how long a client rests, in seconds."""
        return self.random.uniform(0, self.weather.rest)

    def some_index(self) -> int:
        """Return an index to be read: the last one that was confirmed, or any before it."""
        last = max((each.index for each in self.appends if each.index is not None), default=0)
        return last if self.random.random() < 0.5 else self.random.randint(0, last)


class _ChaosClient:
    """Does one thing after the other at the node that it takes for the leader."""

    def __init__(self, clients: ChaosClients, number: int) -> None:
        self._clients, self._number, self._count = clients, number, 0
        self._leader: str | None = None

    def goes_on(self) -> None:
        """Append the next value, or read, or ask a leader whether it leads."""
        clients = self._clients
        if clients.random.random() < clients.weather.reads:
            self._read()
        elif clients.running.verify is not None and clients.random.random() < clients.weather.verifies:
            self._verify(clients.running.verify)
        else:
            self.append()

    def append(self) -> None:
        """Append the next value."""
        clients, now = self._clients, self._clients.group.now
        self._count += 1
        each = Append(f"c{self._number}-{self._count}", now)
        clients.appends.append(each)

        def answered(_: str, answer: Any) -> None:
            outcome = clients.running.appended(answer)
            each.ended, each.code, self._leader = clients.group.now, outcome.code, outcome.leader
            each.index, each.is_refused = outcome.index, outcome.is_refused

        node = self._node()
        self._ask(node, [clients.running.append(node, each.value)], answered)

    def _read(self) -> None:
        clients, index = self._clients, self._clients.some_index()
        each = Read(None if clients.running.reads_all else index, clients.group.now)
        clients.reads.append(each)

        def answered(node: str, answer: Any) -> None:
            outcome = clients.running.read_outcome(answer)
            each.ended, each.code = clients.group.now, outcome.code
            each.values, each.up_to = outcome.values, outcome.up_to
            each.by_newest = clients.leaders.newest() == node
            if outcome.code != "SUCCESS":
                self._leader = None

        node = self._node()
        self._ask(node, list(clients.running.read(node, index)), answered)

    def _verify(self, request: Callable[[str], Any]) -> None:
        # A leader that was deposed, and does not know it yet, is the one that might be wrong.
        clients = self._clients
        node = clients.random.choice(clients.leaders.claiming() or [self._node()])
        led_before = clients.leaders.newest_term()

        def answered(_: str, answer: Any) -> None:
            if clients.running.operator.code(answer) == "SUCCESS":
                clients.verified.append(Verified(node, clients.leaders.newest_term(node), led_before))
            else:
                self._leader = None

        self._ask(node, [request(node)], answered)

    def _node(self) -> str:
        nodes = self._clients.group.nodes
        return self._leader if self._leader in nodes else self._clients.random.choice(nodes)

    def _ask(self, node: str, requests: list[Any], answered: Callable[[str, Any], None]) -> None:
        """Ask a node one thing after the other, as long as it succeeds; go on after the last answer, or in time."""
        clients, group = self._clients, self._clients.group
        over = False

        def rests() -> None:
            nonlocal over
            over = True
            group.at(group.now + clients.rest(), self.goes_on)

        def hears(answer: Any) -> None:
            if over:
                return
            if requests and clients.running.operator.code(answer) == "SUCCESS":
                group.ask(node, requests.pop(0), hears)
                return
            answered(node, answer)
            rests()

        def gives_up() -> None:
            if not over:
                self._leader = None
                rests()

        group.ask(node, requests.pop(0), hears)
        group.at(group.now + CLIENT_TIMEOUT, gives_up)


class _Passer(_ChaosClient):
    """A client that appends once, at a node that is given."""

    def __init__(self, clients: ChaosClients, number: int, node: str) -> None:
        super().__init__(clients, number)
        self._leader = node

    def goes_on(self) -> None:
        """Do nothing more."""
