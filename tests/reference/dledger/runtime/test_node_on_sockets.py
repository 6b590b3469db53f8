"""A DLedger node on a socket: what its wire carries beside the messages of the spec."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from raftref.disks.directory_disk import DirectoryDisk
from raftref.dledger.choices import Config
from raftref.dledger.client_messages import GetEntriesRequest, GetEntriesResponse, ResponseCode
from raftref.dledger.messages import (
    Code,
    CommitRequest,
    Entry,
    HeartBeatMessage,
    Index,
    PushType,
    Request,
    Response,
    Term,
)
from raftref.dledger.runtime.client import Client, RequestRefusedError
from raftref.dledger.runtime.driver import DEFAULTS, DLedgerDriver
from raftref.dledger.runtime.leader_positions import PositionedPush
from raftref.dledger.runtime.transport import RemotingTransport
from raftref.dledger.storage.entry_coder import header_of
from raftref.dledger.storage.storage_config import StorageConfig
from raftref.dledger.wire import call_with, encode_call
from raftref.dledger.wire_fields import Version
from raftref.runtime.driver import PeerCall
from raftref.runtime.node import CallFailedError, RunningNode

FILES = StorageConfig(mapped_file_size_for_entry_data=1 << 16, mapped_file_size_for_entry_index=1 << 15)


def transport(**addresses: tuple[str, int]) -> RemotingTransport:
    return RemotingTransport("g", addresses, Version.V0_3)


def test_a_client_of_an_entry_that_is_too_long_for_the_leaders_buffer_hears_that_the_leader_failed(
    tmp_path: Path,
) -> None:
    """Source: NettyRemotingAbstract.processRequestCommand, which answers an exception with SYSTEM_ERROR."""

    async def run() -> None:
        driver = DLedgerDriver(
            "n1",
            {"n1": ""},
            DirectoryDisk(tmp_path),
            Config(flaws=frozenset()),
            Random(1),
            lambda step: None,
            DEFAULTS.scaled(0.02),
            FILES,
        )
        async with RunningNode(driver, transport(), lambda line: None) as node:
            client = Client("g", {"n1": ("127.0.0.1", await node.start("127.0.0.1", 0))}, 20.0)
            assert (await client.append("a")).index == 0
            with pytest.raises(RequestRefusedError) as refused:
                await client.append("x" * (4 * 1024 * 1024))
            assert refused.value.code is ResponseCode.INTERNAL_ERROR
            assert (await client.append("b")).index == 1

    asyncio.run(asyncio.wait_for(run(), 60))


class Listener:
    """A node that remembers what peers ask it."""

    driver = SimpleNamespace(node_id="n2")

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.tasks: list[asyncio.Task[None]] = []

    def spawn(self, work: Any) -> asyncio.Task[None]:
        self.tasks.append(asyncio.get_running_loop().create_task(work))
        return self.tasks[-1]

    async def request(self, m: Any) -> Response:
        self.asked.append(m)
        request = m.request
        return Response(PushType.APPEND, "n2", "n1", request.term, request.index, Code.SUCCESS, Index(0), Index(0))


def test_a_push_comes_with_the_position_of_its_entry_at_the_leader() -> None:
    """Source: DLedgerEntry.pos."""
    entry = Entry(Term(1), "a")
    push = PositionedPush(
        Request(PushType.APPEND, "n1", "n2", Term(1), Index(3), entry, Index(0)),
        (header_of(entry, Index(3), 4711, with_crc=False),),
    )

    async def run() -> None:
        listener, follower = Listener(), transport()
        serve = lambda reader, writer: follower.serve(reader, writer, listener)  # type: ignore[arg-type] # noqa: E731
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        leader = transport(n2=server.sockets[0].getsockname()[:2])
        answer = await leader.call("n2", PeerCall(1, "n2", push, 20.0))
        assert (answer.code, listener.asked) == (Code.SUCCESS, [push])
        leader.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 60))


# ---- Limits ----------------------------------------------------------------------------------------------


def heartbeat(number: int, timeout: float | None) -> PeerCall:
    return PeerCall(number, "n2", HeartBeatMessage("n1", "n2", Term(1)), timeout)


async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Read what comes, and answer nothing."""
    while await reader.read(1 << 16):
        pass
    writer.close()


