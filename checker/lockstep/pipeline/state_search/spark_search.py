"""Exploring a specification on Spark: the same levels, counts and counterexamples as on one machine.

A level is one job with two stages. In the first, tasks expand the states of the level, each in its own order
(:mod:`lockstep.pipeline.state_search.level_expansion`). Their successors go to the part of their fingerprints, where in
the second stage of equal ones that with the least path is kept, and none that was seen before.
"""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as sql

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.jobs.spark.shipped_specs import ShippedText
from lockstep.jobs.spark.spark_session import task_slots
from lockstep.pipeline.state_search.level_expansion import (
    COLUMNS,
    DDL,
    ExpandLevel,
    LevelWork,
    SearchTables,
    TaskCounts,
    combined,
)
from lockstep.pipeline.state_search.level_store import LevelRecord, LevelStore, SearchRecord
from lockstep.pipeline.state_search.state_codec import column_names
from lockstep.pipeline.state_search.state_paths import parent, place_bytes, places
from lockstep.tla.search_options import DEFAULT_OPTIONS, SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.tables.expander import TOO_DEEP
from lockstep.tla.tables.fingerprints import collision_probability
from lockstep.tla.tables.literal_judge import LiteralJudge
from lockstep.tla.tables.state_layout import Path, ShapeChangedError, UnsuitedError
from lockstep.tla.tables.table_search import GAIN_CHECK, MAX_EVALUATION_SHARE, TableExploration, why_unsuited
from lockstep.tla.values.function_operators import ExceptWarning
from lockstep.tla.values.kinds import TlaError
from lockstep.tla.values.value_bytes import decoded, encoded

#: What Java is started with: it sorts and joins for hours, and compiles for that.
SESSION_SETTINGS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=4"}

#: The settings of the queries of a search.
_SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # it would merge parts, and take apart what lies in the same bucket
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.sources.bucketing.enabled": "true",
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": "false",
    "spark.sql.optimizer.windowGroupLimitThreshold": "-1",  # tasks have left out repetitions already
    "spark.sql.execution.arrow.maxRecordsPerBatch": "8192",
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    "spark.sql.parquet.columnarReaderBatchSize": "4096",
}

_SHUFFLE = "spark.sql.shuffle.partitions"

#: Parts of the states for each task that Spark runs at once.
_PARTS_PER_SLOT = 2


@dataclass
class SparkExploration(TableExploration):
    """The result of a search on Spark; `evaluations` are those of all tasks, as each worker fills tables of its own.

    Attributes:
        store: where the search is kept; `stored` are the bytes there, in as many `parts`.
        bits: the bits of a fingerprint.
        resumed: the level from which a search was continued that had been kept; 0 where it began anew.
    """

    store: str = ""
    stored: int = 0
    parts: int = 0
    bits: int = 128
    resumed: int = 0

    @property
    def notes(self) -> tuple[str, ...]:
        """Lines about the search for its reader; the last is in TLC's words."""
        return (
            *([f"note: continued from level {self.resumed}"] if self.resumed else []),
            f"note: kept in {self.store}, in {self.parts} parts, "
            f"{self.stored / max(1, self.distinct):,.0f} bytes for each distinct state; "
            f"{self.evaluations:,} evaluations in all workers",
            "note: estimate of the probability that not all reachable states were checked because two distinct states "
            f"had the same fingerprint of {self.bits} bits: calculated (optimistic): {self.collision:.1E}",
        )


