"""Groups of real processes on this machine: commands, faults, and the verdict on what the nodes recorded."""

from __future__ import annotations

import asyncio
import io
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lockstep.base.errors import GaveUpError
from lockstep.cli.chaos_command import command as chaos_command
from lockstep.cli.client_command import command as client_command
from lockstep.cli.cluster_command import _typed_lines
from lockstep.cli.cluster_command import command as cluster_command
from lockstep.cli.node_command import command as node_command
from lockstep.cluster import group_session, live_check, node_processes
from lockstep.cluster.group_session import GroupOptions, GroupSession
from lockstep.cluster.network_links import Links
from lockstep.cluster.node_process import run_node
from lockstep.cluster.node_processes import NodeProcesses, free_addresses
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeKind, NodeOptions
from raftref.dledger.client_messages import ResponseCode
from raftref.dledger.runtime.client import Client, RequestRefusedError
from raftref.hashicorp.runtime.client import RaftClient, RequestFailedError
from raftref.runtime.driver import NodeStep
from tests.support.programs.processes import hear, kill, running_nodes, wait_until

FIXED = "a group of DLedger has the members that it was started with"
NODE = [sys.executable, "-m", "lockstep", "node"]
CLUSTER = [sys.executable, "-m", "lockstep", "cluster"]
DLEDGER = SYSTEMS["DLedger"]

#: The commands of a short run: the leader dies, entries are appended without it, and it comes back.
COMMANDS = """
append a b
wait 1
status
pause n3
wait 1.5
resume n3
append p
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
    words = [*CLUSTER, "3", "-o", str(folder), "--commands", str(tmp_path / "commands.txt"), "--time-scale", "0.15"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    appended = [line for line in lines if line.startswith("append") and "index" in line]
    assert len(appended) >= 2, done.stdout  # on a slow machine some come too late
    assert any(line.startswith("get 0: ") for line in lines)
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


def line_count(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def step_files_of(folder: Path) -> list[Path]:
    return [folder / f"n{number}.steps.ndjson" for number in (1, 2, 3)]


def test_ctrl_c_ends_a_command_stops_all_nodes_and_the_verdict_is_printed(tmp_path: Path) -> None:
    folder, commands = tmp_path / "run", tmp_path / "commands.txt"
    commands.write_text("wait 3600\nappend a\n")
    words = [*CLUSTER, "3", "-o", str(folder), "--commands", str(commands), "--time-scale", "0.15"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear)
    try:
        # What a node does first of all is no event, what it does next is.
        assert wait_until(lambda: all(line_count(path) > 2 for path in step_files_of(folder)))
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert running_nodes(folder) == []
    assert process.returncode == 0, out + err
    assert "holds: a behaviour of the spec" in out.splitlines()[-1]
    assert "append" not in out
    assert err == ""


#: A command that gets a signal while a link between its nodes passes something on.
SIGNAL_IN_A_LINK = """
import os, sys
from lockstep.cluster import network_links
number = int(sys.argv.pop(1))

def requests(*_):
    network_links._Blind.requests = lambda *_: None
    os.kill(os.getpid(), number)

network_links._Blind.requests = requests
from lockstep.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (signal.SIGINT, ("chaos", "--real", "--runs", "2")),
        (signal.SIGHUP, ("cluster", "3")),
    ],
)
def test_a_signal_ends_a_group_whatever_its_command_is_doing(
    number: int, words: tuple[str, ...], tmp_path: Path
) -> None:
    """An exception there would end the task of a connection, and the command would go on."""
    command = [sys.executable, "-c", SIGNAL_IN_A_LINK, str(int(number)), *words, "-o", str(tmp_path / "run")]
    # It has no command as long as nobody types one.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear
    ) as process:
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
            left = running_nodes(tmp_path)
            kill(left)
    assert (process.returncode, err, left) == (128 + number, "interrupted\n", [])


