"""DLedger's answers as bytes, and back; which answer it is depends on the call.

Source: DLedgerRpcNettyService, DLedgerClientRpcNettyService.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from raftref.dledger.client_messages import (
    AppendEntryRequest,
    AppendEntryResponse,
    BatchAppendEntryRequest,
    ClientResponse,
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
from raftref.dledger.election_rules import HeartBeatCode, TransferCode
from raftref.dledger.messages import (
    NO_TERM,
    NONE,
    BatchRequest,
    BatchResponse,
    Code,
    CommitRequest,
    ElectionResponse,
    ElectionType,
    HeartBeatMessage,
    Index,
    PushRequest,
    PushType,
    Request,
    Response,
    TransferMessage,
    VoteMessage,
)
from raftref.dledger.remoting import ANSWERED, RemotingCommand, read_object
from raftref.dledger.wire import RpcCall
from raftref.dledger.wire_fields import FORMATS, NO_VOTE_RESULT, Rpc, read_body, write_body, write_entries
from raftref.wire_error import WireError

#: The largest term and index: both are longs of Java.
MAX_LONG = (1 << 63) - 1

AnyResponse: TypeAlias = Response | ElectionResponse | ClientResponse | Refusal | RemotingFailure

#: The answers to a heartbeat that carry the term of the node that answers; in others it is -1.
#: Source: DLedgerLeaderElector.handleHeartBeat.
CARRIES_TERM = frozenset({HeartBeatCode.UNKNOWN_MEMBER, HeartBeatCode.UNEXPECTED_MEMBER, HeartBeatCode.EXPIRED_TERM})
#: The codes of an appending leader that are no Refusal. Source: DLedgerServer.handleAppend, DLedgerEntryPusher.
OF_APPENDS = frozenset(
    {
        ResponseCode.SUCCESS,
        ResponseCode.LEADER_PENDING_FULL,
        ResponseCode.TERM_CHANGED,
        ResponseCode.WAIT_QUORUM_ACK_TIMEOUT,
    }
)


def encode_answer(answer: AnyResponse, call: RpcCall) -> bytes:
    """Return the frame of an answer.

    A SUCCESS of a transfer carries the term that the transferee leads; other answers to it carry the term of the
    transfer, where Java may have a later one, which nobody looks at.

    Args:
        answer: What the node answers.
        call: The request that it answers, as `decode_call` read it.

    Raises:
        WireError: No such request has such an answer, the frame would be too long, or no term follows a transfer's.

    Source: DLedgerRpcNettyService.writeResponse.
    """
    if isinstance(answer, RemotingFailure):
        return RemotingCommand.response(answer.code, call.opaque, remark=answer.remark).encode()
    fields = _response_fields(answer, call)
    if fields is None:
        raise WireError(f"a {type(answer).__name__} answers no {call.rpc.name}")
    return RemotingCommand.response(
        ANSWERED, call.opaque, write_body(FORMATS[call.rpc].response_fields, fields)
    ).encode()


def _response_fields(answer: AnyResponse, call: RpcCall) -> dict[str, Any] | None:
    """Return the fields of an answer; None where it answers no such request."""
    copied = {"group": call.group, "remoteId": call.message.dst, "localId": call.local_id, "term": call.term}
    match answer, call.rpc:
        case Refusal(), _:
            return copied | {"code": answer.code, "leaderId": answer.leader_id}
        case Response(), Rpc.PUSH:
            place = {"index": answer.index, "count": getattr(answer, "count", 1)}
            return {
                "group": call.group,
                "code": ResponseCode[answer.code],
                "term": answer.term,
                **({} if answer.type is PushType.COMMIT else place),
                "beginIndex": answer.begin_index,
                "endIndex": answer.end_index,
            }
        case ElectionResponse(), Rpc.VOTE:
            return copied | {"leaderId": answer.dst, "term": answer.term, "voteResult": str(answer.code)}
        case ElectionResponse(), Rpc.HEART_BEAT:
            term = answer.term if answer.code in CARRIES_TERM else NO_TERM
            return {"code": _number(answer.code), "term": term}
        case ElectionResponse(), Rpc.LEADERSHIP_TRANSFER:
            next_term = answer.term + (answer.code == TransferCode.SUCCESS)
            if next_term > MAX_LONG:
                raise WireError(f"no term of 64 bits follows {answer.term}")
            return {"code": _number(answer.code), "term": next_term}
        case LeadershipTransferResponse(), Rpc.LEADERSHIP_TRANSFER:
            return {"code": answer.code, "term": answer.term}
        case MetadataResponse(), Rpc.METADATA:
            return {"group": call.group, "leaderId": answer.leader_id, "peers": dict(answer.peers)}
        case AppendEntryResponse(), Rpc.APPEND if answer.code not in OF_APPENDS:
            return copied | {"code": answer.code, "leaderId": answer.leader_id}
        case AppendEntryResponse(), Rpc.APPEND:
            place = {"index": answer.index, "pos": answer.pos, "term": answer.term}
            return {"group": call.group, "leaderId": answer.leader_id, "code": answer.code, **place}
        case GetEntriesResponse(), Rpc.GET:
            return {"group": call.group, "entries": write_entries(answer.entries, answer.headers)}
        case _:
            return None


def _number(name: str) -> ResponseCode:
    return ResponseCode[name]


def decode_answer(frame: RemotingCommand, call: RpcCall) -> AnyResponse:
    """Read the answer to a call.

    Args:
        frame: What a caller received, with the `opaque` of the call.
        call: The call.

    Returns:
        A message of the group's protocol or to a client; a Refusal where the code is none that the protocol of the
        spec knows; a RemotingFailure where the callee failed. A heartbeat's SUCCESS has no term, which is -1.

    Raises:
        WireError: It is no answer, or none to this call; its body is not JSON; or a field is of a wrong type.

    Source: DLedgerRpcNettyService, its callbacks; DLedgerClientRpcNettyService.
    """
    if not frame.is_response or frame.opaque != call.opaque:
        raise WireError(f"frame {frame.opaque}, of code {frame.code}, is no answer to call {call.opaque}")
    if frame.code != ANSWERED:
        return RemotingFailure(frame.code, frame.remark or "")
    what = f"an answer to {call.rpc.name}"
    body = read_body(FORMATS[call.rpc].response_fields, read_object(frame.body, what), what)
    return _answer(body, call) or Refusal(ResponseCode(body["code"]), body["leaderId"])


def _answer(body: dict[str, Any], call: RpcCall) -> AnyResponse | None:
    """Return an answer of the protocol; None where its code is none of those that the request may be answered with."""
    m, code, term = call.message, ResponseCode(body["code"]), body["term"]
    match m:
        case VoteMessage():
            result = body["voteResult"]
            return None if result == NO_VOTE_RESULT else ElectionResponse(ElectionType.VOTE, m.dst, m.src, term, result)
        case HeartBeatMessage():
            known = code.name in HeartBeatCode.__members__
            return ElectionResponse(ElectionType.HEARTBEAT, m.dst, m.src, term, code.name) if known else None
        case TransferMessage():
            known = code.name in TransferCode.__members__
            return ElectionResponse(ElectionType.TRANSFER, m.dst, m.src, m.term, code.name) if known else None
        case Request() | BatchRequest() | CommitRequest():
            return _push_response(m, body)
        case AppendEntryRequest() | BatchAppendEntryRequest():
            place = body["index"], body["pos"], term, body["leaderId"]
            return AppendEntryResponse(*place, code) if code in OF_APPENDS else None
        case LeadershipTransferRequest():
            # A refusal has all that identifies the request; the elector's own answers have nothing else.
            return LeadershipTransferResponse(code, term) if body["group"] is None else None
        case _ if code is not ResponseCode.SUCCESS:
            return None
        case MetadataRequest():
            return MetadataResponse(body["leaderId"], body["peers"] or {})
        case GetEntriesRequest():
            entries, headers = zip(*body["entries"], strict=True) if body["entries"] else ((), ())
            return GetEntriesResponse(entries, headers)


def _push_response(m: PushRequest, body: dict[str, Any]) -> Response | None:
    name = ResponseCode(body["code"]).name
    if name not in Code.__members__:
        return None
    index = NONE if m.type is PushType.COMMIT else body["index"]
    if index is None:
        raise WireError("an answer to PUSH has no index")
    echo = m.type, m.dst, m.src, body["term"], Index(index), Code(name), body["beginIndex"], body["endIndex"]
    return BatchResponse(*echo, body["count"]) if isinstance(m, BatchRequest) else Response(*echo)
