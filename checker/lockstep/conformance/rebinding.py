"""A step taken once more after others have gone: with the same arguments, or with those that differ least.

The object of a step may have changed or gone: a message that now has another term, an index that shifted. The rule, in
this order:

1. The step is taken with its own arguments, if the spec allows that.
2. Else the same action of the same node is taken with other arguments that the spec allows: first those that differ in
   one parameter, then in two, and so on; among these, those that differ in the fewest parts (fields of records and
   elements of sequences, at any depth); among these, the first in the order of TLC.
3. Else the step goes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import ArgumentError, Fcn, TlaTypeError, Value, sort_key
from lockstep.tla.values.quantifier_bounds import KnownValue, UnknownArgumentError


@dataclass(frozen=True, slots=True)
class RecordedStep:
    """One step of a trace that is taken again: its action with all arguments, the node among them.

    `shows` names the fields that the trace shows after it; `has_sent`, whether it lists what was sent.
    """

    node: str
    action: str
    args: dict[str, Value]
    shows: tuple[str, ...] = ()
    has_sent: bool = False


class Rebinding:
    """Steps taken again by the rule of this module."""

    def __init__(self, spec: Spec) -> None:
        self._spec = spec

    def take(self, state: State, step: RecordedStep) -> tuple[RecordedStep, State] | None:
        """Return a step as the spec takes it in a state, and the state after it; None where the step goes."""
        after = self._after(state, step)
        if after is not None:
            return step, after
        others = list(self._spec.actions[step.action].params)[1:] if step.node else list(step.args)
        for count in range(1, len(others) + 1):
            for bound in self._bindings(state, step, others, count):
                rebound = replace(step, args=bound)
                after = self._after(state, rebound)
                if after is not None:
                    return rebound, after
        return None

    def _after(self, state: State, step: RecordedStep) -> State | None:
        try:
            return self._spec.step(state, step.action, step.args)
        except ArgumentError:  # it cannot be in the set that its quantifier binds it to
            return None

    def _bindings(self, state: State, step: RecordedStep, others: list[str], count: int) -> list[dict[str, Value]]:
        """Return the arguments that differ in `count` parameters, those that differ least first."""
        found: dict[tuple[object, ...], dict[str, Value]] = {}
        for open_ones in combinations(others, count):
            for args in self._listed(state, step, open_ones):
                if all(not _same(args[name], step.args[name]) for name in open_ones):
                    parts = sum(distance(args[name], step.args[name]) for name in open_ones)
                    order = tuple(sort_key(args[name]) for name in step.args)
                    found.setdefault((parts, order), args)
        return [found[key] for key in sorted(found)]

    def _listed(self, state: State, step: RecordedStep, open_ones: tuple[str, ...]) -> Iterator[dict[str, Value]]:
        bounds = {name: KnownValue(name, value) for name, value in step.args.items() if name not in open_ones}
        try:
            yield from self._spec.arguments(state, step.action, bounds)
        except (UnknownArgumentError, TlaTypeError):  # a set without an end, or one not comparable with a given value
            return


def distance(one: Value, other: Value) -> int:
    """Count the parts in which two values differ: fields of records and elements of sequences, at any depth."""
    if _same(one, other):
        return 0
    if isinstance(one, Fcn) and isinstance(other, Fcn):
        shared = one.d.keys() & other.d.keys()
        return len(one.d.keys() ^ other.d.keys()) + sum(distance(one.d[key], other.d[key]) for key in shared)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return abs(len(one) - len(other)) + sum(map(distance, one, other))
    return 1


def _same(one: Value, other: Value) -> bool:
    """Return whether two values are equal; to Python 1 equals True."""
    return isinstance(one, bool) == isinstance(other, bool) and one == other
