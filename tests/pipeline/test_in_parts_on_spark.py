"""Traces that the pipeline cuts get the verdicts that it gives to whole ones; and what else it finds in traces."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from pyspark.sql import DataFrame, SparkSession

from cut_traces import Cut, changed, of_events
from lockstep.base.paths import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.check import check_trace
from lockstep.jobs.spark.session import spark_session
from lockstep.pipeline.against import AS_TOLD
from lockstep.pipeline.replay import stored_counterexample
from lockstep.pipeline.session import SETTINGS
from lockstep.pipeline.stages import windows as windows_stage
from lockstep.pipeline.stages.check import check
from lockstep.pipeline.stages.counterexamples import counterexamples, listed
from lockstep.pipeline.stages.facts import stage
from lockstep.pipeline.stages.facts.in_sql import EVENTS, LATENCY, MEASURED, TIME, TWO_LEADERS, rules_of
from lockstep.pipeline.stages.facts.stage import agreement, facts
from lockstep.pipeline.stages.windows import Passes, windows
from lockstep.pipeline.store.schema import TABLES, ddl
from lockstep.pipeline.store.store import Batch, Store
from lockstep.pipeline.work.derive import Derived
from lockstep.pipeline.work.traces import Known
from lockstep.systems.opening import opened
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.specs import system_of, trace_spec
from lockstep.systems.traces import write_cluster
from simulated_traces import simulated
from stores import BATCH, RUN, rows_of, stored, verdicts

#: The parts themselves are tested without Spark in every run: test_windows.py.
pytestmark = pytest.mark.nightly

COUNTEREXAMPLES = {
    path.name.partition(".")[0]: path.read_bytes().splitlines(keepends=True)
    for path in sorted((traces_dir() / "counterexamples").rglob("*.trace.ndjson"))
}


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    settings = {**SETTINGS, "spark.sql.execution.arrow.maxRecordsPerBatch": "37"}
    with spark_session("local[2,4]", "lockstep-test", settings=settings) as session:
        yield session


def holding() -> Cut:
    return of_events(simulated()[0], simulated()[1][:120])


def with_lie(cut: Cut, line: int) -> list[bytes]:
    def lie(text: bytes) -> bytes:
        tree = msgspec.json.decode(text)
        return msgspec.json.encode({**tree, "shows": {**tree["shows"], "currTerm": 77}}) + b"\n"

    return changed(cut, line, lie).lines


def of_all_kinds() -> dict[str, list[bytes]]:
    """Traces that hold, violate, leave the spec, are malformed, or lack a line."""
    cut = holding()
    lines = cut.lines
    return {
        "holds": lines,
        "violates": COUNTEREXAMPLES["stale_install"],
        "leaves": with_lie(cut, 75),
        "malformed": [*lines[:80], b"{]\n", *lines[81:]],
        "cut": lines[:90],
        "short": [*lines[:10], b'{"kind":"end","events":9}\n'],
        "no header": lines[1:],
    }


def states_in(spark: SparkSession, store: Store) -> list[tuple[str, int]]:
    return sorted((row["trace"], row["seq"]) for row in rows_of(spark, store, "states"))


@pytest.mark.parametrize("ahead", [True, False])
def test_traces_that_are_cut_get_the_verdicts_of_whole_ones(spark: SparkSession, tmp_path: Path, ahead: bool) -> None:
    """The pass that finds where to cut is a stage of its own, or a part of the check, as when all stages are run."""
    traces = of_all_kinds()
    whole, parted = (stored(spark, tmp_path / name, traces) for name in ("store", "parted"))
    check(spark, whole, RUN)
    if ahead:
        windows(spark, parted, RUN, AS_TOLD, every=20)
    check(spark, parted, RUN, passes=None if ahead else Passes(spark, parted, RUN, AS_TOLD, every=20))
    cuts = states_in(spark, parted)
    assert [seq for trace, seq in cuts if trace == "holds"] == [20, 40, 60, 80, 100, 120]
    assert {trace for trace, _ in cuts} == {"holds", "violates", "leaves", "malformed", "cut"}
    found = verdicts(spark, parted)
    assert {trace: row["verdict"] for trace, row in found.items()} == {
        **dict.fromkeys(("holds", "short"), "holds"),
        **dict.fromkeys(("violates", "leaves"), "violated"),
        **dict.fromkeys(("malformed", "cut", "no header"), "malformed"),
    }
    for row in (expected := verdicts(spark, whole)).values():
        row["replay"] = row["replay"].replace(str(tmp_path / "store"), str(tmp_path / "parted"))
    assert found == expected


def test_a_trace_is_cut_where_one_core_would_be_busy_with_it_longer_than_all_with_all(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is cut into few parts: what a part does before its first event grows with history."""
    monkeypatch.setattr(windows_stage, "_LEAST", 10)
    lines = holding().lines
    short = [*lines[:16], b'{"kind":"end","events":15}\n']
    store = stored(spark, tmp_path / "store", {"long": lines, "short": short})
    frame = stored(spark, tmp_path / "more", dict.fromkeys("abcdefgh", lines)).read(spark, "lines", RUN, [BATCH])
    others = Batch(BATCH.variant, "others")
    store.write(frame.drop("run", "variant", "batch"), "lines", RUN, others)
    check(spark, store, RUN, passes=Passes(spark, store, RUN, AS_TOLD))
    assert {row["verdict"] for row in verdicts(spark, store).values()} == {"holds"}
    assert states_in(spark, store) == []  # the others keep the other core busy
    for made in store.batches("verdicts", RUN):
        if made.of == BATCH.name:
            store.remove("verdicts", RUN, made)
    check(spark, store, RUN, passes=Passes(spark, store, RUN, AS_TOLD))
    assert {row["verdict"] for row in verdicts(spark, store).values()} == {"holds"}
    assert states_in(spark, store) == [("long", seq) for seq in (15, 30, 45, 60, 75, 90, 105, 120)]


