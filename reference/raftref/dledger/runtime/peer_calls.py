"""Requests to peers that have no answer yet, and requests of peers that this node has not answered."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable
from typing import NamedTuple

from raftref.dledger.messages import (
    NONE,
    BatchRequest,
    Code,
    CommitRequest,
    ElectionResponse,
    ElectionType,
    Index,
    Message,
    NodeId,
    PushRequest,
    PushType,
    Request,
    Response,
)
from raftref.dledger.runtime.leader_positions import PositionedPush
from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.steps import Abandoned, Effects
from raftref.runtime.driver import NoReply, PeerCall, PeerReply


class _Question(NamedTuple):
    """A request as far as its answer shows which one it is an answer to."""

    caller: NodeId
    type: PushType | ElectionType
    pushed_index: Index | None


class PeerCalls:
    """The calls of one node in both directions, where answers find their requests.

    Source: DLedgerRpcNettyService.
    """

    def __init__(self, node: NodeContext) -> None:
        """Begin with none."""
        self._node = node
        #: Calls that have no answer yet, by their numbers.
        self._calls: dict[int, Message] = {}
        #: The keys of requests that have no answer yet, in their order.
        self._unanswered: dict[_Question, deque[Hashable]] = {}

    # ---- Requests of this node -----------------------------------------------------------------------

    def carry_out(self, effects: Effects) -> None:
        """Send what a step sends, and give up the calls that it gives up."""
        for m in effects.sent:
            if isinstance(m, Response | ElectionResponse):
                self._answer(m)
            else:
                self._call(m)
        if effects.abandoned is not None:
            self._abandon(effects.abandoned)

    def end(self, number: int) -> Message | None:
        """Return the call that has ended, by an answer or without one; None where the node has given it up."""
        return self._calls.pop(number, None)

    def _call(self, m: Message) -> None:
        number = self._node.next_number()
        waits = not isinstance(m, CommitRequest)
        if waits:
            self._calls[number] = m
        timeout = self._node.settings.rpc_timeout if waits else None
        self._node.put(PeerCall(number, m.dst, self._positioned(m), timeout))

    def _positioned(self, m: Message) -> Message | PositionedPush:
        """Return a request with the headers of the entries that it pushes, if it pushes any."""
        if not isinstance(m, Request | BatchRequest):
            return m
        files = self._node.server.ledger_store.files
        return PositionedPush(m, tuple(files.header_at(Index(index)) for index in range(m.index, m.last_index + 1)))

    def _abandon(self, abandoned: Abandoned) -> None:
        given_up = [
            number
            for number, m in self._calls.items()
            if abandoned.peer in (None, m.dst) and abandoned.includes(m.type)
        ]
        for number in given_up:
            del self._calls[number]

    # ---- Requests of peers ---------------------------------------------------------------------------

    def expect_answer(self, key: Hashable, m: Message) -> None:
        """Let the answer to a request go to the caller with this key."""
        self._unanswered.setdefault(_question(m), deque()).append(key)

    def refuse(self, m: Message) -> None:
        """Give no answer to a request that the node does not take, the last one that came."""
        self._node.put(NoReply(self._unanswered[_question(m)].pop()))

    def keep(self, waiting: Iterable[PushRequest]) -> None:
        """Forget the callers whose pushes are gone from the queues and were not answered: they get no answer.

        Of pushes of one type at one index the first are answered first, and the last ones wait.
        """
        if not self._unanswered:
            return
        counts = Counter(_question(m) for m in waiting)
        for question, keys in list(self._unanswered.items()):
            if not isinstance(question.type, PushType):
                continue
            while len(keys) > counts[question]:
                self._node.put(NoReply(keys.popleft()))
            if not keys:
                del self._unanswered[question]

    def confirm_commit(self, key: Hashable, m: CommitRequest) -> None:
        """Answer a COMMIT. Nobody looks at that, but the caller logs its absence."""
        node, store = self._node, self._node.server.ledger_store
        echo = m.type, node.node_id, m.src, m.term, NONE, Code.SUCCESS
        node.put(PeerReply(key, Response(*echo, store.begin_index, store.end_index)))

    def _answer(self, m: Response | ElectionResponse) -> None:
        question = _Question(m.dst, m.type, m.index if isinstance(m, Response) else None)
        keys = self._unanswered.get(question)
        if not keys:
            return
        # The second of two APPENDs is answered with REPEATED_PUSH, while the first goes on waiting.
        repeated = isinstance(m, Response) and m.code is Code.REPEATED_PUSH
        self._node.put(PeerReply(keys.pop() if repeated else keys.popleft(), m))
        if not keys:
            del self._unanswered[question]


def _question(m: Message) -> _Question:
    """Return by what an answer is matched to its request."""
    return _Question(m.src, m.type, getattr(m, "index", None) if isinstance(m.type, PushType) else None)
