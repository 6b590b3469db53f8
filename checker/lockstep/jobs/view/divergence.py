"""Where a trace leaves the spec: what it shows beside what the spec says, and why each way of the action is closed."""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.conformance.trace_check import TraceCheck
from lockstep.report.page.behaviour import Table
from lockstep.tla.explain import Branch
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value
from lockstep.trace.trace_format import Event


def divergence(check: TraceCheck, state: State, line: int, event: Event) -> Iterator[Table]:
    """Yield the tables of an event that is not the spec's.

    Where the spec takes the step they say what the event shows beside what the spec does, and what else it says of the
    state after it; else the ways through the action, those that go furthest first, each with its first conjunct that
    is false.

    Arguments: `check`, the trace's; `state`, the one before the event, which stands at `line`.
    """
    spec, reading = check.spec, check.reading
    if reading.is_observation(event):
        yield from _shown(check, state, line, event)
        return
    args = reading.arguments(line, event)
    after = spec.step(state, event.action, args)
    if after is not None:
        yield from _shown(check, after, line, event)
        return
    branches = spec.explain(state, event.action, args).branches
    heads = ("way", "true before it", "the first that is false", "left", "right", "with")
    rows = tuple(_way(number, branch) for number, branch in enumerate(branches, 1))
    if rows:
        yield Table("Why the action is not enabled", heads, rows, frozenset())


def _shown(check: TraceCheck, after: State, line: int, event: Event) -> Iterator[Table]:
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
