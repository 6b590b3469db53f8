"""The check of what crossed the wire of a group, against the rules of spec/wire/WireGroup.tla."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from lockstep.base.progress import REPORT_INTERVAL, Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.wire_format import (
    CLOSED,
    OPENED,
    REFUSED,
    UNREADABLE,
    VERSION,
    MisnamedNodeError,
    WireFormat,
    WireLine,
)
from lockstep.systems.wire_group import WIRE_GROUP
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.trace.json_lines import STDIN, TraceError, convert_line, file_lines, json_object, source_name
from lockstep.trace.trace_format import Event
from raftref.wire_error import WireError

#: The longest line that a finding has.
MAX_LINE_TEXT = 400


class _Header(msgspec.Struct, forbid_unknown_fields=True):
    format: str
    version: int
    system: str
    nodes: dict[str, str]
    all_voters: bool


class _Line(msgspec.Struct, forbid_unknown_fields=True, rename={"src": "from", "dst": "to"}):
    time: float
    conn: int
    kind: str
    src: str = ""
    dst: str = ""
    call: int = -1
    answer: bool = False
    fields: dict[str, Any] = {}
    unanswered: list[int] = []
    caller: str = ""
    why: str = ""


@dataclass(slots=True)
class _WireSteps:
    """The lines of a file as the events of a trace.

    `voters` are the nodes that vote, none where that is not known. `is_whole`: no line says that something could not be
    read; where one does, it may stand far behind what is missing. `unread` are the lines with bytes that are no frames;
    `others` those of messages that do not fit their kind; `texts` are the lines that were read last, by their numbers.
    """

    path: Path
    wire: WireFormat
    lines: Iterator[bytes]
    say: Say
    voters: frozenset[str]
    is_whole: bool
    counts: Counter[str] = field(default_factory=Counter)
    actions: Counter[str] = field(default_factory=Counter)
    unread: list[int] = field(default_factory=list)
    others: list[int] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    #: The calls that the spec knows, and which have no answer.
    _asked: set[int] = field(default_factory=set)
    seq: int = 0

    @property
    def source(self) -> str:
        """The file."""
        return source_name(self.path)

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event); raises TraceError."""
        if not self.is_whole:
            self.seq += 1
            self.texts = {1: ""}
            yield 1, Event(self.seq, "", "Misses", {}, line=1)
        for number, text in enumerate(self.lines, start=2):
            if number % REPORT_INTERVAL == 0:
                self.say(f"{self.source}: line {number:,}")
            tree = json_object(text, self.source, number, "capture of a wire")
            line: _Line = convert_line(tree, _Line, self.source, number)
            self.texts = {number: text.decode("utf-8", "backslashreplace").strip()}
            for action, args in self._facts(number, line):
                self.seq += 1
                yield number, Event(self.seq, "", action, dict(args), line=number)

    def _facts(self, number: int, line: _Line) -> Iterator[tuple[str, Mapping[str, Any]]]:
        self.counts[line.kind if not line.answer or line.kind == UNREADABLE else f"answer to {line.kind}"] += 1
        if line.kind == UNREADABLE:
            self.unread.append(number)
            yield "Misses", {}
        if line.kind == CLOSED:
            over = [call for call in line.unanswered if call in self._asked]
            self._asked.difference_update(over)
            yield "Drops", {"stream": line.conn, "over": over}
        if line.kind in (CLOSED, OPENED, REFUSED, UNREADABLE):
            return
        frame = (line.time, line.conn, line.kind, line.src, line.dst, line.call, line.answer, line.fields)
        try:
            facts = list(self.wire.facts(WireLine(*frame)))
        except MisnamedNodeError as error:
            raise TraceError(self.source, number, f"{error}: name it so with --node") from error
        except (WireError, KeyError, TypeError, AttributeError):
            self.others.append(number)
            yield "Misses", {}
            return
        if facts and self.voters and not line.answer and line.src not in self.voters:
            raise TraceError(self.source, number, f"field `from`: {line.src!r} is none of the nodes, which all vote")
        if any(action == "Misses" for action, _ in facts):
            self.others.append(number)
        for action, args in facts:
            self.actions[action] += 1
            if line.answer and "call" in args and line.call not in self._asked:
                continue
            if line.answer:
                self._asked.discard(line.call)
            elif "call" in args:
                self._asked.add(line.call)
            yield action, args

    def notes(self) -> Iterator[str]:
        """Yield what was seen, and what was not."""
        seen = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.counts.items()))
        yield f"note: seen: {seen or 'nothing'}"
        for numbers, what in (
            (self.unread, "connections were not read to their end"),
            (self.others, "messages have fields that no such message has, and were passed over"),
        ):
            if numbers:
                first = ", ".join(map(str, numbers[:5])) + (", ..." if len(numbers) > 5 else "")
                yield f"note: {len(numbers):,} {what} (lines {first})"
        if self.voters and not (self.is_whole and not self.others and self.actions["AsksVote"]):
            why = "no election was seen" if self.is_whole and not self.others else "messages may be missing"
            yield f"note: ElectedByQuorum and CommitIsAcked were not evaluated everywhere: {why}"
        yield f"note: the wire never shows {self.wire.blind}"


