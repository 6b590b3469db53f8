"""A tap between nodes: bytes pass unchanged, whatever they are, and each frame is a line."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockstep.cli.tap_command import command
from lockstep.cluster.node_processes import free_addresses
from lockstep.cluster.tapped_file import BEHIND, MAX_WAITING
from lockstep.cluster.wire_tap import WireTap
from lockstep.systems.hashicorp.wire import RaftStream
from lockstep.systems.running_nodes import Address
from lockstep.systems.wire_format import WireFormat, WireFrame
from lockstep.systems.wire_lines import header_line
from raftref.hashicorp.messages import RequestVoteRequest, RequestVoteResponse
from raftref.hashicorp.wire import RpcCall, encode_answer, encode_request
from tests.support.programs.processes import hear, wait_until
from tests.support.wire_sessions import ADDRESSES, wire_of

VOTE = encode_request(RpcCall(RequestVoteRequest("n1", "n2", 2, 1, 1, False)), ADDRESSES)
RAFT = wire_of("HashicorpRaft")
GRANTED = encode_answer(RequestVoteResponse("n2", "n1", 2, True), ADDRESSES)


async def tapped(
    path: Path,
    work: Callable[[Address], Coroutine[Any, Any, bytes]],
    answer: Callable[[bytes], bytes],
    *,
    wire: WireFormat | None = None,
    max_waiting: int = MAX_WAITING,
) -> tuple[bytes, bytes]:
    """Return what a node received through a tap, and what its caller did."""
    received = bytearray()

    async def node(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            received.extend(data)
        writer.write(answer(bytes(received)))
        writer.write_eof()
        await writer.drain()
        writer.close()

    target, proxy = free_addresses(2)
    server = await asyncio.start_server(node, *target)
    stop = asyncio.Event()
    tap = WireTap(wire or RAFT, {"n2": target}, {"n2": proxy}, lambda _: None, max_waiting)
    header = header_line("HashicorpRaft", {"n2": "there"}, all_voters=False)
    running = asyncio.create_task(tap.run(path, header, stop))
    while not path.exists():
        await asyncio.sleep(0.01)
    back = await work(proxy)
    server.close()
    stop.set()
    await running
    return bytes(received), back


def conversation(data: bytes) -> Callable[[Address], Coroutine[Any, Any, bytes]]:
    """Send some bytes, say that these were all, and return what comes back."""

    async def talk(proxy: Address) -> bytes:
        for _ in range(100):
            try:
                reader, writer = await asyncio.open_connection(*proxy)
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.02)
        writer.write(data)
        writer.write_eof()
        back = await reader.read(-1)
        writer.close()
        await asyncio.sleep(0.05)
        return back

    return talk


def lines(path: Path) -> list[dict[str, Any]]:
    text = path.read_text(encoding="utf-8")
    assert text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()[1:]]


def test_a_request_and_its_answer_pass_unchanged_and_are_lines(tmp_path: Path) -> None:
    path = tmp_path / "wire.ndjson"
    there, back = asyncio.run(tapped(path, conversation(VOTE), lambda _: GRANTED))
    assert (there, back) == (VOTE, GRANTED)
    found = lines(path)
    assert [(each["kind"], each.get("answer")) for each in found] == [
        ("opened", None),
        ("RequestVote", False),
        ("RequestVote", True),
        ("closed", None),
    ]
    assert [(each["from"], each["to"]) for each in found[1:3]] == [("n1", "n2"), ("n2", "n1")]


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.0\r\n\r\n", b"\x00\xdb\x80\x00\x00\x00", b"\x00" + b"\x91" * 500, VOTE[:-3]]
)
def test_what_is_no_frame_passes_unchanged_too(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "wire.ndjson"
    there, back = asyncio.run(tapped(path, conversation(data), lambda text: text[::-1]))
    assert (there, back) == (data, data[::-1])
    kinds = [each["kind"] for each in lines(path)]
    assert kinds[0] == "opened"
    assert kinds[-1] == "closed"
    assert kinds.count("unreadable") == 1


def test_a_node_that_takes_no_connection_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "wire.ndjson"

    async def work() -> None:
        target, proxy = free_addresses(2)
        stop = asyncio.Event()
        tap = WireTap(RAFT, {"n2": target}, {"n2": proxy}, lambda _: None)
        running = asyncio.create_task(tap.run(path, b"{}\n", stop))
        assert await conversation(VOTE)(proxy) == b""
        stop.set()
        await running

    asyncio.run(work())
    assert [each["kind"] for each in lines(path)] == ["refused"]


# ---- Behind the connections ------------------------------------------------------------------------------

#: How long the reading of a frame takes here, in seconds.
SLOW = 3.0


class SlowStream(RaftStream):
    """A connection whose frames take long to read, as large ones do."""

    def requests(self, data: bytes) -> Iterator[WireFrame]:
        time.sleep(SLOW)
        return super().requests(data)


def test_no_connection_waits_until_a_frame_is_read(tmp_path: Path) -> None:
    path, took = tmp_path / "wire.ndjson", list[float]()

    async def work(proxy: Address) -> bytes:
        begin = time.monotonic()
        back = await conversation(VOTE)(proxy)
        took.append(time.monotonic() - begin)
        return back

    there, back = asyncio.run(tapped(path, work, lambda _: GRANTED, wire=replace(RAFT, stream=SlowStream)))
    assert (there, back) == (VOTE, GRANTED)
    assert took[0] < SLOW
    found = lines(path)
    assert [each["kind"] for each in found] == ["opened", "RequestVote", "RequestVote", "closed"]
    times = [each["time"] for each in found]
    assert times == sorted(times)
    assert times[-1] - times[0] < SLOW  # when the bytes came, and not when they were read


def test_a_connection_is_given_up_where_too_much_waits_to_be_read(tmp_path: Path) -> None:
    path = tmp_path / "wire.ndjson"
    there, back = asyncio.run(tapped(path, conversation(VOTE), lambda _: GRANTED, max_waiting=len(VOTE) - 1))
    assert (there, back) == (VOTE, GRANTED)
    assert [(each["kind"], each.get("why")) for each in lines(path)] == [
        ("opened", None),
        ("unreadable", BEHIND),
        ("closed", None),
    ]


def test_connections_outlive_the_process_that_writes_and_the_tap_says_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "wire.ndjson"

    received, back = [], []

    async def work(proxy: Address) -> bytes:
        (writer,) = multiprocessing.active_children()
        writer.kill()
        back.append(await conversation(VOTE)(proxy))
        return back[0]

    def answer(data: bytes) -> bytes:
        received.append(data)
        return GRANTED

    with pytest.raises(OSError, match="the process that writes it has died"):
        asyncio.run(tapped(path, work, answer))
    assert (received, back) == ([VOTE], [GRANTED])


def test_what_was_passed_on_is_written_when_ctrl_c_reaches_all_processes_of_a_terminal(tmp_path: Path) -> None:
    path = tmp_path / "wire.ndjson"
    target, proxy = free_addresses(2)
    words = [sys.executable, "-m", "lockstep", "tap", "--system", "HashicorpRaft", "-o", str(path)]
    words += ["--node", f"n2={target[0]}:{target[1]}", "--listen", f"n2={proxy[0]}:{proxy[1]}"]
    count = 500
    with (
        socket.create_server(target) as node,
        subprocess.Popen(words, stderr=subprocess.PIPE, start_new_session=True, preexec_fn=hear) as process,
    ):
        assert process.stderr is not None
        assert b"passes on" in process.stderr.readline()
        with socket.create_connection(proxy) as caller, node.accept()[0] as callee:
            caller.sendall(VOTE * count)
            left = len(VOTE) * count
            while left:
                left -= len(callee.recv(left))
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(20) == 0
    assert [each["kind"] for each in lines(path)] == ["opened", *["RequestVote"] * count, "closed"]


def test_ctrl_c_ends_open_connections_each_with_its_line(tmp_path: Path) -> None:
    path, errors = tmp_path / "wire.ndjson", tmp_path / "errors"
    target, proxy = free_addresses(2)
    words = [sys.executable, "-m", "lockstep", "tap", "--system", "HashicorpRaft", "-o", str(path)]
    words += ["--node", f"n2={target[0]}:{target[1]}", "--listen", f"n2={proxy[0]}:{proxy[1]}"]
    with (
        ExitStack() as stack,
        errors.open("wb") as stderr,
        subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=stderr, preexec_fn=hear) as process,
    ):
        node = stack.enter_context(socket.create_server(target))
        try:
            assert wait_until(lambda: "passes on" in errors.read_text(encoding="utf-8"))
            for _ in range(5):
                caller = stack.enter_context(socket.create_connection(proxy))
                callee = stack.enter_context(node.accept()[0])
                caller.sendall(VOTE)
                assert callee.recv(len(VOTE))
        finally:
            process.send_signal(signal.SIGINT)
            status = process.wait(20)
    assert status == 0
    assert "Traceback" not in errors.read_text(encoding="utf-8")
    found = lines(path)
    opened, closed = ([each["conn"] for each in found if each["kind"] == kind] for kind in ("opened", "closed"))
    assert len(opened) == 5
    assert sorted(closed) == sorted(opened)
    assert all(each["unanswered"] for each in found if each["kind"] == "closed")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--node", "n1=127.0.0.1:1", "--listen", "n2=127.0.0.1:2"], "each --node needs a --listen"),
        (["--node", "n1", "--listen", "n1=127.0.0.1:2"], "'n1' is no NAME=HOST:PORT"),
        (["--node", "n1=127.0.0.1:1", "--node", "n1=127.0.0.1:3", "--listen", "n1=127.0.0.1:2"], "named twice"),
    ],
)
def test_addresses_that_do_not_fit_are_wrong_usage(tmp_path: Path, words: list[str], problem: str) -> None:
    output = ["-o", str(tmp_path / "wire.ndjson")]
    result = CliRunner().invoke(command, ["--system", "HashicorpRaft", *words, *output])
    assert result.exit_code == 2
    assert problem in result.output
    assert not (tmp_path / "wire.ndjson").exists()


def test_an_unknown_system_is_wrong_usage(tmp_path: Path) -> None:
    words = ["--system", "Paxos", "--node", "n1=a:1", "--listen", "n1=a:2", "-o", str(tmp_path / "w")]
    result = CliRunner().invoke(command, words)
    assert result.exit_code == 2
    assert "HashicorpRaft" in result.output
