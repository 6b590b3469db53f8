"""A next state under construction, and the assignment of variables that may be assigned already."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NoReturn

from lockstep.tla.values.equality import eq
from lockstep.tla.values.frozen_values import frozen
from lockstep.tla.values.kinds import TlaError, Value
from lockstep.tla.values.lazy_sets import member
from lockstep.tla.values.quantifier_bounds import elements

__all__ = ["NextState", "UnassignedError", "assign", "choose_next", "is_complete"]

_SUFFIX = r"__\d+$|_+$"
"""The suffix of a variable's name in Python if that is a keyword, or that of a variable that only an ENABLED knows."""


class UnassignedError(TlaError):
    """A variable of the next state is read, or needed, before anything assigned it."""

    def __init__(self, name: str) -> None:
        super().__init__(f"the next state does not say what {name} is")
        self.name = name


class NextState:
    """A next state under construction; generated code subclasses it with the variables as slots."""

    __slots__: tuple[str, ...] = ()

    def __getattr__(self, name: str) -> NoReturn:
        """Refuse to read what is not assigned: Python asks here only then."""
        raise UnassignedError(re.sub(_SUFFIX, "", name))


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


def is_complete(target: NextState) -> bool:
    """Return whether all variables are assigned."""
    try:
        for name in target.__slots__:
            object.__getattribute__(target, name)
    except AttributeError:
        return False
    return True
