"""The elements that a change affects, where a property says something of every element of a set of the state.

``\\A x \\in D : P(x)`` held, and a step changed something. Affected are the elements that are new in D; those at whose
index a function changed that P reads there; those with a number that an element in a field has which came to a set, or
went, where P reads no others of that set; and those whose number lies between the old and the new limit of a
comparison. Where something else changed that P reads, all are affected.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import is_
from typing import Any, NamedTuple, TypeAlias

from lockstep.tla.compile.property_parts import EachPart, PathOf
from lockstep.tla.state import State
from lockstep.tla.values.equality import has_same, same_kind
from lockstep.tla.values.growing_functions import GrowingFcn, differing
from lockstep.tla.values.growing_values import GrowingSeq, GrowingSet
from lockstep.tla.values.integer_intervals import Interval
from lockstep.tla.values.kinds import Fcn, Value
from lockstep.tla.values.remembered_values import added_to

#: Where a step changed something: a variable, a key of its function, a key of the function there.
Change = tuple[Value, ...]

#: The states that a formula speaks of: the one, and the next if it speaks of that.
States = tuple[State, State | None]

_SETS = (frozenset, GrowingSet, Interval)
_SEQUENCES = (tuple, GrowingSeq)
_Set: TypeAlias = frozenset[Value] | GrowingSet | Interval

#: A path, in which None is any key.
_Place = tuple[Value | None, ...]

#: Numbers of elements: the field that has them (None: the element itself), from, to.
_Interval = tuple[str | None, int, int]


def at_elements(path: PathOf, elements: tuple[Value, ...]) -> _Place:
    """Return a path with the elements in the places of their numbers."""
    return tuple(elements[step] if isinstance(step, int) else step for step in path)


def overlap(path: _Place, change: Change) -> bool:
    """Return whether a path and a change lie one within the other; None is any key."""
    return all(step is None or step == key for step, key in zip(path, change, strict=False))


@dataclass(slots=True)
class _Places:
    """Paths that begin alike: the numbers of those that end here, and the others by their next key."""

    ends: set[int] = field(default_factory=set)
    below: dict[Value | None, _Places] = field(default_factory=dict)

    def all(self) -> Iterator[int]:
        yield from self.ends
        for each in self.below.values():
            yield from each.all()


class FootprintIndex:
    """Footprints by the keys of their paths, so that a change is looked up instead of compared with every path."""

    def __init__(self, footprints: Iterable[Iterable[_Place]]) -> None:
        """Take the paths of each footprint; its number is its place."""
        self._places = _Places()
        for number, paths in enumerate(footprints):
            for path in paths:
                at = self._places
                for key in path:
                    at = at.below.setdefault(key, _Places())
                at.ends.add(number)

    def affected_by(self, change: Change) -> list[int]:
        """Return the numbers of the footprints with a path that lies within a change, or the change within it."""
        level = [self._places]
        found = set(self._places.ends)
        for key in change:
            level = [each.below[step] for each in level for step in (key, None) if step in each.below]
            found.update(*(each.ends for each in level))
        found.update(*(each.all() for each in level))
        return sorted(found)


class _Touched(NamedTuple):
    """The parts of a formula that a change overlaps: the whole, the domain; functions, sets, limits by number."""

    whole: bool
    domain: bool
    at: tuple[int, ...]
    selections: tuple[int, ...]
    thresholds: tuple[int, ...]


class AffectedElements:
    """The elements of one quantifier's set that a change affects; every change that overlaps it must be reported."""

    def __init__(self, part: EachPart, elements: tuple[Value, ...]) -> None:
        self._part, self._elements = part, elements
        self._of_domain = [at_elements(path, elements) for path in part.of_domain]
        self._whole = [at_elements(path, elements) for path in part.whole]
        self._at = [(at_elements(path, elements), key, offset) for path, key, offset in part.at]
        self._selections = [(at_elements(path, elements), of, key, offset) for path, of, key, offset in part.selections]
        self._thresholds = [
            (key, offset, limit, [at_elements(path, elements) for path in paths])
            for key, offset, limit, paths in part.thresholds
        ]
        self._touched_by: dict[Change, _Touched] = {}
        self._indexed: Value = frozenset()
        keys = {key for _, key, _ in part.at} | {key for *_, key, _ in part.selections}
        keys |= {key for key, *_ in part.thresholds}
        self._indexes: dict[str, dict[Value, list[Value]]] = {key: {} for key in keys if key is not None}

    def affected(self, before: States, states: States, changed: Sequence[Change]) -> Iterable[Value] | None:
        """Return the elements for which P may be false of `states`, though it was true of those before; None: all.

        Arguments: `changed` is where the states, the last of each, differ.
        """
        touched = [self._touched(change) for change in changed]
        if any(each.whole for each in touched):
            return None
        intervals = self._intervals(before, states, changed, touched)
        if intervals is None:
            return None
        if self._part.range is not None:
            ends = [end(*each, *self._elements) for each in (states, before) for end in self._part.range]
            if not all(type(end) is int for end in ends):
                return None
            low, high, old_low, old_high = ends
            return self._in_range((low, high), (old_low, old_high), intervals)
        assert self._part.domain is not None
        domain = self._part.domain(*states, *self._elements)
        if not isinstance(domain, _SETS):
            return None
        new: frozenset[Value] = frozenset()
        if any(each.domain for each in touched):
            old = self._part.domain(*before, *self._elements)
            if not isinstance(old, _SETS):
                return None
            new = _new(domain, old)
        return {*new, *self._in_set(domain, intervals)} if intervals else new

    def _touched(self, change: Change) -> _Touched:
        """Return what a change overlaps; there are few places in a state where one can be."""
        found = self._touched_by.get(change)
        if found is None:
            found = self._touched_by[change] = _Touched(
                any(overlap(path, change) for path in self._whole),
                any(overlap(path, change) for path in self._of_domain),
                tuple(number for number, (path, *_) in enumerate(self._at) if overlap(path, change)),
                tuple(number for number, (path, *_) in enumerate(self._selections) if overlap(path, change)),
                tuple(
                    number
                    for number, (*_, paths) in enumerate(self._thresholds)
                    if any(overlap(path, change) for path in paths)
                ),
            )
        return found

    def _intervals(
        self, before: States, states: States, changed: Sequence[Change], touched: Sequence[_Touched]
    ) -> list[_Interval] | None:
        """Return the numbers of the elements that may have become wrong; None where that is not known."""
        found: list[_Interval] = []
        for change, each in zip(changed, touched, strict=True):
            for number in each.at:
                path, key, offset = self._at[number]
                ends = _ends(path, change, before, states)
                positions = None if ends is None else _positions(*ends)
                if positions is None:
                    return None
                found.append((key, positions[0] - offset, positions[1] - offset))
            for number in each.selections:
                path, of, key, offset = self._selections[number]
                ends = _ends(path, change, before, states)
                numbers = None if ends is None else _numbers(*ends, of)
                if numbers is None:
                    return None
                found += [(key, one - offset, one - offset) for one in numbers]
        for number in {number for each in touched for number in each.thresholds}:
            key, offset, limit, _paths = self._thresholds[number]
            old, new = limit(*before, *self._elements), limit(*states, *self._elements)
            if type(old) is not int or type(new) is not int:
                return None
            if old != new:
                found.append((key, min(old, new) - 1 - offset, max(old, new) + 1 - offset))
        return found

    def _in_range(self, now: tuple[int, int], before: tuple[int, int], intervals: list[_Interval]) -> Iterator[Value]:
        (low, high), (old_low, old_high) = now, before
        pieces = [(low, min(high, old_low - 1)), (max(low, old_high + 1), high)]
        if old_low > old_high:
            pieces = [(low, high)]
        pieces += [(max(low, first), min(high, last)) for _, first, last in intervals]
        for first, last in pieces:
            yield from range(first, last + 1)

    def _in_set(self, domain: _Set, intervals: list[_Interval]) -> Iterator[Value]:
        self._index(domain)
        for key, first, last in intervals:
            if key is None and isinstance(domain, Interval):
                yield from range(max(first, domain.low), min(last, domain.high) + 1)
                continue
            if key is None:
                yield from (each for each in _listed(domain) if type(each) is int and first <= each <= last)
                continue
            index = self._indexes[key]
            numbers = range(first, last + 1) if last - first < len(index) else index
            for number in numbers:  # TRUE stands for 1, too, where it came first: Python has one key for both
                if type(number) in (int, bool) and first <= number <= last:
                    yield from index.get(number, ())

    def _index(self, domain: _Set) -> None:
        """Sort the elements by their fields."""
        if domain is self._indexed or not self._indexes:
            return
        new = _new(domain, self._indexed)
        if len(self._indexed) + len(new) != len(domain):  # some are gone
            self._indexes = {key: {} for key in self._indexes}
            new = frozenset(_listed(domain))
        for each in new:
            for key, index in self._indexes.items():
                if isinstance(each, Fcn) and key in each.d:
                    index.setdefault(each.d[key], []).append(each)
        self._indexed = domain


