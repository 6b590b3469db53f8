"""The vocabulary of traces: every action with its arguments, and every field of Observe, from the spec itself.

`python -m tests.scripts.vocabulary DLedger` prints docs/traces/actions.md, with HashicorpRaft docs/traces/hashicorp.md.
"""

from __future__ import annotations

import functools
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from lockstep.systems.dledger import DLEDGER
from lockstep.systems.dledger.constants import CHOICES as DLEDGER_CHOICES
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.constants import CHOICES
from lockstep.systems.system import System
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import Event, Header
from tests.support.tla.spec_book import chapters

_ABOUT = re.compile(r"^\\\* ACTION (\w+): ((?:.*\n)(?:\\\* (?!Source:).*\n)*)", re.MULTILINE)

#: Values that say nothing.
NONE = ("null", "-1")

#: Examples are no longer than this, if there are such.
LONG = 200


@dataclass(frozen=True)
class Vocabulary:
    """The page on what a trace of a system may say.

    `whole` is a plan with all features, `examples` are plans whose clusters show what the fields are like. `features`
    are those of the spec. `arguments` says what an
    argument is, where its name says it of every action that has it. `messages` introduces what each message has, where
    the page says that. `unplanned` has examples of fields that no plan's clusters show.
    """

    system: System
    page: str
    whole: str
    examples: tuple[str, ...]
    features: Sequence[str]
    arguments: Mapping[str, str]
    preface: str
    shown: str
    messages: str = ""
    unplanned: Mapping[str, str] = field(default_factory=dict)

    def cluster(self, plan: str, seed: int, events: int) -> tuple[Header, list[Event]]:
        assert self.system.simulator is not None
        header, run = self.system.simulator.cluster(plan, seed, events)
        return header, list(run)

    @functools.cached_property
    def spec(self) -> Spec:
        return trace_spec(self.cluster(self.whole, 0, 0)[0], "t")

    @functools.cached_property
    def texts(self) -> dict[str, str]:
        """The chapters of the spec by their names."""
        return {chapter.stem: chapter.read_text(encoding="utf-8") for chapter in chapters(self.system)}

    @functools.cached_property
    def about(self) -> dict[str, str]:
        """The comment of the spec on each action."""
        found = (each for text in self.texts.values() for each in _ABOUT.findall(text))
        return {name: " ".join(said.replace("\\*", " ").split()) for name, said in found}

    def conditions(self, body: str) -> str:
        """The features that an action needs, or does without."""
        condition = re.compile(rf"(?:/\\|:)\s*(~?)({'|'.join(self.features)})\b(?!\s*(?:=>|\\/))")
        found = {name: not negated for negated, name in condition.findall(body)}
        return ", ".join(f"`{name}`: `{json.dumps(value)}`" for name, value in found.items())

    def actions(self) -> Iterator[tuple[str, str, str, str]]:
        lines = {name: text.splitlines() for name, text in self.texts.items()}
        for name, action in self.spec.actions.items():
            body = "\n".join(lines[action.loc.module][action.loc.line - 1 : action.loc.end_line])
            args = ", ".join(f"`{each}`" for each in action.params[1:])
            yield f"`{name}`", args, self.conditions(body), self.about[name]

    def argument_rows(self) -> Iterator[tuple[str, str]]:
        names = dict.fromkeys(name for action in self.spec.actions.values() for name in action.params[1:])
        yield from ((f"`{name}`", self.arguments[name]) for name in names)

    def fields(self) -> Iterator[tuple[str, str]]:
        """The fields of Observe, each with the longest value that clusters showed, up to a length; or the shortest."""
        shown: dict[str, set[str]] = {}
        for plan in self.examples:
            for event in self.cluster(plan, 3, 200)[1]:
                for name, value in event.shows.items():
                    shown.setdefault(name, set()).add(json.dumps(value))
        ((observed,),) = [
            re.findall(r"^Observe\(n\) ==\n.*?\n((?:.*\|->.*\n)+)", self.texts[self.system.spec], re.MULTILINE)
        ]
        for name in re.findall(r"^[\s\[]*(\w+) *\|->", observed, re.MULTILINE):
            examples = shown.get(name) or {self.unplanned[name]}
            by_length = sorted(examples, key=lambda example: (example not in NONE, len(example), example))
            short = [example for example in by_length if len(example) <= LONG]
            yield f"`{name}`", f"`{short[-1] if short else by_length[0]}`"

    def message_rows(self) -> Iterator[tuple[str, str]]:
        """The fields of each message, as clusters sent it."""
        found: dict[str, str] = {}
        for plan in (self.whole, *self.examples):
            for event in self.cluster(plan, 3, 600)[1]:
                for m in event.sent or ():
                    has = ", ".join(f"`{name}`" for name in m if name not in ("kind", "type", "src", "dst"))
                    assert found.setdefault(f"`{m['type']}`, {m['kind']}", has) == has
        yield from sorted(found.items())

    def _messages(self) -> str:
        return table(("message", "its own fields"), self.message_rows())

    def text(self) -> str:
        """Return the page."""
        return (
            self.preface
            + "## Actions\n\n"
            + table(("action", "args", "features", "what happens"), self.actions())
            + "\n## Arguments\n\n"
            + table(("argument", "what it is"), self.argument_rows())
            + f"\n## What a node shows\n\n{self.shown} Examples:\n\n"
            + table(("field", "such as"), self.fields())
            + (self.messages and f"\n## Messages\n\n{self.messages}\n\n" + self._messages())
        )


