"""Sets that answer membership without being listed: ``Nat``, ``Seq(S)``, ``SUBSET S``, ``[S -> T]`` and the like.

Each one that is finite can be listed, and then equals the ``frozenset`` of its elements, hash included.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lockstep.tla.values import (
    Fcn,
    ModelValue,
    TlaError,
    Value,
    as_fcn,
    build_set,
    domain_of,
    eq,
    lookup,
    wrong,
)

__all__ = [
    "INT",
    "NAT",
    "STRING",
    "Difference",
    "FcnSet",
    "Filtered",
    "LazyFcn",
    "LazySet",
    "PowerSet",
    "Product",
    "RcdSet",
    "SeqSet",
    "Union2",
    "is_finite",
    "is_set",
    "member",
]


class LazySet:
    """A set known by its membership test; subclasses give :meth:`has` and, if finite, :meth:`items`."""

    __slots__ = ("_forced",)
    tla_kind = "set"
    name = "a set"

    def __init__(self) -> None:
        """Begin unlisted."""
        self._forced: frozenset[Value] | None = None

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return True

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        raise NotImplementedError

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        raise self._endless()

    def force(self) -> frozenset[Value]:
        """Answer the set as a ``frozenset``.

        Raises:
            TlaError: if the set is infinite.
        """
        known = self._forced
        if known is None:
            if not self.finite:
                raise self._endless()
            known = self._forced = frozenset(self.items())
        return known

    def _endless(self) -> TlaError:
        return TlaError(f"{self.name} is infinite and cannot be listed")

    def __contains__(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return self.has(value)

    def __iter__(self) -> Iterator[Value]:
        """List the elements."""
        if not self.finite:
            raise self._endless()
        return self.items()

    def __len__(self) -> int:
        """Count the elements."""
        return len(self.force())

    def __hash__(self) -> int:
        """Answer the hash that goes with equality."""
        return hash(self.force()) if self.finite else hash(self.name)

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.eq`."""
        if self is other:
            return True
        if not isinstance(other, (LazySet, frozenset)):
            return NotImplemented
        return eq(self, other)


class _Infinite(LazySet):
    __slots__ = ("_kind", "_test", "name")

    def __init__(self, name: str, kind: type, test: Callable[[Any], bool]) -> None:
        super().__init__()
        self.name, self._kind, self._test = name, kind, test

    @property
    def finite(self) -> bool:
        return False

    def has(self, value: Value) -> bool:
        if type(value) is self._kind:
            return self._test(value)
        if type(value) is ModelValue:
            return False
        raise wrong(f"membership of {self.name}", "a value that can be compared with its elements", value)

    def __reduce__(self) -> str:
        return {"Nat": "NAT", "Int": "INT", "STRING": "STRING"}[self.name]


NAT = _Infinite("Nat", int, lambda value: bool(value >= 0))
INT = _Infinite("Int", int, lambda value: True)
STRING = _Infinite("STRING", str, lambda value: True)


def is_set(value: Value) -> bool:
    """Tell whether a value is a set."""
    return type(value) is frozenset or isinstance(value, LazySet)


def is_finite(value: Value) -> bool:
    """Decide ``IsFiniteSet(value)``."""
    if type(value) is frozenset:
        return True
    return isinstance(value, LazySet) and value.finite


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


def _values_of(function: Value) -> Iterable[Value]:
    if type(function) is Fcn:
        return function.d.values()
    if type(function) is tuple:
        return function
    forced: Value = function.force()
    return _values_of(forced)


def _is_fcn(value: Value) -> bool:
    return type(value) is tuple or type(value) is Fcn or isinstance(value, LazyFcn)


