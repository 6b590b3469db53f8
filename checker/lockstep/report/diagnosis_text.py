"""A diagnosis as text: one line for each cause, and how much of the trace it can depend on."""

from __future__ import annotations

from lockstep.base.characters import counted, visible_line
from lockstep.conformance.diagnosis import DeviationCause, Diagnosis

#: One that other steps speak against may have been found, or the time was over.
_NOTHING = "no likely single change lets the trace go on"

#: Where what is counted is from.
_FILES = {"event": "trace", "line": "logs", "state": "file"}

#: What a rule of the spec says, where no change was found, by what it came to.
_RULES = {
    "FALSE": "what is false first is",
    "unchanged": "what differs is left alone by",
    "": "the spec's value comes from",
}


def diagnosis_lines(diagnosis: Diagnosis, line: int, source: str = "") -> list[str]:
    """Return the lines of a diagnosis; `line` is that of the event at which the trace leaves the spec.

    Arguments: `source`, the file of that line, where a cause may be in another one.
    """
    return [f"{head:<10} {text}" for head, text in diagnosis_rows(diagnosis, line, source)]


def diagnosis_rows(diagnosis: Diagnosis, line: int, source: str = "") -> list[tuple[str, str]]:
    """Return the sentences of a diagnosis, those of its causes first and in their order, each after its heading.

    Arguments: as of diagnosis_lines.
    """
    causes = enumerate(diagnosis.causes)
    found = [("or" if number else "cause", cause_text(each, line, source)) for number, each in causes]
    if not found and diagnosis.events:
        found = [("cause", "none found: no single change of the spec lets it go on")]
    earlier, before = len(diagnosis.past) - 1, diagnosis.events - 1
    if 0 <= earlier < before:  # else every one could
        found.append(("past", f"{earlier} of the {counted(before, 'earlier event')} could have influenced this one"))
    return found + [("note", note) for note in diagnosis.notes]


def cause_text(cause: DeviationCause, line: int, source: str = "") -> str:
    """Return a cause as a sentence; arguments as of diagnosis_lines."""
    reach, what = _reach(cause), visible_line(cause.what)
    match cause.kind:
        case "flaws":
            return f"{what}: the spec with {'it' if ',' not in what else 'both'} allows {reach}"
        case "formula" | "number" | "update" | "updates" | "use":
            too = f", and in {counted(cause.again, 'later step')} too," if cause.again else ","
            changed = _changed(cause, what, _at(cause, line, source))
            if cause.differ is not None:
                left, count = cause.differ
                would = f"{counted(left, 'value')} would differ, not {count}"
                return f"{_NOTHING}; nearest comes {cause.place}: {changed}{too} {would}"
            return f"{cause.place}: {changed}{too} the spec would allow {reach}{_against(cause)}"
        case "value" if cause.unit == "state":
            return f"this state alone is wrong: with the spec's in its place the spec allows {_after(cause)}"
        case "value":
            return f"the line alone: the spec allows {_after(cause)}, had this one shown and sent what the spec says"
        case "repeated":
            return f"the step of {what} once more: without it the spec allows {_after(cause)}"
        case "event":
            return f"the {_line(cause)} alone: without it the spec allows {_after(cause)}"
        case "rule":
            says = _RULES[cause.came_to]
            return f"{_NOTHING}; {says} {cause.place}: {what}"
        case _:
            return f"a step before the {_line(cause)} is missing: after {what} the spec allows {reach}"


def _at(cause: DeviationCause, line: int, source: str) -> str:
    """Return the earlier step in which an expression was evaluated, and which of its evaluations it was."""
    of = f" of {visible_line(cause.node)}" if cause.node else ""
    is_elsewhere = bool(cause.source) and cause.source != source
    where = f"{visible_line(cause.source)}:{cause.line}" if is_elsewhere else f"line {cause.line}"
    at = "" if cause.line == line and not is_elsewhere else f" at {where} ({cause.action}{of})"
    at = f" in a step without a line, {cause.action}, before {where}" if cause.is_hidden else at
    at = " in the initial state" if cause.is_initial else at
    if cause.unit == "state" and not cause.is_initial:
        at = f" in {cause.action}"
    return at if not cause.evaluation or _all(cause) else f" in its evaluation {cause.evaluation}{at}"


def _all(cause: DeviationCause) -> str:
    """Return in how many evaluations a cause changes an expression, where it is more than one."""
    return cause.evaluation.removeprefix("each of ") if cause.evaluation.startswith("each") else ""


def _changed(cause: DeviationCause, what: str, at: str) -> str:
    """Return what an expression came to, and what it would have to come to, without an end."""
    if cause.kind in ("update", "use"):
        return f"without {what}{at}"
    if cause.kind == "updates":
        return f"without the updates of {what}{at}"
    every = "" if cause.besides else _all(cause)
    if every and cause.kind == "formula":
        return f"{what}{at}; were each of its {every} values the opposite"
    if every:
        return f"{what} is first {cause.came_to}{at}; were it {cause.would_be}, and the {every} values as much off"
    sides = f" ({' and '.join(map(visible_line, cause.sides))})" if cause.sides else ""
    other = cause.would_be or ("FALSE" if cause.came_to == "TRUE" else "TRUE")
    besides = f", and {visible_line(cause.besides)} turned round as well" if cause.besides else ""
    is_written = what == cause.came_to and what.isdigit()
    said = f"the number {what}" if is_written else f"{what} is {cause.came_to}{sides}"
    return f"{said}{at}; were it {other}{besides}"


def _against(cause: DeviationCause) -> str:
    """Return how many other steps speak against a change of a rule."""
    steps = counted(cause.against, "other step")
    return f"; {steps} speak{'s' * (cause.against == 1)} against it" if cause.against else ""


def _reach(cause: DeviationCause) -> str:
    if cause.whole:
        return f"the rest of the {_FILES[cause.unit]}" if cause.accepts > 1 else f"this {cause.unit}, the last"
    least = "at least " if cause.at_least else ""
    more = f" and {least}the {cause.accepts - 1} after it" if cause.accepts > 1 else " alone"
    return f"this {cause.unit}{more}"


def _after(cause: DeviationCause) -> str:
    least = "at least " if cause.at_least else ""
    return f"all {cause.unit}s after it" if cause.whole else f"{least}the next {counted(cause.accepts - 1, cause.unit)}"


def _line(cause: DeviationCause) -> str:
    """Return the word for where a deviation is."""
    return "state" if cause.unit == "state" else "line"