def table(heads: tuple[str, ...], rows: Iterator[tuple[str, ...]]) -> str:
    lines = [heads, ("---",) * len(heads), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines) + "\n"


_SHOWN = "An object may be shown in part; a list is compared as a whole."

OF_DLEDGER = Vocabulary(
    system=DLEDGER,
    page="actions.md",
    whole="whole",
    examples=("fine_published", "applied", "whole"),
    features=DLEDGER_CHOICES.features,
    arguments={
        "m": "the message that is handled, or lost, or delivered twice, field for field",
        "peer": "the follower that the dispatcher is for",
        "value": "the entry's value, a string",
        "term": "the new term",
        "leader": "the node that is followed",
        "candidate": "the node that gets the vote",
        "voters": 'the nodes that vote, a set: `{"#set": ["n1", "n2"]}`',
        "code": "the answer to the client",
        "index": "the first entry that is pushed again",
        "count": "the number of entries of the batch",
        "kept": "the number of entries of the file that reached the disk",
        "resurrected": "the number of entries of the tail that recovery takes for entries of the log",
        "transferee": "the node that is to take over",
        "expired": "whether the leader has had no quorum for too long",
        "call": "the call that got no answer, field for field",
    },
    preface="""# What a trace may say

Every action of [spec/dledger/DLedger.tla](../../spec/dledger/DLedger.tla), and every field of `Observe`. The `node` of
an event is the action's `n`; its other parameters are `args`. *Features* are those that the action needs (`true`), or
that take its place (`false`). An action with an empty cell may still need an earlier action that requires a feature.

""",
    shown=f"{_SHOWN} `null` means no node, and -1 no index.",
)

OF_HASHICORP = Vocabulary(
    system=HASHICORP,
    page="hashicorp.md",
    whole="raft_whole",
    examples=("raft_whole_published", "raft_snapshots", "raft_members", "raft_transfers"),
    features=CHOICES.features,
    arguments={
        "m": "the message that is handled, or lost, or delivered twice, field for field",
        "request": "the request of a candidate that is handled",
        "heartbeat": "the heartbeat that is handled meanwhile",
        "outcome": 'how the writes of the step end: `{"result": "DONE", "write": 0}`, or `FAIL` or `CRASH` at a write',
        "asked": 'whom the candidate has asked by then, a set: `{"#set": ["n2", "n3"]}`',
        "logs": 'what clients append: `[{"type": "Command", "value": "x"}]`, or of type Barrier, with `null`',
        "peer": "the other server",
        "count": "how many entries the request has",
        "type": "the call that gets no answer: `RequestVote`, `RequestPreVote`, `AppendEntries`, `InstallSnapshot`, "
        "`Heartbeat`",
        "zombie": 'the routine that must stop: `{"peer": "n2", "term": 3, "nextIndex": 7}`',
        "command": "what is changed: `AddVoter`, `AddNonvoter`, `DemoteVoter`, `RemoveServer`",
        "server": "the server that is added, demoted or removed",
    },
    preface="""# What a trace of hashicorp/raft may say

Every action of [spec/hashicorp/HashicorpRaft.tla](../../spec/hashicorp/HashicorpRaft.tla), and every field of
`Observe`, in the columns of [DLedger's page](actions.md). [format.md](format.md#a-trace-of-hashicorpraft) has the other
differences, and [these tables](../../spec/hashicorp/README.md#from-the-code-to-the-actions) the library's functions.

""",
    shown=f"{_SHOWN} `null` means no server, and 0 no index. A map has its pairs: "
    '`{"#map": [[1, ENTRY], [2, ENTRY]]}` is a log with the indexes 1 and 2.',
    unplanned={"storedCommit": "28"},
    messages="Each also has `kind` (request or response), `type`, `src`, `dst`. `awaited` is `true` until the caller "
    "gives up (`RPCError`), has its answer, no longer leads or campaigns, or is down. After an error, such as a "
    "snapshot that cannot be saved, there is no answer. With `Pipeline` the answer to an AppendEntries has `sentIndex` "
    "as well: the last index of the request's entries, 0 if it had none.",
)

VOCABULARIES = {each.system.spec: each for each in (OF_DLEDGER, OF_HASHICORP)}


if __name__ == "__main__":
    sys.stdout.write(VOCABULARIES[sys.argv[1]].text())
