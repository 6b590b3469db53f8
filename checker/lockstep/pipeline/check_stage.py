"""The stage that checks traces: each whole and in order in one task, against a compiled spec that is shipped once.

A long trace is cut, and its parts are checked in tasks of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.spark.isolated_work import Care, DiedError, with_care
from lockstep.jobs.spark.record_tables import extended
from lockstep.jobs.spark.spark_check import died
from lockstep.pipeline.derived_table import Derived
from lockstep.pipeline.ingest_stage import refuse_other_logs
from lockstep.pipeline.part_tasks import verdicts_in_parts
from lockstep.pipeline.source_files import TOGETHER
from lockstep.pipeline.spec_choice import AS_TOLD, Against, HeaderJudge, TaskJudge, Variant
from lockstep.pipeline.store_tables import TABLES, StoredVerdict
from lockstep.pipeline.stored_traces import replay_command, simulated
from lockstep.pipeline.task_traces import Known, traces_of, whole_traces
from lockstep.pipeline.trace_cutting import Passes, cuts_of, states_for
from lockstep.pipeline.trace_store import Batch, Store


def check(
    spark: SparkSession,
    store: Store,
    run: str,
    against: Against = AS_TOLD,
    say: Say = silent,
    seconds: float | None = None,
    *,
    is_cut: bool = True,
) -> None:
    """Check the traces of a run, and write the verdicts; batches that were checked so already are not again.

    Arguments: `seconds`, which the check of a trace may take, or of one that is cut that of a part, None: as long as it
    does; `is_cut`, whether long traces of a known system are cut: the pass over one batch goes on beside the check of
    others.
    Raises BadInputError where a spec of the reader's own cannot be used, or was not what the lines were ingested for,
    StageFailed where a batch cannot be finished.
    """
    refuse_other_logs(store, run, against.logs)
    table = Derived(spark, store, run, "verdicts", against.hash(), against.name)
    court = against.court(spark)
    passes = Passes(spark, store, run, against, seconds) if is_cut and isinstance(against, Variant) else None
    if passes is not None:
        before = table.before()
        passes.of(lines for lines in store.batches("lines", run) if not before.has(table.batch_of(lines)))

    def work(batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        if passes is not None:
            passes.before_check(batch, lines, known)
        judge = court.judge((trace, each.header) for trace, each in known.items())
        states = store.read(spark, "states", run, states_for(store, run, batch))

        def attempt(care: Care) -> None:
            checker = _Checker(judge, store.place.uri, run, against.options, against.logs == TOGETHER, care)
            table.write(_verdicts(spark, lines, states, checker, known), batch)

        with_care(attempt, seconds)

    table.make("check", work, say)


def _verdicts(
    spark: SparkSession, lines: DataFrame, states: DataFrame, checker: _Checker, known: Mapping[str, Known]
) -> DataFrame:
    """Return the verdicts on the traces of some lines; `states` are those at which long ones are cut."""
    judge = checker.judge
    cuts = cuts_of(states, known) if isinstance(judge, HeaderJudge) else {}
    whole = {trace: each for trace, each in known.items() if trace not in cuts}
    found = whole_traces(spark, lines, whole).mapInArrow(checker, TABLES["verdicts"].ddl)
    if not cuts or not isinstance(judge, HeaderJudge):
        return found
    return found.union(verdicts_in_parts(spark, lines, states, cuts, judge.shipped, checker.row, checker.care))


@dataclass(frozen=True, slots=True)
class _Checker:
    """Checks the traces of a partition in a task: rows of lines -> rows of verdicts."""

    judge: TaskJudge
    uri: str
    run: str
    options: tuple[str, ...]
    together: bool
    care: Care

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            if self.care.is_apart:
                lines.hold()
            try:
                found, digest = self.care.of(partial(self.judge, lines))
            except DiedError as error:
                found, digest = died(error, lines.trace), ""
            yield pa.RecordBatch.from_pylist([self.row(found, lines.source, digest)], schema=TABLES["verdicts"].schema)

    def row(self, found: TraceVerdict, source: str, digest: str) -> dict[str, Any]:
        """Return the row of a verdict; `source` is where the trace came from, `digest` the hash of its spec."""
        trace = found.source
        replay = replay_command(self.uri, self.run, trace, source, self.options, together=self.together)
        judged = _judged(source, found)
        more = {"source": source, "trace": trace, "spec": digest, "judged": judged, "replay": replay}
        return TABLES["verdicts"].row(extended(StoredVerdict, found, **more))


def _judged(source: str, found: TraceVerdict) -> Verdict:
    """Return the verdict that counts: of a simulated cluster what its plan makes of it."""
    cluster = simulated(source)
    return found.verdict if cluster is None else judge_cluster(cluster.plan, found, cluster.events, cluster.variant)[0]
