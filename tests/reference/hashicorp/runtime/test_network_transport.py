"""Servers on sockets: requests and answers, whatever bytes come instead, and clients."""

from __future__ import annotations

import asyncio
import json
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from dataclasses import replace
from random import Random
from typing import Any

import pytest

from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InstallSnapshotRequest,
    Request,
    RequestPreVoteRequest,
    RequestVoteRequest,
    RequestVoteResponse,
    TimeoutNowRequest,
)
from raftref.hashicorp.runtime.client import NO_ANSWER, NO_CONNECTION, RaftClient, RequestFailedError
from raftref.hashicorp.runtime.client_calls import ApplyRequest, RaftError
from raftref.hashicorp.runtime.client_lines import CLIENT_BYTE, MAX_LINE_BYTES, MAX_VALUE_BYTES
from raftref.hashicorp.runtime.durable_stores import DiskStores
from raftref.hashicorp.runtime.network_transport import NetworkTransport
from raftref.hashicorp.runtime.replayed_run import replayed
from raftref.hashicorp.runtime.settings import Settings
from raftref.hashicorp.runtime.state_machine import applied_in, snapshot_data
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.transport import AnswerReader, RequestReader
from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, Log, NodeId, Snapshot, Term
from raftref.hashicorp.wire import RpcCall, RpcFailure, decode_answer, decode_request, encode_answer, encode_request
from raftref.runtime.driver import PeerCall
from raftref.runtime.node import CallFailedError
from tests.support.systems.raft_sockets import SocketGroup

COMMAND = Entry(Term(2), EntryType.COMMAND, "a")
APPLIED = (Log(Index(2), COMMAND),)
GROUP = Configuration(frozenset({"n1", "n2", "n3"}))


def appends(src: str = "n2", **given: Any) -> AppendEntriesRequest:
    return AppendEntriesRequest(src, "n1", Term(2), Index(1), Term(1), given.get("entries", (COMMAND,)), Index(2))


def installs(configuration: Configuration = GROUP) -> InstallSnapshotRequest:
    return InstallSnapshotRequest("n2", "n1", Term(2), Snapshot(Index(2), Term(2), configuration, Index(1), ()))


