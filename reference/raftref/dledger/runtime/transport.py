"""DLedger's wire for a node that runs: one pipelined connection to each peer, answers matched by their number."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Mapping
from typing import Any, cast

from raftref.dledger.client_messages import ClientRequest, Refusal, RemotingFailure, ResponseCode
from raftref.dledger.messages import NodeId, PushRequest
from raftref.dledger.remoting import FrameReader
from raftref.dledger.runtime.driver import DLedgerDriver
from raftref.dledger.runtime.leader_positions import PositionedPush
from raftref.dledger.storage.entry_coder import EntryHeader
from raftref.dledger.wire import RpcCall, call_with, decode_call, encode_call
from raftref.dledger.wire_answers import decode_answer, encode_answer
from raftref.dledger.wire_fields import Version
from raftref.runtime.driver import PeerCall, Seconds
from raftref.runtime.node import CallFailedError, RunningNode, Transport
from raftref.wire_error import WireError

#: How long a connection may take to be made, also for a call without a timeout: meanwhile all calls to that peer wait
#: for it. Source: NettyClientConfig.connectTimeoutMillis.
CONNECT_TIMEOUT: Seconds = 3.0
#: The bytes that are read from a connection at once.
READ_BYTES = 1 << 16
#: The requests of one connection that are handled at a time; no more are read until one of them is done. Above the
#: 10,000 clients that may wait at a leader, which could all have come on one connection.
MAX_REQUESTS_PER_CONNECTION = 1 << 14
#: The bytes that are kept for the other side of a connection while it reads nothing; with more it is ended.
MAX_UNREAD_BYTES = 1 << 26


class _Connection:
    """A connection to a peer, with the calls that have no answer yet."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self.waiting: dict[int, tuple[RpcCall, asyncio.Future[Any]]] = {}
        self._reader = reader
        self._task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        frames = FrameReader()
        try:
            while data := await self._reader.read(READ_BYTES):
                for frame in frames.feed(data):
                    call, answer = self.waiting.pop(frame.opaque, (None, None))
                    if call is not None and answer is not None and not answer.done():
                        answer.set_result(decode_answer(frame, call))
        except (WireError, OSError) as error:
            self.fail(str(error))
        else:
            self.fail("the connection was closed")

    def send(self, data: bytes) -> None:
        """Send a request whose answer nobody waits for; raises ConnectionError where the peer reads nothing."""
        if self.writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            self.fail("the peer reads nothing")
            raise ConnectionAbortedError("the peer reads nothing")
        self.writer.write(data)

    async def ask(self, call: RpcCall) -> Any:
        """Send a request, and return its answer; raises CallFailedError, ConnectionError or WireError."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.send(encode_call(call))
        self.waiting[call.opaque] = call, answer
        try:
            return await answer
        finally:
            self.waiting.pop(call.opaque, None)

    def fail(self, why: str) -> None:
        """End the connection; no call on it is answered any more."""
        self.writer.transport.abort()  # what is not sent by now is nobody's any more
        for _, answer in self.waiting.values():
            if not answer.done():
                answer.set_exception(CallFailedError(why))
        self.waiting.clear()

    def close(self) -> None:
        """Close the connection."""
        self._task.cancel()
        self.fail("the node stops")


class RemotingTransport(Transport):
    """The calls of a node to its peers, and those to it.

    Source: DLedgerRpcNettyService, NettyRemotingClient, NettyRemotingServer.
    """

    def __init__(self, group: str, addresses: Mapping[NodeId, tuple[str, int]], version: Version) -> None:
        """Make the transport of a member.

        Args:
            group: The name of the group, which every message carries.
            addresses: Host and port of each peer.
            version: The version whose messages it writes.
        """
        self._group, self._addresses, self._version = group, addresses, version
        self._connections: dict[NodeId, _Connection] = {}
        self._connecting: dict[NodeId, asyncio.Lock] = {}
        self._opaque = itertools.count()

    # ---- Calls ---------------------------------------------------------------------------------------

    async def call(self, peer: NodeId, call: PeerCall) -> Any:
        """Make a call, and return the answer; one without a timeout is sent, and its answer is not waited for."""
        message, headers = _parts(call.message)
        request = call_with(message, next(self._opaque), self._group, self._version, headers)
        try:
            if call.timeout is None:
                (await self._connection(peer)).send(encode_call(request))
                return None
            async with asyncio.timeout(call.timeout):
                answer = await (await self._connection(peer)).ask(request)
        except (OSError, UnicodeError, WireError) as error:  # UnicodeError: a host whose name can be none
            if call.timeout is None:
                return None
            why = "no answer in time" if isinstance(error, TimeoutError) else str(error)
            raise CallFailedError(why) from error
        if isinstance(answer, RemotingFailure) or not hasattr(answer, "src"):
            raise CallFailedError(f"refused: {answer}")
        return answer

    async def _connection(self, peer: NodeId) -> _Connection:
        async with self._connecting.setdefault(peer, asyncio.Lock()):
            found = self._connections.get(peer)
            if found is None or found.writer.is_closing():
                host, port = self._addresses[peer]
                async with asyncio.timeout(CONNECT_TIMEOUT):
                    streams = await asyncio.open_connection(host, port)
                found = self._connections[peer] = _Connection(*streams)
            return found

    def close(self) -> None:
        """Close all connections to peers."""
        for each in self._connections.values():
            each.close()

    # ---- Requests ------------------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: RunningNode) -> None:
        """Hand over the requests of a connection as they come; each is answered when its answer is there.

        Those that have no answer when the connection ends get none.
        """
        frames, handled = FrameReader(), set[asyncio.Task[None]]()
        try:
            while data := await reader.read(READ_BYTES):
                for frame in frames.feed(data):
                    if len(handled) >= MAX_REQUESTS_PER_CONNECTION:
                        await asyncio.wait(handled, return_when=asyncio.FIRST_COMPLETED)
                    task = node.spawn(self._handle(decode_call(frame), writer, node))
                    handled.add(task)
                    task.add_done_callback(handled.discard)
        except WireError as error:
            node.log(f"a connection from {_name(writer)} is ended: {error}")
        finally:
            for task in [*handled]:
                task.cancel()

    async def _handle(self, call: RpcCall, writer: asyncio.StreamWriter, node: RunningNode) -> None:
        m, code = call.message, self._refusal(call, node)
        if code is not None:
            driver = cast(DLedgerDriver, node.driver)
            answer: Any = Refusal(code, driver.server.member_state.leader_id)
        elif isinstance(m, ClientRequest):
            answer = await node.ask(m)
        elif isinstance(m, PushRequest):
            answer = await node.request(PositionedPush(m, call.headers))
        else:
            answer = await node.request(m)
        if answer is None or writer.is_closing():
            return
        if writer.transport.get_write_buffer_size() > MAX_UNREAD_BYTES:
            node.log(f"a connection from {_name(writer)} is ended: its answers are not read")
            writer.transport.abort()
            return
        writer.write(encode_answer(answer, call))
        with contextlib.suppress(ConnectionError):  # its reader sees that, too
            await writer.drain()

    def _refusal(self, call: RpcCall, node: RunningNode) -> ResponseCode | None:
        """Return the reason for which a request is not this node's, if there is one.

        Source: DLedgerServer, the first two tests of each of its handlers.
        """
        if call.message.dst != node.driver.node_id:
            # The node itself refuses a client: its answer has the fields of that request's.
            return None if isinstance(call.message, ClientRequest) else ResponseCode.UNKNOWN_MEMBER
        return ResponseCode.UNKNOWN_GROUP if call.group != self._group else None


def _parts(message: Any) -> tuple[Any, tuple[EntryHeader, ...]]:
    """Return a message, and the headers of the entries that it pushes."""
    return (message.request, message.headers) if isinstance(message, PositionedPush) else (message, ())


def _name(writer: asyncio.StreamWriter) -> str:
    host, port = writer.get_extra_info("peername", ("?", 0))[:2]
    return f"{host}:{port}"
