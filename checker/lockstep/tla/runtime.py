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

from lockstep.tla.sets import (
    INT,
    NAT,
    STRING,
    Difference,
    FcnSet,
    Filtered,
    LazyFcn,
    LazySet,
    PowerSet,
    Product,
    RcdSet,
    SeqSet,
    Union2,
    is_finite,
    is_set,
    member,
)
from lockstep.tla.text import format_value
from lockstep.tla.values import (
    Fcn,
    ModelValue,
    TlaAssertionError,
    TlaError,
    TlaTypeError,
    Value,
    as_fcn,
    build_set,
    domain_of,
    eq,
    lookup,
    ordered,
    outside,
    sort_key,
    wrong,
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
    "big_union",
    "boolean",
    "build_set",
    "cap",
    "cardinality",
    "choose",
    "choose_next",
    "concatenate",
    "cup",
    "div",
    "domain_of",
    "elements",
    "eq",
    "except_",
    "frozen",
    "function",
    "ge",
    "gt",
    "head",
    "interval",
    "is_finite_set",
    "le",
    "length",
    "listed",
    "lt",
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
    "select_seq",
    "set_filter",
    "single",
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
    "untuple",
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


def frozen(value: Value) -> Value:
    """Answer the listed form of a lazy value, for keeping in a state."""
    return value.force() if isinstance(value, (LazySet, LazyFcn)) else value


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
    """List a set in its deterministic order."""
    if type(container) is frozenset:
        return container if len(container) < 2 else sorted(container, key=sort_key)
    if isinstance(container, LazySet):
        return ordered(container)
    raise wrong("a bound", "a set", container)


def listed(container: Value) -> Iterable[Value]:
    """List a set in any order."""
    if type(container) is frozenset or isinstance(container, LazySet):
        return container
    raise wrong("a bound", "a set", container)


def choose(container: Value, holds: Callable[[Value], bool], unique: bool, place: str) -> Value:
    """Decide ``CHOOSE x \\in container : holds(x)``: the first witness in the deterministic order.

    Raises:
        TlaError: if there is no witness, or if ``unique`` is asked for and there are two.
    """
    found: list[Value] = []
    for value in elements(container) if type(container) is not range else container:
        if holds(value):
            if not unique:
                return value
            found.append(value)
            if len(found) == 2:
                pair = " and ".join(map(format_value, found))
                raise TlaError(f"CHOOSE at {place} has more than one witness: {pair}")
    if not found:
        raise TlaError(f"CHOOSE at {place} has no witness")
    return found[0]


def untuple(value: Value, size: int) -> tuple[Value, ...]:
    """Take a tuple apart for ``<<x, y>> \\in S``."""
    if type(value) is tuple and len(value) == size:
        return value
    raise wrong("a tuple of bound variables", f"a tuple of {size}", value)


# ---- Numbers ---------------------------------------------------------------------------------------------------


def integers(operator: str, left: Value, right: Value) -> TlaTypeError:
    """Make the error of an arithmetic operator given something that is no integer."""
    return wrong(operator, "an integer", right if type(left) is int else left)


def add(a: Value, b: Value) -> int:
    """Compute ``a + b``."""
    if type(a) is int and type(b) is int:
        return a + b
    raise integers("+", a, b)


def sub(a: Value, b: Value) -> int:
    """Compute ``a - b``."""
    if type(a) is int and type(b) is int:
        return a - b
    raise integers("-", a, b)


def mul(a: Value, b: Value) -> int:
    """Compute ``a * b``."""
    if type(a) is int and type(b) is int:
        return a * b
    raise integers("*", a, b)


def neg(a: Value) -> int:
    """Compute ``-a``."""
    if type(a) is int:
        return -a
    raise integers("-", a, a)


def div(a: Value, b: Value) -> int:
    """Compute ``a \\div b``, rounded down."""
    if type(a) is int and type(b) is int:
        if b == 0:
            raise TlaError("the second argument of \\div is 0")
        return a // b
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
        return int(a**b)
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


# ---- Sets ------------------------------------------------------------------------------------------------------


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


def cup(left: Value, right: Value) -> Value:
    """Compute ``left \\cup right``."""
    if type(left) is frozenset and type(right) is frozenset:
        if not right:
            return left
        if not left:
            return right
        _check_overlap(left, right)
        return left | right
    if not (is_set(left) and is_set(right)):
        raise wrong("\\cup", "sets", right if is_set(left) else left)
    if type(left) is frozenset and not left:
        return right
    return Union2(left, right)


def cap(left: Value, right: Value) -> Value:
    """Compute ``left \\cap right``."""
    if type(left) is frozenset and type(right) is frozenset:
        _check_overlap(left, right)
        return left & right
    if not (is_set(left) and is_set(right)):
        raise wrong("\\cap", "sets", right if is_set(left) else left)
    if type(right) is frozenset:
        left, right = right, left
    if type(left) is frozenset:
        return frozenset([value for value in left if member(value, right)])
    return Filtered(left, lambda value: member(value, right))


def minus(left: Value, right: Value) -> Value:
    """Compute ``left \\ right``."""
    if type(left) is frozenset and type(right) is frozenset:
        _check_overlap(left, right)
        return left - right
    if not (is_set(left) and is_set(right)):
        raise wrong("\\", "sets", right if is_set(left) else left)
    if type(left) is frozenset:
        return frozenset([value for value in left if not member(value, right)])
    return Difference(left, right)


def subseteq(left: Value, right: Value) -> bool:
    """Decide ``left \\subseteq right``."""
    if type(left) is frozenset and type(right) is frozenset:
        if left and right:
            _check_overlap(left, right)
        return left <= right
    if not is_set(right):
        raise wrong("\\subseteq", "sets", right)
    return all(member(value, right) for value in _finite_set("\\subseteq", left))


def big_union(container: Value) -> Value:
    """Compute ``UNION container``."""
    result: Value = frozenset()
    for inner in listed(container):
        result = cup(result, inner)
    return result


def set_filter(container: Value, test: Callable[[Value], bool]) -> Value:
    """Compute ``{x \\in container : test(x)}``."""
    if isinstance(container, LazySet) and not container.finite:
        return Filtered(container, test)
    return frozenset([value for value in listed(container) if test(value)])


def cardinality(container: Value) -> int:
    """Compute ``Cardinality(container)``."""
    if isinstance(container, LazySet) and container.finite:
        return len(container)
    return len(_finite_set("Cardinality", container))


def is_finite_set(container: Value) -> bool:
    """Decide ``IsFiniteSet(container)``."""
    if not is_set(container):
        raise wrong("IsFiniteSet", "a set", container)
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
        return function.apply(argument)
    if type(function) is tuple:
        if type(argument) is int and 0 < argument <= len(function):
            return function[argument - 1]
        raise outside(function, argument)
    if isinstance(function, LazyFcn):
        return function.apply(argument)
    raise wrong("an application", "a function", function)


def function(domain: Value, body: Callable[[Value], Value]) -> Value:
    """Compute ``[x \\in domain |-> body(x)]``."""
    if type(domain) is range:
        if domain and domain.start == 1:
            return tuple([body(i) for i in domain])
        return as_fcn({i: body(i) for i in domain})
    if isinstance(domain, LazySet) and not domain.finite:
        return LazyFcn(domain, lambda _self, argument: body(argument))
    return as_fcn({argument: body(argument) for argument in listed(domain)})


def recursive_function(domain: Value, body: Callable[[Any, Value], Value]) -> Value:
    """Compute the function ``f[x \\in domain] == body(f, x)``."""
    lazy = LazyFcn(domain, body)
    return lazy.force() if is_finite(domain) else lazy


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
            present = argument in table
        if not present:
            _ignored(argument)
            return function
        old = table[argument]
        table = table.copy()
        table[argument] = except_(old, rest, update) if rest else update(old)
        return Fcn(table)
    if type(function) is tuple:
        if type(argument) is not int or not 0 < argument <= len(function):
            _ignored(argument)
            return function
        old = function[argument - 1]
        new = except_(old, rest, update) if rest else update(old)
        return (*function[: argument - 1], new, *function[argument:])
    if isinstance(function, LazyFcn):
        return except_(function.force(), path, update)
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


def _table(function: Value) -> dict[Value, Value]:
    if type(function) is Fcn:
        return function.d
    if type(function) is tuple:
        return dict(enumerate(function, 1))
    if isinstance(function, LazyFcn):
        return _table(function.force())
    raise wrong("@@", "a function", function)


def merge(left: Value, right: Value) -> Value:
    """Compute ``left @@ right``."""
    a, b = _table(left), _table(right)
    if a and b:
        cup(frozenset(a), frozenset(b))
    return as_fcn({**b, **a})


# ---- Sequences -------------------------------------------------------------------------------------------------


def _sequence(operator: str, value: Value) -> tuple[Value, ...]:
    if type(value) is tuple:
        return value
    if isinstance(value, LazyFcn):
        return _sequence(operator, value.force())
    raise wrong(operator, "a sequence", value)


def length(sequence: Value) -> int:
    """Compute ``Len(sequence)``."""
    if type(sequence) is tuple or type(sequence) is str:
        return len(sequence)
    return len(_sequence("Len", sequence))


def append(sequence: Value, element: Value) -> Value:
    """Compute ``Append(sequence, element)``."""
    return (*_sequence("Append", sequence), element)


def concatenate(left: Value, right: Value) -> Value:
    """Compute ``left \\o right`` (strings too, as TLC does)."""
    if type(left) is str and type(right) is str:
        return left + right
    return _sequence("\\o", left) + _sequence("\\o", right)


def head(sequence: Value) -> Value:
    """Compute ``Head(sequence)``."""
    if not _sequence("Head", sequence):
        raise TlaError("Head of the empty sequence")
    return sequence[0]


def tail(sequence: Value) -> Value:
    """Compute ``Tail(sequence)``."""
    if not _sequence("Tail", sequence):
        raise TlaError("Tail of the empty sequence")
    return _sequence("Tail", sequence)[1:]


def sub_seq(sequence: Value, start: Value, end: Value) -> Value:
    """Compute ``SubSeq(sequence, start, end)``."""
    items = _sequence("SubSeq", sequence)
    if type(start) is not int or type(end) is not int:
        raise integers("SubSeq", start, end)
    if start > end:
        return ()
    if start < 1 or end > len(items):
        raise TlaError(f"SubSeq from {start} to {end} of a sequence of {len(items)}")
    return items[start - 1 : end]


def select_seq(sequence: Value, test: Callable[[Value], Value]) -> Value:
    """Compute ``SelectSeq(sequence, test)``."""
    return tuple([element for element in _sequence("SelectSeq", sequence) if boolean(test(element))])


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
    for element in _sequence("SortSeq", sequence):
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
