"""A behaviour that explains lines of logs, as events: a step for each claim of a line, and hidden ones before them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lockstep.conformance.json_values import to_tree
from lockstep.conformance.spec_interface import Interface
from lockstep.logs.continuations import ExplainingStep
from lockstep.logs.explanation_search import ExplainingRun
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_lines import Claim, ThreadLine
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value, format_value
from lockstep.trace.trace_format import OBSERVE, Event


@dataclass(frozen=True, slots=True)
class ExplainedEvent:
    """An event of a behaviour that explains lines.

    `line` is the one that it is of, or, where it is hidden, that comes after it; `before` is the state before it, and
    `node` the one that it shows something of.
    """

    line: ThreadLine
    event: Event
    before: State
    node: Value | None = None
    is_hidden: bool = False


def explained_events(run: ExplainingRun, steps: LineSteps, lines: int) -> Iterator[ExplainedEvent]:
    """Yield the events of the last `lines` lines that a behaviour explains, from the first on."""
    for each in run.whole()[-lines:]:
        if each.before is not None and each.line is not None:
            yield from line_events(each.line, each.line.readings, each.before.state, each.steps, steps)


def line_events(
    line: ThreadLine,
    readings: Sequence[Sequence[Claim]],
    before: State,
    taken: Sequence[ExplainingStep],
    steps: LineSteps,
) -> Iterator[ExplainedEvent]:
    """Yield the events of a line.

    Arguments: `readings`, the claims that it may have; `before`, the state in which `taken` begin: hidden steps, and
    then the steps that one of the readings claims.
    """
    hidden = [step for step in taken if step.hidden]
    for step in hidden:
        yield ExplainedEvent(line, _event(line, step.action, step.args, steps.interface), before, is_hidden=True)
        before = step.state
    own = taken[len(hidden) :]
    states = [before, *(step.state for step in own)]
    found = (_counts(claims, own, states, steps) for claims in readings)
    for claims, counts in zip(readings, found, strict=True):
        if counts is not None:
            yield from _claimed_events(line, claims, counts, own, states, steps)
            return
    for step, state in zip(own, states, strict=False):
        yield ExplainedEvent(line, _event(line, step.action, step.args, steps.interface), state)


def claimed_event(line: ThreadLine, claim: Claim, args: Mapping[str, Value], interface: Interface) -> Event:
    """Return a claim of a line as an event, given the arguments of its step."""
    return _event(line, claim.action, args, interface, claim)


def _counts(
    claims: Sequence[Claim], taken: Sequence[ExplainingStep], states: Sequence[State], steps: LineSteps
) -> list[int] | None:
    """Return how many of some steps each claim of a reading is of; None where it does not claim these steps.

    Arguments: `states`, the one before each step, and the last.
    """
    if not claims:
        return None if taken else []
    claim, *rest = claims
    for count in range(min(claim.repeat, len(taken)), 0, -1) if claim.action else (0,):
        own = taken[:count]
        is_one = all(step.action == claim.action and step.args == own[0].args for step in own)
        if is_one and steps.shows(states[count], claim):
            following = _counts(rest, taken[count:], states[count:], steps)
            if following is not None:
                return [count, *following]
    return None


def _claimed_events(
    line: ThreadLine,
    claims: Sequence[Claim],
    counts: Sequence[int],
    taken: Sequence[ExplainingStep],
    states: Sequence[State],
    steps: LineSteps,
) -> Iterator[ExplainedEvent]:
    """Yield the events of the claims of a reading; what a claim shows is so after the last of its steps."""
    at = 0
    for claim, count in zip(claims, counts, strict=True):
        for place in range(at, at + count - 1):
            yield ExplainedEvent(line, _event(line, claim.action, taken[place].args, steps.interface), states[place])
        at += count
        if claim.action:
            event = claimed_event(line, claim, taken[at - 1].args, steps.interface)
            yield ExplainedEvent(line, event, states[at - 1], claim.node)
        elif OBSERVE not in steps.spec.actions:  # else it would be taken for that action
            yield ExplainedEvent(line, claimed_event(line, claim, {}, steps.interface), states[at], claim.node)


def _event(
    line: ThreadLine, action: str, args: Mapping[str, Value], interface: Interface, claim: Claim | None = None
) -> Event:
    node = None if claim is None else claim.node
    tree = "" if node is None else to_tree(node, interface.words)
    return Event(
        seq=line.number,
        node=tree if isinstance(tree, str) else format_value(tree),
        action=action or OBSERVE,
        args={name: to_tree(value, interface.words) for name, value in args.items()},
        shows={} if claim is None else dict(claim.shows),
    )