@lru_cache(maxsize=8)
def _compiled(voters: frozenset[str]) -> Spec:
    return load_spec(WIRE_GROUP.module, WIRE_GROUP.trace_cfg, constants={"Electorate": voters})


def check_wire(path: Path, say: Say = silent) -> TraceVerdict:
    """Check the lines of a tap, or of an imported capture, against the rules for messages.

    Arguments: `path`; `say`, called with the progress.
    Returns the verdict: *violated* where messages break a rule of WireGroup, *inconclusive* where none says anything.
    Raises TraceError where a line is malformed, UnreadableError where the file cannot be read.
    """
    source, lines = source_name(path), file_lines(path)
    first = next(lines)
    header: _Header = convert_line(json_object(first, source, 1, "capture of a wire"), _Header, source, 1)
    if header.version != VERSION:
        raise TraceError(source, 1, f"field `version`: {header.version}, and this lockstep reads {VERSION}")
    system = SYSTEMS.get(header.system)
    if system is None or system.wire is None:
        raise TraceError(source, 1, f"field `system`: {header.system!r} is none whose wire is read")
    voters = frozenset(header.nodes if header.all_voters else ())
    is_whole = path == STDIN or not any(b'"kind":"%s"' % UNREADABLE.encode() in line for line in file_lines(path))
    steps = _WireSteps(path, system.wire(), lines, say, voters, is_whole)
    spec = _compiled(voters)
    texts: list[str] = []

    def keep(check: Any, state: Any, line: int, event: Event, after: Any) -> None:
        texts.extend([steps.texts[line]] * (len(check.result.findings) - len(texts)))

    found = check_trace(steps, spec, WIRE_GROUP.interface(spec), listener=keep)
    found.findings = [_placed(each, text) for each, text in zip(found.findings, texts, strict=True)]
    _conclude(found)
    found.notes += steps.notes()
    if not header.all_voters:
        found.notes.append("note: who votes is not known, so quorums were not counted (--all-voters)")
    return found


def _placed(finding: Finding, text: str) -> Finding:
    return replace(finding, details=(text[:MAX_LINE_TEXT],))


def _conclude(found: TraceVerdict) -> None:
    if found.verdict is Verdict.HOLDS and found.steps:
        found.reason = f"no message breaks a rule of {WIRE_GROUP.spec}"
    elif found.verdict is Verdict.VIOLATED:
        found.reason = f"messages break {', '.join(sorted(found.violations))} of {WIRE_GROUP.spec}"
    elif not found.steps and found.fault is None and found.verdict is not Verdict.MALFORMED:
        found.verdict, found.reason = Verdict.INCONCLUSIVE, "no message says anything"
