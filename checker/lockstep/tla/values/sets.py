"""Sets and functions that answer without being listed: ``Nat``, ``Seq(S)``, ``SUBSET S``, ``[S -> T]`` and the like.

Each set that is finite can be listed, and then equals the ``frozenset`` of its elements, hash included. What is wrong
with a set or function comes to light where TLC would find it: when it is asked, not when it is made.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from operator import is_
from typing import Any, cast

from lockstep.tla.values.equality import (
    compare,
    eq,
    lookup,
    ordered,
    same_kind,
)
from lockstep.tla.values.growth import made_of
from lockstep.tla.values.kinds import (
    Fcn,
    ModelValue,
    TlaError,
    Value,
    as_fcn,
    domain_of,
    wrong,
)

__all__ = [
    "INT",
    "NAT",
    "STRING",
    "BigUnion",
    "Difference",
    "FcnSet",
    "Filtered",
    "Intersection",
    "LazyFcn",
    "LazySet",
    "PowerSet",
    "Product",
    "RcdSet",
    "SeqSet",
    "Union2",
    "Unsorted",
    "frozen",
    "in_order",
    "is_finite",
    "is_listable",
    "is_set",
    "member",
]


def frozen(value: Value) -> Value:
    """Answer a value with nothing unlisted in it, for keeping in a state: the value itself, if that has nothing such.

    Raises:
        TlaError: if something in it cannot be listed, or has no value.
    """
    kind = type(value)
    if kind is Fcn:
        return value if value.listed else _frozen_table(value)
    if kind is tuple:
        return _frozen_sequence(value)
    return value.kept() if isinstance(value, (LazySet, LazyFcn)) else value


def _frozen_table(value: Fcn) -> Fcn:
    table = value.d
    for argument, element in value.d.items():
        listed = frozen(element)
        if listed is not element:
            if table is value.d:
                table = dict(table)
            table[argument] = listed
    result = value if table is value.d else Fcn(table)
    result.listed = True
    return result


_LONG, _KNOWN_LONG = 16, 64
_long: dict[int, tuple[Value, ...]] = {}
"""Long sequences that were frozen of late, by their ids: a state's logs go from state to state unchanged."""


def _frozen_sequence(value: tuple[Value, ...]) -> tuple[Value, ...]:
    if len(value) < _LONG:
        elements = [frozen(element) for element in value]
        return value if all(map(is_, elements, value)) else tuple(elements)
    if _long.get(id(value)) is value:
        return value
    known = made_of(value)
    if known is not None and frozen(known[0]) is known[0] and all(frozen(each) is each for each in known[1]):
        result = value
    else:
        elements = [frozen(element) for element in value]
        result = value if all(map(is_, elements, value)) else tuple(elements)
    if len(_long) >= _KNOWN_LONG:
        del _long[next(iter(_long))]
    _long[id(result)] = result
    return result


_LONG_ELEMENTS = 16
"""How many long elements of a set of sequences are remembered: the next is often one of them with one more."""

_MOST_SEEN = 4096
"""How many elements of an unlisted set are remembered once they have been computed."""


