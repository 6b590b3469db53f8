"""A trace that is under way: its check, resumed with each batch of lines from the bytes that Spark keeps between them.

The check is that of `lockstep check`. What is new is that lines come piece by piece and that an event waits, in a
bounded room, until those before it by `seq` are there.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.conformance.trace_verdict import Finding, TraceVerdict, conclude, failure
from lockstep.pipeline.watch.specs import NoSpecError, Specs
from lockstep.pipeline.windows.state_bytes import state_bytes, state_of_bytes
from lockstep.systems.file_check import notes_on
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import system_of
from lockstep.tla.compile.spec_fault import placed
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import Trace, TracePart, after_the_end, not_rising

FORMAT = "lockstep-under-way/1"

#: With these an event is the first of its trace, if none before it is there; with any other it waits for them.
FIRST_SEQ = (0, 1)


class Row(NamedTuple):
    """What comes of a trace in a batch: lines from line `line` on, or what is said of it; see Said."""

    kind: str
    line: int
    block: bytes


class Waiting(msgspec.Struct, array_like=True):
    """An event that waits for those before it: its `seq`, its line, the text of that."""

    seq: int
    line: int
    text: bytes


class UnderWay(msgspec.Struct):
    """What is kept of a trace between batches.

    `line` is the last line that was taken, `header` the first; `spec` is under what the compiled spec is kept, `digest`
    the SHA-256 of its text, and `state` its state after the event `last_seq`. `since` is when the gap was met, or
    became smaller, in milliseconds since 1970. `told` counts the findings that are in the table. `verdict` is empty
    until the trace is settled; `ended`: by its end line.
    """

    format: str = FORMAT
    line: int = 0
    header: bytes = b""
    spec: str = ""
    digest: str = ""
    state: bytes = b""
    last_seq: int = -1
    waiting: list[Waiting] = []
    since: int = 0
    events: int = 0
    steps: int = 0
    observed: int = 0
    seconds: float = 0.0
    findings: list[Finding] = []
    forced: list[int] = []
    disputed: int | None = None
    notes: list[str] = []
    told: int = 0
    verdict: str = ""
    reason: str = ""
    ended: bool = False

    @classmethod
    def of(cls, kept: bytes) -> UnderWay:
        """Return what was kept; raises ValueError where it is of another version."""
        found = msgspec.msgpack.decode(kept, type=cls)
        if found.format != FORMAT:
            raise ValueError(f"the checkpoint has a trace {found.format!r}; this program reads {FORMAT!r}")
        return found

    def kept(self) -> bytes:
        """Return the bytes to keep."""
        return msgspec.msgpack.encode(self)

    def result(self, source: str) -> TraceVerdict:
        """Return what was found so far, as `lockstep check` has it."""
        return TraceVerdict(
            source,
            Verdict(self.verdict) if self.verdict else Verdict.INCONCLUSIVE,
            self.reason,
            self.events,
            self.steps,
            self.observed,
            self.seconds,
            list(self.findings),
            list(self.forced),
            self.disputed,
            list(self.notes),
        )

    def take_over(self, result: TraceVerdict) -> None:
        """Take over what a check has come to; the verdict is the caller's to settle."""
        self.events, self.steps, self.observed = result.events, result.steps, result.observed
        self.findings, self.forced, self.disputed = result.findings, result.forced, result.disputed

    def settle(self, found: TraceVerdict) -> None:
        """Give the trace its verdict, and forget what only going on would need."""
        self.verdict, self.reason = str(found.verdict), found.reason
        self.state, self.waiting, self.since = b"", [], 0

    @property
    def gap(self) -> str:
        """Say which events are missing, "" where none is."""
        if not self.waiting:
            return ""
        first = self.waiting[0]
        missing = range(self.last_seq + 1, first.seq)
        which = f"the event with `seq` {missing[0]}" if len(missing) == 1 else f"`seq` {missing[0]} to {missing[-1]}"
        return f"{which} never came; line {first.line} has `seq` {first.seq}, and {len(self.waiting):,} events wait"


