"""The diagnosis of a trace that leaves the spec: what would have let it go on."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DeviationCause:
    """A change that lets a trace go on past the line at which it leaves the spec, or with which least differs there.

    Attributes:
        kind: "flaws" (the named switches of the spec are set the other way), "formula", "number", "update", "updates"
            or "use" (an expression of the spec comes to something else in that step, and where it explains later ones,
            too; an update, all of one EXCEPT, or the use of an operator is left out), "value" (the line shows or sends
            something else than the spec, and later lines agree), "event" (the line is left out), "repeated" (the same,
            and it has the node's step before once more), "step" (a step of the spec stands before the line, and the
            trace does not have it), or "rule" (no change was found: this condition is false, this update gives what
            differs, or this action leaves it alone).
        what: the flaws, the expression's text, or the step.
        place: that of the expression, as MODULE.tla:LINE:COLUMN.
        came_to: what the expression came to, and `would_be`, of a number, what it would have to be.
        sides: what both sides of a comparison came to.
        besides: another formula, after its place, that would have to come to the opposite, too.
        evaluation: which evaluation in the step it is of, where there are several, as "3 of 5" or "each of 5".
        again: the number of later steps in which the same outcome is needed again.
        is_initial: whether it matters in the initial state.
        unit: the word for one of what is counted: "event", "line" (of logs that leave steps open), or "state".
        source: the file of that line, where there may be several.
        is_hidden: whether the event has no line: it is a step that comes before that line.
        line: the line of the event at which it matters, or that before the first event.
        action: that event's action, or "Init".
        node: its node.
        against: the number of other steps in which it would show, were it always so, and does not.
        differ: of a change that does not let the trace go on, how many values differ with it, and how many without.
        reference: the place of that action in the reference, if there is one.
        accepts: the number of events from the line on that the spec then allows; `whole`: these are all that there are;
            `at_least`: no more were looked at.
    """

    kind: str
    what: str
    line: int
    action: str
    node: str
    accepts: int
    whole: bool
    at_least: bool = False
    place: str = ""
    came_to: str = ""
    would_be: str = ""
    sides: tuple[str, ...] = ()
    besides: str = ""
    evaluation: str = ""
    again: int = 0
    against: int = 0
    differ: tuple[int, int] | None = None
    reference: str = ""
    is_initial: bool = False
    unit: str = "event"
    source: str = ""
    is_hidden: bool = False


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The causes of a deviation, and its past.

    Attributes:
        causes: the changes that let the trace go on, those that explain most, the likeliest first.
        past: the lines of the events that happened before the deviation, by messages and within nodes, and it itself.
        events: the number of events up to the deviation that were looked at.
        notes: what was not tried, and why.
    """

    causes: tuple[DeviationCause, ...]
    past: tuple[int, ...]
    events: int
    notes: tuple[str, ...] = ()