class LazySet:
    """A set known by its membership test; subclasses give :meth:`has` and, if it can be listed, :meth:`items`."""

    __slots__ = ("_forced", "_rest", "_seen")
    tla_kind = "set"
    name = "a set"
    sample: Value | None = None

    def __init__(self) -> None:
        """Begin unlisted."""
        self._forced: frozenset[Value] | None = None
        self._seen: list[Value] = []
        self._rest: Iterator[Value] | None = None

    def __getstate__(self) -> object:
        """Pickle the set without what listings have come to."""
        plain, slots = cast("tuple[object, dict[str, object]]", super().__getstate__())
        return plain, {**slots, "_seen": [], "_rest": None}

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return True

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it.

        Raises:
            TlaError: if TLC would not know.
        """
        return self.finite

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element: every subclass says how."""
        # No ABCMeta here: it would slow every isinstance, of which an evaluation makes millions.
        raise NotImplementedError

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        raise self._endless()

    def compared(self, other: Any) -> bool | None:
        """Decide whether a set of the same make is equal; None says that they cannot be compared."""
        if not (self.finite and other.finite):
            return None
        return compare(self.force(), other.force())

    def force(self) -> frozenset[Value]:
        """Answer the set as a ``frozenset``.

        Raises:
            TlaError: if the set is infinite.
        """
        known = self._forced
        if known is None:
            if not self.finite:
                raise self._endless()
            known = self._forced = frozenset(map(frozen, self.items()))
        return known

    def kept(self) -> Value:
        """Answer what a state keeps of the set."""
        return self.force()

    def _endless(self) -> TlaError:
        return TlaError(f"{self.name} is infinite and cannot be listed")

    def __contains__(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return self.has(value)

    def __iter__(self) -> Iterator[Value]:
        """List the elements in their order."""
        if not self.finite:
            raise self._endless()
        return self._remembering()

    def _remembering(self) -> Iterator[Value]:
        """List the elements; those that a listing has reached, a later one does not compute again.

        Where computing fails, nothing is known of what comes after: each listing under way, and each later one,
        computes for itself and fails there itself.
        """
        if self._rest is None:
            self._seen, self._rest = [], self.items()
        seen, rest, index = self._seen, self._rest, 0
        while True:
            if index == len(seen):
                if index == _MOST_SEEN or self._rest is not rest:
                    yield from itertools.islice(self.items(), index, None)
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
        """Count the elements."""
        return len(self.force())

    def __hash__(self) -> int:
        """Answer the hash that goes with equality."""
        return hash(self.force()) if self.finite else hash(self.name)

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.equality.eq`."""
        if self is other:
            return True
        if not isinstance(other, (LazySet, frozenset)):
            return NotImplemented
        return eq(self, other)


class _Infinite(LazySet):
    __slots__ = ("_kind", "_test", "name", "sample")

    def __init__(self, name: str, kind: type, test: Callable[[Any], bool], sample: Value) -> None:
        super().__init__()
        self.name, self._kind, self._test, self.sample = name, kind, test, sample

    @property
    def finite(self) -> bool:
        return False

    def has(self, value: Value) -> bool:
        if type(value) is self._kind:
            return self._test(value)
        return _foreign(self, "a value that can be compared with its elements", value)

    def compared(self, other: Any) -> bool | None:
        return True if self is other else None

    def __reduce__(self) -> str:
        return {"Nat": "NAT", "Int": "INT", "STRING": "STRING"}[self.name]


NAT = _Infinite("Nat", int, lambda value: bool(value >= 0), 0)
INT = _Infinite("Int", int, lambda value: True, 0)
STRING = _Infinite("STRING", str, lambda value: True, "a string")


def is_set(value: Value) -> bool:
    """Tell whether a value is a set."""
    return type(value) is frozenset or isinstance(value, LazySet)


def is_listable(value: Value) -> bool:
    """Tell whether a value is a set whose elements can be listed."""
    return type(value) is frozenset or (isinstance(value, LazySet) and value.finite)


def is_finite(value: Value) -> bool:
    """Decide ``IsFiniteSet(value)``.

    Raises:
        TlaError: if the value is no set, or TLC would not know.
    """
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
    """List a set in its deterministic order.

    Raises:
        TlaError: if it cannot be listed.
    """
    if type(value) is frozenset:
        return ordered(value)
    if isinstance(value, LazySet):
        return iter(value)
    raise wrong("a bound", "a set", value)


def _as_function(value: Value) -> Value:
    """Answer a tuple or an :class:`Fcn` for a function, None for anything else."""
    if isinstance(value, LazyFcn):
        return value.force()
    return value if type(value) is tuple or type(value) is Fcn else None


def _as_sequence(value: Value) -> Value:
    """Answer a sequence (to TLC a string is one, too) that has a length, indexes and slices; None for anything else."""
    if type(value) is str:
        return tuple(value)
    if isinstance(value, LazyFcn):
        return value.sequence()
    return value if type(value) is tuple else None


def _foreign(container: LazySet, wanted: str, value: Value) -> bool:
    """Answer False for a model value, which is an element of no set but those that list it; refuse others."""
    if type(value) is ModelValue and not value.kind:
        return False
    raise wrong(f"membership of {container.name}", wanted, value)


def _all_members(pairs: Iterable[tuple[Value, Value]]) -> bool:
    return all(member(value, container) for value, container in pairs)


class SeqSet(LazySet):
    """``Seq(base)``: all finite sequences over a set."""

    __slots__ = ("_long", "base")
    name = "Seq(S)"

    def __init__(self, base: Value) -> None:
        """Take the set of elements."""
        super().__init__()
        self.base = base
        self._long: deque[Value] = deque(maxlen=_LONG_ELEMENTS)

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return False

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        sequence = _as_sequence(value)
        if sequence is None:
            return _foreign(self, "a sequence", value)
        if len(sequence) < _LONG:
            return all(member(element, self.base) for element in sequence)
        if any(each is sequence for each in self._long):
            return True
        known = self._begin_of(sequence)
        if not all(member(element, self.base) for element in sequence[len(known) :]):
            return False
        self._long.appendleft(sequence)
        return True

    def _begin_of(self, sequence: Value) -> Value:
        """Answer a begin of the sequence that is known to be an element."""
        grown = made_of(sequence)
        if grown is not None and any(each is grown[0] for each in self._long):
            return grown[0]
        begins = (each for each in self._long if len(each) <= len(sequence) and all(map(is_, each, sequence)))
        return next(begins, ())

    def compared(self, other: SeqSet) -> bool | None:
        """Decide whether another such set is equal."""
        return compare(self.base, other.base)


class PowerSet(LazySet):
    """``SUBSET base``."""

    __slots__ = ("base",)
    name = "SUBSET S"

    def __init__(self, base: Value) -> None:
        """Take the set whose subsets these are."""
        super().__init__()
        self.base = base

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.base)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return is_finite(self.base)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        if not is_set(value):
            raise wrong("membership of SUBSET S", "a set", value)
        return all(member(element, self.base) for element in in_order(value))

    def compared(self, other: PowerSet) -> bool | None:
        """Decide whether another such set is equal."""
        return compare(self.base, other.base)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return self.subsets(list(in_order(self.base)))

    def subsets(self, elements: list[Value]) -> Iterator[Value]:
        """List the elements, each once, by size and by the order of the elements of the base."""
        for size in range(len(elements) + 1):
            yield from map(frozenset, itertools.combinations(elements, size))

    def __len__(self) -> int:
        """Count the elements."""
        return 1 << len(self.base)


class FcnSet(LazySet):
    """``[domain -> range]``."""

    __slots__ = ("codomain", "domain_set")
    name = "[S -> T]"

    def __init__(self, domain_set: Value, codomain: Value) -> None:
        """Take the domain and the set of values."""
        super().__init__()
        self.domain_set, self.codomain = domain_set, codomain

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.domain_set) and is_listable(self.codomain)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return is_finite(self.domain_set) and is_finite(self.codomain)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        function = _as_function(value)
        if function is None:
            return _foreign(self, "a function", value)
        if not eq(domain_of(function), self.domain_set):
            return False
        elements = function if type(function) is tuple else [function.d[key] for key in ordered(function.d)]
        return all(member(element, self.codomain) for element in elements)

    def compared(self, other: FcnSet) -> bool | None:
        """Decide whether another such set is equal, as TLC does: by domain and range."""
        return compare(self.domain_set, other.domain_set) and compare(self.codomain, other.codomain)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        keys = list(in_order(self.domain_set))
        if not keys:
            yield ()
            return
        for row in itertools.product(list(in_order(self.codomain)), repeat=len(keys)):
            yield as_fcn(dict(zip(keys, row, strict=True)))


def _compare_factors(left: LazySet, right: LazySet, pairs: Iterable[tuple[Value, Value]] | None) -> bool | None:
    """Compare two products by their factors; without pairs of these, by whether both are empty."""
    empty = [part.finite and not len(part) for part in (left, right)]
    if any(empty):
        return all(empty)
    if pairs is None:
        return False
    for one, other in pairs:
        verdict = compare(one, other)
        if verdict is not True:
            return verdict
    return True


class RcdSet(LazySet):
    """``[field : set, ...]``."""

    __slots__ = ("fields",)
    name = "a set of records"

    def __init__(self, fields: dict[str, Value]) -> None:
        """Take the set of values of each field."""
        super().__init__()
        self.fields = fields

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return all(map(is_listable, self.fields.values()))

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return all(map(is_finite, self.fields.values()))

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        function = _as_function(value)
        if function == ():
            return False
        if type(function) is not Fcn or type(next(iter(function.d))) is not str:
            return _foreign(self, "a record", value)
        table = function.d
        if table.keys() != self.fields.keys():
            return False
        return _all_members((table[name], self.fields[name]) for name in sorted(self.fields))

    def compared(self, other: RcdSet) -> bool | None:
        """Decide whether another such set is equal."""
        alike = self.fields.keys() == other.fields.keys()
        pairs = [(self.fields[name], other.fields[name]) for name in sorted(self.fields)] if alike else None
        return _compare_factors(self, other, pairs)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        columns = [list(in_order(allowed)) for allowed in self.fields.values()]
        for row in itertools.product(*columns):
            yield Fcn(dict(zip(self.fields, row, strict=True)))


class Product(LazySet):
    """``S \\X T \\X ...``."""

    __slots__ = ("factors",)
    name = "a product"

    def __init__(self, *factors: Value) -> None:
        """Take the factors."""
        super().__init__()
        self.factors = factors

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return all(map(is_listable, self.factors))

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return all(map(is_finite, self.factors))

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        sequence = _as_sequence(value)
        if sequence is not None:
            return len(sequence) == len(self.factors) and _all_members(zip(sequence, self.factors, strict=True))
        function = _as_function(value)
        if function is not None and all(type(key) is int for key in function.d):
            return False
        return _foreign(self, "a tuple", value)

    def compared(self, other: Product) -> bool | None:
        """Decide whether another such set is equal."""
        alike = len(self.factors) == len(other.factors)
        return _compare_factors(self, other, zip(self.factors, other.factors, strict=True) if alike else None)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        yield from itertools.product(*[list(in_order(factor)) for factor in self.factors])


class Union2(LazySet):
    """``left \\cup right`` where a side is not listed."""

    __slots__ = ("left", "right")
    name = "a union"

    def __init__(self, left: Value, right: Value) -> None:
        """Take both sides."""
        super().__init__()
        self.left, self.right = left, right

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.left) and is_listable(self.right)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return is_finite(self.left) and is_finite(self.right)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.left) or member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return _distinct(itertools.chain(in_order(self.left), in_order(self.right)))


class BigUnion(LazySet):
    """``UNION container`` where the container, or what it holds, is not listed."""

    __slots__ = ("container",)
    name = "a union"

    def __init__(self, container: Value) -> None:
        """Take the set of sets."""
        super().__init__()
        self.container = container

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.container) and all(map(is_listable, self.container))

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return all(map(is_finite, in_order(self.container)))

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return any(member(value, inner) for inner in in_order(self.container))

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return _distinct(element for inner in in_order(self.container) for element in in_order(inner))


class Intersection(LazySet):
    """``left \\cap right`` where neither side is listed."""

    __slots__ = ("left", "right")
    name = "an intersection"

    def __init__(self, left: Value, right: Value) -> None:
        """Take both sides."""
        super().__init__()
        self.left, self.right = left, right

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.left) or is_listable(self.right)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        if not is_finite(self.left) and not is_finite(self.right):
            raise TlaError("an intersection of two infinite sets may be finite or not")
        return True

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.left) and member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        first, second = (self.left, self.right) if is_listable(self.left) else (self.right, self.left)
        return (value for value in in_order(first) if member(value, second))


class Difference(LazySet):
    """``left \\ right`` where the left side is not listed."""

    __slots__ = ("left", "right")
    name = "a difference"

    def __init__(self, left: Value, right: Value) -> None:
        """Take both sides."""
        super().__init__()
        self.left, self.right = left, right

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.left)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        if is_finite(self.left):
            return True
        if not is_finite(self.right):
            raise TlaError("a difference of two infinite sets may be finite or not")
        return False

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.left) and not member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return (value for value in in_order(self.left) if not member(value, self.right))


class Filtered(LazySet):
    """``{x \\in base : test}`` over a base that is not listed."""

    __slots__ = ("base", "test")
    name = "a filtered set"

    def __init__(self, base: Value, test: Callable[[Value], bool]) -> None:
        """Take the base and the test."""
        super().__init__()
        self.base, self.test = base, test

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_listable(self.base)

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        if not is_finite(self.base):
            raise TlaError("a filtered infinite set may be finite or not")
        return True

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.base) and self.test(value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return filter(self.test, in_order(self.base))


class Unsorted(LazySet):
    """A set of values that cannot all be compared: it can be asked for an element, but not be listed."""

    __slots__ = ("elements", "problem")

    def __init__(self, elements: list[Value], problem: TlaError) -> None:
        """Take the elements in their order, and what kept them from being sorted."""
        super().__init__()
        self.elements, self.problem = elements, problem

    def is_finite(self) -> bool:
        """Decide ``IsFiniteSet`` of it."""
        return True

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element, by comparing it with one after the other."""
        return any(eq(element, value) for element in self.elements)

    def items(self) -> Iterator[Value]:
        """Refuse to list the elements."""
        raise self.problem

    def force(self) -> frozenset[Value]:
        """Refuse to list the elements."""
        raise self.problem

    def __iter__(self) -> Iterator[Value]:
        """Refuse to list the elements."""
        raise self.problem


def _distinct(elements: Iterable[Value]) -> Iterator[Value]:
    """List each of some elements once, refusing to mix what cannot be compared."""
    seen: set[Value] = set()
    for element in elements:
        value = frozen(element)
        if lookup(seen, value) is None:
            seen.add(value)
            yield value


class LazyFcn:
    """A function computed on demand.

    Attributes:
        domain: its domain.
        body: its value at an argument, given the function itself.
        soft: whether it is lazy only as long as it is applied: any other use computes it as a whole.
    """

    __slots__ = ("_forced", "_known", "body", "domain", "soft")
    tla_kind = "function"

    def __init__(self, domain: Value, body: Callable[[Any, Value], Value], soft: bool = False) -> None:
        """Take the domain, and the value at an argument given the function itself."""
        self.domain, self.body, self.soft = domain, body, soft
        self._known: dict[Value, tuple[Value, Value]] = {}
        self._forced: Value = None

    @property
    def finite(self) -> bool:
        """Whether the function can be computed as a whole."""
        return is_listable(self.domain)

    def apply(self, argument: Value) -> Value:
        """Answer the value at ``argument``, computing it the first time."""
        known = self._known.get(argument)
        if known is not None and same_kind(known[0], argument):
            return known[1]
        if not member(argument, self.domain):
            raise TlaError(f"the function is applied to {argument!r}, which is not in its domain")
        value = self.body(self, argument)
        self._known[argument] = (argument, value)
        return value

    def updated(self, argument: Value, value: Value) -> LazyFcn:
        """Answer the function that differs at one argument."""
        return LazyFcn(self.domain, lambda _self, x: value if eq(argument, x) else self.apply(x), self.soft)

    def force(self) -> Value:
        """Answer the whole function.

        Raises:
            TlaError: if its domain is infinite, or it has no value somewhere.
        """
        if self._forced is None:
            self._forced = as_fcn({argument: frozen(self.apply(argument)) for argument in in_order(self.domain)})
        return self._forced

    def kept(self) -> Value:
        """Answer what a state keeps of the function."""
        return self.force()

    def sequence(self) -> Value:
        """Answer the sequence that the function is, with a length, indexes and slices; None if it is none."""
        forced = self.force()
        return forced if type(forced) is tuple else None

    def __hash__(self) -> int:
        """Answer the hash that goes with equality."""
        return hash(self.force())

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.equality.eq`."""
        return self is other or bool(self.force() == (other.force() if isinstance(other, LazyFcn) else other))
