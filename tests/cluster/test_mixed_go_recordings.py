"""Mixed groups of Go servers and servers of the reference, recorded by both and checked against the spec.

The Go servers are of v1.7.3, the release that the spec is of, or of the newest one; the Python servers have its flaws.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.cluster.watched_group import GroupWatch, WatchedGroup
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.systems.file_check import check
from lockstep.systems.node_recorder import MergeOptions
from raftref.hashicorp.membership import ChangeCommand
from tests.support.systems.go_programs import SOURCES, skip_unless_fetched
from tests.support.systems.mixed_raft import GO, PYTHON, Appender, MixedGroup, Shape

pytestmark = pytest.mark.nightly


def group(
    folder: Path,
    kinds: Sequence[str],
    *,
    faster: str,
    trailing_logs: int = 10240,
    voters: tuple[str, ...] = (),
    release: str = "1.7.3",
) -> MixedGroup:
    """Return a group that is not started, in which servers of one kind stand for election first."""
    scales = {kind: 1.0 if kind == faster else 4.0 for kind in (GO, PYTHON)}
    shape = Shape(voters, release=release, recorded=True, time_scales=scales, trailing_logs=trailing_logs)
    return MixedGroup({f"n{number}": kind for number, kind in enumerate(kinds, start=1)}, folder, shape)


def merge(files: Sequence[Path], into: Path) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "lockstep", "merge", *map(str, files), "-o", str(into)]
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)


def recording(servers: MixedGroup) -> Path:
    """Stop all servers, and return their recording."""
    servers.stop(*servers.running())
    merged = servers.folder / "merged.ndjson"
    done = merge(servers.records(), merged)
    assert done.returncode == 0, done.stderr
    return merged


def verdict(path: Path) -> TraceVerdict:
    found = check(path)
    assert found.verdict is not Verdict.HOLDS or found.events > 50
    return found


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def kinds_of(path: Path, node: str) -> set[object]:
    return {line["kind"] for line in lines(path) if line.get("node") == node}


@pytest.mark.parametrize(("faster", "release"), [(GO, "1.7.3"), (PYTHON, "1.7.3"), (GO, "1.8.0")])
def test_elections_appends_and_transfers_of_a_mixed_group_hold_in_the_spec(
    tmp_path: Path, faster: str, release: str
) -> None:
    with group(tmp_path, [GO, GO, PYTHON], faster=faster, release=release) as servers:
        servers.start("n1", "n2", "n3")
        appended = servers.append("a", "b", "c")
        servers.transfer("n2")
        servers.transfer("n3")
        appended |= servers.append("d", "e")
        servers.transfer("n1")
        appended |= servers.append("f")
        servers.until_applied(appended)
        path = recording(servers)
    found = verdict(path)
    assert found.verdict is Verdict.HOLDS, found
    assert {line["node"] for line in lines(path) if line.get("state") == "Leader"} == {"n1", "n2", "n3"}
    assert {"n1", "n2", "n3"} == {line["node"] for line in lines(path) if line.get("pipelined")}
    assert {line["node"] for line in lines(path) if line.get("beside")} <= {"n1", "n2"}
    for node in ("n1", "n3"):
        assert {"send", "recv", "respond", "reply_recv", "store_logs", "fsm_apply"} <= kinds_of(path, node)


@pytest.mark.parametrize("kinds", [[GO, GO, PYTHON], [PYTHON, PYTHON, GO]], ids="/".join)
def test_killed_servers_and_snapshots_of_a_mixed_group_hold_in_the_spec(tmp_path: Path, kinds: list[str]) -> None:
    """The server of the kind that is alone is killed, lags, and gets a snapshot of the other kind's leader."""
    with group(tmp_path, kinds, faster=kinds[0], trailing_logs=1) as servers:
        servers.start("n1", "n2", "n3")
        appended = servers.append("a", "b", "c")
        servers.kill("n3")
        appended |= servers.append(*(f"d{number}" for number in range(10)))
        leader = servers.leader()
        servers.ask(leader, "snapshot")
        servers.start("n3")
        servers.until_applied(appended)
        servers.kill(leader)
        appended |= servers.append("e")
        servers.start(leader)
        servers.until_applied(appended)
        path = recording(servers)
    found = verdict(path)
    assert found.verdict is Verdict.HOLDS, found
    taken = [line for line in lines(path) if line["kind"] == "recv" and line["msg"] == "InstallSnapshot"]
    assert "n3" in {line["node"] for line in taken}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [("fsm_apply", '"v":"a"', '"v":"z"'), ("store_logs", '"t":2', '"t":9')],
    ids=["a command is another one where it is applied", "an entry is stored with another term"],
)
def test_a_changed_line_of_either_kind_of_server_does_not_hold(tmp_path: Path, kind: str, old: str, new: str) -> None:
    with group(tmp_path, [GO, GO, PYTHON], faster=GO) as servers:
        servers.start("n1", "n2", "n3")
        servers.until_applied(servers.append("a", "b", "c"))
        path = recording(servers)
    assert verdict(path).verdict is Verdict.HOLDS
    text = path.read_text().splitlines()
    for node in ("n1", "n3"):
        place = next(
            k
            for k, line in enumerate(lines(path))
            if (line["kind"], line.get("node")) == (kind, node) and old in text[k]
        )
        other = tmp_path / f"{node}-changed.ndjson"
        other.write_text("\n".join([*text[:place], text[place].replace(old, new), *text[place + 1 :]]) + "\n")
        assert verdict(other).verdict is Verdict.VIOLATED


