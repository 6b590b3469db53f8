"""The leader's side: EntryDispatcher's doCompare, doTruncate, doAppend, doCommit; updatePeerWaterMark."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.action import NotEnabled
from raftref.dledger.choices import PUBLISHED, REPAIRED, Config, Flaw
from raftref.dledger.messages import Code, CommitRequest, Entry, Index, PushType, Request, Response, Term
from raftref.dledger.server import Server
from raftref.dledger.state import DispatcherState, Role
from raftref.dledger.steps import Abandoned

TERM = Term(3)
PEER = "n2"


def leader(log_length: int, **dispatcher: object) -> Server:
    """A leader of term 3 whose entries are of term 1, and what its dispatcher for the peer knows."""
    made = Server("n1", ("n1", "n2", "n3"))
    made.member_state.role, made.member_state.curr_term = Role.LEADER, TERM
    made.ledger_store.log = tuple(Entry(Term(1), f"v{i}") for i in range(log_length))
    made.dispatchers[PEER] = replace(DispatcherState(term=TERM), **dispatcher)  # type: ignore[arg-type]
    return made


def comparing(log_length: int, compare_index: int) -> Server:
    return leader(log_length, compare_index=Index(compare_index), awaiting=PushType.COMPARE)


def answer(type_: PushType, code: Code, begin: int, end: int, *, term: int = TERM, index: int = 0) -> Response:
    return Response(type_, PEER, "n1", Term(term), Index(index), code, Index(begin), Index(end))


def compared(node: Server, code: Code, begin: int, end: int) -> DispatcherState:
    node.handle_compare_response(answer(PushType.COMPARE, code, begin, end))
    return node.dispatchers[PEER]


class TestCompareOutcomes:
    """EntryDispatcher.doCompare, from the answer on."""

    def test_a_dispatcher_that_found_the_last_entry_of_both_appends_behind_it(self) -> None:
        node = comparing(5, 3)
        after = compared(node, Code.SUCCESS, 0, 3)
        assert (after.type, after.write_index, after.compare_index) == (PushType.APPEND, 4, -1)
        assert after.awaiting is None
        assert node.peer_water_marks[PEER] == 3

    def test_a_peer_that_has_more_than_the_entry_found_is_cut_there(self) -> None:
        after = compared(comparing(5, 3), Code.SUCCESS, 0, 6)
        assert (after.type, after.truncate_index) == (PushType.TRUNCATE, 3)

    def test_an_empty_peer_is_cut_at_the_first_entry(self) -> None:
        after = compared(comparing(5, 3), Code.INCONSISTENT_STATE, -1, -1)
        assert (after.type, after.truncate_index) == (PushType.TRUNCATE, 0)

    def test_a_peer_whose_log_begins_behind_the_end_is_cut_at_the_first_entry(self) -> None:
        after = compared(comparing(3, 2), Code.INCONSISTENT_STATE, 7, 9)
        assert (after.type, after.truncate_index) == (PushType.TRUNCATE, 0)

    def test_an_index_below_the_peers_first_entry_cuts_all(self) -> None:
        after = compared(comparing(5, 1), Code.INCONSISTENT_STATE, 2, 4)
        assert (after.type, after.truncate_index) == (PushType.TRUNCATE, 0)

    def test_an_index_past_the_peers_end_goes_down_to_that_end(self) -> None:
        after = compared(comparing(5, 4), Code.INCONSISTENT_STATE, 0, 2)
        assert (after.type, after.compare_index) == (PushType.COMPARE, 2)

    def test_another_entry_goes_down_by_one(self) -> None:
        after = compared(comparing(5, 3), Code.INCONSISTENT_STATE, 0, 4)
        assert (after.type, after.compare_index) == (PushType.COMPARE, 2)

    def test_below_the_first_entry_everything_is_cut(self) -> None:
        after = compared(comparing(5, 0), Code.INCONSISTENT_STATE, 0, 4)
        assert (after.type, after.truncate_index) == (PushType.TRUNCATE, 0)

    def test_the_first_entry_itself_can_be_compared(self) -> None:
        after = compared(comparing(5, 4), Code.INCONSISTENT_STATE, 0, 0)
        assert (after.type, after.compare_index) == (PushType.COMPARE, 0)

    def test_any_other_code_begins_again_at_the_same_index(self) -> None:
        after = compared(comparing(5, 3), Code.INCONSISTENT_TERM, 0, 4)
        assert (after.type, after.compare_index, after.awaiting) == (PushType.COMPARE, 3, None)

    def test_a_leader_whose_log_was_cut_to_one_entry_meanwhile_still_goes_down_by_one(self) -> None:
        after = compared(comparing(1, 3), Code.INCONSISTENT_STATE, 0, 4)
        assert (after.type, after.compare_index) == (PushType.COMPARE, 2)

    def test_the_last_entry_of_both_may_have_an_index_above_256(self) -> None:
        """Python keeps more than one object of such a number."""
        after = compared(comparing(5, 1000), Code.SUCCESS, 0, int("1000"))
        assert (after.type, after.write_index) == (PushType.APPEND, 1001)

    def test_the_watermark_is_of_the_dispatchers_term(self) -> None:
        """A dispatcher of an earlier leadership marks nothing in the current term."""
        node = comparing(5, 3)
        node.dispatchers[PEER] = replace(node.dispatchers[PEER], term=Term(2))
        assert compared(node, Code.SUCCESS, 0, 3).type is PushType.APPEND
        assert node.peer_water_marks[PEER] == -1


class TestDoCompare:
    """EntryDispatcher.checkAndFreshState and doCompare, up to the push."""

    def test_a_dispatcher_sends_the_entry_at_the_compare_index(self) -> None:
        node = leader(4, compare_index=Index(2))
        node.ledger_store.committed_index = Index(1)
        (sent,) = node.do_compare(PEER).sent
        assert sent == Request(
            PushType.COMPARE, "n1", PEER, TERM, Index(2), Entry(Term(1), "v2"), Index(1), awaited=True
        )
        assert node.dispatchers[PEER].awaiting is PushType.COMPARE

    @pytest.mark.parametrize("compare_index", [-1, 4, 9])
    def test_an_index_outside_the_log_is_replaced_by_the_end(self, compare_index: int) -> None:
        node = leader(4, compare_index=Index(compare_index))
        node.do_compare(PEER)
        assert node.dispatchers[PEER].compare_index == 3

    @pytest.mark.parametrize(("config", "index"), [(PUBLISHED, 1), (REPAIRED, 3)], ids=["published", "repaired"])
    def test_a_dispatcher_that_was_comparing_goes_on_from_there_as_published(self, config: Config, index: int) -> None:
        """EntryDispatcher.changeState(COMPARE) resets compareIndex only when it leaves APPEND."""
        node = leader(4, term=Term(2), compare_index=Index(1))
        node.config = config
        (compare,) = node.do_compare(PEER).sent
        assert isinstance(compare, Request)
        assert compare.index == index

    def test_a_dispatcher_of_another_term_begins_anew(self) -> None:
        node = leader(4, type=PushType.APPEND, term=Term(2), write_index=Index(9))
        node.do_compare(PEER)
        state = node.dispatchers[PEER]
        assert (state.type, state.term, state.compare_index, state.write_index) == (
            PushType.COMPARE,
            TERM,
            3,
            9,
        )

    def test_an_empty_leader_does_not_compare(self) -> None:
        with pytest.raises(NotEnabled):
            leader(0).do_compare(PEER)

    def test_a_dispatcher_that_waits_truncates_or_appends_does_not_compare(self) -> None:
        assert not comparing(4, 3).can_do_compare(PEER)
        assert not leader(4, type=PushType.TRUNCATE, truncate_index=Index(0)).can_do_compare(PEER)
        assert not leader(4, type=PushType.APPEND).can_do_compare(PEER)

    def test_a_question_that_may_not_be_asked_leaves_the_dispatcher_as_it_was(self) -> None:
        node = leader(0, type=PushType.APPEND, term=Term(1))
        before = node.observe()
        with pytest.raises(NotEnabled):
            node.do_compare(PEER)
        assert node.observe() == before


def test_compare_begins_anew_only_when_append_is_left() -> None:
    """EntryDispatcher.changeState(COMPARE): compareIndex is reset only then."""
    assert DispatcherState(type=PushType.APPEND, compare_index=Index(4)).to_compare().compare_index == -1
    assert DispatcherState(type=PushType.COMPARE, compare_index=Index(4)).to_compare().compare_index == 4


class TestTruncating:
    """EntryDispatcher.doTruncate."""

    def test_a_dispatcher_sends_the_entry_that_the_log_must_end_with(self) -> None:
        node = leader(4, type=PushType.TRUNCATE, truncate_index=Index(1))
        (sent,) = node.do_truncate(PEER).sent
        assert isinstance(sent, Request)
        assert (sent.type, sent.index, sent.entry) == (PushType.TRUNCATE, 1, Entry(Term(1), "v1"))
        assert node.dispatchers[PEER].awaiting is PushType.TRUNCATE

    def test_as_published_a_deposed_leader_sends_what_its_log_holds_by_then_in_its_old_term(self) -> None:
        """DeposedTruncate: doTruncate reads the entry, and asks for neither role nor term."""
        node = leader(4, type=PushType.TRUNCATE, truncate_index=Index(1))
        node.change_to_candidate()
        node.next_term(Term(4))
        successors = Entry(Term(4), "w")
        node.ledger_store.log = (successors, successors)
        (sent,) = node.do_truncate(PEER).sent
        assert isinstance(sent, Request)
        assert (sent.term, sent.entry) == (TERM, successors)

    def test_repaired_only_the_leader_of_the_term_of_its_dispatcher_sends_a_truncate(self) -> None:
        node = leader(4, type=PushType.TRUNCATE, truncate_index=Index(1))
        node.config = REPAIRED
        assert node.can_do_truncate(PEER)
        node.member_state.curr_term = Term(4)
        assert not node.can_do_truncate(PEER)
        node.member_state.curr_term, node.member_state.role = TERM, Role.CANDIDATE
        assert not node.can_do_truncate(PEER)

    def test_success_opens_append_and_marks_what_the_peer_stores(self) -> None:
        node = leader(4, type=PushType.TRUNCATE, truncate_index=Index(1), awaiting=PushType.TRUNCATE)
        node.handle_truncate_response(answer(PushType.TRUNCATE, Code.SUCCESS, 0, 1, index=1))
        state = node.dispatchers[PEER]
        assert (state.type, state.write_index, state.truncate_index) == (PushType.APPEND, 2, -1)
        assert node.peer_water_marks[PEER] == 1

    def test_anything_else_begins_again_with_compare(self) -> None:
        node = leader(4, type=PushType.TRUNCATE, truncate_index=Index(1), awaiting=PushType.TRUNCATE)
        node.handle_truncate_response(answer(PushType.TRUNCATE, Code.INCONSISTENT_STATE, 0, 3))
        state = node.dispatchers[PEER]
        assert (state.type, state.truncate_index, state.awaiting) == (PushType.COMPARE, -1, None)

    def test_an_answer_nobody_waits_for_is_not_taken(self) -> None:
        node = leader(4, type=PushType.TRUNCATE, truncate_index=Index(1))
        with pytest.raises(NotEnabled):
            node.handle_truncate_response(answer(PushType.TRUNCATE, Code.SUCCESS, 0, 1))


class TestAppending:
    """EntryDispatcher.doAppend, doCheckAppendResponse, doCommit, and doAppendInner's callback."""

    def test_entries_are_pushed_one_after_another_without_waiting(self) -> None:
        node = leader(3, type=PushType.APPEND, write_index=Index(1))
        indexes = [m.index for _ in range(2) for m in node.do_append(PEER).sent if isinstance(m, Request)]
        assert indexes == [1, 2]
        assert not node.can_do_append(PEER)

    def test_a_dispatcher_of_another_term_pushes_nothing(self) -> None:
        assert not leader(3, type=PushType.APPEND, write_index=Index(1), term=Term(2)).can_do_append(PEER)

    def test_what_is_not_answered_is_pushed_again_once_everything_is_pushed(self) -> None:
        node = leader(3, type=PushType.APPEND, write_index=Index(2))
        assert not node.can_do_check_append_response(PEER)
        node.do_append(PEER)
        node.peer_water_marks[PEER] = Index(0)
        (sent,) = node.do_check_append_response(PEER).sent
        assert isinstance(sent, Request)
        assert sent.index == 1
        assert node.dispatchers[PEER].write_index == 3

    def test_nothing_is_pushed_again_when_everything_is_answered(self) -> None:
        node = leader(3, type=PushType.APPEND, write_index=Index(3))
        node.peer_water_marks[PEER] = Index(2)
        assert not node.can_do_check_append_response(PEER)

    def test_the_committed_index_is_sent_when_there_is_nothing_to_push(self) -> None:
        node = leader(3, type=PushType.APPEND, write_index=Index(2))
        assert not node.can_do_commit(PEER)
        node.do_append(PEER)
        node.ledger_store.committed_index = Index(1)
        assert node.do_commit(PEER).sent == (CommitRequest("n1", PEER, TERM, Index(1)),)

    def test_a_stored_entry_raises_the_watermark_of_its_own_term(self) -> None:
        node = leader(3, type=PushType.APPEND)
        node.handle_append_response(answer(PushType.APPEND, Code.SUCCESS, 0, 2, index=2, term=2))
        assert node.peer_water_marks[PEER] == -1
        node.handle_append_response(answer(PushType.APPEND, Code.SUCCESS, 0, 2, index=2))
        assert node.peer_water_marks[PEER] == 2

    def test_an_inconsistent_entry_leads_back_to_compare_whatever_is_under_way(self) -> None:
        node = leader(3, type=PushType.TRUNCATE, truncate_index=Index(1), awaiting=PushType.TRUNCATE)
        node.handle_append_response(answer(PushType.APPEND, Code.INCONSISTENT_STATE, 0, 0, index=2))
        state = node.dispatchers[PEER]
        assert (state.type, state.truncate_index, state.awaiting) == (
            PushType.COMPARE,
            -1,
            PushType.TRUNCATE,
        )