def session(folder: Path, say: Callable[[str], None] = lambda _: None) -> GroupSession:
    assert DLEDGER.running is not None
    return GroupSession(DLEDGER, DLEDGER.running(), GroupOptions(3, folder, NodeKind(), 0.15), say)


def test_ctrl_c_during_the_check_of_what_is_left_ends_it_without_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The nodes do not start, and the check never ends by itself."""
    goes_on = threading.Event()
    monkeypatch.setattr(live_check, "compiled", lambda *_: goes_on.wait())
    monkeypatch.setattr(NodeProcesses, "start", lambda *_: None)

    async def commands() -> AsyncIterator[str]:
        yield "quit"

    async def run() -> TraceVerdict:
        interrupts = asyncio.Semaphore(0)

        def say(line: str) -> None:
            if line.startswith("checking: "):
                interrupts.release()

        return await asyncio.wait_for(session(tmp_path / "run", say).run(commands(), interrupts), 30)

    verdict = asyncio.run(run())
    goes_on.set()
    assert verdict.verdict.exit_code == 3
    assert verdict.reason.startswith("interrupted when 0 events had been checked")


def test_a_group_in_which_a_node_cannot_start_is_no_pass(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The planted mistake: another process listens where n2 is to listen."""
    places, folder = free_addresses(3), tmp_path / "run"

    async def commands() -> AsyncIterator[str]:
        while len(running_nodes(folder)) == 3:
            await asyncio.sleep(0.1)
        yield "status"

    with socket.socket() as taken:
        taken.bind(places[1])
        taken.listen()
        monkeypatch.setattr(group_session, "free_addresses", lambda _: places)
        verdict = asyncio.run(session(folder).run(commands()))
    assert verdict.verdict.exit_code == 3, verdict
    assert verdict.reason.startswith("n2 ended by itself, exit code 3: ")
    assert verdict.events > 0
    assert running_nodes(tmp_path) == []


def test_a_process_that_ended_by_itself_is_not_forgotten_when_its_node_starts_again(tmp_path: Path) -> None:
    with NodeProcesses({"n1": ["--no-such-option"]}, tmp_path) as group:
        group.start("n1")
        assert wait_until(lambda: not group.is_running("n1"))
        group.start("n1")
        group.kill("n1")
        group.start("n1")
        assert group.ended_by_themselves()["n1"].startswith("n1 ended by itself, exit code 2: ")


