"""Placement: the order in which recorded steps took effect, where it differs from the order of their lines.

A thread reads, then acts, then writes its line; meanwhile other threads wrote theirs. So a step may have
happened before lines that stand above its own, never after lines below it. Its place is found from what it
says it read. Each variable of a node has a `History`: its values, and the step that gave each. A step reads a
history with what held of the value it saw; the latest run of values for which this holds, at or above the
step's line, is the one it saw. From this follow the only edges there are:

- a step stands after the step that began the run it read, and before the step that ended it;
- the writers of one history keep the order of their lines;
- a step stands after those named in `after`: the one before it in its thread, and the sending, handling or
  loss of the message it is about.

`place` takes the steps from the last to the first: of those that no step still to be taken must follow, the
one with the highest line. So a step keeps the place of its line unless an edge demands an earlier one, and is
then moved no further than it must.

Where edges form a ring, no order explains the recording at this grain. The edges of the ring that demand a
move are then ignored and their steps counted as `forced`, as are those that read what no line gave: the
checker tells what the spec says of them, and a trace that has any does not hold.
"""

import heapq
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Generic, TypeVar

import networkx as nx

Value = TypeVar("Value")


@dataclass(eq=False)
class PlacedStep:
    """A step of the spec, while it is being told by lines.

    `line` is that of its effect. `changes` names the parts of `shows` that it may change, `peerWaterMarks.n1`
    for a part of a part; those in `late` were changed at the line `settled`, and lines before it do not show
    them yet. `sent` is None where no line told of a sending. `unread`: it says to have read what no line gave.
    `hidden`: no line tells of its effect; the one at `line` follows from it.
    """

    node: str
    action: str
    line: int
    t_ms: float
    args: dict[str, Any] = field(default_factory=dict)
    shows: dict[str, Any] = field(default_factory=dict)
    sent: list[dict[str, Any]] | None = None
    after: list["PlacedStep"] = field(default_factory=list)
    changes: set[str] = field(default_factory=set)
    late: set[str] = field(default_factory=set)
    settled: int = 0
    unread: bool = False
    hidden: bool = False


class History(Generic[Value]):
    """The values of one variable of one node, and the step that gave each."""

    def __init__(self, initial: Value) -> None:
        """Start with a value that no step gave."""
        self._values = [initial]
        self._writers: list[PlacedStep | None] = [None]
        self._reads: list[tuple[PlacedStep, Callable[[Value], bool], int, bool]] = []
        self._begin = 0

    @property
    def now(self) -> Value:
        """The value at the line that is being read."""
        return self._values[-1]

    def write(self, step: PlacedStep, value: Value) -> None:
        """Record that `step` gave `value`."""
        self._values.append(value)
        self._writers.append(step)

    def forget(self) -> None:
        """Let no later step read what was before the last value: the process has died."""
        self._begin = len(self._values) - 1

    def read(self, step: PlacedStep, holds: Callable[[Value], bool], *, ends: bool = True) -> bool:
        """Record that `step` saw a value for which `holds`; return whether there was one.

        With `ends` off, it does not matter when it ceased to hold.
        """
        for version in range(len(self._values) - 1, self._begin - 1, -1):
            if holds(self._values[version]):
                self._reads.append((step, holds, version, ends))
                return True
        step.unread = True
        return False

    def has_been(self, value: Value) -> bool:
        """Tell whether the variable has had `value`, now or since the process began."""
        return value in self._values[self._begin :]

    def is_past(self, value: Value) -> bool:
        """Tell whether `value` is one that the variable had before."""
        return value != self.now and self.has_been(value)

    def edges(self) -> Iterable[tuple[PlacedStep, PlacedStep]]:
        """Yield (earlier, later): the writers in order, each read after and before the writers around it."""
        writers = [writer for writer in self._writers if writer is not None]
        yield from ((earlier, later) for earlier, later in pairwise(writers) if earlier is not later)
        for step, holds, version, ends in self._reads:
            first = last = version
            while first > self._begin_of(version) and holds(self._values[first - 1]):
                first -= 1
            while ends and last + 1 < len(self._values) and holds(self._values[last + 1]):
                last += 1
            began = self._writers[first]
            if began is not None and began is not step:
                yield began, step
            if ends and last + 1 < len(self._values) and self._writers[last + 1] is not step:
                ended = self._writers[last + 1]
                assert ended is not None
                yield step, ended

    def _begin_of(self, version: int) -> int:
        return self._begin if version >= self._begin else 0