def appending(log_length: int, write_index: int) -> Server:
    return leader(log_length, type=PushType.APPEND, write_index=Index(write_index))


def pushes(node: Server) -> set[str]:
    """The actions that the dispatcher for the peer may take in its loop in APPEND."""
    found = {
        "append": node.can_do_append(PEER),
        "resend": node.can_do_check_append_response(PEER),
        "commit": node.can_do_commit(PEER),
    }
    return {name for name, may in found.items() if may}


def test_the_loop_in_append_pushes_and_then_resends_or_commits() -> None:
    """EntryDispatcher.doAppend."""
    assert pushes(appending(3, 1)) == {"append"}
    assert pushes(appending(3, 3)) == {"resend", "commit"}
    last_unanswered = appending(3, 3)
    last_unanswered.peer_water_marks[PEER] = Index(1)
    assert pushes(last_unanswered) == {"resend", "commit"}


@pytest.mark.parametrize("write_index", [1, 3])
def test_the_loop_in_append_runs_only_in_the_leaders_own_term_and_while_nothing_is_awaited(write_index: int) -> None:
    deposed = appending(3, write_index)
    deposed.change_to_candidate()
    assert pushes(deposed) == set()
    for changed in (
        {"term": Term(2)},
        {"awaiting": PushType.COMPARE},
        {"type": PushType.COMPARE},
    ):
        node = appending(3, write_index)
        node.dispatchers[PEER] = replace(node.dispatchers[PEER], **changed)
        assert pushes(node) == set()


