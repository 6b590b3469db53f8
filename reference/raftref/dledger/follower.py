"""The follower's side of replication: obeying COMPARE, TRUNCATE, APPEND and COMMIT."""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.choices import Feature, Flaw
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
from raftref.dledger.state import Node, Role
from raftref.dledger.steps import NO_EFFECTS, Effects
from raftref.dledger.store import EntryRefusedError


class EntryHandler(Node):
    """Handling of pushed requests, for which a node must follow.

    Source: DLedgerEntryPusher.EntryHandler.
    """

    # ---- Receiving ----

    def can_handle_push(self, m: PushRequest) -> bool:
        """The process runs, whatever its role, and has queues."""
        return self.has(Feature.REQUEST_QUEUES) and self.is_up and self.is_addressed(m)

    @action(when=can_handle_push)
    def handle_push(self, m: PushRequest) -> Effects:
        """Put a request where it waits. A COMPARE or TRUNCATE clears the APPENDs that wait.

        The second of two APPENDs at one index is answered with REPEATED_PUSH.

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
        return self.has(Feature.NOT_FOLLOWER) and self.is_up and not follows and waits

    @action(when=can_clear_compare_or_truncate_requests)
    def clear_compare_or_truncate_requests(self, m: PushRequest) -> Effects:
        """Refuse a COMPARE, TRUNCATE or COMMIT with NOT_FOLLOWER, rather than let it wait until this node follows.

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
        """Send no answers to the requests that a caller gave up, of one type or (None) of all."""

        def is_given_up(m: PushRequest) -> bool:
            return m.src == caller and type_ in (None, m.type)

        appends, waiting = self.write_request_map, self.compare_or_truncate_requests
        self.write_request_map = {
            index: replace(m, awaited=False) if is_given_up(m) else m for index, m in appends.items()
        }
        self.compare_or_truncate_requests = [
            replace(m, awaited=False) if isinstance(m, Request) and is_given_up(m) else m for m in waiting
        ]

    def _take(self, m: PushRequest) -> None:
        """Remove a request from its queue, if there are queues."""
        if not self.has(Feature.REQUEST_QUEUES):
            return
        if not isinstance(m, CommitRequest) and m.type is PushType.APPEND:
            del self.write_request_map[m.index]
        else:
            del self.compare_or_truncate_requests[0]

    # ---- Every request ----

    def _handles(self, m: PushRequest, type_: PushType) -> bool:
        return self.member_state.role is Role.FOLLOWER and m.type is type_ and self._has_its_turn(m)

    def _has_its_turn(self, m: PushRequest) -> bool:
        return self.is_addressed(m) and (not self.has(Feature.REQUEST_QUEUES) or self._comes_next(m))

    def _comes_next(self, m: PushRequest) -> bool:
        """Return whether a request is among `requests`, without a look at all of them."""
        if self.compare_or_truncate_requests:
            return self.compare_or_truncate_requests[0] == m
        return not isinstance(m, CommitRequest) and self.write_request_map.get(m.index) == m

    def _is_from_its_leader(self, m: PushRequest) -> bool:
        return m.term == self.member_state.curr_term and m.src == self.member_state.leader_id

    def _obeys(self, m: Request | CommitRequest) -> bool:
        """Return whether a COMPARE or COMMIT is obeyed: as published, whatever its term and leader (PushTermCheck)."""
        return self.has(Flaw.PUSH_TERM_CHECK) or self._is_from_its_leader(m)

    def _answer(self, m: PushRequest, code: Code) -> Effects:
        """Answer if the caller still waits: term, index and count are an echo, begin and end are this log's.

        Source: EntryHandler.buildResponse.
        """
        if isinstance(m, CommitRequest) or not m.awaited:
            return NO_EFFECTS
        store = self.ledger_store
        fields = (m.type, self.node_id, m.src, m.term, m.index, code, store.begin_index, store.end_index)
        is_batch = isinstance(m, BatchRequest)
        return Effects(sent=(BatchResponse(*fields, len(m.entries)) if is_batch else Response(*fields),))

    # ---- COMPARE and TRUNCATE ----

    def can_handle_do_compare(self, m: Request) -> bool:
        """The node follows."""
        return self._handles(m, PushType.COMPARE)

    @action(when=can_handle_do_compare)
    def handle_do_compare(self, m: Request) -> Effects:
        """Answer whether this log holds exactly the leader's entry at that index.

        Source: EntryHandler.handleDoCompare.
        """
        self._take(m)
        if not self._obeys(m):
            return self._answer(m, Code.INCONSISTENT_TERM)
        is_held = self.ledger_store.holds(m.index, m.entry)
        return self._answer(m, Code.SUCCESS if is_held else Code.INCONSISTENT_STATE)

    def can_handle_do_truncate(self, m: Request) -> bool:
        """The node follows."""
        return self._handles(m, PushType.TRUNCATE)

    @action(when=can_handle_do_truncate)
    def handle_do_truncate(self, m: Request) -> Effects:
        """End the log with the leader's entry, writing it if need be, and take over the committed index.

        A TRUNCATE of another term or leader is refused, and one whose entry the files cannot have where it lies at the
        leader, which the TLA+ spec has not.

        Source: EntryHandler.handleDoTruncate, DLedgerMmapFileStore.truncate.
        """
        return self._truncate(m)

    def _truncate(self, m: Request) -> Effects:
        self._take(m)
        is_late = self._is_late_truncate(m)
        if not self._may_truncate(m, is_late=is_late):
            return self._answer(m, Code.INCONSISTENT_STATE)
        try:
            if not is_late:
                self.ledger_store.truncate(m.index, m.entry, curr_term=self.member_state.curr_term)
        except EntryRefusedError:
            return self._answer(m, Code.INCONSISTENT_STATE)
        return self._stored(m)

    def _is_late_truncate(self, m: Request) -> bool:
        """Return, with LateTruncate repaired, whether this leader appended behind the entry, after its comparison.

        The log holds the entry, and its last one is of the leader's term.
        """
        store = self.ledger_store
        return (
            not self.has(Flaw.LATE_TRUNCATE)
            and store.holds(m.index, m.entry)
            and store.term_at(store.end_index) == m.term
        )

    def _may_truncate(self, m: Request, *, is_late: bool) -> bool:
        """Return whether a TRUNCATE is obeyed.

        As published, it is obeyed below the committed index, too (CommitPastEnd), and above the next (LateTruncate).
        """
        store = self.ledger_store
        keeps_committed = m.index >= min(store.committed_index, store.end_index) or is_late
        leaves_no_gap = m.index <= store.end_index + 1
        return (
            self._is_from_its_leader(m)
            and (self.has(Flaw.LATE_TRUNCATE) or leaves_no_gap)
            and (self.has(Flaw.COMMIT_PAST_END) or keeps_committed)
        )

    # ---- APPEND ----

    def can_handle_do_append(self, m: Request) -> bool:
        """The node follows, and the entry is the one behind its end."""
        return not self.has(Feature.BATCHES) and self._is_next(m)

    def _is_next(self, m: AppendRequest) -> bool:
        return self._handles(m, PushType.APPEND) and m.index == self.ledger_store.end_index + 1

    @action(when=can_handle_do_append)
    def handle_do_append(self, m: Request) -> Effects:
        """Store the next entry and take over the committed index. The entry before is not checked.

        An APPEND of another term or leader is refused. So is any on a full disk, and one whose entry would not lie
        where it lies at the leader; neither is in the TLA+ spec.

        Source: EntryHandler.handleDoAppend, DLedgerMmapFileStore.appendAsFollower.
        """
        return self._append(m)

    def can_fail_store(self, m: AppendRequest) -> bool:
        """The node runs and follows no more; the EntryHandler looked before."""
        is_next = m.type is PushType.APPEND and m.index == self.ledger_store.end_index + 1
        waits = (is_next or m.type is PushType.TRUNCATE) and self._has_its_turn(m)
        follows = self.member_state.role is Role.FOLLOWER
        return self.has(Feature.LATE_ROLE) and self.is_up and not follows and waits

    @action(when=can_fail_store)
    def fail_store(self, m: AppendRequest) -> Effects:
        """Refuse an APPEND or TRUNCATE that the EntryHandler took while this node followed.

        Source: EntryHandler.doWork, which looks at the role; DLedgerMmapFileStore.appendAsFollower and truncate, which
        look again.
        """
        self._take(m)
        return self._answer(m, Code.INCONSISTENT_STATE)

    def can_handle_do_batch_append(self, m: BatchRequest) -> bool:
        """The node follows, and the first entry is the one behind its end."""
        return self.has(Feature.BATCHES) and self._is_next(m)

    @action(when=can_handle_do_batch_append)
    def handle_do_batch_append(self, m: BatchRequest) -> Effects:
        """Store the next entries and take over the committed index.

        It is refused as an APPEND of one is; those before an entry that lies elsewhere than at the leader stay.

        Source: EntryHandler.handleDoBatchAppend.
        """
        return self._append(m)

    def _append(self, m: AppendRequest) -> Effects:
        self._take(m)
        if not self._is_from_its_leader(m) or self.ledger_store.is_disk_full:
            return self._answer(m, Code.INCONSISTENT_STATE)
        try:
            for entry in m.entries:
                self.ledger_store.append(entry, curr_term=self.member_state.curr_term)
        except EntryRefusedError:
            return self._answer(m, Code.INCONSISTENT_STATE)
        return self._stored(m)

    def _stored(self, m: Request | BatchRequest) -> Effects:
        """Take over the committed index and answer with SUCCESS, whether or not the store can commit up to there."""
        self._learn_if_possible(m)
        return self._answer(m, Code.SUCCESS)

    def _learn_if_possible(self, m: PushRequest) -> None:
        """Take over the committed index of a request, unless the files have no unit for it."""
        try:
            self.learn_committed(m.term, m.commit_index)
        except EntryRefusedError:
            return

    def _confirms(self, m: AppendRequest) -> bool:
        """Return whether the log holds all entries of an APPEND; repaired, only those of its leader are confirmed."""
        return (self.has(Flaw.APPEND_TERM_CHECK) or self._is_from_its_leader(m)) and all(
            self.ledger_store.holds(Index(m.index + k), entry) for k, entry in enumerate(m.entries)
        )

    def can_check_append_future(self, m: AppendRequest) -> bool:
        """All entries are stored already, or the last lies after a gap and its answer is still awaited."""
        end = self.ledger_store.end_index
        if not self._handles(m, PushType.APPEND) or end + 1 in self.write_request_map:
            return False
        return m.last_index <= end or (m.index != end + 1 and (m.awaited or not self.has(Flaw.REPEATED_PUSH)))

    @action(when=can_check_append_future)
    def check_append_future(self, m: AppendRequest) -> Effects:
        """Deal with an APPEND that is not the next one.

        One that is stored already is compared (fall behind), as published in any term (AppendTermCheck). One after
        a gap is answered with INCONSISTENT_STATE, and the leader compares (fast forward). As published it stays in the
        queue, its answer given; should that be lost, the same APPEND is answered with REPEATED_PUSH for ever
        (RepeatedPush). Repaired, it is gone. Of a batch the last entry decides; it may begin before the end.

        Source: EntryHandler.checkAppendFuture.
        """
        if m.last_index <= self.ledger_store.end_index:
            self._take(m)
            return self._answer(m, Code.SUCCESS if self._confirms(m) else Code.INCONSISTENT_STATE)
        answer = self._answer(m, Code.INCONSISTENT_STATE)
        if not self.has(Flaw.REPEATED_PUSH):
            self._take(m)
            return answer
        waiting = replace(m, awaited=False)
        if not self.has(Feature.REQUEST_QUEUES):
            return replace(answer, requeued=waiting)
        self.write_request_map[m.index] = waiting
        return answer

    # ---- COMMIT ----

    def can_handle_do_commit(self, m: CommitRequest) -> bool:
        """The node follows."""
        return self._handles(m, PushType.COMMIT)

    @action(when=can_handle_do_commit)
    def handle_do_commit(self, m: CommitRequest) -> Effects:
        """Take over the leader's committed index, as far as the own log goes.

        Source: EntryHandler.handleDoCommit.
        """
        return self._commit(m)

    def _commit(self, m: CommitRequest) -> Effects:
        self._take(m)
        if self._obeys(m):
            self._learn_if_possible(m)
        return NO_EFFECTS

    def can_skip_commit(self, m: PushRequest) -> bool:
        """The node follows, and stores what the request carries, if anything."""
        if not self.has(Feature.LATE_ROLE) or m.type is PushType.COMPARE or not self._handles(m, m.type):
            return False
        return isinstance(m, CommitRequest) or m.type is PushType.TRUNCATE or m.index == self.ledger_store.end_index + 1

    @action(when=can_skip_commit)
    def skip_commit(self, m: PushRequest) -> Effects:
        """Handle a request as if it said nothing of what is committed: its term is past by then.

        Source: EntryHandler.handleDoAppend, handleDoBatchAppend, handleDoTruncate and handleDoCommit;
        DLedgerMmapFileStore.updateCommittedIndex, which looks at the term.
        """
        silent = replace(m, commit_index=Index(-1))
        if isinstance(silent, CommitRequest):
            return self._commit(silent)
        if isinstance(silent, Request) and silent.type is PushType.TRUNCATE:
            return self._truncate(silent)
        return self._append(silent)
