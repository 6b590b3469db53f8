"""The stage that checks traces: each whole and in order in one task, against the compiled spec of its header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version

import pyarrow as pa
from pyspark.sql import SparkSession

from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.jobs.spark.check import check_lines, verdict_row
from lockstep.pipeline.batches import Done, Stage
from lockstep.pipeline.replay import replay_command, simulated
from lockstep.pipeline.specs import Key, Shipped, Shipping
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store, hash_of
from lockstep.pipeline.traces import survey, traces_of, whole_traces
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.specs import spec_hash, switches_of
from lockstep.tla.spec import Spec


@dataclass(frozen=True, slots=True)
class Variant:
    """What traces are checked against: the specs of their headers, with these words in place of its constants.

    Without words the verdicts stand in the variant of the lines, else in one of their name.
    """

    words: tuple[str, ...] = ()

    @property
    def name(self) -> str | None:
        """The variant of the verdicts, None where it is that of the lines."""
        return "+".join(word.replace("=", "-") for word in self.words) or None

    def hash(self) -> str:
        """Return the hash of all that decides a verdict, besides the trace."""
        specs = {name: spec_hash(system) for name, system in SYSTEMS.items()}
        return hash_of(version("lockstep-raft"), specs, self.words)


def check(spark: SparkSession, store: Store, run: str, variant: Variant = Variant(), say: Say = silent) -> None:
    """Check the traces of a run, and write the verdicts; batches that were checked so already are not again.

    Raises StageFailed where a batch cannot be finished.
    """
    lines = store.batches("lines", run)
    made_with = variant.hash()
    made = {each.made_with(made_with, variant.name): each for each in lines}
    store.sweep("verdicts", run)
    there = {(each.variant, each.name) for each in store.batches("verdicts", run)}
    todo = [batch for batch in made if (batch.variant, batch.name) not in there]
    shipping = Shipping(spark, switches_of(variant.words))

    def work(batch: Batch) -> Done:
        store.supersede("verdicts", run, batch)
        rows = store.read(spark, "lines", run, [made[batch]])
        known = survey(rows)
        shipped = shipping.of((trace, each.header) for trace, each in known.items())
        replay = _Replay(store.place.uri, run, variant.words)
        checked = whole_traces(spark, rows, known).mapInArrow(_checker(shipped, replay), ddl(TABLES["verdicts"]))
        store.write(checked, "verdicts", run, batch)
        return Done(len(known), sum(each.lines for each in known.values()))

    Stage("check", len(made), len(made) - len(todo), say).run(todo, work)


@dataclass(frozen=True, slots=True)
class _Replay:
    """Makes the command that replays a trace."""

    uri: str
    run: str
    words: tuple[str, ...]

    def __call__(self, trace: str, source: str) -> str:
        return replay_command(self.uri, self.run, trace, source, self.words)


def _checker(shipped: Shipped, replay: _Replay) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the function that a task runs over the lines of its partition."""

    def check_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            asked: list[Key] = []

            def spec_of(key: Key, asked: list[Key] = asked) -> Spec:
                asked.append(key)
                return shipped.spec(key)

            found = check_lines(lines, lines.trace, spec_of, shipped.switches)
            row = verdict_row(found)
            row["spec"] = shipped.hash(asked[0]) if asked else ""
            row["judged"] = str(_judged(lines.source, found))
            row["replay"] = replay(lines.trace, lines.source)
            yield pa.RecordBatch.from_pylist([row], schema=TABLES["verdicts"])

    return check_partition


def _judged(source: str, found: TraceVerdict) -> Verdict:
    """Return the verdict that counts: of a simulated cluster what its plan makes of it."""
    cluster = simulated(source)
    return found.verdict if cluster is None else judge_cluster(cluster.plan, found, cluster.events)[0]