def _new(domain: _Set, before: _Set) -> frozenset[Value]:
    """Return what a set has that another has not: where one has 1 and the other TRUE, which Python holds equal, too."""
    if isinstance(domain, Interval) and isinstance(before, Interval):
        lower, higher = min(domain.high + 1, before.low), max(domain.low, before.high + 1)
        return frozenset((*range(domain.low, lower), *range(higher, domain.high + 1)))
    added = _added(domain, before)
    if added is not None:
        return frozenset(each for each in added if not _is_among(each, before))
    if isinstance(before, GrowingSet):
        return frozenset(each for each in _listed(domain) if each not in before)
    old = dict(zip(before, before, strict=True))
    return frozenset(each for each in _listed(domain) if not _is_same(each, old.get(each, _ABSENT)))


def _added(domain: _Set, before: _Set) -> Iterable[Value] | None:
    """Return elements of a set, and among them all that another has not; None where all may be."""
    added = added_to(before, domain)
    if added is None and type(domain) is GrowingSet and type(before) is GrowingSet:
        return domain.since(before)
    return added


def _listed(elements: _Set) -> Iterable[Value]:
    """List a set in any order: a long one takes long to sort."""
    return elements.items() if isinstance(elements, GrowingSet) else elements


def _is_among(element: Value, before: _Set) -> bool:
    return has_same(before, element) if isinstance(before, frozenset) else element in before


