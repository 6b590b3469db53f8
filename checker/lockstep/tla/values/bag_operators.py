"""Bags: functions from elements to their numbers of copies."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from lockstep.tla.values.equality import lookup
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.function_operators import table_of
from lockstep.tla.values.kinds import Fcn, Value, as_fcn, wrong
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.number_operators import fitting
from lockstep.tla.values.quantifier_bounds import elements
from lockstep.tla.values.set_operators import finite_set

__all__ = [
    "bag_cardinality",
    "bag_cup",
    "bag_in",
    "bag_minus",
    "bag_of_all",
    "bag_to_set",
    "bag_union",
    "bag_within",
    "copies_in",
    "is_a_bag",
    "set_to_bag",
]


def _is_number(count: Value) -> bool:
    # Not `type`: what stands for a part that a search by tables has not read is asked by isinstance alone.
    return isinstance(count, int) and not isinstance(count, bool)


def _copies(operator: str, bag: Value) -> dict[Value, int]:
    """Return how many copies of each element a bag has; elements without a positive number are no error here."""
    table = table_of(bag, operator)
    for count in table.values():
        if not _is_number(count):
            raise wrong(operator, "a bag", bag)
    return table


def is_a_bag(bag: Value) -> bool:
    """Decide ``IsABag(bag)``."""
    if type(bag) is not tuple and type(bag) is not Fcn and not isinstance(bag, LazyFcn):
        return False
    return all(_is_number(count) and count > 0 for count in table_of(bag, "IsABag").values())


def _bag(operator: str, bag: Value) -> dict[Value, int]:
    if not is_a_bag(bag):
        raise wrong(operator, "a bag", bag)
    return table_of(bag, operator)


def bag_to_set(bag: Value) -> Value:
    """Compute ``BagToSet(bag)``."""
    return frozenset(table_of(bag, "BagToSet"))


def set_to_bag(container: Value) -> Value:
    """Compute ``SetToBag(container)``."""
    return as_fcn(dict.fromkeys(finite_set("SetToBag", container), 1))


def bag_in(element: Value, bag: Value) -> bool:
    """Decide ``BagIn(element, bag)``."""
    return copies_in(element, bag) > 0


def copies_in(element: Value, bag: Value) -> int:
    """Compute ``CopiesIn(element, bag)``."""
    table = table_of(bag, "CopiesIn")
    if lookup(table, element) is None:
        return 0
    count: int = table[element]
    if not _is_number(count):
        raise wrong("CopiesIn", "a bag", bag)
    return count


def bag_cardinality(bag: Value) -> int:
    """Compute ``BagCardinality(bag)``."""
    return sum(_bag("BagCardinality", bag).values())


def bag_cup(left: Value, right: Value) -> Value:
    """Compute ``left (+) right``."""
    return _bag_sum(_bag("(+)", left), _bag("(+)", right))


def _bag_sum(left: dict[Value, int], right: dict[Value, int]) -> Value:
    total = dict(left)
    for element, count in right.items():
        known = lookup(left, element) is not None
        total[element] = fitting("(+)", left[element] + count) if known else count
    return as_fcn(total)


def bag_minus(left: Value, right: Value) -> Value:
    """Compute ``left (-) right``."""
    return as_fcn({element: count for element, count in _remaining("(-)", left, right) if count > 0})


def _remaining(operator: str, left: Value, right: Value) -> Iterator[tuple[Value, int]]:
    """Count the copies of each element that a bag has more than another."""
    more, less = _copies(operator, left), _copies(operator, right)
    for element, count in more.items():
        yield element, count - (less[element] if lookup(less, element) is not None else 0)


def bag_within(left: Value, right: Value) -> bool:
    """Decide ``left \\sqsubseteq right``."""
    return all(count <= 0 for _, count in _remaining("\\sqsubseteq", left, right))


def bag_union(bags: Value) -> Value:
    """Compute ``BagUnion(bags)``."""
    each = list(elements(finite_set("BagUnion", bags)))
    if len(each) < 2:
        return each[0] if each else ()
    total = each[0]
    for bag in each[1:]:
        total = _bag_sum(_copies("BagUnion", total), _copies("BagUnion", bag))
    return total


def bag_of_all(each: Callable[[Value], Value], bag: Value) -> Value:
    """Compute ``BagOfAll(each, bag)``."""
    total: dict[Value, Value] = {}
    for element, count in _copies("BagOfAll", bag).items():
        image = frozen(each(element))
        total[image] = fitting("BagOfAll", total[image] + count) if lookup(total, image) is not None else count
    return as_fcn(total)
