"""The stage that counts what traces reach of the protocol: a check cannot see a step that is never taken."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib.metadata import version

import pyarrow as pa
from pyspark.sql import SparkSession

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.jobs.coverage import reached_by
from lockstep.pipeline.batches import Done, Stage
from lockstep.pipeline.replay import simulated
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store, hash_of
from lockstep.pipeline.traces import TraceLines, survey, traces_of, whole_traces
from lockstep.systems.opening import opened

#: The kind and the name of the row that every trace has; its `times` is the number of events.
EVENTS = ("trace", "events")

#: The kind of the row of a trace of which nothing could be counted; its name is the reason.
NOT_COUNTED = "not counted"


def cover(spark: SparkSession, store: Store, run: str, say: Say = silent) -> None:
    """Count what each trace of a run reaches; batches that were counted are not counted again.

    A trace that is malformed reaches nothing, and has no row. Raises StageFailed where a batch cannot be finished.
    """
    made_with = hash_of(version("lockstep-raft"))
    made = {each.made_with(made_with): each for each in store.batches("lines", run)}
    store.sweep("reached", run)
    there = {(each.variant, each.name) for each in store.batches("reached", run)}
    todo = [batch for batch in made if (batch.variant, batch.name) not in there]

    def work(batch: Batch) -> Done:
        store.supersede("reached", run, batch)
        rows = store.read(spark, "lines", run, [made[batch]])
        known = survey(rows)
        reached = whole_traces(spark, rows, known).mapInArrow(_count, ddl(TABLES["reached"]))
        store.write(reached, "reached", run, batch)
        return Done(len(known), sum(each.lines for each in known.values()))

    Stage("coverage", len(made), len(made) - len(todo), say).run(todo, work)


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Count in a task what the traces of a partition reach: rows of lines -> rows of reached."""
    for lines in traces_of(batches):
        rows = list(_rows(lines))
        if rows:
            yield pa.RecordBatch.from_pylist(rows, schema=TABLES["reached"])


def _rows(lines: TraceLines) -> Iterator[dict[str, object]]:
    cluster = simulated(lines.source)
    plan = cluster.plan if cluster else ""
    try:
        times, events = reached_by(opened(lines, lines.trace))
    except BadInputError:  # its verdict says so
        return
    except Exception as error:  # A trace that shows too little, say: the others are counted all the same.
        reason = f"{type(error).__name__}: {error}"
        yield {"trace": lines.trace, "plan": plan, "kind": NOT_COUNTED, "name": reason, "times": 1}
        return
    for (kind, name), count in (*times.items(), (EVENTS, events)):
        yield {"trace": lines.trace, "plan": plan, "kind": kind, "name": name, "times": count}
