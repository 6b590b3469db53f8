"""The stage that checks traces: each whole and in order in one task, against a compiled spec that is shipped once.

A trace of which the stage windows has found states is cut there, and its parts are checked in tasks of their own.
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
from lockstep.jobs.spark.apart import Care, DiedError, with_care
from lockstep.jobs.spark.check import died, verdict_row
from lockstep.pipeline.against import AS_TOLD, Against, HeaderJudge, TaskJudge
from lockstep.pipeline.replay import replay_command, simulated
from lockstep.pipeline.sources import TOGETHER
from lockstep.pipeline.stages.ingest import refuse_other_logs
from lockstep.pipeline.stages.windows import Passes
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.windows.in_tasks import cuts_of, states_for, verdicts_in_parts
from lockstep.pipeline.work.derive import Derived
from lockstep.pipeline.work.traces import Known, traces_of, whole_traces


def check(
    spark: SparkSession,
    store: Store,
    run: str,
    against: Against = AS_TOLD,
    say: Say = silent,
    passes: Passes | None = None,
    seconds: float | None = None,
) -> None:
    """Check the traces of a run, and write the verdicts; batches that were checked so already are not again.

    Arguments: `passes`, by which long traces are cut that are not yet: the pass over one batch goes on beside the check
    of others; `seconds`, which the check of a trace may take, or of one that is cut that of a part, None: as long as it
    does.
    Raises BadInputError where a spec of the reader's own cannot be used, or was not what the lines were ingested for,
    StageFailed where a batch cannot be finished.
    """
    refuse_other_logs(store, run, against.logs)
    table = Derived(spark, store, run, "verdicts", against.hash(), against.name)
    court = against.court(spark)
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
    found = whole_traces(spark, lines, whole).mapInArrow(checker, ddl(TABLES["verdicts"]))
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
            yield pa.RecordBatch.from_pylist([self.row(found, lines.source, digest)], schema=TABLES["verdicts"])

    def row(self, found: TraceVerdict, source: str, digest: str) -> dict[str, Any]:
        """Return the row of a verdict; `source` is where the trace came from, `digest` the hash of its spec."""
        row = verdict_row(found)
        row["spec"], row["judged"] = digest, str(_judged(source, found))
        words = (self.uri, self.run, found.source, source, self.options)
        row["replay"] = replay_command(*words, together=self.together)
        return row


def _judged(source: str, found: TraceVerdict) -> Verdict:
    """Return the verdict that counts: of a simulated cluster what its plan makes of it."""
    cluster = simulated(source)
    return found.verdict if cluster is None else judge_cluster(cluster.plan, found, cluster.events, cluster.variant)[0]
