"""Both-ways checks of simulated clusters: what a node would do at a step, beside all that the spec allows."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lockstep.base.verdict import Verdict, worst
from lockstep.conformance.both_ways_check import BothWays, check_both_ways
from lockstep.conformance.trace_verdict import failure
from lockstep.systems.registry import simulators
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec

#: A plan and a seed.
PlanSeed = tuple[str, int]


def check_cluster_both_ways(plan: str, seed: int, events: int, steps: int, spec: Spec | None = None) -> BothWays:
    """Run a cluster and check it both ways after some of its steps, chosen by plan and seed.

    Arguments: `events`, the length of the run; `steps`, the number of them after which it is checked; `spec`, compiled
    for the plan, if it is already.
    """
    source = f"{plan} {seed}"
    system, simulator = simulators()[plan]
    try:
        header, run = simulator.asked(plan, seed, events)
        compiled = trace_spec(header, source) if spec is None else spec
        chosen = random.Random(source).sample(range(1, events + 1), min(steps, events))
        return check_both_ways(header, run, compiled, system.interface(compiled), frozenset(chosen), source)
    except Exception as error:  # The error of one cluster leaves the verdicts of the others.
        failed = failure(error, source)
        return BothWays(source, failed.verdict, failed.reason)


@functools.cache
def _spec(text: str) -> Spec:
    return Spec.from_source(text)


def check_both_ways_with_spark(
    spark: SparkSession, clusters: Sequence[PlanSeed], events: int, steps: int
) -> list[BothWays]:
    """Check clusters both ways on Spark; the results are in the order of `clusters`.

    The specs are compiled here and shipped as source.
    """
    texts = {plan: _text(plan) for plan in dict.fromkeys(plan for plan, _ in clusters)}
    shipped = spark.sparkContext.broadcast(texts)

    def check(cluster: PlanSeed) -> BothWays:
        plan, seed = cluster
        return check_cluster_both_ways(plan, seed, events, steps, _spec(shipped.value[plan]))

    partitions = max(1, min(len(clusters), 4 * spark.sparkContext.defaultParallelism))
    return list(spark.sparkContext.parallelize(clusters, partitions).map(check).collect())


def _text(plan: str) -> str:
    _, simulator = simulators()[plan]
    header, _ = simulator.cluster(plan, 0, 0)
    return trace_spec(header, plan).source


@dataclass(frozen=True, slots=True)
class PlanBothWays:
    """The both-ways checks of all clusters of a plan."""

    plan: str
    verdict: Verdict
    steps: int
    taken: int
    refused: int
    result: str

    @property
    def row(self) -> tuple[object, ...]:
        """The row under BOTH_WAYS_HEADS."""
        return (self.plan, self.steps, self.taken, self.refused, self.result)


BOTH_WAYS_HEADS = ("plan", "steps", "taken", "refused", "result")


def by_plan(clusters: Iterable[PlanSeed], found: Iterable[BothWays]) -> Iterator[PlanBothWays]:
    """Yield the result of each plan; a plan passes only if each of its clusters was checked."""
    groups: dict[str, list[BothWays]] = {}
    for (plan, _), each in zip(clusters, found, strict=True):
        groups.setdefault(plan, []).append(each)
    for plan, group in groups.items():
        verdict = worst([each.verdict for each in group])
        first = next(each for each in group if each.verdict is verdict)
        result = "holds" if verdict is Verdict.HOLDS else f"{first.source}: {first.reason}"
        steps, taken, refused = (sum(getattr(each, name) for each in group) for name in ("steps", "taken", "refused"))
        yield PlanBothWays(plan, verdict, steps, taken, refused, result)
