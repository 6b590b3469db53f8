"""A diagnosis as text: one line for each cause, and how much of the trace it can depend on."""

from __future__ import annotations

from lockstep.base.characters import counted, visible_line
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis


def diagnosis_lines(diagnosis: Diagnosis, line: int) -> list[str]:
    """Return the lines of a diagnosis; `line` is that of the event at which the trace leaves the spec."""
    return [f"{head:<10} {text}" for head, text in diagnosis_rows(diagnosis, line)]


def diagnosis_rows(diagnosis: Diagnosis, line: int) -> list[tuple[str, str]]:
    """Return the sentences of a diagnosis, those of its causes first and in their order, each after its heading.

    Arguments: `line`, that of the event at which the trace leaves the spec.
    """
    found = [("or" if number else "cause", cause_text(each, line)) for number, each in enumerate(diagnosis.causes)]
    if not found and diagnosis.events:
        found = [("cause", "none found: no flaw, and no other outcome of one expression, lets the trace go on")]
    if diagnosis.past:
        earlier, before = len(diagnosis.past) - 1, diagnosis.events - 1
        found.append(("past", f"{earlier} of the {counted(before, 'event')} before can have had to do with it"))
    return found + [("note", note) for note in diagnosis.notes]


def cause_text(cause: DeviationCause, line: int) -> str:
    """Return a cause as a sentence; `line` is that of the event at which the trace leaves the spec."""
    reach = _reach(cause)
    of = f" of {visible_line(cause.node)}" if cause.node else ""
    at = "" if cause.line == line else f" at line {cause.line} ({cause.action}{of})"
    what = visible_line(cause.what)
    match cause.kind:
        case "flaws":
            return f"{what}: the spec with {'it' if ',' not in what else 'both'} allows {reach}"
        case "formula":
            other = "FALSE" if cause.came_to == "TRUE" else "TRUE"
            sides = f" ({' and '.join(map(visible_line, cause.sides))})" if cause.sides else ""
            return f"{cause.place}: {what} is {cause.came_to}{sides}{at}; were it {other}, the spec would allow {reach}"
        case "number":
            would = f"were it {cause.would_be}, the spec would allow {reach}"
            return f"{cause.place}: {what} is {cause.came_to}{at}; {would}"
        case "update":
            return f"{cause.place}: without {what}{at}, the spec would allow {reach}"
        case "value":
            return f"the line alone: the spec allows {_after(cause)}, had this one shown and sent what the spec says"
        case "repeated":
            return f"the step of {what} once more: without it the spec allows {_after(cause)}"
        case "event":
            return f"the line alone: without it the spec allows {_after(cause)}"
        case "rule":
            says = "what is false first is" if cause.came_to else "the spec's value comes from"
            return f"no single change lets the trace go on; {says} {cause.place}: {what}"
        case _:
            return f"a step before the line is missing: after {what} the spec allows {reach}"


def _reach(cause: DeviationCause) -> str:
    if cause.whole:
        return "the rest of the trace" if cause.accepts > 1 else "this event, the last"
    least = "at least " if cause.at_least else ""
    return f"this event and {least}the {cause.accepts - 1} after it" if cause.accepts > 1 else "this event alone"


def _after(cause: DeviationCause) -> str:
    least = "at least " if cause.at_least else ""
    return "all events after it" if cause.whole else f"{least}the next {counted(cause.accepts - 1, 'event')}"