@dataclass(frozen=True, slots=True)
class Limits:
    """How long a gap is waited for, in seconds, and how many events may wait meanwhile, and how many bytes of them.

    `seconds` is how long the check of the lines that a batch has of a trace may take, and compiling its spec.
    """

    patience: float = 30.0
    events: int = 10_000
    bytes: int = 16 << 20
    seconds: float = 300.0


class Step:
    """One batch of one trace."""

    def __init__(self, way: UnderWay, source: str, specs: Specs, limits: Limits) -> None:
        """Go on with what was kept of the trace in `source`."""
        self.way, self.source, self.specs, self.limits = way, source, specs, limits
        self.place = "the initial state"

    def run(self, rows: Iterable[Row]) -> None:
        """Take the lines of a batch, then what is said besides; all errors become the trace's verdict."""
        begin = time.perf_counter()
        ordered = sorted(rows, key=lambda row: (row.kind != "lines", row.line))
        try:
            self._lines([row for row in ordered if row.kind == "lines"])
            for row in ordered:
                if row.kind != "lines" and not self.way.verdict:
                    self._said(row)
        except NoSpecError as error:
            self.way.settle(error.found)
        except Exception as error:  # Whatever it is, it is this trace's alone.
            self.way.settle(failure(error, self.source))
        self.way.seconds += time.perf_counter() - begin

    # ---- Lines ----

    def _lines(self, rows: Sequence[Row]) -> None:
        lines = _numbered(rows, None if self.way.verdict else self.way.line)
        if not self.way.line:
            first = next(lines, None)
            if first is None:
                return
            self._open(*first)
        if self.way.verdict:
            self._behind_the_end(lines)
            return
        if rows:
            self._check(lines)

    def _open(self, number: int, text: bytes) -> None:
        self.way.line, self.way.header = number, text
        header = opened([text], self.source).header
        self.way.spec = self.specs.hash_of(header, self.source)
        system = system_of(header, self.source)
        self.way.notes = list(notes_on(header, system, self.source, self.specs.hash_of_modules))

    def _behind_the_end(self, lines: Iterator[tuple[int, bytes]]) -> None:
        """A trace that had its end line goes on: that is malformed, as in `lockstep check`. Others are settled."""
        extra = next(lines, None)
        if extra is not None and self.way.ended:
            self.way.line, self.way.ended = extra[0], False
            self.way.settle(failure(after_the_end(self.source, extra[0]), self.source))

    def _check(self, lines: Iterator[tuple[int, bytes]]) -> None:
        trace = opened([self.way.header], self.source)
        spec = self.specs.get(self.way.spec, self.source)
        self.way.digest = self.specs.digest(self.way.spec)
        events = _InOrder(self, trace, lines)
        check = _Resumed(events, spec, system_of(trace.header, self.source).interface(spec), self.way)
        try:
            state = check.go_on(self.way.state)
        except Exception as error:
            self.way.take_over(check.result)
            self.way.settle(failure(placed(error, spec.source), self.source, check.place))
            return
        self.way.take_over(check.result)
        if state is None or self.way.ended:
            conclude(check.result)
            self.way.settle(check.result)
            return
        self.way.state = state_bytes(state)
        self._bound()

    def _bound(self) -> None:
        """Give up where more events wait than there is room for."""
        way = self.way
        if len(way.waiting) > self.limits.events or sum(len(each.text) for each in way.waiting) > self.limits.bytes:
            self._give_up(f"{way.gap}: there is no room for more")

    def _give_up(self, reason: str) -> None:
        self.way.settle(TraceVerdict(self.source, Verdict.INCONCLUSIVE, reason))

    # ---- What is said besides ----

    def _said(self, row: Row) -> None:
        match row.kind:
            case "fault":
                self.way.settle(TraceVerdict(self.source, Verdict.MALFORMED, row.block.decode()))
            case "lost":
                self._give_up(f"{row.block.decode()}; line {self.way.line} is the last that was read")
            case "cut":
                self.finish(None)
            case "tick":
                if self.way.waiting and row.line >= self.way.since + self.limits.patience * 1000:
                    self._give_up(f"{self.way.gap}: waited {self.limits.patience:g} s")

    def finish(self, torn: bytes | None) -> None:
        """Settle a trace of which no more will come, as `lockstep check` would; `torn` is an end without line break."""
        way = self.way
        if way.waiting:
            self._give_up(way.gap)
            return
        number = way.line + bool(torn)
        try:
            if not way.line:
                opened([torn] if torn else [], self.source)
            if torn:
                list(TracePart(opened([way.header], self.source).header, [(number, torn)], self.source))
            raise TraceError(self.source, number, "the file is truncated: it has no end line")
        except TraceError as error:
            way.settle(failure(error, self.source))


