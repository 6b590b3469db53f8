"""The stage that makes counterexamples: of each signature of violations the shortest trace, minimised in a task.

A signature is what is wrong and at which action: a property, or the code of how a trace leaves the spec.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.characters import counted
from lockstep.base.deadline import Deadline
from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.conformance.trace_verdict import Finding
from lockstep.jobs.minimise_trace import minimise
from lockstep.jobs.spark.isolated_work import Care, DiedError, with_care
from lockstep.jobs.spark.record_tables import RecordTable
from lockstep.pipeline.shipped_specs import Shipped, Shipping
from lockstep.pipeline.spec_choice import Variant
from lockstep.pipeline.stage_batches import Done, Stage, StageFailed, batches_of_lines
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.stored_traces import counterexample_command
from lockstep.pipeline.task_traces import in_order, survey
from lockstep.pipeline.trace_store import Batch, Store, hash_of
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import spec_key, switches_of, system_of
from lockstep.trace.trace_format import end_line, trace_lines

#: So many seconds one minimisation may take.
SECONDS = 60.0

#: The type of the column `findings`, once it is read.
FINDINGS = RecordTable(Finding).list_ddl


@dataclass(frozen=True, slots=True)
class _Chosen:
    """A signature, how many traces have it, and the shortest: `line` is that of what is wrong; `only` the property."""

    signature: str
    name: str
    action: str
    traces: int
    trace: str
    line: int
    only: str | None
    batch: str


def counterexamples(
    spark: SparkSession, store: Store, run: str, variant: Variant, seconds: float = SECONDS, say: Say = silent
) -> None:
    """Write one counterexample for each signature of the violations of a run, as far as it was checked.

    Arguments: `variant`, that the traces were checked against; `seconds`, after which a minimisation is content with
    the shortest so far.
    Raises StageFailed where one cannot be finished, or the run is not checked whole: once those of the rest are there.
    """
    checked = [each for each in store.batches("verdicts", run) if each.name.endswith(f".{variant.hash()}")]
    store.sweep("counterexamples", run)
    there = {(each.variant, each.name) for each in store.batches("counterexamples", run)}
    made: dict[Batch, list[Batch]] = {}
    for name in sorted({each.variant for each in checked}):
        of = [each for each in checked if each.variant == name]
        what = hash_of(version("lockstep-raft"), sorted(each.name for each in of), seconds)
        made[Batch(name, "all").made_with(what)] = of
    todo = [batch for batch in made if (batch.variant, batch.name) not in there]
    shipping = Shipping(spark, switches_of(variant.words))

    def work(batch: Batch) -> Done:
        for other in store.batches("counterexamples", run, batch.variant):
            store.remove("counterexamples", run, other)
        chosen = _shortest(store.read(spark, "verdicts", run, made[batch]))
        of = {each.batch.partition(".")[0] for each in chosen}
        lines = store.read(spark, "lines", run, [each for each in store.batches("lines", run) if each.name in of])

        def attempt(care: Care) -> None:
            task = _Minimiser(seconds, store.place.uri, run, batch.variant, variant.options, care)
            store.write(_minimised(spark, lines, chosen, shipping, task), "counterexamples", run, batch)

        with_care(attempt)
        return Done(len(chosen), 0)

    Stage("counterexamples", len(made), len(made) - len(todo), say).run(todo, work)
    if unchecked := {name for _, name in store.expected(run)} - {each.of for each in checked}:
        raise StageFailed(
            f"counterexamples: {batches_of_lines(len(unchecked), 'was')} not checked so: run `check` first"
        )


def _shortest(verdicts: DataFrame) -> list[_Chosen]:
    """Return of each signature the trace that has it soonest; there are as many as properties and actions, at most."""
    each = verdicts.where("verdict = 'violated'").select(
        "trace", "batch", sql.posexplode(sql.from_json("findings", FINDINGS)).alias("at", "found")
    )
    is_property = sql.col("found.kind") == "property"
    of_each = each.select(
        "trace",
        "batch",
        sql.when(is_property, sql.col("found.name")).otherwise(sql.col("found.code")).alias("name"),
        sql.col("found.action").alias("action"),
        sql.col("found.line").alias("line"),
        is_property.alias("is_property"),
        # Of how a trace leaves the spec it is minimised only if that comes first.
        (is_property | (sql.col("at") == 0)).alias("can"),
    )
    first = sql.min(sql.struct(~sql.col("can"), "line", "trace", "batch", "is_property")).alias("first")
    of = of_each.groupBy("name", "action").agg(sql.countDistinct("trace").alias("traces"), first)
    return [
        _Chosen(
            f"{row['name']}-{row['action']}",
            row["name"],
            row["action"],
            row["traces"],
            row["trace"],
            row["line"],
            row["name"] if row["is_property"] else None,
            row["batch"],
        )
        for row in of.select("name", "action", "traces", "first.*").orderBy("name", "action").collect()
    ]


def _minimised(
    spark: SparkSession, lines: DataFrame, chosen: Sequence[_Chosen], shipping: Shipping, task: _Minimiser
) -> DataFrame:
    """Minimise in tasks: one a signature, with the lines of its trace up to what is wrong."""
    if not chosen:
        return spark.createDataFrame([], TABLES["counterexamples"].ddl)
    rows = [(number, each.trace, each.line) for number, each in enumerate(chosen)]
    where = sql.broadcast(spark.createDataFrame(rows, "number int, trace string, upto bigint"))
    needed = lines.join(where, "trace").where("seq < upto").select("number", "trace", "seq", "bytes")
    shipped = shipping.of((trace, each.header) for trace, each in survey(needed).items())
    together = needed.repartitionById(len(chosen), "number").sortWithinPartitions("number", "seq")
    return together.mapInArrow(_Task(task, tuple(chosen), shipped), TABLES["counterexamples"].ddl)


@dataclass(frozen=True, slots=True)
class _Minimiser:
    """How long a minimisation may take, where its result is found, and how tasks do it."""

    seconds: float
    uri: str
    run: str
    variant: str
    options: tuple[str, ...]
    care: Care

    def row(self, of: _Chosen, lines: Iterable[bytes], shipped: Shipped) -> dict[str, Any]:
        """Minimise the trace of a signature; return its row."""
        row: dict[str, Any] = {
            "signature": of.signature,
            "name": of.name,
            "action": of.action,
            "traces": of.traces,
            "trace": of.trace,
            "line": of.line,
            "events": 0,
            "is_minimal": False,
            "lines": None,
            "replay": counterexample_command(self.uri, self.run, self.variant, of.signature, self.options),
        }
        try:
            if self.care.is_apart:
                lines = list(lines)
            return row | self.care.of(partial(self._found, of, lines, shipped))
        except (BadInputError, GaveUpError) as error:
            return {**row, "reason": str(error)}
        except DiedError as error:
            return {**row, "reason": f"the minimisation {error}"}
        except Exception as error:  # One signature must not take all others with it.
            return {**row, "reason": f"{type(error).__name__}: {error}"}

    def _found(self, of: _Chosen, lines: Iterable[bytes], shipped: Shipped) -> dict[str, Any]:
        """Return what the row tells of the trace that was found."""
        deadline = Deadline(self.seconds)
        trace = opened(lines, of.trace)
        spec = shipped.spec(spec_key(trace.header, of.trace, shipped.switches), of.trace)
        system = system_of(trace.header, of.trace)
        found = minimise(trace, spec, system, only=of.only, action=of.action, deadline=deadline)
        reason = found.wrong if found.is_minimal else f"{found.wrong}; not known to be minimal: {deadline.spent()}"
        text = b"".join(trace_lines(found.header, found.events))
        return {"events": len(found.events), "is_minimal": found.is_minimal, "reason": reason, "lines": text}


@dataclass(frozen=True, slots=True)
class _Task:
    """Minimises the traces of a partition: rows of lines, by the number of the signature -> rows of counterexamples."""

    minimiser: _Minimiser
    chosen: tuple[_Chosen, ...]
    shipped: Shipped

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        names = ("number", "seq", "bytes")
        rows = (
            row for batch in batches for row in zip(*(batch.column(each).to_pylist() for each in names), strict=True)
        )
        for number, group in itertools.groupby(rows, key=lambda row: row[0]):
            of = self.chosen[number]
            lines = (line for _, line in in_order(of.trace, ((seq, line) for _, seq, line in group), 0))
            row = self.minimiser.row(of, itertools.chain(lines, [end_line(of.line - 1)]), self.shipped)
            yield pa.RecordBatch.from_pylist([row], schema=TABLES["counterexamples"].schema)


def listed(spark: SparkSession, store: Store, run: str) -> list[dict[str, Any]]:
    """Return the counterexamples of a run without their lines; there are few."""
    found = store.read(spark, "counterexamples", run, store.batches("counterexamples", run))
    rows = found.drop("lines", "run", "batch").orderBy("variant", "signature").collect()
    return [row.asDict() for row in rows]


def as_text(run: str, found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what there is, a line each, and how to get it."""
    if not found:
        yield f"run {run}: no violation"
    for each in found:
        counts = f"in {counted(each['traces'], 'trace')}, {counted(each['events'], 'event')}"
        yield f"{each['signature']} ({each['variant']}): {counts}: {each['reason']}"
        yield f"  {each['replay']}"
