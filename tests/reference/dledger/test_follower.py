"""The follower's side: EntryHandler's handleDoCompare, -Truncate, -Append, -Commit and checkAppendFuture."""

from __future__ import annotations

from dataclasses import replace

import pytest

from raftref.action import NotEnabled
from raftref.dledger.choices import PUBLISHED, Config, Feature, Flaw
from raftref.dledger.messages import Code, CommitRequest, Entry, Index, Message, PushType, Request, Response, Term
from raftref.dledger.server import Server
from raftref.dledger.state import Role
from raftref.records import record

TERM = Term(3)


def entry(term: int, value: str) -> Entry:
    return Entry(Term(term), value)


A1, B1, C2, D3 = entry(1, "a"), entry(1, "b"), entry(2, "c"), entry(3, "d")
STALE = ["term", "leader"]


def follower(*log: Entry, committed: int = -1, config: Config = PUBLISHED) -> Server:
    """A follower of n1 in term 3."""
    made = Server("n2", ("n1", "n2", "n3"), config)
    state = made.member_state
    state.role, state.curr_term, state.leader_id = Role.FOLLOWER, TERM, "n1"
    made.ledger_store.log, made.ledger_store.committed_index = log, Index(committed)
    return made


def request(type_: PushType, index: int, carried: Entry, commit: int = -1, *, awaited: bool = True) -> Request:
    return Request(type_, "n1", "n2", TERM, Index(index), carried, Index(commit), awaited)


def stale(m: Request, what: str) -> Request:
    """The same request of an earlier term, or of another leader."""
    return replace(m, term=Term(2)) if what == "term" else replace(m, src="n3")


def response(messages: tuple[Message, ...]) -> Response:
    (m,) = messages
    assert isinstance(m, Response)
    return m


class TestCompare:
    """EntryHandler.handleDoCompare."""

    @pytest.mark.parametrize(
        ("index", "carried", "code"),
        [
            (1, B1, Code.SUCCESS),
            (1, entry(1, "other"), Code.INCONSISTENT_STATE),
            (1, entry(2, "b"), Code.INCONSISTENT_STATE),
            (2, B1, Code.INCONSISTENT_STATE),
        ],
    )
    def test_entries_are_compared_whole(self, index: int, carried: Entry, code: Code) -> None:
        node = follower(A1, B1)
        found = response(node.handle_do_compare(request(PushType.COMPARE, index, carried)).sent)
        assert found == Response(PushType.COMPARE, "n2", "n1", TERM, Index(index), code, Index(0), Index(1))

    @pytest.mark.parametrize("what", STALE)
    def test_published_its_term_and_leader_are_not_looked_at(self, what: str) -> None:
        m = stale(request(PushType.COMPARE, 0, A1), what)
        found = response(follower(A1).handle_do_compare(m).sent)
        assert (found.code, found.term, found.dst) == (Code.SUCCESS, m.term, m.src)

    @pytest.mark.parametrize("what", STALE)
    def test_a_repaired_node_checks_term_and_leader_of_a_compare(self, what: str) -> None:
        node = follower(A1, config=PUBLISHED.without(Flaw.PUSH_TERM_CHECK))
        found = response(node.handle_do_compare(stale(request(PushType.COMPARE, 0, A1), what)).sent)
        assert found.code is Code.INCONSISTENT_TERM

    def test_a_caller_that_waits_no_more_gets_no_answer(self) -> None:
        assert follower(A1).handle_do_compare(request(PushType.COMPARE, 0, A1, awaited=False)).sent == ()