@dataclass
class Placement:
    """Steps in the order of their effects; those moved up, and those that no order explains."""

    steps: list[PlacedStep]
    moved: list[PlacedStep]
    forced: list[PlacedStep]


def place(steps: list[PlacedStep], histories: Iterable[History[Any]]) -> Placement:
    """Put `steps`, given in any order, in the order of their effects, and correct what they show."""
    recorded = sorted(steps, key=lambda step: step.line)
    position = {step: index for index, step in enumerate(recorded)}
    before: dict[PlacedStep, set[PlacedStep]] = {step: {s for s in step.after if s in position} for step in recorded}
    for history in histories:
        for earlier, later in history.edges():
            before[later].add(earlier)
    forced = _break_rings(position, before) | {step for step in recorded if step.unread}
    order = _latest_order(recorded, position, before)
    places = [position[step] for step in order]
    overtaken = _lowest_from(places)
    moved = [i for i, place_of in enumerate(places) if place_of > overtaken[i + 1]]
    _hide_what_became_untrue(order, recorded)
    return Placement(order, [order[i] for i in moved], [step for step in recorded if step in forced])


def _break_rings(position: dict[PlacedStep, int], before: dict[PlacedStep, set[PlacedStep]]) -> set[PlacedStep]:
    """Remove the edges against the order of lines from each ring; return the steps that they would move."""
    graph = nx.DiGraph((earlier, later) for later, all_before in before.items() for earlier in all_before)
    forced: set[PlacedStep] = set()
    for ring in nx.strongly_connected_components(graph):
        for later in ring if len(ring) > 1 else ():
            against = {step for step in before[later] & ring if position[step] > position[later]}
            before[later] -= against
            forced |= against
    return forced


def _latest_order(
    recorded: list[PlacedStep], position: dict[PlacedStep, int], before: dict[PlacedStep, set[PlacedStep]]
) -> list[PlacedStep]:
    """Order the steps from the last to the first, always the highest line that nothing left must follow."""
    followers = dict.fromkeys(recorded, 0)
    for all_before in before.values():
        for earlier in all_before:
            followers[earlier] += 1
    ready = [-position[step] for step in recorded if not followers[step]]
    heapq.heapify(ready)
    order: list[PlacedStep] = []
    while ready:
        step = recorded[-heapq.heappop(ready)]
        order.append(step)
        for earlier in before[step]:
            followers[earlier] -= 1
            if not followers[earlier]:
                heapq.heappush(ready, -position[earlier])
    order.reverse()
    if len(order) != len(recorded):
        raise AssertionError("steps that must precede each other were left")
    return order


def _lowest_from(numbers: list[int]) -> list[int]:
    """Return for each index the lowest number at it or after it; one more entry, higher than all, ends it."""
    lowest = [*numbers, max(numbers, default=0) + 1]
    for index in range(len(numbers) - 1, -1, -1):
        lowest[index] = min(lowest[index], lowest[index + 1])
    return lowest


def _hide_what_became_untrue(order: list[PlacedStep], recorded: list[PlacedStep]) -> None:
    """Remove what a line showed where the node's steps stand in another order than their lines.

    Of a step and one placed after it: the later one's line did not show the earlier one's changes if it was
    written before they were, and the earlier one's line showed the later one's if it was written after them.
    """
    lowest_line = _lowest_from([step.line for step in order])
    place_of_line = {step: index for index, step in enumerate(recorded)}
    for index, earlier in enumerate(order):
        settled = max(earlier.settled, earlier.line)
        for follower in range(index + 1, len(order)):
            if lowest_line[follower] >= settled:
                break
            later = order[follower]
            if later.node != earlier.node:
                continue
            if later.line < settled:
                _hide(later.shows, earlier.late)
            if place_of_line[later] < place_of_line[earlier]:
                _hide(later.shows, earlier.changes)
                _hide(earlier.shows, later.changes)


def _hide(shows: dict[str, Any], changed: set[str]) -> None:
    for path in changed:
        name, _, part = path.partition(".")
        if not part:
            shows.pop(name, None)
        elif name in shows:
            shows[name].pop(part, None)
            if not shows[name]:
                del shows[name]
