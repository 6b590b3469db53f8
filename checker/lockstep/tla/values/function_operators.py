"""Functions and records: applying them, writing them out, EXCEPT, and the functions of the module TLC."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from types import FrameType
from typing import Any

from lockstep.tla.values.constructed_sets import CartesianProduct
from lockstep.tla.values.equality import lookup
from lockstep.tla.values.growing_functions import continued, restricted
from lockstep.tla.values.growing_values import GrowingSeq
from lockstep.tla.values.integer_intervals import Interval, domain_of
from lockstep.tla.values.kinds import Fcn, ModelValue, Value, as_fcn, format_value, outside, wrong
from lockstep.tla.values.lazy_functions import LazyFcn, not_in_domain
from lockstep.tla.values.lazy_set_algebra import Unsorted, is_eager
from lockstep.tla.values.lazy_sets import in_order, member
from lockstep.tla.values.set_operators import cup

__all__ = [
    "apply",
    "argument",
    "except_",
    "function",
    "function_of",
    "in_domain",
    "merge",
    "part_of",
    "put",
    "recursive_function",
    "single",
    "soft_function",
    "whole",
]


def apply(function: Value, argument: Value) -> Value:
    """Compute ``function[argument]`` (and ``record.field``)."""
    if type(function) is Fcn:
        kind = type(argument)
        if kind is str or kind is ModelValue:
            try:
                return function.d[argument]
            except KeyError:
                raise outside(function, argument) from None
        if kind is int and type(next(iter(function.d))) is int and argument in function.d:
            return function.d[argument]
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


def in_domain(value: Value, function: Value) -> bool:
    """Decide ``value \\in DOMAIN function``.

    The domain of a table is not made: to ask about each of its arguments would take quadratic time.
    """
    kind = type(value)
    if kind is int and type(function) is tuple:
        return bool(0 < value <= len(function))
    if type(function) is Fcn:
        if (kind is str or kind is ModelValue) and value in function.d:
            return True
        return lookup(function.d, value) is not None
    return member(value, domain_of(function))


def argument(domain: Value, given: Value) -> Value:
    """Return the argument that a function with this domain is applied to.

    Raises:
        TlaError: if it is not in the domain.
    """
    if not member(given, domain):
        raise not_in_domain(given)
    return given


def function(domain: Value, body: Callable[[Value], Value]) -> Value:
    """Compute ``[x \\in domain |-> body(x)]``: as a whole, unless the domain is one that TLC leaves unlisted.

    An operand that is no set is an error when the function is applied.
    """
    if type(domain) is Interval:
        domain = domain.span()
    if type(domain) is range:
        if domain and domain.start == 1:
            return tuple([body(i) for i in domain])
        return as_fcn({i: body(i) for i in domain})
    if type(domain) is frozenset:
        return as_fcn({argument: body(argument) for argument in domain})
    if type(domain) is Unsorted:
        return domain.force()
    return LazyFcn(domain, lambda _self, argument: body(argument))


def part_of(whole_one: Value, domain: Value) -> Value:
    """Compute ``[x \\in domain |-> whole_one[x]]``; a long part of a long function shares its values."""
    found = restricted(whole_one, domain)
    return function(domain, lambda argument: apply(whole_one, argument)) if found is None else found


def soft_function(domain: Value, body: Callable[[Value], Value]) -> LazyFcn:
    """Compute ``[x \\in domain |-> body(x)]`` where it is about to be applied: TLC then computes what is asked for."""
    return LazyFcn(domain, lambda _self, argument: body(argument), soft=is_eager(domain))


def function_of(domains: tuple[Value, ...], body: Callable[[Value], Value], soft: bool) -> Value:
    """Compute a function of several arguments, given a set for each; the body takes their tuple."""
    eager = all(map(is_eager, domains))
    result = LazyFcn(CartesianProduct(*domains), lambda _self, argument: body(argument), soft=eager)
    return result if soft else whole(result)


def whole(value: Value) -> Value:
    """Return a value that is not about to be applied: a function is then computed as a whole."""
    if type(value) is LazyFcn and value.soft:
        return as_fcn({argument: whole(value.apply(argument)) for argument in in_order(value.domain)})
    return value


def recursive_function(domain: Value, body: Callable[[Any, Value], Value]) -> Value:
    """Compute the function ``f[x \\in domain] == body(f, x)``, which TLC always computes on demand."""
    return LazyFcn(domain, body)


class ExceptWarning(UserWarning):
    """An EXCEPT at an argument outside the domain, which changes nothing."""


def _ignored(argument: Value) -> None:
    """Warn, once for each place in a spec, which the spec finds by the line of its generated code."""
    said = f"EXCEPT at {format_value(argument)}, which is not in the domain, changes nothing"
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and "_note_at" not in frame.f_globals:
        frame = frame.f_back
    if frame is not None:
        note = frame.f_globals["_note_at"](frame.f_lineno, said)
        if note is not None:
            warnings.warn(note, ExceptWarning, stacklevel=4)
    else:
        warnings.warn(said, ExceptWarning, stacklevel=4)


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


def table_of(function: Value, operator: str = "@@") -> dict[Value, Value]:
    """Return a function as a dict; raises TlaTypeError, which names the operator, if it is none."""
    if type(function) is Fcn:
        return function.d
    if type(function) is tuple:
        return dict(enumerate(function, 1))
    if isinstance(function, LazyFcn):
        return table_of(function.force(), operator)
    raise wrong(operator, "a function", function)


def merge(left: Value, right: Value) -> Value:
    """Compute ``left @@ right``; a function that goes on behind its last index is continued."""
    found = continued(right, left.d) if type(left) is Fcn else None
    if found is not None:
        return found
    a, b = table_of(left), table_of(right)
    if a and b:
        cup(frozenset(a), frozenset(b))
    return as_fcn({**b, **a})
