"""DLedger's requests and answers as bytes, and back: the messages of `raftref.dledger`, and those of clients.

An `RpcCall` is a request with what its message lacks: the number that its answer will have, the group, the headers of
its entries. The caller keeps it until the answer comes; the callee reads it and answers to it. Answers are in
`raftref.dledger.wire_answers`. There are no sockets here: `raftref.dledger.remoting.FrameReader` cuts what a connection
receives into frames.

Source: DLedgerRpcNettyService.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

from raftref.dledger.client_messages import (
    AppendEntryRequest,
    BatchAppendEntryRequest,
    ClientRequest,
    GetEntriesRequest,
    LeadershipTransferRequest,
    MetadataRequest,
)
from raftref.dledger.messages import (
    NO_TERM,
    BatchRequest,
    CommitRequest,
    ElectionRequest,
    HeartBeatMessage,
    NodeId,
    PushRequest,
    PushType,
    Request,
    Term,
    TransferMessage,
    VoteMessage,
)
from raftref.dledger.remoting import RemotingCommand, read_object
from raftref.dledger.storage.entry_coder import EntryHeader, to_value
from raftref.dledger.wire_fields import (
    FORMATS,
    RPC_OF,
    SETS_LOCAL_ID,
    Rpc,
    Version,
    read_body,
    write_body,
    write_entries,
    write_value,
)
from raftref.wire_error import WireError

AnyRequest: TypeAlias = PushRequest | ElectionRequest | ClientRequest


@dataclass(frozen=True, slots=True)
class RpcCall:
    """A request on its way. The headers are those of the entries that it pushes, in their order.

    `local_id` is the sender, in those requests that say it twice: `src` of the message is the sender as well.
    """

    message: AnyRequest
    opaque: int
    group: str | None
    local_id: NodeId | None = None
    headers: tuple[EntryHeader, ...] = ()

    @property
    def rpc(self) -> Rpc:
        """The RPC that it calls."""
        return RPC_OF[type(self.message)]

    @property
    def term(self) -> Term:
        """The term that it stands in, -1 where it has none."""
        return getattr(self.message, "term", NO_TERM)


def call_with(
    message: AnyRequest, opaque: int, group: str, version: Version, headers: Iterable[EntryHeader] = ()
) -> RpcCall:
    """Make the call of a node of a version, or of a client.

    Args:
        message: The request.
        opaque: A number that no other request on the connection has. Java counts from 0 when a process starts.
        group: The name of the group.
        version: The version that the node speaks.
        headers: Of a push, the header of each entry in the leader's data file.

    Source: DLedgerLeaderElector, EntryDispatcher.buildPushRequest.
    """
    local_id = getattr(message, "src", None) if RPC_OF[type(message)] in SETS_LOCAL_ID[version] else None
    return RpcCall(message, opaque, group, local_id, tuple(headers))


def encode_call(call: RpcCall) -> bytes:
    """Return the frame of a request.

    Args:
        call: The request. Each entry that it pushes has its header.

    Raises:
        WireError: A header is missing or belongs to another entry, or the frame would be too long.

    Source: DLedgerRpcNettyService.vote, heartBeat, push, leadershipTransfer; DLedgerClientRpcNettyService.
    """
    body = {"group": call.group, "remoteId": call.message.dst, "localId": call.local_id, "term": call.term}
    body |= _request_fields(call)
    return RemotingCommand(call.rpc, call.opaque, body=write_body(FORMATS[call.rpc].request_fields, body)).encode()


def _request_fields(call: RpcCall) -> dict[str, Any]:
    match call.message:
        case VoteMessage(src=src) as m:
            return {"leaderId": src, "ledgerEndIndex": m.ledger_end_index, "ledgerEndTerm": m.ledger_end_term}
        case HeartBeatMessage(src=src):
            return {"leaderId": src}
        case TransferMessage(src=src) as m:
            transfer = {"transferId": src, "transfereeId": m.dst, "takeLeadershipLedgerIndex": m.index}
            return {"leaderId": src, **transfer}
        case LeadershipTransferRequest() as m:
            return {"transferId": m.transfer, "transfereeId": m.transferee}
        case AppendEntryRequest() as m:
            return {"body": write_value(m.value)}
        case BatchAppendEntryRequest() as m:
            return {"batchMsgs": [write_value(each) for each in m.values]}
        case GetEntriesRequest() as m:
            return {"beginIndex": m.begin_index, "maxSize": m.max_size}
        case MetadataRequest():
            return {}
        case m:
            return {"leaderId": m.src, "type": str(m.type), "commitIndex": m.commit_index, **_entry_fields(m, call)}


def _entry_fields(m: PushRequest, call: RpcCall) -> dict[str, Any]:
    """Return the fields of a push that follow from its entries. Source: PushEntryRequest, its getters."""
    if isinstance(m, CommitRequest):
        return {"batchEntry": []}
    entries = write_entries(m.entries, call.headers)
    if not entries:
        raise WireError("a batch has no entries")
    if [each.index for each in call.headers] != list(range(m.index, m.index + len(m.entries))):
        raise WireError(f"the headers of a push at {m.index} are those of other entries")
    ends = {"firstEntryIndex": m.index, "lastEntryIndex": m.last_index, "count": len(entries)}
    if isinstance(m, Request):
        return {"entry": entries[0], "batchEntry": [], **ends}
    size = sum(each.size for each in call.headers)
    return {"batchEntry": entries, "batch": True, "totalSize": size, **ends}


def decode_call(frame: RemotingCommand) -> RpcCall:
    """Read a request.

    Args:
        frame: What a node received from a caller.

    Raises:
        WireError: It is no request, or of no known code; its body is not JSON; a field is of a wrong type; or a field
            is missing without which there is no such message.

    Source: DLedgerRpcNettyService.processRequest.
    """
    if frame.is_response:
        raise WireError(f"an answer, of code {frame.code}, where a request was expected")
    if frame.code not in FORMATS:
        raise WireError(f"no request has the code {frame.code}")
    rpc = Rpc(frame.code)
    body = read_body(FORMATS[rpc].request_fields, read_object(frame.body, f"the body of {rpc.name}"), rpc.name)
    message, headers = _request(rpc, body)
    return RpcCall(message, frame.opaque, body["group"], body["localId"], headers)


def _request(rpc: Rpc, body: dict[str, Any]) -> tuple[AnyRequest, tuple[EntryHeader, ...]]:
    """Return the message of a request, and the headers of its entries."""

    def given(name: str) -> Any:
        if body[name] is None:
            raise WireError(f"{rpc.name} has no {name}")
        return body[name]

    dst, term = given("remoteId"), body["term"]
    match rpc:
        case Rpc.VOTE:
            return VoteMessage(given("leaderId"), dst, term, body["ledgerEndTerm"], body["ledgerEndIndex"]), ()
        case Rpc.HEART_BEAT:
            return HeartBeatMessage(given("leaderId"), dst, term), ()
        case Rpc.PUSH:
            return _push(given("leaderId"), dst, body)
        case Rpc.LEADERSHIP_TRANSFER:
            transfer, transferee = given("transferId"), given("transfereeId")
            if dst == transferee != transfer:
                return TransferMessage(transfer, dst, term, body["takeLeadershipLedgerIndex"]), ()
            return LeadershipTransferRequest(dst, transfer, transferee, term), ()
        case Rpc.METADATA:
            return MetadataRequest(dst), ()
        case Rpc.GET:
            return GetEntriesRequest(dst, given("beginIndex"), body["maxSize"]), ()
        case Rpc.APPEND if body["batchMsgs"] is not None:
            return BatchAppendEntryRequest(dst, tuple(map(to_value, body["batchMsgs"]))), ()
        case Rpc.APPEND:
            return AppendEntryRequest(dst, to_value(given("body"))), ()


def _push(src: NodeId, dst: NodeId, body: dict[str, Any]) -> tuple[PushRequest, tuple[EntryHeader, ...]]:
    type_, term, commit_index = PushType(body["type"]), body["term"], body["commitIndex"]
    if type_ is PushType.COMMIT:
        return CommitRequest(src, dst, term, commit_index), ()
    if type_ is PushType.APPEND and body["batchEntry"]:
        entries, headers = zip(*body["batchEntry"], strict=True)
        first = headers[0].index
        if [each.index for each in headers] != list(range(first, first + len(headers))):
            raise WireError("the entries of a batch do not follow each other")
        _check_index(first, type_)
        return BatchRequest(src, dst, term, first, entries, commit_index), headers
    if body["entry"] is None:
        raise WireError(f"{type_} has no entry")
    entry, header = body["entry"]
    _check_index(header.index, type_)
    return Request(type_, src, dst, term, header.index, entry, commit_index), (header,)


def _check_index(index: int, type_: PushType) -> None:
    """Refuse an entry that no log has. A leader with an empty log compares and truncates nothing.

    Source: EntryDispatcher.doCompare, doTruncate.
    """
    if index < 0:
        raise WireError(f"the entry of {type_} is at index {index}")
