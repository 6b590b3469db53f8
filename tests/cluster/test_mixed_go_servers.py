"""Real Go servers of hashicorp/raft and servers of the reference in one group, as processes on this machine.

Source: the library itself, as the Go module that traces/recorders/hashicorp/go.mod pins.
"""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from raftref.hashicorp.membership import ChangeCommand
from tests.support.systems.mixed_raft import GO, PYTHON, Appender, MixedGroup, Shape

pytestmark = pytest.mark.nightly

#: A kind of servers that is so much slower than the other does not stand for election first.
SLOW = 4.0


def group(folder: Path, go: int, python: int, shape: Shape | None = None) -> MixedGroup:
    """Return a group that is not started: first the Go servers, then those of the reference."""
    kinds = [GO] * go + [PYTHON] * python
    return MixedGroup({f"n{number}": kind for number, kind in enumerate(kinds, start=1)}, folder, shape)


def go_leads(**others: object) -> Shape:
    return Shape(time_scales={GO: 1.0, PYTHON: SLOW}, **others)  # type: ignore[arg-type]


def python_leads(**others: object) -> Shape:
    return Shape(time_scales={GO: SLOW, PYTHON: 1.0}, **others)  # type: ignore[arg-type]


def values(prefix: str, count: int) -> list[str]:
    return [f"{prefix}{number}" for number in range(count)]


# ---- Elections and replication ---------------------------------------------------------------------------


@pytest.mark.parametrize(("prevote", "release"), [(True, "1.8.0"), (False, "1.8.0"), (True, "1.7.3")])
def test_go_leader_commits_with_the_acknowledgement_of_a_python_follower(
    tmp_path: Path, prevote: bool, release: str
) -> None:
    with group(tmp_path, 2, 1, go_leads(prevote=prevote, release=release)) as servers:
        servers.start("n1", "n2", "n3")
        leader = servers.leader()
        assert servers.kinds[leader] == GO
        first = servers.append(*values("a", 5))
        servers.kill(*{"n1", "n2"} - {leader})
        second = servers.append(*values("b", 5))
        servers.until_applied(first | second)
        assert 'pipelining replication: peer="{Voter n3' in servers.log(leader).read_text()
        actions = {step["action"] for step in servers.steps("n3")}
        assert {"AppendEntries", "ApplyFsm"} <= actions
        assert ("RequestPreVote" in actions) == prevote


@pytest.mark.parametrize("prevote", [True, False])
def test_python_server_is_voted_leader_by_go_servers_which_follow_it(tmp_path: Path, prevote: bool) -> None:
    with group(tmp_path, 2, 1, python_leads(prevote=prevote)) as servers:
        servers.start("n1", "n2", "n3")
        assert servers.leader() == "n3"
        first = servers.append(*values("a", 5))
        servers.kill("n1")
        second = servers.append(*values("b", 5))
        servers.until_applied(first | second)
        actions = {step["action"] for step in servers.steps("n3")}
        assert "HandleRequestVoteResponse" in actions
        assert ("HandleRequestPreVoteResponse" in actions) == prevote


@pytest.mark.parametrize("shape", [go_leads(), python_leads()], ids=[GO, PYTHON])
def test_a_leader_of_either_kind_stays_one_by_heartbeats_while_nobody_appends(tmp_path: Path, shape: Shape) -> None:
    with group(tmp_path, 2, 2, shape) as servers:
        servers.start(*servers.kinds)
        leader = servers.leader()
        servers.until(lambda: all((shown := servers.status(name)) and shown["term"] for name in servers.kinds))
        before = {name: (servers.status(name) or {})["term"] for name in servers.kinds}
        time.sleep(6)
        assert {name: (servers.status(name) or {})["term"] for name in servers.kinds} == before
        assert servers.leader() == leader


