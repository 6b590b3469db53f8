"""The values of TLA+ as Python values, such that TLA+ equality is Python equality.

=====================  =====================================================================
TLA+                   Python
=====================  =====================================================================
integer                ``int`` (never ``bool``)
boolean                ``bool``
string                 ``str``
model value            :class:`ModelValue`, interned, equal to itself alone
set                    ``frozenset``, or a :class:`lockstep.tla.sets.LazySet`
function on ``1..n``   ``tuple`` (sequences and tuples, and the function on the empty set)
any other function     :class:`Fcn` (a record is a function on strings)
=====================  =====================================================================

Python alone confuses ``1`` with ``True``. Whatever looks a value up (equality, membership, application, the building
of sets) therefore goes through this module, which raises :class:`TlaTypeError` where values cannot be compared,
instead of answering.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from operator import attrgetter, is_, itemgetter
from typing import Any, TypeAlias

from lockstep.tla.growth import LONG, made_of

__all__ = [
    "ArgumentError",
    "Fcn",
    "ModelValue",
    "TlaAssertionError",
    "TlaError",
    "TlaTypeError",
    "Value",
    "as_fcn",
    "build_set",
    "comparable",
    "compare",
    "domain_of",
    "eq",
    "lookup",
    "ordered",
    "same_kind",
    "sort_key",
]

Value: TypeAlias = Any


class TlaError(Exception):
    """An evaluation that has no value, such as ``Head(<<>>)``."""


class TlaTypeError(TlaError):
    """An operation on values of the wrong kind, such as ``1 = TRUE``."""


class ArgumentError(TlaTypeError):
    """An argument of a step that cannot even be compared with the elements of its quantifier's set.

    Attributes:
        name: the argument's name.
    """

    def __init__(self, name: str, message: str) -> None:
        """Make the error of the argument ``name``."""
        super().__init__(message)
        self.name = name


class TlaAssertionError(TlaError):
    """A false ``Assert`` of the TLC module."""


class ModelValue:
    """A model value: interned by name, equal to itself alone.

    As in TLC, a name such as ``A_n1`` (one letter, then an underscore) makes a *typed* model value, which compares
    only with model values of the same letter; an untyped one differs from every other value.
    """

    __slots__ = ("kind", "name")
    _interned: dict[str, ModelValue] = {}  # noqa: RUF012 - the class's own table
    name: str
    kind: str

    def __new__(cls, name: str) -> ModelValue:
        """Answer the model value of this name, the same object each time."""
        found = cls._interned.get(name)
        if found is None:
            found = object.__new__(cls)
            found.name = name
            found.kind = name[0] if len(name) > 2 and name[1] == "_" else ""
            cls._interned[name] = found
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle."""
        return (ModelValue, (self.name,))

    def __repr__(self) -> str:
        """Show the value for a reader of Python."""
        return f"ModelValue({self.name!r})"


