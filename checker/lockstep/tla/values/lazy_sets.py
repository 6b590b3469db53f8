"""Sets known by a membership test, and operations on any set: membership, order, finiteness.

Each set that is finite can be listed, and then equals the ``frozenset`` of its elements, hash included. An error
in a set is raised where TLC would find it: when the set is used, not when it is made.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, cast

from lockstep.tla.values.equality import compare, eq, lookup, ordered
from lockstep.tla.values.frozen_values import Unlisted, frozen
from lockstep.tla.values.kinds import ModelValue, TlaError, Value, wrong

#: The number of elements of an unlisted set that are remembered once they have been computed.
_MAX_SEEN = 4096


class LazySet(Unlisted):
    """A set known by its membership test; subclasses give :meth:`has` and, if it can be listed, :meth:`items`."""

    __slots__ = ("_forced", "_rest", "_seen", "order")
    tla_kind = "set"
    name = "a set"
    sample: Value | None = None

    def __init__(self) -> None:
        self._forced: frozenset[Value] | None = None
        self._seen: list[Value] = []
        self._rest: Iterator[Value] | None = None
        self.order: Callable[[Value], Iterable[Value]] = in_order

    def list_by(self, order: Callable[[Value], Iterable[Value]]) -> None:
        """Have the sets that this one is made of listed in another order from now on."""
        if self.order is not order:
            self.order, self._seen, self._rest = order, [], None

    def listed(self, part: Value) -> list[Value]:
        """List a set that this one is made of."""
        # By its iterator: Python would compute the length of a set first, which changes how it is listed.
        return list(iter(self.order(part)))

    def __getstate__(self) -> object:
        """Pickle the set without the progress of listings."""
        plain, slots = cast("tuple[object, dict[str, object]]", super().__getstate__())
        return plain, {**slots, "_seen": [], "_rest": None, "order": in_order}

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return all(map(is_listable, self.made_of()))

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it; raises TlaError where TLC cannot."""
        return all(map(is_finite, self.made_of()))

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        raise NotImplementedError  # see Unlisted.force

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        raise self._endless()

    def compared(self, other: Any) -> bool | None:
        """Decide whether a set of the same class is equal; None if they cannot be compared."""
        if not (self.finite and other.finite):
            return None
        return compare(self.force(), other.force())

    def force(self) -> frozenset[Value]:
        """Return the set as a ``frozenset``; raises TlaError if it is infinite."""
        known = self._forced
        if known is None:
            if not self.finite:
                raise self._endless()
            self._forced = known = self.united(map(frozen, self.items()))
            self._seen, self._rest = [], None
        return known

    def united(self, elements: Iterable[Value]) -> frozenset[Value]:
        """Make a ``frozenset`` of the elements."""
        return frozenset(elements)

    def _listing(self) -> Iterator[Value]:
        """Begin to list the elements: in the order of its class, or in that of any set once all were needed."""
        return self.items() if self._forced is None else iter(self.order(self._forced))

    def made_of(self) -> Iterable[Value]:
        """List the sets that this one is made of."""
        return ()

    def _endless(self) -> TlaError:
        for part in self.made_of():
            if not is_set(part):
                return wrong(self.name, "sets", part)
        return TlaError(f"{self.name} is infinite and cannot be listed")

    def __contains__(self, value: Value) -> bool:
        return self.has(value)

    def __iter__(self) -> Iterator[Value]:
        if not self.finite:
            raise self._endless()
        return self._remembering()

    def _remembering(self) -> Iterator[Value]:
        """List the elements; those that a listing has reached, a later one does not compute again.

        Where computing fails, each listing under way, and each later one, computes for itself and fails there itself.
        """
        if self._rest is None:
            self._seen, self._rest = [], self._listing()
        listing = self.items if self._forced is None else self._listing
        seen, rest, index = self._seen, self._rest, 0
        while True:
            if index == len(seen):
                if index == _MAX_SEEN or self._rest is not rest:
                    yield from itertools.islice(listing(), index, None)
                    return
                try:
                    seen.append(next(rest))
                except StopIteration:
                    return
                except BaseException:
                    self._rest = None
                    raise
            yield seen[index]
            index += 1

    def __len__(self) -> int:
        return len(self.force())

    def __hash__(self) -> int:
        return hash(self.force()) if self.finite else hash(self.name)

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.equality.eq`."""
        if self is other:
            return True
        if not isinstance(other, (LazySet, frozenset)):
            return NotImplemented
        return eq(self, other)


def is_set(value: Value) -> bool:
    """Return whether a value is a set."""
    return type(value) is frozenset or isinstance(value, LazySet)


def is_listable(value: Value) -> bool:
    """Return whether a value is a set whose elements can be listed."""
    return type(value) is frozenset or (isinstance(value, LazySet) and value.finite)


def is_finite(value: Value) -> bool:
    """Decide ``IsFiniteSet(value)``; raises TlaError if it is no set, or TLC cannot decide it."""
    if type(value) is frozenset:
        return True
    if isinstance(value, LazySet):
        return value.is_finite()
    raise wrong("IsFiniteSet", "a set", value)


def member(value: Value, container: Value) -> bool:
    """Decide ``value \\in container``.

    Raises:
        TlaTypeError: if ``container`` is not a set, or ``value`` cannot be compared with its elements.
    """
    if type(container) is frozenset:
        kind = type(value)
        if (kind is ModelValue or kind is str) and value in container:
            return True
        return lookup(container, value) is not None
    if isinstance(container, LazySet):
        return container.has(value)
    raise wrong("\\in", "a set on its right", container)


def in_order(value: Value) -> Iterable[Value]:
    """List a set in its deterministic order; raises TlaError if it cannot be listed."""
    if type(value) is frozenset:
        return ordered(value)
    if isinstance(value, LazySet):
        return iter(value)
    raise wrong("a bound", "a set", value)
