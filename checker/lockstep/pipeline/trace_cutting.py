"""Cut long traces at states that one pass over a trace finds, which takes its steps and compares nothing.

The check of the trace then begins in all of these states at once, and finds out whether they are right. A trace is cut
where one core needs longer for it than all cores for all traces once it, and each as long, is cut. A part has 20,000
events, or more where a trace would have more than four parts for each task that can run at once. Where a limit of time
holds for each part, or for a trace that is not cut, all traces of more events are cut, into parts of 20,000.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import BadInputError
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.listed_trace import ListedTrace
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError, killed_after, retry_isolated
from lockstep.jobs.spark.shipped_specs import ShippedSpecs
from lockstep.jobs.spark.spark_session import task_slots
from lockstep.pipeline.derived_table import DerivedTable
from lockstep.pipeline.spec_choice import HeaderSpecs
from lockstep.pipeline.state_bytes import packed, state_bytes
from lockstep.pipeline.store_tables import TABLES, CutState
from lockstep.pipeline.task_traces import TraceLines, TraceSummary, traces_of, whole_traces
from lockstep.pipeline.trace_store import Batch, TraceStore
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import spec_key, system_of
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import Event

#: Events of a part, at least: checking them takes some seconds, and reading a state a fraction of one.
MIN_PART_EVENTS = 20_000

#: Parts of a trace at most, for each task that can run at once. The work of a part before its first event grows with
#: the history that its state remembers, so more parts than keep all cores busy make the check of a trace slower.
_PARTS_PER_SLOT = 4

#: About how many times as long the check of a trace takes in parts, the pass included; the longer the trace, the more.
_COST = 7 / 4


class TraceCutter:
    """Cuts the long traces of a run, batch by batch: by a pass over a batch just before its parts are checked."""

    def __init__(
        self,
        spark: SparkSession,
        store: TraceStore,
        run: str,
        variant: HeaderSpecs,
        seconds: float | None = None,
    ) -> None:
        """Prepare passes; a trace that takes more than `seconds`, or that workers die of, has no states."""
        self._seconds, self._slots = seconds, task_slots(spark)
        sizing = "timed" if seconds else f"fit{self._slots}"
        self.table = DerivedTable(spark, store, run, "states", f"{variant.hash()}-{sizing}", variant.name)
        self.set_work(store.batches("lines", run))
        self._shipper = variant.shipper(spark)
        self._existing = self.table.existing()

    def set_work(self, lines: Iterable[Batch]) -> None:
        """Set all batches of lines that there are to check: their sizes decide which traces are cut."""
        self._sizes: Counter[str] = Counter()
        for each in lines:
            self._sizes[each.name] += each.bytes  # checking takes time roughly in proportion

    def write_states(self, checked: Batch, lines: DataFrame, traces: Mapping[str, TraceSummary]) -> None:
        """Write the states of the lines of a batch of verdicts, unless they are there, or no trace is long."""
        batch = self.table.batch_of(checked)
        if self._existing.has(batch):
            return
        self._existing.clear(batch)  # it was derived for another number of cores, or by another spec
        if every := self._part_sizes(batch, traces):
            retry_isolated(
                lambda isolation: self.table.write(self._states(lines, traces, every, isolation), batch), self._seconds
            )

    def _states(
        self, rows: DataFrame, traces: Mapping[str, TraceSummary], every: Mapping[str, int], isolation: Isolation
    ) -> DataFrame:
        long = {trace: traces[trace] for trace in every}
        shipped = self._shipper.ship((trace, each.header) for trace, each in long.items())
        return whole_traces(rows, long).mapInArrow(_StateFinder(shipped, every, isolation), TABLES["states"].ddl)

    def _part_sizes(self, batch: Batch, traces: Mapping[str, TraceSummary]) -> dict[str, int]:
        """Return the traces of a batch that are to be cut, each with the number of events of a part."""
        lines = sum(each.lines for each in traces.values())
        sizes = {trace: self._sizes[batch.lines] * each.lines / lines for trace, each in traces.items()}
        others = [size for name, size in self._sizes.items() if name != batch.lines]
        every = {}
        for trace, each in traces.items():
            events = each.lines - 2
            max_parts = math.inf if self._seconds else _PARTS_PER_SLOT * self._slots
            size = max(MIN_PART_EVENTS, math.ceil(events / max_parts))
            if events > size and (self._seconds or cutting_pays(sizes[trace], [*sizes.values(), *others], self._slots)):
                every[trace] = size
        return every


def cutting_pays(size: float, sizes: Sequence[float], cores: int) -> bool:
    """Return whether to cut a trace of this size in bytes; `sizes` are those of all traces that there are to check.

    Cutting pays where one core needs longer for the trace than all cores for all traces, once it, and each as long, is
    cut. Otherwise the other traces keep the other cores busy.
    """
    cut = sum(each for each in sizes if each >= size)
    return size * cores > sum(sizes) + (_COST - 1) * cut


class _EventStep(msgspec.Struct, tag="event", tag_field="kind"):
    """The fields of an event that the pass reads."""

    action: str
    node: str = ""
    args: dict[str, Any] = {}


_event_steps = msgspec.json.Decoder(_EventStep)

#: Errors that end the pass: no spec, and no reader, can do anything with such a line.
_NO_STEP = (BadInputError, msgspec.MsgspecError, ValueError, RecursionError)


def states_along(
    lines: Iterable[tuple[int, bytes]], source: str, spec: Spec, interface: Interface, every: int
) -> Iterator[tuple[int, State]]:
    """Yield the state after each `every` events of a trace, with the line of the last, as far as it can be followed.

    Arguments: `lines` behind the header, with their numbers from 2 on; `source`, the trace's file; `spec` and
    `interface`, of the trace; `every`, the number of events.
    A line that is malformed, or no step of the spec, ends the pass: the check of its part reports it.
    """
    check = TraceCheck(ListedTrace(source), spec, interface)
    try:
        state: State | None = check.initial()
        for line, text in lines:
            step = _event_steps.decode(text)
            event = Event(seq=0, node=step.node, action=step.action, args=step.args)
            if not check.reading.is_observation(event):
                assert state is not None
                state = spec.step(state, event.action, check.reading.arguments(line, event))
            if state is None:
                return
            if (line - 1) % every == 0:
                yield line, state
    except _NO_STEP:
        return


@dataclass(frozen=True, slots=True)
class TraceCuts:
    """The cuts of a trace: its header, the `seqs` of the lines behind which it is cut, and how many lines it has."""

    header: bytes
    seqs: tuple[int, ...]
    lines: int

    def begin(self, part: int) -> int:
        """Return the seq of the line behind which a part begins."""
        return (0, *self.seqs)[part]

    def end(self, part: int) -> int | None:
        """Return the seq of a part's last line, None for the last part."""
        return self.seqs[part] if part < len(self.seqs) else None

    def sizes(self) -> Iterator[int]:
        """Yield how many lines each part has."""
        ends = (0, *self.seqs, self.lines - 1)
        yield from (end - begin for begin, end in itertools.pairwise(ends))