class Fcn:
    """A function whose domain is not ``1..n``; immutable, hashed once.

    Build it with :func:`as_fcn`, which answers a ``tuple`` where the domain asks for one.
    """

    __slots__ = ("_hash", "_shape", "d", "listed")
    d: dict[Value, Value]
    listed: bool
    _hash: int | None
    _shape: Any

    def __init__(self, table: dict[Value, Value]) -> None:
        """Take the table, which nothing may change afterwards."""
        self.d = table
        self.listed = False  # whether it is known that nothing in it is computed on demand
        self._hash = None
        self._shape = None

    def shape(self) -> Any:
        """Answer what kinds of values stand where; two functions of the same shape (``is``) can be compared.

        False says that the shape alone does not tell.
        """
        known = self._shape
        if known is None:
            parts = [(argument, _shape_of(part)) for argument, part in self.d.items()]
            told = all(type(argument) is str and part for argument, part in parts)
            shape = frozenset(parts) if told else False
            known = self._shape = _SHAPES.setdefault(shape, shape)
        return known

    def __hash__(self) -> int:
        """Answer the hash that goes with equality."""
        known = self._hash
        if known is None:
            known = self._hash = hash(frozenset(self.d.items()))
        return known

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.eq`."""
        if self is other:
            return True
        if type(other) is Fcn:
            return self.d == other.d
        return NotImplemented

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle."""
        return (Fcn, (self.d,))

    def __repr__(self) -> str:
        """Show the value for a reader of Python."""
        from lockstep.tla.text import format_value

        return f"<{format_value(self)}>"

    def apply(self, argument: Value) -> Value:
        """Answer the function's value at ``argument``.

        Raises:
            TlaError: if ``argument`` is outside the domain.
        """
        kind = type(argument)
        table = self.d
        if kind is str or kind is ModelValue:
            try:
                return table[argument]
            except KeyError:
                raise outside(self, argument) from None
        found = lookup(table, argument)
        if found is None:
            raise outside(self, argument)
        return table[argument]


#: Every shape there is, once.
_SHAPES: dict[Any, Any] = {}
_LONG = 8


def _shape_of(value: Value) -> Any:
    """Answer the shape of a value, False where comparing is the only way to tell."""
    kind = type(value)
    if kind is int or kind is str or kind is bool:
        return kind
    if kind is Fcn:
        return value.shape()
    if kind is ModelValue:
        return kind if not value.kind else False
    if kind is tuple and 0 < len(value) < _LONG:
        shapes = {_shape_of(element) for element in value}
        return (tuple, *shapes) if len(shapes) == 1 and False not in shapes else False
    return False


def same_shape(left: Value, right: Value) -> bool:
    """Tell by their shapes that two values can be compared; False may mean that only comparing tells."""
    if type(left) is not Fcn or type(right) is not Fcn:
        return False
    shape = left.shape()
    return shape is not False and shape is right.shape()


def outside(function: Value, argument: Value) -> TlaError:
    """Make the error of an application outside the domain."""
    from lockstep.tla.text import format_value

    text = format_value(function)
    if len(text) > 400:
        text = text[:400] + " ..."
    return TlaError(f"the function {text} is applied to {format_value(argument)}, which is not in its domain")


def as_fcn(table: dict[Value, Value]) -> Value:
    """Make a function of a table: a tuple if its domain is ``1..n``, a :class:`Fcn` otherwise."""
    if not table:
        return ()
    size = len(table)
    for key in table:
        if type(key) is not int or not 0 < key <= size:
            return Fcn(table)
    return tuple([table[i] for i in range(1, size + 1)])


def domain_of(function: Value) -> frozenset[Value]:
    """Answer ``DOMAIN function``.

    Raises:
        TlaTypeError: if ``function`` is not a function.
    """
    if type(function) is tuple:
        return frozenset(range(1, len(function) + 1))
    if type(function) is Fcn:
        return frozenset(function.d)
    if hasattr(function, "domain"):
        return function.domain  # type: ignore[no-any-return]  # a LazyFcn
    raise wrong("DOMAIN of", "a function", function)


def wrong(what: str, wanted: str, got: Value) -> TlaTypeError:
    """Make the error of an operand of the wrong kind."""
    from lockstep.tla.text import format_value

    return TlaTypeError(f"{what} needs {wanted}, but was given {format_value(got)}")


def _incomparable(left: Value, right: Value) -> TlaTypeError:
    from lockstep.tla.text import format_value

    return TlaTypeError(f"{format_value(left)} and {format_value(right)} cannot be compared")


def kind_of(value: Value) -> str:
    """Name the kind of a value: two values of different kinds cannot be compared (model values aside)."""
    kind = type(value)
    if kind is int:
        return "integer"
    if kind is bool:
        return "boolean"
    if kind is str:
        return "string"
    if kind is tuple or kind is Fcn:
        return "function"
    if kind is frozenset:
        return "set"
    if kind is ModelValue:
        return "model value"
    label = getattr(value, "tla_kind", None)
    if label is None:
        raise TlaTypeError(f"{value!r} is not a TLA+ value")
    return str(label)


def eq(left: Value, right: Value) -> bool:
    """Decide ``left = right``.

    Raises:
        TlaTypeError: if nothing shows the two to differ and they cannot be compared.
    """
    if left is right:
        return True
    kind = type(left)
    if kind is type(right) and (kind is int or kind is str or kind is bool or kind is ModelValue):
        if kind is ModelValue and left.kind != right.kind and left.kind and right.kind:
            raise _incomparable(left, right)
        return bool(left == right)
    verdict = _compare(left, right)
    if verdict is None:
        raise _incomparable(left, right)
    return verdict


def compare(left: Value, right: Value) -> bool | None:
    """Decide ``left = right``; answer None if they cannot be compared."""
    return _compare(left, right)


def comparable(left: Value, right: Value) -> bool:
    """Tell whether ``left = right`` has an answer."""
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
        return bool(left == right) if a is b else None
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

    The order of records' fields is TLC's secret (it goes by which name TLC has read first), so that any field that
    differs decides.
    """
    if len(a) != len(b):
        return False
    if type(next(iter(a))) is str and type(next(iter(b))) is str:
        if a.keys() != b.keys():
            return False
        verdicts = [_compare(value, b[key]) for key, value in a.items()]
        return False if False in verdicts else None if None in verdicts else True
    keys = zip(sorted(a, key=sort_key), sorted(b, key=sort_key), strict=True)
    for x, y in keys:
        verdict = _compare(x, y) and _compare(a[x], b[y])
        if verdict is not True:
            return verdict
    return True


def _compare_sets(left: frozenset[Value], right: frozenset[Value]) -> bool | None:
    if len(left) != len(right):
        return False
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
    return _compare(_forced(left), _forced(right))


def _forced(value: Value) -> Value:
    force: Callable[[], Value] | None = getattr(value, "force", None)
    return value if force is None else force()


def same_kind(left: Value, right: Value) -> bool:
    """Tell whether two values that Python holds equal are equal in TLA+ too (``1`` and ``TRUE`` are not)."""
    if left is right:
        return True
    a, b = type(left), type(right)
    if a not in _RANK or b not in _RANK:
        left, right = _forced(left), _forced(right)
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
        stored = _stored(right, element)
        if stored is None or not same_kind(stored[0], element):
            return False
    return True


class _Probe:
    """Finds the element that a set or dict holds for an equal one."""

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


def _stored(container: Any, value: Value) -> tuple[Value] | None:
    probe = _Probe(value)
    return probe.found if probe in container else None


def _sample(container: Iterable[Value]) -> list[Value]:
    """Answer an element that is not a model value, as a list that is empty if there is none."""
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
                raise _incomparable(value, element)
        else:
            return None
        return (value,) if present else None
    if kind is ModelValue:
        if value in container:
            return (value,)
        if value.kind:
            for element in container:
                eq(value, element)
                break
        return None
    stored = _stored(container, value)
    if stored is not None:
        if not same_kind(stored[0], value):
            raise _incomparable(stored[0], value)
        return stored
    _refuse_incomparable(container, value)
    return None


#: Long sets whose elements all have one shape, by their ids, with an element of each.
_uniform: dict[int, tuple[Value, Value]] = {}
_MOST_UNIFORM = 16


def _refuse_incomparable(container: Any, value: Value) -> None:
    """Raise TlaTypeError if some element cannot be compared with the value."""
    if type(container) is frozenset and len(container) >= LONG:
        sample = sample_of_uniform(container)
        if sample and same_shape(sample[0], value):
            return
        alike = True
        for element in container:
            if not same_shape(element, value):
                alike = False
                if _compare(element, value) is None:
                    raise _incomparable(element, value)
        if alike:
            _remember_uniform(container, value)
        return
    for element in container:
        if not same_shape(element, value) and _compare(element, value) is None:
            raise _incomparable(element, value)


def sample_of_uniform(container: frozenset[Value]) -> list[Value]:
    """Answer an element of a set whose elements are known to have one shape, or a list that is empty."""
    found = _uniform.get(id(container))
    if found is not None and found[0] is container:
        return [found[1]]
    known = made_of(container)
    if known is None:
        return []
    base = _uniform.get(id(known[0]))
    if base is None or base[0] is not known[0] or not all(same_shape(base[1], each) for each in known[1]):
        return []
    _remember_uniform(container, base[1])
    return [base[1]]


def _remember_uniform(container: frozenset[Value], sample: Value) -> None:
    if len(_uniform) >= _MOST_UNIFORM:
        del _uniform[next(iter(_uniform))]
    _uniform[id(container)] = (container, sample)


def _one_kind(elements: Iterable[Value]) -> bool:
    kinds = set(map(type, elements))
    kinds.discard(ModelValue)
    return len(kinds) < 2 or len({kind_of(element) for element in elements} - {"model value"}) < 2


def build_set(elements: Iterable[Value]) -> frozenset[Value]:
    """Build a set, refusing to mix what cannot be compared.

    Raises:
        TlaTypeError: if two elements cannot be compared.
    """
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
        raise _incomparable(sample, other)
    first = _sample(listed)
    if first and len(listed) > 1:
        for element in listed:
            if not same_shape(first[0], element) and _compare(first[0], element) is None:
                raise _incomparable(first[0], element)
    if len(result) != len(listed):
        for element in listed:
            stored = _stored(result, element)
            if stored is not None and not same_kind(stored[0], element):
                raise _incomparable(stored[0], element)


_RANK = {ModelValue: 0, bool: 1, int: 2, str: 3, frozenset: 4, tuple: 5, Fcn: 5}


def sort_key(value: Value) -> tuple[Any, ...]:
    """Answer a key that sorts values as TLC does: by size, then element by element.

    Where TLC's order is its own secret (that of strings, and of model values) the alphabet decides.
    """
    kind = type(value)
    rank = _RANK.get(kind)
    if rank is None:
        return sort_key(_forced(value))
    if kind is ModelValue:
        return (rank, value.name)
    if rank < 4:
        return (rank, value)
    if kind is frozenset:
        return (rank, len(value), *sorted(map(sort_key, value)))
    key: list[Any] = [rank, len(value) if kind is tuple else len(value.d)]
    if kind is tuple:
        for index, element in enumerate(value, 1):
            key += ((2, index), sort_key(element))
        return tuple(key)
    for argument, argument_key in sorted([(k, sort_key(k)) for k in value.d], key=itemgetter(1)):
        key += (argument_key, sort_key(value.d[argument]))
    return tuple(key)


_NAME = attrgetter("name")
_ORDERS: dict[Any, list[Value]] = {}
"""The orders of sets of names (model values, strings) that have been listed: constants, mostly."""
_MOST_ORDERS = 4096


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
        if len(_ORDERS) == _MOST_ORDERS:
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
