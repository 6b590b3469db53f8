"""The follower's side of replication: obeying COMPARE, TRUNCATE, APPEND and COMMIT."""

from __future__ import annotations

from dataclasses import replace

from raftref.dledger.action import NO_EFFECTS, Effects, action
from raftref.dledger.entry_pusher import EntryPusher
from raftref.dledger.member_state import Role
from raftref.dledger.messages import Code, CommitRequest, ElectionType, NodeId, PushType, Request, Response
from raftref.dledger.switches import Variant


class EntryHandler(EntryPusher):
    """How a follower handles what a leader pushes. It works only while its node follows.

    Source: DLedgerEntryPusher.EntryHandler.
    """

    def can_handle_push(self, m: Request | CommitRequest) -> bool:
        """The process runs, whatever its role, and its grain has queues."""
        return not self.grain.atomic_receipt and self.is_up and m.dst == self.node_id

    @action(when=can_handle_push)
    def handle_push(self, m: Request | CommitRequest) -> Effects:
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
        elif m.type is not PushType.APPEND:
            self.write_request_map.clear()
            self.compare_or_truncate_requests.append(m)
        elif m.index in self.write_request_map:
            return self._answer(m, Code.REPEATED_PUSH)
        else:
            self.write_request_map[m.index] = m
        return NO_EFFECTS

    def requests(self) -> list[Request | CommitRequest]:
        """Return the requests that may be handled next: first come COMPARE, TRUNCATE and COMMIT.

        Source: EntryHandler.doWork.
        """
        return self.compare_or_truncate_requests[:1] or list(self.write_request_map.values())

    def no_longer_awaited(self, caller: NodeId, type_: PushType | ElectionType | None) -> None:
        """Send no answers to what a caller gave up, of one type or (None) of all: it would ignore them."""

        def after(m: Request) -> Request:
            gone = m.src == caller and type_ in (None, m.type)
            return replace(m, awaited=False) if gone else m

        self.write_request_map = {index: after(m) for index, m in self.write_request_map.items()}
        waiting = self.compare_or_truncate_requests
        self.compare_or_truncate_requests = [after(m) if isinstance(m, Request) else m for m in waiting]

    def _take(self, m: Request | CommitRequest) -> None:
        """Remove a request from where it waits; without queues it came just now."""
        if self.grain.atomic_receipt:
            return
        if isinstance(m, Request) and m.type is PushType.APPEND:
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
        self._take(m)
        if not self._from_its_leader(m):
            return self._answer(m, Code.INCONSISTENT_STATE)
        self.ledger_store.append(m.entry, curr_term=self.member_state.curr_term)
        self._update_committed_index(m)
        return self._answer(m, Code.SUCCESS)

    def can_check_append_future(self, m: Request) -> bool:
        """The entry is stored already, or it lies beyond a gap and its answer is still awaited."""
        end = self.ledger_store.end_index
        no_next = end + 1 not in self.write_request_map
        return self._handles(m, PushType.APPEND) and no_next and (m.index <= end or (m.index > end + 1 and m.awaited))

    @action(when=can_check_append_future)
    def check_append_future(self, m: Request) -> Effects:
        """Deal with an entry that is not the next one.

        One that is stored already is compared (fall behind). For one beyond a gap the leader is told to
        compare (fast forward); the entry stays in the queue, its answer given.

        Args:
            m: The APPEND.

        Returns:
            The answer, and beyond a gap the request that stays, unless it does so in a queue.

        Raises:
            NotEnabled: The node does not follow, or the entry is the next one, or it was answered before.

        Source: EntryHandler.checkAppendFuture.
        """
        if m.index <= self.ledger_store.end_index:
            self._take(m)
            equal = self.ledger_store.holds(m.index, m.entry)
            return self._answer(m, Code.SUCCESS if equal else Code.INCONSISTENT_STATE)
        waiting = replace(m, awaited=False)
        answer = self._answer(m, Code.INCONSISTENT_STATE)
        if self.grain.atomic_receipt:
            return replace(answer, requeued=waiting)
        self.write_request_map[m.index] = waiting
        return answer

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

    def _handles(self, m: Request | CommitRequest, type_: PushType) -> bool:
        its_turn = self.grain.atomic_receipt or m in self.requests()
        return self.member_state.role is Role.FOLLOWER and m.type is type_ and m.dst == self.node_id and its_turn

    def _from_its_leader(self, m: Request | CommitRequest) -> bool:
        return m.term == self.member_state.curr_term and m.src == self.member_state.leader_id

    def _obeys(self, m: Request | CommitRequest) -> bool:
        """As published COMPARE and COMMIT are obeyed whatever their term and leader (D2)."""
        return self.switches.push_term_check is Variant.PUBLISHED or self._from_its_leader(m)

    def _update_committed_index(self, m: Request | CommitRequest) -> None:
        self.update_committed_index(m.term, m.commit_index)

    def _answer(self, m: Request, code: Code) -> Effects:
        """Answer if the caller still waits: term and index are an echo, begin and end are this log's.

        Source: EntryHandler.buildResponse.
        """
        if not m.awaited:
            return NO_EFFECTS
        store = self.ledger_store
        response = Response(m.type, self.node_id, m.src, m.term, m.index, code, store.begin_index, store.end_index)
        return Effects(sent=(response,))