def in_time(work: Awaitable[None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(10):
            await work

    asyncio.run(limited())


@asynccontextmanager
async def follower() -> AsyncIterator[SocketGroup]:
    """A server that never stands for election, whose peers do not run."""
    group = SocketGroup(3, settings=Settings())
    await group.start("n1")
    try:
        yield group
    finally:
        await group.stop()


async def sent(group: SocketGroup, data: bytes) -> bytes:
    """Send bytes to n1, and return all that comes until it ends the connection, which we do not."""
    reader, writer = await asyncio.open_connection(*group.addresses["n1"])
    writer.write(data)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


async def asked(group: SocketGroup, *calls: RpcCall, addresses: dict[str, str] | None = None) -> list[Any]:
    """Send requests on one connection at once, and return the answers."""
    known = addresses or {node: f"{host}:{port}" for node, (host, port) in group.addresses.items()}
    reader, writer = await asyncio.open_connection(*group.addresses["n1"])
    writer.write(b"".join(encode_request(call, known) for call in calls))
    answers: list[Any] = []
    read = AnswerReader()
    while len(answers) < len(calls):
        data = await reader.read(100)
        assert data
        answers += read.feed(data)
    writer.close()
    return [decode_answer(answer, call.message) for answer, call in zip(answers, calls, strict=True)]


# ---- Requests --------------------------------------------------------------------------------------------


def test_the_requests_of_a_connection_are_answered_in_their_order() -> None:
    requests: list[Request] = [
        RequestPreVoteRequest("n2", "n1", Term(2), Index(1), Term(1)),
        RequestVoteRequest("n2", "n1", Term(2), Index(1), Term(1), False),
        HeartbeatRequest("n2", "n1", Term(2)),
        appends(),
        AppendEntriesRequest("n2", "n1", Term(2), Index(7), Term(2), (), Index(2)),
        HeartbeatRequest("n2", "n1", Term(1)),
    ]

    async def run() -> None:
        async with follower() as group:
            answers = await asked(group, *map(RpcCall, requests))
            assert answers[1:] == [
                RequestVoteResponse("n1", "n2", Term(2), True),
                HeartbeatResponse("n1", "n2", Term(2), True),
                AppendEntriesResponse("n1", "n2", Term(2), Index(1), True, False),
                AppendEntriesResponse("n1", "n2", Term(2), Index(2), False, True),
                HeartbeatResponse("n1", "n2", Term(2), False),
            ]
            assert answers[0].granted
            driver = group.driver("n1")
            assert [log.entry.value for log in driver.server.fsm.applied] == ["a"]
            assert group.lines == []
            (installed,) = await asked(group, RpcCall(installs(), data=snapshot_data(APPLIED)))
            assert installed.success
            (timeout_now,) = await asked(group, RpcCall(TimeoutNowRequest("n2", "n1")))
            assert (timeout_now.src, driver.server.current_term) == ("n1", Term(3))

    in_time(run())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (RpcCall(appends("n9")), "n9 is no peer of n1"),
        (RpcCall(appends("n1")), "n1 is no peer of n1"),
        (RpcCall(installs(Configuration(frozenset({"n1", "n8"})))), "n8 is no peer of n1"),
        (RpcCall(appends(), protocol_version=1), "protocol version 1 is not supported"),
        (RpcCall(appends(), protocol_version=4), "protocol version 4 is not supported"),
        *(
            (RpcCall(installs(), data=data), "the state machine cannot read the snapshot")
            for data in (b"", b"\xff", b"7", b"[7]", b'[{"index":1}]', b"[" * 100_000, snapshot_data(APPLIED)[:-1])
        ),
        (RpcCall(installs(), data=b'[{"index":[],"entry":{}}]'), "the state machine cannot read the snapshot"),
        (
            RpcCall(installs(), data=snapshot_data([Log(Index(1), Entry(Term(1), EntryType.NOOP))])),
            "the state machine cannot read the snapshot",
        ),
    ],
)
def test_what_the_server_refuses_is_answered_by_an_error_and_changes_nothing(call: RpcCall, said: str) -> None:
    async def run() -> None:
        async with follower() as group:
            steps = len(group.steps)
            others = dict.fromkeys(("n1", "n2", "n3", "n8", "n9"), "somewhere:1")
            # The connection goes on: what comes next is answered.
            vote = RpcCall(RequestPreVoteRequest("n2", "n1", Term(2), Index(1), Term(1)))
            refused, answered = await asked(group, call, vote, addresses=others)
            assert refused == RpcFailure(said)
            assert answered.granted
            assert len(group.steps) == steps + 1
            assert group.lines == []

    in_time(run())


