"""Rule codes: a short stable name for everything a check can find, and what each means.

DL1xx are the properties of DLedger; what one means is told by the spec itself. LS codes are those of the check,
whatever the spec.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lockstep.paths import dledger_dir, spec_dir
from lockstep.specs import chapters
from lockstep.tlc.manifest import load_manifest

STEP, SHOWS, SENT, PROPERTY = "LS201", "LS202", "LS203", "LS100"
MALFORMED, OTHER_SPEC = "LS301", "LS302"
INCONCLUSIVE, INTERNAL = "LS401", "LS501"

#: The properties of DLedger. A number is given once, and never to another.
PROPERTIES = {
    "IndexOrder": "DL101",
    "ElectionSafety": "DL102",
    "LogMatching": "DL103",
    "NoHoles": "DL104",
    "LeaderCompleteness": "DL105",
    "StateMachineSafety": "DL106",
    "AcknowledgedIsDurable": "DL107",
    "AppliedIsCommitted": "DL108",
    "TypeOK": "DL109",
    "CommittedEntriesStayProp": "DL111",
    "CommittedMonotonicProp": "DL112",
    "WatermarkMonotonicWithinTermProp": "DL113",
    "LeaderAppendOnlyProp": "DL114",
    "VoteOncePerTermProp": "DL115",
    "RecoveryKeepsLogProp": "DL116",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """A code, its title, and what it means in full."""

    code: str
    title: str
    text: str


_OF_THE_CHECK = (
    Rule(
        PROPERTY,
        "a property of your own spec is violated",
        """The trace is a behaviour of the spec up to here, and after this event an INVARIANT of the cfg is false, or
the step to it is none that a PROPERTY of the form [][A]_v allows. The finding names it, and where the spec defines
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
spec's Observe(node). The finding tells both. What is shown is never written into the spec's state.""",
    ),
    Rule(
        SENT,
        "what was sent differs from the spec",
        """The event lists the messages that its step sent, and they are not those of the spec: one is not under way
after this step, or the step sent one that is not listed. `sent` is all or nothing: leave it out where the sending was
not observed.""",
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
        """An error of the checker, or a formula of the spec that has no value. It says nothing about the trace; the
exit code is 4.""",
    ),
)


def code_of(kind: str, name: str) -> str:
    """Return the code of a finding, by its kind ("step", "shows", "sent", "property") and name."""
    if kind == "property":
        return PROPERTIES.get(name, PROPERTY)
    return {"step": STEP, "shows": SHOWS, "sent": SENT}[kind]


def codes() -> dict[str, str]:
    """Return every code with its title, in order."""
    return {code: name for name, code in PROPERTIES.items()} | {rule.code: rule.title for rule in _OF_THE_CHECK}


def rule(code: str) -> Rule:
    """Return a rule by its code, or by the name of its property; raises KeyError where there is none."""
    for each in _OF_THE_CHECK:
        if each.code == code.upper():
            return each
    for name, its_code in PROPERTIES.items():
        if code.upper() in (its_code, name.upper()):
            return Rule(its_code, name, _told_by_the_spec(name))
    raise KeyError(code)


def _told_by_the_spec(name: str) -> str:
    """Return what the spec says of a property: its banner, its definition, and the models that break it."""
    for chapter in chapters():
        text = chapter.read_text(encoding="utf-8")
        found = re.search(rf"((?:^\\\* .*\n)*)(^{name} ==\n(?:.+\n)*)", text, re.MULTILINE)
        if found is not None:
            break
    else:
        raise AssertionError(f"the spec does not define {name}")
    banner = [line.removeprefix("\\* ") for line in found[1].splitlines()]
    said = re.sub(r"^(INV|PROP) \w+: ", "", "\n".join(banner))
    line = text.count("\n", 0, found.start(2)) + 1
    definition = "".join(f"    {each}\n" for each in found[2].splitlines())
    place = chapter.relative_to(spec_dir()).as_posix()
    return f"{said}\n\nspec/{place}:{line}\n\n{definition}\n{_broken_by(name)}"


def _broken_by(name: str) -> str:
    models = load_manifest(dledger_dir() / "models" / "manifest.toml").models
    broken = [each.name for each in models if each.violates == name and not each.witness]
    if not broken:
        return "No model of the published protocol breaks it."
    return "Models with a flaw that break it:\n\n" + "\n".join(f"    lockstep model {each}" for each in broken)
