"""The pushes of a recording, and their answers, as the spec's network has them."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lockstep.systems.dledger.recording_lines import PushLine, RecvRespPush, ResponseLine, SendPush, StoreLine
from lockstep.systems.dledger.step_placement import PlacedStep

Message = dict[str, Any]


@dataclass(eq=False)
class RecordedPush:
    """One push, by its `mid`: its request, and the answers that the spec's network holds.

    `replies` are the answers of the follower, whether or not the spec sends them. While it is `awaited`, its caller
    would still take an answer. A request that was answered while it went on waiting in the follower's queue is
    `answered_early`, and that copy is awaited no more; it `leaves` the queue in 0.3.2. `touched` are the steps after
    `sending` that had to do with it: each stands after the one before.
    """

    mid: int
    body: Message
    awaited: bool
    sending: PlacedStep
    touched: list[PlacedStep] = field(default_factory=list)
    copies: int = 1
    queued: bool = False
    answered_early: bool = False
    leaves: bool = False
    answers: list[Message] = field(default_factory=list)
    replies: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def caller(self) -> str:
        """The node that sent the request."""
        return str(self.body["src"])

    @property
    def follower(self) -> str:
        """The node that the request is for."""
        return str(self.body["dst"])

    @property
    def type(self) -> str:
        """COMPARE, TRUNCATE, APPEND or COMMIT."""
        return str(self.body["type"])

    @property
    def index(self) -> int | None:
        """The index of the entry; a COMMIT has none."""
        return self.body.get("index")

    @property
    def last_index(self) -> int:
        """The index of the last entry it carries. A COMMIT has none."""
        return int(self.body["index"]) + len(self.body.get("entries", "e")) - 1

    @property
    def is_batch(self) -> bool:
        """Whether it is a batch, of one entry or more."""
        return "entries" in self.body

    @property
    def term(self) -> int:
        """The term of the leadership it serves, which an answer repeats."""
        return int(self.body["term"])

    def request(self, *, queued: bool = False) -> Message:
        """Return the request as the network has it now; `queued` means the copy in the follower's queue."""
        return {**self.body, "awaited": self.awaited and not (queued and self.answered_early)}

    def holds(self, line: StoreLine) -> bool:
        """Return whether this push carried the entry that `line` stores."""
        entry = {"term": line.entryTerm, "value": line.val}
        sender = (self.body["term"], self.body["src"])
        offset = -1 if line.index is None else line.index - self.body["index"]
        carried = self.body.get("entries") or [self.body.get("entry")]
        return entry in carried[max(offset, 0) : offset + 1] and (line.leaderTerm, line.leaderId) == sender

    def was_answered_by(self, line: RecvRespPush) -> bool:
        """Return whether the follower gave the answer that has arrived."""
        return (line.code, line.beginIndex, line.endIndex) in self.replies

    def answer_like(self, line: ResponseLine) -> Message | None:
        """Return the answer under way that `line` shows."""
        fields = {"code": line.code, "beginIndex": line.beginIndex, "endIndex": line.endIndex}
        return next((answer for answer in self.answers if fields.items() <= answer.items()), None)

    def remove(self, answer: Message | None, step: PlacedStep) -> None:
        """Let `step` remove an answer from the network, unless it is gone."""
        self.answers = [other for other in self.answers if other is not answer]
        self.touch(step)

    def touch(self, step: PlacedStep) -> None:
        """Let `step` stand after the one that touched this message before."""
        if self.touched and self.touched[-1] is step:
            return
        step.after.append(self.touched[-1] if self.touched else self.sending)
        self.touched.append(step)

    def duplicate(self, step: PlacedStep) -> None:
        """Let `step` add a copy; where none is left to be copied, it did so when the request was sent."""
        if self.copies:
            self.touch(step)
        else:
            step.line, step.t_ms = self.sending.line, self.sending.t_ms
            step.after = [self.sending]
            self.touched[0].after.append(step)
            self.touched.insert(0, step)
        self.copies += 1


class RecordedPushes:
    """All pushes of a recording."""

    def __init__(self) -> None:
        """Start with none under way."""
        self._rpcs: dict[int, RecordedPush] = {}

    def get(self, mid: int | None) -> RecordedPush | None:
        """Return the push `mid`, if one was sent."""
        return None if mid is None else self._rpcs.get(mid)

    def send(self, line: SendPush, step: PlacedStep) -> RecordedPush:
        """Put a request under way."""
        body = request_body(line)
        rpc = RecordedPush(line.mid, body, awaited=line.type != "COMMIT", sending=step)
        self._rpcs[line.mid] = rpc
        return rpc

    def abandon(self, step: PlacedStep, caller: str, peer: str | None = None, kind: str | None = None) -> None:
        """Let `caller` take no more answers: of one kind from one peer, or of any."""
        for rpc in self._calls(caller, peer, kind):
            if (rpc.copies and rpc.awaited) or rpc.answers:
                rpc.touch(step)
            rpc.awaited = False
            rpc.answers.clear()

    def _calls(self, caller: str, peer: str | None, kind: str | None) -> Iterator[RecordedPush]:
        for rpc in self._rpcs.values():
            if rpc.caller == caller and peer in (None, rpc.follower) and kind in (None, rpc.type):
                yield rpc


def request_body(line: PushLine) -> Message:
    """Return a request as the spec sends it, without `awaited`."""
    body: Message = {
        "kind": "request",
        "type": line.type,
        "src": line.leaderId,
        "dst": line.remoteId,
        "term": line.term,
        "commitIndex": line.commitIndex,
    }
    if line.entries is not None:
        body["index"] = line.index
        body["entries"] = [{"term": term, "value": value} for _, term, value in line.entries]
    elif line.type != "COMMIT":
        body["index"] = line.index
        body["entry"] = {"term": line.entryTerm, "value": line.val}
    return body


def answer_record(rpc: RecordedPush, line: ResponseLine) -> Message:
    """Return the answer to `rpc` as the spec sends it."""
    count = {"count": line.count} if rpc.is_batch else {}
    return {
        "kind": "response",
        "type": rpc.type,
        "src": rpc.follower,
        "dst": rpc.caller,
        "term": line.term,
        "index": line.index,
        **count,
        "code": line.code,
        "beginIndex": line.beginIndex,
        "endIndex": line.endIndex,
    }