def test_a_group_in_which_a_node_hangs_as_it_is_asked_to_stop_is_no_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here because n1 was started to ignore SIGTERM, as no node is."""
    start, folder = NodeProcesses.start, tmp_path / "run"
    monkeypatch.setattr(node_processes, "PATIENCE", 3.0)

    def started(group: NodeProcesses, node: str) -> None:
        before = signal.signal(signal.SIGTERM, signal.SIG_IGN if node == "n1" else signal.SIG_DFL)
        try:
            start(group, node)
        finally:
            signal.signal(signal.SIGTERM, before)

    async def commands() -> AsyncIterator[str]:
        yield "quit"

    monkeypatch.setattr(NodeProcesses, "start", started)
    verdict = asyncio.run(session(folder).run(commands()))
    assert verdict.verdict.exit_code == 3, verdict
    assert "n1 did not stop within 3 s, and was killed" in verdict.reason
    assert running_nodes(folder) == []


def test_processes_that_are_stopped_have_not_ended_by_themselves_but_those_that_failed_meanwhile_have(
    tmp_path: Path,
) -> None:
    (host, port), (_, other) = free_addresses(2)
    words = {"n1": ["n1", f"n1={host}:{port}"], "n2": ["n2", f"n2={host}:{other}"], "n3": ["--no-such-option"]}
    group = NodeProcesses({node: [*each, "--dir", str(tmp_path / node)] for node, each in words.items()}, tmp_path)
    with group:
        group.start("n1")
        assert wait_until(lambda: "listens on" in (tmp_path / "n1.log").read_text())
        group.start("n2")  # and is stopped before it is a node
        group.start("n3")
        assert wait_until(lambda: not group.is_running("n3"))
    assert [*group.ended_by_themselves()] == ["n3"]


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
        assert wait_until(lambda: ask(said, peers, "append", "x").startswith("append x: index ")), said
        assert wait_until(lambda: ask(said, peers, "append", "y").startswith("append y: index ")), said
        index = said[-1].split()[3].rstrip(",")
        assert wait_until(lambda: ask(said, peers, "get", index).startswith(f"get {index}: y of term ")), said
        assert ask(said, peers, "remove", "n1") == f"remove n1: refused, {FIXED}\n"
        assert wait_until(lambda: ask(said, peers, "get", "999") == "get 999: refused, INDEX_OUT_OF_RANGE\n"), said
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
    assert done.output == "append x: refused, NETWORK_ERROR\n"


@pytest.mark.parametrize("is_uncertain", [True, False])
@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_a_client_that_cannot_know_whether_its_entry_will_be_committed_says_so(
    spec: str, monkeypatch: pytest.MonkeyPatch, *, is_uncertain: bool
) -> None:
    async def dledger(*_: object) -> None:
        raise RequestRefusedError(ResponseCode.TERM_CHANGED, is_uncertain=is_uncertain)

    async def hashicorp(*_: object) -> None:
        raise RequestFailedError("ErrLeadershipLost", is_uncertain=is_uncertain)

    monkeypatch.setattr(Client, "append", dledger)
    monkeypatch.setattr(RaftClient, "apply", hashicorp)
    words = ["n1=127.0.0.1:1", "append", "x", "--system", spec]
    done = CliRunner().invoke(client_command, words, standalone_mode=False)
    code = {"DLedger": "TERM_CHANGED", "HashicorpRaft": "ErrLeadershipLost"}[spec]
    said = f"outcome unknown, {code}: it may be committed" if is_uncertain else f"refused, {code}"
    assert (done.return_value, done.output) == (1, f"append x: {said}\n")


def test_a_node_that_has_not_come_up_again_is_said_to_be_starting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process before showed what is printed."""
    folder, group = tmp_path / "run", NodeProcesses({}, tmp_path)
    group_of_three = session(folder)
    monkeypatch.setattr(NodeProcesses, "is_running", lambda *_: True)
    monkeypatch.setattr(NodeProcesses, "started_at", lambda _, node: {"n1": 2.0}.get(node, 0.5))
    for node in ("n1", "n2"):
        step = NodeStep(1.0, node, "Start", {}, {"role": "LEADER"})
        (folder / f"{node}.steps.ndjson").write_text(json.dumps(asdict(step)) + "\n")
    lines = group_of_three.status(group)
    assert lines[0].startswith("n1 (starting) role LEADER")
    assert lines[1].startswith("n2 role LEADER")
    assert lines[2] == "n3 (starting) nothing yet"


