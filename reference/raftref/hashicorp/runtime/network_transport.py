"""The library's wire for a server that runs, and beside it that of its clients, on one port.

Source: net_transport.go.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import Any

from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    InstallSnapshotRequest,
    Message,
    Request,
    Response,
    RpcType,
)
from raftref.hashicorp.runtime.client_lines import CLIENT_BYTE, MAX_LINE_BYTES, answer_line, error_line, read_request
from raftref.hashicorp.runtime.state_machine import SnapshotStream, applied_in
from raftref.hashicorp.transport import AnswerReader, ReceivedAnswer, ReceivedRequest, RequestReader
from raftref.hashicorp.values import NO_CONFIGURATION, Configuration, EntryType, Index, Log, NodeId
from raftref.hashicorp.wire import RpcCall, RpcFailure, decode_answer, decode_request, encode_answer, encode_request
from raftref.hashicorp.wire_fields import PROTOCOL_VERSION
from raftref.runtime.driver import PeerCall, Seconds
from raftref.runtime.node import CallFailedError, RunningNode, Transport
from raftref.runtime.node import Log as WriteLine
from raftref.wire_error import WireError

#: The bytes that are read from a connection at once.
READ_BYTES = 1 << 16
#: The size of the longest snapshot that is taken, which is kept in memory, and restored in one step: several hundred
#: thousand short commands, or some hundred of the longest. The library streams it, and has no limit.
MAX_STATE_BYTES = 1 << 26
#: The entries of a snapshot that are read before something else may be done.
LOGS_AT_ONCE = 1000
#: How long a connection is kept for an answer that nobody waits for.
UNAWAITED_TIMEOUT: Seconds = 10.0
#: The least protocol version of a sender. Source: config.go, checkRPCHeader.
MIN_PROTOCOL_VERSION = PROTOCOL_VERSION - 1


class _Connection:
    """A connection to a peer, on which requests are answered in their order."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._reads = AnswerReader()
        self._answers: deque[ReceivedAnswer] = deque()
        self._turn = asyncio.Lock()

    @property
    def is_usable(self) -> bool:
        """Whether the peer has not ended it."""
        return not (self._reader.at_eof() or self._reader.exception() or self._writer.is_closing())

    async def send(self, data: bytes) -> None:
        """Send a request; raises OSError."""
        self._writer.write(data)
        await self._writer.drain()

    async def answer(self) -> ReceivedAnswer:
        """Return the next answer, to each that waits for one in turn; raises OSError or WireError."""
        async with self._turn:
            while not self._answers:
                received = await self._reader.read(READ_BYTES)
                if not received:
                    raise ConnectionResetError("the connection was closed")
                self._answers.extend(self._reads.feed(received))
            return self._answers.popleft()

    def close(self) -> None:
        """Close it."""
        self._writer.close()


class _PipelineConnection:
    """The connection of a pipeline, on which several requests may wait for their answers."""

    def __init__(self, host: str, port: int) -> None:
        self._address = host, port
        self._connection: _Connection | None = None
        self._is_closed = False
        self._turn = asyncio.Lock()

    async def ask(self, data: bytes) -> ReceivedAnswer:
        """Send a request behind those before it, and return its answer; raises OSError or WireError."""
        async with self._turn:
            if self._is_closed:
                raise ConnectionResetError("a request before it has failed")
            if self._connection is None:
                self._connection = _Connection(*await asyncio.open_connection(*self._address))
                if self._is_closed:  # while it was opened
                    self._connection.close()
                    raise ConnectionResetError("the pipeline was closed")
            await self._connection.send(data)
        return await self._connection.answer()

    def close(self) -> None:
        """Close it: what waits on it fails."""
        self._is_closed = True
        if self._connection is not None:
            self._connection.close()


