"""All stages, one after the other."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lockstep.base.progress import Say, silent
from lockstep.pipeline.check_stage import check
from lockstep.pipeline.counterexample_stage import counterexamples
from lockstep.pipeline.coverage_stage import cover
from lockstep.pipeline.generate_stage import Clusters, generate
from lockstep.pipeline.ingest_stage import InputFiles, ingest
from lockstep.pipeline.report_stage import report
from lockstep.pipeline.run_report import RunReport
from lockstep.pipeline.spec_choice import AS_DECLARED, HeaderSpecs, OwnSpec, SpecChoice
from lockstep.pipeline.trace_store import TraceStore


def run_all(
    spark: SparkSession,
    store: TraceStore,
    run: str,
    source: Clusters | InputFiles,
    against: SpecChoice,
    say: Say = silent,
    seconds: float | None = None,
) -> RunReport:
    """Simulate clusters, or read files, into a run, check them, and report; batches in the store are not made again.

    Arguments: `seconds`, which the check of a trace may take, as for check.
    Raises BadInputError as ingest does, StageFailed where a batch of a stage cannot be finished.
    """
    if isinstance(source, Clusters):
        generate(spark, store, run, source, say)
    else:
        ingest(spark, store, run, source, say)
    check(spark, store, run, against, say, seconds)
    cover(spark, store, run, say, against if isinstance(against, OwnSpec) else AS_DECLARED)
    if isinstance(against, HeaderSpecs):
        counterexamples(spark, store, run, against, say=say)
    say("report")
    return report(spark, store, run)
