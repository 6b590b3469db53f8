"""Placement: the order in which recorded steps took effect, where it differs from the order of their lines.

A thread reads, then acts, then writes its line; meanwhile other threads wrote theirs. So a step may have
happened before lines that stand above its own, never after lines below it. Its place is found from what it
says it read. Each variable of a node has a `History`: its values, and the step that gave each. A step reads a
history with what held of the value it saw; the latest run of values for which this holds, at or above the
step's line, is the one it saw. From this follow the only edges there are:

- a step stands after the step that began the run it read, and before the step that ended it;
- the writers of one history keep the order of their lines;
- a step stands after those named in `after`: the one before it in its thread, the sending, handling or loss of the
  message it is about, and what a full pendingMap makes it wait for.

`place` takes the steps from the last to the first: of those that no step still to be taken must follow, the
one with the highest line. So a step keeps the place of its line unless an edge demands an earlier one, and is
then moved no further than it must.

Where edges form a ring, no order of the spec's steps explains the recording. Of the edges of the ring that demand a
move, those that demand the shortest ones are followed as long as they make no ring; the others are ignored. The
steps that these would move are counted as `forced`, as are those that read a value that no line gave. A trace that has
any does not hold, and what is wrong in it from where its order is disputed is no violation.
"""

import heapq
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from typing import Any, Generic, TypeVar

import networkx as nx

from lockstep.systems.growing_import import ContradictedError

Value = TypeVar("Value")


