"""The check of a trace that is still written: resumed with each batch of lines from the bytes that Spark keeps of it.

The check is that of `lockstep check`. Here lines come piece by piece, and an event waits, among a bounded number of
others, until those before it by `seq` are there.
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
from lockstep.conformance.trace_verdict import TraceVerdict, conclude, failure
from lockstep.jobs.spark.record_tables import extended
from lockstep.pipeline.state_bytes import state_bytes, state_of_bytes
from lockstep.pipeline.watch.spec_cache import NoSpecError, SpecCache
from lockstep.pipeline.watch.verdict_table import WatchVerdict
from lockstep.systems.file_check import notes_on
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import system_of
from lockstep.tla.compile.spec_fault import with_place
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import Trace, TracePart, after_end_error, not_rising_error

#: An event with one of these is the first of its trace, if none before it is there; any other waits for those before.
FIRST_SEQ = (0, 1)

#: The reason of a trace that is not settled begins with this.
SO_FAR = "so far "


class SourceRow(NamedTuple):
    """A row of the source: lines from line `number` on, or a notice; see growing_source."""

    kind: str
    number: int
    data: bytes


class EarlyEvent(msgspec.Struct, array_like=True):
    """An event that waits for those before it: its `seq`, its line, the text of that."""

    seq: int
    line: int
    text: bytes


class TraceProgress(msgspec.Struct):
    """The state of the check of a trace between batches.

    `line` is the last line that was read, `header` the first; the compiled spec is kept under the name `spec`, and has
    the SHA-256 `spec_digest`; `state` is its state after the event `last_seq`. `since` is when the gap before `waiting`
    began, or became smaller, in milliseconds since 1970. `recorded` findings are in the table. `settled`: no more is
    checked; `ended`: by the end line of the trace.
    """

    line: int = 0
    header: bytes = b""
    spec: str = ""
    spec_digest: str = ""
    state: bytes = b""
    last_seq: int = -1
    waiting: list[EarlyEvent] = []
    since: int = 0
    recorded: int = 0
    settled: bool = False
    ended: bool = False
    result: TraceVerdict = msgspec.field(default_factory=lambda: TraceVerdict("", Verdict.INCONCLUSIVE, ""))

    @classmethod
    def from_bytes(cls, data: bytes | None) -> TraceProgress:
        """Return what was kept, that of a trace that begins for None."""
        return cls() if data is None else msgspec.msgpack.decode(data, type=cls)

    def to_bytes(self) -> bytes:
        """Return the bytes to keep."""
        return msgspec.msgpack.encode(self)

    def settle(self, verdict: TraceVerdict) -> None:
        """Give the trace its verdict; counts and findings stay, and the data for going on is dropped."""
        self.settled, self.result.verdict, self.result.reason = True, verdict.verdict, verdict.reason
        self.state, self.waiting, self.since = b"", [], 0

    def new_row(self, trace: str, source: str, replay: str = "") -> WatchVerdict:
        """Return the news of a trace as a row of the table, and note that it is recorded."""
        row = extended(
            WatchVerdict, self.result, trace=trace, spec=self.spec_digest, settled=self.settled, replay=replay
        )
        row.source = source
        if not self.settled:
            conclude(row)
            row.reason = f"{SO_FAR}{row.reason}"
        row.findings, self.recorded = row.findings[self.recorded :], len(row.findings)
        return row

    @property
    def gap(self) -> str:
        """The events that are missing, in words."""
        first = self.waiting[0]
        missing = range(self.last_seq + 1, first.seq)
        which = f"the event with `seq` {missing[0]}" if len(missing) == 1 else f"`seq` {missing[0]} to {missing[-1]}"
        return f"{which} never came; line {first.line} has `seq` {first.seq}, and {len(self.waiting):,} events wait"


@dataclass(frozen=True, slots=True)
class WatchLimits:
    """The limits of a gap: `patience` in seconds, and how many `events` may wait meanwhile, and `bytes` of them.

    `seconds` is how long the check of the lines that a batch has of a trace may take, and compiling its spec.
    """

    patience: float = 30.0
    events: int = 10_000
    bytes: int = 16 << 20
    seconds: float = 300.0


class BatchCheck:
    """The check of the lines and notices that one batch has for one trace."""

    def __init__(self, progress: TraceProgress, source: str, specs: SpecCache, limits: WatchLimits) -> None:
        """Go on with the progress of the trace in `source`."""
        self.progress, self.source, self.specs, self.limits = progress, source, specs, limits
        progress.result.source = source

    def run(self, rows: Iterable[SourceRow]) -> None:
        """Check the lines of a batch, then heed its notices; all errors become the trace's verdict."""
        begin = time.perf_counter()
        ordered = sorted(rows, key=lambda row: (row.kind != "lines", row.number))
        try:
            self._read([row for row in ordered if row.kind == "lines"])
            for row in ordered:
                if row.kind != "lines" and not self.progress.settled:
                    self._heed(row)
        except NoSpecError as error:
            self.progress.settle(error.verdict)
        except Exception as error:  # Whatever it is, it is this trace's alone.
            self.progress.settle(failure(error, self.source))
        self.progress.result.seconds += time.perf_counter() - begin

    # ---- Lines ----

    def _read(self, rows: Sequence[SourceRow]) -> None:
        progress = self.progress
        lines = _numbered(rows, None if progress.settled else progress.line)
        if not progress.line:
            first = next(lines, None)
            if first is None:
                return
            self._open(*first)
        if progress.settled:
            self._refuse_more(lines)
        elif rows:
            self._check(lines)

    def _open(self, number: int, text: bytes) -> None:
        self.progress.line, self.progress.header = number, text
        header = opened([text], self.source).header
        self.progress.spec = self.specs.hash_of(header, self.source)
        system = system_of(header, self.source)
        self.progress.result.notes = list(notes_on(header, system, self.source, self.specs.hash_of_modules))

    def _refuse_more(self, lines: Iterator[tuple[int, bytes]]) -> None:
        """Settle a trace that goes on after its end line as malformed, as `lockstep check` does."""
        extra = next(lines, None)
        if extra is not None and self.progress.ended:
            self.progress.line, self.progress.ended = extra[0], False
            self.progress.settle(failure(after_end_error(self.source, extra[0]), self.source))

    def _check(self, lines: Iterator[tuple[int, bytes]]) -> None:
        progress = self.progress
        trace = opened([progress.header], self.source)
        spec = self.specs.get(progress.spec, self.source)
        progress.spec_digest = self.specs.digest(progress.spec)
        events = _OrderedEvents(progress, trace, lines)
        check = _ResumedCheck(events, spec, system_of(trace.header, self.source).interface(spec), progress)
        try:
            state = check.resume(progress.state)
        except Exception as error:
            progress.settle(failure(with_place(error, spec.source), self.source, check.place))
            return
        if state is None or progress.ended:
            conclude(progress.result)
            progress.settle(progress.result)
            return
        progress.state = state_bytes(state)
        size = sum(len(each.text) for each in progress.waiting)
        if len(progress.waiting) > self.limits.events or size > self.limits.bytes:
            self._give_up(f"{progress.gap}: no more events can wait")

    def _give_up(self, reason: str) -> None:
        self.progress.settle(TraceVerdict(self.source, Verdict.INCONCLUSIVE, reason))

    # ---- Notices ----

    def _heed(self, row: SourceRow) -> None:
        progress = self.progress
        match row.kind:
            case "fault":
                progress.settle(TraceVerdict(self.source, Verdict.MALFORMED, row.data.decode()))
            case "gone":
                self._give_up(f"{row.data.decode()}; line {progress.line} is the last that was read")
            case "time":
                if progress.waiting and row.number >= progress.since + self.limits.patience * 1000:
                    self._give_up(f"{progress.gap}: waited {self.limits.patience:g} s")

    def finish(self, torn: bytes) -> None:
        """Settle a trace that will not go on, as `lockstep check` would; `torn` is an end without line break."""
        progress = self.progress
        if progress.waiting:
            self._give_up(progress.gap)
            return
        number = progress.line + bool(torn)
        try:
            if not progress.line:
                opened([torn] if torn else [], self.source)
            if torn:
                list(TracePart(opened([progress.header], self.source).header, [(number, torn)], self.source))
            raise TraceError(self.source, number, "the file is truncated: it has no end line")
        except TraceError as error:
            progress.settle(failure(error, self.source))