def _is_same(element: Value, found: Value) -> bool:
    return found is element or (found is not _ABSENT and same_kind(found, element))


_ABSENT: Any = object()


def _at(state: State, path: Change) -> Value:
    """Return the value at the place of a change."""
    found: Value = state[path[0]]
    for key in path[1:]:
        assert isinstance(found, Fcn)
        found = found.d[key]
    return found


def _ends(path: _Place, change: Change, before: States, states: States) -> tuple[Value, Value] | None:
    """Return the values at a path before and after a change there or above; None where that is not one place."""
    below = path[len(change) :]
    if len(change) > len(path) or None in below:
        return None
    ends = [_at(before[0], change), _at(states[1] or states[0], change)]
    for key in below:
        if not all(type(each) is Fcn and key in each.d for each in ends):
            return None
        ends = [each.d[key] for each in ends]
    return ends[0], ends[1]


def _numbers(before: Value, after: Value, of: str) -> set[int] | None:
    """Return the numbers in a field of the elements that one of two sets lacks; None where one has none there."""
    if not isinstance(before, _SETS) or not isinstance(after, _SETS):
        return None
    new = _new(after, before)
    differing = new if len(before) + len(new) == len(after) else new | _new(before, after)
    numbers = {each.d.get(of) if isinstance(each, Fcn) else None for each in differing}
    return {number for number in numbers if number is not None} if set(map(type, numbers)) <= {int} else None


def _keys_between(before: Mapping[Value, Value], after: Mapping[Value, Value]) -> tuple[int, int] | None:
    """Return the least and the greatest integer at which two functions differ, by identity."""
    differing = [key for key, value in after.items() if before.get(key, _ABSENT) is not value]
    differing += [key for key in before if key not in after]
    if not all(type(key) is int for key in differing):
        return None
    return (min(differing), max(differing)) if differing else (1, 0)


def _table(function: Value) -> Mapping[Value, Value] | None:
    """Return a function, which may be a sequence, as a dict; None for anything else."""
    if isinstance(function, _SEQUENCES):
        return dict(enumerate(function, 1))
    function = function.force() if isinstance(function, GrowingFcn) else function
    return function.d if type(function) is Fcn else None


def _positions(before: Value, after: Value) -> tuple[int, int] | None:
    """Return the first and the last index, from 1 on, at which two sequences differ, or two functions on integers.

    None if they are neither; 1 and 0 if they do not differ.
    """
    if (found := differing(before, after)) is not None:
        return found
    if not (isinstance(before, _SEQUENCES) and isinstance(after, _SEQUENCES)):
        old, new = _table(before), _table(after)
        return None if old is None or new is None else _keys_between(old, new)
    if added_to(before, after) is not None:
        return len(before) + 1, len(after)
    common = min(len(before), len(after))
    if not all(map(is_, before, after)):
        common = next(number for number in range(common) if before[number] is not after[number])
    return common + 1, max(len(before), len(after))
