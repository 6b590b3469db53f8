"""The stage that checks traces: each whole and in order in one task, against the compiled spec of its header."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

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
from lockstep.pipeline.windows.in_tasks import cuts_of, states_for, verdicts_in_parts
from lockstep.systems.opening import opened
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.specs import spec_hash, spec_key, switches_of
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
        tell = _Tell(shipped, _Replay(store.place.uri, run, variant.words))
        states = store.read(spark, "states", run, states_for(store, run, batch))
        cuts = cuts_of(states, known)
        others = {trace: each for trace, each in known.items() if trace not in cuts}
        checked = whole_traces(spark, rows, others).mapInArrow(_checker(shipped, tell), ddl(TABLES["verdicts"]))
        if cuts:
            checked = checked.unionByName(verdicts_in_parts(spark, rows, states, cuts, shipped, tell.in_parts))
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


@dataclass(frozen=True, slots=True)
class _Tell:
    """Makes the row of a verdict: of the source of its trace, what was found, and the key of its spec."""

    shipped: Shipped
    replay: _Replay

    def __call__(self, source: str, found: TraceVerdict, key: Key | None) -> dict[str, Any]:
        row = verdict_row(found)
        row["spec"] = "" if key is None else self.shipped.hash(key)
        row["judged"] = str(_judged(source, found))
        row["replay"] = self.replay(found.source, source)
        return row

    def in_parts(self, source: str, found: TraceVerdict, header: bytes) -> dict[str, Any]:
        """Do the same for a trace that was cut, by its header."""
        return self(source, found, spec_key(opened([header], found.source).header, source, self.shipped.switches))


def _checker(shipped: Shipped, tell: _Tell) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Make the function that a task runs over the lines of its partition."""

    def check_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for lines in traces_of(batches):
            asked: list[Key] = []

            def spec_of(key: Key, asked: list[Key] = asked) -> Spec:
                asked.append(key)
                return shipped.spec(key)

            found = check_lines(lines, lines.trace, spec_of, shipped.switches)
            row = tell(lines.source, found, asked[0] if asked else None)
            yield pa.RecordBatch.from_pylist([row], schema=TABLES["verdicts"])

    return check_partition


def _judged(source: str, found: TraceVerdict) -> Verdict:
    """Return the verdict that counts: of a simulated cluster what its plan makes of it."""
    cluster = simulated(source)
    return found.verdict if cluster is None else judge_cluster(cluster.plan, found, cluster.events)[0]
