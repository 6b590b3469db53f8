"""A DLedger node on a socket: what its wire carries beside the messages of the spec."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from raftref.disks.directory_disk import DirectoryDisk
from raftref.dledger.choices import Config
from raftref.dledger.client_messages import ResponseCode
from raftref.dledger.messages import Code, Entry, Index, PushType, Request, Response, Term
from raftref.dledger.runtime.client import Client, RequestRefusedError
from raftref.dledger.runtime.driver import DEFAULTS, DLedgerDriver
from raftref.dledger.runtime.leader_positions import PositionedPush
from raftref.dledger.runtime.transport import RemotingTransport
from raftref.dledger.storage.entry_coder import header_of
from raftref.dledger.storage.storage_config import StorageConfig
from raftref.dledger.wire_fields import Version
from raftref.runtime.driver import PeerCall
from raftref.runtime.node import RunningNode

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

    def spawn(self, work: Any) -> None:
        self.tasks.append(asyncio.get_running_loop().create_task(work))

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
