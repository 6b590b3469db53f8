"""Logs read with a mapping: events of a trace, or claims about steps that leave something open."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

from lockstep.conformance.comparison import ElementCount, PartialElement, equal_count, is_true_inside
from lockstep.conformance.json_values import Words, to_value
from lockstep.conformance.spec_interface import Interface
from lockstep.logs.log_lines import Claim, Thread, ThreadLine
from lockstep.logs.log_records import MISSING, Record, RecordFields, cut, plain, records
from lockstep.logs.log_rotation import RotatedLog, logs_of, note_missing_files, note_unordered_files
from lockstep.logs.mapping import Mapping, Source, StepPattern, duration
from lockstep.logs.mapping_rules import Rules
from lockstep.logs.stray_lines import StrayLines
from lockstep.logs.timestamps import Timestamps
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.quantifier_bounds import KnownValue, Matching
from lockstep.trace.json_lines import TraceError, source_name
from lockstep.trace.trace_format import Event


@dataclass(frozen=True)
class MappedTrace:
    """A log whose every line has one step in full: its lines become events while it is iterated.

    `source` is the file; iterating yields (line number, event) and raises TraceError where a line is malformed, is of a
    kind that the mapping does not have, or lacks a field that the mapping names. `notes` fill meanwhile.
    """

    path: Path
    mapping: Mapping
    notes: list[str] = field(default_factory=list)

    @property
    def source(self) -> str:
        """The file."""
        return source_name(self.path)

    @cached_property
    def _rules(self) -> Rules:
        return Rules(self.mapping)

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event)."""
        strays = StrayLines(self.source, self.mapping.form(), self._rules.texts())
        for record in records(
            RotatedLog(self.source, (self.path,)), self.mapping, self._note, strays, self._rules.is_appended
        ):
            known = self._rules.rule_of(record)
            if known is not None and known[0].action is not None:
                rule, line = known
                args = {name: line.value(source) for name, source in rule.args.items()}
                yield record.number, Event(record.number, "", rule.action or "", args, shown_values(rule, line))
        if noise := strays.note():
            self._note(noise)

    def _note(self, text: str) -> None:
        self.notes.append(f"note: {text}")


def shown_values(step: StepPattern, record: Record) -> dict[str, Any]:
    """Return what a line shows, by name; raises TraceError where it is not there."""
    if isinstance(step.shows, dict):
        values = {name: record.value(source) for name, source in step.shows.items()}
        return {name: plain(value) for name, value in values.items() if value is not MISSING}
    found = record.needed(step.shows)
    if not isinstance(found, dict):
        raise record.error(f"field `{step.shows}`: it is no object")
    return found


@dataclass(frozen=True, slots=True)
class MappedLogs:
    """The lines of the logs of one system, each log's own, and notes on what was left out.

    `tied` names two lines of a thread that is in the order of its times, and in which these are equal.
    """

    threads: tuple[Thread, ...]
    skew: int
    resolution: int
    notes: tuple[str, ...]
    tied: str | None = None

    @property
    def lines(self) -> int:
        """The number of lines that mean something."""
        return sum(len(thread.lines) for thread in self.threads)

    @property
    def slack(self) -> int:
        """The greatest distance of the stamps of two lines that may have happened in the other order."""
        return self.skew + self.resolution


#: A node by the type of what names it, as 1 is not TRUE, and by its name.
_Node: TypeAlias = tuple[str, str]


def read_logs(
    paths: Sequence[Path],
    mapping: Mapping,
    spec: Spec,
    interface: Interface,
    report: Callable[[int], None] = lambda _: None,
) -> MappedLogs:
    """Read the logs of one system.

    Arguments: `paths`, their files; rotated ones of a log are put together; `interface`, where they meet the spec.
    Raises TraceError where a line is malformed, UnreadableError where a file cannot be read.
    """
    reader = _LogReader(mapping, spec, interface)
    notes: list[str] = []
    threads: dict[tuple[str, _Node | None], list[ThreadLine]] = {}
    ended: set[tuple[str, _Node | None]] = set()
    logs = logs_of(paths)
    if unordered := note_unordered_files(logs):
        notes.append(f"note: {unordered}")
    for log in logs:
        torn: list[str] = []
        reader.times.begin_log()
        if missing := note_missing_files(log):
            notes.append(f"note: {missing}")
        strays = StrayLines(log.name, mapping.form(), reader.rules.texts())
        for record in records(log, mapping, torn.append, strays, reader.rules.is_appended, report):
            line, node = reader.line(record)
            if line is not None:
                threads.setdefault((log.name, node), []).append(line)
        if noise := strays.note():
            notes.append(f"note: {noise}")
        notes += [f"note: {each}" for each in torn]
        if torn or (mapping.ends == "anywhere" and mapping.order == "file"):
            # The node of a torn line is not known; it may be one without any other line.
            threads.setdefault((log.name, None), [])
            ended.add((log.name, None))
    if mapping.ends == "anywhere":
        ended |= threads.keys()
    found = tuple(
        Thread(name if node is None else f"{name} of {node[1]}", lines, (name, node) in ended)
        for (name, node), lines in threads.items()
    )
    if ended or mapping.start is not None:
        found = _without_unsent(found, notes)
    tied = _tied(found) if mapping.records == "otlp" else None
    return MappedLogs(found, duration(mapping.skew), duration(mapping.resolution), tuple(notes), tied)


