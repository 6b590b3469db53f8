"""Remarks on a behaviour: the findings of a verdict at their steps, and why a property is false there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lockstep.conformance.property_evaluation import PropertyEvaluator
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.report.page.page_content import PageContext
from lockstep.report.page.shown_behaviour import Remark, ShownStep
from lockstep.report.page.source_lines import spec_lines
from lockstep.report.verdict_text import finding_text
from lockstep.systems.node_picture import shown
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError, Value

#: The beginning of a condition that is false, and of a line with what a quantifier binds there.
_FALSE, _WITH = "false: ", "  with "


def failed_properties(spec: Spec, states: Iterable[State]) -> Iterator[frozenset[str]]:
    """Yield the properties that are false of each state of a behaviour, of one at least, or of the step to it."""
    properties = PropertyEvaluator(spec, one_behaviour=True)
    rest = iter(states)
    state = next(rest)
    known = properties.standing(state)
    yield known.failed
    for after in rest:
        failed, known = properties.step(state, known, after)
        state = after
        yield failed


def remarks_on(verdict: TraceVerdict, steps: Sequence[ShownStep], context: PageContext) -> Iterator[Remark]:
    """Yield what a verdict finds wrong, at the steps that are shown."""
    places = {(step.source, step.line): place for place, step in enumerate(steps)}
    for finding in verdict.findings:
        lines = [line.strip() for line in finding_text(verdict.source, finding).splitlines()[1:]]
        # A line without a step belongs to the initial state, or is not shown; an unexplained one follows the last step.
        follows = finding.kind in ("unexplained", "state")
        known = len(steps) - 1 if follows else places.get((finding.source, finding.line))
        if finding.kind == "property":  # one line may stand for several steps: the first that fails the property
            known = next(
                (at for at, step in enumerate(steps[: (known or 0) + 1]) if finding.name in step.failed), known
            )
        place, number = (0, 0) if known is None else (known, steps[known].number)
        short = tuple(detail for each in finding.details for detail in each.splitlines())
        if finding.kind == "property" and number == steps[place].number:
            false = tuple(false_where(finding.name, steps[: place + 1], context))
            short += _first_condition(false)
            lines += (*false, *_definition(finding.name, context))
        tables = steps[place].tables if steps[place].line == finding.line else ()
        yield Remark(number, _title(finding), tuple(lines), tables, short)


def _title(finding: Finding) -> str:
    return finding_text("", finding).splitlines()[0].partition(": ")[2]


def property_remark(name: str, title: str, steps: Sequence[ShownStep], context: PageContext) -> Remark:
    """Return the remark that a property is false at the last step."""
    place, false = context.spec.property_places.get(name), tuple(false_where(name, steps, context))
    lines = (*(() if place is None else (str(place),)), *false, *_definition(name, context))
    return Remark(steps[-1].number, title, lines, short=_first_condition(false))


def _definition(name: str, context: PageContext) -> list[str]:
    """Return the lines of a property's definition."""
    place = context.spec.property_places.get(name)
    return [] if place is None else spec_lines(context.texts, place).splitlines()


def _first_condition(lines: Sequence[str]) -> tuple[str, ...]:
    """Return the elements that a property is false for and the first condition that is false, with both its sides."""
    begins = [place for place, line in enumerate(lines) if line.startswith(_FALSE)]
    kept = lines[: begins[1]] if len(begins) > 1 else lines
    return tuple(line for line in kept if not line.startswith(_WITH))


def false_where(name: str, steps: Sequence[ShownStep], context: PageContext) -> Iterator[str]:
    """Yield for which elements a property is false at the last step, and which part of it is, with its sides."""
    spec, after = context.spec, context.spec.state(steps[-1].state)
    before = spec.state(steps[-2].state) if len(steps) > 1 else after
    for elements in _false_elements(spec, name, before, after):
        yield f"false for {', '.join(map(shown, elements))}"
    yield from _false_parts(spec, name, before if len(steps) > 1 else None, after)


def _false_parts(spec: Spec, name: str, before: State | None, after: State) -> Iterator[str]:
    """Yield the parts of a property that are false, with the values of both sides and of what quantifiers bind."""
    try:
        parts = spec.explain_property(name, before, after)
    except TlaError:
        return
    for part in parts:
        yield from (f"{'' if place else _FALSE}{line}" for place, line in enumerate(str(part).split("\n")))


def _false_elements(spec: Spec, name: str, before: State, after: State) -> Iterator[tuple[Value, ...]]:
    """Yield the elements that the quantifiers of a property bind where it is false of a step, or of the state after it.

    Nothing is yielded for a property without a quantifier, or whose sets are not known beforehand.
    """
    for part in spec.parts.get(name, ()):
        states = (before, after) if part.of_step else (after, None)
        for elements in part.elements:
            try:
                holds = part.holds(*states, *elements)
            except TlaError:
                continue
            if elements and not holds:
                yield elements
