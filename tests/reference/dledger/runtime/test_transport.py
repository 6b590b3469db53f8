"""A DLedger node on a socket: requests that are for another node, or of another group."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from random import Random

import pytest

from lockstep.cluster.node_processes import free_addresses
from raftref.disks.simulated_disk import SimulatedDisk
from raftref.dledger.choices import REPAIRED
from raftref.dledger.client_messages import AppendEntryRequest, ResponseCode
from raftref.dledger.election_rules import HeartBeatCode
from raftref.dledger.messages import HeartBeatMessage, Term
from raftref.dledger.runtime.client import Client, RequestRefusedError
from raftref.dledger.runtime.driver import DLedgerDriver
from raftref.dledger.runtime.transport import RemotingTransport
from raftref.dledger.wire_fields import Version
from raftref.runtime.driver import PeerCall
from raftref.runtime.node import CallFailedError, RunningNode
from tests.support.systems.running_dledger import FILES

GROUP = "g"


def at_a_node(asks: Callable[[dict[str, tuple[str, int]]], Awaitable[None]]) -> None:
    """Run a node n1 of two, and ask it."""

    async def run() -> None:
        places = free_addresses(2)
        addresses = dict(zip(("n1", "n2"), places, strict=True))
        members = {node: f"{host}:{port}" for node, (host, port) in addresses.items()}
        driver = DLedgerDriver("n1", members, SimulatedDisk(), REPAIRED, Random(1), lambda _: None, storage=FILES)
        node = RunningNode(driver, RemotingTransport(GROUP, addresses, Version.V0_3), print)
        async with node:
            await node.start(*addresses["n1"])
            await asks(addresses)

    asyncio.run(run())


def refusal(group: str, addresses: dict[str, tuple[str, int]], dst: str) -> Awaitable[object]:
    client = Client(group, {dst: addresses["n1"]})
    return client.ask(dst, AppendEntryRequest(dst, "a"))


def test_a_client_of_another_group_is_refused_before_anything_else_is_asked() -> None:
    """Source: DLedgerServer.handleAppend: remoteId, then group, then the role."""

    async def asks(addresses: dict[str, tuple[str, int]]) -> None:
        for group, dst, code in (
            (GROUP, "n1", ResponseCode.NOT_LEADER),
            ("other", "n1", ResponseCode.UNKNOWN_GROUP),
            ("other", "n2", ResponseCode.UNKNOWN_MEMBER),
        ):
            assert getattr(await refusal(group, addresses, dst), "code", None) is code
        with pytest.raises(RequestRefusedError, match="UNKNOWN_GROUP"):
            await Client("other", {"n1": addresses["n1"]}).metadata("n1")

    at_a_node(asks)


def test_a_leader_of_another_group_or_with_another_address_is_not_followed() -> None:
    """Source: DLedgerServer.handleHeartBeat, its first two tests."""

    async def asks(addresses: dict[str, tuple[str, int]]) -> None:
        stranger = RemotingTransport("other", {"n1": addresses["n1"]}, Version.V0_3)
        with pytest.raises(CallFailedError, match="UNKNOWN_GROUP"):
            await stranger.call("n1", PeerCall(1, "n1", HeartBeatMessage("n2", "n1", Term(0)), 1.0))
        stranger.close()
        lost = RemotingTransport(GROUP, {"n3": addresses["n1"]}, Version.V0_3)
        answer = await lost.call("n3", PeerCall(1, "n3", HeartBeatMessage("n2", "n3", Term(0)), 1.0))
        lost.close()
        assert answer.code == HeartBeatCode.UNKNOWN_MEMBER

    at_a_node(asks)
