"""Sets in TLC's order, which depends on the order in which TLC reads names.

TLC orders strings, model values and the fields of records by numbers that it gives names as it reads them
(:mod:`lockstep.tla.syntax.interning`). Two things follow from that order: which of several witnesses a CHOOSE takes,
and which of several next states comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import partial
from typing import Any, cast

from lockstep.tla.values.constructed_sets import PowerSet
from lockstep.tla.values.equality import ordered
from lockstep.tla.values.growing_values import GrowingSet
from lockstep.tla.values.integer_intervals import Interval
from lockstep.tla.values.kinds import ModelValue, TlaError, Value, forced, format_value, sort_key
from lockstep.tla.values.lazy_sets import LazySet
from lockstep.tla.values.quantifier_bounds import listed
from lockstep.tla.values.remembered_values import Latest

#: The most orders of sets of names (constants, mostly), and of other sets, that are remembered. Other orders
#: are remembered by the set's identity: nested quantifiers range over a few again and again.
_MAX_ORDERS, _MAX_OTHERS = 4096, 256


class NameOrder:
    """The order of a project's names, and of sets by it."""

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._number = numbers.__getitem__
        self._orders: dict[frozenset[Value], list[Value]] = {}
        self._others = Latest(_MAX_OTHERS)
        self._order = self.elements
        self._key = partial(sort_key, number=self._number)
        self._unknown = Latest(_MAX_OTHERS)

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
            return sorted(elements, key=self._key)
        except KeyError:
            return None

    def elements(self, container: Value) -> Iterable[Value]:
        """List a set in TLC's order; where that is not known, in one that is the same each time.

        Raises:
            TlaError: if it cannot be listed, even if no element is wanted.
        """
        if type(container) is not frozenset:
            if isinstance(container, GrowingSet):
                return self._of_growing(container)
            if isinstance(container, LazySet):
                container.list_by(self._order)
            return listed(container)
        found = self._others.get(id(container))
        return self._in_order(container)[0] if found is None else found[1]

    def _of_growing(self, container: GrowingSet) -> Iterable[Value]:
        """List a set that shares its elements; once a name in one is not known, none of the longer ones is tried."""
        found = self._unknown.get(id(container.shared))
        if found is None or len(container) < found[1]:
            try:
                return container.sorted_by(self._key)
            except KeyError:
                self._unknown.remember(container.shared, len(container))
        return container

    def _in_order(self, container: frozenset[Value]) -> tuple[Collection[Value], bool]:
        """List a set in order; return with it whether that is TLC's."""
        if len(container) < 2:
            return container, True
        found = self._others.get(id(container))
        if found is not None:
            return found[1], found[2]
        known = self._orders.get(container)
        if known is not None:
            return known, True
        order = self.sorted(container)
        if order is not None and all(type(element) is ModelValue or type(element) is str for element in order):
            if len(self._orders) == _MAX_ORDERS:
                self._orders.clear()
            self._orders[container] = order
            return order, True
        listing = list(ordered(container)) if order is None else order
        self._others.remember(container, listing, order is not None)
        return listing, order is not None

    def choose(self, container: Value, holds: Callable[[Value], bool], place: str) -> Value:
        """Decide ``CHOOSE x \\in container : holds(x)``: the first witness in TLC's order.

        Raises:
            TlaError: if there is no witness, or if there are two and their order is not known.
        """
        candidates, is_known = self._candidates(container)
        found: list[Value] = []
        for value in candidates:
            if holds(value):
                if is_known:
                    return value
                found.append(value)
                if len(found) == 2:
                    pair = " and ".join(map(format_value, found))
                    problem = f"has more than one witness: {pair}, and TLC's choice among them is not known"
                    raise TlaError(f"CHOOSE at {place} {problem}")
        if not found:
            raise TlaError(f"CHOOSE at {place} has no witness")
        return found[0]

    def choose_extreme(
        self,
        extreme: Callable[[Iterable[Any]], Any],
        container: Value,
        holds: Callable[[Value], bool],
        place: str,
    ) -> Value:
        """Decide a CHOOSE of the greatest or least element (`extreme` is max or min), at once for a set of integers."""
        if type(container) is range and container:
            return cast(int, extreme((container[0], container[-1])))
        if type(container) is frozenset and container and set(map(type, container)) == {int}:
            return cast(int, extreme(container))
        if type(container) is Interval:
            return cast(int, extreme((container.low, container.high)))
        return self.choose(container, holds, place)

    def _candidates(self, container: Value) -> tuple[Iterable[Value], bool]:
        """List a set in order; return with it whether that is TLC's."""
        if type(container) is range:
            return container, True
        if isinstance(container, PowerSet):
            base = self.sorted(forced(container.base))
            return (container.items(), False) if base is None else (container.subsets(base), True)
        elements = forced(container)
        return self._in_order(elements) if type(elements) is frozenset else (listed(elements), True)
