"""Numbers, as TLC has them: integers of 32 bits, and their intervals."""

from __future__ import annotations

from lockstep.tla.values.integer_intervals import Listed, interval_of
from lockstep.tla.values.kinds import TlaError, TlaTypeError, Value, wrong
from lockstep.tla.values.lazy_sets import member

__all__ = [
    "add",
    "div",
    "ge",
    "gt",
    "interval",
    "le",
    "lt",
    "mod",
    "mul",
    "neg",
    "power",
    "span",
    "sub",
    "within",
]


def integers(operator: str, left: Value, right: Value) -> TlaTypeError:
    """Make the error of an arithmetic operator given something that is no integer."""
    return wrong(operator, "an integer", right if type(left) is int else left)


_LEAST, _GREATEST = -(2**31), 2**31 - 1


def fitting(operator: str, number: int) -> int:
    """Return a result, if it is one of TLC's integers, which have 32 bits."""
    if _LEAST <= number <= _GREATEST:
        return number
    raise TlaError(f"the result of {operator} has more than 32 bits, which is what TLC's integers have")


def add(a: Value, b: Value) -> int:
    """Compute ``a + b``."""
    if type(a) is int and type(b) is int:
        number = a + b
        return number if _LEAST <= number <= _GREATEST else fitting("+", number)
    raise integers("+", a, b)


def sub(a: Value, b: Value) -> int:
    """Compute ``a - b``."""
    if type(a) is int and type(b) is int:
        number = a - b
        return number if _LEAST <= number <= _GREATEST else fitting("-", number)
    raise integers("-", a, b)


def mul(a: Value, b: Value) -> int:
    """Compute ``a * b``."""
    if type(a) is int and type(b) is int:
        return fitting("*", a * b)
    raise integers("*", a, b)


def neg(a: Value) -> int:
    """Compute ``-a``."""
    if type(a) is int:
        return fitting("-", -a)
    raise integers("-", a, a)


def div(a: Value, b: Value) -> int:
    """Compute ``a \\div b``, rounded down."""
    if type(a) is int and type(b) is int:
        if b == 0:
            raise TlaError("the second argument of \\div is 0")
        return fitting("\\div", a // b)
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
        return fitting("^", int(a ** min(b, 32)))
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
    """Return ``a..b`` for iterating over it."""
    if type(a) is int and type(b) is int:
        return range(a, b + 1)
    raise integers("..", a, b)


def interval(a: Value, b: Value) -> Listed:
    """Return ``a..b``."""
    if type(a) is int and type(b) is int:
        return interval_of(a, b)
    raise integers("..", a, b)


def within(value: Value, a: Value, b: Value) -> bool:
    """Decide ``value \\in a..b``."""
    if type(value) is int:
        if type(a) is int and type(b) is int:
            return bool(a <= value <= b)
        raise integers("..", a, b)
    return member(value, interval(a, b))
