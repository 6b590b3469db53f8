"""Waiting at a node: requests in the EntryHandler's queues, clients at the leader, entries at the state machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.action import NotEnabled
from raftref.dledger.choices import FINE, PUBLISHED, REPAIRED, Config, Feature, Flaw
from raftref.dledger.messages import Code, CommitRequest, Entry, Index, PushType, Request, Response, Term
from raftref.dledger.server import Server
from raftref.dledger.state import Future, Pending, Role
from raftref.dledger.steps import Abandoned

MEMBERS = ("n1", "n2", "n3")
TERM = Term(1)
A, B, C = (Entry(TERM, value) for value in "abc")


def follower(*log: Entry, config: Config = PUBLISHED) -> Server:
    """A follower of n1 with queues."""
    made = Server("n2", MEMBERS, replace(config, features=FINE))
    made.member_state.role, made.member_state.curr_term, made.member_state.leader_id = Role.FOLLOWER, TERM, "n1"
    for each in log:
        made.ledger_store.append(each)
    return made


def leader(config: Config = REPAIRED, features: frozenset[Feature] = FINE) -> Server:
    made = Server("n1", MEMBERS, replace(config, features=features))
    made.member_state.role, made.member_state.curr_term, made.member_state.leader_id = Role.LEADER, TERM, "n1"
    return made


def request(type_: PushType, index: int, carried: Entry) -> Request:
    return Request(type_, "n1", "n2", TERM, Index(index), carried, Index(-1))


def committed(node: Server) -> tuple[Future, ...]:
    """One pass of the quorum checker, in its two parts; return the clients that are answered."""
    node.quorum_ack_checker()
    return node.act_on_quorum_index().acknowledged


def stored(node: Server, index: int) -> None:
    """Let n2 be known to store the log up to an index."""
    node.update_peer_water_mark("n2", TERM, Index(index))


class TestHandlePush:
    """EntryHandler.handlePush."""

    def test_a_request_waits_and_is_not_handled_yet(self) -> None:
        node = follower()
        assert node.handle_push(request(PushType.APPEND, 0, A)).sent == ()
        assert node.ledger_store.log == ()
        assert node.requests() == [request(PushType.APPEND, 0, A)]

    def test_a_second_append_at_an_index_is_answered_with_repeated_push(self) -> None:
        node = follower()
        node.handle_push(request(PushType.APPEND, 0, A))
        (answer,) = node.handle_push(request(PushType.APPEND, 0, B)).sent
        assert isinstance(answer, Response)
        assert answer.code is Code.REPEATED_PUSH
        assert node.requests() == [request(PushType.APPEND, 0, A)]

    def test_just_the_requests_that_may_be_handled_next_have_their_turn(self) -> None:
        """That is looked up without a look at all that wait."""
        node, all_of_them = follower(A), [request(PushType.APPEND, index, B) for index in (0, 1, 2, 4)]
        all_of_them += [
            request(PushType.APPEND, 2, A),
            request(PushType.COMPARE, 0, A),
            request(PushType.TRUNCATE, 0, A),
        ]
        for arrives in (all_of_them[1], all_of_them[3], all_of_them[5], all_of_them[6], all_of_them[2]):
            node.handle_push(arrives)
            for m in all_of_them:
                assert node._comes_next(m) is (m in node.requests())
        assert node.requests() == [request(PushType.COMPARE, 0, A)]

    @pytest.mark.parametrize("type_", [PushType.COMPARE, PushType.TRUNCATE])
    def test_compare_and_truncate_clear_the_appends_that_wait(self, type_: PushType) -> None:
        node = follower(A)
        node.handle_push(request(PushType.APPEND, 2, C))
        node.handle_push(request(type_, 0, A))
        assert node.write_request_map == {}

    def test_commit_clears_nothing(self) -> None:
        node = follower(A)
        node.handle_push(request(PushType.APPEND, 1, B))
        node.handle_push(CommitRequest("n1", "n2", TERM, Index(0)))
        assert set(node.write_request_map) == {1}

    def test_a_node_queues_whatever_its_role_and_handles_as_a_follower_only(self) -> None:
        node = follower()
        node.member_state.role = Role.CANDIDATE
        node.handle_push(request(PushType.COMPARE, 0, A))
        assert not node.can_handle_do_compare(request(PushType.COMPARE, 0, A))

    def test_a_crash_empties_the_queues(self) -> None:
        node = follower()
        node.handle_push(request(PushType.APPEND, 0, A))
        node.crash()
        assert node.requests() == []


class TestOrder:
    """EntryHandler.doWork: the control queue first, then the entry behind the end."""

    def test_compare_truncate_and_commit_come_before_any_append(self) -> None:
        node = follower(A)
        commit = CommitRequest("n1", "n2", TERM, Index(0))
        node.handle_push(request(PushType.APPEND, 1, B))
        node.handle_push(commit)
        assert not node.can_handle_do_append(request(PushType.APPEND, 1, B))
        node.handle_do_commit(commit)
        assert node.can_handle_do_append(request(PushType.APPEND, 1, B))

    def test_while_the_next_entry_waits_no_other_is_checked(self) -> None:
        """EntryHandler.checkAppendFuture runs only where the map lacks the next entry."""
        node = follower(A)
        node.handle_push(request(PushType.APPEND, 2, C))
        assert node.can_check_append_future(request(PushType.APPEND, 2, C))
        node.handle_push(request(PushType.APPEND, 1, B))
        assert not node.can_check_append_future(request(PushType.APPEND, 2, C))

    def test_an_entry_after_a_gap_is_answered_and_stays(self) -> None:
        node = follower(A)
        far = request(PushType.APPEND, 2, C)
        node.handle_push(far)
        (answer,) = node.check_append_future(far).sent
        assert isinstance(answer, Response)
        assert answer.code is Code.INCONSISTENT_STATE
        assert node.requests() == [replace(far, awaited=False)]

    def test_as_published_an_answered_append_is_in_the_way_of_itself_and_repaired_it_is_gone(self) -> None:
        """RepeatedPush: the leader pushes it again when the answer is lost."""
        far = request(PushType.APPEND, 2, C)
        for config, again in [(Config(flaws=frozenset({Flaw.REPEATED_PUSH})), [Code.REPEATED_PUSH]), (REPAIRED, [])]:
            node = follower(A, config=config)
            node.handle_push(far)
            node.check_append_future(far)
            assert [each.code for each in node.handle_push(far).sent if isinstance(each, Response)] == again
            assert node.can_check_append_future(far) is (config == REPAIRED)

    def test_an_entry_after_a_gap_leaves_the_repaired_queue_though_nobody_waits_for_an_answer(self) -> None:
        node = follower(A, config=REPAIRED)
        far = replace(request(PushType.APPEND, 2, C), awaited=False)
        node.handle_push(far)
        assert node.check_append_future(far).sent == ()
        assert node.requests() == []

    def test_a_caller_that_gave_up_gets_no_answer(self) -> None:
        node = follower(A)
        compare = request(PushType.COMPARE, 0, A)
        node.handle_push(compare)
        node.no_longer_awaited("n1", PushType.COMPARE)
        assert node.handle_do_compare(replace(compare, awaited=False)).sent == ()


class TestPendings:
    """EntryDispatcher.pendingMap."""

    def appending(self, features: frozenset[Feature] = FINE) -> Server:
        node = leader(features=features)
        node.append_as_leader("a")
        node.append_as_leader("b")
        node.dispatchers["n2"] = replace(node.dispatchers["n2"], type=PushType.APPEND, term=TERM, write_index=Index(0))
        return node

    def test_a_pushed_entry_is_pending_until_it_is_answered(self) -> None:
        node = self.appending()
        node.do_append("n2")
        assert node.dispatchers["n2"].pendings == {Pending(Index(0))}
        ends = (Index(0), Index(0))
        node.handle_append_response(Response(PushType.APPEND, "n2", "n1", TERM, Index(0), Code.SUCCESS, *ends))
        assert node.dispatchers["n2"].pendings == set()

    def test_repeated_push_changes_nothing(self) -> None:
        node = self.appending()
        node.do_append("n2")
        before = node.observe()
        ends = (Index(0), Index(0))
        node.handle_append_response(Response(PushType.APPEND, "n2", "n1", TERM, Index(0), Code.REPEATED_PUSH, *ends))
        assert node.observe() == before

    def test_only_what_is_pending_is_pushed_again(self) -> None:
        """An entry whose answer was taken, or that was forgotten, is not."""
        node = self.appending()
        node.do_append("n2")
        node.do_append("n2")
        assert node.can_do_check_append_response("n2")
        node.dispatchers["n2"] = replace(node.dispatchers["n2"], pendings=frozenset({Pending(Index(1))}))
        assert not node.can_do_check_append_response("n2")

    def test_an_older_push_that_is_pending_does_not_stand_for_the_entry_behind_the_watermark(self) -> None:
        node = self.appending()
        node.do_append("n2")
        node.do_append("n2")
        stored(node, 0)
        assert node.can_do_check_append_response("n2")
        node.dispatchers["n2"] = replace(node.dispatchers["n2"], pendings=frozenset({Pending(Index(0))}))
        assert not node.can_do_check_append_response("n2")

    def test_with_too_many_pending_a_dispatcher_pushes_the_first_again(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("raftref.dledger.pushing.MAX_PENDING_SIZE", 1)
        node = self.appending()
        node.do_append("n2")
        assert not node.can_do_append("n2")
        assert node.can_do_check_append_response("n2")

    @pytest.mark.parametrize("late", [True, False])
    def test_a_dispatcher_that_looked_before_pushes_again_though_more_is_left(self, *, late: bool) -> None:
        node = leader(features=FINE | ({Feature.LATE_RESEND} if late else set()))
        for entry in (A, B):
            node.ledger_store.append(entry)
        node.dispatchers["n2"] = replace(
            node.dispatchers["n2"], type=PushType.APPEND, term=TERM, write_index=Index(0), pendings=frozenset()
        )
        assert not node.can_do_check_append_response("n2")  # nothing is without an answer
        node.do_append("n2")
        assert node.can_do_append("n2")
        assert node.can_do_check_append_response("n2") is late

    @pytest.mark.parametrize("late", [True, False])
    def test_a_dispatcher_that_looked_before_pushes_what_was_answered_since(self, *, late: bool) -> None:
        node = self.appending(FINE | ({Feature.LATE_RESEND} if late else set()))
        node.do_append("n2")
        assert not node.can_push_answered_again("n2", Index(0), 1)
        stored(node, 0)
        assert node.can_push_answered_again("n2", Index(0), 1) is late
        assert not node.can_push_answered_again("n2", Index(1), 1)
        if late:
            (push,) = node.push_answered_again("n2", Index(0), 1).sent
            assert (push.type, push.index) == (PushType.APPEND, 0)

    def test_the_leak_check_forgets_what_is_below_the_watermark(self) -> None:
        node = self.appending()
        node.do_append("n2")
        stored(node, 1)
        node.check_leak("n2")
        assert node.dispatchers["n2"].pendings == set()


class TestClients:
    """QuorumAckChecker.doWork, without a state machine."""

    def test_a_client_is_answered_once_a_quorum_stores_its_entry(self) -> None:
        node = leader()
        node.append_as_leader("a")
        assert committed(node) == ()
        stored(node, 0)
        assert committed(node) == (Future(Index(0), A),)
        assert committed(node) == ()

    def test_every_client_up_to_the_quorum_index_is_answered(self) -> None:
        node = leader()
        for value in "abc":
            node.append_as_leader(value)
        stored(node, 1)
        assert [each.index for each in committed(node)] == [0, 1]

    def test_of_two_clients_that_wait_for_one_index_the_later_one_is_answered(self) -> None:
        """Source: DLedgerEntryPusher.waitAck, which puts the later future in the place of the older one."""
        node = leader()
        node.append_as_leader("a")
        node.client_futures.put(Index(0), B)
        stored(node, 0)
        assert committed(node) == (Future(Index(0), B),)

    def test_the_leak_check_finds_the_clients_below_a_gap(self) -> None:
        """needCheck; checkResponseFuturesElapsed."""
        node = leader()
        for value in "abc":
            node.append_as_leader(value)
        node.client_futures.answer(TERM, [Index(1)])
        stored(node, 2)
        assert [each.index for each in committed(node)] == [0, 2]

    def test_a_client_that_a_pass_has_left_out_is_not_answered_by_the_next(self) -> None:
        """QuorumAckChecker.doWork counts down to the index of the last pass, be its entry lost meanwhile."""
        node = leader()
        node.last_quorum_index = Index(5)
        node.append_as_leader("a")
        stored(node, 0)
        assert committed(node) == ()
        node.append_as_leader("b")
        stored(node, 1)
        assert [each.index for each in committed(node)] == [1]

    def test_the_term_may_change_between_reading_and_acting(self) -> None:
        """AckByQuorumIndex: as published the client is answered with SUCCESS, though nothing is committed."""
        for flaws, count, last in [({Flaw.ACK_BY_QUORUM_INDEX}, 1, 0), (set(), 0, -1)]:
            node = leader(Config(flaws=frozenset(flaws)))
            node.append_as_leader("a")
            stored(node, 0)
            node.quorum_ack_checker()
            node.change_to_candidate()
            node.next_term(Term(2), heard=[])
            assert len(node.act_on_quorum_index().acknowledged) == count
            assert (node.ledger_store.committed_index, node.last_quorum_index) == (-1, last)

    def test_clients_of_an_older_term_are_answered_with_term_changed(self) -> None:
        node = leader()
        node.append_as_leader("a")
        node.member_state.curr_term = Term(2)
        node.quorum_ack_checker()
        assert node.observe()["futures"] == {"#set": []}

    def test_a_client_that_waited_too_long_keeps_its_place_and_gets_no_other_answer(self) -> None:
        """WAIT_QUORUM_ACK_TIMEOUT."""
        node = leader()
        node.append_as_leader("a")
        node.check_response_futures_timeout()
        assert node.client_futures.in_term(TERM) == {0: Future(Index(0), A, done=True)}
        assert not node.can_check_response_futures_timeout()
        stored(node, 0)
        assert committed(node) == ()

    def test_a_group_of_one_answers_at_once(self) -> None:
        node = Server("n1", ("n1",), replace(REPAIRED, features=FINE))
        node.member_state.role, node.member_state.leader_id = Role.LEADER, "n1"
        assert [each.index for each in node.append_as_leader("a").acknowledged] == [0]

    def test_a_node_that_does_not_lead_refuses_appends(self) -> None:
        node = follower()
        node.refuse_append("NOT_LEADER")
        with pytest.raises(NotEnabled):
            node.append_as_leader("a")
        with pytest.raises(NotEnabled):
            leader().refuse_append("NOT_LEADER")

    def test_a_reason_to_refuse_is_known_by_its_text(self) -> None:
        assert follower().can_refuse_append("_".join(["NOT", "LEADER"]))

    def test_a_leader_at_which_too_many_clients_wait_refuses_appends(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("raftref.dledger.state.MAX_PENDING_REQUESTS", 0)
        node = leader()
        node.append_as_leader("a")
        assert not node.can_append_as_leader("b")
        node.refuse_append("LEADER_PENDING_FULL")


class TestStateMachine:
    """StateMachineCaller.doCommitted."""

    applies = FINE | {Feature.APPLIES}

    def test_the_state_machine_applies_what_is_committed_and_answers_the_clients(self) -> None:
        node = leader(features=self.applies)
        node.append_as_leader("a")
        stored(node, 0)
        assert committed(node) == ()
        assert node.do_committed().acknowledged == (Future(Index(0), A),)
        assert node.last_applied_index == 0
        assert not node.can_do_committed()

    def test_as_published_the_state_machine_applies_what_the_store_did_not_commit(self) -> None:
        """ApplyUnclamped."""
        for flaws, to_apply in [({Flaw.APPLY_UNCLAMPED}, 0), (set(), -1)]:
            node = leader(Config(flaws=frozenset(flaws)), self.applies)
            node.append_as_leader("a")
            stored(node, 0)
            node.quorum_ack_checker()
            node.member_state.curr_term = Term(2)
            node.act_on_quorum_index()
            assert (node.ledger_store.committed_index, node.apply_index) == (-1, to_apply)

    def test_an_entry_that_is_not_there_ends_the_applying_which_begins_again_later(self) -> None:
        node = leader(features=self.applies)
        node.append_as_leader("a")
        node.apply_index = Index(1)
        node.do_committed()
        assert node.last_applied_index == -1
        node.append_as_leader("b")
        node.do_committed()
        assert node.last_applied_index == 1

    def test_the_state_machine_applies_nothing_where_the_first_entry_is_not_there(self) -> None:
        node = leader(features=self.applies)
        node.apply_index = Index(0)
        node.do_committed()
        assert node.last_applied_index == -1

    def test_a_crash_forgets_what_was_applied(self) -> None:
        node = leader(features=self.applies)
        node.last_applied_index = Index(3)
        assert node.crash().abandoned == Abandoned()
        assert node.last_applied_index == -1