@dataclass(frozen=True, slots=True)
class _StateFinder:
    """Finds the states of traces in a task: rows of lines -> rows of states.

    There is one after each `every` events of a trace. A trace that kills the task, or takes too long, has none.
    """

    shipped: ShippedSpecs
    every: Mapping[str, int]
    isolation: Isolation

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            for state in self._states(lines):
                yield TABLES["states"].batch([state])

    def _states(self, lines: TraceLines) -> Iterator[CutState]:
        """Yield the states of a trace; where they are found in isolation, they are all held at once."""
        find = partial(_states, lines.trace, shipped=self.shipped, every=self.every[lines.trace])
        if self.isolation.is_isolated:
            lines.hold()
            with suppress(WorkDiedError):
                yield from self.isolation.run(lambda: list(find(iter(lines))))
        else:
            with killed_after(self.isolation.seconds):
                yield from find(iter(lines))


def _states(trace: str, lines: Iterator[bytes], *, shipped: ShippedSpecs, every: int) -> Iterator[CutState]:
    try:
        header = opened([next(lines, b"")], trace).header
        spec = shipped.spec(trace, spec_key(header, trace, shipped.switches))
        if spec.has_registers:  # TLCGet depends on all that was evaluated before
            return
        interface = system_of(header, trace).interface(spec)
        for line, state in states_along(enumerate(lines, 2), trace, spec, interface, every):
            yield CutState(trace, line - 1, packed(state_bytes(state)))
    except Exception:  # The check of the trace reports it: without states it is checked as a whole.
        return


def states_for(store: TraceStore, run: str, checked: Batch) -> list[Batch]:
    """Return the batches of states at which the traces of a batch of verdicts can be cut."""
    batches = store.batches("states", run, checked.variant)
    return [each for each in batches if each.name.startswith(f"{checked.name}-")]


def cuts_of(states: DataFrame, traces: Mapping[str, TraceSummary]) -> dict[str, TraceCuts]:
    """Return where traces can be cut; the driver does not hold the states."""
    seqs: dict[str, list[int]] = {}
    for row in states.select("trace", "seq").distinct().collect():
        seqs.setdefault(row["trace"], []).append(row["seq"])
    cuts = {}
    for trace, behind in seqs.items():
        summary = traces.get(trace)
        if summary is None or summary.header is None:
            continue
        if within := sorted(seq for seq in behind if seq < summary.lines):
            cuts[trace] = TraceCuts(summary.header, tuple(within), summary.lines)
    return cuts