def test_a_snapshot_is_read_entry_by_entry_and_no_further_than_the_first_that_is_none() -> None:
    """Whole it would take some thirty times its size in memory."""
    data = b"[" + b"{}," * (1 << 19) + b"{}]"
    tracemalloc.start()
    try:
        with pytest.raises(KeyError):
            list(applied_in(data))
        assert tracemalloc.get_traced_memory()[1] < 4 * len(data)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("value", ["", "a", "]},[{", "\x01" * MAX_VALUE_BYTES, "\U0001f600" * (MAX_VALUE_BYTES // 4)])
@pytest.mark.parametrize("indent", [None, 1])
def test_whatever_a_client_may_have_asked_for_is_read_from_a_snapshot(value: str, indent: int | None) -> None:
    applied = [Log(Index(index), Entry(Term(2), EntryType.COMMAND, value)) for index in (2, 3)]
    data = json.dumps(json.loads(snapshot_data(applied)), indent=indent).encode()
    assert list(applied_in(data)) == applied


def test_an_entry_of_a_snapshot_has_a_greatest_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raftref.hashicorp.runtime.state_machine.MAX_LOG_CHARS", 1 << 14)
    value = Log(Index(2), Entry(Term(2), EntryType.COMMAND, "x" * (1 << 13)))
    assert list(applied_in(snapshot_data([value]))) == [value]
    with pytest.raises(ValueError, match="Unterminated string"):
        list(applied_in(snapshot_data([replace(value, entry=replace(value.entry, value="x" * (1 << 15)))])))


@pytest.mark.parametrize("data", [b"[]", b" [ ] \n"])
def test_a_snapshot_may_have_nothing_in_it(data: bytes) -> None:
    assert list(applied_in(data)) == []


@pytest.mark.parametrize("data", [b"[]x", b"[] []", b"[,]", b"{}", b"null", b"[", b'["a" "b"]'])
def test_what_is_no_array_of_entries_is_no_snapshot(data: bytes) -> None:
    with pytest.raises((TypeError, ValueError)):
        list(applied_in(data))


def test_a_snapshot_that_is_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raftref.hashicorp.runtime.network_transport.MAX_STATE_BYTES", 999)

    async def run() -> None:
        async with follower() as group:
            assert await sent(group, frame(installs(), b"x" * 1000)) == b""
            (line,) = group.lines
            assert line.endswith(" is ended: a snapshot has a size of 1000 bytes, of at most 999")

    in_time(run())


def test_others_are_served_while_a_long_snapshot_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("raftref.hashicorp.runtime.network_transport.LOGS_AT_ONCE", 10)
    applied = [Log(Index(index), COMMAND) for index in range(1, 101)]

    async def run() -> None:
        async with follower() as group:
            install, turns = asyncio.ensure_future(asked(group, RpcCall(installs(), data=snapshot_data(applied)))), 0
            while not group.driver("n1").server.fsm.applied:
                turns += 1
                await asyncio.sleep(0)
            (installed,) = await install
            assert installed.success
            assert turns >= 10

    in_time(run())


@pytest.mark.parametrize("src", ["n9", "n1"])
def test_the_snapshot_of_a_stranger_is_not_waited_for(src: str) -> None:
    """Its bytes would be kept in memory until all of them are there."""

    async def run() -> None:
        async with follower() as group:
            data = frame(replace(installs(), src=src), b"x" * 1000, ("n1", "n2", "n3", "n9"))
            # One byte is missing, and never comes.
            assert await sent(group, data[:-1]) == b""
            (line,) = group.lines
            assert line.endswith(f" is ended: {src} is no peer of n1")

    in_time(run())


def test_a_server_that_is_shut_down_answers_by_an_error() -> None:
    async def run() -> None:
        async with follower() as group:
            group.driver("n1").node.take("Crash")
            (answer,) = await asked(group, RpcCall(appends()))
            assert answer == RpcFailure("the server cannot take the request now")

    in_time(run())


# ---- Hostile bytes ---------------------------------------------------------------------------------------


def frame(m: Request = appends(), data: bytes = b"", known: Iterable[str] = ("n1", "n2", "n3")) -> bytes:  # noqa: B008 - it is frozen
    return encode_request(RpcCall(m, data=data), dict.fromkeys(known, "127.0.0.1:1"))


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x05",
        b"\x00\xc1",
        b"\x00\xc0",
        b"\x01\xdf\xff\xff\xff\xff",
        b"\x03" + b"\x91" * 100,
        frame().replace(b"n2", b"\xff\xff"),
        frame().replace(b"PrevLogEntry\x01", b"PrevLogEntry\x05"),
        frame().replace(b"Type\x00", b"Type\x03"),
        frame(installs()).replace(b"Size\x00", b"Size\xd3\x7f" + bytes(7)),
        frame(installs()).replace(b"SnapshotVersion\x01", b"SnapshotVersion\x07"),
        CLIENT_BYTE + b"\n",
        CLIENT_BYTE + b"{\n",
        CLIENT_BYTE + b"[" * 100_000 + b"\n",
        CLIENT_BYTE + b"[]\n",
        CLIENT_BYTE + b'{"op":"destroy"}\n',
        CLIENT_BYTE + b'{"op":{}}\n',
        CLIENT_BYTE + b'{"op":"apply"}\n',
        CLIENT_BYTE + b'{"op":"apply","value":"\\ud800"}\n',
        CLIENT_BYTE + b'{"op":"apply","value":"' + b"x" * (MAX_VALUE_BYTES + 1) + b'"}\n',
        CLIENT_BYTE + b'{"op":"read","index":true}\n',
        CLIENT_BYTE + b'{"op":"read","index":-1}\n',
        CLIENT_BYTE + b'{"op":"change","command":"Vanish","server":"n1"}\n',
        CLIENT_BYTE + b'{"op":"change","command":"AddVoter","server":3}\n',
        CLIENT_BYTE + b'{"op":"transfer","to":3}\n',
        CLIENT_BYTE + b"x" * (MAX_LINE_BYTES + 1),
    ],
    ids=lambda data: repr(data[:40]),
)
def test_bytes_that_are_no_request_end_their_connection_with_one_line_in_the_log(data: bytes) -> None:
    async def run() -> None:
        async with follower() as group:
            steps = len(group.steps)
            # A request before them is answered, but for a client, whose connection has one first byte.
            before = frame(RequestPreVoteRequest("n2", "n1", Term(2), Index(1), Term(1)))
            answer = await sent(group, data if data[:1] == CLIENT_BYTE else before + data)
            assert answer or len(data) > MAX_LINE_BYTES
            (line,) = group.lines
            assert line.startswith("a connection from 127.0.0.1:")
            assert " is ended: " in line
            assert len(line) < 300
            assert len(group.steps) == steps + (data[:1] != CLIENT_BYTE)
            assert (await asked(group, RpcCall(appends())))[0].success

    in_time(run())


def test_no_change_of_a_request_and_no_noise_harms_the_server() -> None:
    random = Random(1)
    frames = [frame(), frame(installs(), snapshot_data(APPLIED)), frame(TimeoutNowRequest("n2", "n1"))]
    frames += [CLIENT_BYTE + b'{"op":"apply","value":"a"}\n{"op":"status"}\n', random.randbytes(50)]

    async def run() -> None:
        async with follower() as group:
            for count in range(300):
                data = bytearray(random.choice(frames))
                for _ in range(random.choice((1, 1, 2, 8))):
                    data[random.randrange(len(data))] = random.randrange(256)
                reader, writer = await asyncio.open_connection(*group.addresses["n1"])
                writer.write(data[: random.choice((len(data), random.randrange(len(data))))])
                if count % 2:
                    writer.write_eof()
                    await reader.read()
                writer.close()
            await asyncio.sleep(0.05)
            assert group.driver("n1").server.is_up
            assert (await asked(group, RpcCall(RequestVoteRequest("n2", "n1", Term(1), Index(1), Term(1), False))))[0]
            assert [line for line in group.lines if " is ended: " not in line] == []
            assert len(group.lines) > 50

    in_time(run())


# ---- Calls -----------------------------------------------------------------------------------------------

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def calling(serve: Serve, use: Callable[[NetworkTransport, list[str]], Awaitable[None]]) -> None:
    """Use the transport of n1, whose peer n2 serves its connections as it likes."""

    async def run() -> None:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        lines: list[str] = []
        addresses = {"n1": ("127.0.0.1", 1), "n2": ("127.0.0.1", port)}
        transport = NetworkTransport("n1", addresses, lambda: Index(0), lines.append)
        try:
            await use(transport, lines)
        finally:
            transport.close()
            server.close()

    in_time(run())


def heartbeat(number: int, timeout: float | None = 1.0) -> PeerCall:
    return PeerCall(number, "n2", HeartbeatRequest("n1", "n2", Term(2)), timeout)


def pipelined(number: int, stream: int, prev: int) -> PeerCall:
    """A call of a pipeline, known by the index before its entries."""
    m = AppendEntriesRequest("n1", "n2", Term(2), Index(prev), Term(1), (), Index(0))
    return PeerCall(number, "n2", m, 1.0, stream)


def stored_answer(last_log: int) -> bytes:
    return encode_answer(AppendEntriesResponse("n2", "n1", Term(2), Index(last_log), True, False), {"n2": "x:1"})


HEARTBEAT_ANSWER = encode_answer(HeartbeatResponse("n2", "n1", Term(2), True), {"n2": "x:1"})


@pytest.mark.parametrize(
    ("answer", "line_count"),
    [
        (b"", 0),
        (HEARTBEAT_ANSWER[:-1], 0),
        (b"\xc1", 1),
        (b"\xa0\xc0", 1),
        (b"\xa0\x90", 1),
        (b"\xa0\x81\xa4Term\xa1x", 1),
        (encode_answer(RpcFailure("not now"), {}), 0),
    ],
)
def test_a_call_fails_whose_answer_is_none_or_an_error(answer: bytes, line_count: int) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(answer)
        writer.close()

    async def use(transport: NetworkTransport, lines: list[str]) -> None:
        with pytest.raises(CallFailedError):
            await transport.call("n2", heartbeat(1))
        assert await transport.call("n2", heartbeat(2, None)) is None
        assert len(lines) == 2 * line_count

    calling(serve, use)


def test_a_routine_keeps_its_connection_until_a_call_fails() -> None:
    """The third call is never answered, and its caller gives it up."""
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        size = len(frame(HeartbeatRequest("n1", "n2", Term(2))))
        with pytest.raises(asyncio.IncompleteReadError):
            for count in range(5):
                await reader.readexactly(size)
                if connections == 1 and count == 2:
                    continue
                writer.write(HEARTBEAT_ANSWER)
        writer.close()

    async def use(transport: NetworkTransport, lines: list[str]) -> None:
        for number in (1, 2):
            assert await transport.call("n2", heartbeat(number, 60.0))
        assert connections == 1
        with pytest.raises(CallFailedError):
            await transport.call("n2", heartbeat(3, 0.1))
        for number in (4, 5):
            assert await transport.call("n2", heartbeat(number, 60.0))
        assert connections == 2
        assert lines == []

    calling(serve, use)


def test_a_call_to_nobody_or_of_what_has_no_bytes_fails() -> None:
    async def serve(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async def use(transport: NetworkTransport, _: list[str]) -> None:
        with pytest.raises(CallFailedError, match="no unsigned"):
            await transport.call("n2", PeerCall(1, "n2", HeartbeatRequest("n1", "n2", Term(1 << 64)), 1.0))
        with pytest.raises(CallFailedError):
            await transport.call("n1", PeerCall(1, "n1", HeartbeatRequest("n1", "n1", Term(2)), 1.0))
        with pytest.raises(CallFailedError, match="no address of zz is known"):
            await transport.call("zz", PeerCall(1, "zz", HeartbeatRequest("n1", "zz", Term(2)), None))

    calling(serve, use)


# ---- A group ---------------------------------------------------------------------------------------------


def test_a_group_on_sockets_appends_hands_over_and_brings_a_server_up_to_date_by_a_snapshot() -> None:
    async def run() -> None:
        group = SocketGroup(3, spares=1)
        await group.start(*group.plan.node_ids)
        try:
            leader = await group.leader()
            left = next(node for node in group.plan.node_ids if node not in (leader, "n4"))
            await group.stop(left)
            places = [(await group.client.apply(f"é{count}"))["index"] for count in range(5)]
            assert places == sorted(places)
            assert (await group.client.read(places[3]))["value"] == "é3"
            leader = await group.leader()
            assert (await group.client.snapshot(leader))["index"] > places[-1]
            await group.start(left)
            while len(group.driver(left).server.fsm.applied) < 5:
                await asyncio.sleep(0.02)
            assert "InstallSnapshot" in {step.action for step in group.steps if step.node == left}
            await group.client.transfer(left)
            assert await group.leader() == left
            await group.client.change(ChangeCommand.ADD_VOTER, "n4")
            await group.client.change(ChangeCommand.REMOVE_SERVER, "n4")
            assert (await group.client.status(left))["voters"] == ["n1", "n2", "n3"]
        finally:
            await group.stop()
        assert group.lines == []
        assert len(list(replayed(group.plan, group.steps))) >= len(group.steps) - 5

    in_time(run())


def test_a_client_asks_the_leader_to_hand_over_to_the_server_that_it_asks_first() -> None:
    """A server refuses to hand over to itself even while it follows. Source: LeadershipTransferToServer."""

    async def run() -> None:
        group = SocketGroup(3)
        await group.start(*group.plan.node_ids)
        try:
            for to in ("n2", "n1"):
                if await group.leader() != to:
                    await RaftClient(group.addresses).transfer(to)
                assert await group.leader() == to
        finally:
            await group.stop()

    in_time(run())


def test_commands_that_come_together_are_stored_in_one_write() -> None:
    """Source: leaderLoop, GROUP_COMMIT_LOOP."""

    async def run() -> None:
        group = SocketGroup(3)
        await group.start(*group.plan.node_ids)
        try:
            leader = await group.leader()
            node = group.nodes[leader]
            answers = await asyncio.gather(*(node.ask(ApplyRequest(f"v{count}")) for count in range(5)))
            assert [answer.error for answer in answers] == [None] * 5
        finally:
            await group.stop()
        assert [len(step.args["logs"]) for step in group.steps if step.action == "DispatchLogs"] == [5]

    in_time(run())


def test_a_client_is_refused_by_a_follower_and_by_nobody() -> None:
    async def run() -> None:
        async with follower() as group:
            with pytest.raises(RequestFailedError, match=RaftError.NOT_LEADER):
                await group.client.ask("n1", "apply", value="a")
            with pytest.raises(RequestFailedError, match="no command at index 7"):
                await group.client.ask("n1", "read", index=7)
            with pytest.raises(RequestFailedError, match=NO_CONNECTION) as error:
                await group.client.ask("n2", "apply", value="a")
            assert not error.value.is_uncertain
            hasty = RaftClient(group.addresses, timeout=0.1)
            with pytest.raises(RequestFailedError, match=f"{NO_CONNECTION}|{RaftError.NOT_LEADER}"):
                await hasty.apply("a")

    in_time(run())


@pytest.mark.parametrize("answer", [b"", b"{}x\n", b"[]\n", json.dumps({"error": 7}).encode() + b"\n"])
def test_a_client_takes_what_is_no_answer_for_none(answer: bytes) -> None:
    async def run() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readline()
            writer.write(answer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        client = RaftClient({"n1": server.sockets[0].getsockname()})
        with pytest.raises(RequestFailedError, match=NO_ANSWER) as error:
            await client.apply("a")
        assert error.value.is_uncertain
        server.close()

    in_time(run())


# ---- Its disk --------------------------------------------------------------------------------------------


def test_a_server_whose_disk_fails_does_nothing_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing durable would stand behind its answers."""

    def fails(self: DiskStores, before: Stores, after: Stores) -> None:
        raise OSError("the disk is full")

    async def run() -> None:
        async with follower() as group:
            monkeypatch.setattr(DiskStores, "persist", fails)
            vote = RpcCall(RequestVoteRequest("n2", "n1", Term(2), Index(1), Term(1), False))
            assert await asked(group, vote) == [RpcFailure("the server cannot take the request now")]
            assert not group.driver("n1").server.is_up
            assert (await group.nodes["n1"].failed).startswith("OSError: the disk is full (in fails, line ")
            steps = len(group.steps)
            assert await asked(group, vote) == [RpcFailure("the server cannot take the request now")]
            assert len(group.steps) == steps

    in_time(run())


async def removed_leader(group: SocketGroup) -> NodeId:
    """Remove the server that leads; on a busy machine another may lead before that is committed."""
    while True:
        leader = await group.leader()
        try:
            await group.client.change(ChangeCommand.REMOVE_SERVER, leader)
        except RequestFailedError as error:
            assert error.error == RaftError.LEADERSHIP_LOST
        else:
            return leader


def test_a_leader_that_was_removed_shuts_down_and_has_not_failed() -> None:
    """Source: leaderLoop, commitCh, ShutdownOnRemove."""

    async def run() -> None:
        group = SocketGroup(3)
        await group.start(*group.plan.node_ids)
        try:
            leader = await removed_leader(group)
            while group.driver(leader).server.is_up:
                await asyncio.sleep(0.01)
            with pytest.raises(RequestFailedError, match=RaftError.RAFT_SHUTDOWN):
                await group.client.ask(leader, "apply", value="a")
            assert not group.nodes[leader].failed.done()
        finally:
            await group.stop()

    in_time(run())


# ---- Pipelines -------------------------------------------------------------------------------------------


def test_requests_of_a_pipeline_are_under_way_together_on_one_connection_and_answered_in_their_order() -> None:
    asked_on: list[list[int]] = []

    async def answers_three_at_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked_on.append([])
        requests, found = RequestReader(), asked_on[-1]
        while len(found) < 3:
            for received in requests.feed(await reader.read(1000)):
                call = decode_request(received, "n2", {"n1": "127.0.0.1:1", "n2": "x:1"})
                assert isinstance(call.message, AppendEntriesRequest)
                found.append(call.message.prev_log_entry)
        writer.write(b"".join(map(stored_answer, found)))

    async def use(transport: NetworkTransport, _lines: list[str]) -> None:
        calls = [transport.call("n2", pipelined(number, 1, number)) for number in (1, 2, 3)]
        assert [each.last_log for each in await asyncio.gather(*calls)] == [1, 2, 3]

    calling(answers_three_at_once, use)
    assert asked_on == [[1, 2, 3]]


def test_where_a_request_of_a_pipeline_fails_so_do_those_behind_it_and_the_next_pipeline_has_a_connection() -> None:
    connections: list[asyncio.StreamWriter] = []

    async def answers_on_the_second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)
        while await reader.read(1000):
            if len(connections) == 1:
                writer.close()
                return
            writer.write(stored_answer(7))

    async def use(transport: NetworkTransport, _lines: list[str]) -> None:
        calls = [transport.call("n2", pipelined(number, 1, number)) for number in (1, 2)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        assert [type(each) for each in found] == [CallFailedError] * 2
        with pytest.raises(CallFailedError):
            await transport.call("n2", pipelined(3, 1, 3))
        assert (await transport.call("n2", pipelined(4, 4, 4))).last_log == 7

    calling(answers_on_the_second, use)
    assert len(connections) == 2


def test_a_pipeline_that_is_closed_while_it_connects_sends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []
    closes = asyncio.Event()
    connects = asyncio.open_connection

    async def reads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.append(await reader.read(1000))
        writer.write(stored_answer(1))

    async def connects_late(*address: Any) -> Any:
        await closes.wait()
        return await connects(*address)

    async def use(transport: NetworkTransport, _lines: list[str]) -> None:
        monkeypatch.setattr(asyncio, "open_connection", connects_late)
        old = asyncio.ensure_future(transport.call("n2", pipelined(1, 1, 1)))
        await asyncio.sleep(0.01)
        new = asyncio.ensure_future(transport.call("n2", pipelined(2, 2, 2)))  # the last pipeline gives way to it
        await asyncio.sleep(0.01)
        closes.set()
        with pytest.raises(CallFailedError):
            await old
        assert (await new).last_log == 1

    calling(reads, use)
    assert sorted(map(bool, received)) == [False, True]
