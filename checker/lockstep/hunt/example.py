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

#: The most batches of an example, and the most steps of one.
MAX_BATCHES, MAX_STEPS = 12, 60
#: A walk takes fewer steps: most of what may happen at any time comes to nothing.
MAX_WALK = 12
#: The odds that an action is one of those that a walk draws from; a fault has half of them.
WALKED = 0.5
#: A channel with this many messages takes no more of a walk.
MAX_UNDER_WAY = 12

_SEEDS = st.integers(0, 2**32 - 1)


class ViolatedError(AssertionError):
    """A step has violated a property."""


@dataclass(frozen=True, slots=True)
class Target:
    """What is searched: a group of a number of nodes with some flaws, for some properties.

    `features` are those that a group has in every example; None where each example draws its own.
    """

    hunted: Hunted
    nodes: int
    flaws: tuple[str, ...]
    properties: frozenset[str]
    features: tuple[str, ...] | None = None


@dataclass(slots=True)
class Record:
    """What an example has done: its steps, and the first violation, if there was one."""

    moves: list[Move] = field(default_factory=list)
    violation: Violation | None = None


class Listener:
    """Watches a group, records its steps, and raises ViolatedError where one violates a wanted property."""

    def __init__(self, wanted: frozenset[str], record: Record) -> None:
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

    def __init__(self, target: Target, weights: Mapping[str, float], data: st.DataObject) -> None:
        """Draw the shape of a group, and start it.

        Arguments: `target`; `weights`, how often a walk takes each action; `data`, from which all chance comes.
        """
        self._target, self._weights, self._data = target, weights, data
        self.record = Record()
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
        draw = self._data.draw
        for _ in range(draw(st.integers(1, MAX_BATCHES))):
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
        """Take any steps that are possible, of some of the actions."""
        hunted = self._target.hunted
        actions = [
            each for each in hunted.actions if chance.random() < (WALKED / 2 if each in hunted.faults else WALKED)
        ]
        for _ in range(length):
            # The order of a weighted choice without replacement (Efraimidis and Spirakis, 2006).
            keys = {each: chance.random() ** (1 / self._weights.get(each, 1.0)) for each in actions}
            order = sorted(actions, key=lambda each: keys[each], reverse=True)
            if not any(self._take_any(chance, action) for action in order):
                return

    def _take_any(self, chance: random.Random, action: str) -> bool:
        """Take an action at some node with some arguments; return False where none is possible."""
        group, hunted = self.group, self._target.hunted
        nodes = list(group.node_ids)
        chance.shuffle(nodes)
        for node in nodes:
            found = list(hunted.candidates(group, node, action))
            chance.shuffle(found)
            for args in found:
                if group.enabled(node, action, *args) and not (action == "Duplicate" and self._is_full()):
                    group.take(node, action, *args)
                    return True
        return False

    def _is_full(self) -> bool:
        return sum(map(len, self.group.network.channels.values())) >= MAX_UNDER_WAY


def replay(target: Target, plan: Any, moves: Sequence[Move]) -> Record:
    """Take steps in a new group of a plan, without those that are not possible any more, up to a violation."""
    record = Record()
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


def counted(moves: Sequence[Move]) -> Counter[str]:
    """Count the steps of each action."""
    return Counter(action for _, action, _ in moves)
