"""The stage that makes traces: clusters of the references, simulated inside the tasks, their lines streamed.

A cluster is a plan of faults and a seed; its trace is that of `lockstep simulate`, to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.pipeline.stage_batches import Done, Stage, at_once, take_turns
from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.stored_traces import simulate_command
from lockstep.pipeline.task_traces import chunks, slots
from lockstep.pipeline.trace_store import Batch, Store, hash_of
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_files import cluster_trace
from lockstep.systems.trace_specs import spec_hash
from lockstep.trace.trace_format import trace_lines

#: The variant of what is checked against the constants of its own header.
TOLD = "told"

#: A batch is of about so many events, which are some 64 MB, and of no more than so many clusters.
BATCH_EVENTS = 100_000
BATCH_CLUSTERS = 1_000

#: A task hands on so many lines at a time.
_LINES = 1_000


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters to simulate: every plan with every seed in every variant, each of so many events.

    A variant is another form of the flaws than the plan's own; TOLD stands for that.
    """

    plans: Sequence[str]
    seeds: range
    events: int
    variants: Sequence[str] = (TOLD,)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.plans) * len(self.seeds) * len(self.variants)

    def about(self) -> dict[str, Any]:
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
        return hash_of(self.about())

    def batches(self) -> Iterator[tuple[Batch, list[tuple[str, int]]]]:
        """Yield the batches, each with its clusters as (plan, seed)."""
        size = max(1, min(BATCH_CLUSTERS, BATCH_EVENTS // self.events))
        about = self.about()
        for variant in self.variants:
            for clusters in chunks(((plan, seed) for seed in self.seeds for plan in self.plans), size):
                name = hash_of(about["version"], about["specs"], self.events, variant, clusters)
                yield Batch(variant, name), clusters


def generate(spark: SparkSession, store: Store, run: str, clusters: Clusters, say: Say = silent) -> None:
    """Write the lines of clusters into a run of a store; batches that are there are not made again.

    Raises StageFailed where a batch cannot be finished.
    """
    parts = dict(clusters.batches())
    _refuse_overlap(store, run, clusters)
    store.put_inputs(run, "generate", parts, {"traces": len(clusters), **clusters.about()})
    store.sweep("lines", run)
    there = {(each.variant, each.name) for each in store.batches("lines", run)}
    todo = [batch for batch in parts if (batch.variant, batch.name) not in there]

    def work(batch: Batch) -> Done:
        take_turns(spark)
        variant = "" if batch.variant == TOLD else batch.variant
        rows = [(plan, seed, clusters.events, variant) for plan, seed in parts[batch]]
        begun = spark.sparkContext.parallelize(rows, min(len(rows), 4 * slots(spark)))
        frame = spark.createDataFrame(begun, "plan string, seed bigint, events bigint, variant string")
        store.write(frame.mapInArrow(_simulate, TABLES["lines"].ddl), "lines", run, batch)
        return Done(len(rows), len(rows) * clusters.events)

    Stage("generate", len(parts), len(parts) - len(todo), say).run(todo, work, at_once(spark))


def _refuse_overlap(store: Store, run: str, clusters: Clusters) -> None:
    """Raise BadInputError where a run has some of these clusters, and others besides, or in another version."""
    about, (first, last) = clusters.about(), (clusters.seeds.start, clusters.seeds.stop)
    for noted in store.inputs(run):
        same = all(noted.get(name) == value for name, value in about.items())
        if noted["stage"] != "generate" or same or noted["events"] != clusters.events:
            continue
        low, high = noted["seeds"]
        shared = all(set(noted[name]) & set(about[name]) for name in ("plans", "variants"))
        if shared and low < last and first < high:
            raise BadInputError(f"the run {run!r} has some of these clusters already: give --run another name")


def _simulate(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Simulate clusters in a task: rows (plan, seed, events, variant) -> rows of lines."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from _cluster(**row)


def _cluster(plan: str, seed: int, events: int, variant: str) -> Iterator[pa.RecordBatch]:
    trace = "-".join(filter(None, (plan, variant, str(seed), str(events))))
    source = simulate_command(plan, seed, events, variant)
    lines = trace_lines(*cluster_trace(plan, seed, events, variant=variant))
    for rows in chunks(enumerate(lines), _LINES):
        seqs, texts = [seq for seq, _ in rows], [text for _, text in rows]
        columns = [[trace] * len(rows), seqs, texts, [source] * len(rows), [seq + 1 for seq in seqs]]
        yield pa.record_batch(columns, schema=TABLES["lines"].schema)