def test_requests_of_a_go_leader_bring_a_python_follower_batches(tmp_path: Path) -> None:
    with group(tmp_path, 2, 1, go_leads(max_append_entries=4)) as servers:
        servers.start("n1", "n2", "n3")
        servers.append("before")
        servers.kill("n3")
        appended = servers.append_together(values("a", 30))
        servers.start("n3")
        servers.until_applied(appended)
        taken = [step for step in servers.steps("n3") if step["action"] == "AppendEntries"]
        sizes = {len(step["args"]["m"]["entries"]) for step in taken if "entries" in step["args"]["m"]}
        assert max(sizes) == 4


def test_requests_of_a_python_leader_bring_a_go_follower_batches(tmp_path: Path) -> None:
    with group(tmp_path, 2, 1, python_leads(max_append_entries=4)) as servers:
        servers.start("n1", "n2", "n3")
        assert servers.leader() == "n3"
        servers.append("before")
        servers.kill("n1")
        appended = servers.append_together(values("a", 30))
        servers.start("n1")
        servers.until_applied(appended)
        sizes = {step["args"]["count"] for step in servers.steps("n3") if step["action"] == "ReplicateTo"}
        assert max(sizes) == 4


# ---- Snapshots -------------------------------------------------------------------------------------------


def test_python_leader_sends_a_lagging_go_follower_a_snapshot(tmp_path: Path) -> None:
    with group(tmp_path, 2, 1, python_leads(trailing_logs=1)) as servers:
        servers.start("n1", "n2", "n3")
        first = servers.append(*values("a", 3))
        servers.until_applied(first)
        servers.kill("n1")
        second = servers.append(*values("b", 20))
        assert servers.leader() == "n3"
        servers.ask("n3", "snapshot")
        servers.start("n1")
        servers.until_applied(first | second)
        assert "installed remote snapshot" in servers.log("n1").read_text().lower()
        assert "HandleInstallSnapshotResponse" in {step["action"] for step in servers.steps("n3")}
        servers.until_applied(servers.append("after"))


def test_go_leader_sends_a_lagging_python_follower_a_snapshot(tmp_path: Path) -> None:
    with group(tmp_path, 2, 1, go_leads(trailing_logs=1)) as servers:
        servers.start("n1", "n2", "n3")
        first = servers.append(*values("a", 3))
        servers.until_applied(first)
        servers.kill("n3")
        second = servers.append(*values("b", 20))
        servers.ask(servers.leader(), "snapshot")
        servers.start("n3")
        servers.until_applied(first | second)
        assert "InstallSnapshot" in {step["action"] for step in servers.steps("n3")}
        servers.until_applied(servers.append("after"))


# ---- Leadership transfers and members --------------------------------------------------------------------


def test_leadership_goes_from_go_to_python_and_back(tmp_path: Path) -> None:
    with group(tmp_path, 2, 1, go_leads()) as servers:
        servers.start("n1", "n2", "n3")
        assert servers.kinds[servers.leader()] == GO
        appended = servers.append("a")
        servers.transfer("n3")
        assert "TimeoutNow" in {step["action"] for step in servers.steps("n3")}
        appended |= servers.append("b")
        servers.transfer("n1")
        assert "SendTimeoutNow" in {step["action"] for step in servers.steps("n3")}
        appended |= servers.append("c")
        servers.until_applied(appended)


@pytest.mark.parametrize(
    ("shape", "joins"),
    [(go_leads(), "n4"), (python_leads(), "n2")],
    ids=["a Go leader and a Python server", "a Python leader and a Go server"],
)
def test_a_leader_of_either_kind_adds_and_removes_a_server_of_the_other(
    tmp_path: Path, shape: Shape, joins: str
) -> None:
    shape.voters = tuple({"n1", "n2", "n3", "n4"} - {joins})
    with group(tmp_path, 2, 2, shape) as servers:
        servers.start(*shape.voters)
        leader = servers.leader()
        assert servers.kinds[leader] != servers.kinds[joins]
        first = servers.append(*values("a", 5))
        servers.start(joins)
        servers.change(ChangeCommand.ADD_NONVOTER, joins)
        servers.until_applied(first, joins)
        servers.change(ChangeCommand.ADD_VOTER, joins)
        second = servers.append(*values("b", 5))
        servers.until_applied(first | second)
        for name in servers.kinds:
            servers.until(lambda name=name: (servers.status(name) or {})["voters"] == ["n1", "n2", "n3", "n4"])
        servers.change(ChangeCommand.REMOVE_SERVER, joins)
        third = servers.append("c")
        servers.until_applied(third, *shape.voters)
        servers.until(lambda: (servers.status(leader) or {})["voters"] == sorted(shape.voters))