def test_a_truncate_is_not_sent_while_an_answer_is_awaited_or_once_it_is_compared_again() -> None:
    node = leader(4, type=PushType.TRUNCATE, truncate_index=Index(1))
    assert node.can_do_truncate(PEER)
    node.do_truncate(PEER)
    assert not node.can_do_truncate(PEER)
    assert not leader(4, type=PushType.COMPARE, truncate_index=Index(1)).can_do_truncate(PEER)
    assert not leader(1, type=PushType.TRUNCATE, truncate_index=Index(1)).can_do_truncate(PEER)


@pytest.mark.parametrize("type_", [PushType.COMPARE, PushType.TRUNCATE, PushType.APPEND])
def test_an_answer_is_taken_by_its_own_action_at_its_own_node_while_that_runs(type_: PushType) -> None:
    node = leader(4, awaiting=None if type_ is PushType.APPEND else type_)
    m = answer(type_, Code.SUCCESS, 0, 0)

    def takers(response: Response) -> set[PushType]:
        found = {
            PushType.COMPARE: node.can_handle_compare_response(response),
            PushType.TRUNCATE: node.can_handle_truncate_response(response),
            PushType.APPEND: node.can_handle_append_response(response),
        }
        return {name for name, may in found.items() if may}

    assert takers(m) == {type_}
    assert takers(replace(m, dst="n3")) == set()
    node.member_state.role = Role.DOWN
    assert takers(m) == set()