def test_a_step_after_which_a_python_server_showed_something_else_is_refused(tmp_path: Path) -> None:
    with group(tmp_path, [GO, GO, PYTHON], faster=GO) as servers:
        servers.start("n1", "n2", "n3")
        servers.until_applied(servers.append("a"))
        recording(servers)
    path = servers.records()[2]
    steps = path.read_text().splitlines()
    place = next(k for k, line in enumerate(steps) if '"action":"AppendEntries"' in line)
    step = json.loads(steps[place])
    step["shows"]["lastIndex"] += 1
    path.write_text("\n".join([*steps[:place], json.dumps(step), *steps[place + 1 :]]) + "\n")
    done = merge(servers.records(), tmp_path / "again.ndjson")
    assert done.returncode == 2
    assert "AppendEntries: lastIndex is" in done.stderr


def test_a_mixed_group_whose_servers_are_killed_while_a_client_appends_holds_in_the_spec(tmp_path: Path) -> None:
    with group(tmp_path, [GO, GO, PYTHON], faster=GO) as servers:
        servers.start("n1", "n2", "n3")
        with Appender(servers) as client:
            client.until_more()
            for name in ("n3", servers.leader(), "n3"):
                servers.kill(name)
                client.until_more()
                servers.start(name)
                client.until_more()
            servers.transfer("n3")
            client.until_more()
            servers.kill("n3")
            client.until_more()
            servers.start("n3")
        servers.until_applied(client.acknowledged)
        path = recording(servers)
    found = verdict(path)
    assert found.verdict is Verdict.HOLDS, found
    assert found.events > 1000


def test_members_that_leaders_of_either_kind_add_and_remove_hold_in_the_spec(tmp_path: Path) -> None:
    """A Go leader adds and removes a Python server, and a Python leader a Go server."""
    kinds = [GO, GO, PYTHON, PYTHON, GO]
    with group(tmp_path, kinds, faster=GO, voters=("n1", "n2", "n3")) as servers:
        servers.start("n1", "n2", "n3")
        appended = servers.append("a")
        for leader, other in (("n1", "n4"), ("n3", "n5")):
            servers.transfer(leader)
            servers.start(other)
            servers.change(ChangeCommand.ADD_VOTER, other)
            appended |= servers.append(f"with-{other}")
            servers.until_applied(appended)
            servers.change(ChangeCommand.REMOVE_SERVER, other)
            appended |= servers.append(f"without-{other}")
            servers.stop(other)
        servers.until_applied(appended)
        path = recording(servers)
    found = verdict(path)
    assert found.verdict is Verdict.HOLDS, found
    stored = [line for line in lines(path) if line.get("by") == "dispatchLogs<appendConfigurationEntry"]
    assert [line["node"] for line in stored] == ["n1", "n1", "n3", "n3"]


@pytest.mark.parametrize("leader", ["n1", "n3"], ids=[GO, PYTHON])
def test_a_leader_of_either_kind_that_removes_itself_holds_in_the_spec(tmp_path: Path, leader: str) -> None:
    with group(tmp_path, [GO, GO, PYTHON, PYTHON], faster=GO) as servers:
        servers.start("n1", "n2", "n3", "n4")
        servers.transfer(leader)
        appended = servers.append("a")
        servers.until_applied(appended)
        servers.change(ChangeCommand.REMOVE_SERVER, leader)
        servers.until(lambda: servers.leader() != leader)
        appended |= servers.append("b")
        servers.until_applied(appended, *{*servers.kinds} - {leader})
        path = recording(servers)
    found = verdict(path)
    assert found.verdict is Verdict.HOLDS, found


def test_a_real_group_is_checked_while_it_runs_and_a_server_is_killed(tmp_path: Path) -> None:
    findings: list[Finding] = []
    over = threading.Event()
    with group(tmp_path, [GO, GO, GO], faster=GO, release="1.8.0") as servers:
        watch = GroupWatch(servers.records(), MergeOptions(), {}, tmp_path / "group.ndjson")
        watched = WatchedGroup(watch, over.is_set, findings.append)
        with ThreadPoolExecutor() as pool:
            running = pool.submit(watched.run)
            servers.start("n1", "n2", "n3")
            servers.append("a", "b", "c")
            servers.kill("n3")
            servers.append("d", "e")
            servers.start("n3")
            servers.until_applied(servers.append("f"))
            servers.until(lambda: watched.checked > 100 or running.done())
            assert not running.done(), running.result()
            servers.stop(*servers.running())
            over.set()
            found = running.result(timeout=300)
    assert (found.verdict, findings) == (Verdict.HOLDS, []), found
    whole = check(tmp_path / "group.ndjson")
    assert (whole.verdict, whole.events) == (Verdict.HOLDS, found.events)