#: A server of hashicorp/raft, which has choices that a node of DLedger has not.
RAFT_NODE = ("n1", "n1=127.0.0.1:1", "--dir", "x", "--system", "HashicorpRaft")
LEDGER_NODE = ("n1", "n1=127.0.0.1:1", "--dir", "x")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("n4", "n1=127.0.0.1:1;n2=127.0.0.1:2", "--dir", "x"), "n4 is none of the members"),
        (("n1", "n1=127.0.0.1:99999", "--dir", "x"), "is no NAME=HOST:PORT"),
        (("n1", "n1=127.0.0.1:1;n1=127.0.0.1:2", "--dir", "x"), "n1 is named twice"),
        (("n1", ";", "--dir", "x"), "PEERS: no NAME=HOST:PORT is given"),
        (("n1", "n1=a..b:1", "--dir", "x"), "'n1=a..b:1' is no NAME=HOST:PORT"),
        (("n1", f"n1={'a' * 64}.b:1", "--dir", "x"), "is no NAME=HOST:PORT"),
        ((*LEDGER_NODE, "--setting", "max_pending_requests_num=20000"), "no more than 10000 clients may wait: 20000"),
        (("n1", "n1=127.0.0.1:1", "--dir", "x", "--flaw", "LateTruncat"), "'LateTruncat' is none of"),
        (("n1", "n1=127.0.0.1:1", "--dir", "x", "--system", "Paxos"), "'Paxos' is none of"),
        (("n1", "n1=127.0.0.1:1"), "--dir"),
        (("n1", "n1=127.0.0.1:1", "--dir", "x", "--voter", "n1"), "this system, which has no such choice"),
        ((*RAFT_NODE, "--voter", "n2"), "'n2' is none of n1"),
        ((*RAFT_NODE, "--without", "Snapshots"), "'Snapshots' is none of PreVote"),
        ((*RAFT_NODE, "--setting", "trailing=1"), "'trailing' is none of heartbeat_timeout"),
        ((*RAFT_NODE, "--setting", "trailing_logs=0.5"), "no whole number from 1 to"),
        ((*RAFT_NODE, "--setting", "rpc_timeout=nan"), "no number from 0 to"),
        ((*RAFT_NODE, "--setting", "commit_timeout=0"), "commit_timeout is 0 s, where the least is 0.0001 s"),
        ((*RAFT_NODE, "--time-scale", "nan"), "heartbeat_timeout is nan s, where the least is 0.0001 s"),
        ((*LEDGER_NODE, "--setting", "heart_beat_time_interval=0"), "is 0 s, where the least is 0.0001 s"),
    ],
)
def test_wrong_words_for_a_node_are_refused(words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(node_command, words)
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())


@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("", "append", "x"), "PEERS: no NAME=HOST:PORT is given"),
        (("n1=a..b:1", "append", "x"), "'n1=a..b:1' is no NAME=HOST:PORT"),
        (("n1=127.0.0.1:1", "get", "0", "1.7"), "WHAT: '1.7' is no index of an entry"),
        (("n1=127.0.0.1:1", "get", "1" * 19), "is no index of an entry"),
    ],
)
def test_wrong_words_for_a_client_are_refused(spec: str, words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(client_command, [*words, "--system", spec])
    assert (done.exit_code, said in " ".join(done.output.split())) == (2, True), done.output


def test_a_host_whose_name_can_be_none_is_not_reached_and_not_listened_on(tmp_path: Path) -> None:
    """The encoder of names of hosts raises an error of its own."""
    addresses, said = {"n1": ("a..b", 1)}, list[str]()
    for spec in ("DLedger", "HashicorpRaft"):
        make = SYSTEMS[spec].running
        assert make is not None
        with pytest.raises(GaveUpError, match=r"^n1 cannot listen on a\.\.b:1: "):
            run_node(make(), NodeOptions("n1", "g", addresses, tmp_path / spec), None, said.append)
    with pytest.raises(RequestRefusedError, match="NETWORK_ERROR"):
        asyncio.run(Client("g", addresses).metadata("n1"))
    with pytest.raises(RequestFailedError, match="no connection"):
        asyncio.run(RaftClient(addresses).status("n1"))


def test_get_takes_the_index_of_any_entry_and_no_other_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class IndexClient:
        async def get(self, index: int) -> str:
            return f"asked for {index}"

        async def change(self, _: str) -> str:
            raise AssertionError

        add = remove = change

    said = list[str]()
    monkeypatch.setattr(GroupSession, "client", lambda _: IndexClient())
    prompt = group_session._Prompt(session(tmp_path / "run", said.append), Links({}), NodeProcesses({}, tmp_path))

    async def take() -> None:
        for word in ("3601", "1.7", "-1", "1e3", "0"):
            assert await prompt.take(f"get {word}")

    asyncio.run(take())
    assert said == [
        "get 3601: asked for 3601",
        "get 1.7: '1.7' is no index of an entry",
        "get -1: '-1' is no index of an entry",
        "get 1e3: '1e3' is no index of an entry",
        "get 0: asked for 0",
    ]


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (cluster_command, ["3", "--time-scale", "nan"]),
        (chaos_command, ["--setting", "push_commit=0"]),
        (chaos_command, ["--real", "--setting", "quota_second=0.00009"]),
    ],
)
def test_a_group_whose_nodes_would_do_the_same_again_without_end_is_refused(
    tmp_path: Path, command: click.Command, words: list[str]
) -> None:
    done = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "run")])
    assert (done.exit_code, "where the least is 0.0001 s" in " ".join(done.output.split())) == (2, True), done.output
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("spec", ["DLedger", "HashicorpRaft"])
def test_every_time_of_a_node_that_comes_around_has_a_least(spec: str) -> None:
    """A snapshot may be written at once: nothing begins anew with its end."""
    make = SYSTEMS[spec].running
    assert make is not None
    running, refused = make(), set[str]()
    times = {name for name, default in running.settings.items() if isinstance(default, float)}
    for name in times:
        try:
            running.settings_of(NodeKind(settings={name: 0.0}), 1.0)
        except ValueError:
            refused.add(name)
        running.settings_of(NodeKind(settings={name: 0.0001}), 0.01)
    assert times - refused == {"DLedger": set(), "HashicorpRaft": {"persist_time"}}[spec]