def test_a_call_that_was_given_up_leaves_nothing_behind() -> None:
    async def run() -> None:
        server = await asyncio.start_server(mute, "127.0.0.1", 0)
        leader = transport(n2=server.sockets[0].getsockname()[:2])
        for number in range(5):
            with pytest.raises(CallFailedError, match="no answer in time"):
                await leader.call("n2", heartbeat(number, 0.01))
        assert await leader.call("n2", heartbeat(9, None)) is None
        (connection,) = leader._connections.values()
        assert connection.waiting == {}
        leader.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_call_without_a_timeout_waits_no_longer_for_a_connection_than_any_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The packet that asks for the first connection is lost, and the kernel would ask again for minutes."""
    connect, asked = asyncio.open_connection, list[int]()

    async def open_connection(*place: Any) -> Any:
        asked.append(place[1])
        return await (asyncio.Event().wait() if len(asked) == 1 else connect(*place))

    monkeypatch.setattr("raftref.dledger.runtime.transport.asyncio.open_connection", open_connection)
    monkeypatch.setattr("raftref.dledger.runtime.transport.CONNECT_TIMEOUT", 0.1)

    async def run() -> None:
        heard = asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(1)
            heard.set()
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        caller = transport(n2=server.sockets[0].getsockname()[:2])
        commit = CommitRequest("n1", "n2", Term(1), Index(0))
        assert await caller.call("n2", PeerCall(1, "n2", commit, None)) is None
        assert await caller.call("n2", PeerCall(2, "n2", commit, None)) is None
        await heard.wait()
        assert len(asked) == 2
        caller.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_connection_to_a_peer_that_leaves_too_much_unread_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        server = await asyncio.start_server(mute, "127.0.0.1", 0)
        leader = transport(n2=server.sockets[0].getsockname()[:2])
        first = asyncio.ensure_future(leader.call("n2", heartbeat(1, 20.0)))
        while not leader._connections:
            await asyncio.sleep(0.005)
        monkeypatch.setattr("raftref.dledger.runtime.transport.MAX_UNREAD_BYTES", -1)
        with pytest.raises(CallFailedError, match="the peer reads nothing"):
            await leader.call("n2", heartbeat(2, 20.0))
        with pytest.raises(CallFailedError, match="the peer reads nothing"):
            await first
        # The next call has a connection of its own.
        monkeypatch.undo()
        with pytest.raises(CallFailedError, match="no answer in time"):
            await leader.call("n2", heartbeat(3, 0.05))
        leader.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 20))


class Waiting(Listener):
    """A node that answers no peer."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    async def request(self, m: Any) -> Response:
        self.asked.append(m)
        await asyncio.Event().wait()
        raise AssertionError("it waits for ever")

    def log(self, line: str) -> None:
        self.lines.append(line)


@asynccontextmanager
async def asked_without_answers(count: int) -> AsyncIterator[tuple[Waiting, RemotingTransport, asyncio.Event]]:
    """Let a leader ask a node that answers nobody; yield both, and what is set when the connection has ended."""
    node, follower, ended = Waiting(), transport(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await follower.serve(reader, writer, node)  # type: ignore[arg-type]
        writer.close()
        ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    leader = transport(n2=server.sockets[0].getsockname()[:2])
    calls = [asyncio.ensure_future(leader.call("n2", heartbeat(number, 20.0))) for number in range(count)]
    yield node, leader, ended
    leader.close()
    await asyncio.gather(*calls, return_exceptions=True)
    for task in node.tasks:
        task.cancel()
    await ended.wait()
    server.close()


async def comes(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.005)


def test_no_more_requests_of_a_connection_are_read_than_may_be_handled_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("raftref.dledger.runtime.transport.MAX_REQUESTS_PER_CONNECTION", 3)

    async def run() -> None:
        async with asked_without_answers(5) as (node, _, _ended):
            await comes(lambda: len(node.asked) == 3)
            await asyncio.sleep(0.05)
            assert len(node.asked) == 3
            node.tasks[0].cancel()
            await comes(lambda: len(node.asked) == 4)

    asyncio.run(asyncio.wait_for(run(), 20))


def test_the_end_of_a_connection_ends_its_requests() -> None:
    async def run() -> None:
        async with asked_without_answers(2) as (node, leader, ended):
            await comes(lambda: len(node.asked) == 2)
            leader.close()
            await ended.wait()
            await asyncio.gather(*node.tasks, return_exceptions=True)
            assert [task.cancelled() for task in node.tasks] == [True, True]

    asyncio.run(asyncio.wait_for(run(), 20))


def test_a_connection_whose_answers_are_not_read_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raftref.dledger.runtime.transport.MAX_UNREAD_BYTES", 1 << 20)
    entry = Entry(Term(1), "x" * (1 << 21))
    found = GetEntriesResponse((entry,), (header_of(entry, Index(0), 0, with_crc=False),))

    class Generous(Waiting):
        async def ask(self, request: Any) -> Any:
            return found

    async def run() -> None:
        node, follower, ended = Generous(), transport(), asyncio.Event()

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await follower.serve(reader, writer, node)  # type: ignore[arg-type]
            ended.set()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        _, writer = await asyncio.open_connection(*server.sockets[0].getsockname()[:2])
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        for opaque in range(8):
            call = call_with(GetEntriesRequest("n2", Index(0)), opaque, "g", Version.V0_3)
            writer.write(encode_call(call))
        await ended.wait()
        assert any("its answers are not read" in line for line in node.lines)
        writer.close()
        server.close()

    asyncio.run(asyncio.wait_for(run(), 20))
