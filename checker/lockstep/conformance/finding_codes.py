"""Codes of findings, whatever the spec, and what each means. A property may have a code of its own."""

from __future__ import annotations

from dataclasses import dataclass

from lockstep.base.errors import (
    INCOMPLETE_STEP,
    NO_VALUE,
    NOT_CHECKED,
    NOT_PARSED,
    NOT_TRANSLATED,
    OLD_TRANSLATION,
    WRONG_CFG,
)

STEP, SHOWS, SENT, REFUSED, PROPERTY = "LS201", "LS202", "LS203", "LS204", "LS100"
UNEXPLAINED, POSSIBLE, NO_STEP = "LS205", "LS206", "LS207"
MALFORMED, OTHER_SPEC = "LS301", "LS302"
INCONCLUSIVE, INTERNAL = "LS401", "LS501"


@dataclass(frozen=True, slots=True)
class Rule:
    """A code, its title, and what it means in full."""

    code: str
    title: str
    text: str


#: Mistakes in a spec of your own; every command reports them alike, and the exit code is 2.
SPEC_CODES = (
    Rule(
        NOT_PARSED,
        "the spec does not parse",
        """SANY, the parser of TLA+, refuses a module: its syntax is wrong, or a name is not defined, not declared,
or has another number of arguments. The message names the first such place; where a word is not known, those that are
spelt like it.""",
    ),
    Rule(
        WRONG_CFG,
        "the cfg does not fit the spec",
        """The cfg names what the module does not define or declare, gives a value to what takes arguments, or leaves a
CONSTANT that is needed without a value. The message names the line, and words that are nearly the one that is not
known.""",
    ),
    Rule(
        NO_VALUE,
        "a formula of the spec has no value",
        """TLA+ leaves open what, for example, 1 + "a", Head(<<>>) or f[x] is for an x outside the domain of f, and so
does TLC. The message names the place, the action with its arguments, or the property, and the values. `lockstep model`
shows the steps to the state in which it was to be evaluated. Often a guard is missing that keeps such values out.
Conjuncts are read from left to right: x' has a value after the conjunct that says what x' is, and none before it.""",
    ),
    Rule(
        INCOMPLETE_STEP,
        "a step does not say what becomes of a variable",
        """In TLA+ a variable that an action leaves out may have any value after it; no search can try them all. Give
its next value, or UNCHANGED, in every branch of the action. Init must give the value of each variable.""",
    ),
    Rule(
        NOT_TRANSLATED,
        "the PlusCal algorithm is not translated",
        """The module has an algorithm in a comment, and below it no translation, so that it defines no Init and no
Next. Translate it: `java -cp tla2tools.jar pcal.trans MODULE.tla`, or in the editor.""",
    ),
    Rule(
        OLD_TRANSLATION,
        "the PlusCal algorithm and its translation have parted",
        """The line BEGIN TRANSLATION has checksums of the algorithm and of its translation, and one of them is no
longer right: the algorithm was changed and not translated anew, or the translation was edited by hand. What is
explored is the translation. This is a note: it changes no verdict.""",
    ),
    Rule(
        NOT_CHECKED,
        "TLC does not handle a formula of this form",
        """The spec parses, and TLC does not handle a formula of this form: mostly a temporal one, such as WF in a
disjunction of the SPECIFICATION, or a property that a definition with arguments makes. The message has TLC's words.
`lockstep model --engine compiled` decides most of these.""",
    ),
)

ALL_CODES = (
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
        """The spec has no step of this action with these parameters in the state that the events before led to. The
finding lists, for each branch of the action, the first conjunct that is false, with the values of both its sides; the
branches that came furthest come first. Either the system did what the protocol forbids, or an event is missing before
this one, or a parameter is wrong in the trace.""",
    ),
    Rule(
        SHOWS,
        "what is shown differs from the spec",
        """The action is a step of the spec, but a value that the event shows after it differs from that of the spec.
The finding has both. What is shown is never written into the spec's state.""",
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
        """An action was tried on a system, whatever its schedule does, and refused, though the spec allows it with
these arguments. No trace shows that: a step that is never taken contradicts nothing. A step that the system takes and
the spec does not allow is LS201; one with another outcome than in the spec is LS202 or LS203.""",
    ),
    Rule(
        UNEXPLAINED,
        "no behaviour explains this line",
        """Logs have lines for a part of the steps. Every behaviour of the spec that explains the lines before this one
was carried along: in every order that clocks, files and messages allow, with as many hidden steps as are declared, with
every value that the lines leave open. None of them goes on to this line. The finding lists, for the nearest ones, the
first conjunct that is false or the value that differs. Either the system did what the spec forbids, or the mapping
misreads a line, or it declares too few hidden steps or too little skew.""",
    ),
    Rule(
        POSSIBLE,
        "some explanation violates a property",
        """A behaviour that violates nothing explains the logs, so nothing is known to be wrong. Another one explains
them as well, and violates a property: the logs leave open which of them happened. This is a note, and the exit code
is 0; with --strict it is 3. The note names the variable that the explanations differ in most: log it.""",
    ),
    Rule(
        NO_STEP,
        "no step leads to this state",
        """Each state of an ITF file has all variables, and no action. The first one must be an initial state of the
spec; each other one must be what some action makes of the state before, with some arguments, or equal that state. This
one is neither, or the last one does not lead back to the state that the file's `loop` names. The finding lists states
that the spec allows there, those that differ in the fewest variables, with both values.""",
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
malformed; a step that this one does not allow is a violation. Where that is a surprise, this note is the reason.""",
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
    *SPEC_CODES,
)