@pytest.mark.parametrize("leader", ["n1", "n3"], ids=[GO, PYTHON])
def test_members_without_a_vote_and_barriers_hold_in_the_spec(tmp_path: Path, leader: str) -> None:
    """A leader of either kind demotes a server of the other kind, promotes it, removes it, adds it without a vote."""
    other = {"n1": "n3", "n3": "n1"}[leader]
    with group(tmp_path, [GO, GO, PYTHON], faster=GO) as servers:
        servers.start("n1", "n2", "n3")
        servers.transfer(leader)
        appended = servers.append("a")
        for command in (
            ChangeCommand.DEMOTE_VOTER,
            ChangeCommand.ADD_VOTER,
            ChangeCommand.REMOVE_SERVER,
            ChangeCommand.ADD_NONVOTER,
        ):
            servers.change(command, other)
            servers.ask(leader, "barrier")
            appended |= servers.append(f"after-{command}")
        servers.until_applied(appended)
        path = recording(servers)
    found = verdict(path)
    assert found.verdict is Verdict.HOLDS, found
    stored = [entry for line in lines(path) if line["kind"] == "store_logs" for entry in line["entries"]]  # type: ignore[attr-defined]
    assert {entry["type"] for entry in stored} == {"Command", "Noop", "Configuration", "Barrier"}
    assert any("~" in entry["v"] for entry in stored if entry["type"] == "Configuration")


def test_batches_of_a_group_of_go_servers_hold_in_the_spec(tmp_path: Path) -> None:
    """Several requests of a pipeline are under way, and heartbeats come beside the main loop."""
    with group(tmp_path, [GO, GO, GO], faster=GO, release="1.8.0") as servers:
        servers.start("n1", "n2", "n3")
        appended = servers.append("a")
        for batch in range(4):
            appended |= servers.append_together([f"{batch}-{number}" for number in range(20)])
        time.sleep(0.5)
        servers.until_applied(appended)
        path = recording(servers)
    found = verdict(path)
    assert found.verdict is Verdict.HOLDS, found
    assert sum(line.get("pipelined", False) is True for line in lines(path)) > 10
    assert any(line.get("beside") for line in lines(path))
    for record in servers.records():
        beside = [line for line in lines(record) if line.get("beside")]
        received, answered = ([line["rpc"] for line in beside if line["kind"] == kind] for kind in ("recv", "respond"))
        assert received == list(range(1, len(received) + 1)), record
        assert set(answered) <= set(received), record


def test_questions_and_the_commit_index_that_a_log_store_keeps_hold_in_the_spec(tmp_path: Path) -> None:
    """Source: v1.8.0, VerifyLeader, RestoreCommittedLogs and liveBootstrap, in tests of Go (recorder/group_test.go)."""
    if shutil.which("go") is None:
        pytest.skip("Go is missing")
    words = ["go", "test", "-mod=readonly", "-count=1", "./recorder"]
    given = {**os.environ, "RECORDED": str(tmp_path)}
    done = subprocess.run(words, cwd=SOURCES, env=given, capture_output=True, text=True, timeout=600, check=False)
    skip_unless_fetched(done)
    assert done.returncode == 0, done.stdout + done.stderr
    path = tmp_path / "group.recording"
    for files in ("live-n?.ndjson", "n?.ndjson"):  # the first were bootstrapped as they ran
        merged = merge(sorted(tmp_path.glob(files)), path)
        assert merged.returncode == 0, merged.stderr
        found = verdict(path)
        assert found.verdict is Verdict.HOLDS, found
    whole = lines(path)
    answers = [line["ok"] for line in whole if line["kind"] == "verify_resp"]
    assert answers == [True, False, True]
    (start,) = [k for k, line in enumerate(whole) if line["kind"] == "start" and line["inc"] == 2]
    refused = next(k for k, line in enumerate(whole) if line["kind"] == "verify_resp" and not line["ok"])
    for place, name, change in ((start, "storedCommit", None), (refused, None, {"ok": True, "err": None})):
        changed = json.loads(json.dumps(whole))
        if change is None:
            changed[place]["persisted"]["commit"] -= 1
        else:
            changed[place] |= change
        other = tmp_path / "other.recording"
        other.write_text("".join(json.dumps(line) + "\n" for line in changed))
        lied = verdict(other)
        assert lied.verdict is Verdict.VIOLATED
        assert lied.deviation is not None
        assert name is None or lied.deviation.name == name
