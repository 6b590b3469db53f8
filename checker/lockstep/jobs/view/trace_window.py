"""The steps of a trace that a page shows: those around what is wrong first, or the last ones."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lockstep.conformance.property_evaluation import PropertyEvaluator
from lockstep.conformance.trace_check import TraceCheck
from lockstep.report.page.shown_behaviour import Step, Table
from lockstep.systems.node_picture import shown
from lockstep.tla.explain import Branch
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value
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


# ---- Where a trace leaves the spec ----


def divergence(check: TraceCheck, state: State, line: int, event: Event) -> Iterator[Table]:
    """Yield the tables of an event that is not the spec's.

    Where the spec takes the step they say what the event shows beside what the spec does, and what else it says of the
    state after it; else the ways through the action, those that go furthest first, each with its first conjunct that
    is false.

    Arguments: `check`, the trace's; `state`, the one before the event, which stands at `line`.
    """
    spec, reading = check.spec, check.reading
    if reading.is_observation(event):
        yield from _shown_beside_spec(check, state, line, event)
        return
    args = reading.arguments(line, event)
    after = spec.step(state, event.action, args)
    if after is not None:
        yield from _shown_beside_spec(check, after, line, event)
        return
    branches = spec.explain(state, event.action, args).branches
    heads = ("way", "true before it", "the first that is false", "left", "right", "with")
    rows = tuple(_way(number, branch) for number, branch in enumerate(branches, 1))
    if rows:
        yield Table("Why the action is not enabled", heads, rows, frozenset())


def _shown_beside_spec(check: TraceCheck, after: State, line: int, event: Event) -> Iterator[Table]:
    if not event.shows:
        return
    compared = check.reading.shown_values(event, line, check.observable(after, line, event))
    rows = tuple((each.path, format_value(each.observed), format_value(each.expected)) for each in compared)
    differing = frozenset(number for number, each in enumerate(compared) if not each.equal)
    if rows:
        yield Table("What the trace shows", ("field", "the trace", "the spec"), rows, differing)


def _way(number: int, branch: Branch) -> tuple[str, ...]:
    false = f"{branch.failed.loc}: {' '.join(branch.failed.text.split())}"
    bound = ", ".join(f"{name} = {format_value(value)}" for name, value in branch.bound)
    held = "; ".join(" ".join(each.text.split()) for each in branch.held) or "nothing"
    return str(number), held, false, _side(branch.left), branch.error or _side(branch.right), bound


def _side(value: tuple[Value] | None) -> str:
    return "" if value is None else format_value(value[0])
