"""Where long traces are cut: the states there come from one pass over a trace that takes its steps, compares nothing.

The check of the trace then begins in all of these states at once, and finds out whether they are right. A trace is cut
where one core needs longer for it than all cores for all traces once it, and each as long, is cut. A part has 20,000
events, or more where a trace would have more than four parts for each task that can run at once. Where a limit of time
holds for each part, or for a trace that is not cut, all traces of more events are cut, into parts of 20,000.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import BadInputError
from lockstep.conformance.spec_interface import Interface
from lockstep.conformance.trace_check import TraceCheck
from lockstep.jobs.spark.isolated_work import Care, DiedError, killed_after, with_care
from lockstep.pipeline.derived_table import Derived
from lockstep.pipeline.shipped_specs import Shipped, Shipping
from lockstep.pipeline.spec_choice import Variant
from lockstep.pipeline.state_bytes import packed, state_bytes
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.task_traces import Known, TraceLines, slots, traces_of, whole_traces
from lockstep.pipeline.trace_store import Batch, Store
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import spec_key, switches_of, system_of
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import Event

#: Events of a part, at least: checking them takes some seconds, and reading a state a fraction of one.
MIN_PART_EVENTS = 20_000

#: So many parts has a trace at most, for each task that can run at once. What a part does before its first event grows
#: with the history that its state remembers, so more parts than keep all cores busy make the check of a trace slower.
_PARTS_PER_SLOT = 4

#: About so many times as long does the check of a trace take in parts, the pass included; the longer, the more.
_COST = 7 / 4


class Passes:
    """Passes over the long traces of a run, batch by batch: a check makes that of a batch just before its parts."""

    def __init__(
        self,
        spark: SparkSession,
        store: Store,
        run: str,
        variant: Variant,
        seconds: float | None = None,
    ) -> None:
        """Prepare passes; a trace that takes more than `seconds` has no states, nor has one that workers die of."""
        self._seconds, self._slots = seconds, slots(spark)
        how = "timed" if seconds else f"fit{self._slots}"
        self.table = Derived(spark, store, run, "states", f"{variant.hash()}-{how}", variant.name)
        self.of(store.batches("lines", run))
        self._shipping = Shipping(spark, switches_of(variant.words))
        self._before = self.table.before()

    def of(self, lines: Iterable[Batch]) -> None:
        """Take these batches of lines for all that there is to check: how much that is decides which traces are cut."""
        self._sizes: Counter[str] = Counter()
        for each in lines:
            self._sizes[each.name] += each.bytes  # checking takes time roughly in proportion

    def before_check(self, checked: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        """Write the states of the lines that a batch of verdicts is of, unless they are there, or no trace is long."""
        batch = self.table.batch_of(checked)
        if self._before.has(batch):
            return
        self._before.clear(batch)  # what is there is of other cores, or of another spec
        if every := self._cut_after(batch, known):
            with_care(lambda care: self.table.write(self._found(lines, known, every, care), batch), self._seconds)

    def _found(self, rows: DataFrame, known: Mapping[str, Known], every: Mapping[str, int], care: Care) -> DataFrame:
        spark, columns = self.table.spark, TABLES["states"].ddl
        long = {trace: known[trace] for trace in every}
        shipped = self._shipping.of((trace, each.header) for trace, each in long.items())
        return whole_traces(spark, rows, long).mapInArrow(pass_over(shipped, every, care), columns)

    def _cut_after(self, batch: Batch, known: Mapping[str, Known]) -> dict[str, int]:
        """Return the traces of a batch that are to be cut, each with the number of events of a part."""
        lines = sum(each.lines for each in known.values())
        sizes = {trace: self._sizes[batch.of] * each.lines / lines for trace, each in known.items()}
        others = [size for name, size in self._sizes.items() if name != batch.of]
        found = {}
        for trace, each in known.items():
            events = each.lines - 2
            every = max(MIN_PART_EVENTS, math.ceil(events / self._most_parts()))
            if events > every and (self._seconds or pays(sizes[trace], [*sizes.values(), *others], self._slots)):
                found[trace] = every
        return found

    def _most_parts(self) -> float:
        return math.inf if self._seconds else _PARTS_PER_SLOT * self._slots


def pays(size: float, sizes: Sequence[float], cores: int) -> bool:
    """Tell whether to cut a trace of so many bytes; `sizes` are those of all that there is to check.

    It is where one core needs longer for it than all cores for all traces, once it, and each as long, is cut. Else the
    others keep the other cores busy.
    """
    dearer = sum(each for each in sizes if each >= size)
    return size * cores > sum(sizes) + (_COST - 1) * dearer


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state after an event; `line` is that of the event."""

    line: int
    state: State


