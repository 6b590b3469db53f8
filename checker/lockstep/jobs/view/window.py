"""The steps of a trace that a page shows: those around what is wrong first, or the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lockstep.conformance.property_evaluation import PropertyEvaluator
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.view.divergence import divergence
from lockstep.report.page.behaviour import Step, Table
from lockstep.systems.node_picture import shown
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value
from lockstep.trace.trace_format import Event

#: How many steps are shown up to what is wrong, or up to the end, and how many after it.
BEFORE, AFTER = 1_500, 501


class Kept(NamedTuple):
    """A step of a trace: its number, its event with the line, and the states before and after it.

    `after` is None where the spec does not allow it. `event` is None of the initial state, which has number 0.
    """

    check: TraceCheck
    number: int
    line: int
    event: Event | None
    state: State
    after: State | None


class Window:
    """Keeps the steps to show while a trace is checked, so that none is taken twice.

    States share what a step does not change. `count` is the number of the last step of the trace.
    """

    def __init__(self) -> None:
        """Keep nothing yet."""
        self.kept: deque[Kept] = deque(maxlen=BEFORE + AFTER)
        self.count = 0

    def __call__(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        """Keep the step of an event, if it is one."""
        if not self.count and not self.kept:
            self.kept.append(Kept(check, 0, 0, None, state, state))
        if after is not None and check.reading.is_observation(event):
            return
        self.count += 1
        wrong = min((finding.line for finding in check.result.findings), default=None)
        if wrong is None or line <= wrong + AFTER or len(self.kept) < BEFORE + AFTER:
            self.kept.append(Kept(check, self.count, line, event, state, after))

    def steps(self, spec: Spec) -> tuple[Step, ...]:
        """Return the steps, with the properties that are false in each state."""
        return tuple(evaluated(self.kept, spec))


def taken(check: TraceCheck) -> Iterator[Kept]:
    """Take the steps of a trace."""
    state = check.initial()
    number = 0
    yield Kept(check, 0, 0, None, state, state)
    for line, event in check.trace:
        after = check.advance(state, line, event)
        if after is not None and check.reading.is_observation(event):
            continue
        number += 1
        yield Kept(check, number, line, event, state, after)
        if after is None:
            return
        state = after


def evaluated(kept: Iterable[Kept], spec: Spec) -> Iterator[Step]:
    """Evaluate every property in each state, and return the steps as a page shows them."""
    properties = PropertyEvaluator(spec, one_behaviour=True)
    known = None
    for each in kept:
        known = known or properties.standing(each.state)
        if each.event is None:
            yield Step(0, "Init", {}, "", each.state.as_dict(), failed=known.failed)
        elif each.after is None:
            tables = tuple(divergence(each.check, each.state, each.line, each.event))
            yield _refused(each, each.event, tables)
        else:
            failed, known = properties.step(each.state, known, each.after)
            args = _args(each, each.event)
            state = each.after.as_dict()
            yield Step(each.number, each.event.action, args, each.event.node, state, each.line, failed)


def _refused(kept: Kept, event: Event, tables: tuple[Table, ...]) -> Step:
    state, args = kept.state.as_dict(), _args(kept, event)
    return Step(kept.number, event.action, args, event.node, state, kept.line, is_refused=True, tables=tables)


def _args(kept: Kept, event: Event) -> dict[str, Value]:
    """Return the arguments of a step but for its node, which is shown as such; an observation has none."""
    reading = kept.check.reading
    args = {} if reading.is_observation(event) else reading.arguments(kept.line, event)
    return {name: value for name, value in args.items() if shown(value) != event.node}
