"""Sets in TLC's order, which depends on the order in which TLC reads names.

TLC orders strings, model values and the fields of records by numbers that it gives names as it reads them
(:mod:`lockstep.tla.syntax.interning`). Two things follow from that order: which of several witnesses a CHOOSE takes,
and which of several next states comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, cast

from lockstep.tla.values.constructed_sets import PowerSet
from lockstep.tla.values.equality import ordered
from lockstep.tla.values.kinds import ModelValue, TlaError, Value, forced, format_value, sort_key
from lockstep.tla.values.lazy_sets import LazySet
from lockstep.tla.values.quantifier_bounds import listed

__all__ = ["Names"]

#: The most orders of sets of names that are remembered: constants, mostly.
_MOST_ORDERS = 4096
#: The most orders of other sets that are remembered, of the very sets: constants are, what a state holds seldom is.
_MOST_SORTED = 64
#: The most orders of sets of integers that are remembered, of the very sets: nested quantifiers range over a few again
#: and again.
_MOST_INTEGERS = 256


class Names:
    """The order of a project's names, and of sets by it."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        """Take the number of each name."""
        self._number = numbers.__getitem__
        self._orders: dict[frozenset[Value], list[Value]] = {}
        self._sorted: dict[int, tuple[frozenset[Value], list[Value]]] = {}
        self._integers: dict[int, tuple[frozenset[Value], list[Value]]] = {}
        self._unknown: dict[int, tuple[frozenset[Value], Iterable[Value]]] = {}
        self._order = self.elements

    def sorted(self, elements: Collection[Value]) -> list[Value] | None:
        """List elements in TLC's order; None where a name is not known, and with it the order."""
        kinds = set(map(type, elements))
        number = self._number
        try:
            if kinds <= {int} or kinds <= {bool}:
                return sorted(elements)
            if kinds <= {str}:
                return sorted(elements, key=number)
            if kinds <= {ModelValue}:
                return sorted(elements, key=lambda value: number(value.name))
            return sorted(elements, key=lambda value: sort_key(value, number))
        except KeyError:
            return None

    def elements(self, container: Value) -> Iterable[Value]:
        """List a set in TLC's order, as far as it is known.

        Raises:
            TlaError: if it cannot be listed, even if nobody wants an element.
        """
        if type(container) is not frozenset:
            if isinstance(container, LazySet):
                container.list_by(self._order)
            return listed(container)
        kept = self._unknown.get(id(container))
        if kept is not None and kept[0] is container:
            return kept[1]
        found = self._in_order(container)
        return self._of_unknown_order(container) if found is None else found

    def _of_unknown_order(self, container: frozenset[Value]) -> Iterable[Value]:
        """List a set whose order is not known in one that is the same each time, found once for the very set."""
        if len(self._unknown) == _MOST_SORTED:
            del self._unknown[next(iter(self._unknown))]
        listed_ = ordered(container)
        self._unknown[id(container)] = (container, listed_)
        return listed_

    def _in_order(self, container: frozenset[Value]) -> Collection[Value] | None:
        """List a set in TLC's order, found out once for the very set; None where the order is not known."""
        if len(container) < 2:
            return container
        kept = self._sorted.get(id(container))
        if kept is not None and kept[0] is container:
            return kept[1]
        known = self._orders.get(container)
        if known is not None:
            return known
        kept = self._integers.get(id(container))
        if kept is not None and kept[0] is container:
            return kept[1]
        found = self.sorted(container)
        if found is None:
            return None
        if type(found[0]) is int or type(found[0]) is bool:
            if len(self._integers) == _MOST_INTEGERS:
                self._integers.clear()
            self._integers[id(container)] = (container, found)
        elif all(type(element) is ModelValue or type(element) is str for element in found):
            if len(self._orders) == _MOST_ORDERS:
                self._orders.clear()
            self._orders[container] = found
        else:
            if len(self._sorted) == _MOST_SORTED:
                del self._sorted[next(iter(self._sorted))]
            self._sorted[id(container)] = (container, found)
        return found

    def choose(self, container: Value, holds: Callable[[Value], bool], unique: bool, place: str) -> Value:
        """Decide ``CHOOSE x \\in container : holds(x)``: the first witness in TLC's order.

        Raises:
            TlaError: if there is no witness, or if there are two where one was asked for, or their order is not known.
        """
        candidates, is_known = self._candidates(container)
        found: list[Value] = []
        for value in candidates:
            if holds(value):
                if is_known and not unique:
                    return value
                found.append(value)
                if len(found) == 2:
                    pair = " and ".join(map(format_value, found))
                    why = "" if is_known else ", and TLC's choice among them is not known"
                    raise TlaError(f"CHOOSE at {place} has more than one witness: {pair}{why}")
        if not found:
            raise TlaError(f"CHOOSE at {place} has no witness")
        return found[0]

    def choose_extreme(
        self,
        extreme: Callable[[Iterable[Any]], Any],
        container: Value,
        holds: Callable[[Value], bool],
        unique: bool,
        place: str,
    ) -> Value:
        """Decide a CHOOSE of the greatest or least element, as `choose` does, at once for a set of integers.

        Arguments: `extreme`, which is max or min; the others, as of `choose`.
        """
        if type(container) is range and container:
            return cast(int, extreme((container[0], container[-1])))
        if type(container) is frozenset and container and set(map(type, container)) == {int}:
            return cast(int, extreme(container))
        return self.choose(container, holds, unique, place)

    def _candidates(self, container: Value) -> tuple[Iterable[Value], bool]:
        """List a set in TLC's order, and tell whether that is known."""
        if type(container) is range:
            return container, True
        if isinstance(container, PowerSet):
            base = self.sorted(forced(container.base))
            return (container.items(), False) if base is None else (container.subsets(base), True)
        elements = forced(container)
        if type(elements) is not frozenset:
            return listed(elements), True
        found = self._in_order(elements)
        return (ordered(elements), False) if found is None else (found, True)
