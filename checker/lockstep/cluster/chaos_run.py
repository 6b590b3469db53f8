"""One run of chaos in simulated time: clients append while processes, machines and the network fail.

Everything follows from the seed. In the end all faults stop, every node runs, and the group has time to agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from random import Random

from lockstep.cluster.client_history import Append, objections
from lockstep.systems.running_nodes import RunningNodes
from raftref.runtime.driver import NodeStep
from raftref.runtime.virtual import VirtualGroup

#: The number of clients, and the longest that one rests between two appends, in seconds.
CLIENTS, MAX_REST = 3, 1.0
#: The time between two faults, and the length of one, in seconds.
FAULT_EVERY, FAULT_LASTS = (0.5, 6.0), (0.1, 8.0)
#: The time after which a client gives up, in seconds.
CLIENT_TIMEOUT = 3.0
#: The time without faults in the end, in seconds.
CALM = 20.0


@dataclass(slots=True)
class ChaosResult:
    """A run: its steps, its appends, the faults by their kinds, and what is wrong with it."""

    seed: int
    steps: list[NodeStep] = field(default_factory=list)
    appends: list[Append] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    objections: list[str] = field(default_factory=list)

    @property
    def confirmed(self) -> int:
        """The number of appends that were confirmed."""
        return sum(each.index is not None for each in self.appends)


class ChaosRun:
    """Runs a group under faults."""

    def __init__(
        self,
        running: RunningNodes,
        seed: int,
        nodes: int,
        chosen: tuple[tuple[str, ...], tuple[str, ...]],
        *,
        power_fails: bool = True,
    ) -> None:
        """Prepare a run.

        Arguments: `running`, the system; `seed`; `nodes`, how many; `chosen`, their features and flaws; `power_fails`,
        whether machines lose power, and with it what was not forced to the disk.
        """
        self._running, self._power_fails = running, power_fails
        self._random = Random(seed)
        names = tuple(f"n{number}" for number in range(1, nodes + 1))
        make = running.driver(names, *chosen)
        self._group = VirtualGroup(names, make, seed)
        self.result = ChaosResult(seed, self._group.steps)
        self._faults_until = 0.0

    def run(self, seconds: float) -> ChaosResult:
        """Run for a time under faults, then for a time without, and judge what clients saw."""
        group = self._group
        self._faults_until = seconds
        for node in group.nodes:
            group.at(0.0, partial(group.start, node))
        for number in range(CLIENTS):
            group.at(self._random.uniform(0, MAX_REST), _ChaosClient(self, number).append)
        group.at(self._random.uniform(*FAULT_EVERY), self._fault)
        group.run_until(seconds)
        self._calm()
        group.run_until(seconds + CALM)
        self.result.objections += objections(self.result.appends, self._log())
        return self.result

    def _calm(self) -> None:
        self._group.heal()
        self._group.conditions.loss = 0.0
        for node in self._group.nodes:
            self._group.resume(node)
            self._group.start(node)

    def _log(self) -> dict[int, str]:
        """Return what the node that has committed most has committed."""
        drivers = [self._group.driver(node) for node in self._group.nodes]
        logs = [dict(self._running.committed(each)) for each in drivers if each is not None]
        return max(logs, key=len, default={})

    # ---- Faults --------------------------------------------------------------------------------------

    def _fault(self) -> None:
        """Let something fail, and mend it after a while."""
        group, random = self._group, self._random
        if group.now >= self._faults_until:
            return
        node, lasts = random.choice(group.nodes), random.uniform(*FAULT_LASTS)
        kinds: list[tuple[str, Callable[[], None], Callable[[], None]]] = [
            ("kill", lambda: group.kill(node), lambda: group.start(node)),
            ("pause", lambda: group.pause(node), lambda: group.resume(node)),
            ("cut", lambda: group.partition(self._side()), group.heal),
            ("loss", lambda: self._lose(random.uniform(0.05, 0.5)), lambda: self._lose(0.0)),
            ("slow", lambda: self._slow(random.uniform(0.05, 1.0)), lambda: self._slow(0.005)),
        ]
        if self._power_fails:
            kinds.append(("power", lambda: group.lose_power(node), lambda: group.start(node)))
        kind, begins, ends = random.choice(kinds)
        if kind != "power" or group.driver(node) is not None:
            self.result.faults[kind] += 1
            begins()
            group.at(group.now + lasts, ends)
        group.at(group.now + random.uniform(*FAULT_EVERY), self._fault)

    def _side(self) -> list[str]:
        return self._random.sample(self._group.nodes, self._random.randint(1, len(self._group.nodes) - 1))

    def _lose(self, share: float) -> None:
        self._group.conditions.loss = share

    def _slow(self, delay: float) -> None:
        self._group.conditions.max_delay = delay

    # ---- For clients ---------------------------------------------------------------------------------

    @property
    def group(self) -> VirtualGroup:
        """The group."""
        return self._group

    @property
    def running(self) -> RunningNodes:
        """The system."""
        return self._running

    @property
    def random(self) -> Random:
        """The source of all chance."""
        return self._random


class _ChaosClient:
    """Appends one value after the other, at the node that it takes for the leader."""

    def __init__(self, run: ChaosRun, number: int) -> None:
        self._run, self._number, self._count = run, number, 0
        self._leader: str | None = None

    def append(self) -> None:
        """Append the next value, and another one once it is answered or given up."""
        run, group = self._run, self._run.group
        self._count += 1
        each = Append(f"c{self._number}-{self._count}", group.now)
        run.result.appends.append(each)
        node = self._leader if self._leader in group.nodes else run.random.choice(group.nodes)
        over = False

        def goes_on() -> None:
            nonlocal over
            if not over:
                over = True
                group.at(group.now + run.random.uniform(0, MAX_REST), self.append)

        def answered(answer: object) -> None:
            if over:
                return
            outcome = run.running.appended(answer)
            each.ended, each.code, self._leader = group.now, outcome.code, outcome.leader
            each.index = outcome.index
            goes_on()

        def gives_up() -> None:
            if not over:
                self._leader = None
            goes_on()

        group.ask(str(node), run.running.append(str(node), each.value), answered)
        group.at(group.now + CLIENT_TIMEOUT, gives_up)
