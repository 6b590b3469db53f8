"""State of a node: role and term, dispatchers, waiting clients, elections, and the node that has them all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from raftref.dledger.choices import PUBLISHED, Config, Feature, Flaw
from raftref.dledger.messages import (
    NO_TERM,
    NONE,
    AppendRequest,
    CommitRequest,
    ElectionType,
    Entry,
    Index,
    Message,
    NodeId,
    PushType,
    Request,
    Term,
    TransferCall,
)
from raftref.dledger.store import LedgerStore
from raftref.records import record

# ---- Role and term ----


class Role(StrEnum):
    """The part a node plays. DOWN: its process is not running. Source: MemberState.Role."""

    LEADER = "LEADER"
    FOLLOWER = "FOLLOWER"
    CANDIDATE = "CANDIDATE"
    DOWN = "DOWN"


class MemberState:
    """Role, term, vote and leader of one node.

    `curr_term` and `curr_vote_for` are durable, written together. `votes` are the members that accepted this
    candidate in its term. `leader_id` is the leader it follows, or itself.

    Source: MemberState.
    """

    def __init__(self) -> None:
        """Begin as a candidate of term 0, without vote and leader."""
        self.role = Role.CANDIDATE
        self.curr_term = Term(0)
        self.curr_vote_for: NodeId | None = None
        self.leader_id: NodeId | None = None
        self.votes: set[NodeId] = set()

    @property
    def is_up(self) -> bool:
        """Whether the process is running."""
        return self.role is not Role.DOWN

    def enter_term(self, term: Term) -> None:
        """Go to another term, in which the node has given no vote and has none. Source: MemberState.nextTerm."""
        self.curr_term = term
        self.curr_vote_for = None
        self.votes = set()

    def go_down(self) -> None:
        """Forget what is not durable: role, leader and votes; term and vote stay."""
        self.role = Role.DOWN
        self.leader_id = None
        self.votes = set()


# ---- Dispatchers ----


@dataclass(frozen=True, slots=True, order=True)
class Pending:
    """`count` entries from `index` on, pushed in one APPEND and not answered."""

    index: Index
    count: int = 1


@dataclass(frozen=True, slots=True)
class DispatcherState:
    """The fields of an EntryDispatcher. Frozen: a change gives a new one.

    `type` is COMPARE, TRUNCATE or APPEND. `term` is that of the leadership it serves. `compare_index` is
    being compared (-1: start from the end), `truncate_index` is to be sent by TRUNCATE (-1: none),
    `write_index` is the next to push. `awaiting` is the type of the call its thread waits for, if any.
    `pendings` is what was pushed by APPEND and not answered; empty without PendingMap.

    Source: EntryDispatcher's fields, pendingMap or batchPendingMap among them.
    """

    type: PushType = PushType.COMPARE
    term: Term = NO_TERM
    compare_index: Index = NONE
    truncate_index: Index = NONE
    write_index: Index = NONE
    pendings: frozenset[Pending] = frozenset()
    awaiting: PushType | None = None

    def to_compare(self) -> DispatcherState:
        """Go to COMPARE; the comparison starts anew only when APPEND is left.

        Source: EntryDispatcher.changeState(COMPARE).
        """
        leaves_append = self.type is PushType.APPEND
        return replace(
            self,
            type=PushType.COMPARE,
            compare_index=NONE if leaves_append else self.compare_index,
            pendings=frozenset() if leaves_append else self.pendings,
            truncate_index=NONE,
        )

    def to_truncate(self, index: Index) -> DispatcherState:
        """Go to TRUNCATE: the peer's log is to end at `index`.

        Source: EntryDispatcher.changeState(TRUNCATE).
        """
        return replace(self, type=PushType.TRUNCATE, compare_index=NONE, truncate_index=index)

    def to_append(self, index: Index) -> DispatcherState:
        """Go to APPEND: the peer holds the log up to `index`, so the entry behind it is next.

        Source: EntryDispatcher.changeState(APPEND), but for the watermark.
        """
        return replace(
            self,
            type=PushType.APPEND,
            compare_index=NONE,
            truncate_index=NONE,
            write_index=Index(index + 1),
        )

    def pushed(self, index: Index, count: int) -> DispatcherState:
        """Wait for the answer to a push of `count` entries from `index` on."""
        return replace(self, pendings=self.answered(index).pendings | {Pending(index, count)})

    def answered(self, index: Index) -> DispatcherState:
        """Wait no more for the answer to the push that begins at `index`."""
        return replace(self, pendings=frozenset(each for each in self.pendings if each.index != index))

    def fresh(self, curr_term: Term, *, keeps_compare_index: bool) -> DispatcherState:
        """Serve the leadership of `curr_term`: a dispatcher of another term begins with COMPARE.

        Args:
            curr_term: The term the node leads.
            keeps_compare_index: Whether one that was comparing goes on from its index (StaleCompareIndex).

        Source: EntryDispatcher.checkAndFreshState.
        """
        if self.term == curr_term:
            return self
        fresh = replace(self.to_compare(), term=curr_term)
        return fresh if keeps_compare_index else replace(fresh, compare_index=NONE)

    def waiting_for(self, type_: PushType | None) -> DispatcherState:
        """Wait for the answer to a call of this type, or (None) for none."""
        return replace(self, awaiting=type_)


# ---- Clients ----

#: The number of waiting clients above which a leader refuses more. Source: DLedgerConfig.maxPendingRequestsNum.
MAX_PENDING_REQUESTS = 10_000


@dataclass(frozen=True, slots=True)
class Future:
    """A client that waits for the entry at an index; `done`: its time is over, and it hears no more.

    Source: AppendFuture.
    """

    index: Index
    entry: Entry
    done: bool = False


class ClientFutures:
    """Futures by the term and index of the entry.

    Source: DLedgerEntryPusher.pendingAppendResponsesByTerm.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._futures: dict[tuple[Term, Index], Future] = {}

    def __len__(self) -> int:
        """Return the number of clients that wait."""
        return len(self._futures)

    def put(self, index: Index, entry: Entry) -> None:
        """Let a client wait, in the place of one that waited for this index of the term."""
        self._futures[entry.term, index] = Future(index, entry)

    def in_term(self, term: Term) -> dict[Index, Future]:
        """Return the futures of entries of a term, by index."""
        return {index: each for (entry_term, index), each in self._futures.items() if entry_term == term}

    def is_full(self, term: Term, max_requests: int | None = None) -> bool:
        """Return whether no more may wait for entries of a term. Source: DLedgerEntryPusher.isPendingFull."""
        return len(self.in_term(term)) > (MAX_PENDING_REQUESTS if max_requests is None else max_requests)

    def answer(self, term: Term, indexes: Collection[Index]) -> tuple[Future, ...]:
        """End the futures at these indexes of a term, and return those that are not done."""
        ended = [self._futures.pop((term, index)) for index in sorted(indexes) if (term, index) in self._futures]
        return tuple(each for each in ended if not each.done)

    def clean(self, term: Term) -> tuple[Future, ...]:
        """End the futures of other terms, and return those that are not done. Source: QuorumAckChecker.doWork."""
        ended = tuple(each for key, each in self._futures.items() if key[0] != term and not each.done)
        self._futures = {key: each for key, each in self._futures.items() if key[0] == term}
        return ended

    def first_late(self, term: Term, first: Index) -> Future | None:
        """Return the first future that is not done, of those without a gap from `first` on.

        Source: DLedgerEntryPusher.checkResponseFuturesTimeout.
        """
        waiting, index = self.in_term(term), first
        while index in waiting and waiting[index].done:
            index = Index(index + 1)
        return waiting.get(index)

    def time_out(self, late: Future) -> None:
        """Answer a client with WAIT_QUORUM_ACK_TIMEOUT; its future keeps its place."""
        self._futures[late.entry.term, late.index] = replace(late, done=True)

    def record(self) -> dict[str, Any]:
        """Return all of them as the spec's set."""
        return {"#set": [record(each) for each in self._futures.values()]}