def test_with_a_limit_of_time_every_long_trace_is_cut_and_what_windows_found_is_used(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else whether a trace is checked in time would depend on what other traces there are, and on the cores."""
    monkeypatch.setattr(windows_stage, "_LEAST", 10)
    timed, asked = (stored(spark, tmp_path / name, dict.fromkeys("abc", holding().lines)) for name in ("t", "w"))
    check(spark, timed, RUN, passes=Passes(spark, timed, RUN, AS_TOLD, seconds=60), seconds=60)
    assert states_in(spark, timed) == [(trace, seq) for trace in "abc" for seq in range(10, 121, 10)]
    windows(spark, asked, RUN, AS_TOLD, every=60)
    check(spark, asked, RUN, passes=Passes(spark, asked, RUN, AS_TOLD))
    assert states_in(spark, asked) == [(trace, seq) for trace in "abc" for seq in (60, 120)]


def test_states_in_the_store_that_are_not_those_of_the_trace_are_never_a_pass(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Planted: each state is that of the next cut; one is no state; of one trace the states are another trace's."""
    lines = holding().lines
    store = stored(spark, tmp_path / "store", dict.fromkeys(("shifted", "broken", "missing"), lines))
    windows(spark, store, RUN, AS_TOLD, every=20)
    (batch,) = store.batches("states", RUN)
    rows = rows_of(spark, store, "states")
    by_seq = {row["seq"]: row for row in rows if row["trace"] == "shifted"}
    for row in rows:
        if row["trace"] == "shifted":
            row["state"] = by_seq.get(row["seq"] + 20, by_seq[20])["state"]
        if row["trace"] == "broken" and row["seq"] == 60:
            row["state"] = row["state"][:-1]
    kept = [row for row in rows if row["trace"] != "missing" or row["seq"] != 60]
    columns = TABLES["states"].names
    frame = spark.createDataFrame([tuple(row[name] for name in columns) for row in kept], ddl(TABLES["states"]))
    frame = frame.localCheckpoint()
    store.write(frame, "states", RUN, batch)
    check(spark, store, RUN)
    found = verdicts(spark, store)
    assert {trace: row["verdict"] for trace, row in found.items()} == {
        "shifted": "inconclusive",
        "broken": "inconclusive",
        "missing": "holds",  # it is cut at one place less
    }
    assert "they differ in" in found["shifted"]["reason"]
    assert "is not there" in found["broken"]["reason"]


def test_lines_that_the_store_has_lost_or_twice_are_malformed_in_parts_too(spark: SparkSession, tmp_path: Path) -> None:
    lines = holding().lines
    stores = [stored(spark, tmp_path / name, dict.fromkeys("abc", lines)) for name in ("whole", "parted")]
    windows(spark, stores[1], RUN, AS_TOLD, every=20)
    for store in stores:
        frame = store.read(spark, "lines", RUN, [BATCH]).drop("run", "variant", "batch").localCheckpoint()
        lost = frame.where("not (trace = 'a' and seq = 40 or trace = 'b' and seq = 41)")
        store.write(lost.unionByName(frame.where("trace = 'c' and seq = 61")), "lines", RUN, BATCH)
        check(spark, store, RUN)
    whole, parted = (
        {trace: (row["verdict"], row["reason"], row["events"]) for trace, row in verdicts(spark, each).items()}
        for each in stores
    )
    ends = {trace: (verdict, events) for trace, (verdict, _, events) in whole.items()}
    assert ends == {"a": ("malformed", 39), "b": ("malformed", 40), "c": ("malformed", 61)}
    assert parted == whole


# ---- Facts ----


def clusters(folder: Path, *plans: tuple[str, int, int]) -> dict[str, list[bytes]]:
    return {
        f"{plan}-{seed}": write_cluster(folder, plan, seed, events).read_bytes().splitlines(keepends=True)
        for plan, seed, events in plans
    }


def facts_in(spark: SparkSession, folder: Path, traces: dict[str, list[bytes]]) -> Store:
    store = stored(spark, folder, traces)
    check(spark, store, RUN)
    facts(spark, store, RUN)
    return store


def test_batches_that_are_under_way_at_once_have_the_facts_that_each_has_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a cluster of forty cores; and nothing of them is kept in memory afterwards."""
    traces = clusters(tmp_path, ("published", 1, 400), ("raft_whole_published", 1, 400))
    names = ("first", "second", "third")
    store = Store.open(str(tmp_path / "store"), create=True)
    batches = [Batch("told", name) for name in names]
    store.put_inputs(RUN, "ingest", batches, {})
    for batch in batches:
        alone = stored(spark, tmp_path / batch.name, {f"{batch.name} {trace}": each for trace, each in traces.items()})
        store.write(alone.read(spark, "lines", RUN, [BATCH]).drop("run", "variant", "batch"), "lines", RUN, batch)
        facts(spark, alone, RUN)
    before = in_memory(spark)  # other tests leave theirs until Python collects its garbage
    under_way: list[int] = []
    monkeypatch.setattr(stage, "at_once", lambda *_, **__: under_way.append(2) or 2)
    facts(spark, store, RUN)
    assert under_way == [2]
    expected = [row for name in names for row in rows_of(spark, Store.open(str(tmp_path / name)), "facts")]
    assert len(expected) > 100
    assert sorted(map(repr, rows_of(spark, store, "facts"))) == sorted(map(repr, expected))
    assert in_memory(spark) <= before


def test_a_batch_under_way_does_not_wait_for_all_tasks_of_one_that_was_asked_for_before(
    spark: SparkSession, tmp_path: Path
) -> None:
    """The only task of a long trace is to start while the tasks of many short ones wait."""
    store = Store.open(str(tmp_path / "store"), create=True)
    batches = [Batch("told", name) for name in ("many", "one")]
    store.put_inputs(RUN, "ingest", batches, {})
    lines = stored(spark, tmp_path / "lines", {"a": holding().lines}).read(spark, "lines", RUN, [BATCH])
    for batch in batches:
        store.write(lines.drop("run", "variant", "batch"), "lines", RUN, batch)
    surveyed, runs = threading.Barrier(2), tmp_path / "runs"
    ends: list[str] = []

    def task(_: int) -> None:
        runs.touch()
        time.sleep(0.5)

    def work(batch: Batch, _lines: DataFrame, _known: Mapping[str, Known]) -> None:
        surveyed.wait(60)
        many = batch.of == "many"
        while not many and not runs.exists():
            time.sleep(0.01)
        tasks = 16 if many else 1
        spark.sparkContext.parallelize(range(tasks), tasks).foreach(task)
        ends.append(batch.of)

    Derived(spark, store, RUN, "facts", "made").make("facts", work, most=2)
    assert ends == ["one", "many"]


def in_memory(spark: SparkSession) -> set[int]:
    """Return the numbers of what Spark keeps in memory."""
    return set(spark.sparkContext._jsc.getPersistentRDDs().keySet())


def violated(lines: list[bytes]) -> dict[str, int]:
    """The rules that the spec finds violated, by its property, and where."""
    trace = opened(lines, "t")
    spec, system = trace_spec(trace.header, "t"), system_of(trace.header, "t")
    assert system.facts is not None
    names = set(rules_of(system.facts).values())
    found = check_trace(trace, spec, system.interface(spec)).violations
    return {name: each.line for name, each in found.items() if name in names}


def test_what_breaks_a_rule_violates_the_property_first_at_the_same_line(spark: SparkSession, tmp_path: Path) -> None:
    """On all counterexamples, and on simulated clusters with every flaw."""
    plans = [
        (plan, seed, 1500)
        for plan in ("published", "raft_snapshots_published", "raft_whole_published")
        for seed in (1, 2)
    ]
    traces = {**COUNTEREXAMPLES, **clusters(tmp_path, *plans)}
    store = facts_in(spark, tmp_path / "store", traces)
    rows = rows_of(spark, store, "facts")
    broken: dict[str, dict[str, int]] = {}
    for row in rows:
        if row["property"] is not None:
            of = broken.setdefault(row["trace"], {})
            of[row["property"]] = min(of.get(row["property"], row["seq"] + 1), row["seq"] + 1)
    assert broken == {trace: found for trace, lines in traces.items() if (found := violated(lines))}
    assert {name for each in broken.values() for name in each} == {
        *("IndexOrder", "AppliedIsCommitted", "ElectionSafety", "CommittedMonotonicProp"),
        *("FsmNeverGoesBackProp", "SnapshotsRiseProp"),
    }
    told = agreement(spark, store, RUN)
    assert told.verdict is Verdict.HOLDS
    assert told.compared > len(traces)
    assert {row["trace"]: row["value"] for row in rows if row["fact"] == EVENTS} == {
        trace: len(lines) - 2 for trace, lines in traces.items()
    }


#: Lies that break each rule: the spec of the system, what an event shows, in the place of what the rule asks for.
LIES = {
    "DLedger": {
        "committed falls": {"committedIndex": -2},
        "index order": {"lastQuorumIndex": 10**6},
        "applied is committed": {"lastAppliedIndex": 10**6},
    },
    "HashicorpRaft": {
        "commitIndex falls": {"commitIndex": -1},
        "index order": {"commitIndex": 10**6},
        "term falls": {"currentTerm": 0},
        "FSM goes back": {"fsm": {"index": -1}},
        "snapshot falls": {"lastSnapshot": {"index": -1}},
    },
}


def test_every_rule_is_broken_by_a_lie_and_by_nothing_else(spark: SparkSession, tmp_path: Path) -> None:
    plan = {"DLedger": "ordered", "HashicorpRaft": "raft"}
    honest = {spec: clusters(tmp_path, (plan[spec], 1, 300)).popitem()[1] for spec in LIES}
    traces = dict(honest)
    for spec, lies in LIES.items():
        declared = SYSTEMS[spec].facts
        assert declared is not None
        assert lies.keys() == {rule.name for rule in declared.rules}
        for rule, shows in lies.items():
            lines = list(honest[spec])
            tree = msgspec.json.decode(lines[200])
            lines[200] = msgspec.json.encode({**tree, "shows": {**tree["shows"], **shows}}) + b"\n"
            traces[f"{spec}: {rule}"] = lines
    rows = rows_of(spark, facts_in(spark, tmp_path / "store", traces), "facts")
    broken = {(row["trace"], row["fact"], row["seq"]) for row in rows if row["property"] is not None}
    for spec, lies in LIES.items():
        assert not [each for each in broken if each[0] == spec]
        for rule in lies:
            assert (f"{spec}: {rule}", rule, 200) in broken


def test_a_difference_between_sql_and_the_spec_is_found(spark: SparkSession, tmp_path: Path) -> None:
    """Planted: the facts of one counterexample are lost, and another trace has one that is none."""
    traces = {name: COUNTEREXAMPLES[name] for name in ("vote_file", "prior_term_commit", "stale_install")}
    store = facts_in(spark, tmp_path / "store", traces)
    assert agreement(spark, store, RUN).differing == []
    (batch,) = store.batches("facts", RUN)
    kept = store.read(spark, "facts", RUN, [batch]).drop("run", "variant", "batch").localCheckpoint()
    wrong = spark.createDataFrame(
        [("prior_term_commit", "index order", "IndexOrder", "n1", 9, None, None)], ddl(TABLES["facts"])
    )
    store.write(kept.where(f"fact <> '{TWO_LEADERS}'").unionByName(wrong), "facts", RUN, batch)
    told = agreement(spark, store, RUN)
    assert told.verdict is Verdict.INTERNAL
    assert told.differing == [
        "prior_term_commit: IndexOrder: SQL finds it broken at line 10, the spec at nowhere",
        "vote_file: ElectionSafety: SQL finds it broken at nowhere, the spec at line 9",
    ]


def test_measures_are_those_that_are_counted_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    """Of one leader: its entry 0 is appended by event 3 and committed by event 5; then it leads for two events more."""

    def event(seq: int, action: str, **shows: object) -> bytes:
        tree = {"kind": "event", "seq": seq, "node": "n1", "action": action, "args": {}, "shows": shows}
        return msgspec.json.encode(tree) + b"\n"

    state = {"n2": {"type": "COMPARE"}}, {"n2": {"type": "APPEND"}}
    lines = [
        holding().lines[0],
        event(0, "NextTerm", role="CANDIDATE", currTerm=1, ledgerEndIndex=-1, committedIndex=-1),
        event(1, "ChangeToLeader", role="LEADER", dispatchers=state[0]),
        event(2, "AppendAsLeader", ledgerEndIndex=0),
        event(3, "DoCompare", dispatchers=state[1]),
        event(4, "QuorumAckChecker", committedIndex=0),
        event(5, "AppendAsLeader", ledgerEndIndex=1),
        event(6, "Crash", role="DOWN", ledgerEndIndex=0),
        b"what is this\n",
        b'{"kind":"end","events":8}\n',
    ]
    rows = rows_of(spark, facts_in(spark, tmp_path / "store", {"t": lines}), "facts")
    told = {(row["fact"], row["name"], row["seq"], row["value"]) for row in rows}
    assert told == {
        ("events", "DLedger", None, 7),
        ("unread lines", None, None, 1),
        ("election", "1", 2, 1),
        (LATENCY, "0", 3, 2),
        (LATENCY, "1", 6, None),
        (TIME, "COMPARE", None, 2),
        (TIME, "APPEND", None, 3),
        ("cut entries", "Crash", 7, 1),
    }
    assert {row["fact"] for row in rows} == set(MEASURED)


# ---- Counterexamples ----


def test_each_signature_has_a_counterexample_that_is_minimal(spark: SparkSession, tmp_path: Path) -> None:
    """Two traces with the same violation make one signature, of which the shorter one is taken."""
    lines = COUNTEREXAMPLES["vote_file"]
    longer = clusters(tmp_path, ("published", 2, 1500))
    traces = {"vote_file": lines, "again": lines, "lie": with_lie(holding(), 75), "holds": holding().lines}
    store = stored(spark, tmp_path / "store", {**traces, **longer})
    check(spark, store, RUN)
    counterexamples(spark, store, RUN, AS_TOLD, seconds=20)
    found = {row["signature"]: row for row in listed(spark, store, RUN)}
    assert found.keys() >= {"LS202-" + msgspec.json.decode(traces["lie"][74])["action"]}
    of_votes = [row for signature, row in found.items() if signature.startswith("VoteOncePerTermProp")]
    assert [(row["traces"], row["is_minimal"]) for row in of_votes] == [(2, True)]
    for signature, row in found.items():
        again = stored_counterexample(store, RUN, signature).splitlines(keepends=True)
        assert len(again) - 2 == row["events"]
        trace = opened(again, signature)
        spec = trace_spec(trace.header, signature)
        verdict = check_trace(trace, spec, system_of(trace.header, signature).interface(spec))
        assert (row["name"], row["action"]) in {
            (each.name if each.kind == "property" else each.code, each.action) for each in verdict.findings
        }
        assert row["events"] <= row["line"] - 1
        assert f"pipeline counterexample {store.place.path} {RUN} {signature} " in row["replay"]
    before = listed(spark, store, RUN)
    counterexamples(spark, store, RUN, AS_TOLD, seconds=20)
    assert listed(spark, store, RUN) == before
