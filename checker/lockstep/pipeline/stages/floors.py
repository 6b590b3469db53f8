"""What a run reaches, summed up by plan, and held against the floors of the plans and the specs' own lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as sql

from lockstep.jobs.fleet_floors import FloorVerdict, judge_reached
from lockstep.pipeline.stages.coverage import EVENTS
from lockstep.systems.opening import opened
from lockstep.systems.registry import simulators
from lockstep.systems.specs import trace_spec
from lockstep.trace.format import TraceError


def summed(reached: DataFrame) -> list[dict[str, Any]]:
    """Return what was reached: plan, kind, name, by how many traces, how often, and the least number in a trace.

    The plan is empty for what is no simulated cluster.
    """
    sums = (sql.count(sql.lit(1)).alias("traces"), sql.sum("times").alias("times"), sql.min("times").alias("least"))
    rows = reached.groupBy("plan", "kind", "name").agg(*sums).orderBy("plan", "kind", "name")
    return [row.asDict() for row in rows.collect()]


def judged(coverage: list[dict[str, Any]]) -> Iterator[FloorVerdict]:
    """Yield of each plan whether its clusters reached its floor; none is stated for a plan run in another variant."""
    for plan in sorted({each["plan"] for each in coverage} & simulators().keys()):
        of_plan = {(each["kind"], each["name"]): each for each in coverage if each["plan"] == plan}
        clusters = of_plan.pop(EVENTS, {"traces": 0, "least": 0})
        yield judge_reached(plan, of_plan, clusters["traces"], clusters["least"])


def floor_record(floor: FloorVerdict) -> dict[str, Any]:
    """Return what a floor came to, as JSON can hold it."""
    return {**asdict(floor), "verdict": str(floor.verdict), "result": floor.result}


def never_taken(coverage: list[dict[str, Any]], headers: Iterable[tuple[str, bytes]]) -> list[str]:
    """Return the actions of the specs of these headers that no trace takes, each with its spec.

    A first line that is no header is of a log that a mapping reads: what it reaches is not counted.
    """
    taken = {each["name"] for each in coverage if each["kind"] in ("action", "fault")}
    found = set()
    for name, line in headers:
        try:
            header = opened([line], name).header
            spec = trace_spec(header, name)
        except TraceError:
            continue
        found |= {f"{action} of {header.spec}" for action in spec.actions if action not in taken}
    return sorted(found)
