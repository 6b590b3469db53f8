"""The stage that finds facts of traces in SQL, and holds those that must never be against the spec's properties."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

from lockstep.base.characters import counted
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.pipeline.stages.facts.in_sql import EVENTS, LATENCY, UNREAD, facts_of, rules_of
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store, hash_of
from lockstep.pipeline.work.batches import at_once
from lockstep.pipeline.work.derive import Derived
from lockstep.pipeline.work.traces import Known
from lockstep.systems.opening import opened
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.system import System
from lockstep.trace.format import REFERENCE

#: So many traces are named of which SQL and the spec say different things.
_FEW = 20

_FINDING = "array<struct<kind: string, name: string, line: bigint>>"


def facts(spark: SparkSession, store: Store, run: str, say: Say = silent) -> None:
    """Write the facts of the traces of a run; batches of which they are there are not read again.

    Raises StageFailed where a batch cannot be finished.
    """
    declared = {name: repr(system.facts) for name, system in SYSTEMS.items()}
    table = Derived(spark, store, run, "facts", hash_of(version("lockstep-raft"), declared))

    def work(batch: Batch, lines: DataFrame, known: Mapping[str, Known]) -> None:
        systems = _told({trace: each.header for trace, each in known.items()})
        kept: list[DataFrame] = []

        def keep(frame: DataFrame) -> DataFrame:
            kept.append(frame.persist())
            return kept[-1]

        try:
            found = facts_of(lines, systems, keep) if systems else spark.createDataFrame([], ddl(TABLES["facts"]))
            table.write(found, batch)
        finally:
            for frame in reversed(kept):  # what is made of another goes before that
                frame.unpersist()

    # Its own tasks keep some cores busy, and Spark keeps what it reads of a batch in memory until that is written.
    table.make("facts", work, say, most=at_once(spark, least=1))


def _told(headers: Mapping[str, bytes | None]) -> list[System]:
    """Return the systems that declare facts, and whose reference wrote one of the traces with these headers."""
    names = set()
    for trace, header in headers.items():
        try:
            read = opened([header or b""], trace).header
        except Exception:  # its verdict says so
            continue
        if read.system == REFERENCE:
            names.add(read.spec)
    return [system for name, system in SYSTEMS.items() if name in names and system.facts is not None]


@dataclass(slots=True)
class Agreement:
    """What SQL and the spec say of the same traces.

    `counts` are of each fact how many rows and how many traces there are, and the property that says the same;
    `events` how many events were read. `differing` are traces of which the two say different things, and what.
    """

    counts: list[dict[str, Any]] = field(default_factory=list)
    events: int = 0
    unread: int = 0
    compared: int = 0
    differing: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> Verdict:
        """Internal where the two differ: one of them is wrong; inconclusive where nothing was read."""
        if self.differing:
            return Verdict.INTERNAL
        return Verdict.HOLDS if self.events else Verdict.INCONCLUSIVE


def agreement(spark: SparkSession, store: Store, run: str) -> Agreement:
    """Hold the facts of a run against its verdicts: what breaks a rule violates the property, first at the same event.

    Only traces that were checked to their end, in the variant of their lines, say something of that.
    """
    found = store.read(spark, "facts", run, store.batches("facts", run))
    sums = found.groupBy("fact", "property").agg(
        sql.count(sql.lit(1)).alias("rows"), sql.countDistinct("trace").alias("traces"), sql.sum("value").alias("sum")
    )
    rows = [row.asDict() for row in sums.orderBy("fact", "property").collect()]
    of = {row["fact"]: row["sum"] for row in rows}
    counts = [{key: row[key] for key in ("fact", "property", "rows", "traces")} for row in rows]
    verdicts = store.read(spark, "verdicts", run, store.batches("verdicts", run))
    both = _beside(found, verdicts)
    differing = both.where("not (in_sql <=> in_spec)").select("trace", "property", "in_sql", "in_spec")
    told = [_differs(row.asDict()) for row in differing.orderBy("trace", "property").limit(_FEW).collect()]
    return Agreement(counts, of.get(EVENTS) or 0, of.get(UNREAD) or 0, both.count(), told)


def _beside(found: DataFrame, verdicts: DataFrame) -> DataFrame:
    """Return of each trace and property the line at which SQL, and the spec, find it broken first; null: never."""
    findings = verdicts.select("trace", "variant", "verdict", sql.from_json("findings", _FINDING).alias("findings"))
    ended = findings.where("verdict in ('holds', 'violated')").where(
        "not exists(findings, each -> each.kind <> 'property')"
    )
    systems = [
        (name, rule)
        for name, system in SYSTEMS.items()
        if system.facts is not None
        for rule in sorted(set(rules_of(system.facts).values()))
    ]
    known = found.sparkSession.createDataFrame(systems, "spec string, property string")
    read = found.where(sql.col("fact") == EVENTS).select("trace", "variant", sql.col("name").alias("spec"))
    asked = ended.select("trace", "variant").join(read, ["trace", "variant"]).join(sql.broadcast(known), "spec")
    keys = ["trace", "variant", "property"]
    broken = found.where("property is not null").groupBy(*keys).agg((sql.min("seq") + 1).alias("in_sql"))
    violated = ended.select("trace", "variant", sql.explode("findings").alias("each"))
    by_spec = violated.select("trace", "variant", sql.col("each.name").alias("property"), "each.line")
    by_spec = by_spec.groupBy(*keys).agg(sql.min("line").alias("in_spec"))
    return asked.join(broken, keys, "left").join(by_spec, keys, "left")


def _differs(row: dict[str, Any]) -> str:
    lines = {name: f"line {row[name]}" if row[name] else "nowhere" for name in ("in_sql", "in_spec")}
    return (
        f"{row['trace']}: {row['property']}: SQL finds it broken at {lines['in_sql']}, the spec at {lines['in_spec']}"
    )


def latencies(spark: SparkSession, store: Store, run: str) -> list[dict[str, Any]]:
    """Return how many entries took how many events until they were committed: from `least` to `most`; null: never.

    What lies between two powers of two is counted together.
    """
    found = store.read(spark, "facts", run, store.batches("facts", run)).where(sql.col("fact") == LATENCY)
    low = sql.expr("case when value < 1 then 0L else shiftleft(1L, length(bin(value)) - 1) end")
    rows = found.groupBy(low.alias("least")).agg(sql.count(sql.lit(1)).alias("entries")).collect()
    spans = [(row["least"], row["entries"]) for row in rows]
    known = [(least, 2 * least - 1 if least else 0, entries) for least, entries in spans if least is not None]
    never = [(None, None, entries) for least, entries in spans if least is None]
    return [{"least": least, "most": most, "entries": entries} for least, most, entries in [*sorted(known), *never]]


def as_text(found: Agreement) -> Iterable[str]:
    """Yield what was found, a line each."""
    from lockstep.report.text_table import table

    rows = [(each["fact"], each["property"] or "-", each["rows"], each["traces"]) for each in found.counts]
    yield table(("fact", "property", "rows", "traces"), rows)
    events, times = counted(found.events, "event"), counted(found.compared, "time")
    yield f"facts of {events}; {times} a rule was held against the spec's property"
    if found.unread:
        yield f"{counted(found.unread, 'line is', 'lines are')} neither header, event nor end"
    yield from (f"they differ: {each}" for each in found.differing)
