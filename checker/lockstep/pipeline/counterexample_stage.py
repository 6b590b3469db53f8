"""The stage that makes counterexamples: for each signature of violations the shortest trace, minimised in a task.

A signature is a property that fails, or the code of a deviation from the spec, with the action at which that happens.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
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
from lockstep.jobs.minimise_trace import minimise
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError, retry_isolated
from lockstep.jobs.spark.record_tables import column_rows
from lockstep.jobs.spark.shipped_specs import ShippedSpecs
from lockstep.pipeline.spec_choice import HeaderSpecs
from lockstep.pipeline.stage_batches import BatchCounts, StageFailed, StageProgress, batches_of_lines
from lockstep.pipeline.store_tables import TABLES, StoredCounterexample, findings
from lockstep.pipeline.stored_traces import counterexample_command
from lockstep.pipeline.task_traces import in_order, survey
from lockstep.pipeline.trace_store import Batch, TraceStore, short_hash
from lockstep.systems.trace_files import opened
from lockstep.systems.trace_specs import spec_key, system_of
from lockstep.trace.trace_format import end_line, trace_lines

#: Seconds that one minimisation may take.
MAX_SECONDS = 60.0

_TABLE = TABLES["counterexamples"]


@dataclass(frozen=True, slots=True)
class _Violation:
    """A signature, how many traces have it, and the trace that has it soonest, at `line`.

    `batch` has the verdict on that trace; `only` is the property that fails, None where the trace leaves the spec.
    """

    signature: str
    name: str
    action: str
    traces: int
    trace: str
    line: int
    only: str | None
    batch: str


def counterexamples(
    spark: SparkSession,
    store: TraceStore,
    run: str,
    variant: HeaderSpecs,
    seconds: float = MAX_SECONDS,
    say: Say = silent,
) -> None:
    """Write one counterexample for each signature of the violations of a run, as far as it was checked.

    Arguments: `variant`, that the traces were checked against; `seconds`, after which a minimisation ends with the
    shortest trace so far.
    Raises StageFailed where one cannot be finished, or the run is not checked whole: once those of the rest are there.
    """
    checked = [each for each in store.batches("verdicts", run) if each.derivation == variant.hash()]
    store.sweep("counterexamples", run)
    existing = {(each.variant, each.name) for each in store.batches("counterexamples", run)}
    sources: dict[Batch, list[Batch]] = {}
    for name in sorted({each.variant for each in checked}):
        verdicts = [each for each in checked if each.variant == name]
        derivation = short_hash(version("lockstep-raft"), sorted(each.name for each in verdicts), seconds)
        sources[Batch(name, "all").derived(derivation)] = verdicts
    todo = [batch for batch in sources if (batch.variant, batch.name) not in existing]
    shipper = variant.shipper(spark)

    def work(batch: Batch) -> BatchCounts:
        for other in store.batches("counterexamples", run, batch.variant):
            store.remove("counterexamples", run, other)
        violations = tuple(_soonest(store.read(spark, "verdicts", run, sources[batch])))
        names = {each.batch.partition(".")[0] for each in violations}
        lines = store.read(spark, "lines", run, [each for each in store.batches("lines", run) if each.name in names])
        needed = _needed_lines(spark, lines, violations)
        shipped = shipper.ship((trace, each.header) for trace, each in survey(needed).items())
        place = store.location.uri, run, batch.variant, variant.options

        def attempt(isolation: Isolation) -> None:
            minimiser = _Minimiser(violations, shipped, isolation, seconds, *place)
            store.write(needed.mapInArrow(minimiser, _TABLE.ddl), "counterexamples", run, batch)

        retry_isolated(attempt)
        return BatchCounts(len(violations), 0)

    StageProgress("counterexamples", len(sources), len(sources) - len(todo), say).run(todo, work)
    if unchecked := {name for _, name in store.expected(run)} - {each.lines for each in checked}:
        raise StageFailed(
            f"counterexamples: {batches_of_lines(len(unchecked), 'was')} not checked so: run `check` first"
        )


def _soonest(verdicts: DataFrame) -> list[_Violation]:
    """Return for each signature the trace that has it soonest; there are few, as properties and actions are few."""
    is_property = sql.col("kind") == "property"
    signatures = findings(verdicts.where("verdict = 'violated'")).select(
        "trace",
        "batch",
        sql.when(is_property, sql.col("name")).otherwise(sql.col("code")).alias("name"),
        "action",
        "line",
        is_property.alias("is_property"),
        # Where a trace leaves the spec, it can be minimised only if that comes first.
        (is_property | (sql.col("at") == 0)).alias("can"),
    )
    first = sql.min(sql.struct(~sql.col("can"), "line", "trace", "batch", "is_property")).alias("first")
    firsts = signatures.groupBy("name", "action").agg(sql.countDistinct("trace").alias("traces"), first)
    return [
        _Violation(
            f"{row['name']}-{row['action']}",
            row["name"],
            row["action"],
            row["traces"],
            row["trace"],
            row["line"],
            row["name"] if row["is_property"] else None,
            row["batch"],
        )
        for row in firsts.select("name", "action", "traces", "first.*").orderBy("name", "action").collect()
    ]


def _needed_lines(spark: SparkSession, lines: DataFrame, violations: Sequence[_Violation]) -> DataFrame:
    """Return the lines of each violation's trace up to what is wrong, each trace in a partition and in order."""
    rows = [(number, each.trace, each.line) for number, each in enumerate(violations)]
    where = sql.broadcast(spark.createDataFrame(rows, "number int, trace string, upto bigint"))
    needed = lines.join(where, "trace").where("seq < upto").select("number", "trace", "seq", "bytes")
    return needed.repartitionById(max(1, len(violations)), "number").sortWithinPartitions("number", "seq")