@pytest.mark.parametrize(
    ("command", "words", "said"),
    [
        (cluster_command, ["2"], "2 is not from 3 to 7, the sizes of a group of DLedger"),
        (cluster_command, ["10", "--system", "HashicorpRaft"], "10 is not from 1 to 9"),
        (chaos_command, ["--nodes", "2"], "2 is not from 3 to 7"),
        (chaos_command, ["--nodes", "0", "--system", "HashicorpRaft"], "0 is not from 1 to 9"),
    ],
)
def test_a_number_of_nodes_that_no_group_has_is_refused(
    tmp_path: Path, command: click.Command, words: list[str], said: str
) -> None:
    done = CliRunner().invoke(command, [*words, "-o", str(tmp_path / "run")])
    assert done.exit_code == 2
    assert said in " ".join(done.output.split())
    assert not (tmp_path / "run").exists()


class FailingInput(io.BytesIO):
    """Standard input that cannot be read to its end, as that of a terminal which is gone."""

    def readline(self, size: int | None = -1) -> bytes:
        if line := super().readline(size):
            return line
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("kind", [io.BytesIO, FailingInput])
def test_a_typed_line_that_is_no_text_is_named_and_the_lines_behind_it_are_taken(
    kind: type[io.BytesIO], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread reads the lines; if it died, the command would wait for ever."""
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(kind("append ä\n".encode() + b"append \xff\nget 0\n")))
    said = list[str]()

    async def taken() -> list[str]:
        async with asyncio.timeout(5):
            return [line async for line in _typed_lines(said.append)]

    assert asyncio.run(taken()) == ["append ä\n", "get 0\n"]
    assert said == ["append \ufffd: the byte 0xff is no UTF-8"]


def test_commands_that_are_no_utf8_are_refused_before_anything_is_made(tmp_path: Path) -> None:
    commands = tmp_path / "commands.txt"
    commands.write_bytes(b"append a\nappend \xff\n")
    done = CliRunner().invoke(cluster_command, ["3", "-o", str(tmp_path / "run"), "--commands", str(commands)])
    assert done.exit_code == 2
    assert "commands.txt:2: the byte 0xff is no UTF-8" in "".join(done.output.split("\n"))
    assert not (tmp_path / "run").exists()


def test_a_folder_that_is_not_empty_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    done = CliRunner().invoke(cluster_command, ["3", "-o", str(tmp_path)])
    assert done.exit_code == 2
    assert "is not empty" in " ".join(done.output.split())
    assert [each.name for each in tmp_path.iterdir()] == ["mine"]
