"""What generated code calls: the operators of TLA+ and of its standard modules, on values.

Every function raises :class:`TlaError` (or its subclass for wrong kinds) where TLC reports an error.
Generated code imports each name of ``__all__`` with an underscore before it, which no name of a specification has.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from lockstep.tla.values.equality import build_set, eq, lookup, ordered
from lockstep.tla.values.growing import GrowingSeq, GrowingSet, Sequence, join, unite
from lockstep.tla.values.growth import grew, made_of
from lockstep.tla.values.kinds import (
    ArgumentError,
    Fcn,
    ModelValue,
    TlaAssertionError,
    TlaError,
    TlaTypeError,
    Value,
    as_fcn,
    domain_of,
    format_value,
    outside,
    wrong,
)
from lockstep.tla.values.sets import (
    INT,
    NAT,
    STRING,
    BigUnion,
    Difference,
    FcnSet,
    Filtered,
    Intersection,
    LazyFcn,
    LazySet,
    PowerSet,
    Product,
    RcdSet,
    SeqSet,
    Union2,
    Unsorted,
    frozen,
    in_order,
    is_finite,
    is_listable,
    is_set,
    member,
)

__all__ = [
    "BOOLEAN",
    "INT",
    "NAT",
    "STRING",
    "Fcn",
    "FcnSet",
    "Lazy",
    "ModelValue",
    "NextState",
    "PowerSet",
    "Product",
    "RcdSet",
    "SeqSet",
    "add",
    "append",
    "apply",
    "as_fcn",
    "assign",
    "bag_cardinality",
    "bag_cup",
    "bag_in",
    "bag_minus",
    "bag_of_all",
    "bag_to_set",
    "bag_union",
    "bag_within",
    "big_union",
    "boolean",
    "build_set",
    "cap",
    "cardinality",
    "choose_next",
    "concatenate",
    "copies_in",
    "cup",
    "div",
    "domain_of",
    "eq",
    "except_",
    "frozen",
    "function",
    "function_of",
    "ge",
    "given",
    "given_within",
    "gt",
    "head",
    "interval",
    "is_a_bag",
    "is_finite_set",
    "le",
    "length",
    "listed",
    "lt",
    "make_set",
    "member",
    "merge",
    "minus",
    "mod",
    "mul",
    "ne",
    "neg",
    "no_case",
    "permutations",
    "power",
    "put",
    "recursive_function",
    "sampled",
    "select_seq",
    "set_filter",
    "set_to_bag",
    "single",
    "soft_function",
    "sort_seq",
    "span",
    "sub",
    "sub_seq",
    "subseteq",
    "tail",
    "tlc_assert",
    "tlc_print",
    "tlc_print_t",
    "to_string",
    "tuples",
    "union_of",
    "untuple",
    "whole",
    "within",
]

BOOLEAN = frozenset({True, False})


class Lazy:
    """A value computed when first asked for, then kept: a LET definition, or an argument that may go unused."""

    __slots__ = ("_compute", "_value")

    def __init__(self, compute: Callable[[], Value]) -> None:
        """Keep how to compute the value."""
        self._compute: Callable[[], Value] | None = compute
        self._value: Value = None

    def __call__(self) -> Value:
        """Answer the value, computing it the first time."""
        compute = self._compute
        if compute is not None:
            self._value = compute()
            self._compute = None
        return self._value


class UnassignedError(TlaError):
    """A variable of the next state is read, or needed, before anything assigned it."""


class NextState:
    """A next state under construction; generated code subclasses it with the variables as slots."""

    __slots__ = ()

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse to read what is not assigned: Python asks here only then."""
        raise UnassignedError(f"the next state does not say what {name.rstrip('_')} is")


def assign(target: Any, name: str, value: Value) -> Iterator[None]:
    """Assign a variable that may be assigned already: then compare instead."""
    try:
        current = object.__getattribute__(target, name)
    except AttributeError:
        setattr(target, name, frozen(value))
        yield
        delattr(target, name)
        return
    if eq(current, value):
        yield