class TestTruncate:
    """EntryHandler.handleDoTruncate."""

    def test_an_empty_follower_writes_the_carried_entry_and_it_counts_for_commit(self) -> None:
        node = follower()
        found = response(node.handle_do_truncate(request(PushType.TRUNCATE, 0, A1, commit=0)).sent)
        assert (found.code, found.begin_index, found.end_index) == (Code.SUCCESS, 0, 0)
        assert (node.ledger_store.log, node.ledger_store.committed_index) == ((A1,), 0)

    def test_as_published_a_truncate_may_cut_committed_entries(self) -> None:
        node = follower(A1, B1, C2, committed=2)
        node.handle_do_truncate(request(PushType.TRUNCATE, 0, A1))
        assert (node.ledger_store.log, node.ledger_store.committed_index) == ((A1,), 2)

    def test_a_repaired_node_refuses_a_truncate_below_the_committed_index(self) -> None:
        node = follower(A1, B1, C2, committed=2, config=PUBLISHED.without(Flaw.COMMIT_PAST_END))
        found = response(node.handle_do_truncate(request(PushType.TRUNCATE, 0, A1)).sent)
        assert found.code is Code.INCONSISTENT_STATE
        assert node.ledger_store.log == (A1, B1, C2)

    def test_published_a_late_one_cuts_what_its_leader_appended_since(self) -> None:
        node = follower(A1, D3)
        node.handle_do_truncate(request(PushType.TRUNCATE, 0, A1))
        assert node.ledger_store.log == (A1,)

    def test_at_a_repaired_node_a_late_truncate_succeeds_and_cuts_nothing(self) -> None:
        node = follower(A1, D3, config=PUBLISHED.without(Flaw.LATE_TRUNCATE))
        found = response(node.handle_do_truncate(request(PushType.TRUNCATE, 0, A1)).sent)
        assert (found.code, node.ledger_store.log) == (Code.SUCCESS, (A1, D3))

    def test_at_a_repaired_node_a_truncate_cuts_what_another_leader_appended(self) -> None:
        node = follower(A1, B1, config=PUBLISHED.without(Flaw.LATE_TRUNCATE))
        node.handle_do_truncate(request(PushType.TRUNCATE, 0, A1))
        assert node.ledger_store.log == (A1,)

    @pytest.mark.parametrize("what", STALE)
    def test_another_term_or_leader_is_refused(self, what: str) -> None:
        node = follower(A1, B1)
        found = response(node.handle_do_truncate(stale(request(PushType.TRUNCATE, 0, A1), what)).sent)
        assert found.code is Code.INCONSISTENT_STATE
        assert node.ledger_store.log == (A1, B1)

    def test_at_a_repaired_node_a_truncate_behind_the_next_index_is_refused(self) -> None:
        """It is late: its entry was there when it was compared, and another TRUNCATE has cut the log since."""
        node = follower(A1, config=PUBLISHED.without(Flaw.LATE_TRUNCATE))
        found = response(node.handle_do_truncate(request(PushType.TRUNCATE, 2, C2)).sent)
        assert (found.code, node.ledger_store.log) == (Code.INCONSISTENT_STATE, (A1,))
        node.handle_do_truncate(request(PushType.TRUNCATE, 1, B1))
        assert node.ledger_store.log == (A1, B1)

    def test_truncate_at_an_index_after_the_end_is_not_refused_and_leaves_a_hole(self) -> None:
        node = follower(A1)
        found = response(node.handle_do_truncate(request(PushType.TRUNCATE, 2, C2)).sent)
        assert (found.code, found.end_index) == (Code.SUCCESS, 2)
        assert node.observe()["log"] == [record(A1), {"term": -1, "value": None}, record(C2)]

    def test_a_hole_equals_no_entry(self) -> None:
        node = follower(A1)
        node.handle_do_truncate(request(PushType.TRUNCATE, 2, C2))
        assert response(node.handle_do_compare(request(PushType.COMPARE, 1, B1)).sent).code is Code.INCONSISTENT_STATE


class TestAppend:
    """EntryHandler.handleDoAppend, DLedgerMmapFileStore.appendAsFollower."""

    def test_the_next_entry_is_stored_and_the_commit_index_taken_over(self) -> None:
        node = follower(A1)
        found = response(node.handle_do_append(request(PushType.APPEND, 1, D3, commit=0)).sent)
        assert (found.code, found.index, found.end_index) == (Code.SUCCESS, 1, 1)
        assert (node.ledger_store.log, node.ledger_store.committed_index) == ((A1, D3), 0)

    def test_the_entry_before_is_not_checked(self) -> None:
        node = follower(entry(1, "another than the leader's"))
        assert response(node.handle_do_append(request(PushType.APPEND, 1, D3)).sent).code is Code.SUCCESS

    @pytest.mark.parametrize("what", STALE)
    def test_another_term_or_leader_is_refused(self, what: str) -> None:
        node = follower(A1)
        found = response(node.handle_do_append(stale(request(PushType.APPEND, 1, D3), what)).sent)
        assert found.code is Code.INCONSISTENT_STATE
        assert node.ledger_store.log == (A1,)

    @pytest.mark.parametrize("index", [0, 2])
    def test_only_the_next_entry_is_handled(self, index: int) -> None:
        with pytest.raises(NotEnabled):
            follower(A1).handle_do_append(request(PushType.APPEND, index, A1))