def explore_on_spark(
    spec: Spec, spark: SparkSession, store: str, options: SearchOptions = DEFAULT_OPTIONS, parts: int | None = None
) -> SparkExploration:
    """Search all reachable states on Spark, breadth first, until one violates something.

    The search is kept after each level, and goes on from what is kept of it.

    Args:
        spark: the session, on a cluster whose workers have this code and Numba.
        store: the folder of the search: a path, or a URI that Spark and pyarrow read.
        options: `check_deadlock` and `on_progress` count.
        parts: the number of parts that states lie in; a task holds one (default: two for each task that runs at
            once). A search that is continued keeps its number.

    Raises:
        GaveUpError: if tables cannot explore the specification, or another process goes on with the search.
        BadInputError: if the folder has something else, or there are temporal properties.
        SpecFault, FalseAssumptionError: as a search by tables does.
    """
    if spec.temporal:
        raise BadInputError("--spark: temporal properties need the steps between states, which are not kept")
    if (why := why_unsuited(spec)) is not None:
        raise GaveUpError(f"{_NOT_BY_TABLES}: {why}")
    spec.refuse_false_constants()
    with _settings(spark):
        search = _SparkSearch(
            spec, spark, LevelStore(store, spark), options, parts or _PARTS_PER_SLOT * task_slots(spark)
        )
        try:
            found = search.run()
        except UnsuitedError as error:
            search.store.close()
            raise GaveUpError(f"{_NOT_BY_TABLES}: {error}") from error
        except Exception:
            search.store.close()  # after an interrupt Java is asked nothing more: it may be in the middle of an answer
            raise
        search.store.close()
        return found


_NOT_BY_TABLES = "Spark explores by tables, and this specification cannot be explored so"


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in (*_SETTINGS, _SHUFFLE)}
    for name, value in _SETTINGS.items():
        spark.conf.set(name, value)
    try:
        yield
    except Exception:
        _set(spark, before)
        raise
    _set(spark, before)


