"""The steps of a trace to show: those around what is wrong first, or the last ones, or all.

Where the trace leaves the spec, tables say how it differs and why the step is not allowed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from lockstep.conformance.property_evaluation import PropertyEvaluator
from lockstep.conformance.trace_check import TraceCheck
from lockstep.report.page.shown_behaviour import ShownStep, ShownTable
from lockstep.tla.explain import Branch
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value
from lockstep.trace.trace_format import Event

#: Steps that are shown up to what is wrong, or up to the end, and after it.
BEFORE, AFTER = 1_500, 501


class WindowStep(NamedTuple):
    """A step of a trace: its number, its event with the line, and the states before and after it.

    `after` is None where the spec does not allow it. `event` is None for the initial state, which has number 0.
    """

    check: TraceCheck
    number: int
    line: int
    event: Event | None
    state: State
    after: State | None


class TraceWindow:
    """Follows a check of a trace and keeps the steps to show, so that none is taken twice.

    States share what a step does not change. `count` is the number of the last step of the trace.
    """

    def __init__(self, *, whole: bool = False) -> None:
        """Start without a step; `whole` keeps every step, not only those around what is wrong first."""
        self._steps: deque[WindowStep] = deque(maxlen=None if whole else BEFORE + AFTER)
        self._whole = whole
        self.count = 0

    def __call__(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        """Keep the step of an event, if it is one."""
        if not self._steps:
            self._steps.append(WindowStep(check, 0, 0, None, state, state))
        if after is not None and check.reading.is_observation(event):
            return
        self.count += 1
        wrong = min((finding.line for finding in check.result.findings), default=None)
        if self._whole or wrong is None or line <= wrong + AFTER or len(self._steps) < BEFORE + AFTER:
            self._steps.append(WindowStep(check, self.count, line, event, state, after))

    def steps(self, spec: Spec) -> Iterator[ShownStep]:
        """Yield the steps, with the properties that are false in each state."""
        properties = PropertyEvaluator(spec, one_behaviour=True)
        known = None
        for each in self._steps:
            known = known or properties.standing(each.state)
            if each.event is None:
                yield ShownStep(0, "Init", {}, "", each.state.as_dict(), failed=known.failed)
            elif each.after is None:
                tables = tuple(divergence(each.check, each.state, each.line, each.event))
                yield replace(_shown_step(each, each.event, each.state), is_refused=True, tables=tables)
            else:
                failed, known = properties.step(each.state, known, each.after)
                yield replace(_shown_step(each, each.event, each.after), failed=failed)


def _shown_step(step: WindowStep, event: Event, state: State) -> ShownStep:
    reading = step.check.reading
    args = {} if reading.is_observation(event) else reading.arguments(step.line, event)
    return ShownStep(step.number, event.action, args, event.node, state.as_dict(), step.line)


# ---- Where a trace leaves the spec ----


def divergence(check: TraceCheck, state: State, line: int, event: Event) -> Iterator[ShownTable]:
    """Yield the tables of an event that the spec does not allow.

    Where the spec takes the step, they hold what the event shows beside what the spec says of the state after it;
    else the ways through the action, those that go furthest first, each with its first conjunct that is false.

    Arguments: `state`, the one before the event, which stands at `line`.
    """
    spec, reading = check.spec, check.reading
    after: State | None = state
    if not reading.is_observation(event):
        args = reading.arguments(line, event)
        after = spec.step(state, event.action, args)
    if after is not None:
        yield from _shown_beside_spec(check, after, line, event)
        return
    branches = spec.explain(state, event.action, args).branches
    heads = ("way", "true before it", "the first that is false", "left", "right", "with")
    rows = tuple(_way(number, branch) for number, branch in enumerate(branches, 1))
    if rows:
        yield ShownTable("Why the action is not enabled", heads, rows, frozenset())


def _shown_beside_spec(check: TraceCheck, after: State, line: int, event: Event) -> Iterator[ShownTable]:
    if not event.shows:
        return
    compared = check.reading.shown_values(event, line, check.observable(after, line, event))
    rows = tuple((each.path, format_value(each.observed), format_value(each.expected)) for each in compared)
    differing = frozenset(number for number, each in enumerate(compared) if not each.equal)
    if rows:
        yield ShownTable("What the trace shows", ("field", "the trace", "the spec"), rows, differing)


def _way(number: int, branch: Branch) -> tuple[str, ...]:
    false = f"{branch.failed.loc}: {' '.join(branch.failed.text.split())}"
    bound = ", ".join(f"{name} = {format_value(value)}" for name, value in branch.bound)
    true = "; ".join(" ".join(each.text.split()) for each in branch.held) or "nothing"
    return str(number), true, false, _side(branch.left), branch.error or _side(branch.right), bound


def _side(value: tuple[Value] | None) -> str:
    return "" if value is None else format_value(value[0])