class _Told(msgspec.Struct, tag="event", tag_field="kind"):
    """What the pass reads of an event; what else there is, is passed over."""

    action: str
    node: str = ""
    args: dict[str, Any] = {}


_told = msgspec.json.Decoder(_Told)

#: What ends the pass: no spec, and no reader, can do anything with such a line.
_NO_STEP = (BadInputError, msgspec.MsgspecError, ValueError, RecursionError)


def checkpoints(
    lines: Iterable[tuple[int, bytes]], source: str, spec: Spec, interface: Interface, every: int
) -> Iterator[Checkpoint]:
    """Yield the state after every so many events of a trace, as far as it can be followed.

    Arguments: `lines` behind the header, with their numbers from 2 on; `source`, the trace's file; `spec` and
    `interface`, of the trace; `every`, the number of events.
    A line that is malformed, or no step of the spec, ends the pass: the check of the part that it is in will say so.
    """
    check = TraceCheck(_Nothing(source), spec, interface)
    try:
        state: State | None = check.initial()
        for line, text in lines:
            told = _told.decode(text)
            event = Event(seq=0, node=told.node, action=told.action, args=told.args)
            if not check.reading.is_observation(event):
                assert state is not None
                state = spec.step(state, event.action, check.reading.arguments(line, event))
            if state is None:
                return
            if (line - 1) % every == 0:
                yield Checkpoint(line, state)
    except _NO_STEP:
        return


@dataclass(frozen=True, slots=True)
class _Nothing:
    """A trace of which nothing is read here."""

    source: str

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        return iter(())


_Batches = Iterable[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Cut:
    """A trace that is cut: its header, and the seq of the lines behind which it is."""

    header: bytes
    seqs: tuple[int, ...]
    lines: int

    def begin(self, part: int) -> int:
        """Return the seq of the line behind which a part begins."""
        return (0, *self.seqs)[part]

    def end(self, part: int) -> int | None:
        """Return the seq of a part's last line, None of the last part."""
        return self.seqs[part] if part < len(self.seqs) else None

    def sizes(self) -> Iterator[int]:
        """Yield how many lines each part has."""
        ends = (0, *self.seqs, self.lines - 1)
        yield from (end - begin for begin, end in itertools.pairwise(ends))


def pass_over(shipped: Shipped, every: Mapping[str, int], care: Care) -> Callable[[_Batches], Iterator[pa.RecordBatch]]:
    """Make the function that finds the states of traces in a task, and yields them as rows of `states`.

    There is one after `every` so many events of each trace. A trace that it dies of, or is not done with in time, has
    none.
    """

    def rows(batches: _Batches) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            for line, text in _states_with(care, lines, shipped, every[lines.trace]):
                yield pa.record_batch([[lines.trace], [line - 1], [text]], schema=TABLES["states"].schema)

    return rows


def _states_with(care: Care, lines: TraceLines, shipped: Shipped, every: int) -> Iterator[tuple[int, bytes]]:
    """Yield the states of a trace; apart they are all held at once."""
    if care.is_apart:
        lines.hold()
        with suppress(DiedError):
            yield from care.of(lambda: list(_states(lines.trace, iter(lines), shipped, every)))
    else:
        with killed_after(care.seconds):
            yield from _states(lines.trace, iter(lines), shipped, every)


def _states(trace: str, lines: Iterator[bytes], shipped: Shipped, every: int) -> Iterator[tuple[int, bytes]]:
    try:
        header = opened([next(lines, b"")], trace).header
        spec = shipped.spec(spec_key(header, trace, shipped.switches), trace)
        if spec.has_registers:  # what TLCGet says depends on all that was evaluated before
            return
        interface = system_of(header, trace).interface(spec)
        for each in checkpoints(enumerate(lines, 2), trace, spec, interface, every):
            yield each.line, packed(state_bytes(each.state))
    except Exception:  # The check of the trace will say it: without states it is checked as a whole.
        return


def states_for(store: Store, run: str, checked: Batch) -> list[Batch]:
    """Return the batches of states at which the traces of a batch of verdicts can be cut."""
    batches = store.batches("states", run, checked.variant)
    return [each for each in batches if each.name.startswith(f"{checked.name}-")]


def cuts_of(states: DataFrame, known: Mapping[str, Known]) -> dict[str, Cut]:
    """Return the traces that can be cut; the driver holds where, not the states."""
    seqs: dict[str, list[int]] = {}
    for row in states.select("trace", "seq").distinct().collect():
        seqs.setdefault(row["trace"], []).append(row["seq"])
    found = {}
    for trace, at in seqs.items():
        what = known.get(trace)
        if what is not None and what.header is not None and (fit := sorted(each for each in at if each < what.lines)):
            found[trace] = Cut(what.header, tuple(fit), what.lines)
    return found