class NetworkTransport(Transport):
    """The calls of a server to its peers, and those to it.

    Each routine, for a peer and an RPC, has a connection, whose answers come in the order of its requests. A routine
    that goes on while a call it has given up is not answered gets another connection. So does each pipeline.

    Source: NetworkTransport.
    """

    def __init__(
        self,
        node_id: NodeId,
        addresses: Mapping[NodeId, tuple[str, int]],
        last_log: Callable[[], Index],
        log: WriteLine,
    ) -> None:
        """Make the transport of a server.

        Args:
            node_id: The server.
            addresses: Host and port of each server that there may be.
            last_log: Returns where the server's log ends, which an answer to a heartbeat carries.
            log: Called with a line where a peer answers what is no answer.
        """
        self._node_id, self._targets, self._last_log, self._log = node_id, dict(addresses), last_log, log
        self._addresses = {server: f"{host}:{port}" for server, (host, port) in addresses.items()}
        self._idle: dict[tuple[NodeId, RpcType], _Connection] = {}
        #: The pipeline to each peer, the last one that there was, with its name.
        self._pipelines: dict[NodeId, tuple[Hashable, _PipelineConnection]] = {}

    # ---- Calls ---------------------------------------------------------------------------------------

    async def call(self, peer: NodeId, call: PeerCall) -> Any:
        """Make a call, and return the answer; None where nobody waits for it."""
        if peer not in self._targets:
            raise CallFailedError(f"no address of {peer} is known")
        try:
            async with asyncio.timeout(UNAWAITED_TIMEOUT if call.timeout is None else call.timeout):
                if call.stream is None:
                    answer = await self._ask(peer, call.message)
                else:
                    answer = await self._ask_in_order(peer, call.stream, call.message)
        except TimeoutError as error:
            failure: Exception = error
        except (OSError, UnicodeError, WireError) as error:  # UnicodeError: a host whose name can be none
            if isinstance(error, WireError):
                self._log(f"a call to {peer} has failed: {error}")
            failure = error
        else:
            if isinstance(answer, Response):
                return answer if call.timeout is not None else None
            failure = CallFailedError(answer.error)
        if call.timeout is None:
            return None
        raise CallFailedError(str(failure)) from failure

    async def _ask(self, peer: NodeId, message: Request | SnapshotStream) -> Response | RpcFailure:
        m, state = (message.request, message.data) if isinstance(message, SnapshotStream) else (message, b"")
        data = encode_request(RpcCall(m, data=state), self._addresses)
        routine = peer, m.type
        connection = self._idle.pop(routine, None)
        if connection is None or not connection.is_usable:
            if connection is not None:
                connection.close()
            connection = _Connection(*await asyncio.open_connection(*self._targets[peer]))
        keeps = False
        try:
            await connection.send(data)
            answer = decode_answer(await connection.answer(), m)
            # Source: InstallSnapshot, whose connection is of no further use.
            keeps = m.type is not RpcType.INSTALL_SNAPSHOT and routine not in self._idle
            if keeps:
                self._idle[routine] = connection
            return answer
        finally:
            if not keeps:
                connection.close()

    async def _ask_in_order(self, peer: NodeId, name: Hashable, m: Request) -> Response | RpcFailure:
        """Make a call of a pipeline, which fails as a whole; the one before it is closed."""
        data = encode_request(RpcCall(m), self._addresses)
        last, stream = self._pipelines.get(peer, (None, None))
        if stream is None or last != name:
            if stream is not None:
                stream.close()
            stream = _PipelineConnection(*self._targets[peer])
            self._pipelines[peer] = name, stream
        try:
            return decode_answer(await stream.ask(data), m)
        except BaseException:
            stream.close()
            raise

    def close(self) -> None:
        """Close all connections to peers."""
        for connection in self._idle.values():
            connection.close()
        for _, stream in self._pipelines.values():
            stream.close()
        self._idle.clear()
        self._pipelines.clear()

    # ---- Requests ------------------------------------------------------------------------------------

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: RunningNode) -> None:
        """Answer the requests of a connection in their order: those of a peer, or of a client."""
        try:
            first = await reader.read(READ_BYTES)
            if first[:1] == CLIENT_BYTE:
                await self._serve_client(first[1:], reader, writer, node)
            else:
                await self._serve_peer(first, reader, writer, node)
        except WireError as error:
            node.log(f"a connection from {_name(writer)} is ended: {error}")

    async def _serve_peer(
        self, data: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: RunningNode
    ) -> None:
        requests = RequestReader(self._check_sender, MAX_STATE_BYTES)
        while data:
            for received in requests.feed(data):
                call = decode_request(received, self._node_id, self._addresses)
                answer = await self._answer(call, node)
                writer.write(encode_answer(answer, self._addresses, last_log=self._last_log()))
                await writer.drain()
            data = await reader.read(READ_BYTES)

    def _check_sender(self, received: ReceivedRequest) -> None:
        """Refuse the snapshot of a stranger before any of it is kept; raises WireError, which ends the connection."""
        strangers = self._strangers_in(decode_request(received, self._node_id, self._addresses).message)
        if strangers:
            raise WireError(f"{min(strangers)} is no peer of {self._node_id}")

    def _strangers_in(self, m: Message) -> frozenset[NodeId]:
        """Return the servers in a request that are none of the group; this server does not send to itself."""
        return (_servers_in(m) - self._addresses.keys()) | ({m.src} & {self._node_id})

    async def _answer(self, call: RpcCall, node: RunningNode) -> Response | RpcFailure:
        """Hand a request over, or refuse it."""
        if not MIN_PROTOCOL_VERSION <= call.protocol_version <= PROTOCOL_VERSION:
            return RpcFailure(f"protocol version {call.protocol_version} is not supported")
        m: Message = call.message
        strangers = self._strangers_in(m)
        if strangers:
            return RpcFailure(f"{min(strangers)} is no peer of {self._node_id}")
        request: Message | SnapshotStream = m
        if isinstance(m, InstallSnapshotRequest):
            try:
                applied = await _commands_in(call.data)
            except (KeyError, TypeError, ValueError, RecursionError):
                return RpcFailure("the state machine cannot read the snapshot")
            request = SnapshotStream(replace(m, snapshot=replace(m.snapshot, applied=applied)), call.data)
        answer: Response | None = node.request_now(request)
        return RpcFailure("the server cannot take the request now") if answer is None else answer

    # ---- Clients -------------------------------------------------------------------------------------

    async def _serve_client(
        self, data: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, node: RunningNode
    ) -> None:
        rest = data
        while True:
            line, newline, behind = rest.partition(b"\n")
            if newline:
                rest = behind
                await self._answer_client(line, writer, node)
                continue
            if len(rest) > MAX_LINE_BYTES:
                raise WireError(f"a line is longer than {MAX_LINE_BYTES} bytes")
            received = await reader.read(READ_BYTES)
            if not received:
                return
            rest += received

    @staticmethod
    async def _answer_client(line: bytes, writer: asyncio.StreamWriter, node: RunningNode) -> None:
        try:
            asked = read_request(line)
        except WireError as error:
            writer.write(error_line(str(error)))
            raise
        answer = await node.ask(asked)
        writer.write(answer_line(answer, getattr(answer, "leader", None)))
        await writer.drain()


