"""The clusters that a run simulates, and the commands that reproduce them."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.jobs.fleet import judge_cluster
from lockstep.pipeline.generate_stage import DECLARED, Clusters
from lockstep.pipeline.stored_traces import SimulatedCluster, StoredRun, replay_command, simulated_cluster
from lockstep.pipeline.trace_store import TraceStore, checked_name
from lockstep.systems.registry import simulators
from lockstep.systems.trace_files import cluster_trace


def test_every_plan_runs_with_every_seed_in_every_variant_and_each_batch_has_a_name_of_its_own() -> None:
    clusters = Clusters(("ordered", "raft"), range(3, 6), 20_000, (DECLARED, "repaired"))
    batches = list(clusters.batches())
    assert sum(len(each) for _, each in batches) == len(clusters) == 12
    assert {(batch.variant, *each) for batch, clusters in batches for each in clusters} == {
        (variant, plan, seed)
        for variant in (DECLARED, "repaired")
        for plan in ("ordered", "raft")
        for seed in (3, 4, 5)
    }
    assert len({batch.name for batch, _ in batches}) == len(batches) > 2
    assert [batch for batch, _ in clusters.batches()] == [batch for batch, _ in batches]
    longer = Clusters(("ordered", "raft"), range(3, 6), 20_001, (DECLARED, "repaired"))
    assert not {batch.name for batch, _ in batches} & {batch.name for batch, _ in longer.batches()}


@pytest.mark.parametrize("system", {each[0].spec: each for each in simulators().values()}.values())
def test_a_variant_replaces_the_flaws_of_a_plan_and_nothing_else(system: tuple[object, ...]) -> None:
    plan = next(name for name, each in simulators().items() if each == system and name in each[1].verified)
    headers = {variant: cluster_trace(plan, 1, 1, variant=variant)[0] for variant in ("", "published", "repaired")}
    published, repaired = headers["published"].constants, headers["repaired"].constants
    differing = {name for name in published if published[name] != repaired[name]}
    assert len(differing) >= 10
    assert {(published[name], repaired[name]) for name in differing} == {("published", "repaired")}
    own = headers[""].constants
    assert {name for name in own if own[name] != published[name]} <= differing
    with pytest.raises(BadInputError, match=r"no plan of .* that can be run in the variant 'perhaps'"):
        cluster_trace(plan, 1, 1, variant="perhaps")


def test_the_variant_says_whether_a_property_may_fail_in_a_cluster() -> None:
    finding = Finding("property", "DL109", "CommittedEntriesStayProp", 7, 6, "n1", "Restart")
    found = TraceVerdict("x", Verdict.VIOLATED, "it fails", events=9, steps=9, observed=9, findings=[finding])
    judged = {
        (plan, form): judge_cluster(plan, found, 9, form)[0]
        for plan in ("ordered", "published")
        for form in ("", "published", "repaired")
    }
    assert judged == {
        ("ordered", ""): Verdict.VIOLATED,
        ("ordered", "published"): Verdict.HOLDS,
        ("ordered", "repaired"): Verdict.VIOLATED,
        ("published", ""): Verdict.HOLDS,
        ("published", "published"): Verdict.HOLDS,
        ("published", "repaired"): Verdict.VIOLATED,
    }


@pytest.mark.parametrize("variant", ["", "repaired"])
def test_the_source_of_a_cluster_is_the_command_that_simulates_it(variant: str) -> None:
    source = SimulatedCluster("five", 7, 60, variant).command()
    cluster = simulated_cluster(source)
    assert cluster is not None
    assert tuple(cluster) == ("five", 7, 60, variant)
    file = "five-repaired-7.trace.ndjson" if variant else "five-7.trace.ndjson"
    assert replay_command(StoredRun("file:///s", "r"), "t", source, ("--switch", "repaired")) == (
        f"{source} -o . && lockstep check --switch repaired {file}"
    )
    assert simulated_cluster("/logs/lockstep simulate.ndjson") is None


def test_the_command_that_replays_a_stored_trace_quotes_what_a_shell_would_read() -> None:
    command = replay_command(StoredRun("file:///my store", "r"), "a/b c.ndjson.gz", "/in/b c", ())
    first, _, second = command.partition(" && ")
    words = shlex.split(first)
    assert words[:6] == ["lockstep", "pipeline", "trace", "/my store", "r", "a/b c.ndjson.gz"]
    assert shlex.split(second) == ["lockstep", "check", words[-1]]


# ---- The store ----


def test_a_folder_that_is_no_store_or_one_of_another_version_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="there is no store"):
        TraceStore.open(str(tmp_path))
    TraceStore.open(str(tmp_path / "new"), create=True)
    assert TraceStore.open(str(tmp_path / "new")).runs() == []
    (tmp_path / "new" / "_lockstep.json").write_text('{"format": "lockstep-store/7"}')
    with pytest.raises(BadInputError, match="the store is 'lockstep-store/7'; this program reads 'lockstep-store/1'"):
        TraceStore.open(str(tmp_path / "new"), create=True)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("hello\n")
    with pytest.raises(BadInputError, match=r"the folder has files and no _lockstep\.json"):
        TraceStore.open(str(tmp_path / "letters"), create=True)


@pytest.mark.parametrize("name", ["", "a/b", "../x", "a b", "=x", "_hidden", "x" * 300])
def test_a_name_that_cannot_be_a_folder_is_refused(name: str) -> None:
    with pytest.raises(BadInputError, match="is no name of a run"):
        checked_name(name, "run")
    assert checked_name("night-2026.05", "run") == "night-2026.05"


def test_a_batch_without_its_marks_is_not_there(tmp_path: Path) -> None:
    store = TraceStore.open(str(tmp_path / "s"), create=True)
    for name, marks in (("whole", ["_SUCCESS", "_files-1-5"]), ("begun", []), ("unnoted", ["_SUCCESS"])):
        folder = tmp_path / "s" / "lines" / "run=r" / f"variant={DECLARED}" / f"batch={name}"
        folder.mkdir(parents=True)
        (folder / "part-0.parquet").write_bytes(b"12345")
        for mark in marks:
            (folder / mark).touch()
    assert [(each.name, each.bytes) for each in store.batches("lines", "r")] == [("whole", 5)]
    store.sweep("lines", "r")
    assert [path.name for path in (tmp_path / "s" / "lines" / "run=r" / f"variant={DECLARED}").iterdir()] == [
        "batch=whole"
    ]
