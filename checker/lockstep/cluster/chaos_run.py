"""One run of chaos in simulated time: clients append and read while processes, machines and the network fail.

Everything follows from the seed. In the end all faults stop, every node runs, and the group has time to agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from lockstep.cluster.client_history import Append, Read, objections, stale_reads
from lockstep.cluster.leaders_by_term import LeadersByTerm
from lockstep.systems.running_nodes import NodeKind, RunningNodes
from raftref.runtime.driver import NodeStep
from raftref.runtime.virtual import VirtualGroup

#: The number of clients, the longest that one rests between two operations, in seconds, and the share of reads.
CLIENTS, MAX_REST, READS = 3, 1.0, 0.25
#: The time between two faults, and the length of one, in seconds.
FAULT_EVERY, FAULT_LASTS = (0.5, 6.0), (0.1, 12.0)
#: The odds that a fault is one of the leader, and that a cut leaves a node alone.
AT_LEADER, ALONE = 0.4, 0.5
#: The farthest that a clock jumps, and the longest that a slow disk takes for what an event writes, in seconds.
MAX_JUMP, DISK_DELAYS = 5.0, (0.01, 0.5)
#: The time after which a client gives up, in seconds.
CLIENT_TIMEOUT = 3.0
#: The time between two looks at the group, in seconds: nodes that have gone down by themselves are started again.
LOOK_EVERY = 1.0
#: The time without faults in the end, in seconds.
CALM = 20.0
#: The share of runs in which no fault is one that the spec has not.
WITHIN_SPEC = 0.5

#: The outcome that is counted, and is no fault: a leader of an older term showed something else than was confirmed.
STALE_READS = "stale reads of older leaders"

#: The faults of every system, in the order in which they are drawn.
FAULTS = ("kill", "pause", "cut", "loss", "slow network", "clock", "slow disk", "full disk")
POWER = "power"


@dataclass(slots=True)
class ChaosResult:
    """A run: its steps, what its clients did, the faults by their kinds, what came of them, and what is wrong."""

    seed: int
    steps: list[NodeStep] = field(default_factory=list)
    appends: list[Append] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    #: The orders that were carried out.
    orders: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    objections: list[str] = field(default_factory=list)

    def conclude(self, running: RunningNodes, log: Mapping[int, str]) -> None:
        """Judge what clients saw by the log in the end, and count what came of the faults."""
        self.objections += objections(self.appends, log, self.reads)
        self.outcomes = running.outcomes(self.steps, Counter(each.code for each in self.appends))
        self.outcomes["leader changes"] = LeadersByTerm(self.steps, running.led_term).changes()
        self.outcomes[STALE_READS] = stale_reads(self.appends, self.reads)

    @property
    def confirmed(self) -> int:
        """The number of appends that were confirmed."""
        return sum(each.index is not None for each in self.appends)

    @property
    def answered_reads(self) -> int:
        """The number of reads that showed something."""
        return sum(each.values is not None for each in self.reads)


def kinds_of_faults(running: RunningNodes, *, power_fails: bool) -> tuple[str, ...]:
    """Return the kinds of faults, and of orders, that runs of a system have."""
    return (*FAULTS, *((POWER,) if power_fails else ()), *running.operator.orders)


class ChaosRun:
    """Runs a group under faults."""

    def __init__(
        self, running: RunningNodes, seed: int, nodes: int, kind: NodeKind, *, power_fails: bool = True
    ) -> None:
        """Prepare a run.

        Arguments: `running`, the system; `seed`; `nodes`, how many; `kind`, theirs; `power_fails`, whether machines
        lose power, and with it what was not forced to the disk.
        """
        self._running = running
        self._random = Random(seed)
        names = tuple(f"n{number}" for number in range(1, nodes + 1))
        self._group = VirtualGroup(names, running.driver(names, kind), seed)
        self.result = ChaosResult(seed, self._group.steps)
        self._faults_until = 0.0
        self._leaders = LeadersByTerm(self._group.steps, running.led_term)
        within_spec = self._random.random() < WITHIN_SPEC
        self._kinds = [
            each
            for each in kinds_of_faults(running, power_fails=power_fails)
            if not (within_spec and each in running.outside_spec)
        ]

    def run(self, seconds: float) -> ChaosResult:
        """Run for a time under faults, then for a time without, and judge what clients saw."""
        group, result = self._group, self.result
        self._faults_until = seconds
        for node in group.nodes:
            group.at(0.0, partial(group.start, node))
        for number in range(CLIENTS):
            group.at(self._random.uniform(0, MAX_REST), _ChaosClient(self, number).goes_on)
        group.at(self._random.uniform(*FAULT_EVERY), self._fault)
        group.at(LOOK_EVERY, self._look)
        group.run_until(seconds)
        self._calm()
        group.run_until(seconds + CALM)
        result.conclude(self._running, self._log())
        return result

    def _calm(self) -> None:
        group = self._group
        group.heal()
        group.conditions.loss, group.conditions.max_delay = 0.0, 0.005
        for node in group.nodes:
            group.slow_disk(node, 0.0)
            group.fill_disk(node, is_full=False)
            group.resume(node)
            group.start(node)

    def _log(self) -> dict[int, str]:
        """Return what the node that has committed most has committed."""
        drivers = [self._group.driver(node) for node in self._group.nodes]
        logs = [dict(self._running.committed(each)) for each in drivers if each is not None]
        return max(logs, key=len, default={})

    def _look(self) -> None:
        """Start nodes again that have gone down by themselves; once there are no faults, bring all members back."""
        group = self._group
        for node in group.nodes:
            driver = group.driver(node)
            if driver is not None and not driver.is_up:
                group.kill(node)
                group.start(node)
        if group.now >= self._faults_until:
            self._give(lambda driver, _: self._running.operator.restore(driver, group.nodes), "restore")
        group.at(group.now + LOOK_EVERY, self._look)

    # ---- Faults --------------------------------------------------------------------------------------

    def _fault(self) -> None:
        """Let something fail, and mend it after a while."""
        group, random = self._group, self._random
        if group.now >= self._faults_until:
            return
        kind, node, lasts = random.choice(self._kinds), self._victim(), random.uniform(*FAULT_LASTS)
        order = self._running.operator.orders.get(kind)
        happens = self._give(order, kind) if order is not None else self._fail(kind, node, group.now + lasts)
        self.result.faults[kind] += happens
        group.at(group.now + random.uniform(*FAULT_EVERY), self._fault)

    def _victim(self) -> str:
        leader = self._leaders.newest()
        if leader is not None and self._random.random() < AT_LEADER:
            return leader
        return self._random.choice(self._group.nodes)

    def _side(self, node: str) -> list[str]:
        """Return the nodes that are cut off from all others."""
        nodes, random = self._group.nodes, self._random
        if random.random() < ALONE:
            return [node]
        return random.sample(nodes, random.randint(1, max(1, len(nodes) - 1)))

    def _fail(self, kind: str, node: str, until: float) -> bool:
        """Let a fault of a kind happen to a node, or to the network, up to a moment; return whether it could."""
        group, random = self._group, self._random
        if kind in ("kill", "pause", POWER) and group.driver(node) is None:
            return False
        match kind:
            case "kill":
                group.kill(node)
                group.at(until, lambda: group.start(node))
            case "power":
                group.lose_power(node)
                group.at(until, lambda: group.start(node))
            case "pause":
                group.pause(node)
                group.at(until, lambda: group.resume(node))
            case "cut":
                group.partition(self._side(node))
                group.at(until, group.heal)
            case "loss":
                self._for_a_while(until, self._lose, random.uniform(0.05, 0.5), 0.0)
            case "slow network":
                self._for_a_while(until, self._slow, random.uniform(0.05, 1.0), 0.005)
            case "clock":
                group.jump(node, random.choice((-1, 1)) * random.uniform(0.1, MAX_JUMP))
            case "slow disk":
                self._for_a_while(until, partial(group.slow_disk, node), random.uniform(*DISK_DELAYS), 0.0)
            case "full disk":
                group.fill_disk(node)
                group.at(until, lambda: group.fill_disk(node, is_full=False))
            case _:
                raise AssertionError(kind)
        return True

    def _for_a_while(self, until: float, sets: Callable[[float], None], value: float, usual: float) -> None:
        sets(value)
        self._group.at(until, lambda: sets(usual))

    def _lose(self, share: float) -> None:
        self._group.conditions.loss = share

    def _slow(self, delay: float) -> None:
        self._group.conditions.max_delay = delay

    # ---- Orders --------------------------------------------------------------------------------------

    def _give(self, order: Callable[[Any, Random], Any], kind: str) -> bool:
        """Give an order to the newest leader that runs; return whether there is one, and the order makes sense."""
        node = self._leaders.newest()
        driver = None if node is None else self._group.driver(node)
        request = None if driver is None else order(driver, self._random)
        if node is None or request is None:
            return False

        def answered(answer: Any) -> None:
            self.result.orders[kind] += self._running.operator.code(answer) == "SUCCESS"

        self.result.orders[kind] += 0  # one that is never answered is missed
        self._group.ask(node, request, answered)
        return True

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

    def leads_newest(self, node: str) -> bool:
        """Return whether a node leads, and nobody has led a newer term."""
        return self._leaders.newest() == node

    def some_index(self) -> int:
        """Return an index to be read: the last one that was confirmed, or any before it."""
        last = max((each.index for each in self.result.appends if each.index is not None), default=0)
        return last if self._random.random() < 0.5 else self._random.randint(0, last)


class _ChaosClient:
    """Appends one value after the other, and reads, at the node that it takes for the leader."""

    def __init__(self, run: ChaosRun, number: int) -> None:
        self._run, self._number, self._count = run, number, 0
        self._leader: str | None = None

    def goes_on(self) -> None:
        """Append the next value, or read."""
        if self._run.random.random() < READS:
            self._read()
        else:
            self._append()

    def _append(self) -> None:
        run, group = self._run, self._run.group
        self._count += 1
        each = Append(f"c{self._number}-{self._count}", group.now)
        run.result.appends.append(each)

        def answered(node: str, answer: Any) -> None:
            outcome = run.running.appended(answer)
            each.ended, each.code, self._leader = group.now, outcome.code, outcome.leader
            each.index = outcome.index

        node = self._node()
        self._ask(node, [run.running.append(node, each.value)], answered)

    def _read(self) -> None:
        run, group = self._run, self._run.group
        index = run.some_index()
        each = Read(None if run.running.reads_all else index, group.now)
        run.result.reads.append(each)

        def answered(node: str, answer: Any) -> None:
            outcome = run.running.read_outcome(answer)
            each.ended, each.code, each.values, each.up_to = group.now, outcome.code, outcome.values, outcome.up_to
            each.by_newest = run.leads_newest(node)
            if outcome.code != "SUCCESS":
                self._leader = None

        node = self._node()
        self._ask(node, list(run.running.read(node, index)), answered)

    def _node(self) -> str:
        nodes = self._run.group.nodes
        return self._leader if self._leader in nodes else self._run.random.choice(nodes)

    def _ask(self, node: str, requests: list[Any], answered: Callable[[str, Any], None]) -> None:
        """Ask a node one thing after the other, as long as it succeeds; go on after the last answer, or in time."""
        run, group = self._run, self._run.group
        over = False

        def rests() -> None:
            nonlocal over
            over = True
            group.at(group.now + run.random.uniform(0, MAX_REST), self.goes_on)

        def hears(answer: Any) -> None:
            if over:
                return
            if requests and run.running.operator.code(answer) == "SUCCESS":
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