# ---- Elections ----


@dataclass(slots=True)
class Round:
    """The round of requests whose answers the StateMaintainer waits for; `type` None: it waits for none.

    `ledger_end_term` and `ledger_end_index` are the end of the log, as the vote requests give it. `max_term` is
    the higher term that answers carried. `answers` has each member's answer, None where there is none.

    Source: the local variables of DLedgerLeaderElector.maintainAsCandidate and sendHeartbeats.
    """

    answers: dict[NodeId, str | None]
    type: ElectionType | None = None
    ledger_end_term: Term = NO_TERM
    ledger_end_index: Index = NONE
    max_term: Term = NO_TERM

    def record(self) -> dict[str, Any]:
        """Return the round as the spec's record."""
        return {
            "type": "NONE" if self.type is None else self.type.value,
            "ledgerEndTerm": self.ledger_end_term,
            "ledgerEndIndex": self.ledger_end_index,
            "maxTerm": self.max_term,
            "answers": {peer: "NONE" if code is None else str(code) for peer, code in self.answers.items()},
        }


@dataclass(frozen=True, slots=True)
class TransferWait:
    """The wait of a transferee until its log has reached an index. Source: DLedgerServer.handleLeadershipTransfer."""

    leader: NodeId | None = None
    term: Term = NO_TERM
    index: Index = NONE


