"""Several entries at once: what a client appends in one request, and what a leader pushes in one APPEND."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.action import NotEnabled
from raftref.dledger.choices import FINE, REPAIRED, Feature, Flaw
from raftref.dledger.messages import BatchRequest, BatchResponse, Code, Entry, Index, PushType, Term
from raftref.dledger.server import Server
from raftref.dledger.state import Pending, Role

MEMBERS = ("n1", "n2", "n3")
TERM = Term(1)
A, B, C = (Entry(TERM, value) for value in "abc")
BATCHES = replace(REPAIRED, features=FINE | {Feature.BATCHES})


def server(node_id: str, role: Role) -> Server:
    made = Server(node_id, MEMBERS, BATCHES)
    made.member_state.role, made.member_state.curr_term, made.member_state.leader_id = role, TERM, "n1"
    return made


def leader(values: str = "abc") -> Server:
    """A leader of these entries, about to push them to n2."""
    made = server("n1", Role.LEADER)
    for value in values:
        made.append_as_leader(value)
    state = made.dispatchers["n2"]
    made.dispatchers["n2"] = replace(state, type=PushType.APPEND, term=TERM, write_index=Index(0))
    return made


def follower(*log: Entry) -> Server:
    made = server("n2", Role.FOLLOWER)
    for each in log:
        made.ledger_store.append(each)
    return made


def batch(index: int, *entries: Entry, term: int = 1) -> BatchRequest:
    return BatchRequest("n1", "n2", Term(term), Index(index), entries, Index(-1))


def answer(index: int, count: int, code: Code = Code.SUCCESS) -> BatchResponse:
    return BatchResponse(PushType.APPEND, "n2", "n1", TERM, Index(index), code, Index(0), Index(9), count)


def handled(node: Server, m: BatchRequest, action: str = "handle_do_batch_append") -> BatchResponse:
    """Queue a request and let the node handle it; return the answer."""
    node.handle_push(m)
    (reply,) = getattr(node, action)(m).sent
    assert isinstance(reply, BatchResponse)
    return reply


class TestClients:
    """DLedgerServer.handleAppend of a BatchAppendEntryRequest."""

    def test_only_the_last_entry_of_a_batch_is_waited_for_and_marked(self) -> None:
        node = leader("")
        node.append_in_batch("a")
        assert (node.peer_water_marks["n1"], node.client_futures.in_term(TERM)) == (-1, {})
        node.append_as_leader("b")
        assert node.peer_water_marks["n1"] == 1
        assert list(node.client_futures.in_term(TERM)) == [1]

    def test_a_leader_that_lost_its_leadership_keeps_what_it_stored_of_a_batch(self) -> None:
        node = leader("")
        node.append_in_batch("a")
        node.change_to_candidate()
        assert not node.can_append_in_batch("b")
        node.refuse_append("NOT_LEADER")
        assert node.ledger_store.log == (A,)

    def test_an_empty_batch_is_refused_after_every_other_reason(self) -> None:
        node = leader()
        node.refuse_append("REQUEST_WITH_EMPTY_BODYS")
        node.election = replace(node.election, transferee="n2")
        assert not node.can_refuse_append("REQUEST_WITH_EMPTY_BODYS")
        node.refuse_append("LEADER_TRANSFERRING")
        with pytest.raises(NotEnabled):
            node.append_in_batch("d")

    def test_a_group_without_batches_has_no_empty_one_to_refuse(self) -> None:
        node = Server("n1", MEMBERS, replace(REPAIRED, features=FINE))
        node.member_state.role = Role.LEADER
        assert not node.can_refuse_append("REQUEST_WITH_EMPTY_BODYS")
        assert not node.can_append_in_batch("a")


class TestLeader:
    """EntryDispatcher.doBatchAppend and the callback of sendBatchAppendEntryRequest."""

    def test_entries_from_the_write_index_on_are_pushed_in_one_append(self) -> None:
        node = leader()
        (m,) = node.do_batch_append("n2", 2).sent
        assert m == batch(0, A, B)
        assert node.dispatchers["n2"].write_index == 2
        assert node.dispatchers["n2"].pendings == {Pending(Index(0), 2)}

    @pytest.mark.parametrize("count", [0, 4])
    def test_no_batch_is_empty_or_goes_past_the_end(self, count: int) -> None:
        assert not leader().can_do_batch_append("n2", count)

    def test_the_answer_marks_the_last_entry_of_the_batch(self) -> None:
        node = leader()
        node.do_batch_append("n2", 2)
        node.handle_append_response(answer(0, 2))
        assert node.peer_water_marks["n2"] == 1
        assert node.dispatchers["n2"].pendings == set()

    def test_a_batch_without_an_answer_is_pushed_again_as_it_was(self) -> None:
        node = leader()
        (first,) = node.do_batch_append("n2", 2).sent
        assert not node.can_do_check_batch_append_response("n2")
        node.do_batch_append("n2", 1)
        assert node.do_check_batch_append_response("n2").sent == (first,)

    def test_the_leak_check_forgets_a_batch_that_ends_at_the_watermark(self) -> None:
        node = leader()
        node.do_batch_append("n2", 2)
        node.update_peer_water_mark("n2", TERM, Index(0))
        node.check_leak("n2")
        assert node.dispatchers["n2"].pendings == {Pending(Index(0), 2)}
        node.update_peer_water_mark("n2", TERM, Index(1))
        node.check_leak("n2")
        assert node.dispatchers["n2"].pendings == set()

    def test_the_leak_check_keeps_a_batch_that_begins_behind_the_watermark(self) -> None:
        node = leader("abcde")
        node.do_batch_append("n2", 3)
        node.do_batch_append("n2", 1)
        node.update_peer_water_mark("n2", TERM, Index(2))
        node.check_leak("n2")
        assert node.dispatchers["n2"].pendings == {Pending(Index(3), 1)}

    def test_an_inconsistent_batch_sends_the_dispatcher_to_compare(self) -> None:
        node = leader()
        node.do_batch_append("n2", 2)
        node.handle_append_response(answer(0, 2, Code.INCONSISTENT_STATE))
        state = node.dispatchers["n2"]
        assert (state.type, state.pendings) == (PushType.COMPARE, frozenset())

    def test_entries_are_not_pushed_one_by_one(self) -> None:
        assert not leader().can_do_append("n2")


class TestFollower:
    """EntryHandler.handleDoBatchAppend, checkAppendFuture."""

    def test_all_entries_of_the_next_batch_are_stored_and_answered(self) -> None:
        node = follower(A)
        reply = handled(node, batch(1, B, C))
        assert node.ledger_store.log == (A, B, C)
        assert (reply.code, reply.index, reply.count, reply.end_index) == (Code.SUCCESS, 1, 2, 2)

    def test_the_end_of_the_log_is_in_the_term_of_the_last_entry_of_a_batch(self) -> None:
        """LedgerEndTerm: votes look at that term."""
        node = follower(A)
        node.member_state.curr_term = Term(3)
        handled(node, batch(1, Entry(Term(1), "b"), Entry(Term(2), "c"), term=3))
        assert (node.ledger_store.end_term, node.ledger_store.end_index) == (2, 2)

    def test_a_batch_of_another_term_is_refused_as_a_whole(self) -> None:
        node = follower(A)
        assert handled(node, batch(1, B, C, term=2)).code is Code.INCONSISTENT_STATE
        assert node.ledger_store.log == (A,)

    def test_a_batch_that_is_stored_already_is_compared_to_its_last_entry(self) -> None:
        other = Entry(TERM, "x")
        for log, code in [((A, B), Code.SUCCESS), ((A, other), Code.INCONSISTENT_STATE)]:
            node = follower(*log)
            assert handled(node, batch(0, A, B), "check_append_future").code is code
            assert node.requests() == []

    def test_a_batch_that_is_stored_already_is_compared_wherever_it_begins(self) -> None:
        assert handled(follower(A, B, C), batch(1, B, C), "check_append_future").code is Code.SUCCESS

    @pytest.mark.parametrize("first", [0, 2])
    def test_a_batch_that_neither_follows_nor_is_stored_is_inconsistent_and_stays_as_published(
        self, first: int
    ) -> None:
        """PushFastForward: it begins before the end and ends behind it, or lies after a gap."""
        node = follower(A)
        node.config = replace(BATCHES, flaws=frozenset({Flaw.REPEATED_PUSH}))
        m = batch(first, A, B)
        assert handled(node, m, "check_append_future").code is Code.INCONSISTENT_STATE
        assert node.requests() == [replace(m, awaited=False)]
        assert not node.can_check_append_future(replace(m, awaited=False))

    def test_a_second_batch_that_begins_at_the_same_entry_is_answered_with_repeated_push(self) -> None:
        node = follower()
        node.handle_push(batch(0, A, B))
        (reply,) = node.handle_push(batch(0, A)).sent
        assert reply == replace(answer(0, 1, Code.REPEATED_PUSH), begin_index=Index(-1), end_index=Index(-1))
