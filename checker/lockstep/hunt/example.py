"""One example of a search: a group from its start, which Hypothesis drives by what it draws.

An example is a shape of the group and a few batches of steps. A batch is one of two: the random simulation by rates
that are drawn, or a walk that takes any step that is possible. Its seed, its length and its weather are drawn, so
Hypothesis keeps a prefix that has come far and tries other batches behind it; and it shrinks to fewer and shorter
batches.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st

from lockstep.systems.hunted_group import AnyGroup, Hunted, Move, Violation

#: The batches of an example, and the most steps of one.
MIN_BATCHES, MAX_BATCHES, MAX_STEPS = 3, 14, 60
#: A walk takes fewer steps than the simulation.
MAX_WALK = 20
#: The odds that an action of its parts is one of those that a walk takes, and that it goes on at every node.
TAKEN, EVERYWHERE = 0.8, 0.5
#: The parts of a system that are faults, and the odds that a fault may begin a walk.
FAULT_PARTS, FAULTY = ("processes", "network"), 0.1

_SEEDS = st.integers(0, 2**32 - 1)


class ViolatedError(AssertionError):
    """A step has violated a property."""


@dataclass(frozen=True, slots=True)
class Target:
    """The target of a search: a group of a number of nodes with some flaws, for some properties.

    `features` are those that a group has in every example; None where each example draws its own. `because`: only what
    the flaws cause counts, so that the same steps violate nothing of it in a group without them.
    """

    hunted: Hunted
    nodes: int
    flaws: tuple[str, ...]
    properties: frozenset[str]
    features: tuple[str, ...] | None = None
    because: bool = False


@dataclass(slots=True)
class ExampleRun:
    """The steps of an example, and the first violation, if there was one."""

    moves: list[Move] = field(default_factory=list)
    violation: Violation | None = None


class Listener:
    """Watches a group, records its steps, and raises ViolatedError where one violates a wanted property."""

    def __init__(self, wanted: frozenset[str], record: ExampleRun) -> None:
        """Watch for some properties."""
        self._wanted, self._record = wanted, record
        self.watch: Any = None

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


class Example:
    """One run of a group; `record` is what it did, and `distances` the farthest that it came."""

    def __init__(self, target: Target, data: st.DataObject) -> None:
        """Draw the shape of a group, and start it; all chance comes from `data`."""
        self._target, self._data = target, data
        self.record = ExampleRun()
        self.distances: dict[str, float] = {}
        hunted = target.hunted
        features = target.features
        if features is None:
            features = tuple(each for each in hunted.features if data.draw(st.integers(0, 2)) == 2)
        chance = random.Random(data.draw(_SEEDS))
        self.plan = hunted.plan(target.nodes, features, target.flaws, chance)
        listener = Listener(target.properties, self.record)
        self.group: AnyGroup = hunted.group(self.plan, listener)
        self.watch = listener.watch = hunted.watch(self.group)
        self._schedule = hunted.schedule(self.plan, self.group)

    def run(self) -> None:
        """Take the batches of the example; raises ViolatedError where a step violates a wanted property."""
        try:
            self._take_batches()
        except ViolatedError:
            if is_wanted(self._target, self.plan, self.record):
                raise

    def _take_batches(self) -> None:
        draw = self._data.draw
        for _ in range(draw(st.integers(MIN_BATCHES, MAX_BATCHES))):
            walks, seed, length = draw(st.booleans()), draw(_SEEDS), draw(st.integers(1, MAX_STEPS))
            chance = random.Random(seed)
            if walks:
                self._walk(chance, 1 + length % MAX_WALK)
            else:
                rates = self._target.hunted.weather.rates(random.Random(draw(_SEEDS)))
                self._simulate(chance, length, rates)
            for name, distance in self.watch.distances().items():
                self.distances[name] = max(distance, self.distances.get(name, 0.0))

    def _simulate(self, chance: random.Random, length: int, rates: Mapping[str, float]) -> None:
        """Let the random simulation take some steps at these rates."""
        self._schedule.random = chance
        self._schedule.follow_plan(replace(self.plan, **rates))
        for _ in range(length):
            if self._schedule.next_event() is None:
                return

    def _walk(self, chance: random.Random, length: int) -> None:
        """Take any steps that are possible, of some parts of the protocol, at some of the nodes."""
        parts, nodes = self._target.hunted.parts, list(self.group.node_ids)
        work = [part for part in parts if part not in FAULT_PARTS]
        chosen = chance.sample(work, chance.choice((1, 2, 2, 3, len(work))))
        actions = [each for part in chosen for each in parts[part] if chance.random() < TAKEN]
        faults = [each for part in FAULT_PARTS for each in parts[part] if chance.random() < FAULTY]
        walking = nodes if chance.random() < EVERYWHERE else chance.sample(nodes, chance.randint(1, len(nodes)))
        for number in range(length):
            if number == 0 and faults and self._take_any(chance, chance.choice(faults), walking):
                continue
            order = chance.sample(actions, len(actions))
            if not any(self._take_any(chance, action, walking) for action in order):
                return

    def _take_any(self, chance: random.Random, action: str, walking: Sequence[str]) -> bool:
        """Take an action at one of some nodes with some arguments; return False where none is possible."""
        group, hunted = self.group, self._target.hunted
        for node in chance.sample(walking, len(walking)):
            found = list(hunted.candidates(group, node, action))
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

    Without those the same steps do not violate that property.
    """
    if record.violation is None or not target.because:
        return record.violation is not None
    without = replay(target, replace(plan, flaws=frozenset()), record.moves)
    return without.violation is None or without.violation[0] != record.violation[0]


def counted(moves: Sequence[Move]) -> Counter[str]:
    """Count the steps of each action."""
    return Counter(action for _, action, _ in moves)
