"""The stage that reports on a run: the sums of its tables, and whether they are whole.

Only sums and samples are collected.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.verdict import Verdict, worst
from lockstep.pipeline.counterexample_stage import list_counterexamples
from lockstep.pipeline.coverage_stage import (
    EVENTS,
    NOT_COUNTED,
    coverage_rows,
    floor_record,
    floor_verdicts,
    never_taken,
)
from lockstep.pipeline.missing_data import gaps
from lockstep.pipeline.run_report import RunReport, as_markdown, pictures
from lockstep.pipeline.store_tables import findings
from lockstep.pipeline.trace_store import TraceStore

#: Failing traces, and dead letters, that are listed one by one.
MAX_LISTED = 50


def report(spark: SparkSession, store: TraceStore, run: str) -> RunReport:
    """Return the report on a run, written into the store as JSON and as Markdown with its pictures."""
    found = RunReport(run)
    verdicts = store.read(spark, "verdicts", run, store.batches("verdicts", run))
    _sum_up(found, verdicts)
    found.gaps = list(gaps(spark, store, run))
    _count_dead_letters(found, spark, store)
    _cover(found, spark, store, verdicts)
    if store.batches("counterexamples", run):
        found.counterexamples = list_counterexamples(spark, store, run)
    found.verdict = _verdict(found)
    folder = store.location / "_reports" / f"run={run}"
    (folder / "report.json").write(found.as_json().encode() + b"\n")
    for name, _, picture in pictures(found):
        (folder / name).write(picture.encode())
    (folder / "report.md").write(as_markdown(found).encode())
    return found


def _sum_up(found: RunReport, verdicts: DataFrame) -> None:
    sums = [sql.sum(each).alias(each) for each in ("events", "steps", "observed", "seconds")]
    for row in (
        verdicts.groupBy("variant", "verdict", "judged").agg(sql.count(sql.lit(1)).alias("traces"), *sums).collect()
    ):
        _add(found, row.asDict())
    certain = findings(verdicts).where("kind = 'property' and not disputed")
    failed = certain.groupBy("variant", sql.col("name").alias("property"))
    found.properties = [
        row.asDict()
        for row in failed.agg(sql.count(sql.lit(1)).alias("traces")).orderBy("variant", "property").collect()
    ]
    columns = ("variant", "trace", "verdict", "judged", "reason", "replay")
    failing = verdicts.where(sql.col("judged") != str(Verdict.HOLDS)).select(*columns)
    found.failures = [row.asDict() for row in failing.orderBy("judged", "variant", "trace").limit(MAX_LISTED).collect()]


def _add(found: RunReport, row: Mapping[str, Any]) -> None:
    known = next((each for each in found.variants if each["variant"] == row["variant"]), None)
    if known is None:
        known = {"variant": row["variant"], "verdicts": {}, "judged": {}}
        known |= dict.fromkeys(("traces", "events", "steps", "observed", "seconds"), 0)
        found.variants.append(known)
    for name in ("traces", "events", "steps", "observed", "seconds"):
        known[name] += row[name]
    for name in ("verdict", "judged"):
        counts = known["verdicts" if name == "verdict" else name]
        counts[row[name]] = counts.get(row[name], 0) + row["traces"]
    found.variants.sort(key=lambda each: str(each["variant"]))


def _count_dead_letters(found: RunReport, spark: SparkSession, store: TraceStore) -> None:
    dead = store.read(spark, "dead_letters", found.run, store.batches("dead_letters", found.run))
    first = dead.select("source", "line", "reason").orderBy("source", "line").limit(MAX_LISTED).collect()
    found.dead_letters = {"count": dead.count(), "first": [row.asDict() for row in first]}


def _cover(found: RunReport, spark: SparkSession, store: TraceStore, verdicts: DataFrame) -> None:
    """Sum up what was reached, compare it with the floors, and find the actions that no trace takes."""
    counted = store.batches("reached", found.run)
    lines = store.batches("lines", found.run)
    found.coverage = coverage_rows(store.read(spark, "reached", found.run, counted))
    for each in found.coverage:
        if each["kind"] == NOT_COUNTED:
            what = f"clusters of {each['plan']}" if each["plan"] else "traces"
            found.gaps.append(f"{each['traces']:,} {what} were not counted: {each['name']}")
    found.plans = _by_plan(verdicts, store.read(spark, "reached", found.run, counted))
    found.floors = [floor_record(each) for each in floor_verdicts(found.coverage)]
    if counted:
        one_of_each = verdicts.where("spec != ''").groupBy("spec").agg(sql.min("trace").alias("trace"))
        headers = store.read(spark, "lines", found.run, lines).where("seq = 0").join(one_of_each, "trace")
        found.never_taken = never_taken(found.coverage, headers.select("trace", "bytes").collect())


def _by_plan(verdicts: DataFrame, reached: DataFrame) -> list[dict[str, Any]]:
    """Return the number of verdicts of each plan; traces that were not counted, or of no plan, have an empty one."""
    plans = reached.where((sql.col("kind") == EVENTS[0]) & (sql.col("name") == EVENTS[1])).select("trace", "plan")
    keys = ("plan", "variant", "verdict")
    rows = verdicts.join(plans, "trace", "left").na.fill("", ["plan"]).groupBy(*keys)
    return [row.asDict() for row in rows.agg(sql.count(sql.lit(1)).alias("traces")).orderBy(*keys).collect()]


def _verdict(found: RunReport) -> Verdict:
    parts = [Verdict(word) for each in found.variants for word in each["judged"]]
    parts += [Verdict(each["verdict"]) for each in found.floors]
    if found.gaps or not all(each["is_minimal"] for each in found.counterexamples):
        parts.append(Verdict.INCONCLUSIVE)
    if found.dead_letters["count"]:
        parts.append(Verdict.MALFORMED)
    return worst(parts)
