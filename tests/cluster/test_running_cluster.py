"""Groups of real processes on this machine: commands, faults, and the verdict on what the nodes recorded."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockstep.cli.client_command import command as client_command
from lockstep.cli.cluster_command import command as cluster_command
from lockstep.cli.node_command import command as node_command
from lockstep.cluster import group_session
from lockstep.cluster.node_processes import free_addresses
from tests.support.programs.processes import running_nodes, wait_until

NODE = [sys.executable, "-m", "lockstep", "node"]

#: The commands of a short run: the leader dies, entries are appended without it, and it comes back.
COMMANDS = """
append a b   # a leader is elected first
wait 1
status
kill n1
append c
start n1
cut n2
append d
heal
wait 2
append e
get 0
bogus
slow n1 n1 1
kill n9
status
"""


@pytest.mark.nightly
def test_a_group_of_processes_takes_commands_and_what_it_did_holds_in_the_spec(tmp_path: Path) -> None:
    (tmp_path / "commands.txt").write_text(COMMANDS)
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "lockstep", "cluster", "3", "-o", str(folder), "--time-scale", "0.15"]
    done = subprocess.run(
        [*words, "--commands", str(tmp_path / "commands.txt")], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    appended = [line for line in lines if line.startswith("append") and "index" in line]
    assert len(appended) >= 4, done.stdout
    assert "get 0: a of term " in done.stdout
    assert "bogus: 'bogus' is no command; `help` lists them" in lines
    assert "slow n1 n1 1: a node has no link to itself" in lines
    assert "kill n9: 'n9' is none of n1, n2, n3" in lines
    assert any(line.startswith("n1 role") and "committedIndex" in line for line in lines)
    assert "holds: a behaviour of the spec" in lines[-1]
    events = [json.loads(line) for line in (folder / "group.trace.ndjson").read_text().splitlines()[1:-1]]
    taken = {event["action"] for event in events}
    assert {"Crash", "Restart", "HandleDoAppend", "QuorumAckChecker", "HandleVote"} <= taken
    assert len(events) > 150
    assert running_nodes(folder) == []


def test_ctrl_c_stops_all_nodes_and_the_verdict_is_printed(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = [sys.executable, "-m", "lockstep", "cluster", "3", "-o", str(folder), "--time-scale", "0.15"]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        end = time.monotonic() + 30
        while len(running_nodes(folder)) < 3 and time.monotonic() < end:
            time.sleep(0.1)
        assert len(running_nodes(folder)) == 3
        time.sleep(2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert running_nodes(folder) == []
    assert process.returncode == 0, out + err
    assert "holds: a behaviour of the spec" in out.splitlines()[-1]
    assert err == ""


def test_a_group_in_which_a_node_cannot_start_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: another process listens where n2 is to listen."""
    places = free_addresses(3)
    (tmp_path / "commands.txt").write_text("append a\nstatus\n")
    with socket.socket() as taken:
        taken.bind(places[1])
        taken.listen()
        monkeypatch.setattr(group_session, "free_addresses", lambda _: places)
        words = ["3", "-o", str(tmp_path / "run"), "--time-scale", "0.15", "--commands", str(tmp_path / "commands.txt")]
        done = CliRunner().invoke(cluster_command, words, standalone_mode=False)
    assert done.return_value == 3, done.output
    assert "append a: index 0" in done.output
    assert "inconclusive: n2 ended by itself, exit code 3: " in done.output.splitlines()[-1]
    assert running_nodes(tmp_path) == []


def ask(said: list[str], *words: str) -> str:
    """Let a client ask a group, and note what it printed."""
    said.append(CliRunner().invoke(client_command, words, standalone_mode=False).output)
    return said[-1]


def test_a_client_appends_to_nodes_that_were_started_by_hand(tmp_path: Path) -> None:
    places = free_addresses(3)
    peers = ";".join(f"n{number}={host}:{port}" for number, (host, port) in enumerate(places, start=1))
    nodes = [
        subprocess.Popen(
            [*NODE, f"n{number}", peers, "--dir", str(tmp_path / f"n{number}"), "--time-scale", "0.15"],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for number in (1, 2, 3)
    ]
    try:
        said: list[str] = []
        assert wait_until(lambda: "NOT_LEADER" not in ask(said, peers, "append", "x")), said
        assert wait_until(lambda: "NOT_LEADER" not in ask(said, peers, "append", "y")), said
        assert said[-1].startswith("append y: index 1, term "), said
        read = CliRunner().invoke(client_command, [peers, "get", "1", "5"], standalone_mode=False)
        assert read.output.splitlines()[0].startswith("get 1: y of term ")
        assert (read.return_value, read.output.splitlines()[1]) == (1, "get 5: refused, INDEX_OUT_OF_RANGE")
    finally:
        for node in nodes:
            node.terminate()
        outputs = [node.communicate(timeout=10)[0] for node in nodes]
    assert [node.returncode for node in nodes] == [0, 0, 0]
    assert all("has stopped" in output for output in outputs)


def test_a_group_without_nodes_refuses_a_client(tmp_path: Path) -> None:
    ((host, port),) = free_addresses(1)
    done = CliRunner().invoke(client_command, [f"n1={host}:{port}", "append", "x"], standalone_mode=False)
    assert done.return_value == 1
    assert done.output == "append x: refused, NOT_LEADER\n"


#: A server of hashicorp/raft, which has choices that a node of DLedger has not.
RAFT_NODE = ("n1", "n1=127.0.0.1:1", "--dir", "x", "--system", "HashicorpRaft")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("n4", "n1=127.0.0.1:1;n2=127.0.0.1:2", "--dir", "x"), "n4 is none of the members"),
        (("n1", "n1=127.0.0.1:99999", "--dir", "x"), "is no NAME=HOST:PORT"),
        (("n1", "n1=127.0.0.1:1;n1=127.0.0.1:2", "--dir", "x"), "n1 is named twice"),
        (("n1", "n1=127.0.0.1:1", "--dir", "x", "--flaw", "LateTruncat"), "'LateTruncat' is none of"),
        (("n1", "n1=127.0.0.1:1", "--dir", "x", "--system", "Paxos"), "'Paxos' is none of"),
        (("n1", "n1=127.0.0.1:1"), "--dir"),
        (("n1", "n1=127.0.0.1:1", "--dir", "x", "--voter", "n1"), "this system, which has no such choice"),
        ((*RAFT_NODE, "--voter", "n2"), "'n2' is none of n1"),
        ((*RAFT_NODE, "--without", "Snapshots"), "'Snapshots' is none of PreVote"),
        ((*RAFT_NODE, "--setting", "trailing=1"), "'trailing' is none of heartbeat_timeout"),
        ((*RAFT_NODE, "--setting", "trailing_logs=0.5"), "no whole number from 1 to"),
        ((*RAFT_NODE, "--setting", "rpc_timeout=nan"), "no number from 0 to"),
    ],
)
def test_wrong_words_for_a_node_are_refused(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(node_command, words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


def test_a_folder_that_is_not_empty_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = CliRunner().invoke(cluster_command, ["3", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "is not empty" in " ".join(done.output.split())
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
