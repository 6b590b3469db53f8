"""The stage that checks traces: each whole and in order in one task, against a compiled spec that is shipped once.

A trace of which the stage windows has found states is cut there, and its parts are checked in tasks of their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.spark.check import verdict_row
from lockstep.pipeline.against import AS_TOLD, Against, HeaderJudge, TaskJudge
from lockstep.pipeline.batches import Done, Stage
from lockstep.pipeline.replay import replay_command, simulated
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.traces import survey, traces_of, whole_traces
from lockstep.pipeline.windows.in_tasks import cuts_of, states_for, verdicts_in_parts


def check(spark: SparkSession, store: Store, run: str, against: Against = AS_TOLD, say: Say = silent) -> None:
    """Check the traces of a run, and write the verdicts; batches that were checked so already are not again.

    Raises BadInputError where a spec of the reader's own cannot be used, StageFailed where a batch cannot be finished.
    """
    made_with = against.hash()
    made = {each.made_with(made_with, against.name): each for each in store.batches("lines", run)}
    store.sweep("verdicts", run)
    there = {(each.variant, each.name) for each in store.batches("verdicts", run)}
    todo = [batch for batch in made if (batch.variant, batch.name) not in there]
    court = against.court(spark) if todo else None

    def work(batch: Batch) -> Done:
        assert court is not None
        store.supersede("verdicts", run, batch)
        rows = store.read(spark, "lines", run, [made[batch]])
        known = survey(rows)
        judge = court.judge((trace, each.header) for trace, each in known.items())
        checker = _Checker(judge, store.place.uri, run, against.options)
        states = store.read(spark, "states", run, states_for(store, run, batch))
        cuts = cuts_of(states, known) if isinstance(judge, HeaderJudge) else {}
        whole = {trace: each for trace, each in known.items() if trace not in cuts}
        checked = whole_traces(spark, rows, whole).mapInArrow(checker, ddl(TABLES["verdicts"]))
        if cuts and isinstance(judge, HeaderJudge):
            in_parts = verdicts_in_parts(spark, rows, states, cuts, judge.shipped, checker.row)
            checked = checked.unionByName(in_parts)
        store.write(checked, "verdicts", run, batch)
        return Done(len(known), sum(each.lines for each in known.values()))

    Stage("check", len(made), len(made) - len(todo), say).run(todo, work)


@dataclass(frozen=True, slots=True)
class _Checker:
    """Checks the traces of a partition in a task: rows of lines -> rows of verdicts."""

    judge: TaskJudge
    uri: str
    run: str
    options: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            found, digest = self.judge(lines)
            yield pa.RecordBatch.from_pylist([self.row(lines.source, found, digest)], schema=TABLES["verdicts"])

    def row(self, source: str, found: TraceVerdict, digest: str) -> dict[str, Any]:
        """Return the row of a verdict: of a trace from this source, checked against the spec of this digest."""
        row = verdict_row(found)
        row["spec"], row["judged"] = digest, str(_judged(source, found))
        row["replay"] = replay_command(self.uri, self.run, found.source, source, self.options)
        return row


def _judged(source: str, found: TraceVerdict) -> Verdict:
    """Return the verdict that counts: of a simulated cluster what its plan makes of it."""
    cluster = simulated(source)
    return found.verdict if cluster is None else judge_cluster(cluster.plan, found, cluster.events)[0]