def choose_next(target: Any, name: str, values: Value) -> Iterator[None]:
    """Assign each element of a set in turn to a variable that may be assigned already."""
    try:
        current = object.__getattribute__(target, name)
    except AttributeError:
        for value in elements(values):
            setattr(target, name, frozen(value))
            yield
            delattr(target, name)
        return
    if member(current, values):
        yield


# ---- Logic -----------------------------------------------------------------------------------------------------


def boolean(value: Value) -> bool:
    """Answer a value that must be TRUE or FALSE."""
    if value is True or value is False:
        return bool(value)
    raise wrong("a formula", "TRUE or FALSE", value)


def no_case(place: str) -> NoReturn:
    """Raise the error of a CASE without a true guard."""
    raise TlaError(f"no case applies at {place}")


def elements(container: Value) -> Iterable[Value]:
    """List a set in its deterministic order.

    Raises:
        TlaError: if it cannot be listed, even if nobody wants an element.
    """
    if type(container) is frozenset:
        return container if len(container) < 2 else ordered(container)
    return listed(container)


def listed(container: Value) -> Iterable[Value]:
    """List a set in any order."""
    if type(container) is frozenset:
        return container
    if isinstance(container, LazySet):
        return container if container.finite and type(container) is not Unsorted else container.force()
    raise wrong("a bound", "a set", container)


def sampled(container: Value) -> Iterable[Value]:
    """List a set in its deterministic order; of Nat, Int and STRING one element stands for all."""
    if isinstance(container, LazySet) and container.sample is not None:
        return (container.sample,)
    return elements(container)


def untuple(value: Value, size: int) -> tuple[Value, ...]:
    """Take a tuple apart for ``<<x, y>> \\in S``."""
    if type(value) is tuple and len(value) == size:
        return value
    raise wrong("a tuple of bound variables", f"a tuple of {size}", value)


# ---- Numbers ---------------------------------------------------------------------------------------------------


def integers(operator: str, left: Value, right: Value) -> TlaTypeError:
    """Make the error of an arithmetic operator given something that is no integer."""
    return wrong(operator, "an integer", right if type(left) is int else left)


_LEAST, _GREATEST = -(2**31), 2**31 - 1


def _fitting(operator: str, number: int) -> int:
    """Answer a result, if it is one of TLC's integers, which have 32 bits."""
    if _LEAST <= number <= _GREATEST:
        return number
    raise TlaError(f"the result of {operator} has more than 32 bits, which is what TLC's integers have")


def add(a: Value, b: Value) -> int:
    """Compute ``a + b``."""
    if type(a) is int and type(b) is int:
        number = a + b
        return number if _LEAST <= number <= _GREATEST else _fitting("+", number)
    raise integers("+", a, b)


def sub(a: Value, b: Value) -> int:
    """Compute ``a - b``."""
    if type(a) is int and type(b) is int:
        number = a - b
        return number if _LEAST <= number <= _GREATEST else _fitting("-", number)
    raise integers("-", a, b)


def mul(a: Value, b: Value) -> int:
    """Compute ``a * b``."""
    if type(a) is int and type(b) is int:
        return _fitting("*", a * b)
    raise integers("*", a, b)


def neg(a: Value) -> int:
    """Compute ``-a``."""
    if type(a) is int:
        return _fitting("-", -a)
    raise integers("-", a, a)