NOBODY_WAITS = TransferWait()


@dataclass(slots=True)
class ElectionState:
    """The fields of DLedgerLeaderElector, and those of MemberState that only it reads. A crash loses all of it.

    `need_increase` is needIncreaseTermImmediately, `known_max_term` knownMaxTermInGroup where it is above the
    node's term (-1 otherwise), `vote_next` whether lastParseResult is WAIT_TO_VOTE_NEXT. `transferee` is the peer
    this leader hands over to, `transfers` its calls without an answer yet. `term_to_take_leadership` is the term
    this transferee is to lead, and `takes_from` the old leader, which waits to hear of it.
    """

    round: Round
    need_increase: bool = False
    known_max_term: Term = NO_TERM
    vote_next: bool = False
    transferee: NodeId | None = None
    transfers: frozenset[TransferCall] = field(default_factory=frozenset)
    waiting: TransferWait = NOBODY_WAITS
    term_to_take_leadership: Term = NO_TERM
    takes_from: NodeId | None = None

    def record(self) -> dict[str, Any]:
        """Return the state as the spec's record."""
        calls = sorted(self.transfers, key=lambda call: (call.term, call.transferee))
        return {
            "needIncrease": self.need_increase,
            "knownMaxTerm": self.known_max_term,
            "voteNext": self.vote_next,
            "round": self.round.record(),
            "transferee": self.transferee,
            "transfers": {"#set": [record(call) for call in calls]},
            "waiting": record(self.waiting),
            "termToTakeLeadership": self.term_to_take_leadership,
            "takesFrom": self.takes_from,
        }


def empty_round(members: Sequence[NodeId]) -> Round:
    """Return the round of a StateMaintainer that waits for no answer."""
    return Round(dict.fromkeys(members))


# ---- A node ----


@dataclass(frozen=True, slots=True)
class QuorumPass:
    """The term that a pass of the quorum checker has read, and the index that a quorum stores in it."""

    term: Term
    index: Index