@dataclass(frozen=True, slots=True)
class _Minimiser:
    """Minimises the traces of a partition: rows of lines, by the number of the signature -> rows of counterexamples.

    One minimisation may take `seconds`; `uri`, `run`, `variant` and `options` are for the command that replays it.
    """

    violations: tuple[_Violation, ...]
    shipped: ShippedSpecs
    isolation: Isolation
    seconds: float
    uri: str
    run: str
    variant: str
    options: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = column_rows(batches, "number", "seq", "bytes")
        for number, group in itertools.groupby(rows, key=lambda row: row[0]):
            violation = self.violations[number]
            lines = (line for _, line in in_order(violation.trace, ((seq, line) for _, seq, line in group), 0))
            yield _TABLE.batch(
                [self._counterexample(violation, itertools.chain(lines, [end_line(violation.line - 1)]))]
            )

    def _counterexample(self, violation: _Violation, lines: Iterable[bytes]) -> StoredCounterexample:
        """Minimise the trace of a signature; where that fails, `reason` says why."""
        replay = counterexample_command(self.uri, self.run, self.variant, violation.signature, self.options)
        columns = {
            name: getattr(violation, name) for name in ("signature", "name", "action", "traces", "trace", "line")
        }
        try:
            if self.isolation.is_isolated:
                lines = list(lines)
            found = self.isolation.run(partial(self._minimise, violation, lines))
        except (BadInputError, GaveUpError) as error:
            found = _Minimised(str(error))
        except WorkDiedError as error:
            found = _Minimised(f"the minimisation {error}")
        except Exception as error:  # One signature must not take all others with it.
            found = _Minimised(f"{type(error).__name__}: {error}")
        return StoredCounterexample(**columns, **asdict(found), replay=replay)

    def _minimise(self, violation: _Violation, lines: Iterable[bytes]) -> _Minimised:
        deadline = Deadline(self.seconds)
        trace = opened(lines, violation.trace)
        spec = self.shipped.spec(violation.trace, spec_key(trace.header, violation.trace, self.shipped.switches))
        system = system_of(trace.header, violation.trace)
        found = minimise(trace, spec, system, only=violation.only, action=violation.action, deadline=deadline)
        reason = found.wrong if found.is_minimal else f"{found.wrong}; not known to be minimal: {deadline.spent()}"
        text = b"".join(trace_lines(found.header, found.events))
        return _Minimised(reason, len(found.events), is_minimal=found.is_minimal, lines=text)


@dataclass(frozen=True, slots=True)
class _Minimised:
    """The result of a minimisation: without lines where it failed."""

    reason: str
    events: int = 0
    is_minimal: bool = False
    lines: bytes | None = None


def list_counterexamples(spark: SparkSession, store: TraceStore, run: str) -> list[dict[str, Any]]:
    """Return the counterexamples of a run without their lines; there are few."""
    stored = store.read(spark, "counterexamples", run, store.batches("counterexamples", run))
    rows = stored.drop("lines", "run", "batch").orderBy("variant", "signature").collect()
    return [row.asDict() for row in rows]


def as_text(run: str, found: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a line for each counterexample, and the command that gets and checks it."""
    if not found:
        yield f"run {run}: no violation"
    for each in found:
        counts = f"in {counted(each['traces'], 'trace')}, {counted(each['events'], 'event')}"
        yield f"{each['signature']} ({each['variant']}): {counts}: {each['reason']}"
        yield f"  {each['replay']}"