@dataclass(eq=False)
class PlacedStep:
    """A step of the spec, built from lines.

    `line` is that of its effect. `changes` names the parts of `shows` that it may change, `peerWaterMarks.n1`
    for a part of a part; those in `late` were changed at the line `settled`, and lines before it do not show
    them yet. `sent` is None where no line shows a sending. `unread`: it has read a value that no line gave.
    `hidden`: no line shows its effect; the one at `line` follows from it.
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
        #: The last version whose writer has its place for good.
        self._settled = 0

    @property
    def now(self) -> Value:
        """The value at the line that is being read."""
        return self._values[-1]

    def last(self, holds: Callable[[Value], bool]) -> Value | None:
        """Return the last value for which `holds`, None if this process had none."""
        return next((value for value in reversed(self._values[self._begin :]) if holds(value)), None)

    def taken_at(self, value: Value) -> int:
        """Return the line at which the variable last became `value`; -1 if no line of this process did."""
        for version in range(len(self._values) - 1, self._begin - 1, -1):
            writer = self._writers[version]
            if self._values[version] == value and writer is not None:
                return writer.line
        return -1

    def write(self, step: PlacedStep, value: Value) -> None:
        """Record that `step` gave `value`."""
        self._values.append(value)
        self._writers.append(step)

    def change(self, since: PlacedStep, changed: Callable[[Value], Value]) -> None:
        """Take other values for those from the one that `since` gave on, if it gave one."""
        if since in self._writers:
            first = self._writers.index(since)
            self._values[first:] = map(changed, self._values[first:])

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

    def last_held(self, holds: Callable[[Value], bool]) -> float:
        """Return the line at which `holds` ceased to hold: infinity if it does hold, -1 if it never did."""
        if holds(self.now):
            return inf
        for version in range(len(self._values) - 2, self._begin - 1, -1):
            if holds(self._values[version]):
                ended = self._writers[version + 1]
                assert ended is not None
                return ended.line
        return -1

    def has_been(self, value: Value) -> bool:
        """Return whether the variable has had `value`, now or since the process began."""
        return value in self._values[self._begin :]

    def is_past(self, value: Value) -> bool:
        """Return whether `value` is one that the variable had before."""
        return value != self.now and self.has_been(value)

    def settle(self, steps: Collection[PlacedStep]) -> None:
        """Forget what only steps that have their place for good demanded."""
        self._reads = [read for read in self._reads if read[0] not in steps]
        while self._settled + 1 < len(self._writers) and self._writers[self._settled + 1] in steps:
            self._settled += 1

    def edges(self) -> Iterable[tuple[PlacedStep, PlacedStep]]:
        """Yield (earlier, later): the writers in order, each read after and before the writers around it."""
        writers = [writer for writer in self._writers[self._settled :] if writer is not None]
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
    """Steps in the order of their effects; those moved up, and those that no order explains.

    From each step of `disputed` on, the recording contradicts each order in part. `dropped` are the edges at fault:
    pairs of an earlier step and a later one, whose order is the other way round in `steps`.
    """

    steps: list[PlacedStep]
    moved: list[PlacedStep]
    forced: list[PlacedStep]
    disputed: list[PlacedStep]
    dropped: list[tuple[PlacedStep, PlacedStep]]

    def faults(self) -> Iterator[tuple[int, str]]:
        """Yield the line and the fault of each step that is forced: of an edge that was dropped, once for each."""
        for earlier, later in self.dropped:
            other = f"{later.action} of {later.node} (line {later.line})"
            fault = f"should stand before {other}, and all else that is recorded puts it behind; this demand is dropped"
            yield earlier.line, f"{earlier.action} of {earlier.node} {fault}"
        for step in self.forced:
            if step.unread:
                yield step.line, f"{step.action} of {step.node} has read a value that no line gave"


def place(steps: list[PlacedStep], histories: Iterable[History[Any]]) -> Placement:
    """Put `steps`, given in any order, in the order of their effects, and correct what they show.

    Raises ContradictedError where one of them must stand before a step that has its place already.
    """
    recorded = sorted(steps, key=lambda step: step.line)
    position = {step: index for index, step in enumerate(recorded)}
    before: dict[PlacedStep, set[PlacedStep]] = {step: {s for s in step.after if s in position} for step in recorded}
    for history in histories:
        for earlier, later in history.edges():
            if earlier in position and later not in position:
                raise ContradictedError(f"line {earlier.line} stands before line {later.line}, which has its place")
            if earlier in position:
                before[later].add(earlier)
    dropped, rings = _break_rings(position, before)
    at_fault = {earlier for earlier, _ in dropped}
    forced = [step for step in recorded if step in at_fault or step.unread]
    order = _latest_order(recorded, position, before)
    places = [position[step] for step in order]
    overtaken = _lowest_from(places)
    moved = [i for i, place_of in enumerate(places) if place_of > overtaken[i + 1]]
    _hide_what_became_untrue(order, recorded)
    disputed = _disputed(order, before, forced, rings)
    return Placement(order, [order[i] for i in moved], forced, disputed, dropped)


def _break_rings(
    position: dict[PlacedStep, int], before: dict[PlacedStep, set[PlacedStep]]
) -> tuple[list[tuple[PlacedStep, PlacedStep]], list[set[PlacedStep]]]:
    """Remove from each ring the edges at fault; return these, and the rings' steps.

    An edge along the order of lines is never at fault, since these alone make no ring. The others are taken by how far
    they demand a move, the shortest first, and one that closes a ring with those taken before is at fault.
    """
    graph = nx.DiGraph((earlier, later) for later, all_before in before.items() for earlier in all_before)
    dropped: list[tuple[PlacedStep, PlacedStep]] = []
    rings = [ring for ring in nx.strongly_connected_components(graph) if len(ring) > 1]
    for ring in rings:
        within = sorted(ring, key=position.__getitem__)
        place = {step: index for index, step in enumerate(within)}
        edges = [(place[earlier], place[later]) for later in within for earlier in before[later] & ring]
        order = _GrowingOrder(len(within), (edge for edge in edges if edge[0] < edge[1]))
        against = sorted((edge for edge in edges if edge[0] > edge[1]), key=lambda edge: (edge[0] - edge[1], edge))
        for earlier, later in against:
            if not order.takes(earlier, later):
                before[within[later]].discard(within[earlier])
                dropped.append((within[earlier], within[later]))
    return dropped, rings


class _GrowingOrder:
    """An order of the numbers below `count` that follows a growing set of edges, as Pearce and Kelly keep one.

    "A dynamic topological sort algorithm for directed acyclic graphs", J. Exp. Algorithmics 11 (2006): an edge against
    the order costs no more than what stands between its ends.
    """

    def __init__(self, count: int, along: Iterable[tuple[int, int]]) -> None:
        """Begin with edges that go from a lower number to a higher one."""
        self._place = list(range(count))
        self._after: list[list[int]] = [[] for _ in range(count)]
        self._before: list[list[int]] = [[] for _ in range(count)]
        for earlier, later in along:
            self._add(earlier, later)

    def takes(self, earlier: int, later: int) -> bool:
        """Add an edge, and reorder what it demands; return whether it closes no ring. One that does is not added."""
        place = self._place
        low, high = place[later], place[earlier]
        if low < high:
            following = self._reached(later, self._after, lambda at: at <= high)
            if earlier in following:
                return False
            preceding = self._reached(earlier, self._before, lambda at: at >= low)
            moved = [*sorted(preceding, key=place.__getitem__), *sorted(following, key=place.__getitem__)]
            for each, at in zip(moved, sorted(place[each] for each in moved), strict=True):
                place[each] = at
        self._add(earlier, later)
        return True

    def _add(self, earlier: int, later: int) -> None:
        self._after[earlier].append(later)
        self._before[later].append(earlier)

    def _reached(self, start: int, edges: list[list[int]], is_within: Callable[[int], bool]) -> set[int]:
        """Return what edges lead to from a number, itself too, without leaving the places between."""
        found, left = {start}, [start]
        while left:
            for each in edges[left.pop()]:
                if each not in found and is_within(self._place[each]):
                    found.add(each)
                    left.append(each)
        return found


def _disputed(
    order: list[PlacedStep],
    before: dict[PlacedStep, set[PlacedStep]],
    forced: list[PlacedStep],
    rings: list[set[PlacedStep]],
) -> list[PlacedStep]:
    """Return the steps from which on the recording contradicts each order.

    Of a ring, that is its first step: whichever of its edges goes, the steps placed before that one are the same. Of a
    step that read what no line gave, it is the first after those that it must follow: it may stand anywhere from there.
    """
    place_of = {step: place for place, step in enumerate(order)}
    begins = {min(place_of[step] for step in ring) for ring in rings if not ring.isdisjoint(forced)}
    for step in forced:
        if step.unread:
            begins.add(max((place_of[earlier] for earlier in before[step]), default=-1) + 1)
    return [order[place] for place in sorted(begins)]


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
