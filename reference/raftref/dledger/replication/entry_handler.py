"""The follower's side of replication: obeying COMPARE, TRUNCATE, APPEND and COMMIT."""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.effects import NO_EFFECTS, Effects
from raftref.dledger.member_state import Role
from raftref.dledger.messages import (
    AppendRequest,
    BatchRequest,
    BatchResponse,
    Code,
    CommitRequest,
    ElectionType,
    Index,
    NodeId,
    PushRequest,
    PushType,
    Request,
    Response,
)
from raftref.dledger.replication.entry_pusher import EntryPusher
from raftref.dledger.switches import Variant


class EntryHandler(EntryPusher):
    """How a follower handles what a leader pushes. It works only while its node follows.

    Source: DLedgerEntryPusher.EntryHandler.
    """

    def can_handle_push(self, m: PushRequest) -> bool:
        """The process runs, whatever its role, and its grain has queues."""
        return not self.grain.atomic_receipt and self.is_up and self.is_addressed(m)

    @action(when=can_handle_push)
    def handle_push(self, m: PushRequest) -> Effects:
        """Put a request where it waits. A COMPARE or TRUNCATE clears the APPENDs that wait.

        Args:
            m: Any request. Of two APPENDs at one index the second is not taken.

        Returns:
            REPEATED_PUSH to that second one.

        Raises:
            NotEnabled: The node is down, or handles requests as they are received.

        Source: EntryHandler.handlePush.
        """
        if isinstance(m, CommitRequest):
            self.compare_or_truncate_requests.append(m)
        elif isinstance(m, Request) and m.type is not PushType.APPEND:
            self.write_request_map.clear()
            self.compare_or_truncate_requests.append(m)
        elif m.index in self.write_request_map:
            return self._answer(m, Code.REPEATED_PUSH)
        else:
            self.write_request_map[m.index] = m
        return NO_EFFECTS

    def can_clear_compare_or_truncate_requests(self, m: PushRequest) -> bool:
        """A node that runs and does not follow lets nothing wait but APPENDs, from 0.3.0 on."""
        follows = self.member_state.role is Role.FOLLOWER
        waits = m.type is not PushType.APPEND and self._has_its_turn(m)
        return self.grain.not_follower and self.is_up and not follows and waits

    @action(when=can_clear_compare_or_truncate_requests)
    def clear_compare_or_truncate_requests(self, m: PushRequest) -> Effects:
        """Refuse what only a follower can do, rather than let it wait until this node follows.

        Args:
            m: A COMPARE, TRUNCATE or COMMIT.

        Returns:
            NOT_FOLLOWER, unless nobody waits for an answer.

        Raises:
            NotEnabled: The node follows or is down, or its version lets such a request wait.

        Source: EntryHandler.clearCompareOrTruncateRequestsIfNeed, of 0.3.0 and later.
        """
        self._take(m)
        return self._answer(m, Code.NOT_FOLLOWER)

    def requests(self) -> list[PushRequest]:
        """Return the requests that may be handled next: first come COMPARE, TRUNCATE and COMMIT.

        Source: EntryHandler.doWork.
        """
        return [*self.compare_or_truncate_requests[:1]] or [*self.write_request_map.values()]

    def no_longer_awaited(self, caller: NodeId, type_: PushType | ElectionType | None) -> None:
        """Send no answers to what a caller gave up, of one type or (None) of all: it would ignore them."""

        def gone(m: PushRequest) -> bool:
            return m.src == caller and type_ in (None, m.type)

        appends, waiting = self.write_request_map, self.compare_or_truncate_requests
        self.write_request_map = {index: replace(m, awaited=False) if gone(m) else m for index, m in appends.items()}
        self.compare_or_truncate_requests = [
            replace(m, awaited=False) if isinstance(m, Request) and gone(m) else m for m in waiting
        ]

    def _take(self, m: PushRequest) -> None:
        """Remove a request from where it waits; without queues it came just now."""
        if self.grain.atomic_receipt:
            return
        if not isinstance(m, CommitRequest) and m.type is PushType.APPEND:
            del self.write_request_map[m.index]
        else:
            del self.compare_or_truncate_requests[0]

    def can_handle_do_compare(self, m: Request) -> bool:
        """A follower handles every COMPARE."""
        return self._handles(m, PushType.COMPARE)

    @action(when=can_handle_do_compare)
    def handle_do_compare(self, m: Request) -> Effects:
        """Tell whether this log holds exactly the leader's entry at that index.

        Args:
            m: The COMPARE.

        Returns:
            The answer.

        Raises:
            NotEnabled: The node does not follow.

        Source: EntryHandler.handleDoCompare.
        """
        self._take(m)
        if not self._obeys(m):
            return self._answer(m, Code.INCONSISTENT_TERM)
        equal = self.ledger_store.holds(m.index, m.entry)
        return self._answer(m, Code.SUCCESS if equal else Code.INCONSISTENT_STATE)

    def can_handle_do_truncate(self, m: Request) -> bool:
        """A follower handles every TRUNCATE."""
        return self._handles(m, PushType.TRUNCATE)

    @action(when=can_handle_do_truncate)
    def handle_do_truncate(self, m: Request) -> Effects:
        """End the log with the leader's entry, writing it if need be, and take over the committed index.

        Args:
            m: The TRUNCATE, of this node's leader and term; any other is refused.

        Returns:
            The answer.

        Raises:
            NotEnabled: The node does not follow.

        Source: EntryHandler.handleDoTruncate, DLedgerMmapFileStore.truncate.
        """
        self._take(m)
        if not self._may_truncate(m):
            return self._answer(m, Code.INCONSISTENT_STATE)
        if not self._is_late_truncate(m):
            self.ledger_store.truncate(m.index, m.entry, curr_term=self.member_state.curr_term)
        self._update_committed_index(m)
        return self._answer(m, Code.SUCCESS)

    def _is_late_truncate(self, m: Request) -> bool:
        """Tell, with D3 repaired, that what is behind the entry came from this leader, after its comparison.

        The log holds the entry, and its last one is of the leader's term.
        """
        store = self.ledger_store
        return (
            self.switches.late_truncate is Variant.REPAIRED
            and store.holds(m.index, m.entry)
            and store.term_at(store.end_index) == m.term
        )

    def _may_truncate(self, m: Request) -> bool:
        """As published the committed index does not matter; repaired nothing is cut below it (D6)."""
        store = self.ledger_store
        keeps_committed = m.index >= min(store.committed_index, store.end_index) or self._is_late_truncate(m)
        return self._from_its_leader(m) and (self.switches.commit_past_end is Variant.PUBLISHED or keeps_committed)

    def can_handle_do_append(self, m: Request) -> bool:
        """A follower handles the APPEND of the entry behind its end."""
        return not self.grain.batches and self._is_next(m)

    def _is_next(self, m: AppendRequest) -> bool:
        return self._handles(m, PushType.APPEND) and m.index == self.ledger_store.end_index + 1

    @action(when=can_handle_do_append)
    def handle_do_append(self, m: Request) -> Effects:
        """Store the next entry and take over the committed index. The entry before is not checked.

        Args:
            m: The APPEND, of this node's leader and term; any other is refused.

        Returns:
            The answer.

        Raises:
            NotEnabled: The node does not follow, or the entry is not the next one.

        Source: EntryHandler.handleDoAppend, DLedgerMmapFileStore.appendAsFollower.
        """
        return self._append(m)

    def can_handle_do_batch_append(self, m: BatchRequest) -> bool:
        """A follower handles the APPEND of the entries behind its end."""
        return self.grain.batches and self._is_next(m)

    @action(when=can_handle_do_batch_append)
    def handle_do_batch_append(self, m: BatchRequest) -> Effects:
        """Store the next entries and take over the committed index.

        Args:
            m: The APPEND, of this node's leader and term; any other is refused.

        Returns:
            The answer.

        Raises:
            NotEnabled: The node does not follow, or the first entry is not the next one, or none are pushed in batches.

        Source: EntryHandler.handleDoBatchAppend.
        """
        return self._append(m)

    def _append(self, m: AppendRequest) -> Effects:
        self._take(m)
        if not self._from_its_leader(m):
            return self._answer(m, Code.INCONSISTENT_STATE)
        for entry in m.entries:
            self.ledger_store.append(entry, curr_term=self.member_state.curr_term)
        self._update_committed_index(m)
        return self._answer(m, Code.SUCCESS)

    def can_check_append_future(self, m: AppendRequest) -> bool:
        """All it carries is stored already, or part of it lies beyond the end and its answer is still awaited."""
        end = self.ledger_store.end_index
        if not self._handles(m, PushType.APPEND) or end + 1 in self.write_request_map:
            return False
        return m.last_index <= end or (m.index != end + 1 and (m.awaited or not self._keeps_answered_push))

    @action(when=can_check_append_future)
    def check_append_future(self, m: AppendRequest) -> Effects:
        """Deal with an entry that is not the next one.

        One that is stored already is compared (fall behind). For one beyond a gap the leader is told to
        compare (fast forward). As published the entry stays in the queue, its answer given; should that be lost,
        the same entry is told REPEATED_PUSH for ever (D16). Repaired, it is gone. Of a batch the last entry tells;
        it may begin before the end.

        Args:
            m: The APPEND.

        Returns:
            The answer, and the request that stays, unless it does so in a queue.

        Raises:
            NotEnabled: The node does not follow, or the entry is the next one, or it was answered before.

        Source: EntryHandler.checkAppendFuture.
        """
        if m.last_index <= self.ledger_store.end_index:
            self._take(m)
            equal = all(self.ledger_store.holds(Index(m.index + k), entry) for k, entry in enumerate(m.entries))
            return self._answer(m, Code.SUCCESS if equal else Code.INCONSISTENT_STATE)
        answer = self._answer(m, Code.INCONSISTENT_STATE)
        if not self._keeps_answered_push:
            self._take(m)
            return answer
        waiting = replace(m, awaited=False)
        if self.grain.atomic_receipt:
            return replace(answer, requeued=waiting)
        self.write_request_map[m.index] = waiting
        return answer

    @property
    def _keeps_answered_push(self) -> bool:
        return self.switches.repeated_push is Variant.PUBLISHED

    def can_handle_do_commit(self, m: CommitRequest) -> bool:
        """A follower handles every COMMIT."""
        return self._handles(m, PushType.COMMIT)

    @action(when=can_handle_do_commit)
    def handle_do_commit(self, m: CommitRequest) -> Effects:
        """Take over the leader's committed index, as far as the own log goes.

        Args:
            m: The COMMIT.

        Raises:
            NotEnabled: The node does not follow.

        Source: EntryHandler.handleDoCommit.
        """
        self._take(m)
        if self._obeys(m):
            self._update_committed_index(m)
        return NO_EFFECTS

    def _handles(self, m: PushRequest, type_: PushType) -> bool:
        return self.member_state.role is Role.FOLLOWER and m.type is type_ and self._has_its_turn(m)

    def _has_its_turn(self, m: PushRequest) -> bool:
        return self.is_addressed(m) and (self.grain.atomic_receipt or m in self.requests())

    def _from_its_leader(self, m: PushRequest) -> bool:
        return m.term == self.member_state.curr_term and m.src == self.member_state.leader_id

    def _obeys(self, m: Request | CommitRequest) -> bool:
        """As published COMPARE and COMMIT are obeyed whatever their term and leader (D2)."""
        return self.switches.push_term_check is Variant.PUBLISHED or self._from_its_leader(m)

    def _update_committed_index(self, m: PushRequest) -> None:
        self.update_committed_index(m.term, m.commit_index)

    def _answer(self, m: PushRequest, code: Code) -> Effects:
        """Answer if the caller still waits: term, index and count are an echo, begin and end are this log's.

        Source: EntryHandler.buildResponse.
        """
        if isinstance(m, CommitRequest) or not m.awaited:
            return NO_EFFECTS
        store = self.ledger_store
        told = (m.type, self.node_id, m.src, m.term, m.index, code, store.begin_index, store.end_index)
        batch = isinstance(m, BatchRequest)
        return Effects(sent=(BatchResponse(*told, len(m.entries)) if batch else Response(*told),))
