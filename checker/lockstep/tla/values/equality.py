"""Equality of TLA+ values, and the membership, building and order of sets, which depend on it.

Python alone confuses ``1`` with ``True``. Whatever looks a value up (equality, membership, application, the building
of sets) therefore goes through this module, which raises :class:`TlaTypeError` where values cannot be compared.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from operator import attrgetter, is_
from typing import Any

from lockstep.tla.values.comparable_records import ComparableRecords, Groups, all_comparable, grouped, pairs_comparable
from lockstep.tla.values.kinds import (
    _RANK,
    Fcn,
    ModelValue,
    Value,
    common_shape,
    forced,
    incomparable,
    kind_of,
    same_shape,
    shape_of,
    sort_key,
)
from lockstep.tla.values.remembered_values import MIN_REMEMBERED, Latest, by_id, made_of


def eq(left: Value, right: Value) -> bool:
    """Decide ``left = right``; raises TlaTypeError if nothing shows the two to differ and they cannot be compared."""
    if left is right:
        return True
    kind = type(left)
    if kind is type(right) and (kind is int or kind is str or kind is bool or kind is ModelValue):
        if kind is ModelValue and left.kind != right.kind and left.kind and right.kind:
            raise incomparable(left, right)
        return bool(left == right)
    verdict = _compare(left, right)
    if verdict is None:
        raise incomparable(left, right)
    return verdict


def compare(left: Value, right: Value) -> bool | None:
    """Decide ``left = right``; return None if they cannot be compared."""
    return _compare(left, right)


def comparable(left: Value, right: Value) -> bool:
    """Return whether two values can be compared."""
    return _compare(left, right) is not None


def _compare(left: Value, right: Value) -> bool | None:
    """Decide ``left = right`` in three values; None says that they cannot be compared.

    Like TLC, this looks at sizes first, then at one element after the other; the first that is not equal decides,
    whether it differs or cannot be compared.
    """
    if left is right:
        return True
    a, b = type(left), type(right)
    if a is ModelValue or b is ModelValue:
        return _compare_model(left, right)
    if a is int or a is str or a is bool:
        if a is b:
            return bool(left == right)
        kind_of(right)  # what is no value of TLA+ has none, and says so
        return None
    if a is tuple and b is tuple:
        if len(left) != len(right):
            return False
        return all(map(is_, left, right)) or _compare_each(zip(left, right))  # noqa: B905 - just seen
    if (a is Fcn or a is tuple) and (b is Fcn or b is tuple):
        return _compare_tables(_table_of(left), _table_of(right))
    if a is frozenset and b is frozenset:
        return _compare_sets(left, right)
    return _compare_lazy(left, right)


def _compare_model(left: Value, right: Value) -> bool | None:
    for value, other in ((left, right), (right, left)):
        if type(other) is not ModelValue:
            kind_of(other)  # as above
        typed = type(value) is ModelValue and value.kind
        if typed and (type(other) is not ModelValue or other.kind not in ("", typed)):
            return None
    return False


def _compare_each(pairs: Iterable[tuple[Value, Value]]) -> bool | None:
    for left, right in pairs:
        verdict = _compare(left, right)
        if verdict is not True:
            return verdict
    return True


def _table_of(function: Value) -> dict[Value, Value]:
    return function.d if type(function) is Fcn else dict(enumerate(function, 1))


def _compare_tables(a: dict[Value, Value], b: dict[Value, Value]) -> bool | None:
    """Compare two functions: argument by argument, in their order.

    The order of records' fields depends on which name TLC has read first, so any field that differs decides.
    """
    if len(a) != len(b):
        return False
    if type(next(iter(a))) is str and type(next(iter(b))) is str:
        if a.keys() != b.keys():
            return False
        return _compare_fields(a, b)
    keys = zip(sorted(a, key=sort_key), sorted(b, key=sort_key), strict=True)
    for x, y in keys:
        verdict = _compare(x, y) and _compare(a[x], b[y])
        if verdict is not True:
            return verdict
    return True


def _compare_fields(a: dict[Value, Value], b: dict[Value, Value]) -> bool | None:
    """Compare the fields of two records with the same names: what takes no time first, since any may decide."""
    rest = []
    for key, value in a.items():
        other = b[key]
        if value is other:
            continue
        kind = type(value)
        if kind is type(other) and (kind is int or kind is str or kind is bool):
            if value != other:
                return False
        else:
            rest.append((value, other))
    verdicts = [_compare(value, other) for value, other in rest]
    return False if False in verdicts else None if None in verdicts else True


def _compare_sets(left: frozenset[Value], right: frozenset[Value]) -> bool | None:
    if len(left) != len(right):
        return False
    shape = shape_of(left)
    if shape and shape == shape_of(right):
        return left == right
    if left == right:
        return True if same_kind(left, right) else None
    a, b = set(map(type, left)), set(map(type, right))
    if a == b and len(a) == 1 and a <= _ATOMS:
        return False
    return _compare_each(zip(ordered(left), ordered(right), strict=True))


_ATOMS = {int, bool, str}


def _compare_lazy(left: Value, right: Value) -> bool | None:
    if kind_of(left) != kind_of(right):
        return None
    if type(left) is type(right) and hasattr(left, "compared"):
        verdict: bool | None = left.compared(right)
        return verdict
    if not (getattr(left, "finite", True) and getattr(right, "finite", True)):
        return None
    if hasattr(left, "__len__") and hasattr(right, "__len__") and len(left) != len(right):
        return False
    return _compare(forced(left), forced(right))


def same_kind(left: Value, right: Value) -> bool:
    """Return whether two values that Python holds equal are equal in TLA+ too (``1`` and ``TRUE`` are not)."""
    if left is right:
        return True
    a, b = type(left), type(right)
    if a not in _RANK or b not in _RANK:
        left, right = forced(left), forced(right)
        a, b = type(left), type(right)
    if a is not b:
        return a not in (int, bool) and b not in (int, bool)
    if a is tuple:
        return all(map(same_kind, left, right))
    if a is Fcn:
        other = right.d
        if any(not same_kind(value, other[key]) for key, value in left.d.items()):
            return False
        return type(next(iter(other))) is str or same_kind(frozenset(left.d), frozenset(other))
    if a is frozenset:
        return _same_members(left, right)
    return True


def _same_members(left: frozenset[Value], right: frozenset[Value]) -> bool:
    for element in left:
        kind = type(element)
        if kind is str or kind is ModelValue:
            continue
        known = stored(right, element)
        if known is None or not same_kind(known[0], element):
            return False
    return True


class _Probe:
    """A key by which the equal element of a set or dict is found."""

    __slots__ = ("found", "value")

    def __init__(self, value: Value) -> None:
        self.value = value
        self.found: tuple[Value] | None = None

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        if self.value == other:
            self.found = (other,)
            return True
        return False


def stored(container: Any, value: Value) -> tuple[Value] | None:
    """Find the element of a set (or key of a dict) that Python holds equal to a value, as a 1-tuple."""
    probe = _Probe(value)
    return probe.found if probe in container else None


def has_same(container: frozenset[Value], value: Value) -> bool:
    """Return whether a value is an element of a set: one with ``1`` in it is not one with ``TRUE`` there."""
    found = stored(container, value) if value in container else None
    return found is not None and same_kind(found[0], value)


def _sample(container: Iterable[Value]) -> list[Value]:
    """Return an element that is not a model value, as a list that is empty if there is none."""
    for element in container:
        if type(element) is not ModelValue:
            return [element]
    return []


def lookup(container: Any, value: Value) -> tuple[Value] | None:
    """Find the element of a set (or key of a dict) equal to ``value``.

    Returns:
        A 1-tuple with the element, or None if there is none.

    Raises:
        TlaTypeError: if ``value`` cannot be compared with the elements.
    """
    kind = type(value)
    if kind is int or kind is str or kind is bool:
        present = value in container
        for element in container:
            other = type(element)
            if other is kind:
                break
            if other is not ModelValue or element.kind:
                raise incomparable(value, element)
        else:
            return None
        return (value,) if present else None
    if kind is ModelValue:
        if value in container:
            return (value,)
        if value.kind:
            for element in container:
                eq(value, element)
        return None
    present = value in container
    shape = _shape_within(container)
    if shape and (shape == (other := shape_of(value)) or common_shape({shape, other})):
        return (value,) if present else None
    known = stored(container, value) if present else None
    if known is not None:
        if not same_kind(known[0], value):
            raise incomparable(known[0], value)
        return known
    if _is_comparable(container, value):
        return None
    for element in container:
        if not same_shape(element, value) and _compare(element, value) is None:
            raise incomparable(element, value)
    return None


#: The records of the latest long sets; a set and those made of it share theirs.
_records = Latest(64)


def _is_comparable(container: Any, value: Value) -> bool:
    """Return whether it is known that a value can be compared with each element of a long set of records."""
    if type(container) is not frozenset or len(container) < MIN_REMEMBERED:
        return False
    known = _records.get(id(container))
    if known is not None:
        found: ComparableRecords = known[1]
    else:
        grown = made_of(container)
        before = None if grown is None else _records.get(id(grown[0]))
        if grown is None or before is None:
            found = ComparableRecords(container)
        else:
            found = before[1]
            found.enter(element for element in grown[1] if element not in grown[0])
        _records.remember(container, found)
    return found.can_compare(value)


#: The shape that all elements of a set have; False if there is none.
_shapes = Latest(64)
#: The elements of a set by their shapes.
_groups = Latest(64)
#: The shapes of sets with no more elements than this are not remembered.
_MAX_UNSHAPED = 2


def _shape_within(container: Any) -> Any:
    """Return the shape that all elements of a set have, if that is known or worth finding out; False if not."""
    if type(container) is not frozenset:
        return False
    known = by_id.get(id(container))
    if known is not None:
        return known.shape[1]
    return len(container) > _MAX_UNSHAPED and shape_of_elements(container)


def shape_of_elements(container: frozenset[Value]) -> Any:
    """Return the shape that all elements of a set have; False if there is none, or no element."""
    found = _shapes.get(id(container))
    if found is not None:
        return found[1]
    known = made_of(container)
    shapes = _shapes_of(container if known is None else known[1])
    if known is not None:
        shapes.add(shape_of_elements(known[0]))
    shape = bool(shapes) and common_shape(shapes)
    _shapes.remember(container, shape)
    return shape


_KNOWN = attrgetter("_shape")


def _shapes_of(elements: Iterable[Value]) -> set[Any]:
    """Return the shapes of values; those of functions are known but for the first time."""
    listed = elements if isinstance(elements, Collection) else list(elements)
    if set(map(type, listed)) == {Fcn}:
        shapes = set(map(_KNOWN, listed))
        if None not in shapes:
            return shapes
    return set(map(shape_of, listed))


def remember_shape(container: frozenset[Value], shape: Any) -> None:
    """Remember the shape that all elements of a set have."""
    _shapes.remember(container, shape)


def sets_comparable(left: frozenset[Value], right: frozenset[Value]) -> bool:
    """Return whether shapes show that the elements of two sets can be compared; if not, only comparing decides."""
    shape = shape_of_elements(left)
    if shape and (shape == (other := shape_of_elements(right)) or common_shape({shape, other})):
        return True
    mine, theirs = groups_of(left), groups_of(right)
    return mine is not None and theirs is not None and pairs_comparable(mine, theirs)


def groups_of(container: frozenset[Value]) -> Groups | None:
    """Group the elements of a set by their shapes; None where the shape of one does not decide."""
    found = _groups.get(id(container))
    if found is None:
        groups = grouped(container)
        _groups.remember(container, groups)
        return groups
    known: Groups | None = found[1]
    return known


def _one_kind(elements: Iterable[Value]) -> bool:
    kinds = set(map(type, elements))
    kinds.discard(ModelValue)
    return len(kinds) < 2 or len({kind_of(element) for element in elements} - {"model value"}) < 2


def build_set(elements: Iterable[Value]) -> frozenset[Value]:
    """Build a set, refusing to mix what cannot be compared; raises TlaTypeError if two elements cannot be compared."""
    listed = elements if type(elements) is list else list(elements)
    result = frozenset(listed)
    kinds = set(map(type, listed))
    if len(kinds) == 1:
        only = kinds.pop()
        if only is int or only is str or only is bool:
            return result
    _check_mixture(listed, result)
    return result


def _check_mixture(listed: list[Value], result: frozenset[Value]) -> None:
    if not _one_kind(listed):
        sample = _sample(listed)[0]
        other = next(e for e in listed if type(e) is not ModelValue and kind_of(e) != kind_of(sample))
        raise incomparable(sample, other)
    if shape := common_shape(_shapes_of(listed)):
        if len(result) > _MAX_UNSHAPED:
            remember_shape(result, shape)
        return
    if (groups := grouped(listed)) is not None and all_comparable(groups):
        return
    first = _sample(listed)
    if first and len(listed) > 1:
        for element in listed:
            if not same_shape(first[0], element) and _compare(first[0], element) is None:
                raise incomparable(first[0], element)
    if len(result) != len(listed):
        for element in listed:
            known = stored(result, element)
            if known is not None and not same_kind(known[0], element):
                raise incomparable(known[0], element)


_NAME = attrgetter("name")
_ORDERS: dict[Any, list[Value]] = {}
"""The orders of sets of names (model values, strings) that have been listed: constants, mostly."""
_MAX_ORDERS = 4096


def ordered(elements: Iterable[Value]) -> Iterable[Value]:
    """List a set in its deterministic order."""
    if type(elements) is range:
        return elements
    if type(elements) is not frozenset:
        return _sorted(list(elements))
    for element in elements:
        if type(element) is ModelValue or type(element) is str:
            known = _ORDERS.get(elements)
            return _remembered(elements) if known is None else known
        break
    return _sorted(elements)


def _remembered(elements: frozenset[Value]) -> list[Value]:
    found = _sorted(elements)
    if all(type(element) is ModelValue or type(element) is str for element in found):
        if len(_ORDERS) == _MAX_ORDERS:
            _ORDERS.clear()
        _ORDERS[elements] = found
    return found


def _sorted(elements: Collection[Value]) -> list[Value]:
    kinds = set(map(type, elements))
    if len(kinds) == 1:
        kind = kinds.pop()
        if kind is int or kind is str or kind is bool:
            return sorted(elements)
        if kind is ModelValue:
            return sorted(elements, key=_NAME)
    return sorted(elements, key=sort_key)