def test_a_watermark_is_raised_in_a_term_above_256() -> None:
    """Python keeps more than one object of such a number."""
    node = leader(3)
    node.member_state.curr_term = Term(1000)
    node.update_peer_water_mark(PEER, Term(int("1000")), Index(2))
    assert node.peer_water_marks[PEER] == 2


def test_a_watermark_only_grows() -> None:
    """DLedgerEntryPusher.updatePeerWaterMark."""
    node = leader(0)
    for index, expected in [(4, 4), (2, 4), (5, 5)]:
        node.update_peer_water_mark(PEER, TERM, Index(index))
        assert node.peer_water_marks[PEER] == expected


def test_a_call_that_times_out_is_abandoned_and_compare_begins_again() -> None:
    """EntryDispatcher.doWork's handler of exceptions."""
    node = leader(3, type=PushType.TRUNCATE, truncate_index=Index(1), awaiting=PushType.TRUNCATE)
    effects = node.push_time_out(PEER)
    assert effects.abandoned == Abandoned(PEER, PushType.TRUNCATE)
    assert node.dispatchers[PEER] == DispatcherState(term=TERM)
    with pytest.raises(NotEnabled):
        node.push_time_out(PEER)


def test_a_clients_entry_is_stored_in_the_current_term_and_marked_as_the_leaders_own() -> None:
    """DLedgerMmapFileStore.appendAsLeader, DLedgerEntryPusher.waitAck."""
    node = leader(2)
    node.append_as_leader("new")
    assert node.ledger_store.log[-1] == Entry(TERM, "new")
    assert node.peer_water_marks["n1"] == 2
    node.change_to_candidate()
    with pytest.raises(NotEnabled):
        node.append_as_leader("refused")


