"""Behaviours of a specification: steps with their arguments, and the changes of each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lockstep.tla.liveness.lasso_replay import FairnessEvidence
from lockstep.tla.values.equality import compare
from lockstep.tla.values.html_table import table
from lockstep.tla.values.kinds import Fcn, Value, format_call, format_value, sort_key

_FIELD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True, slots=True)
class BehaviourStep:
    """A step, and the state that it leads to.

    Attributes:
        action: its name; ``Init`` for the initial state, None where it is unknown.
        args: its arguments by name, None where they are unknown.
        place: the place of the action's definition; empty where it is unknown.
    """

    action: str | None
    args: Mapping[str, Value] | None
    place: str
    state: Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Behaviour:
    """The steps from an initial state on.

    Attributes:
        back_to: of a behaviour without end, the index of the step to which it goes back; the last where it stays there.
        fairness: how the cycle meets each condition of fairness; empty where that is not known.
        back_by: the step that goes back; None where it stays, or the step is unknown.
    """

    steps: tuple[BehaviourStep, ...]
    back_to: int | None = None
    fairness: tuple[FairnessEvidence, ...] = ()
    back_by: BehaviourStep | None = None

    def changed(self, index: int) -> tuple[Change, ...]:
        """List what a step changed; nothing for the initial state."""
        return () if index == 0 else tuple(changes(self.steps[index - 1].state, self.steps[index].state))

    def _repr_html_(self) -> str:
        """Show each step with its arguments and changes in a notebook; the first state is shown whole."""
        caption = f"{len(self.steps)} states" + ("" if self.back_to is None else f", and back to {self.back_to + 1}")
        return table(caption, ["", "action", "changes"], self.rows())

    def rows(self) -> list[tuple[int, str, str]]:
        """List the place of each step, its action with arguments, and its changes, a line each."""
        return [self._row(index) for index in range(len(self.steps))]

    def _row(self, index: int) -> tuple[int, str, str]:
        step = self.steps[index]
        changed = [
            f"{change.path}: {format_value(change.old)} -> {format_value(change.new)}" for change in self.changed(index)
        ]
        shown = changed if index else [f"{name} = {format_value(value)}" for name, value in step.state.items()]
        return index + 1, format_call(step.action or "", step.args or {}), "\n".join(shown)


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a value by a step.

    Attributes:
        path: the path to a value, as TLA+ writes it: ``node[n1].term``.
    """

    path: str
    old: Value
    new: Value


def changes(before: Mapping[str, Value], after: Mapping[str, Value]) -> Iterator[Change]:
    """List the differences between two states; functions with one domain are compared value by value."""
    for name, new in after.items():
        if name in before:
            yield from _changes(name, before[name], new)


def _changes(path: str, old: Value, new: Value) -> Iterator[Change]:
    if compare(old, new):
        return
    parts = _parts(old, new)
    if parts is None:
        yield Change(path, old, new)
        return
    for place, old_part, new_part in parts:
        yield from _changes(path + place, old_part, new_part)


def _parts(old: Value, new: Value) -> list[tuple[str, Value, Value]] | None:
    """Pair the values of two functions with one domain, each with its place; None if there is no such pairing."""
    if type(old) is tuple and type(new) is tuple and len(old) == len(new):
        return [(f"[{at}]", *pair) for at, pair in enumerate(zip(old, new, strict=True), start=1)]
    if type(old) is Fcn and type(new) is Fcn and compare(frozenset(old.d), frozenset(new.d)):
        return [(place_text(key), old.d[key], new.d[key]) for key in sorted(old.d, key=sort_key)]
    return None


def place_text(key: Value) -> str:
    """Return a field of a record, or an argument of a function, as TLA+ writes it behind a value."""
    is_field = type(key) is str and _FIELD.fullmatch(key) is not None
    return f".{key}" if is_field else f"[{format_value(key)}]"