class TestCheckAppendFuture:
    """EntryHandler.checkAppendFuture."""

    @pytest.mark.parametrize(("carried", "code"), [(B1, Code.SUCCESS), (C2, Code.INCONSISTENT_STATE)])
    def test_an_append_that_is_stored_already_is_compared(self, carried: Entry, code: Code) -> None:
        effects = follower(A1, B1).check_append_future(request(PushType.APPEND, 1, carried))
        assert response(effects.sent).code is code
        assert effects.requeued is None

    @pytest.mark.parametrize("what", STALE)
    def test_as_published_a_stored_append_of_another_leader_succeeds_and_repaired_it_is_refused(
        self, what: str
    ) -> None:
        """AppendTermCheck: checkAppendFuture looks at no term, and buildResponse answers in that of the request."""
        m = stale(request(PushType.APPEND, 1, B1), what)
        for config, code in [
            (PUBLISHED, Code.SUCCESS),
            (PUBLISHED.without(Flaw.APPEND_TERM_CHECK), Code.INCONSISTENT_STATE),
        ]:
            found = response(follower(A1, B1, config=config).check_append_future(m).sent)
            assert (found.code, found.term) == (code, m.term)

    def test_an_append_after_a_gap_is_answered_and_stays_in_the_queue(self) -> None:
        m = request(PushType.APPEND, 2, D3)
        effects = follower(A1).check_append_future(m)
        assert response(effects.sent).code is Code.INCONSISTENT_STATE
        assert effects.requeued == replace(m, awaited=False)

    def test_an_append_after_a_gap_is_answered_once(self) -> None:
        with pytest.raises(NotEnabled):
            follower(A1).check_append_future(request(PushType.APPEND, 2, D3, awaited=False))

    def test_the_next_entry_is_not_its_business(self) -> None:
        with pytest.raises(NotEnabled):
            follower(A1).check_append_future(request(PushType.APPEND, 1, D3))


class TestCommit:
    """EntryHandler.handleDoCommit."""

    def test_the_committed_index_is_taken_over_and_not_answered(self) -> None:
        node = follower(A1, B1)
        assert node.handle_do_commit(CommitRequest("n1", "n2", TERM, Index(1))).sent == ()
        assert node.ledger_store.committed_index == 1

    def test_as_published_a_commit_of_another_leader_is_obeyed_and_repaired_it_is_not(self) -> None:
        for config, committed in [(PUBLISHED, 1), (PUBLISHED.without(Flaw.PUSH_TERM_CHECK), -1)]:
            node = follower(A1, B1, config=config)
            node.handle_do_commit(CommitRequest("n3", "n2", TERM, Index(1)))
            assert node.ledger_store.committed_index == committed


def test_a_repaired_node_obeys_its_own_leader() -> None:
    node = follower(A1, config=PUBLISHED.without(Flaw.PUSH_TERM_CHECK))
    assert response(node.handle_do_compare(request(PushType.COMPARE, 0, A1)).sent).code is Code.SUCCESS
    node.handle_do_commit(CommitRequest("n1", "n2", TERM, Index(0)))
    assert node.ledger_store.committed_index == 0


@pytest.mark.parametrize("type_", [PushType.COMPARE, PushType.TRUNCATE, PushType.APPEND])
def test_a_request_is_handled_by_its_own_action_at_its_own_node(type_: PushType) -> None:
    node, m = follower(A1), request(type_, 1, D3)

    def handlers(asked: Request) -> set[PushType]:
        found = {
            PushType.COMPARE: node.can_handle_do_compare(asked),
            PushType.TRUNCATE: node.can_handle_do_truncate(asked),
            PushType.APPEND: node.can_handle_do_append(asked),
        }
        return {name for name, may in found.items() if may}

    assert handlers(m) == {type_}
    assert handlers(replace(m, dst="n3")) == set()
    assert not node.can_check_append_future(m)


@pytest.mark.parametrize("role", [Role.LEADER, Role.CANDIDATE, Role.DOWN])
def test_the_handler_works_only_while_its_node_follows(role: Role) -> None:
    """EntryHandler.doWork."""
    node = follower(A1)
    node.member_state.role = role
    assert not node.can_handle_do_compare(request(PushType.COMPARE, 0, A1))
    assert not node.can_handle_do_truncate(request(PushType.TRUNCATE, 0, A1))
    assert not node.can_handle_do_append(request(PushType.APPEND, 1, D3))
    assert not node.can_check_append_future(request(PushType.APPEND, 0, A1))
    assert not node.can_handle_do_commit(CommitRequest("n1", "n2", TERM, Index(0)))


def refusing(role: Role) -> Server:
    """A node of a version that refuses what it cannot take as no follower."""
    made = Server("n2", ("n1", "n2", "n3"), Config(frozenset({Feature.NOT_FOLLOWER})))
    made.member_state.role, made.member_state.curr_term = role, TERM
    return made