class LinesMissingError(Exception):
    """The lines of a batch do not follow those before: the stream has lost some, or has them twice."""


def _numbered(rows: Iterable[Row], last: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of blocks with their numbers; raises LinesMissingError where they do not follow line `last`."""
    for row in rows:
        begin, number = 0, row.line
        if last is not None and number != last + 1:
            raise LinesMissingError(f"line {number} came after line {last}")
        last = None if last is None else last + row.block.count(b"\n")
        while begin < len(row.block):
            end = row.block.index(b"\n", begin) + 1
            yield number, row.block[begin:end]
            begin, number = end, number + 1


def _now() -> int:
    return int(time.time() * 1000)


class _InOrder:
    """The events of a batch, by `seq`: those before a gap, each once."""

    def __init__(self, step: Step, trace: Trace, lines: Iterator[tuple[int, bytes]]) -> None:
        self.source, self._header, self._least = trace.source, trace.header, trace.least_integer
        self._lines, self._way = lines, step.way

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        way = self._way
        for number, text in self._lines:
            way.line = number
            event = self._decoded(number, text)
            if event is None:
                yield from self._rest()
                self._at_end()
                return
            if event.seq <= way.last_seq:
                raise not_rising(self.source, number, event.seq, way.last_seq)
            if event.seq > way.last_seq + 1 and not (way.last_seq < 0 and event.seq in FIRST_SEQ):
                self._wait(event.seq, number, text)
                continue
            way.last_seq = event.seq
            yield number, event
            if way.waiting:
                yield from self._rest(until_gap=True)
                way.since = _now()  # the gap has become smaller, or it is the next one

    def _decoded(self, number: int, text: bytes) -> Event | None:
        """Return the event of a line, None of the end line."""
        part = TracePart(
            self._header,
            [(number, text)],
            self.source,
            before=number - 1,
            is_last=False,
            least_integer=self._least,
        )
        found = [event for _, event in part]
        return found[0] if found else None

    def _wait(self, seq: int, number: int, text: bytes) -> None:
        way, one = self._way, Waiting(seq, number, text)
        if way.waiting and way.waiting[0].seq <= seq:
            way.waiting.append(one)
        else:  # the gap is met, or has become smaller: what ends it stands first
            way.since = _now()
            way.waiting.insert(0, one)

    def _rest(self, until_gap: bool = False) -> Iterator[tuple[int, Event]]:
        """Yield the events that waited, in their order: up to the next gap, or where all lines are there, all."""
        way = self._way
        way.waiting.sort(key=lambda each: each.seq)
        while way.waiting and not (until_gap and way.waiting[0].seq > way.last_seq + 1):
            each = way.waiting.pop(0)
            event = self._decoded(each.line, each.text)
            assert event is not None
            if event.seq <= way.last_seq:
                raise not_rising(self.source, each.line, event.seq, way.last_seq)
            way.last_seq = event.seq
            yield each.line, event

    def _at_end(self) -> None:
        self._way.ended = True
        extra = next(self._lines, None)
        if extra is not None:
            self._way.line, self._way.ended = extra[0], False
            raise after_the_end(self.source, extra[0])


class _Resumed(TraceCheck):
    """The check of a trace, from where it was left."""

    def __init__(self, events: _InOrder, spec: Spec, interface: Interface, way: UnderWay) -> None:
        super().__init__(events, spec, interface)
        self.result = way.result(events.source)
        self.failed = set(self.result.violations)

    def go_on(self, kept: bytes) -> State | None:
        """Check the events that are new; return the state after them, None where the trace leaves the spec."""
        properties = self.properties()
        if kept:
            state = state_of_bytes(self.spec, kept)
        else:
            state = self.initial()
            self._check_initial(state)
        return self.follow(state, properties)
