"""The wire of DLedger's nodes: its frames as lines, and what they establish.

Source: DLedgerRpcNettyService, RemotingCommand.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lockstep.systems.wire_format import UNKNOWN, MisnamedNodeError, WireFact, WireFormat, WireFrame, WireLine, digest
from raftref.dledger.client_messages import ResponseCode
from raftref.dledger.election_rules import VoteCode
from raftref.dledger.messages import PushType
from raftref.dledger.remoting import ANSWERED, FrameReader, RemotingCommand, read_object
from raftref.dledger.wire_fields import FORMATS, Rpc, read_body
from raftref.wire_error import WireError


class DLedgerStream:
    """A connection: requests, and answers in any order, which have the numbers of their requests."""

    def __init__(self) -> None:
        self._requests, self._answers = FrameReader(), FrameReader()
        #: The codes of the requests without an answer.
        self._asked: dict[int, int] = {}

    def requests(self, data: bytes) -> Iterator[WireFrame]:
        """Take the next bytes of the caller and yield the requests that are complete; raises WireError."""
        for command in self._requests.feed(data):
            if command.is_response:
                raise WireError(f"an answer, of code {command.code}, where a request was expected")
            self._asked[command.opaque] = command.code
            fields = _fields(command, command.code, is_answer=False)
            sender = fields.get("leaderId")
            yield WireFrame(
                _name(command.code), command.opaque, False, sender if isinstance(sender, str) else "", fields
            )

    def answers(self, data: bytes) -> Iterator[WireFrame]:
        """Take the next bytes of the callee and yield the answers that are complete; raises WireError."""
        for command in self._answers.feed(data):
            if not command.is_response or command.opaque not in self._asked:
                raise WireError(f"frame {command.opaque}, of code {command.code}, is no answer to a request")
            code = self._asked.pop(command.opaque)
            yield WireFrame(_name(code), command.opaque, True, "", _fields(command, code, is_answer=True))


def _name(code: int) -> str:
    return Rpc(code).name if code in FORMATS else f"code {code}"


def _fields(command: RemotingCommand, code: int, *, is_answer: bool) -> dict[str, Any]:
    """Return the fields of a body, with digests in place of values; those of a body that is none are why."""
    if is_answer and command.code != ANSWERED:
        return {"remark": command.remark or "", "failed": command.code}
    try:
        body = read_object(command.body, "the body") if command.body else {}
        if code in FORMATS:
            format_ = FORMATS[Rpc(code)]
            read_body(format_.response_fields if is_answer else format_.request_fields, body, _name(code))
    except WireError as error:  # The next frame begins where this one says that it ends.
        return {"why": str(error)}
    return {key: _shown(key, value) for key, value in body.items()}


def _shown(name: str, value: Any) -> Any:
    match value:
        case str() if name in ("body", "batchMsgs"):
            return digest(base64.b64decode(value))
        case list():
            return [_shown(name, each) for each in value]
        case dict():
            return {key: _shown(key, each) for key, each in value.items()}
        case _:
            return value


# ---- What frames establish ----


def _facts(line: WireLine) -> Iterator[WireFact]:
    """Yield what a frame establishes. Clients, and transfers of a leadership, are passed over."""
    if line.kind not in _OF_REQUESTS:
        return
    if line.is_answer:
        if "why" in line.fields:
            yield "Misses", {}
        yield _of_answer(line)
        return
    if (name := line.fields["remoteId"]) != line.dst:
        raise MisnamedNodeError(f"the node that is called {line.dst} is {name} to {line.src}")
    ask = {"src": line.src, "dst": line.dst, "call": line.call, "term": line.fields["term"]}
    action, more = _OF_REQUESTS[line.kind](line)
    yield action, {**ask, **more}


def _of_vote(line: WireLine) -> WireFact:
    return "AsksVote", {"last": line.fields.get("ledgerEndIndex", -1)}


def _of_heartbeat(line: WireLine) -> WireFact:
    return "Leads", {"last": UNKNOWN}


def _of_push(line: WireLine) -> WireFact:
    """Return what a push has of the leader's log; the requests of a connection may overtake each other."""
    fields = line.fields
    type_ = fields.get("type", PushType.APPEND)
    batch = fields.get("batchEntry") or []
    entries = [] if type_ == PushType.COMMIT else batch if type_ == PushType.APPEND and batch else [fields["entry"]]
    indexes = [each.get("index", 0) for each in entries]
    if entries and indexes != list(range(indexes[0], indexes[0] + len(indexes))):
        raise WireError("the entries of a batch do not follow each other")
    commit = fields.get("commitIndex", -1)
    return "Replicates", {
        "stream": UNKNOWN,
        "from": indexes[0] if entries else UNKNOWN,
        "sent": [{"term": each.get("term", 0), "value": each["body"]} for each in entries],
        # An agreement to a COMPARE or TRUNCATE raises the watermark, too.
        "last": indexes[-1] if entries else UNKNOWN,
        "commit": commit if commit >= 0 else UNKNOWN,
    }


_OF_REQUESTS: Mapping[str, Callable[[WireLine], WireFact]] = {
    Rpc.VOTE.name: _of_vote,
    Rpc.HEART_BEAT.name: _of_heartbeat,
    Rpc.PUSH.name: _of_push,
}

#: The refusals of a vote that have the term of the voter.
_WITH_TERM = (VoteCode.ACCEPT, VoteCode.REJECT_EXPIRED_VOTE_TERM)


def _of_answer(line: WireLine) -> WireFact:
    """Return what an answer establishes: one to a push has the term of the push, one to a heartbeat often none."""
    fields, code = line.fields, line.fields.get("code", ResponseCode.SUCCESS)
    if "failed" in fields or "why" in fields:
        return "Drops", {"stream": UNKNOWN, "over": [line.call]}
    if line.kind == Rpc.PUSH.name:
        return "Agrees", {"call": line.call, "ok": code == ResponseCode.SUCCESS}
    if line.kind == Rpc.VOTE.name and (result := fields.get("voteResult")) in _WITH_TERM:
        return "Answers", {"call": line.call, "term": fields["term"], "ok": result == VoteCode.ACCEPT}
    if line.kind == Rpc.HEART_BEAT.name and code == ResponseCode.EXPIRED_TERM:
        return "Answers", {"call": line.call, "term": fields["term"], "ok": False}
    return "Drops", {"stream": UNKNOWN, "over": [line.call]}


WIRE = WireFormat(
    DLedgerStream,
    _facts,
    "what is on a disk; what followers have committed; a node's own vote; crashes and restarts; what a dispatcher "
    "knows; anything under TLS",
)
