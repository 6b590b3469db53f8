"""Nat, Int, STRING, and the sets made of others: ``Seq(S)``, ``SUBSET S``, ``[S -> T]``, ``[a : S]``, ``S \\X T``."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from operator import is_
from typing import Any, cast

from lockstep.tla.values.equality import compare, eq, ordered
from lockstep.tla.values.integer_intervals import domain_of
from lockstep.tla.values.kinds import Fcn, ModelValue, TlaError, Value, as_fcn, forced, wrong
from lockstep.tla.values.lazy_functions import LazyFcn
from lockstep.tla.values.lazy_sets import LazySet, in_order, is_finite, is_listable, is_set, member
from lockstep.tla.values.remembered_values import MIN_REMEMBERED, Latest, made_of

__all__ = ["INT", "NAT", "STRING", "CartesianProduct", "FcnSet", "PowerSet", "RcdSet", "sequences_over"]

#: The number of long elements of a set of sequences that are remembered: the next is often one of them with one more.
_MAX_LONG = 16

#: The bits that TLC has for a count.
_BITS = 31


class _Infinite(LazySet):
    __slots__ = ()

    @property
    def finite(self) -> bool:
        return False

    def is_finite(self) -> bool:
        return False


class _Constant(_Infinite):
    __slots__ = ("_kind", "_test", "name", "sample")

    def __init__(self, name: str, kind: type, test: Callable[[Any], bool], sample: Value) -> None:
        super().__init__()
        self.name, self._kind, self._test, self.sample = name, kind, test, sample

    def has(self, value: Value) -> bool:
        if type(value) is self._kind:
            return self._test(value)
        return _foreign(self, "a value that can be compared with its elements", value)

    def compared(self, other: Any) -> bool | None:
        return True if self is other else None

    def __reduce__(self) -> str:
        return {"Nat": "NAT", "Int": "INT", "STRING": "STRING"}[self.name]


NAT = _Constant("Nat", int, lambda value: bool(value >= 0), 0)
INT = _Constant("Int", int, lambda value: True, 0)
STRING = _Constant("STRING", str, lambda value: True, "a string")


def _foreign(container: LazySet, wanted: str, value: Value) -> bool:
    """Return False for a model value, which is an element of no set but those that list it; refuse others."""
    if type(value) is ModelValue and not value.kind:
        return False
    raise wrong(f"membership of {container.name}", wanted, value)


def _as_function(value: Value) -> Value:
    """Return a tuple or an :class:`Fcn` for a function, None for anything else."""
    if isinstance(value, LazyFcn):
        return value.force()
    return value if type(value) is tuple or type(value) is Fcn else None


def _as_sequence(value: Value) -> Value:
    """Return a sequence (to TLC a string is one, too) that has a length, indexes and slices; None for anything else."""
    if type(value) is str:
        return tuple(value)
    if isinstance(value, LazyFcn):
        return value.sequence()
    return value if type(value) is tuple else None


def _all_members(pairs: Iterable[tuple[Value, Value]]) -> bool:
    return all(member(value, container) for value, container in pairs)


def _are_members(values: Collection[Value], container: Value) -> bool:
    """Return whether many values are all found to be elements of a set; if not, only a test of each in order decides.

    To sort many values takes longer than to look at them, and if all are elements their order does not matter.
    """
    try:
        return len(values) >= MIN_REMEMBERED and all(member(value, container) for value in values)
    except TlaError:
        return False


class SeqSet(_Infinite):
    """``Seq(base)``: all finite sequences over a set."""

    __slots__ = ("_long", "base")
    name = "Seq(S)"

    def __init__(self, base: Value) -> None:
        super().__init__()
        self.base = base
        self._long: deque[Value] = deque(maxlen=_MAX_LONG)

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        sequence = _as_sequence(value)
        if sequence is None:
            return _foreign(self, "a sequence", value)
        if len(sequence) < MIN_REMEMBERED:
            return all(member(element, self.base) for element in sequence)
        if any(each is sequence for each in self._long):
            return True
        known = self._known_beginning(sequence)
        if not all(member(element, self.base) for element in sequence[len(known) :]):
            return False
        self._long.appendleft(sequence)
        return True

    def _known_beginning(self, sequence: Value) -> Value:
        """Return a beginning of the sequence that is known to be an element."""
        grown = made_of(sequence)
        if grown is not None and any(each is grown[0] for each in self._long):
            return grown[0]
        beginnings = (each for each in self._long if len(each) <= len(sequence) and all(map(is_, each, sequence)))
        return next(beginnings, ())

    def compared(self, other: SeqSet) -> bool | None:
        """Decide whether another such set is equal."""
        return compare(self.base, other.base)


#: The sets of the sequences over the latest sets: each remembers what it has found to be an element.
_sequences = Latest(32)


def sequences_over(base: Value) -> SeqSet:
    """Return ``Seq(base)``, the same object for the same set."""
    if (known := _sequences.get(id(base))) is not None:
        return cast("SeqSet", known[1])
    found = SeqSet(base)
    _sequences.remember(base, found)
    return found


class PowerSet(LazySet):
    """``SUBSET base``."""

    __slots__ = ("base",)
    name = "SUBSET S"

    def __init__(self, base: Value) -> None:
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
        """Return whether ``value`` is an element."""
        if not is_set(value):
            raise wrong("membership of SUBSET S", "a set", value)
        if type(value) is frozenset and _are_members(value, self.base):
            return True
        return all(member(element, self.base) for element in in_order(value))

    def compared(self, other: PowerSet) -> bool | None:
        """Decide whether another such set is equal."""
        return compare(self.base, other.base)

    def items(self) -> Iterator[Value]:
        """List the elements, each once."""
        return self.subsets(list(self.order(forced(self.base))))

    def subsets(self, elements: list[Value]) -> Iterator[Value]:
        """List the elements, each once, by size and by the order of the elements of the base."""
        for size in range(len(elements) + 1):
            yield from map(frozenset, itertools.combinations(elements, size))

    def __len__(self) -> int:
        return _power(self, 2, len(self.base))


def _power(container: LazySet, base: int, exponent: int) -> int:
    """Count the elements of a set, ``base ** exponent``, if TLC could: its integers have 32 bits."""
    if (base > 1 and exponent >= _BITS) or base**exponent >= 1 << _BITS:
        raise TlaError(f"{container.name} has more elements than can be counted")
    return int(base**exponent)


class FcnSet(LazySet):
    """``[domain -> range]``."""

    __slots__ = ("codomain", "domain_set")
    name = "[S -> T]"

    def __init__(self, domain_set: Value, codomain: Value) -> None:
        super().__init__()
        self.domain_set, self.codomain = domain_set, codomain

    def made_of(self) -> Iterable[Value]:
        """List what should be sets."""
        return self.domain_set, self.codomain

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        function = _as_function(value)
        if function is None:
            return _foreign(self, "a function", value)
        if not eq(domain_of(function), self.domain_set):
            return False
        if type(function) is tuple:
            return all(member(element, self.codomain) for element in function)
        if _are_members(function.d.values(), self.codomain):
            return True
        return all(member(function.d[key], self.codomain) for key in ordered(function.d))

    def compared(self, other: FcnSet) -> bool | None:
        """Decide whether another such set is equal, as TLC does: by domain and range."""
        return compare(self.domain_set, other.domain_set) and compare(self.codomain, other.codomain)

    def __len__(self) -> int:
        return _power(self, len(self.codomain), len(self.domain_set))

    def items(self) -> Iterator[Value]:
        """List the elements; of a part that has one twice, what is made of that as well."""
        keys = list(self.order(forced(self.domain_set)))
        if not keys:
            yield ()
            return
        rows = itertools.product(self.listed(self.codomain), repeat=len(keys))
        if type(keys[0]) is int and keys == list(range(1, len(keys) + 1)):
            yield from rows
        else:
            yield from (as_fcn(dict(zip(keys, row, strict=True))) for row in rows)


def _compare_factors(left: LazySet, right: LazySet, pairs: Iterable[tuple[Value, Value]] | None) -> bool | None:
    """Compare two products by their factors; without pairs of these, by whether both are empty."""
    empty = [part.finite and not any(True for _ in part) for part in (left, right)]
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

    __slots__ = ("_last", "fields")
    name = "a set of records"

    def __init__(self, fields: dict[str, Value]) -> None:
        super().__init__()
        self.fields = fields
        self._last: dict[Value, Value] = {}

    def __getstate__(self) -> object:
        """Pickle the set without the records that were tested."""
        plain, slots = cast("tuple[object, dict[str, object]]", super().__getstate__())
        return plain, {**slots, "_last": {}}

    def made_of(self) -> Iterable[Value]:
        """List what should be sets."""
        return self.fields.values()

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        function = _as_function(value)
        if function == ():
            return False
        if type(function) is not Fcn or type(next(iter(function.d))) is not str:
            return _foreign(self, "a record", value)
        table = function.d
        if table.keys() != self.fields.keys():
            return False
        # Most records that are tested differ in a field or two from the one before.
        last = self._last
        untested = [name for name in table if name not in last or last[name] is not table[name]]
        if not _all_members((table[name], self.fields[name]) for name in sorted(untested)):
            return False
        self._last = table
        return True

    def compared(self, other: RcdSet) -> bool | None:
        """Decide whether another such set is equal."""
        alike = self.fields.keys() == other.fields.keys()
        pairs = [(self.fields[name], other.fields[name]) for name in sorted(self.fields)] if alike else None
        return _compare_factors(self, other, pairs)

    def items(self) -> Iterator[Value]:
        """List the elements; of a part that has one twice, what is made of that as well."""
        columns = [self.listed(allowed) for allowed in self.fields.values()]
        for row in itertools.product(*columns):
            yield Fcn(dict(zip(self.fields, row, strict=True)))


class CartesianProduct(LazySet):
    """``S \\X T \\X ...``."""

    __slots__ = ("factors",)
    name = "a product"

    def __init__(self, *factors: Value) -> None:
        super().__init__()
        self.factors = factors

    def made_of(self) -> Iterable[Value]:
        """List what should be sets."""
        return self.factors

    def has(self, value: Value) -> bool:
        """Return whether ``value`` is an element."""
        sequence = _as_sequence(value)
        if sequence is not None:
            return len(sequence) == len(self.factors) and _all_members(zip(sequence, self.factors, strict=True))
        function = _as_function(value)
        if function is not None and all(type(key) is int for key in function.d):
            return False
        return _foreign(self, "a tuple", value)

    def compared(self, other: CartesianProduct) -> bool | None:
        """Decide whether another such set is equal."""
        alike = len(self.factors) == len(other.factors)
        return _compare_factors(self, other, zip(self.factors, other.factors, strict=True) if alike else None)

    def items(self) -> Iterator[Value]:
        """List the elements; of a part that has one twice, what is made of that as well."""
        yield from itertools.product(*map(self.listed, self.factors))
