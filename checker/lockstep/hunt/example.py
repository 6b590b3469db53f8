"""One example of a search: a group from its start, which Hypothesis drives by what it draws.

An example is a shape of the group and a few batches of steps. Or it goes on from a run that an earlier example has
begun with, and that led to a rare situation (`lockstep.hunt.archive`). A batch is one of these:

- the random simulation by rates that are drawn;
- a walk, which takes any step that is possible, and most often what the example has taken least;
- a phase: some of the nodes elect one of them, or do ordinary work, while all others are cut off and sleep. So leaders
  stay that nobody follows, and what is under way comes after the next election.

The kind of a batch, its seed and its length are drawn, so Hypothesis shrinks to fewer and shorter batches.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from hypothesis import strategies as st

from lockstep.hunt.archive import Archive, Prefix
from lockstep.systems.hunted_group import AnyGroup, Hunted, Move, Violation

#: The batches of an example, the most of one that goes on from a prefix, and the most steps of a batch.
MIN_BATCHES, MAX_BATCHES, MAX_MORE_BATCHES, MAX_STEPS = 3, 14, 6, 60
#: The share of the examples that begin at the start where there are prefixes, of ten.
FRESH = 3
#: The shares of the features that an example has, of ten; one is drawn for each example.
FEATURE_SHARES = (0, 2, 5, 8)
#: The number of attempts in a row that come to nothing after which a batch is over.
MAX_ATTEMPTS = 300

# Walks.
#: A walk takes fewer steps than the simulation.
MAX_WALK = 20
#: The odds that an action of its parts is one of those that a walk takes, and that it goes on at every node.
TAKEN, EVERYWHERE = 0.8, 0.5
#: The parts of a system that are faults, and the odds that a fault may begin a walk.
FAULT_PARTS, FAULTY = ("processes", "network"), 0.1
#: The odds that the writes of a step of a walk fail; each walk has one of these.
FAILING = (0.0, 0.0, 0.05, 0.3)

# Phases.
#: An election that takes more steps is given up.
MAX_ELECTION = 40
#: The odds that ordinary work begins with an event of its own, and that it ends with the first commit.
BEGUN, ENDS_EARLY = 0.5, 0.5
#: The odds that those who act in a phase send nothing to the others, and that the partition ends with the phase.
SILENT, HEALED = 0.5, 0.5

_SEEDS = st.integers(0, 2**32 - 1)


class BatchKind(Enum):
    """The kinds of batches of steps, as the module's docstring has them."""

    WEATHER = "weather"
    WALK = "walk"
    WORK = "work"
    ELECTION = "election"


#: The kinds of batches that an example has, by their odds; one line is drawn for each example.
MIXES = (
    (BatchKind.WEATHER, BatchKind.WALK),
    (BatchKind.WEATHER, BatchKind.WALK, BatchKind.WORK, BatchKind.ELECTION),
    (BatchKind.WALK, BatchKind.WALK, BatchKind.WORK, BatchKind.ELECTION, BatchKind.ELECTION),
)


class ViolatedError(AssertionError):
    """A step has violated a property."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a search: a group of a number of nodes with some flaws, for some properties.

    `features` are those that a group has in every example, or in none; each example draws the others. `because`: only
    what the flaws cause counts, so that the same steps do not violate that property in a group without them.
    """

    hunted: Hunted
    nodes: int
    flaws: tuple[str, ...]
    properties: frozenset[str]
    features: Mapping[str, bool] = field(default_factory=dict)
    because: bool = False


@dataclass(slots=True)
class ExampleRun:
    """The steps of an example, and the first violation, if there was one."""

    moves: list[Move] = field(default_factory=list)
    violation: Violation | None = None


class Listener:
    """Watches a group, records its steps, and raises ViolatedError where one violates a wanted property.

    `after_step` is called after each step that violates nothing.
    """

    def __init__(self, wanted: frozenset[str], record: ExampleRun) -> None:
        """Watch for some properties."""
        self._wanted, self._record = wanted, record
        self.watch: Any = None
        self.after_step: Callable[[], None] | None = None

    def before(self, move: Move) -> None:
        """Look at the node before its step."""
        self.watch.before(move)

    def after(self, move: Move) -> None:
        """Record a step, and raise what it violates."""
        self._record.moves.append(move)
        for violation in self.watch.after(move):
            if violation[0] in self._wanted:
                self._record.violation = violation
                raise ViolatedError(": ".join(violation))
        if self.after_step is not None:
            self.after_step()