@pytest.mark.parametrize("role", [Role.CANDIDATE, Role.LEADER])
@pytest.mark.parametrize("type_", [PushType.COMPARE, PushType.TRUNCATE])
def test_a_node_that_does_not_follow_refuses_to_compare_or_truncate(type_: PushType, role: Role) -> None:
    """EntryHandler.clearCompareOrTruncateRequestsIfNeed, since 0.3.0."""
    made = refusing(role)
    answer = response(made.clear_compare_or_truncate_requests(request(type_, 0, A1)).sent)
    assert (answer.type, answer.code, answer.index) == (type_, Code.NOT_FOLLOWER, 0)


def test_a_node_that_does_not_follow_drops_a_commit_that_nobody_awaits_an_answer_to() -> None:
    made = refusing(Role.CANDIDATE)
    m = CommitRequest("n1", "n2", TERM, Index(0))
    assert made.clear_compare_or_truncate_requests(m).sent == ()


@pytest.mark.parametrize("role", [Role.FOLLOWER, Role.DOWN])
def test_a_follower_refuses_nothing_so_nor_does_a_node_that_is_down(role: Role) -> None:
    made = refusing(role)
    with pytest.raises(NotEnabled):
        made.clear_compare_or_truncate_requests(request(PushType.COMPARE, 0, A1))


def test_an_append_waits_for_its_receiver_to_follow_in_every_version() -> None:
    with pytest.raises(NotEnabled):
        refusing(Role.CANDIDATE).clear_compare_or_truncate_requests(request(PushType.APPEND, 0, A1))


def test_until_0_2_7_a_compare_waits_for_its_receiver_to_follow() -> None:
    made = Server("n2", ("n1", "n2", "n3"), PUBLISHED)
    with pytest.raises(NotEnabled):
        made.clear_compare_or_truncate_requests(request(PushType.COMPARE, 0, A1))


class TestSkipCommit:
    """DLedgerMmapFileStore.updateCommittedIndex looks at the term, after the request was stored and answered."""

    LATE = replace(PUBLISHED, features=frozenset({Feature.LATE_ROLE}))

    @pytest.mark.parametrize(("type_", "index"), [(PushType.APPEND, 2), (PushType.TRUNCATE, 1)])
    def test_what_a_request_carries_is_stored_and_its_committed_index_is_not_learnt(
        self, type_: PushType, index: int
    ) -> None:
        node = follower(A1, B1, committed=0, config=self.LATE)
        found = response(node.skip_commit(request(type_, index, D3, commit=index)).sent)
        assert (found.code, found.end_index) == (Code.SUCCESS, index)
        assert (node.ledger_store.log, node.ledger_store.committed_index) == ((*(A1, B1)[:index], D3), 0)

    def test_nothing_is_learnt_from_a_commit(self) -> None:
        node = follower(A1, B1, committed=0, config=self.LATE)
        assert node.skip_commit(CommitRequest("n1", "n2", TERM, Index(1))).sent == ()
        assert node.ledger_store.committed_index == 0

    def test_it_is_for_what_its_turn_has_come_at_a_follower_with_the_feature(self) -> None:
        node = follower(A1, config=self.LATE)
        m = request(PushType.APPEND, 1, B1)
        assert node.can_skip_commit(m)
        assert not node.can_skip_commit(request(PushType.APPEND, 2, B1))
        assert not node.can_skip_commit(request(PushType.COMPARE, 0, A1))
        assert not follower(A1).can_skip_commit(m)
        node.member_state.role = Role.CANDIDATE
        assert not node.can_skip_commit(m)


class TestFailStore:
    """EntryHandler.doWork looks at the role, DLedgerMmapFileStore.appendAsFollower once more."""

    @pytest.mark.parametrize("role", [Role.CANDIDATE, Role.LEADER])
    def test_a_node_that_follows_no_more_refuses_an_entry_and_does_not_store_it(self, role: Role) -> None:
        node = follower(A1, config=replace(PUBLISHED, features=frozenset({Feature.LATE_ROLE})))
        m = request(PushType.APPEND, 1, B1)
        assert not node.can_fail_store(m)
        node.member_state.role = role
        assert response(node.fail_store(m).sent).code is Code.INCONSISTENT_STATE
        assert node.ledger_store.log == (A1,)

    def test_it_does_so_with_the_next_entry_alone_and_with_the_feature_alone(self) -> None:
        node = follower(A1, config=replace(PUBLISHED, features=frozenset({Feature.LATE_ROLE})))
        node.member_state.role = Role.CANDIDATE
        assert not node.can_fail_store(request(PushType.APPEND, 2, B1))
        assert not node.can_fail_store(request(PushType.COMPARE, 1, B1))
        other = follower(A1)
        other.member_state.role = Role.CANDIDATE
        assert not other.can_fail_store(request(PushType.APPEND, 1, B1))
