"""One run of chaos in simulated time: clients append and read while processes, machines and the network fail.

Everything follows from the seed. In the end all faults stop, every node runs, and the group has time to agree.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from lockstep.cluster.chaos_clients import ChaosClients
from lockstep.cluster.chaos_faults import FAULTS, POWER, ChaosFaults
from lockstep.cluster.chaos_weather import ChaosWeather
from lockstep.cluster.client_history import Append, Read, Verified, differences, objections, stale_reads
from lockstep.cluster.leaders_by_term import LeadersByTerm
from lockstep.systems.running_nodes import NodeKind, RunningNodes
from raftref.runtime.driver import NodeStep
from raftref.runtime.virtual import NetworkConditions, VirtualGroup

#: The time between two looks at the group, in seconds: nodes that have gone down by themselves are started again.
LOOK_EVERY = 1.0
#: The least time without faults in the end, and how much more of it a group has until it has confirmed something, and
#: all nodes have committed that, in seconds.
CALM, MORE_CALM = 5.0, 75.0
#: The share of runs in which no fault is one that the spec has not.
WITHIN_SPEC = 0.5
#: The odds that the nodes of a run have a feature that none need have.
HAS_FEATURE = 0.5

#: The outcome that is counted, and is no fault: a leader of an older term showed something else than was confirmed.
STALE_READS = "stale reads of older leaders"
#: The outcome of clients who ask a leader whether it still leads.
VERIFIED = "leaders verified"
#: The outcome of threads that may be held up.
HOLD_UPS = "hold-ups of threads"
#: The outcome of a kind of messages that may be late.
LATE_OF_A_KIND = "messages of a late kind"


@dataclass(slots=True)
class ChaosResult:
    """A run: its nodes and steps, what its clients did, the faults by their kinds, what came of them, what is wrong."""

    seed: int
    kind: NodeKind = field(default_factory=NodeKind)
    steps: list[NodeStep] = field(default_factory=list)
    appends: list[Append] = field(default_factory=list)
    reads: list[Read] = field(default_factory=list)
    verified: list[Verified] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    #: The orders that were carried out.
    orders: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    objections: list[str] = field(default_factory=list)

    def conclude(self, running: RunningNodes, log: Mapping[int, str]) -> None:
        """Judge what clients saw by the log in the end, and count what came of the faults."""
        self.objections += objections(self.appends, log, self.reads, self.verified)
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
        return sum(bool(each.values) for each in self.reads)


def kinds_of_faults(running: RunningNodes, features: Collection[str] = (), *, power_fails: bool) -> tuple[str, ...]:
    """Return the kinds of faults, and of orders, that runs of nodes with some features have."""
    kinds = (*FAULTS, *((POWER,) if power_fails else ()), *running.operator.orders)
    never = frozenset[str]().union(*(running.never_with.get(each, ()) for each in features))
    return tuple(each for each in kinds if each not in never)


def drawn_kind(running: RunningNodes, kind: NodeKind, chance: Random) -> NodeKind:
    """Return a kind of nodes with features and settings drawn beside those that were chosen."""
    features = [each for each in running.features if each in kind.features or chance.random() < HAS_FEATURE]
    return NodeKind(tuple(features), kind.flaws, {**running.drawn_settings(chance), **kind.settings})


class ChaosRun:
    """Runs a group under faults."""

    def __init__(
        self, running: RunningNodes, seed: int, nodes: int, kind: NodeKind, *, power_fails: bool = True
    ) -> None:
        """Prepare a run.

        Arguments: `running`, the system; `seed`; `nodes`, how many; `kind`, theirs, beside which features and settings
        are drawn; `power_fails`, whether machines lose power, and with it what was not forced to the disk.
        """
        self._running = running
        self._random = Random(seed)
        kind = drawn_kind(running, kind, self._random)
        weather = ChaosWeather.drawn(self._random, self._kinds(kind, power_fails=power_fails))
        names = tuple(f"n{number}" for number in range(1, nodes + 1))
        usual = NetworkConditions(max_delay=weather.usual_delay)
        self._group = VirtualGroup(names, running.driver(names, kind), seed, usual)
        self._leaders = LeadersByTerm(self._group.steps, running.led_term)
        self._clients = ChaosClients(self._group, running, self._leaders, weather, self._random)
        self._faults = ChaosFaults(self._group, self._leaders, weather, self._random, self._order, self._clients.burst)
        self._faults_until = 0.0
        self.result = ChaosResult(
            *(seed, kind, self._group.steps, self._clients.appends, self._clients.reads, self._clients.verified),
            self._faults.counts,
        )

    def _kinds(self, kind: NodeKind, *, power_fails: bool) -> list[str]:
        """Return the kinds of faults that the run may have: in some runs only those that the spec has."""
        never = self._running.outside_spec if self._random.random() < WITHIN_SPEC else frozenset[str]()
        kinds = kinds_of_faults(self._running, kind.features, power_fails=power_fails)
        return [each for each in kinds if each not in never]

    def run(self, seconds: float) -> ChaosResult:
        """Run for a time under faults, then for a time without, and judge what clients saw."""
        group, result = self._group, self.result
        self._faults_until = seconds
        for node in group.nodes:
            group.at(0.0, partial(group.start, node))
        self._clients.begin()
        self._faults.begin(seconds)
        group.at(LOOK_EVERY, self._look)
        group.run_until(seconds)
        self._faults.end()
        group.run_until(seconds + CALM)
        while self._stands_still() and group.now < seconds + CALM + MORE_CALM:
            group.run_until(group.now + LOOK_EVERY)
        result.objections += self._stands_still()
        logs = self._logs()
        result.objections += differences(logs)
        result.conclude(self._running, max(logs.values(), key=len, default={}))
        result.outcomes[HOLD_UPS] = self._faults.held_up
        result.outcomes[LATE_OF_A_KIND] = self._faults.late
        result.outcomes.update(
            {"messages cut off": group.cut_off, "messages lost": group.lost, "messages delayed": group.late}
        )
        if self._running.verify is not None:
            result.outcomes[VERIFIED] = len(result.verified)
        return result

    def _stands_still(self) -> list[str]:
        """Return what has not gone on since there are no faults: the group, or some of its nodes."""
        calm = f"in the {self._group.now - self._faults_until:g} s after the last fault"
        appends = (each for each in self.result.appends if each.began >= self._faults_until)
        index = next((each.index for each in appends if each.index is not None), None)
        if index is None:
            return [f"nothing was confirmed {calm}"]
        behind = [node for node, log in self._logs().items() if max(log, default=-1) < index]
        return [f"{node} has not committed index {index}, which was confirmed {calm}" for node in behind]

    def _logs(self) -> dict[str, Mapping[int, str]]:
        """Return what each node has committed."""
        drivers = {node: self._group.driver(node) for node in self._group.nodes}
        return {node: dict(self._running.committed(each)) for node, each in drivers.items() if each is not None}

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

    # ---- Orders --------------------------------------------------------------------------------------

    def _order(self, kind: str) -> bool | None:
        """Give the order of a name; return whether it could be given, None where it is none."""
        order = self._running.operator.orders.get(kind)
        return None if order is None else self._give(order, kind)

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
