"""The answer that the page of a trace begins with: the causes of its deviation, and how the trace is checked again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path

from lockstep.base.progress import Say
from lockstep.conformance.deviation import MAX_EVENTS
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.report.diagnosis_text import diagnosis_rows
from lockstep.report.page.flaw_stories import flaw_stories
from lockstep.report.page.page_content import PageContext
from lockstep.report.page.shown_behaviour import DiagnosisRow, FlawStory, Origin, ShownDiagnosis, ShownStep
from lockstep.systems.system import System
from lockstep.trace.trace_format import Header


def diagnose(verdict: TraceVerdict, path: Path, diagnosis: Callable[[Path], Diagnosis | None], say: Say) -> None:
    """Add to the verdict on a trace why it leaves the spec, if it does.

    Arguments: `diagnosis`, that of the trace's check.
    """
    found = verdict.explicable
    if found is not None:
        say(f"{path}: looking for the cause of line {found.line}")
        verdict.explain(diagnosis(path))


# ---- The causes ----


def shown_diagnosis(verdict: TraceVerdict, steps: Sequence[ShownStep], context: PageContext) -> ShownDiagnosis | None:
    """Return the diagnosis of a verdict as a page shows it, with the steps that it names; None where there is none."""
    diagnosis, deviation = verdict.diagnosis, verdict.deviation
    if diagnosis is None or deviation is None:
        return None
    line, source, causes = deviation.line, deviation.source, diagnosis.causes
    rows = tuple(
        DiagnosisRow(head, text, _stories(causes[place], context.system) if place < len(causes) else {})
        for place, (head, text) in enumerate(diagnosis_rows(diagnosis, line, source))
    )
    seen = [step.number for step in steps if (step.line, step.source) == (line, source if step.source else "")]
    earlier = next((place for place, cause in enumerate(causes) if _is_earlier(cause, deviation)), None)
    return ShownDiagnosis(
        rows=rows,
        seen=seen[-1] if seen else steps[-1].number,
        decided=None if earlier is None else _number_of(causes[earlier], steps),
        deciding=earlier or 0,
        outside=frozenset(_outside(diagnosis, line, steps)),
    )


def _is_earlier(cause: DeviationCause, deviation: Finding) -> bool:
    """Return whether a cause is in a step before that at which a trace, or a log among several, leaves the spec."""
    is_there = (cause.source, cause.line) == (deviation.source, deviation.line)
    return cause.is_hidden or (not is_there if cause.source else cause.line < deviation.line)


def _number_of(cause: DeviationCause, steps: Sequence[ShownStep]) -> int | None:
    """Return the number of the step that a cause is in; None where it is not shown."""
    if cause.is_hidden:
        place = next((at for at, step in enumerate(steps) if _is_at(step, cause)), 0)
        hidden = takewhile(lambda step: step.is_hidden, reversed(steps[:place]))
        return next((step.number for step in hidden if step.action == cause.action), None)
    return next((step.number for step in steps if _is_at(step, cause)), None)


def _is_at(step: ShownStep, cause: DeviationCause) -> bool:
    """Return whether a step is of the line at which a cause is."""
    return step.line == cause.line and cause.source in ("", step.source)


def _stories(cause: DeviationCause, system: System) -> dict[str, FlawStory]:
    """Return the stories of the flaws that a cause names, by their names."""
    if cause.kind != "flaws":
        return {}
    known = flaw_stories(system.root.parts[0])
    names = [each.partition("=")[0] for each in cause.what.split(", ")]
    return {name: known[name] for name in names if name in known}


def _outside(diagnosis: Diagnosis, line: int, steps: Sequence[ShownStep]) -> Iterator[int]:
    """Yield the steps that were looked at and did not happen before the deviation, by messages and within nodes."""
    # Where earlier events were left out, each event that was looked at has a line, and no more lines are certain.
    since = 0 if diagnosis.events < MAX_EVENTS else line - diagnosis.events + 1
    past = frozenset(diagnosis.past)
    if past:
        yield from (step.number for step in steps if step.line is not None and since <= step.line not in past)


# ---- Where it comes from ----


def origins_of(header: Header, system: System | None) -> tuple[Origin, ...]:
    """Return the system that a trace was written by, with its version, and the constants it is checked with.

    Arguments: `header`, that of the trace, with the constants of the switches; `system`, that of a known spec.
    """
    found = [Origin("system", f"{header.system} {header.version}")]
    if system is not None and system.constants is not None:
        by_value = defaultdict(list)
        for name, value in {**system.constants.defaults, **header.constants}.items():
            is_number = isinstance(value, int) and not isinstance(value, bool)
            by_value["numbers" if is_number else str(value).lower()].append(f"{name} = {value}" if is_number else name)
        rows = sorted(by_value.items(), key=lambda row: (-len(row[1]), row[0]))
        short = ", ".join(f"{len(names)} {value}" for value, names in rows)
        found.append(Origin("switches", short, "\n".join(f"{value}: {', '.join(names)}" for value, names in rows)))
    return tuple(found)
