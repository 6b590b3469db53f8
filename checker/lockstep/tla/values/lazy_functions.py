"""Functions computed on demand, as TLC has them: what is wrong with one shows where it is applied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lockstep.tla.values.equality import eq, same_kind
from lockstep.tla.values.frozen_values import Unlisted, frozen
from lockstep.tla.values.kinds import TlaError, Value, as_fcn
from lockstep.tla.values.lazy_sets import in_order, is_listable, member


def not_in_domain(argument: Value) -> TlaError:
    """Make the error of a function applied outside its domain."""
    return TlaError(f"the function is applied to {argument!r}, which is not in its domain")


class LazyFcn(Unlisted):
    """A function computed on demand.

    Attributes:
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
        """Return the value at ``argument``, computing it the first time."""
        known = self._known.get(argument)
        if known is not None and same_kind(known[0], argument):
            return known[1]
        if not member(argument, self.domain):
            raise not_in_domain(argument)
        value = self.body(self, argument)
        self._known[argument] = (argument, value)
        return value

    def updated(self, argument: Value, value: Value) -> LazyFcn:
        """Return the function that differs at one argument."""
        return LazyFcn(self.domain, lambda _self, x: value if eq(argument, x) else self.apply(x), self.soft)

    def force(self) -> Value:
        """Return the whole function; raises TlaError if its domain is infinite, or it has no value somewhere."""
        if self._forced is None:
            self._forced = as_fcn({argument: frozen(self.apply(argument)) for argument in in_order(self.domain)})
        return self._forced

    def sequence(self) -> Value:
        """Return the sequence that the function is, with a length, indexes and slices; None if it is none."""
        forced = self.force()
        return forced if type(forced) is tuple else None

    def __hash__(self) -> int:
        return hash(self.force())

    def __eq__(self, other: object) -> bool:
        """Compare as Python does; equality of TLA+ is :func:`lockstep.tla.values.equality.eq`."""
        return self is other or bool(self.force() == (other.force() if isinstance(other, LazyFcn) else other))