class Example:
    """One run of a group; `record` is what it did, and `distances` the farthest that it came."""

    def __init__(self, target: Target, data: st.DataObject, archive: Archive, prefixes: Sequence[Prefix] = ()) -> None:
        """Draw the shape of a group, or a prefix, and start the group; all chance comes from `data`.

        Arguments: `target`; `data`; `archive`, which notes the situations that the example meets; `prefixes`, the runs
        that it may go on from.
        """
        self._target, self._data, self._archive = target, data, archive
        self.record = ExampleRun()
        self.distances: dict[str, float] = {}
        hunted = target.hunted
        self._prefix: Sequence[Move] = ()
        if prefixes and data.draw(st.integers(0, 9)) >= FRESH:
            prefix = data.draw(st.sampled_from(prefixes))
            self.plan, self._prefix = prefix.plan, prefix.moves
        else:
            self.plan = self._drawn_plan()
        self._listener = Listener(target.properties, self.record)
        self.group: AnyGroup = hunted.group(self.plan, self._listener)
        self.watch = self._listener.watch = hunted.watch(self.group)
        self._schedule = hunted.schedule(self.plan, self.group)
        self._schedule.max_attempts = MAX_ATTEMPTS
        self._phase_end = 0
        self._failing = 0.0
        self._seen: set[Hashable] = set()

    def _drawn_plan(self) -> Any:
        draw, hunted, fixed = self._data.draw, self._target.hunted, self._target.features
        share = draw(st.sampled_from(FEATURE_SHARES))
        free = (each for each in hunted.features if each not in fixed)
        has = {**fixed, **{each: draw(st.integers(0, 9)) >= 10 - share for each in free}}
        # What needs a feature that no example has is left out, too.
        off = {each for each in fixed if not fixed[each]}
        off |= {each for each, needed in hunted.features_needed.items() if off.intersection(needed)}
        features = tuple(each for each in hunted.features if has[each] and each not in off)
        return hunted.plan(self._target.nodes, features, self._target.flaws, random.Random(draw(_SEEDS)))

    def run(self) -> None:
        """Take the steps of the example; raises ViolatedError where one violates a wanted property."""
        try:
            for node, action, args in self._prefix:
                self.group.take(node, action, *args)
            self._seen.update(self.watch.situations())
            self._listener.after_step = self._meet
            self._take_batches()
        except ViolatedError:
            if is_wanted(self._target, self.plan, self.record):
                raise

    def _meet(self) -> None:
        """Note the situations that the last step has led to, if the example meets them for the first time."""
        # In the order in which they come: that of a set is another in each process, and the archive's draws with it.
        new = [each for each in dict.fromkeys(self.watch.situations()) if each not in self._seen]
        if new:
            self._seen.update(new)
            self._archive.meet(new, self.plan, self.record.moves)

    def _take_batches(self) -> None:
        draw = self._data.draw
        kinds = draw(st.sampled_from(MIXES))
        least, most = (1, MAX_MORE_BATCHES) if self._prefix else (MIN_BATCHES, MAX_BATCHES)
        for _ in range(draw(st.integers(least, most))):
            kind, seed, length = draw(st.sampled_from(kinds)), draw(_SEEDS), draw(st.integers(1, MAX_STEPS))
            chance = random.Random(seed)
            match kind:
                case BatchKind.WALK:
                    self._walk(chance, 1 + length % MAX_WALK)
                case BatchKind.ELECTION:
                    self._elect(chance)
                case BatchKind.WORK:
                    self._work(chance, length)
                case BatchKind.WEATHER:
                    self._simulate(chance, length, self._target.hunted.weather.rates(chance))
            for name, distance in self.watch.distances().items():
                self.distances[name] = max(distance, self.distances.get(name, 0.0))

    def _simulate(self, chance: random.Random, length: int, rates: Mapping[str, float]) -> None:
        """Let the random simulation take some steps at these rates."""
        self._schedule.random = chance
        self._schedule.follow_plan(replace(self.plan, **rates))
        for _ in range(length):
            if self._schedule.next_event() is None:
                return

    def _elect(self, chance: random.Random) -> None:
        """Let some of the nodes go on alone until they have elected one of them, which alone stands for it."""
        nodes, schedule, weather = self.group.node_ids, self._schedule, self._target.hunted.weather
        side = self._draw_side(chance, len(nodes) // 2 + 1)
        self._cut_off(chance, side, MAX_ELECTION)
        schedule.contender, schedule.awake = side[0], frozenset(side[:1])
        schedule.follow_election(replace(self.plan, **weather.electing(chance)))
        for name in sorted(weather.unseats):
            getattr(schedule, f"try_{name}")()
        schedule.awake = frozenset(side)
        self._go_on(0, ends_early=True)
        self._join(chance)

    def _work(self, chance: random.Random, length: int) -> None:
        """Let some of the nodes go on alone with ordinary work, mostly until the first commit.

        Half of the time it begins with an event of its own, such as a snapshot or a crash.
        """
        schedule, weather = self._schedule, self._target.hunted.weather
        side = self._draw_side(chance, 1)
        self._cut_off(chance, side, length)
        schedule.follow_plan(replace(self.plan, **weather.calm(chance)))
        schedule.awake = frozenset(side)
        if chance.random() < BEGUN:
            getattr(schedule, f"try_{chance.choice(weather.events)}")()
        self._go_on(1, ends_early=chance.random() < ENDS_EARLY)
        self._join(chance)

    def _draw_side(self, chance: random.Random, least: int) -> list[str]:
        """Draw nodes, often a bare majority, and never fewer than `least`."""
        nodes = self.group.node_ids
        count = chance.choice((len(nodes) // 2 + 1, chance.randint(least, len(nodes))))
        return chance.sample(nodes, count)

    def _cut_off(self, chance: random.Random, side: Sequence[str], length: int) -> None:
        """Begin a phase of some nodes: what is under way to the others and from them stays where it is."""
        self._schedule.random, self._schedule.silent = chance, chance.random() < SILENT
        self._phase_end = self.group.seq + length
        self.group.network.partition(side)
        self._hold(side, self._phase_end)

    def _go_on(self, milestone: int, *, ends_early: bool) -> None:
        """Take steps until the phase is over, or has reached another milestone."""
        at_first = self.watch.milestones()[milestone]
        while self.group.seq < self._phase_end and self._schedule.next_event() is not None:
            if ends_early and self.watch.milestones()[milestone] > at_first:
                return

    def _join(self, chance: random.Random) -> None:
        """End a phase: all nodes act again, and half of the time all hear of each other."""
        self._hold(self.group.node_ids, 0)
        self._schedule.awake = self._schedule.contender = None
        if chance.random() < HEALED:
            self.group.network.heal()

    def _hold(self, side: Sequence[str], until: int) -> None:
        for src, dst in self.group.network.channels:
            self._schedule.held_until[src, dst] = 0 if src in side and dst in side else until

    def _walk(self, chance: random.Random, length: int) -> None:
        """Take any steps that are possible, of some parts of the protocol, at some of the nodes."""
        parts, nodes = self._target.hunted.parts, list(self.group.node_ids)
        work = [part for part in parts if part not in FAULT_PARTS]
        chosen = chance.sample(work, chance.choice((1, 2, 2, 3, len(work))))
        actions = [each for part in chosen for each in parts[part] if chance.random() < TAKEN]
        faults = [each for part in FAULT_PARTS for each in parts[part] if chance.random() < FAULTY]
        self._failing = chance.choice(FAILING)
        walking = nodes if chance.random() < EVERYWHERE else chance.sample(nodes, chance.randint(1, len(nodes)))
        taken = counted(self.record.moves)
        for number in range(length):
            if number == 0 and faults and self._take_any(chance, chance.choice(faults), walking):
                continue
            # What the example has taken least comes first, most often.
            order = sorted(actions, key=lambda action: chance.expovariate(1.0) * (1 + taken[action]))
            for action in order:
                if self._take_any(chance, action, walking):
                    taken[action] += 1
                    break
            else:
                return

    def _take_any(self, chance: random.Random, action: str, walking: Sequence[str]) -> bool:
        """Take an action at one of some nodes with some arguments; return False where none is possible."""
        group, hunted = self.group, self._target.hunted
        for node in chance.sample(walking, len(walking)):
            found = list(hunted.candidates(group, node, action, chance.random() < self._failing))
            chance.shuffle(found)
            for args in found:
                if group.enabled(node, action, *args):
                    group.take(node, action, *args)
                    return True
        return False


def replay(target: Target, plan: Any, moves: Sequence[Move]) -> ExampleRun:
    """Take steps in a new group of a plan, without those that are not possible any more, up to a violation."""
    record = ExampleRun()
    listener = Listener(target.properties, record)
    group = target.hunted.group(plan, listener)
    listener.watch = target.hunted.watch(group)
    for node, action, args in moves:
        if group.enabled(node, action, *args):
            try:
                group.take(node, action, *args)
            except ViolatedError:
                return record
    return record


def is_wanted(target: Target, plan: Any, record: ExampleRun) -> bool:
    """Return whether a run has a violation that counts: if that is asked for, one that the flaws cause.

    Without those the same steps do not violate that property, whatever else they violate before it.
    """
    if record.violation is None or not target.because:
        return record.violation is not None
    only = replace(target, properties=frozenset({record.violation[0]}))
    return replay(only, replace(plan, flaws=frozenset()), record.moves).violation is None


def counted(moves: Sequence[Move]) -> Counter[str]:
    """Count the steps of each action."""
    return Counter(action for _, action, _ in moves)