class Node:
    """All that one node knows. The classes that act on it derive from this one.

    In DLedger they are inner classes of DLedgerEntryPusher and reach the same fields.

    `write_request_map` and `compare_or_truncate_requests` hold what was received and not handled, APPENDs by their
    index. `checking` is the pass of the quorum checker under way. `client_futures` are the clients that wait.
    The state machine is to apply entries up to `apply_index`, and has applied them up to `last_applied_index`.

    `peer_water_marks` are the indexes up to which the members, this one included, are known to store the log in
    the current term. `last_quorum_index` is the result of the last pass of the quorum checker.

    Source: DLedgerEntryPusher.
    """

    def __init__(
        self,
        node_id: NodeId,
        members: Sequence[NodeId],
        config: Config = PUBLISHED,
        new_store: Callable[[Config], LedgerStore] = LedgerStore,
    ) -> None:
        """Make a node that was never started before.

        Args:
            node_id: This node, one of `members`.
            members: All nodes of the group.
            config: Its features and flaws.
            new_store: Makes its store.

        Raises:
            ValueError: The node is not a member, or a member is named twice.
        """
        if node_id not in members or len(set(members)) != len(members):
            raise ValueError(f"{node_id!r} must be one of the members, each named once: {list(members)}")
        self.node_id = node_id
        self.members = tuple(members)
        self.peers = tuple(member for member in members if member != node_id)
        self.config = config
        self.member_state = MemberState()
        self.ledger_store = new_store(config)
        self.forget()

    def forget(self) -> None:
        """Lose what a process keeps in memory only: queues, dispatchers, watermarks, clients, elections."""
        self.dispatchers = {peer: DispatcherState() for peer in self.peers}
        self.last_quorum_index = NONE
        self.checking: QuorumPass | None = None
        self.client_futures = ClientFutures()
        self.apply_index = NONE
        self.last_applied_index = NONE
        self.write_request_map: dict[Index, AppendRequest] = {}
        self.compare_or_truncate_requests: list[Request | CommitRequest] = []
        self.election = ElectionState(empty_round(self.members))
        self.clear_water_marks()

    def has(self, choice: Feature | Flaw) -> bool:
        """Return whether this node has a feature, or a flaw."""
        return self.config.has(choice)

    @property
    def vote_messages(self) -> bool:
        """Whether votes, heartbeats and transfers are messages."""
        return self.has(Feature.VOTE_MESSAGES)

    @property
    def is_leader(self) -> bool:
        """Whether the node leads."""
        return self.member_state.role is Role.LEADER

    @property
    def is_up(self) -> bool:
        """Whether the process is running."""
        return self.member_state.is_up

    def is_addressed(self, m: Message) -> bool:
        """Return whether a message is for this node. Source: DLedgerServer, its check of remoteId."""
        return m.dst == self.node_id

    def clear_water_marks(self) -> None:
        """Forget which entries the members store, as in every new term.

        Source: DLedgerEntryPusher.checkTermForWaterMark; QuorumAckChecker.doWork on [TermChange].
        """
        self.peer_water_marks = dict.fromkeys(self.members, NONE)

    def update_peer_water_mark(self, peer: NodeId, term: Term, index: Index) -> None:
        """Raise the watermark of a member; it only grows, and those of other terms are dropped.

        Args:
            peer: The member, which may be this node.
            term: The term in which this was learnt.
            index: The index up to which the member stores the log.

        Source: DLedgerEntryPusher.updatePeerWaterMark.
        """
        if term == self.member_state.curr_term and self.peer_water_marks[peer] < index:
            self.peer_water_marks[peer] = index

    def learn_committed(self, term: Term, index: Index) -> None:
        """Commit up to `index`, as far as the store does, and let the state machine apply it.

        Args:
            term: The term in which the index was learnt.
            index: The index that is committed, -1 for none.

        Source: DLedgerEntryPusher.updateCommittedIndex.
        """
        self.ledger_store.update_committed_index(term, index, curr_term=self.member_state.curr_term)
        if self.has(Feature.APPLIES):
            to_apply = index if self.has(Flaw.APPLY_UNCLAMPED) else self.ledger_store.committed_index
            self.apply_index = max(self.apply_index, to_apply)
