"""A client of a DLedger group: appends and reads at the leader, which it finds by asking the members."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from raftref.dledger.client_messages import (
    AppendEntryRequest,
    AppendEntryResponse,
    ClientRequest,
    GetEntriesRequest,
    GetEntriesResponse,
    LeadershipTransferRequest,
    LeadershipTransferResponse,
    MetadataRequest,
    MetadataResponse,
    Refusal,
    RemotingFailure,
    ResponseCode,
)
from raftref.dledger.messages import (
    NO_TERM,
    ElectionResponse,
    Entry,
    HeartBeatMessage,
    Index,
    NodeId,
    Term,
    Value,
)
from raftref.dledger.remoting import FrameReader
from raftref.dledger.wire import call_with, encode_call
from raftref.dledger.wire_answers import decode_answer
from raftref.dledger.wire_fields import Version
from raftref.wire_error import WireError

A = TypeVar("A")

#: The longest that a client waits for an answer, in seconds. Source: DLedgerClientRpcNettyService.
TIMEOUT = 3.0
#: The rest between two attempts to find the leader, in seconds.
RETRY = 0.2
#: The codes of answers to an append after which its entry may be committed all the same.
UNCERTAIN = frozenset({ResponseCode.TERM_CHANGED, ResponseCode.WAIT_QUORUM_ACK_TIMEOUT})
#: The sender of a heartbeat that is no member's.
_NO_MEMBER: NodeId = ""


class RequestRefusedError(Exception):
    """The group did not do what was asked for. What was appended may be committed all the same if `is_uncertain`."""

    def __init__(self, code: ResponseCode, leader: NodeId | None = None, *, is_uncertain: bool = False) -> None:
        """Make the error of an answer.

        Args:
            code: The code of the answer; NETWORK_ERROR or TIMEOUT where there was none.
            leader: The leader that the answer names.
            is_uncertain: Whether the entry may have been stored.
        """
        super().__init__(code.name)
        self.code, self.leader, self.is_uncertain = code, leader, is_uncertain


class Client:
    """A client, with a connection for each request.

    Source: DLedgerClient.
    """

    def __init__(self, group: str, addresses: Mapping[NodeId, tuple[str, int]], timeout: float = TIMEOUT) -> None:
        """Make a client of a group, given the host and port of each member."""
        self._group, self._addresses, self._timeout = group, dict(addresses), timeout
        self._opaque = itertools.count()
        self.leader: NodeId | None = None

    async def append(self, value: Value) -> AppendEntryResponse:
        """Append an entry, and return its index, position and term once it is committed; raises RequestRefusedError."""
        return await self._at_leader(lambda leader: AppendEntryRequest(leader, value), AppendEntryResponse)

    async def get(self, index: Index) -> Entry:
        """Return the entry at an index of the leader's log, committed or not; raises RequestRefusedError."""
        found = await self._at_leader(lambda leader: GetEntriesRequest(leader, index), GetEntriesResponse)
        return found.entries[0]

    async def transfer(self, transferee: NodeId, term: Term) -> LeadershipTransferResponse:
        """Let the leader of a term hand over to a peer; raises RequestRefusedError."""
        return await self._at_leader(
            lambda leader: LeadershipTransferRequest(leader, leader, transferee, term), LeadershipTransferResponse
        )

    async def hand_over(self, transferee: NodeId) -> LeadershipTransferResponse:
        """Let the leader hand over to a peer, whatever its term; raises RequestRefusedError."""
        leader = self.leader or await self._find_leader()
        return await self.transfer(transferee, await self.term_of(leader))

    async def term_of(self, node: NodeId) -> Term:
        """Return the term that a node is in; raises RequestRefusedError.

        No answer to a client has it: it is in that to a heartbeat of a sender who is no member, which does nothing.

        Source: DLedgerLeaderElector.handleHeartBeat.
        """
        answer: ElectionResponse = await self.ask(node, HeartBeatMessage(_NO_MEMBER, node, NO_TERM))
        return answer.term

    async def metadata(self, node: NodeId) -> MetadataResponse:
        """Ask a node which member leads; raises RequestRefusedError."""
        return _expected(await self.ask(node, MetadataRequest(node)), MetadataResponse)

    async def ask(self, node: NodeId, request: ClientRequest | HeartBeatMessage) -> Any:
        """Ask a node, and return its answer; raises RequestRefusedError where there is none."""
        sent = False
        try:
            async with asyncio.timeout(self._timeout):
                reader, writer = await asyncio.open_connection(*self._addresses[node])
                try:
                    call = call_with(request, next(self._opaque), self._group, Version.V0_3)
                    sent = True
                    writer.write(encode_call(call))
                    frames = FrameReader()
                    while data := await reader.read(1 << 16):
                        for frame in frames.feed(data):
                            return decode_answer(frame, call)
                finally:
                    writer.close()
        except TimeoutError as error:
            raise RequestRefusedError(ResponseCode.TIMEOUT, is_uncertain=sent) from error
        except (OSError, UnicodeError, WireError) as error:  # UnicodeError: a host whose name can be none
            raise RequestRefusedError(ResponseCode.NETWORK_ERROR, is_uncertain=sent) from error
        raise RequestRefusedError(ResponseCode.NETWORK_ERROR, is_uncertain=sent)

    async def _at_leader(self, request: Callable[[NodeId], ClientRequest], kind: type[A]) -> A:
        """Ask the leader, for as long as that is certain to have done nothing yet."""
        for attempt in itertools.count():
            leader = self.leader or await self._find_leader()
            try:
                return _expected(await self.ask(leader, request(leader)), kind)
            except RequestRefusedError as error:
                self.leader = error.leader if error.leader in self._addresses else None
                again = error.code is ResponseCode.NOT_LEADER or not error.is_uncertain
                if error.code not in _ELSEWHERE or not again or attempt * RETRY > self._timeout:
                    raise
                await asyncio.sleep(RETRY)
        raise AssertionError("attempts end by an answer or an error")

    async def _find_leader(self) -> NodeId:
        """Return the leader that a member names; raises RequestRefusedError, of the network where none answers."""
        end = asyncio.get_running_loop().time() + self._timeout
        code = ResponseCode.NETWORK_ERROR
        while True:
            for node in self._addresses:
                try:
                    leader = (await self.metadata(node)).leader_id
                except RequestRefusedError:
                    continue
                code = ResponseCode.NOT_LEADER
                if leader in self._addresses:
                    self.leader = leader
                    return leader
            if asyncio.get_running_loop().time() > end:
                raise RequestRefusedError(code)
            await asyncio.sleep(RETRY)


#: The answers after which another node may be asked.
_ELSEWHERE = frozenset({ResponseCode.NOT_LEADER, ResponseCode.NETWORK_ERROR, ResponseCode.TIMEOUT})


def _expected(answer: Any, kind: type[A]) -> A:
    if isinstance(answer, RemotingFailure):
        raise RequestRefusedError(ResponseCode.INTERNAL_ERROR, is_uncertain=True)
    if isinstance(answer, Refusal):
        raise RequestRefusedError(answer.code, answer.leader_id)
    code = getattr(answer, "code", ResponseCode.SUCCESS)
    if code is not ResponseCode.SUCCESS:
        raise RequestRefusedError(code, getattr(answer, "leader_id", None), is_uncertain=code in UNCERTAIN)
    if not isinstance(answer, kind):
        raise RequestRefusedError(ResponseCode.UNEXPECTED_ARGUMENT)
    return answer
