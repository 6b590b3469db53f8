"""The stage that makes traces: clusters of the references, simulated inside the tasks, their lines streamed.

A cluster is a plan of faults and a seed; its trace is that of `lockstep simulate`, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.jobs.spark.record_tables import column_rows
from lockstep.jobs.spark.spark_session import task_slots
from lockstep.pipeline.stage_batches import BatchCounts, StageProgress, concurrent_batches, take_turns
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.stored_traces import SimulatedCluster
from lockstep.pipeline.task_traces import PARTITIONS_PER_SLOT, chunks
from lockstep.pipeline.trace_store import Batch, TraceStore, short_hash
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_files import cluster_trace
from lockstep.systems.trace_specs import spec_hash
from lockstep.trace.trace_format import trace_lines

#: The variant, as options name it, of traces with the constants of their own headers, and of clusters with the flaws
#: of their own plans.
DECLARED = "declared"

#: Events of a batch, about, which are some 64 MB, and its clusters, at most.
BATCH_EVENTS = 100_000
MAX_BATCH_CLUSTERS = 1_000

#: Lines in a batch of rows of a task.
_LINES = 1_000


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters to simulate: every plan with every seed in every variant, each for this number of `events`.

    A variant other than DECLARED is another form of the flaws than the plan's own.
    """

    plans: Sequence[str]
    seeds: range
    events: int
    variants: Sequence[str] = (DECLARED,)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.plans) * len(self.seeds) * len(self.variants)

    def inputs(self) -> dict[str, Any]:
        """Return what decides their traces, as JSON can hold it."""
        return {
            "plans": list(self.plans),
            "seeds": [self.seeds.start, self.seeds.stop],
            "events": self.events,
            "variants": list(self.variants),
            "version": version("lockstep-raft"),
            "specs": {name: spec_hash(system) for name, system in SYSTEMS.items()},
        }

    def run_name(self) -> str:
        """Return the name of a run of these alone."""
        return short_hash(self.inputs())

    def batches(self) -> Iterator[tuple[Batch, list[tuple[str, int]]]]:
        """Yield the batches, each with its clusters as (plan, seed)."""
        size = max(1, min(MAX_BATCH_CLUSTERS, BATCH_EVENTS // self.events))
        inputs = self.inputs()
        for variant in self.variants:
            for clusters in chunks(((plan, seed) for seed in self.seeds for plan in self.plans), size):
                name = short_hash(inputs["version"], inputs["specs"], self.events, variant, clusters)
                yield Batch(variant, name), clusters


def generate(spark: SparkSession, store: TraceStore, run: str, clusters: Clusters, say: Say = silent) -> None:
    """Write the lines of clusters into a run of a store; batches that are there are not made again.

    Raises StageFailed where a batch cannot be finished.
    """
    batches = dict(clusters.batches())
    _refuse_overlap(store, run, clusters)
    store.put_inputs(run, "generate", batches, {"traces": len(clusters), **clusters.inputs()})
    store.sweep("lines", run)
    existing = {(each.variant, each.name) for each in store.batches("lines", run)}
    todo = [batch for batch in batches if (batch.variant, batch.name) not in existing]

    def simulate(batch: Batch) -> BatchCounts:
        take_turns(spark)
        variant = "" if batch.variant == DECLARED else batch.variant
        chosen = [SimulatedCluster(plan, seed, clusters.events, variant) for plan, seed in batches[batch]]
        store.write(simulated(spark, chosen), "lines", run, batch)
        return BatchCounts(len(chosen), len(chosen) * clusters.events)

    progress = StageProgress("generate", len(batches), len(batches) - len(todo), say)
    progress.run(todo, simulate, concurrent_batches(spark))


def _refuse_overlap(store: TraceStore, run: str, clusters: Clusters) -> None:
    """Raise BadInputError where a run has some of these clusters, and others besides, or in another version."""
    inputs, (first, last) = clusters.inputs(), (clusters.seeds.start, clusters.seeds.stop)
    for noted in store.inputs(run):
        same = all(noted.get(name) == value for name, value in inputs.items())
        if noted["stage"] != "generate" or same or noted["events"] != clusters.events:
            continue
        low, high = noted["seeds"]
        shared = all(set(noted[name]) & set(inputs[name]) for name in ("plans", "variants"))
        if shared and low < last and first < high:
            raise BadInputError(f"the run {run!r} has some of these clusters already: give --run another name")


def simulated(spark: SparkSession, clusters: Sequence[SimulatedCluster]) -> DataFrame:
    """Return the lines of the traces of clusters, with the columns of the table; the tasks simulate them."""
    parts = max(1, min(len(clusters), PARTITIONS_PER_SLOT * task_slots(spark)))
    return spark.range(0, len(clusters), 1, parts).mapInArrow(_Simulator(clusters), TABLES["lines"].ddl)


@dataclass(frozen=True, slots=True)
class _Simulator:
    """Simulates clusters in a task: rows with their numbers (id) -> rows of lines."""

    clusters: Sequence[SimulatedCluster]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for (number,) in column_rows(batches, "id"):
            yield from _cluster_rows(self.clusters[number])


def _cluster_rows(cluster: SimulatedCluster) -> Iterator[pa.RecordBatch]:
    plan, seed, events, variant = cluster
    trace = "-".join(filter(None, (plan, variant, str(seed), str(events))))
    lines = trace_lines(*cluster_trace(plan, seed, events, variant=variant))
    for rows in chunks(enumerate(lines), _LINES):
        seqs, texts = [seq for seq, _ in rows], [text for _, text in rows]
        columns = [[trace] * len(rows), seqs, texts, [cluster.command()] * len(rows), [seq + 1 for seq in seqs]]
        yield pa.record_batch(columns, schema=TABLES["lines"].schema)