class SeqSet(LazySet):
    """``Seq(base)``: all finite sequences over a set."""

    __slots__ = ("base",)
    name = "Seq(S)"

    def __init__(self, base: Value) -> None:
        """Take the set of elements."""
        super().__init__()
        self.base = base

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_finite(self.base) and not len(self.base)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        if type(value) is tuple:
            return all(member(element, self.base) for element in value)
        if type(value) is Fcn or type(value) is ModelValue:
            return False
        raise wrong("membership of Seq(S)", "a sequence", value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        yield ()


class PowerSet(LazySet):
    """``SUBSET base``."""

    __slots__ = ("base",)
    name = "SUBSET S"

    def __init__(self, base: Value) -> None:
        """Take the set whose subsets these are."""
        super().__init__()
        if not is_set(base):
            raise wrong("SUBSET", "a set", base)
        self.base = base

    @property
    def finite(self) -> bool:
        """Whether the set can be listed."""
        return is_finite(self.base)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        if not is_set(value):
            if type(value) is ModelValue:
                return False
            raise wrong("membership of SUBSET S", "a set", value)
        return all(member(element, self.base) for element in value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        from lockstep.tla.values import ordered

        listed = list(ordered(self.base))
        for size in range(len(listed) + 1):
            yield from map(frozenset, itertools.combinations(listed, size))

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
        return is_finite(self.domain_set) and (is_finite(self.codomain) or not len(self.domain_set))

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        if not _is_fcn(value):
            if type(value) is ModelValue:
                return False
            raise wrong("membership of [S -> T]", "a function", value)
        if not eq(domain_of(value), self.domain_set):
            return False
        return all(member(element, self.codomain) for element in _values_of(value))

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        from lockstep.tla.values import ordered

        keys = list(ordered(self.domain_set))
        if not keys:
            yield ()
            return
        for row in itertools.product(list(ordered(self.codomain)), repeat=len(keys)):
            yield as_fcn(dict(zip(keys, row, strict=True)))


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
        return all(map(is_finite, self.fields.values()))

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        if type(value) is Fcn:
            table = value.d
            if table.keys() != self.fields.keys():
                return False
            return all(member(table[name], allowed) for name, allowed in self.fields.items())
        if type(value) is tuple or type(value) is ModelValue:
            return False
        raise wrong("membership of a set of records", "a record", value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        from lockstep.tla.values import ordered

        columns = [list(ordered(allowed)) for allowed in self.fields.values()]
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
        return all(map(is_finite, self.factors))

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        if type(value) is tuple:
            return len(value) == len(self.factors) and all(map(member, value, self.factors))
        if type(value) is Fcn or type(value) is ModelValue:
            return False
        raise wrong("membership of a product", "a tuple", value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        from lockstep.tla.values import ordered

        yield from itertools.product(*[list(ordered(factor)) for factor in self.factors])


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
        return is_finite(self.left) and is_finite(self.right)

    def has(self, value: Value) -> bool:
        # The finite side first: it decides more often without asking an infinite set about a foreign kind.
        """Tell whether ``value`` is an element."""
        sides = (self.left, self.right) if is_finite(self.left) else (self.right, self.left)
        refusal: TlaError | None = None
        for side in sides:
            try:
                if member(value, side):
                    return True
            except TlaError as error:
                refusal = error
        if refusal is not None:
            raise refusal
        return False

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        yield from build_set([*self.left, *self.right])


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
        return is_finite(self.left)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.left) and not member(value, self.right)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return (value for value in self.left if not member(value, self.right))


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
        return is_finite(self.base)

    def has(self, value: Value) -> bool:
        """Tell whether ``value`` is an element."""
        return member(value, self.base) and self.test(value)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return filter(self.test, self.base)


class LazyFcn:
    """A function computed on demand: recursive functions, and functions on infinite sets."""

    __slots__ = ("_known", "body", "domain")
    tla_kind = "function"

    def __init__(self, domain: Value, body: Callable[[Any, Value], Value]) -> None:
        """Take the domain, and the value at an argument given the function itself."""
        self.domain, self.body = domain, body
        self._known: dict[Value, Value] = {}

    def apply(self, argument: Value) -> Value:
        """Answer the value at ``argument``, computing it the first time."""
        known = self._known
        if argument in known and type(argument) is not bool:
            return known[argument]
        if not member(argument, self.domain):
            raise TlaError(f"the function is applied to {argument!r}, which is not in its domain")
        value = known[argument] = self.body(self, argument)
        return value

    def force(self) -> Value:
        """Answer the whole function.

        Raises:
            TlaError: if its domain is infinite.
        """
        return as_fcn({argument: self.apply(argument) for argument in self.domain})

    def __hash__(self) -> int:
        """Answer the hash that goes with equality."""
        return hash(self.force())

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.eq`."""
        return self is other or bool(self.force() == (other.force() if isinstance(other, LazyFcn) else other))
