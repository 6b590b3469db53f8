"""Comparing a guard with the rule that is meant: in which state do they allow different steps?

A guard that breaks no property of a small model may still be another rule: one that no term stands in, or that lets one
node win and no other. So both are asked in every state that the rule reaches, in that model and in another one. They
are the same where they allow the same steps, however they are written; a step that changes nothing does not count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lockstep.tla.exploration import Exploration
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value


@dataclass(frozen=True, slots=True)
class Difference:
    """A state that the rule reaches, by the steps of `path`, in which `step` is allowed by one of the two alone."""

    path: tuple[str, ...]
    state: State
    step: str
    is_allowed_by_guard: bool


def difference(rule: Exploration, guard: Spec) -> Difference | None:
    """Return the first state in which a guard and the rule allow different steps; None where there is none.

    Arguments: `rule`, all that the spec with the rule reaches, with its edges; `guard`, the same spec with the guard.
    """
    after: dict[int, dict[int, str]] = {}
    came_from: dict[int, tuple[int, str]] = {}
    number_of = {state: number for number, state in enumerate(rule.states)}
    for edge in rule.edges:
        if edge.source == edge.target:
            continue
        step = printed(edge.action, edge.args)
        after.setdefault(edge.source, {}).setdefault(edge.target, step)
        if edge.target > edge.source:
            came_from.setdefault(edge.target, (edge.source, step))
    for number, state in enumerate(rule.states):
        missing = dict(after.get(number, {}))
        for action, args, next_state in guard.successors(state):
            if next_state == state:
                continue
            target = number_of.get(next_state)
            if target is None or target not in after.get(number, {}):
                return Difference(_path(number, came_from), state, printed(action, args), is_allowed_by_guard=True)
            missing.pop(target, None)
        for step in missing.values():
            return Difference(_path(number, came_from), state, step, is_allowed_by_guard=False)
    return None


def printed(action: str, args: Mapping[str, Value]) -> str:
    """Return an action with those of its arguments that are short."""
    texts = {name: format_value(value) for name, value in args.items()}
    return f"{action}({', '.join(f'{name} = {text}' for name, text in texts.items() if len(text) < 40)})"


def _path(number: int, came_from: Mapping[int, tuple[int, str]]) -> tuple[str, ...]:
    steps: list[str] = []
    while number in came_from:
        number, step = came_from[number]
        steps.append(step)
    return tuple(reversed(steps))