# ---- Failures, and replacing servers ---------------------------------------------------------------------


def test_nothing_acknowledged_is_lost_while_servers_of_both_kinds_are_killed_and_come_back(tmp_path: Path) -> None:
    with group(tmp_path, 2, 2) as servers, Appender(servers) as client:
        servers.start(*servers.kinds)
        client.until_more()
        for name in servers.kinds:
            servers.kill(name)
            client.until_more()
            servers.start(name)
            client.until_more()
        killed_leaders = set()
        while {servers.kinds[name] for name in killed_leaders} != {GO, PYTHON}:
            leader = servers.leader()
            servers.kill(leader)
            killed_leaders.add(leader)
            client.until_more()
            servers.start(leader)
            other = PYTHON if servers.kinds[leader] == GO else GO
            servers.transfer(next(name for name in servers.kinds if servers.kinds[name] == other))
        client.stop()
        assert len(client.acknowledged) > 100
        servers.until_applied(client.acknowledged)
        for name in servers.running():
            client.check(servers.applied(name))


@pytest.mark.parametrize("kind", [GO, PYTHON])
def test_what_a_majority_of_one_kind_has_acknowledged_outlasts_the_death_of_all(tmp_path: Path, kind: str) -> None:
    other = PYTHON if kind == GO else GO
    with MixedGroup({"n1": kind, "n2": kind, "n3": other}, tmp_path) as servers:
        servers.start("n1", "n2", "n3")
        appended = servers.append(*values("a", 5))
        servers.kill("n3")
        appended |= servers.append(*values("b", 5))
        servers.kill("n1", "n2")
        servers.start("n1", "n2")
        servers.until_applied(appended)
        servers.start("n3")
        servers.until_applied(appended)


def test_nothing_acknowledged_is_lost_while_a_go_group_is_replaced_by_python_servers_and_back(tmp_path: Path) -> None:
    """The stores of the two kinds differ, so a server that takes another's place joins as a new member."""
    kinds = {f"n{number}": PYTHON if 4 <= number <= 6 else GO for number in range(1, 10)}
    with MixedGroup(kinds, tmp_path, Shape(voters=("n1", "n2", "n3"))) as servers:
        servers.start("n1", "n2", "n3")
        with Appender(servers) as client:
            client.until_more()
            for number in range(1, 7):
                goes, comes = f"n{number}", f"n{number + 3}"
                servers.start(comes)
                servers.change(ChangeCommand.ADD_VOTER, comes)
                client.until_more()
                servers.change(ChangeCommand.REMOVE_SERVER, goes)
                servers.kill(goes)
                client.until_more()
                if number == 3:
                    assert {servers.kinds[name] for name in servers.running()} == {PYTHON}
        assert servers.running() == ["n7", "n8", "n9"]
        servers.until_applied(client.acknowledged)
        for name in servers.running():
            client.check(servers.applied(name))


# ---- Clients ---------------------------------------------------------------------------------------------


def test_a_go_client_appends_through_a_python_leader(tmp_path: Path) -> None:
    with group(tmp_path, 2, 1, python_leads()) as servers:
        servers.start("n1", "n2", "n3")
        assert servers.leader() == "n3"
        words = [f"{servers.programs}/client", "-peers", servers.peers, *values("a", 5)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()
        assert [line.split(":")[0] for line in lines] == [f"n3 a{number}" for number in range(5)]
        indexes = {f"a{number}": int(line.split()[3].rstrip(",")) for number, line in enumerate(lines)}
        servers.until_applied(indexes)
