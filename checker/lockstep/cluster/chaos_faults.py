"""The faults of a run of chaos in simulated time: they happen as its weather has them, and end after a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from random import Random

from lockstep.cluster.chaos_weather import ChaosWeather, Moments, Once, log_uniform
from lockstep.cluster.leaders_by_term import LeadersByTerm
from raftref.runtime.driver import NodeStep
from raftref.runtime.virtual import Cut, VirtualGroup

#: A process dies between two changes of its disk, and so in the midst of a step, if that makes several.
WITHIN = "kill within a step"
#: The faults of every system, in the order in which they are drawn.
FAULTS = (
    *("kill", WITHIN, "pause", "cut", "loss", "slow network", "late messages", "clock", "slow disk", "full disk"),
    "held-up threads",
)
POWER = "power"
#: Those that strike a process, which must run; those that may strike several nodes at once; those of the network.
OF_A_PROCESS = frozenset({"kill", WITHIN, "pause", POWER})
AT_ONCE = OF_A_PROCESS | {"slow disk", "full disk", "held-up threads"}
OF_THE_NETWORK = frozenset({"cut", "loss", "slow network", "late messages"})
#: What faults may wait for besides kinds of steps: that another node leads.
ELECTED = "another leader"
#: The weight of that, where kinds of steps have 1 at most.
OFTEN_ELECTED = 3.0

#: The longest that a fault waits for a step to begin with, and to end with, in seconds.
MAX_WAIT, MAX_LASTS = 4.0, 15.0
#: The odds that a fault that waited strikes the node that took the step, and the longest between the two, in seconds.
AT_THAT_NODE, MAX_REACTION = 0.7, 0.3
#: The farthest that a clock jumps, and the longest that a slow disk takes for what an event writes, in seconds.
MAX_JUMP, DISK_DELAYS = 5.0, (0.01, 0.5)
#: The share of messages that are lost, that of late ones, and the longest that they or those of a slow network take.
LOSSES, LATE, LATENESS = (0.05, 0.5), (0.02, 0.3), (0.05, 4.0)
#: The share of steps after which a thread is held up, and the longest time for that, in seconds.
HELD_UP, HOLD_UPS = (0.01, 0.3), (0.005, 1.0)
#: The most changes of its disk after which a process dies that dies within a step.
MAX_WRITES = 12


class ChaosFaults:
    """Lets faults happen to a group, and counts them in `counts`."""

    def __init__(
        self,
        group: VirtualGroup,
        leaders: LeadersByTerm,
        weather: ChaosWeather,
        chance: Random,
        order: Callable[[str], bool | None],
        burst: Callable[[str], None],
    ) -> None:
        """Prepare the faults of a run.

        Arguments: `group`; `leaders`, as they show; `weather`; `chance`, of all that is random; `order`, gives the
        order of a name, and returns whether it could, None where there is no such order; `burst`, lets more clients
        append at a node.
        """
        self.counts: Counter[str] = Counter()
        #: How often a thread was held up.
        self.held_up = 0
        self._group, self._leaders, self._weather, self._random = group, leaders, weather, chance
        self._order, self._burst = order, burst
        self._moments = Moments(chance, {ELECTED: OFTEN_ELECTED})
        self._until = 0.0
        self._cut: Cut | None = None
        self._leader: str | None = None

    def begin(self, until: float) -> None:
        """Let faults happen from now on up to a moment."""
        self._until = until
        self._group.on_step = self._see_step
        self._later()

    def end(self) -> None:
        """Mend all that is not as it should be, and start all processes that are down."""
        group = self._group
        group.on_step = None
        group.heal()
        self._set_network("loss", 0.0)
        self._set_network("late", 0.0)
        self._set_network("max_delay", self._weather.usual_delay)
        for node in group.nodes:
            group.slow_disk(node, 0.0)
            group.fill_disk(node, is_full=False)
            group.hold_up(node, None)
            group.resume(node)
            group.spare(node)
            group.start(node)

    # ---- When, and where -----------------------------------------------------------------------------

    def _later(self) -> None:
        self._group.at(self._group.now + self._random.expovariate(1 / self._weather.every), self._next)

    def _next(self) -> None:
        """Let a fault happen now, or after a step."""
        group, random = self._group, self._random
        if group.now >= self._until:
            return
        self._later()
        kind, node = self._weather.kind(random), self._victim()
        if random.random() < self._weather.after_step:
            once = Once(lambda at: self._react(kind, node, at))
            if self._moments.wait(once):
                group.at(group.now + MAX_WAIT, lambda: once(None))
                return
        self._happen(kind, node)

    def _see_step(self, step: NodeStep) -> None:
        self._moments.take_step(step.node, step.action)
        leader = self._leaders.newest()
        if leader not in (None, self._leader):
            self._leader = leader
            self._moments.take_step(step.node, ELECTED)

    def _react(self, kind: str, node: str, at: str | None) -> None:
        """Let a fault happen that waited for a step: mostly at the node that took it; `at` is None if none did."""
        random = self._random
        if at is not None and random.random() < AT_THAT_NODE:
            node = at
        if kind == WITHIN and node == at:
            self._happen(kind, node)  # the step itself may still have changes of the disk to come
        else:
            wait = random.choice((0.0, 0.0, log_uniform(random, 0.001, MAX_REACTION)))
            self._group.at(self._group.now + wait, lambda: self._happen(kind, node))

    def _mend(self, mends: Callable[[], None]) -> None:
        """Let a fault end after a while, or with a step."""
        group, once, lasts = self._group, Once(lambda _: mends()), self._weather.length(self._random)
        if self._random.random() < self._weather.until_step:
            # A step is seen in the midst of an event of its node.
            waits = self._moments.wait(lambda _: group.at(group.now, lambda: once(None)))
            lasts = MAX_LASTS if waits else lasts
        group.at(group.now + lasts, lambda: once(None))

    def _victim(self) -> str:
        leader = self._leaders.newest()
        if leader is not None and self._random.random() < self._weather.at_leader:
            return leader
        return self._random.choice(self._group.nodes)

    def _victims(self, kind: str, node: str) -> list[str]:
        nodes, random = self._group.nodes, self._random
        if kind in AT_ONCE and random.random() < self._weather.at_once:
            return random.sample(nodes, random.randint(1, len(nodes)))
        return [node]

    # ---- What ----------------------------------------------------------------------------------------

    def _happen(self, kind: str, node: str) -> None:
        """Let something fail, and end after a while."""
        if self._group.now >= self._until:
            return
        if node == self._leaders.newest() and self._random.random() < self._weather.bursts:
            self._burst(node)
        ordered = self._order(kind)
        if ordered is not None:
            self.counts[kind] += ordered
        elif kind in OF_THE_NETWORK:
            self.counts[kind] += 1
            self._fail_network(kind, node)
        else:
            for each in self._victims(kind, node):
                if kind not in OF_A_PROCESS or self._group.driver(each) is not None:
                    self._fail(kind, each)

    def _fail(self, kind: str, node: str) -> None:
        """Let a fault of a kind happen to a node."""
        group, random = self._group, self._random
        self.counts[kind] += kind != WITHIN  # which is one once the process has died
        match kind:
            case "kill":
                group.kill(node)
                self._mend(partial(group.start, node))
            case "kill within a step":
                group.kill_within(node, random.randint(0, MAX_WRITES), partial(self._died, node))
            case "power":
                group.lose_power(node)
                self._mend(partial(group.start, node))
            case "pause":
                group.pause(node)
                self._mend(partial(group.resume, node))
            case "clock":
                group.jump(node, random.choice((-1, 1)) * random.uniform(0.1, MAX_JUMP))
            case "slow disk":
                group.slow_disk(node, log_uniform(random, *DISK_DELAYS))
                self._mend(partial(group.slow_disk, node, 0.0))
            case "full disk":
                group.fill_disk(node)
                self._mend(partial(group.fill_disk, node, is_full=False))
            case "held-up threads":
                group.hold_up(node, self._hold_ups(log_uniform(random, *HELD_UP), log_uniform(random, *HOLD_UPS)))
                self._mend(partial(group.hold_up, node, None))
            case _:
                raise AssertionError(kind)

    def _died(self, node: str) -> None:
        self.counts[WITHIN] += 1
        self._mend(partial(self._group.start, node))

    def _hold_ups(self, share: float, longest: float) -> Callable[[], float]:
        random = self._random

        def drawn() -> float:
            is_held_up = random.random() < share
            self.held_up += is_held_up
            return random.uniform(0, longest) if is_held_up else 0.0

        return drawn

    # ---- The network ---------------------------------------------------------------------------------

    def _fail_network(self, kind: str, node: str) -> None:
        random = self._random
        match kind:
            case "cut":
                self._cut = cut = self._drawn_cut(self._side(node))
                self._group.cut(cut)
                self._mend(lambda: self._heal(cut))
            case "loss":
                self._for_a_while("loss", random.uniform(*LOSSES), 0.0)
            case "slow network":
                self._for_a_while("max_delay", log_uniform(random, *LATENESS), self._weather.usual_delay)
            case _:
                self._set_network("max_lateness", log_uniform(random, *LATENESS))
                self._for_a_while("late", random.uniform(*LATE), 0.0)

    def _side(self, node: str) -> Collection[str]:
        """Return the nodes that are cut off from all others."""
        nodes, random = self._group.nodes, self._random
        if random.random() < self._weather.alone:
            return [node]
        return random.sample(nodes, random.randint(1, max(1, len(nodes) - 1)))

    def _drawn_cut(self, side: Collection[str]) -> Cut:
        random, weather = self._random, self._weather
        holds, one_way, out = (random.random() < odds for odds in (weather.holding, weather.one_way, 0.5))
        return Cut(frozenset(side), holds, out=out or not one_way, into=not out or not one_way)

    def _heal(self, cut: Cut) -> None:
        if self._cut is cut:
            self._group.heal()

    def _for_a_while(self, name: str, value: float, usual: float) -> None:
        self._set_network(name, value)
        self._mend(partial(self._set_network, name, usual))

    def _set_network(self, name: str, value: float) -> None:
        """Set one of the conditions of the network."""
        setattr(self._group.conditions, name, value)