def _tied(threads: Sequence[Thread]) -> str | None:
    """Name two neighbours in a thread with the same time, None where there are none."""
    for thread in threads:
        for one, other in pairwise(thread.lines):
            if one.time == other.time:
                return (
                    f"two records of {thread.source} have the same time, {thread.place(one)} and {thread.place(other)}"
                )
    return None


def _without_unsent(threads: Sequence[Thread], notes: list[str]) -> tuple[Thread, ...]:
    """Remove the receipt of messages that no line sends: the line that sends one may be missing."""
    sent = {line.sends for thread in threads for line in thread.lines}
    receiving = [(thread, line) for thread in threads for line in thread.lines if line.receives is not None]
    lost = [(thread, line) for thread, line in receiving if line.receives not in sent]
    if not lost:
        return tuple(threads)
    (thread, line), others = lost[0], len(lost) - 1
    too = f", nor what {others:,} other{'s receive' if others > 1 else ' receives'}" if others else ""
    notes.append(f"note: no line sends what {thread.place(line)} receives{too}: it is not known when that was sent")
    return tuple(
        replace(each, lines=[one if one.receives in sent else replace(one, receives=None) for one in each.lines])
        for each in threads
    )


def _message(source: Source | None, record: Record, name: str) -> str | None:
    found = MISSING if source is None else record.value(source)
    if found is MISSING:
        return None
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise record.error(f"`{name}`: a message is named by a string or an integer, not by {cut(_written(found))}")
    return str(found)


def _written(found: Any) -> str:
    return "a value in parts" if isinstance(found, RecordFields | PartialElement | ElementCount) else json.dumps(found)


@dataclass(frozen=True, slots=True)
class FieldsTest:
    """A test for values that have these parts."""

    parts: dict[str, Any]
    words: Words

    def __call__(self, value: Value) -> bool:
        """Return whether a value has these parts."""
        return equal_count(self.parts, value, self.words) is not None


class _LogReader:
    def __init__(self, mapping: Mapping, spec: Spec, interface: Interface) -> None:
        self.mapping, self.words, self.rules = mapping, interface.words, Rules(mapping)
        self.observe, self.shows_nodes = interface.observe, interface.takes_node(spec)
        self.stamps = {stamp.field: stamp for stamp in mapping.stamps()}
        self.times = Timestamps(self.stamps.values())

    def line(self, record: Record) -> tuple[ThreadLine | None, _Node | None]:
        known = self.rules.rule_of(record)
        if known is None:
            return None, None
        rule, matched = known
        matched = replace(matched, node=MISSING if self.mapping.node is None else matched.value(self.mapping.node))
        readings = tuple(tuple(self.claim(step, matched) for step in each.step_patterns()) for each in rule.readings())
        line = ThreadLine(
            number=record.number,
            text=record.text,
            readings=readings,
            time=self.time(matched),
            delay=0 if rule.delay is None else duration(rule.delay),
            sends=_message(rule.sends, matched, "sends"),
            receives=_message(rule.receives, matched, "receives"),
            source=record.source,
        )
        return line, self.name_of_node(matched)

    def name_of_node(self, record: Record) -> _Node | None:
        """Return what names the thread of a line, None where all of a file are one."""
        node = record.node
        if node is MISSING or self.mapping.order == "file":
            return None
        if not isinstance(node, str | int | None):
            raise record.error(f"`node`: a node is named by a string or an integer, not by {cut(_written(node))}")
        return type(node).__name__, str(node)

    def time(self, record: Record) -> int | None:
        if not self.stamps:
            return None
        path = record.first_of(self.stamps)
        if path is None:
            raise record.error(record.lacks(self.stamps))
        try:
            return self.times.read(record.at(path), self.stamps[path])
        except ValueError as error:
            raise record.error(f"field `{path}`: {error}") from None

    def claim(self, step: StepPattern, record: Record) -> Claim:
        args = {name: self.bound(name, record.value(source), record) for name, source in step.args.items()}
        node = None if record.node is MISSING else self.value(record.node, record, "node")
        known = {name: each for name, each in args.items() if each is not None}
        shows = shown_values(step, record)
        if shows and node is None and self.shows_nodes:
            raise record.error(f"`node`: it shows what {self.observe} gives of a node, and has no node")
        return Claim(step.action or "", known, shows, node, step.repeat)

    def bound(self, name: str, found: Any, record: Record) -> KnownValue | Matching | None:
        if found is MISSING:
            return None
        if isinstance(found, RecordFields):
            return Matching(name, FieldsTest(found.fields, self.words))
        if isinstance(found, PartialElement | ElementCount):
            inside, words = found, self.words
            return Matching(name, lambda value: is_true_inside(inside, value, words))
        return KnownValue(name, self.value(found, record, name))

    def value(self, tree: Any, record: Record, name: str) -> Value:
        try:
            return to_value(tree, self.words)
        except ValueError as error:
            raise TraceError(record.source, record.number, f"`{name}`: {error}") from error
