"""What a trace may say: every action with its arguments, and every field of Observe, from the spec itself.

`python tests/support/vocabulary.py` prints docs/traces/actions.md.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator

from lockstep.systems.dledger.constants import SET_CONSTANTS
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.specs import trace_spec
from lockstep.tla.spec import Spec
from raftref.dledger.simulation import simulate
from simulated_traces import header
from spec_book import chapters

_ABOUT = re.compile(r"^\\\* ACTION (\w+): ((?:.*\n)(?:\\\* (?!Source:).*\n)*)", re.MULTILINE)

#: The features of the spec: of each the header's constant, and the value that puts it in.
_FEATURES = {member: (name, value) for name, (of, member, value) in SET_CONSTANTS.items() if of == "Features"}
_GRAIN = re.compile(rf"(?:/\\|:)\s*(~?)({'|'.join(_FEATURES)})\b(?!\s*(?:=>|\\/))")

#: What an argument is, where its name says it of every action that has it.
ARGUMENTS = {
    "m": "the message that is handled, or lost, or delivered twice, field for field",
    "peer": "the follower that the dispatcher is for",
    "value": "the entry's value, a string",
    "term": "the new term",
    "leader": "the node that is followed",
    "candidate": "the node that gets the vote",
    "voters": 'the nodes that vote, a set: `{"#set": ["n1", "n2"]}`',
    "code": "what the client is told",
    "count": "how many entries the batch has",
    "kept": "how many entries of the file reached the disk",
    "resurrected": "how many entries of the tail recovery takes for entries of the log",
    "transferee": "the node that is to take over",
    "expired": "whether the leader has had no quorum for too long",
    "call": "the call that got no answer, field for field",
}

#: Values that say nothing.
NONE = ("null", "-1")

#: Examples are no longer than this, if there are such.
LONG = 200

PREFACE = """# What a trace may say

Every action of [spec/dledger/DLedger.tla](../../spec/dledger/DLedger.tla), in the words of the spec, and every field
of `Observe`. The `node` of an event is the action's `n`; its other parameters are `args`. *Grain* is what the header's
constants must be for the action. An action with an empty *grain* cell may still need an earlier action that requires a
certain grain.

"""


def spec() -> Spec:
    made = fault_plan("whole", 1)
    return trace_spec(header(made), "t")


def texts() -> dict[str, str]:
    """The chapters of the spec by their names."""
    return {chapter.stem: chapter.read_text(encoding="utf-8") for chapter in chapters()}


def about() -> dict[str, str]:
    """What the spec says of each action."""
    found = (each for text in texts().values() for each in _ABOUT.findall(text))
    return {name: " ".join(said.replace("\\*", " ").split()) for name, said in found}


def grain(body: str) -> str:
    """The constants of a header that an action has as its condition."""
    found = {_FEATURES[feature][0]: _FEATURES[feature][1] != bool(negated) for negated, feature in _GRAIN.findall(body)}
    return ", ".join(f"`{name}`: `{json.dumps(value)}`" for name, value in found.items())


def actions() -> Iterator[tuple[str, str, str, str]]:
    lines, said = {name: text.splitlines() for name, text in texts().items()}, about()
    for name, action in spec().actions.items():
        body = "\n".join(lines[action.loc.module][action.loc.line - 1 : action.loc.end_line])
        args = ", ".join(f"`{each}`" for each in action.params[1:])
        yield f"`{name}`", args, grain(body), said[name]


def arguments() -> Iterator[tuple[str, str]]:
    names = dict.fromkeys(name for action in spec().actions.values() for name in action.params[1:])
    yield from ((f"`{name}`", ARGUMENTS[name]) for name in names)


def fields() -> Iterator[tuple[str, str]]:
    """The fields of Observe, each with the longest value that clusters showed, up to a length; or else the shortest."""
    shown: dict[str, set[str]] = {}
    for plan in ("fine_published", "applied", "whole"):
        for event in simulate(3, fault_plan(plan, 200)):
            for name, value in event["shows"].items():
                shown.setdefault(name, set()).add(json.dumps(value))
    ((observed,),) = [re.findall(r"^Observe\(n\) ==\n.*?\n((?:.*\|->.*\n)+)", texts()["DLedger"], re.MULTILINE)]
    for name in re.findall(r"(\w+) *\|->", observed):
        by_length = sorted(shown[name], key=lambda example: (example not in NONE, len(example), example))
        short = [example for example in by_length if len(example) <= LONG]
        yield f"`{name}`", f"`{short[-1] if short else by_length[0]}`"


def table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


def page() -> str:
    """Return docs/traces/actions.md."""
    return (
        PREFACE
        + "## Actions\n\n"
        + table(("action", "args", "grain", "what happens"), actions())
        + "\n## Arguments\n\n"
        + table(("argument", "what it is"), arguments())
        + "\n## What a node shows\n\nShow as much of the node after the step as you log. An object may be shown in "
        "part; a list is compared as a whole. `null` means no node, and -1 no index. Examples:\n\n"
        + table(("field", "such as"), fields())
    )


if __name__ == "__main__":
    sys.stdout.write(page())
