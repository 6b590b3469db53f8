"""The codes of what a check can find, whatever the spec, and what each means. A property may have a code of its own."""

from __future__ import annotations

from dataclasses import dataclass

STEP, SHOWS, SENT, REFUSED, PROPERTY = "LS201", "LS202", "LS203", "LS204", "LS100"
MALFORMED, OTHER_SPEC = "LS301", "LS302"
INCONCLUSIVE, INTERNAL = "LS401", "LS501"


@dataclass(frozen=True, slots=True)
class Rule:
    """A code, its title, and what it means in full."""

    code: str
    title: str
    text: str


OF_THE_CHECK = (
    Rule(
        PROPERTY,
        "a property of your own spec is violated",
        """The trace is a behaviour of the spec up to here, and after this event an INVARIANT of the cfg is false, or
the step to it is not one that a PROPERTY of the form [][A]_v allows. The finding names it, and where the spec defines
it.""",
    ),
    Rule(
        STEP,
        "the action is not enabled",
        """The spec has no step of this action with these parameters in the state that the events before led to. Of
each branch of the action the finding tells the first conjunct that is false, with the values of both its sides; the
branches that came furthest come first. Either the system did what the protocol forbids, or an event is missing before
this one, or a parameter is told wrongly.""",
    ),
    Rule(
        SHOWS,
        "what is shown differs from the spec",
        """The action is a step of the spec, but a value that the event shows after it is another one than that of the
spec. The finding tells both. What is shown is never written into the spec's state.""",
    ),
    Rule(
        SENT,
        "what was sent differs from the spec",
        """The event lists the messages that its step sent, and they are not those of the spec: one is not under way
after this step, or the step sent one that is not listed. `sent` is all or nothing: leave it out where the sending was
not observed.""",
    ),
    Rule(
        REFUSED,
        "the action is enabled, and refused",
        """A system that was asked what it would do, whatever its schedule does, refuses an action with arguments with
which the spec allows it. No trace shows that: what is never taken contradicts nothing. What it would do though the spec
does not allow it is LS201; what would come of it otherwise than in the spec, LS202 and LS203.""",
    ),
    Rule(
        MALFORMED,
        "the file is malformed",
        """The line is none of a trace, or a field of it cannot be compared with the spec: unknown, missing, twice, of
another type, out of range. The message names file, line and field. Nothing is concluded from such a file.
docs/errors.md has an example of each.""",
    ),
    Rule(
        OTHER_SPEC,
        "the trace was written with another version of the spec",
        """The header's spec_hash is not that of the spec of this installation. The trace is checked all the same,
against the spec that is here: its actions, parameters and values are compared one by one, so a verdict holds for this
spec, whatever the trace was written with. An action or field that the other version had and this one has not is
malformed; a step that this one does not allow is a violation. Where that is a surprise, this note tells why.""",
    ),
    Rule(
        INCONCLUSIVE,
        "there is no verdict",
        """Nothing was checked, or not all of it: the trace takes no step, a tool is missing or died, or a budget was
spent. It is never a pass: the exit code is 3.""",
    ),
    Rule(
        INTERNAL,
        "the check itself failed",
        """An error of the checker, a formula of the spec that has no value, or a machine that refuses what is needed,
such as a full disk. It says nothing about the trace; the exit code is 4.""",
    ),
)
