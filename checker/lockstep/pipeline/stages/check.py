"""The stage that checks traces: each whole and in order in one task, against a compiled spec that is shipped once.

A trace of which the stage windows has found states is cut there, and its parts are checked in tasks of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.spark.check import verdict_row
from lockstep.jobs.spark.session import DEATHS, worker_died
from lockstep.pipeline.against import AS_TOLD, Against, HeaderJudge, TaskJudge
from lockstep.pipeline.replay import replay_command, simulated
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
) -> None:
    """Check the traces of a run, and write the verdicts; batches that were checked so already are not again.

    Arguments: `passes`, by which long traces are cut that are not yet: the pass over one batch goes on beside the check
    of others.
    Raises BadInputError where a spec of the reader's own cannot be used, StageFailed where a batch cannot be finished.
    """
    table = Derived(spark, store, run, "verdicts", against.hash(), against.name)
    court = against.court(spark)

    def work(batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        if passes is not None:
            passes.before_check(batch, lines, known)
        judge = court.judge((trace, each.header) for trace, each in known.items())
        checker = _Checker(judge, store.place.uri, run, against.options, against.together)
        states = store.read(spark, "states", run, states_for(store, run, batch))
        checking = _Checking(spark, lines, states, checker)
        try:
            table.write(checking.verdicts(known), batch)
        except DEATHS as error:
            if not worker_died(error):
                raise
            table.write(checking.without_deadly(known), batch)

    table.make("check", work, say)


@dataclass(frozen=True, slots=True)
class _Checking:
    """The check of the lines of a batch; `states` are those at which its long traces are cut."""

    spark: SparkSession
    lines: DataFrame
    states: DataFrame
    checker: _Checker

    def verdicts(self, known: Mapping[str, Known]) -> DataFrame:
        """Return the verdicts on these of its traces."""
        judge = self.checker.judge
        cuts = cuts_of(self.states, known) if isinstance(judge, HeaderJudge) else {}
        whole = {trace: each for trace, each in known.items() if trace not in cuts}
        found = whole_traces(self.spark, self.lines, whole).mapInArrow(self.checker, ddl(TABLES["verdicts"]))
        if not cuts or not isinstance(judge, HeaderJudge):
            return found
        tell = self.checker.row
        return found.union(verdicts_in_parts(self.spark, self.lines, self.states, cuts, judge.shipped, tell))

    def without_deadly(self, known: Mapping[str, Known]) -> DataFrame:
        """Return the verdicts on its traces, where workers die of some: these are inconclusive."""
        deadly = self._deadly(known)
        sources = self.lines.where((sql.col("seq") == 0) & sql.col("trace").isin(list(deadly)))
        rows = [self.checker.row(_died(row["trace"]), row["source"], "") for row in sources.collect()]
        schema = TABLES["verdicts"]
        dead = self.spark.createDataFrame([tuple(row[name] for name in schema.names) for row in rows], ddl(schema))
        alive = {trace: each for trace, each in known.items() if trace not in deadly}
        return self.verdicts(alive).union(dead) if alive else dead

    def _deadly(self, known: Mapping[str, Known]) -> set[str]:
        """Find the traces that workers die of, by halves."""
        try:
            self.verdicts(known).write.format("noop").mode("overwrite").save()
        except DEATHS as error:
            if not worker_died(error):
                raise
            if len(known) == 1:
                return set(known)
            names = sorted(known)
            halves = names[: len(names) // 2], names[len(names) // 2 :]
            return set().union(*(self._deadly({name: known[name] for name in half}) for half in halves))
        return set()


def _died(trace: str) -> TraceVerdict:
    return TraceVerdict(trace, Verdict.INCONCLUSIVE, "the Spark worker died of this trace, however often it was tried")


@dataclass(frozen=True, slots=True)
class _Checker:
    """Checks the traces of a partition in a task: rows of lines -> rows of verdicts."""

    judge: TaskJudge
    uri: str
    run: str
    options: tuple[str, ...]
    together: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            found, digest = self.judge(lines)
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