def _set(spark: SparkSession, settings: dict[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)


class _SparkSearch:
    """One search; it begins anew where a part of a state turns out to change its domain."""

    def __init__(self, spec: Spec, spark: SparkSession, store: LevelStore, options: SearchOptions, parts: int) -> None:
        self.spec, self.spark, self.store, self.options, self.parts = spec, spark, store, options, parts
        checks = options.check_deadlock
        self.check_deadlock = spec.check_deadlock if checks is None else checks
        self.judge = LiteralJudge(spec, replace(options, check_deadlock=self.check_deadlock))
        self.text = spark.sparkContext.broadcast(ShippedText.from_spec(spec))
        self.begun, self.too_deep = time.perf_counter(), 0
        self.result = SparkExploration(unchecked=tuple(spec.unchecked), store=store.uri)
        self.tables: SearchTables
        self.work: LevelWork
        self.values: list[list[bytes]]

    # ---- Levels ----

    def run(self) -> SparkExploration:
        """Search, from what is kept of the same search if there is something."""
        initial, generated, violation = self.judge.start()
        result = self.result
        if violation is not None or not initial:
            result.generated, result.distinct, result.levels = generated, len(initial), [len(initial)]
            result.violation, result.depth = violation, 1
            if violation is None:
                self.complete()
            return result
        whole: set[Path] = set()
        while True:
            try:
                self.prepare(initial, generated, whole)
                self.expand_levels()
            except ShapeChangedError as error:
                whole.add(error.path)
            else:
                break
        images = self.tables.expander.images
        result.stored, result.bits = self.store.nbytes, self.tables.bits
        result.parts, result.collision = self.parts, collision_probability(result.distinct, result.generated, images)
        if result.bits > 64:  # two functions that know nothing of each other
            result.collision *= collision_probability(1, 0, images)
        return result

    def prepare(self, initial: list[State], generated: int, whole: set[Path]) -> None:
        """Begin the search, or take it up where it was kept."""
        identity = {
            "spec": self.spec.spec_hash,
            "deadlock": self.check_deadlock,
            "SYMMETRY": self.spec.symmetry,
            "VIEW": self.spec.view,
        }
        kept = None if whole else self.store.load(identity)
        if kept is not None:
            whole |= {tuple(decoded(each)) for each in kept[0].whole}
        columns = None if kept is None else kept[0].columns
        self.tables = SearchTables(self.spec, initial, check_deadlock=self.check_deadlock, whole=whole, columns=columns)
        as_bytes = sorted(map(encoded, whole))
        names = tuple(column_names(self.tables.layout) if columns is None else columns)
        self.values = [[] for _ in names]
        if kept is None:
            saved = SearchRecord(identity=identity, buckets=self.parts, whole=as_bytes, columns=list(names))
            self.store.begin(saved)
            levels: list[LevelRecord] = []
        else:
            saved, levels = kept
        self.parts = saved.buckets
        self.spark.conf.set(_SHUFFLE, str(self.parts))
        values = self.spark.sparkContext.broadcast(self.values)
        self.work = LevelWork(
            uuid.uuid4().hex, self.text, self.check_deadlock, tuple(as_bytes), names, values, level=max(1, len(levels))
        )
        self.store.open(saved, len(levels))
        self.result.levels = [each.states for each in levels]
        self.result.evaluations = self.result.resumed = 0
        if levels:
            self.take_up(levels)
        else:
            self.write_initial(generated)

    def take_up(self, levels: list[LevelRecord]) -> None:
        """Go on from levels that are there."""
        found = self.store.states().groupBy("level").count().collect()
        there = {row["level"]: row["count"] for row in found}
        for each in levels:
            if there.get(each.level, 0) != each.states:
                lacks = f"level {each.level} had {each.states:,} states, and has {there.get(each.level, 0):,}"
                raise BadInputError(f"{self.store.uri}: {lacks}: files were lost or added")
        last, result = levels[-1], self.result
        result.generated, result.evaluations, result.distinct = last.generated, last.evaluations, sum(result.levels)
        result.resumed, result.depth = last.level, last.level - (last.states == 0)
        for each in levels:
            self.share(each.values)

    def write_initial(self, generated: int) -> None:
        """Write the first level."""
        result, rows = self.result, self.tables.initial_rows
        self.tables.codec.learn(self.values)
        paths = [place_bytes(each) for each in range(len(rows))]
        batch = self.tables.batch(paths, rows, self.tables.fingerprints(rows))
        self.store.write(
            self.spark.createDataFrame(pa.Table.from_batches([batch])).repartition(self.parts, "fp", "fp2"), 1
        )
        result.levels, result.distinct, result.generated, result.depth = [len(rows)], len(rows), generated, 1
        self.finish_level(1, len(rows), brings_values=True)

    def finish_level(self, level: int, states: int, *, brings_values: bool) -> None:
        """Give the values that a level brought their numbers, and record that it is there."""
        more: list[list[bytes]] = [[] for _ in self.values]
        if brings_values:
            of_level = self.store.states().where(sql.col("level") == level)
            brought = of_level.select(sql.explode("new_values").alias("new")).select("new.*").distinct().collect()
            for column, value in sorted((row["column"], bytes(row["value"])) for row in brought):
                more[column].append(value)
        counts = self.result.generated, self.result.evaluations
        self.store.finish(LevelRecord(level, states, *counts, more))
        self.share(more)

    def share(self, more: list[list[bytes]]) -> None:
        """Give values the next numbers of their columns."""
        if not any(more):
            return
        for column, values in enumerate(more):
            self.values[column] += values
        self.work.values.unpersist()
        self.work = replace(self.work, values=self.spark.sparkContext.broadcast(self.values))

    def expand_levels(self) -> None:
        """Expand one level after the other."""
        result = self.result
        while result.levels[-1]:
            self.report()
            if not self.expand_level():
                return
        self.complete()

    def expand_level(self) -> bool:
        """Expand the last level; return whether the search goes on."""
        result, level = self.result, len(self.result.levels)
        self.work = replace(self.work, level=level)
        self.store.write(self.new_states(level), level + 1)
        self.store.refuse_foreign_files(level + 1)
        tally, states = self.counted(level + 1)
        for text in tally.warned:
            warnings.warn(text, ExceptWarning, stacklevel=1)
        result.evaluations += tally.evaluations
        self.too_deep += tally.too_deep
        if (stop := self.first_wrong(level, tally)) is not None:
            self.judge_at(stop)
            return False
        if tally.expanded != result.levels[-1]:
            self.store.refuse_another_owner()
            counts = f"level {level} has {result.levels[-1]:,} states, and {tally.expanded:,} were expanded"
            raise GaveUpError(f"{self.store.uri}: {counts}; the same command does the level again")
        self.refuse_gainless(states, tally)
        result.depth = level
        result.generated += tally.generated
        result.distinct += states
        result.levels.append(states)
        self.finish_level(level + 1, states, brings_values=tally.new_values)
        return True

    def new_states(self, level: int) -> DataFrame:
        """Return the states that are new in the next level, and the tallies of the tasks that expand this one."""
        found = self.expanded(self.store.states().where(sql.col("level") == level), ExpandLevel(self.work))
        placed = found.repartition(self.parts, "fp", "fp2")
        order = Window.partitionBy("fp", "fp2").orderBy("path")
        first = placed.withColumn("place", sql.row_number().over(order)).where("place = 1").drop("place")
        return first.join(self.store.rows().select("fp", "fp2"), ["fp", "fp2"], "left_anti")

    def expanded(self, states: DataFrame, how: ExpandLevel) -> DataFrame:
        """Return what tasks make of states, which come in the order of their paths."""
        return states.select(*COLUMNS).sortWithinPartitions("path").mapInArrow(how, DDL)

    def counted(self, level: int) -> tuple[TaskCounts, int]:
        """Return what the tasks counted that made a level, and the number of states in it."""
        is_state = sql.col("tally").isNull()
        found = (
            self.store.rows()
            .where(sql.col("level") == level)
            .agg(sql.sum(is_state.cast("long")).alias("states"), sql.collect_list("tally").alias("tallies"))
            .first()
        )
        assert found is not None
        return _counts(found["tallies"]), int(found["states"] or 0)

    def refuse_unsuited(self, tally: TaskCounts) -> None:
        """Raise what a task could not go on for."""
        if tally.whole is not None:
            raise ShapeChangedError(tuple(decoded(tally.whole)))
        if tally.unsuited:
            raise UnsuitedError(tally.unsuited)

    def refuse_gainless(self, states: int, tally: TaskCounts) -> None:
        """Give the search up where many of the evaluations are new, as where a state is one part.

        Each worker evaluates what the others do, too, so the evaluations of one count.
        """
        result, workers = self.result, task_slots(self.spark)
        evaluations = result.evaluations / workers
        literal = self.tables.expander.literal_evaluations(result.distinct + states, result.generated + tally.generated)
        if evaluations > GAIN_CHECK and evaluations > MAX_EVALUATION_SHARE * literal:
            counts = (
                f"{evaluations:,.0f} evaluations in each worker, where a search state by state needs some {literal:,}"
            )
            raise UnsuitedError(f"its actions and properties read nearly as many values as it has states: {counts}")

    def report(self) -> None:
        """Report the progress."""
        if self.options.on_progress is not None:
            result, seconds = self.result, time.perf_counter() - self.begun
            counts = result.distinct, result.generated, result.levels[-1], len(result.levels), seconds
            self.options.on_progress(SearchProgress(*counts))

    # ---- Verdicts ----

    def complete(self) -> None:
        """Record that all states were seen, and check what must hold then."""
        violation, unchecked = self.judge.complete(None, lambda _: [])  # only of temporal properties it asks for steps
        self.result.complete, self.result.violation, self.result.unchecked = True, violation, unchecked

    def first_wrong(self, level: int, tally: TaskCounts) -> bytes | None:
        """Return the path of the first state that is wrong, or has a new successor that violates an invariant.

        A state is checked as it is expanded, so one that violates an invariant was found from the level before.
        """
        if tally.whole is not None or tally.unsuited:  # some tasks ended early: is the level without a violation?
            tally_of_level = self.checked(level, self.store.states().where(sql.col("level") == level))
            if tally_of_level.violating is None:
                self.refuse_unsuited(tally)
            tally = tally_of_level
        if tally.violating is not None:
            return parent(tally.violating)
        if tally.wrong is None:
            return None
        found = self.checked(level + 1, self.states_after(level, tally.wrong))
        return tally.wrong if found.violating is None else min(tally.wrong, parent(found.violating))

    def checked(self, level: int, states: DataFrame) -> TaskCounts:
        """Check the invariants of states of a level."""
        found = _counts_of(self.expanded(states, ExpandLevel(replace(self.work, level=level), checks_only=True)))
        self.refuse_unsuited(found)
        self.too_deep += found.too_deep
        return found

    def states_after(self, level: int, path: bytes) -> DataFrame:
        """Return the new states that come from those of a level before a path."""
        return self.store.states().where((sql.col("level") == level + 1) & (sql.col("path") < sql.lit(path)))

    def judge_at(self, stop: bytes) -> None:
        """Let the search state by state expand a state that is wrong, and take over what it finds.

        Raises:
            AssertionError: if that finds nothing.
        """
        result, way = self.result, places(stop)
        level = len(way)
        if not level:
            raise self.not_wrong()
        generated = self.store.record(level).generated
        work = replace(self.work, level=level)
        states = self.store.states().where((sql.col("level") == level) & (sql.col("path") < sql.lit(stop)))
        before = _counts_of(self.expanded(states, ExpandLevel(work, counts_only=True)))
        self.refuse_unsuited(before)
        generated += before.generated
        distinct = sum(result.levels[:level])
        new = self.states_after(level, stop).count()
        trace = self.judge.trace_of_places(way)
        known = self.known_before(trace[-1].state, level, stop)
        more, found, violation = self.judge.expand(trace, known)
        if violation is None:
            raise self.not_wrong()
        result.generated, result.distinct = generated + more, distinct + new + found
        result.levels = [*result.levels[:level], new + found]
        result.depth, result.violation = level + (new + found > 0), violation

    def not_wrong(self) -> Exception:
        """Return the error for a state that is wrong by the tables alone."""
        if self.too_deep or self.tables.expander.too_deep:
            return UnsuitedError(TOO_DEEP)
        return AssertionError("the tables find fault with a state in which the literal search finds none")

    def known_before(self, state: State, level: int, stop: bytes) -> Callable[[State], bool]:
        """Return the function that says of a successor of a state whether it was found before that is expanded."""
        pairs: list[tuple[int, int]] = []
        with suppress(TlaError):  # the judge meets it, too, after those before
            for _, _, after in self.spec.successors(state):
                if self.spec.constraint(after) and self.spec.action_constraint(state, after):
                    pairs += self.pair(after)
        before = (sql.col("level") <= level) | (sql.col("path") < sql.lit(stop))
        rows = self.store.states().where(before & sql.col("fp").isin([fp for fp, _ in pairs])).select("fp", "fp2")
        known = {(row["fp"], row["fp2"]) for row in rows.collect()}
        return lambda each: any(pair in known for pair in self.pair(each))

    def pair(self, state: State) -> list[tuple[int, int]]:
        """Return both fingerprints of a state, as Spark has them; nothing for one without, which no task has found."""
        try:
            first, second = self.tables.fingerprints(self.tables.layout.encode([state]))
        except (UnsuitedError, ShapeChangedError):
            return []
        return list(zip(first.view(np.int64).tolist(), second.view(np.int64).tolist(), strict=True))


def _counts(texts: list[bytes]) -> TaskCounts:
    return combined(msgspec.msgpack.decode(each, type=TaskCounts) for each in texts)


def _counts_of(rows: DataFrame) -> TaskCounts:
    """Return the tally of tasks that make nothing else."""
    return _counts([bytes(row["tally"]) for row in rows.select("tally").collect()])
