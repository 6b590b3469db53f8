"""The stage that counts what traces reach of the protocol: a check cannot see a step that is never taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.apart import Care, DiedError, with_care
from lockstep.pipeline.replay import simulated
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store, hash_of
from lockstep.pipeline.work.derive import Derived
from lockstep.pipeline.work.traces import Known, TraceLines, traces_of, whole_traces
from lockstep.systems.system import Reached, System
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import system_of
from lockstep.trace.trace_format import REFERENCE, Event
from lockstep.trace.trace_reader import Trace

#: The kind and the name of the row that every trace has; its `times` is the number of events.
EVENTS = ("trace", "events")

#: The kind of the row of a trace of which the actions alone could be counted; its name is the reason.
NOT_COUNTED = "not counted"


def cover(spark: SparkSession, store: Store, run: str, say: Say = silent) -> None:
    """Count what each trace of a run reaches; batches that were counted are not counted again.

    A trace that is malformed reaches nothing, and has no row; of one that workers die of, NOT_COUNTED says so. Raises
    StageFailed where a batch cannot be finished.
    """
    table = Derived(spark, store, run, "reached", hash_of(version("lockstep-raft")))

    def work(batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        whole, columns = whole_traces(spark, lines, known), ddl(TABLES["reached"])
        with_care(lambda care: table.write(whole.mapInArrow(_Count(care), columns), batch))

    table.make("coverage", work, say)


@dataclass(frozen=True, slots=True)
class _Count:
    """Counts in a task what the traces of a partition reach: rows of lines -> rows of reached."""

    care: Care

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            if self.care.is_apart:
                lines.hold()
            cluster = simulated(lines.source)
            of = {
                "trace": lines.trace,
                "plan": " ".join(filter(None, (cluster.plan, cluster.variant))) if cluster else "",
            }
            try:
                times = self.care.of(partial(_times, lines, is_simulated=cluster is not None))
            except DiedError as error:
                times = {(NOT_COUNTED, f"the count {error}"): 1}
            rows = [{**of, "kind": kind, "name": name, "times": count} for (kind, name), count in times.items()]
            if rows:
                yield pa.RecordBatch.from_pylist(rows, schema=TABLES["reached"])


def _times(lines: TraceLines, *, is_simulated: bool) -> dict[Reached, int]:
    """Return what a trace reaches, with how often, and EVENTS with how many it has; nothing where it is malformed."""
    try:
        trace = opened(lines, lines.trace)
        times, events = _counted(trace, system_of(trace.header, lines.trace), is_simulated=is_simulated)
    except BadInputError:  # its verdict says so
        return {}
    return {**times, EVENTS: events}


def _counted(trace: Trace, system: System, *, is_simulated: bool) -> tuple[Counter[Reached], int]:
    """Return what a trace reaches, with how often, and how many events it has.

    Answers, roles and logs are found in what nodes show, which only a trace of the reference is sure to have. Of any
    other trace the actions alone are counted. NOT_COUNTED stands for a trace that names the reference in its header and
    has events that the reference does not write.
    """
    actions: Counter[str] = Counter()
    reached = system.reached if trace.header.system == REFERENCE else None

    def events() -> Iterator[Event]:
        for _, event in trace:
            actions[event.action] += 1
            yield event

    rest = events()
    try:
        times = Counter(reached(rest) if reached is not None else ())
    except BadInputError:
        raise
    except Exception:
        if is_simulated:
            raise  # it is this program's own fault
        place = f"event {actions.total() - 1}" if actions else "the first event"
        times = Counter({(NOT_COUNTED, f"{place} does not show what the reference shows of a node"): 1})
    for _ in rest:
        pass
    for action, count in actions.items():
        if not {("action", action), ("fault", action)} & times.keys():
            times["fault" if action in system.faults else "action", action] = count
    return times, actions.total()