def _servers_in(m: Message) -> frozenset[NodeId]:
    """Return the servers that a request is from, and about."""
    configurations: list[Configuration] = []
    match m:
        case AppendEntriesRequest():
            configurations = [entry.configuration for entry in m.entries]
        case InstallSnapshotRequest():
            configurations = [m.snapshot.configuration]
    return frozenset({m.src}).union(*(each.servers for each in configurations))


async def _commands_in(data: bytes) -> tuple[Log, ...]:
    """Return what a state machine had applied when its snapshot was taken; raises as `applied_in` does.

    It takes a while, in which the server does other things, too.
    """
    applied: list[Log] = []
    for log in applied_in(data):
        applied.append(log)
        if len(applied) % LOGS_AT_ONCE == 0:
            await asyncio.sleep(0)
        entry = log.entry
        numbers = type(log.index) is int and type(entry.term) is int
        if not numbers or entry.type is not EntryType.COMMAND or entry.configuration != NO_CONFIGURATION:
            raise ValueError("an entry of a snapshot is no command")
        if not isinstance(entry.value, str | None):
            raise TypeError("the value of a command is no text")
    return tuple(applied)


def _name(writer: asyncio.StreamWriter) -> str:
    host, port = writer.get_extra_info("peername", ("?", 0))[:2]
    return f"{host}:{port}"
