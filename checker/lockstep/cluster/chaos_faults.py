"""The faults of a run of chaos in simulated time: they happen as its weather has them, and end after a while."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from lockstep.cluster.chaos_weather import DEPOSING, ChaosWeather, Moments, Once, SeenKinds, log_uniform
from lockstep.cluster.leaders_by_term import LeadersByTerm
from raftref.runtime.driver import NodeStep
from raftref.runtime.virtual import Cut, VirtualGroup

#: A process dies between two changes of its disk, and so in the midst of a step, if that makes several.
WITHIN = "kill within a step"
#: The faults of every system, in the order in which they are drawn.
FAULTS = (
    *("kill", WITHIN, "pause", "cut", "loss", "slow network", "late messages", "clock", "slow disk", "full disk"),
    *("held-up threads", "late kind"),
)
POWER = "power"
#: Those that strike a process, which must run; those that may strike several nodes at once; those of the network.
OF_A_PROCESS = frozenset({"kill", WITHIN, "pause", POWER})
AT_ONCE = OF_A_PROCESS | {"slow disk", "full disk", "held-up threads"}
OF_THE_NETWORK = frozenset({"cut", "loss", "slow network", "late messages", "late kind"})
#: Those that may happen in the midst of a step, before what it asks for has left the node.
AMID_A_STEP = OF_THE_NETWORK | {WITHIN, "held-up threads"}
#: What faults may wait for besides kinds of steps: that another node leads.
ELECTED = "another leader"

#: The longest that a fault waits for a step to begin with, and to end with, in seconds.
MAX_WAIT, MAX_LASTS = 10.0, 8.0
#: The odds that a fault that waited strikes the node that took the step, and the longest between the two, in seconds.
AT_THAT_NODE, MAX_REACTION = 0.7, 0.3
#: The shortest and the longest time between a fault and one that follows it, in seconds.
FOLLOWS_AFTER = (0.01, 2.0)
#: The farthest that a clock jumps, and the longest that a slow disk takes for what an event writes, in seconds.
MAX_JUMP, DISK_DELAYS = 5.0, (0.01, 0.5)
#: The share of messages that are lost, that of late ones, and the longest that those of a slow network, or late ones,
#: take.
LOSSES, LATE, SLOWNESS, LATENESS = (0.05, 0.5), (0.02, 0.3), (0.05, 2.0), (0.05, 4.0)
#: The share of the messages of one kind that are late.
LATE_OF_A_KIND = (0.2, 1.0)
#: The share of steps after which a thread is held up, and the longest time for that, in seconds.
HELD_UP, HOLD_UPS = (0.01, 0.3), (0.005, 4.0)
#: The most changes of its disk after which a process dies that dies within a step: a few, or more.
MAX_WRITES = (3, 12)


def kind_of(message: Any) -> str:
    """Return the kind of a message between nodes: the name of its record, and the type, where that has several."""
    message = getattr(message, "request", message)  # one that carries data beside the record
    return f"{type(message).__name__} {getattr(message, 'type', '')}"


@dataclass(frozen=True, slots=True)
class ChaosFault:
    """A fault that is about to happen: its kind, and the node that it strikes, if it strikes one alone.

    `amid_a_step`: that node is in the midst of a step. `deposes`: it leads, and fails until another node does.
    """

    kind: str
    node: str
    amid_a_step: bool = False
    deposes: bool = False


@dataclass(frozen=True, slots=True)
class LateKind:
    """A kind of messages, some of them late.

    `src` and `dst` are the only sender and the only receiver, None for any. The share `share` is late, by up to
    `longest` seconds.
    """

    kind: str
    src: str | None
    dst: str | None
    share: float
    longest: float

    def covers(self, kind: str, src: str, dst: str) -> bool:
        """Return whether a message may be late."""
        return kind == self.kind and self.src in (None, src) and self.dst in (None, dst)

    def lateness(self, chance: Random) -> float:
        """Draw how late a message is, in seconds."""
        return chance.uniform(0, self.longest) if chance.random() < self.share else 0.0


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
        self.held_up = self.late = 0
        self._group, self._leaders, self._weather, self._random = group, leaders, weather, chance
        self._order, self._burst = order, burst
        self._moments = Moments(chance, weather.rarity)
        self._messages = SeenKinds(chance, weather.rarity)
        self._until = 0.0
        self._cut: Cut | None = None
        #: How many faults last until another node leads.
        self._deposing = 0
        self._late_kind: LateKind | None = None
        self._leader: str | None = None

    def begin(self, until: float) -> None:
        """Let faults happen from now on up to a moment."""
        self._until = until
        self._group.on_step = self._see_step
        self._group.lateness = self._see_message
        self._later()

    def end(self) -> None:
        """Mend all that is not as it should be, and start all processes that are down."""
        group = self._group
        group.on_step = group.lateness = None
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
        fault = ChaosFault(self._weather.kind(random), self._victim())
        if random.random() < self._weather.after_step:
            once = Once(lambda at: self._react(fault, at))
            if self._wait(once):
                group.at(group.now + MAX_WAIT, lambda: once(None))
                return
        self._happen(fault)

    def _wait(self, happens: Callable[[str], None]) -> bool:
        """Let something happen when another node leads, or at a step of a kind that is drawn."""
        return self._moments.wait(happens, ELECTED if self._random.random() < self._weather.elected else None)

    def _see_step(self, step: NodeStep) -> None:
        self._moments.take_step(step.node, step.action)
        leader = self._leaders.newest()
        if leader not in (None, self._leader):
            self._leader = leader
            self._moments.come(step.node, ELECTED)

    def _see_message(self, src: str, dst: str, message: Any) -> float:
        """Note a message; return how late it is."""
        kind, late = kind_of(message), self._late_kind
        self._messages.see(kind)
        lateness = late.lateness(self._random) if late is not None and late.covers(kind, src, dst) else 0.0
        self.late += lateness > 0
        return lateness

    def _react(self, fault: ChaosFault, at: str | None) -> None:
        """Let a fault happen that waited for a step: mostly at the node that took it; `at` is None if none did."""
        random = self._random
        if at is not None and random.random() < AT_THAT_NODE:
            fault = replace(fault, node=at)
        wait = random.choice((0.0, 0.0, log_uniform(random, 0.001, MAX_REACTION)))
        if (fault.kind == WITHIN and fault.node == at) or (fault.kind in AMID_A_STEP and not wait):
            self._happen(replace(fault, amid_a_step=at is not None))
        else:
            self._group.at(self._group.now + wait, lambda: self._happen(fault))

    def _follow(self, node: str) -> None:
        """Let another fault come soon, at the same node or at any."""
        random = self._random
        fault = ChaosFault(self._weather.kind(random), random.choice((node, self._victim())))
        self._group.at(self._group.now + log_uniform(random, *FOLLOWS_AFTER), lambda: self._happen(fault))

    def _mend(self, mends: Callable[[], None], *, until_elected: bool = False) -> None:
        """Let a fault end after a while, or with a step; `until_elected`: when another node leads."""
        group, lasts = self._group, self._weather.length(self._random)

        def mend(_: str | None) -> None:
            self._deposing -= until_elected
            mends()

        once = Once(mend)

        def mends_soon(_: str) -> None:
            # A step is seen in the midst of an event of its node.
            wait = self._random.choice((0.0, lasts)) if until_elected else 0.0
            group.at(group.now + wait, lambda: once(None))

        self._deposing += until_elected
        if until_elected:
            waits = self._moments.wait(mends_soon, ELECTED)
        else:
            waits = self._random.random() < self._weather.until_step and self._wait(mends_soon)
        group.at(group.now + (MAX_LASTS if waits else lasts), lambda: once(None))

    def _victim(self) -> str:
        leader = self._leaders.newest()
        if leader is not None and self._random.random() < self._weather.at_leader:
            return leader
        return self._random.choice(self._group.nodes)

    def _victims(self, fault: ChaosFault) -> list[str]:
        nodes, random = self._group.nodes, self._random
        if fault.kind in AT_ONCE and not fault.deposes and random.random() < self._weather.at_once:
            return random.sample(nodes, random.randint(1, len(nodes)))
        return [fault.node]

    # ---- What ----------------------------------------------------------------------------------------

    def _happen(self, fault: ChaosFault) -> None:
        """Let something fail, and end after a while."""
        leader = self._leaders.newest()
        if self._group.now >= self._until or (self._deposing and self._is_spared(fault)):
            return
        if leader is not None and fault.kind in DEPOSING and self._random.random() < self._weather.deposing:
            fault = replace(fault, node=leader, deposes=True)
        if fault.node == leader and self._random.random() < self._weather.bursts:
            self._burst(fault.node)
        if self._random.random() < self._weather.followed:
            self._follow(fault.node)
        ordered = self._order(fault.kind)
        if ordered is not None:
            self.counts[fault.kind] += ordered
        elif fault.kind in OF_THE_NETWORK:
            self.counts[fault.kind] += self._fail_network(fault)
        else:
            for each in self._victims(fault):
                if fault.kind not in OF_A_PROCESS or self._group.driver(each) is not None:
                    self._fail(replace(fault, node=each, amid_a_step=fault.amid_a_step and each == fault.node))

    def _is_spared(self, fault: ChaosFault) -> bool:
        """Return whether a fault does not happen while another one lasts until another node leads."""
        return fault.kind == "cut" or self._random.random() < self._weather.spared

    def _fail(self, fault: ChaosFault) -> None:
        """Let a fault happen to a node."""
        group, random, node = self._group, self._random, fault.node
        self.counts[fault.kind] += fault.kind != WITHIN  # which is one once the process has died
        match fault.kind:
            case "kill":
                group.kill(node)
                self._mend(partial(group.start, node), until_elected=fault.deposes)
            case "kill within a step":
                writes = random.randint(0, random.choice(MAX_WRITES))
                group.kill_within(node, writes, partial(self._died, node))
            case "power":
                group.lose_power(node)
                self._mend(partial(group.start, node))
            case "pause":
                group.pause(node)
                self._mend(partial(group.resume, node), until_elected=fault.deposes)
            case "clock":
                group.jump(node, random.choice((-1, 1)) * random.uniform(0.1, MAX_JUMP))
            case "slow disk":
                group.slow_disk(node, log_uniform(random, *DISK_DELAYS))
                self._mend(partial(group.slow_disk, node, 0.0))
            case "full disk":
                group.fill_disk(node)
                self._mend(partial(group.fill_disk, node, is_full=False))
            case "held-up threads":
                share, longest = log_uniform(random, *HELD_UP), log_uniform(random, *HOLD_UPS)
                group.hold_up(node, self._hold_ups(share, longest, at_once=fault.amid_a_step))
                self._mend(partial(group.hold_up, node, None))
            case _:
                raise AssertionError(fault.kind)

    def _died(self, node: str) -> None:
        self.counts[WITHIN] += 1
        self._mend(partial(self._group.start, node))

    def _hold_ups(self, share: float, longest: float, *, at_once: bool) -> Callable[[], float]:
        """Return what draws hold-ups; `at_once`: the thread that is at work now is held up in any case."""
        random = self._random

        def drawn() -> float:
            nonlocal at_once
            is_held_up = at_once or random.random() < share
            at_once = False
            self.held_up += is_held_up
            return random.uniform(0, longest) if is_held_up else 0.0

        return drawn

    # ---- The network ---------------------------------------------------------------------------------

    def _fail_network(self, fault: ChaosFault) -> bool:
        """Let the network fail; return whether it does: there may be no kind of messages yet that could be late."""
        random = self._random
        match fault.kind:
            case "cut":
                self._cut = cut = self._drawn_cut([fault.node] if fault.deposes else self._side(fault.node))
                self._group.cut(cut)
                self._mend(lambda: self._heal(cut), until_elected=fault.deposes)
            case "loss":
                self._for_a_while("loss", random.uniform(*LOSSES), 0.0)
            case "late kind":
                self._late_kind = late = self._drawn_late_kind(fault.node)
                self._mend(lambda: self._end_late_kind(late))
                return late is not None
            case "slow network":
                self._for_a_while("max_delay", log_uniform(random, *SLOWNESS), self._weather.usual_delay)
            case _:
                self._set_network("max_lateness", log_uniform(random, *LATENESS))
                self._for_a_while("late", random.uniform(*LATE), 0.0)
        return True

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

    def _drawn_late_kind(self, node: str) -> LateKind | None:
        """Draw a kind of messages that are late: all of them, or those from a node, or those to it."""
        random, kind = self._random, self._messages.draw()
        if kind is None:
            return None
        src, dst = random.choice(((None, None), (node, None), (None, node)))
        return LateKind(kind, src, dst, log_uniform(random, *LATE_OF_A_KIND), log_uniform(random, *LATENESS))

    def _end_late_kind(self, late: LateKind | None) -> None:
        if self._late_kind is late:
            self._late_kind = None

    def _heal(self, cut: Cut) -> None:
        if self._cut is cut:
            self._group.heal()

    def _for_a_while(self, name: str, value: float, usual: float) -> None:
        self._set_network(name, value)
        self._mend(partial(self._set_network, name, usual))

    def _set_network(self, name: str, value: float) -> None:
        """Set one of the conditions of the network."""
        setattr(self._group.conditions, name, value)