class TestQuorumAckChecker:
    """QuorumAckChecker.doWork."""

    def test_a_pass_commits_what_a_quorum_stores(self) -> None:
        node = leader(3)
        node.peer_water_marks.update(n1=Index(2), n2=Index(1))
        node.quorum_ack_checker()
        assert (node.last_quorum_index, node.ledger_store.committed_index) == (1, 1)

    def test_a_repaired_pass_commits_by_counting_only_entries_of_its_term(self) -> None:
        node = leader(2)
        node.config = PUBLISHED.without(Flaw.PRIOR_TERM_COMMIT)
        node.peer_water_marks.update(n1=Index(1), n2=Index(1))
        node.quorum_ack_checker()
        assert (node.last_quorum_index, node.ledger_store.committed_index) == (-1, -1)
        node.append_as_leader("mine")
        node.update_peer_water_mark(PEER, TERM, Index(2))
        node.quorum_ack_checker()
        assert (node.last_quorum_index, node.ledger_store.committed_index) == (2, 2)

    def test_the_last_quorum_index_may_fall_but_the_committed_index_does_not(self) -> None:
        node = leader(3)
        node.ledger_store.committed_index = node.last_quorum_index = Index(2)
        node.quorum_ack_checker()
        assert (node.last_quorum_index, node.ledger_store.committed_index) == (-1, 2)

    def test_a_new_leader_knows_its_own_entries_only_after_a_refresh(self) -> None:
        node = leader(3)
        assert node.peer_water_marks["n1"] == -1
        node.refresh_own_water_mark()
        assert node.peer_water_marks["n1"] == 2

    def test_only_a_leader_passes_or_refreshes(self) -> None:
        node = leader(3)
        node.change_to_candidate()
        for method in (node.quorum_ack_checker, node.refresh_own_water_mark):
            with pytest.raises(NotEnabled):
                method()