def div(a: Value, b: Value) -> int:
    """Compute ``a \\div b``, rounded down."""
    if type(a) is int and type(b) is int:
        if b == 0:
            raise TlaError("the second argument of \\div is 0")
        return _fitting("\\div", a // b)
    raise integers("\\div", a, b)


def mod(a: Value, b: Value) -> int:
    """Compute ``a % b`` for a positive ``b``."""
    if type(a) is int and type(b) is int:
        if b <= 0:
            raise TlaError(f"the second argument of % should be positive, but is {b}")
        return a % b
    raise integers("%", a, b)


def power(a: Value, b: Value) -> int:
    """Compute ``a ^ b`` for a natural ``b``."""
    if type(a) is int and type(b) is int:
        if b < 0 or (a == 0 and b == 0):
            raise TlaError(f"{a} ^ {b} is not defined")
        if abs(a) < 2:
            return int(a ** (b % 2 or 2 * (b > 0)))
        return _fitting("^", int(a ** min(b, 32)))
    raise integers("^", a, b)


def lt(a: Value, b: Value) -> bool:
    """Decide ``a < b``."""
    if type(a) is int and type(b) is int:
        return a < b
    raise integers("<", a, b)


def le(a: Value, b: Value) -> bool:
    """Decide ``a <= b``."""
    if type(a) is int and type(b) is int:
        return a <= b
    raise integers("<=", a, b)


def gt(a: Value, b: Value) -> bool:
    """Decide ``a > b``."""
    if type(a) is int and type(b) is int:
        return a > b
    raise integers(">", a, b)


def ge(a: Value, b: Value) -> bool:
    """Decide ``a >= b``."""
    if type(a) is int and type(b) is int:
        return a >= b
    raise integers(">=", a, b)


def span(a: Value, b: Value) -> range:
    """Answer ``a..b`` for iterating over it."""
    if type(a) is int and type(b) is int:
        return range(a, b + 1)
    raise integers("..", a, b)


def interval(a: Value, b: Value) -> frozenset[int]:
    """Answer ``a..b``."""
    return frozenset(span(a, b))


def within(value: Value, a: Value, b: Value) -> bool:
    """Decide ``value \\in a..b``."""
    if type(value) is int:
        if type(a) is int and type(b) is int:
            return bool(a <= value <= b)
        raise integers("..", a, b)
    return member(value, interval(a, b))


def given(name: str, value: Value, container: Value) -> bool:
    """Decide whether the argument ``name`` of a step, given from outside, is an element of its quantifier's set.

    Raises:
        ArgumentError: if it cannot be compared with the elements; any other error is one of the specification.
    """
    if isinstance(container, Filtered):  # The base decides the kind; the test is the specification's.
        return given(name, value, container.base) and container.test(value)
    if not is_set(container):
        raise wrong("\\in", "a set on its right", container)
    try:
        return member(value, container)
    except TlaTypeError as error:
        raise ArgumentError(name, str(error)) from error


def given_within(name: str, value: Value, a: Value, b: Value) -> bool:
    """Decide the same where the quantifier's set is ``a..b``."""
    if type(value) is int:
        return within(value, a, b)
    return given(name, value, interval(a, b))


# ---- Sets ------------------------------------------------------------------------------------------------------


def make_set(elements: list[Value], lazy: bool = False) -> Value:
    """Build a set; one of values that cannot be compared, or not be listed, can still be asked for some of them."""
    try:
        return build_set(list(map(frozen, elements)) if lazy else elements)
    except TlaError as problem:
        return Unsorted(elements, problem)


def _finite_set(operator: str, value: Value) -> frozenset[Value]:
    if type(value) is frozenset:
        return value
    if isinstance(value, LazySet):
        return value.force()
    raise wrong(operator, "a set", value)


def _check_overlap(left: frozenset[Value], right: frozenset[Value]) -> None:
    """Refuse two sets whose elements cannot be compared, or that Python alone holds equal."""
    small, large = (left, right) if len(left) < len(right) else (right, left)
    for value in small:
        kind = type(value)
        lookup(large, value)
        if kind is int or kind is bool:
            break  # The kinds of the others are the same; model values never clash.


def _is_eager(value: Value) -> bool:
    """Tell whether TLC computes with a set at once, element by element."""
    return type(value) is frozenset or type(value) is Unsorted


def _raw(value: Value) -> Iterable[Value]:
    return value.elements if type(value) is Unsorted else value


def cup(left: Value, right: Value) -> Value:
    """Compute ``left \\cup right``; what is no set shows when the result is asked."""
    if type(left) is frozenset and type(right) is frozenset:
        if not right:
            return left
        if not left:
            return right
        _check_overlap(left, right)
        return grew(unite(left, right), left, right)
    if type(left) is GrowingSet and type(right) is frozenset:
        union = left.plus(right) if right else left
        if union is not None:
            return grew(union, left, right)
    if not _is_eager(left):
        if not _is_eager(right):
            return Union2(left, right)
        left, right = right, left
    if type(left) is frozenset and not left:
        return right
    if not _is_eager(right):
        return Union2(left, right)
    return make_set([*_raw(left), *[value for value in elements(right) if not member(value, left)]])


def cap(left: Value, right: Value) -> Value:
    """Compute ``left \\cap right``; what is no set shows when the result is asked."""
    if type(left) is frozenset and type(right) is frozenset:
        _check_overlap(left, right)
        return left & right
    if not _is_eager(left):
        if not _is_eager(right):
            return Intersection(left, right)
        left, right = right, left
    return make_set([value for value in _raw(left) if member(value, right)])


def minus(left: Value, right: Value) -> Value:
    """Compute ``left \\ right``; what is no set shows when the result is asked."""
    if type(left) is frozenset and type(right) is frozenset:
        _check_overlap(left, right)
        return left - right
    if not _is_eager(left):
        return Difference(left, right)
    return make_set([value for value in _raw(left) if not member(value, right)])


def subseteq(left: Value, right: Value) -> bool:
    """Decide ``left \\subseteq right``."""
    if type(left) is frozenset and type(right) is frozenset:
        if left and right:
            _check_overlap(left, right)
        return left <= right
    if not is_listable(left):
        if type(left) is PowerSet and type(right) is PowerSet:
            return subseteq(left.base, right.base)
        raise wrong("\\subseteq", "a set that can be listed on its left", left)
    return all(member(value, right) for value in elements(left))


def big_union(container: Value) -> Value:
    """Compute ``UNION container``."""
    if type(container) is not frozenset or not all(type(inner) is frozenset for inner in container):
        return BigUnion(container)
    result: Value = frozenset()
    for inner in container:
        result = cup(result, inner)
    return result


def union_of(sets: list[Value]) -> Value:
    """Compute ``UNION {a, b}`` without listing a and b."""
    if len(sets) > 1 and not all(map(is_listable, sets)):
        raise TlaError("UNION of sets that cannot all be listed")
    result: Value = frozenset()
    for inner in sets:
        if not is_set(inner):
            raise wrong("UNION", "a set of sets", inner)
        result = cup(result, inner)
    return result


def set_filter(container: Value, test: Callable[[Value], bool]) -> Value:
    """Compute ``{x \\in container : test(x)}``; what is no set shows when the result is asked."""
    if type(container) is frozenset:
        return frozenset(filter(test, container))
    return container.force() if type(container) is Unsorted else Filtered(container, test)


def cardinality(container: Value) -> int:
    """Compute ``Cardinality(container)``."""
    if isinstance(container, LazySet) and container.finite:
        return len(container)
    return len(_finite_set("Cardinality", container))


def is_finite_set(container: Value) -> bool:
    """Decide ``IsFiniteSet(container)``."""
    return is_finite(container)


# ---- Functions -------------------------------------------------------------------------------------------------


def apply(function: Value, argument: Value) -> Value:
    """Compute ``function[argument]`` (and ``record.field``)."""
    if type(function) is Fcn:
        kind = type(argument)
        if kind is str or kind is ModelValue:
            try:
                return function.d[argument]
            except KeyError:
                raise outside(function, argument) from None
        if lookup(function.d, argument) is None:
            raise outside(function, argument)
        return function.d[argument]
    if type(function) is tuple:
        if type(argument) is int and 0 < argument <= len(function):
            return function[argument - 1]
        raise outside(function, argument)
    if isinstance(function, LazyFcn):
        return function.apply(argument)
    raise wrong("an application", "a function", function)


def function(domain: Value, body: Callable[[Value], Value]) -> Value:
    """Compute ``[x \\in domain |-> body(x)]``: as a whole, unless the domain is one that TLC leaves unlisted.

    What is no set shows when the function is asked.
    """
    if type(domain) is range:
        if domain and domain.start == 1:
            return tuple([body(i) for i in domain])
        return as_fcn({i: body(i) for i in domain})
    if type(domain) is frozenset:
        return as_fcn({argument: body(argument) for argument in domain})
    if type(domain) is Unsorted:
        return domain.force()
    return LazyFcn(domain, lambda _self, argument: body(argument))


def soft_function(domain: Value, body: Callable[[Value], Value]) -> LazyFcn:
    """Compute ``[x \\in domain |-> body(x)]`` where it is about to be applied: TLC then computes what is asked for."""
    return LazyFcn(domain, lambda _self, argument: body(argument), soft=_is_eager(domain))


def function_of(domains: tuple[Value, ...], body: Callable[[Value], Value], soft: bool) -> Value:
    """Compute a function of several arguments, given a set for each; the body takes their tuple."""
    eager = all(map(_is_eager, domains))
    result = LazyFcn(Product(*domains), lambda _self, argument: body(argument), soft=eager)
    return result if soft else whole(result)


def whole(value: Value) -> Value:
    """Answer a value that is not about to be applied: a function is then computed as a whole."""
    if type(value) is LazyFcn and value.soft:
        return as_fcn({argument: whole(value.apply(argument)) for argument in in_order(value.domain)})
    return value


def recursive_function(domain: Value, body: Callable[[Any, Value], Value]) -> Value:
    """Compute the function ``f[x \\in domain] == body(f, x)``, which TLC always computes on demand."""
    return LazyFcn(domain, body)


class ExceptWarning(UserWarning):
    """An EXCEPT at an argument outside the domain, which changes nothing."""


def _ignored(argument: Value) -> None:
    warnings.warn(f"EXCEPT at {format_value(argument)}, which is not in the domain", ExceptWarning, stacklevel=4)


def except_(function: Value, path: tuple[Value, ...], update: Callable[[Value], Value]) -> Value:
    """Compute ``[function EXCEPT ![path] = update(@)]``; outside the domain nothing changes, as in TLC."""
    argument = path[0]
    rest = path[1:]
    if type(function) is Fcn:
        table = function.d
        if type(argument) is not str and type(argument) is not ModelValue:
            present = lookup(table, argument) is not None
        else:
            present = argument in table or (type(argument) is str and lookup(table, argument) is not None)
        if not present:
            _ignored(argument)
            return function
        old = table[argument]
        table = table.copy()
        table[argument] = except_(old, rest, update) if rest else update(old)
        return Fcn(table)
    if type(function) is tuple or type(function) is GrowingSeq:
        if type(argument) is not int and function:
            raise wrong("EXCEPT of a sequence", "an integer", argument)
        if type(argument) is not int or not 0 < argument <= len(function):
            _ignored(argument)
            return function
        old = function[argument - 1]
        new = except_(old, rest, update) if rest else update(old)
        return (*function[: argument - 1], new, *function[argument:])
    if isinstance(function, LazyFcn):
        if not member(argument, function.domain):
            _ignored(argument)
            return function
        old = function.apply(argument)
        return function.updated(argument, except_(old, rest, update) if rest else update(old))
    raise wrong("EXCEPT", "a function", function)


def put(function: Value, path: tuple[Value, ...], value: Value) -> Value:
    """Compute ``[function EXCEPT ![path] = value]`` for a value known already."""
    argument = path[0]
    if type(function) is Fcn and (type(argument) is str or type(argument) is ModelValue):
        table = function.d
        if argument in table:
            fresh = table.copy()
            fresh[argument] = value if len(path) == 1 else put(table[argument], path[1:], value)
            return Fcn(fresh)
    return except_(function, path, lambda _old: value)


def single(argument: Value, value: Value) -> Value:
    """Compute ``argument :> value``."""
    return as_fcn({argument: value})


def _table(function: Value, operator: str = "@@") -> dict[Value, Value]:
    if type(function) is Fcn:
        return function.d
    if type(function) is tuple:
        return dict(enumerate(function, 1))
    if isinstance(function, LazyFcn):
        return _table(function.force(), operator)
    raise wrong(operator, "a function", function)


def merge(left: Value, right: Value) -> Value:
    """Compute ``left @@ right``."""
    a, b = _table(left), _table(right)
    if a and b:
        cup(frozenset(a), frozenset(b))
    return as_fcn({**b, **a})


# ---- Sequences -------------------------------------------------------------------------------------------------


def _sequence(operator: str, value: Value) -> Sequence:
    found = value.sequence() if isinstance(value, LazyFcn) else value
    if type(found) is tuple or type(found) is GrowingSeq:
        return found
    raise wrong(operator, "a sequence", value)


def length(sequence: Value) -> int:
    """Compute ``Len(sequence)`` (of strings too, as TLC does; so do the operators below)."""
    if type(sequence) is tuple or type(sequence) is str:
        return len(sequence)
    return len(_sequence("Len", sequence))


def append(sequence: Value, element: Value) -> Value:
    """Compute ``Append(sequence, element)``."""
    if type(sequence) is str:
        return concatenate(sequence, element)
    base = _sequence("Append", sequence)
    return grew(join(base, (element,)), base, (element,))


def concatenate(left: Value, right: Value) -> Value:
    """Compute ``left \\o right``."""
    if type(left) is str:
        if type(right) is str:
            return left + right
        raise wrong("\\o", "two strings", right)
    base, more = _sequence("\\o", left), _sequence("\\o", tuple(right) if type(right) is str else right)
    return grew(join(base, more), base, more) if more else base


def head(sequence: Value) -> Value:
    """Compute ``Head(sequence)``."""
    items = sequence if type(sequence) is str else _sequence("Head", sequence)
    if not items:
        raise TlaError("Head of the empty sequence")
    return items[0]


def tail(sequence: Value) -> Value:
    """Compute ``Tail(sequence)``."""
    items = sequence if type(sequence) is str else _sequence("Tail", sequence)
    if not items:
        raise TlaError("Tail of the empty sequence")
    return items[1:]


def sub_seq(sequence: Value, start: Value, end: Value) -> Value:
    """Compute ``SubSeq(sequence, start, end)``."""
    items = sequence if type(sequence) is str else _sequence("SubSeq", sequence)
    if type(start) is not int or type(end) is not int:
        raise integers("SubSeq", start, end)
    if start > end:
        return items[:0]
    if start < 1 or end > len(items):
        raise TlaError(f"SubSeq from {start} to {end} of a sequence of {len(items)}")
    known = made_of(items)
    if start == 1 and known is not None and len(known[0]) == end:
        return known[0]
    return items[start - 1 : end]


def select_seq(sequence: Value, test: Callable[[Value], Value]) -> Value:
    """Compute ``SelectSeq(sequence, test)``."""
    items = tuple(sequence) if type(sequence) is str else _sequence("SelectSeq", sequence)
    return tuple([element for element in items if boolean(test(element))])


# ---- Bags ------------------------------------------------------------------------------------------------------


def _copies(operator: str, bag: Value) -> dict[Value, int]:
    """Answer how many copies of each element a bag has; elements without a positive number are no error here."""
    table = _table(bag, operator)
    for count in table.values():
        if type(count) is not int:
            raise wrong(operator, "a bag", bag)
    return table


def is_a_bag(bag: Value) -> bool:
    """Decide ``IsABag(bag)``."""
    if type(bag) is not tuple and type(bag) is not Fcn and not isinstance(bag, LazyFcn):
        return False
    return all(type(count) is int and count > 0 for count in _table(bag, "IsABag").values())


def _bag(operator: str, bag: Value) -> dict[Value, int]:
    if not is_a_bag(bag):
        raise wrong(operator, "a bag", bag)
    return _table(bag, operator)


def bag_to_set(bag: Value) -> Value:
    """Compute ``BagToSet(bag)``."""
    return frozenset(_table(bag, "BagToSet"))


def set_to_bag(container: Value) -> Value:
    """Compute ``SetToBag(container)``."""
    return as_fcn(dict.fromkeys(_finite_set("SetToBag", container), 1))


def bag_in(element: Value, bag: Value) -> bool:
    """Decide ``BagIn(element, bag)``."""
    return copies_in(element, bag) > 0


def copies_in(element: Value, bag: Value) -> int:
    """Compute ``CopiesIn(element, bag)``."""
    table = _table(bag, "CopiesIn")
    if lookup(table, element) is None:
        return 0
    count = table[element]
    if type(count) is not int:
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
        total[element] = _fitting("(+)", left[element] + count) if known else count
    return as_fcn(total)


def bag_minus(left: Value, right: Value) -> Value:
    """Compute ``left (-) right``."""
    return as_fcn({element: count for element, count in _remaining("(-)", left, right) if count > 0})


def _remaining(operator: str, left: Value, right: Value) -> Iterator[tuple[Value, int]]:
    """Tell of each element how many more copies a bag has than another."""
    more, less = _copies(operator, left), _copies(operator, right)
    for element, count in more.items():
        yield element, count - (less[element] if lookup(less, element) is not None else 0)


def bag_within(left: Value, right: Value) -> bool:
    """Decide ``left \\sqsubseteq right``."""
    return all(count <= 0 for _, count in _remaining("\\sqsubseteq", left, right))


def bag_union(bags: Value) -> Value:
    """Compute ``BagUnion(bags)``."""
    each = list(elements(_finite_set("BagUnion", bags)))
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
        total[image] = _fitting("BagOfAll", total[image] + count) if lookup(total, image) is not None else count
    return as_fcn(total)


# ---- TLC -------------------------------------------------------------------------------------------------------


def tlc_assert(condition: Value, message: Value) -> bool:
    """Evaluate ``Assert(condition, message)``.

    Raises:
        TlaAssertionError: if the condition is false.
    """
    if boolean(condition):
        return True
    raise TlaAssertionError(message if type(message) is str else format_value(message))


def permutations(container: Value) -> Value:
    """Compute ``Permutations(container)``: the bijections of a finite set."""
    keys = list(elements(container))
    return frozenset([as_fcn(dict(zip(keys, row, strict=True))) for row in itertools.permutations(keys)])


def sort_seq(sequence: Value, less: Callable[[Value, Value], Value]) -> Value:
    """Compute ``SortSeq(sequence, less)`` by insertion, stable."""
    result: list[Value] = []
    for element in tuple(sequence) if type(sequence) is str else _sequence("SortSeq", sequence):
        place = len(result)
        while place and boolean(less(element, result[place - 1])):
            place -= 1
        result.insert(place, element)
    return tuple(result)


def ne(left: Value, right: Value) -> bool:
    """Decide ``left # right``."""
    return not eq(left, right)


def tlc_print(value: Value, result: Value) -> Value:
    """Evaluate ``Print(value, result)``: the value goes to standard error."""
    print(format_value(value), file=sys.stderr)
    return result


def tlc_print_t(value: Value) -> bool:
    """Evaluate ``PrintT(value)``."""
    print(format_value(value), file=sys.stderr)
    return True


def to_string(value: Value) -> str:
    """Compute ``ToString(value)``."""
    return format_value(value)


def tuples(values: Iterable[Value], size: int) -> Iterator[tuple[Value, ...]]:
    """Take each element of a listed set apart, for ``<<x, y>> \\in S``."""
    for value in values:
        yield untuple(value, size)
