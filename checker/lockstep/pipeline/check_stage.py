"""The stage that checks traces: each whole and in order in one task, against a spec that is compiled once.

A long trace is cut, and its parts are checked in tasks of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError, retry_isolated
from lockstep.jobs.spark.record_tables import extended
from lockstep.jobs.spark.spark_check import death_verdict
from lockstep.pipeline.derived_table import DerivedTable
from lockstep.pipeline.ingest_stage import refuse_other_logs
from lockstep.pipeline.part_tasks import verdicts_in_parts
from lockstep.pipeline.source_files import TOGETHER
from lockstep.pipeline.spec_choice import AS_DECLARED, HeaderChecker, HeaderSpecs, SpecChoice, TraceChecker
from lockstep.pipeline.store_tables import TABLES, StoredVerdict
from lockstep.pipeline.stored_traces import StoredRun, replay_command, simulated_cluster
from lockstep.pipeline.task_traces import TraceSummary, traces_of, whole_traces
from lockstep.pipeline.trace_cutting import TraceCutter, cuts_of, states_for
from lockstep.pipeline.trace_store import Batch, TraceStore


def check(
    spark: SparkSession,
    store: TraceStore,
    run: str,
    against: SpecChoice = AS_DECLARED,
    say: Say = silent,
    seconds: float | None = None,
    *,
    is_cut: bool = True,
) -> None:
    """Check the traces of a run, and write the verdicts; batches that were checked so already are not again.

    Arguments: `seconds`, which the check of a trace may take, or of a part if the trace is cut, None: any time;
    `is_cut`, whether long traces of a known system are cut: the pass over one batch goes on beside the check of others.
    Raises BadInputError where a spec of the reader's own cannot be used, or the lines were ingested for another,
    StageFailed where a batch cannot be finished.
    """
    refuse_other_logs(store, run, against.logs)
    table = DerivedTable(spark, store, run, "verdicts", against.hash(), against.name)
    checker_for = against.checkers(spark)
    cutter = TraceCutter(spark, store, run, against, seconds) if is_cut and isinstance(against, HeaderSpecs) else None
    if cutter is not None:
        existing = table.existing()
        cutter.set_work(lines for lines in store.batches("lines", run) if not existing.has(table.batch_of(lines)))

    def work(batch: Batch, lines: DataFrame, traces: Mapping[str, TraceSummary]) -> None:
        if cutter is not None:
            cutter.write_states(batch, lines, traces)
        checker = checker_for((trace, each.header) for trace, each in traces.items())
        states = store.read(spark, "states", run, states_for(store, run, batch))

        def attempt(isolation: Isolation) -> None:
            place = StoredRun(store.location.uri, run, is_together=against.logs == TOGETHER)
            task = _CheckTask(checker, isolation, against.options, place)
            table.write(_verdicts(spark, lines, states, task, traces), batch)

        retry_isolated(attempt, seconds)

    table.make("check", work, say)


def checked(
    lines: DataFrame, traces: Mapping[str, TraceSummary], against: SpecChoice, isolation: Isolation
) -> DataFrame:
    """Return the verdicts on these traces, with the columns of the table, whether or not their lines are in a store.

    Raises BadInputError where a spec of the reader's own cannot be used.
    """
    checker = against.checkers(lines.sparkSession)((trace, each.header) for trace, each in traces.items())
    return _whole(lines, traces, _CheckTask(checker, isolation, against.options))


def _whole(lines: DataFrame, traces: Mapping[str, TraceSummary], task: _CheckTask) -> DataFrame:
    return whole_traces(lines, traces).mapInArrow(task, TABLES["verdicts"].ddl)


def _verdicts(
    spark: SparkSession, lines: DataFrame, states: DataFrame, task: _CheckTask, traces: Mapping[str, TraceSummary]
) -> DataFrame:
    """Return the verdicts on the traces of some lines; `states` are those at which long ones are cut."""
    checker = task.checker
    cuts = cuts_of(states, traces) if isinstance(checker, HeaderChecker) else {}
    whole = {trace: each for trace, each in traces.items() if trace not in cuts}
    verdicts = _whole(lines, whole, task)
    if not cuts or not isinstance(checker, HeaderChecker):
        return verdicts
    return verdicts.union(
        verdicts_in_parts(spark, lines, states, cuts, checker.shipped, task.stored_verdict, task.isolation)
    )


@dataclass(frozen=True, slots=True)
class _CheckTask:
    """Checks the traces of a partition in a task: rows of lines -> rows of verdicts.

    `options` are those of `lockstep check` that choose the spec; `place`, where the lines are stored, if they are.
    """

    checker: TraceChecker
    isolation: Isolation
    options: tuple[str, ...]
    place: StoredRun | None = None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            if self.isolation.is_isolated:
                lines.hold()
            try:
                verdict, digest = self.isolation.run(partial(self.checker, lines))
            except WorkDiedError as error:
                verdict, digest = death_verdict(error, lines.trace), ""
            yield TABLES["verdicts"].batch([self.stored_verdict(verdict, lines.source, digest)])

    def stored_verdict(self, verdict: TraceVerdict, source: str, digest: str) -> StoredVerdict:
        """Return a verdict to store; `source` is where the trace came from, `digest` the hash of its spec."""
        trace = verdict.source
        replay = replay_command(self.place, trace, source, self.options)
        judged = _judged(source, verdict)
        return extended(StoredVerdict, verdict, source=source, trace=trace, spec=digest, judged=judged, replay=replay)


def _judged(source: str, verdict: TraceVerdict) -> Verdict:
    """Return the verdict that counts: for a simulated cluster, that of judge_cluster."""
    cluster = simulated_cluster(source)
    if cluster is None:
        return verdict.verdict
    return judge_cluster(cluster.plan, verdict, cluster.events, cluster.variant)[0]
