"""All stages, one after the other."""

from __future__ import annotations

from pyspark.sql import SparkSession

from lockstep.base.progress import Say, silent
from lockstep.pipeline.stages.check import Variant, check
from lockstep.pipeline.stages.generate import Clusters, generate
from lockstep.pipeline.stages.report import Report, report
from lockstep.pipeline.stages.windows import windows
from lockstep.pipeline.store.store import Store


def run_all(
    spark: SparkSession, store: Store, run: str, clusters: Clusters, variant: Variant, say: Say = silent
) -> Report:
    """Simulate clusters into a run, check them, and report; what is in the store is not done again.

    Raises StageFailed where a batch of a stage cannot be finished.
    """
    generate(spark, store, run, clusters, say)
    windows(spark, store, run, variant, say=say)
    check(spark, store, run, variant, say)
    say("report")
    return report(spark, store, run)
