"""What SQL finds in the lines of traces, by what their systems declare: what must never be, and what is measured.

Nothing here asks the compiled spec. So what must never be is found twice, by the spec's property and here, and a
difference is a fault of one of the two.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from itertools import chain

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as sql

from lockstep.pipeline.store.schema import TABLES
from lockstep.systems.system import Facts, System
from lockstep.trace.trace_format import REFERENCE

__all__ = ["MEASURED", "facts_of", "rules_of"]

Keep = Callable[[DataFrame], DataFrame]

EVENTS, UNREAD, ELECTION = "events", "unread lines", "election"
LATENCY, TIME, CUT = "commit latency", "time in state", "cut entries"

#: That a term has two leaders.
TWO_LEADERS = "two leaders in a term"

#: What is measured, and what `name` and `value` of a row are.
MEASURED = {
    EVENTS: "name: the spec; value: the events of the trace that were read",
    UNREAD: "value: the lines that are neither header, event nor end",
    ELECTION: "name: the term in which the node was elected; value: 1",
    LATENCY: "name: the index of an entry that a leader appended; value: events of the trace until it regards it as "
    "committed in that term, null if never",
    TIME: "name: the state of what replicates to a peer; value: events of the trace that the leader was in it, of all "
    "peers together",
    CUT: "name: the action; value: by how many entries the log became shorter",
}

_ELECTED = "leads and not coalesce(before_leads, false)"


def rules_of(facts: Facts) -> dict[str, str]:
    """Return the property of the spec that says the same, by the name of each rule."""
    return {**{rule.name: rule.property for rule in facts.rules}, TWO_LEADERS: facts.one_leader}


def facts_of(lines: DataFrame, systems: Iterable[System], keep: Keep) -> DataFrame:
    """Return the facts of traces as rows of `facts`, one a thing that is broken or measured.

    A trace of which no reference wrote the events may show a field at some events and not at others, so nothing follows
    from what it shows: facts are those of the references' traces.

    Arguments: `lines`, of whole traces; `systems`, of which those that declare facts are asked; `keep`, which is given
    what several facts are made of, and returns it so that it is computed once.
    """
    specs = of_reference(lines)
    found = []
    for system in systems:
        if system.facts is not None:
            told = lines.where("seq > 0").join(specs.where(specs.spec == system.spec), "trace")
            found.append(_of_system(told, system.spec, system.facts, keep))
    return reduce(DataFrame.unionByName, found)


def of_reference(lines: DataFrame) -> DataFrame:
    """Return the traces that a reference wrote, each with its spec."""
    fields = {name: sql.get_json_object(sql.col("bytes").cast("string"), f"$.{name}") for name in ("spec", "system")}
    headers = lines.where("seq = 0").select("trace", *(field.alias(name) for name, field in fields.items()))
    return headers.where(headers.system == REFERENCE).select("trace", "spec")


def _of_system(lines: DataFrame, spec: str, facts: Facts, keep: Keep) -> DataFrame:
    schema = f"kind string, node string, action string, shows struct<{_struct(facts.shows)}>"
    parsed = lines.select("trace", "seq", sql.from_json(sql.col("bytes").cast("string"), schema).alias("event"))
    read = keep(parsed.select("trace", "seq", "event.*"))
    told = keep(_told(read.where("kind = 'event'"), facts))
    kinds = [
        _at_events(told, facts),
        _two_leaders(told, facts.one_leader),
        _latency(told),
        *_of_traces(told, read, spec, keep),
    ]
    return reduce(DataFrame.unionByName, kinds)


def _struct(columns: str) -> str:
    """Return columns as the fields of a struct: `name: type, ...`."""
    depth, parts = 0, [""]
    for sign in columns:
        depth += {"<": 1, ">": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += sign
    return ", ".join(":".join(part.split(maxsplit=1)) for part in parts)


def _told(events: DataFrame, facts: Facts) -> DataFrame:
    """Return the events with every column as its node has it after the event, and before it."""
    by_node = Window.partitionBy("trace", "node").orderBy("seq")
    until = by_node.rowsBetween(Window.unboundedPreceding, Window.currentRow)
    before = by_node.rowsBetween(Window.unboundedPreceding, -1)
    shown = events.select(
        "trace", "seq", "node", "action", *(sql.expr(how).alias(f"shown_{name}") for name, how in facts.columns.items())
    )
    return shown.select(
        "trace",
        "seq",
        "node",
        "action",
        sql.lead("seq").over(by_node).alias("next_seq"),
        *chain.from_iterable(
            (
                sql.last(f"shown_{name}", ignorenulls=True).over(until).alias(name),
                sql.last(f"shown_{name}", ignorenulls=True).over(before).alias(f"before_{name}"),
            )
            for name in facts.columns
        ),
    )


def _rows(
    frame: DataFrame, fact: str, property_: str | None = None, *, seq: str = "seq", name: str = "null", value: str
) -> DataFrame:
    """Return rows of `facts`: of a frame with trace and node, and what the others are in SQL."""
    told = {"seq": f"cast({seq} as bigint)", "name": f"cast({name} as string)", "value": f"cast({value} as bigint)"}
    fixed = sql.lit(fact).alias("fact"), sql.lit(property_).cast("string").alias("property")
    return frame.select("trace", *fixed, "node", *(sql.expr(how).alias(column) for column, how in told.items()))


def _case(condition: str, fact: str, property_: str | None, name: str, value: str) -> str:
    """Return SQL for what a row of `facts` says where a condition is true, null elsewhere."""
    of = "null" if property_ is None else f"'{property_}'"
    cells = f"'fact', '{fact}', 'property', cast({of} as string), 'name', cast({name} as string)"
    return f"if({condition}, named_struct({cells}, 'value', cast({value} as bigint)), null)"


def _at_events(told: DataFrame, facts: Facts) -> DataFrame:
    """Return what is broken at an event, who was elected, and what was cut."""
    cases = [_case(rule.broken, rule.name, rule.property, "action", "null") for rule in facts.rules]
    cases.append(_case(_ELECTED, ELECTION, None, "term", "1"))
    cases.append(_case("`end` < before_end", CUT, None, "action", "before_end - `end`"))
    found = sql.expr(f"explode(filter(array({', '.join(cases)}), each -> each is not null))").alias("found")
    each = told.select("trace", "node", "seq", found)
    return each.select("trace", "found.fact", "found.property", "node", "seq", "found.name", "found.value")


def _two_leaders(told: DataFrame, property_: str) -> DataFrame:
    """Return who was elected in a term that had another leader before."""
    of_term = Window.partitionBy("trace", "term").orderBy("seq")
    elected = told.where(_ELECTED).withColumn("first_node", sql.first("node").over(of_term))
    return _rows(elected.where("node <> first_node"), TWO_LEADERS, property_, name="term", value="null")


def _latency(told: DataFrame) -> DataFrame:
    """Return of every entry that a leader appended how long it took to be committed."""

    def indexes(column: str, what: str) -> str:
        rises = f"`{column}` > coalesce(before_{column}, -1)"
        listed = f"sequence(coalesce(before_{column}, -1) + 1, `{column}`)"
        return f"if({rises}, transform({listed}, at -> named_struct('at', at, 'what', '{what}')), array())"

    appended = f"if(before_leads, {indexes('end', 'appended')}, array())"
    both = f"explode(concat({appended}, {indexes('committed', 'committed')}))"
    each = told.where("leads").select("trace", "node", "term", "seq", sql.expr(both).alias("index"))
    first = (
        sql.min(sql.when(sql.col("index.what") == what, sql.col("seq"))).alias(what)
        for what in ("appended", "committed")
    )
    of_entry = (
        each.groupBy("trace", "node", "term", sql.col("index.at").alias("at")).agg(*first).where("appended is not null")
    )
    later = "if(committed >= appended, committed - appended, null)"
    return _rows(of_entry, LATENCY, seq="appended", name="at", value=later)


def _of_traces(told: DataFrame, read: DataFrame, spec: str, keep: Keep) -> Sequence[DataFrame]:
    """Return what was read of each trace, and how long its leaders were in which state towards their peers.

    A trace of which nothing was read has broken no rule.
    """
    is_event, is_line = sql.col("kind") == "event", sql.coalesce(sql.col("kind"), sql.lit("")).isin("event", "end")
    sums = read.groupBy("trace").agg(
        sql.count(sql.when(is_event, 1)).alias("events"),
        sql.count(sql.when(~is_line, 1)).alias("unread"),
        sql.max(sql.when(is_event, sql.col("seq"))).alias("last_seq"),
    )
    sums = keep(sums.withColumn("node", sql.lit(None).cast("string")))
    lasting = told.where("leads").join(sums.select("trace", "last_seq"), "trace")
    lasts = sql.expr("coalesce(next_seq, last_seq + 1) - seq").alias("events")
    each = lasting.select("trace", "node", lasts, sql.explode("states").alias("peer", "state"))
    times = each.groupBy("trace", "node", "state").agg(sql.sum("events").alias("events"))
    return (
        _rows(sums, EVENTS, seq="null", name=f"'{spec}'", value="events"),
        _rows(sums.where("unread > 0"), UNREAD, seq="null", value="unread"),
        _rows(times, TIME, seq="null", name="state", value="events"),
    )


assert TABLES["facts"].names == ["trace", "fact", "property", "node", "seq", "name", "value"]