class LinesMissingError(Exception):
    """The lines of a batch do not follow those before: the stream has lost some, or has them twice."""


def _numbered(rows: Iterable[SourceRow], last: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines of blocks with their numbers; raises LinesMissingError where they do not follow line `last`."""
    for row in rows:
        begin, number = 0, row.number
        if last is not None and number != last + 1:
            raise LinesMissingError(f"line {number} came after line {last}")
        last = None if last is None else last + row.data.count(b"\n")
        while begin < len(row.data):
            end = row.data.index(b"\n", begin) + 1
            yield number, row.data[begin:end]
            begin, number = end, number + 1


def _now() -> int:
    return int(time.time() * 1000)


class _OrderedEvents:
    """The events of a batch, by `seq`: those before a gap, each once."""

    def __init__(self, progress: TraceProgress, trace: Trace, lines: Iterator[tuple[int, bytes]]) -> None:
        self.source, self._header, self._least_integer = trace.source, trace.header, trace.least_integer
        self._lines, self._progress = lines, progress

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        progress = self._progress
        for number, text in self._lines:
            progress.line = number
            event = self._decoded(number, text)
            if event is None:
                yield from self._waiting()
                self._end()
                return
            self._refuse_old(number, event)
            if event.seq > progress.last_seq + 1 and not (progress.last_seq < 0 and event.seq in FIRST_SEQ):
                self._hold(EarlyEvent(event.seq, number, text))
                continue
            progress.last_seq = event.seq
            yield number, event
            if progress.waiting:
                yield from self._waiting(until_gap=True)
                progress.since = _now()  # the gap has become smaller, or it is the next one

    def _refuse_old(self, number: int, event: Event) -> None:
        if event.seq <= self._progress.last_seq:
            raise not_rising_error(self.source, number, event.seq, self._progress.last_seq)

    def _decoded(self, number: int, text: bytes) -> Event | None:
        """Return the event of a line, None for the end line."""
        part = TracePart(
            self._header,
            [(number, text)],
            self.source,
            before=number - 1,
            is_last=False,
            least_integer=self._least_integer,
        )
        return next((event for _, event in part), None)

    def _hold(self, event: EarlyEvent) -> None:
        waiting = self._progress.waiting
        if waiting and waiting[0].seq <= event.seq:
            waiting.append(event)
        else:  # the gap begins, or has become smaller: what ends it stands first
            self._progress.since = _now()
            waiting.insert(0, event)

    def _waiting(self, until_gap: bool = False) -> Iterator[tuple[int, Event]]:
        """Yield the events that waited, in their order: up to the next gap, or where all lines are there, all."""
        progress = self._progress
        progress.waiting.sort(key=lambda each: each.seq)
        while progress.waiting and not (until_gap and progress.waiting[0].seq > progress.last_seq + 1):
            each = progress.waiting.pop(0)
            event = self._decoded(each.line, each.text)
            assert event is not None
            self._refuse_old(each.line, event)
            progress.last_seq = event.seq
            yield each.line, event

    def _end(self) -> None:
        self._progress.ended = True
        extra = next(self._lines, None)
        if extra is not None:
            self._progress.line, self._progress.ended = extra[0], False
            raise after_end_error(self.source, extra[0])


class _ResumedCheck(TraceCheck):
    """The check of a trace, from where it was left."""

    def __init__(self, events: _OrderedEvents, spec: Spec, interface: Interface, progress: TraceProgress) -> None:
        super().__init__(events, spec, interface)
        self.result = progress.result
        self.failed = set(self.result.violations)

    def resume(self, data: bytes) -> State | None:
        """Check the events that are new; return the state after them, None where the trace leaves the spec.

        Arguments: `data`, the bytes of the state that the check was left in, empty at the begin of a trace.
        """
        properties = self.properties()
        if data:
            state = state_of_bytes(self.spec, data)
        else:
            state = self.initial()
            self._check_initial(state)
        return self.follow(state, properties)
