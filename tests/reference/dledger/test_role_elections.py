"""Elections: DLedgerLeaderElector.handleVote and handleHeartBeat, MemberState's changes of role and term."""

from __future__ import annotations

import pytest

from raftref.action import NotEnabled
from raftref.dledger.choices import Config, Flaw
from raftref.dledger.messages import Entry, HeartBeat, Index, Term, VoteMessage
from raftref.dledger.server import Server
from raftref.dledger.state import Role

MEMBERS = ("n1", "n2", "n3")


def server(node: str = "n1", term: int = 0) -> Server:
    made = Server(node, MEMBERS)
    made.member_state.curr_term = Term(term)
    return made


def request(candidate: str = "n2", term: int = 1, end: int = -1, end_term: int = -1) -> VoteMessage:
    return VoteMessage(candidate, "n1", Term(term), Term(end_term), Index(end))


def votes_for(voter: Server, asked: VoteMessage) -> bool:
    return voter.can_set_curr_vote_for(asked.src, request=asked)


def test_a_node_begins_as_a_candidate_of_term_zero_without_vote_or_leader() -> None:
    state = server().member_state
    assert (state.role, state.curr_term, state.curr_vote_for, state.leader_id) == (
        Role.CANDIDATE,
        0,
        None,
        None,
    )


@pytest.mark.parametrize(
    ("end", "end_term", "fresh"),
    [(0, 3, True), (9, 1, False), (4, 2, True), (5, 2, True), (3, 2, False)],
)
def test_a_log_is_fresh_by_its_last_term_and_then_by_its_end(end: int, end_term: int, fresh: bool) -> None:
    """handleVote: REJECT_EXPIRED_LEDGER_TERM, then REJECT_SMALL_LEDGER_END_INDEX.

    The voter's log ends at 4, in term 2.
    """
    voter = server(term=3)
    voter.ledger_store.log, voter.ledger_store.end_term = tuple(Entry(Term(2), each) for each in "abcde"), Term(2)
    assert votes_for(voter, request(term=3, end=end, end_term=end_term)) is fresh


class TestVoting:
    """DLedgerLeaderElector.handleVote, the branch that ends in ACCEPT."""

    def test_the_vote_goes_to_a_candidate_of_the_same_term(self) -> None:
        voter = server(term=1)
        voter.set_curr_vote_for("n2", request=request())
        assert voter.member_state.curr_vote_for == "n2"

    def test_the_request_must_be_that_of_the_candidate(self) -> None:
        assert not server(term=1).can_set_curr_vote_for("n3", request=request("n2"))

    def test_another_term_gets_no_vote(self) -> None:
        assert not votes_for(server(term=1), request(term=2))
        assert not votes_for(server(term=1), request(term=0))

    def test_the_same_candidate_gets_the_vote_again_and_another_one_does_not(self) -> None:
        voter = server(term=1)
        voter.set_curr_vote_for("n2", request=request())
        assert votes_for(voter, request("n2"))
        assert not votes_for(voter, request("n3"))

    def test_a_node_with_a_leader_but_no_other_vote_still_votes(self) -> None:
        """handleVote looks at the leader only to name the reason for rejecting another candidate."""
        voter = server(term=1)
        voter.member_state.leader_id = "n3"
        assert votes_for(voter, request())

    def test_the_role_of_the_voter_is_not_looked_at_unless_it_is_down(self) -> None:
        voter = server(term=1)
        for role, votes in [(Role.FOLLOWER, True), (Role.LEADER, True), (Role.DOWN, False)]:
            voter.member_state.role = role
            assert votes_for(voter, request()) is votes

    def test_a_poorer_log_gets_no_vote(self) -> None:
        voter = server(term=1)
        voter.ledger_store.append(Entry(Term(1), "a"))
        assert not votes_for(voter, request())
        assert votes_for(voter, request(end=0, end_term=1))

    @pytest.mark.parametrize(("flaws", "votes"), [({Flaw.LEDGER_END_TERM}, False), (set(), True)])
    def test_in_0_1_a_log_counts_by_the_term_it_was_stored_in(self, flaws: set[Flaw], votes: bool) -> None:
        """LedgerEndTerm: the voter stored an entry of term 1 in term 3."""
        voter = Server("n1", MEMBERS, Config(flaws=frozenset(flaws)))
        voter.member_state.curr_term = Term(3)
        voter.ledger_store.append(Entry(Term(1), "a"), curr_term=Term(3))
        assert votes_for(voter, request(term=3, end=1, end_term=1)) is votes

    def test_a_rejected_request_changes_nothing(self) -> None:
        voter = server(term=1)
        with pytest.raises(NotEnabled):
            voter.set_curr_vote_for("n2", request=request(term=2))
        assert voter.observe() == server(term=1).observe()

    def test_only_a_candidate_asks_for_votes(self) -> None:
        candidate = server()
        assert candidate.vote_request("n2") == VoteMessage("n1", "n2", Term(0), Term(-1), Index(-1))
        candidate.member_state.role = Role.FOLLOWER
        with pytest.raises(NotEnabled):
            candidate.vote_request("n2")

    def test_the_request_of_a_candidate_may_come_once_it_leads_but_not_to_itself(self) -> None:
        leader = server()
        leader.member_state.role = Role.LEADER
        assert leader.vote_request("n2") == VoteMessage("n1", "n2", Term(0), Term(-1), Index(-1))
        with pytest.raises(NotEnabled):
            leader.vote_request("n1")

    def test_a_leader_counts_no_vote(self) -> None:
        leader = server()
        leader.member_state.role = Role.LEADER
        leader.vote_accepted("n2")
        assert leader.member_state.votes == set()


class TestTerms:
    """MemberState.nextTerm."""

    def test_the_next_term_need_not_have_been_heard_of(self) -> None:
        node = server(term=3)
        node.next_term(Term(4))
        assert node.member_state.curr_term == 4

    def test_a_higher_one_must_have_been_heard_of(self) -> None:
        node = server(term=3)
        assert not node.can_next_term(Term(7))
        assert node.can_next_term(Term(7), heard=[Term(7)])

    def test_a_term_never_falls(self) -> None:
        assert not server(term=3).can_next_term(Term(3), heard=[Term(3)])
        assert not server(term=3).can_next_term(Term(2), heard=[Term(2)])

    def test_vote_votes_and_watermarks_are_of_the_term_before(self) -> None:
        node = server(term=1)
        node.set_curr_vote_for("n1", request=node.vote_request("n1"))
        node.vote_accepted("n1")
        node.update_peer_water_mark("n1", Term(1), Index(3))
        node.next_term(Term(2))
        assert node.member_state.curr_vote_for is None
        assert node.member_state.votes == set()
        assert set(node.peer_water_marks.values()) == {-1}

    @pytest.mark.parametrize("role", [Role.LEADER, Role.FOLLOWER, Role.DOWN])
    def test_only_a_candidate_raises_its_term(self, role: Role) -> None:
        node = server()
        node.member_state.role = role
        with pytest.raises(NotEnabled):
            node.next_term(Term(1))


class TestRoles:
    """MemberState.changeToLeader, changeToFollower, changeToCandidate."""

    def test_a_candidate_leads_once_a_quorum_accepted_it(self) -> None:
        node = server(term=1)
        node.vote_accepted("n1")
        assert not node.can_change_to_leader()
        node.vote_accepted("n1")
        assert not node.can_change_to_leader()
        node.vote_accepted("n3")
        effects = node.change_to_leader()
        assert effects.heart_beat == HeartBeat("n1", Term(1))
        assert (node.member_state.role, node.member_state.leader_id) == (Role.LEADER, "n1")

    def test_a_candidate_can_win_the_same_term_again_with_new_votes_only(self) -> None:
        node = server(term=1)
        for _ in range(2):
            assert not node.can_change_to_leader()
            node.vote_accepted("n1")
            node.vote_accepted("n3")
            node.change_to_leader()
            node.change_to_candidate()

    def test_a_candidate_that_hears_of_a_higher_term_keeps_its_votes(self) -> None:
        node = server(term=1)
        node.vote_accepted("n1")
        node.vote_accepted("n3")
        node.change_to_candidate()
        assert node.can_change_to_leader()

    @pytest.mark.parametrize("role", [Role.LEADER, Role.FOLLOWER, Role.DOWN])
    def test_only_a_candidate_becomes_leader_or_follower(self, role: Role) -> None:
        node = server(term=1)
        node.member_state.votes = {"n1", "n3"}
        assert node.can_change_to_leader()
        assert node.can_change_to_follower("n2", heart_beat=HeartBeat("n2", Term(1)))
        node.member_state.role = role
        assert not node.can_change_to_leader()
        assert not node.can_change_to_follower("n2", heart_beat=HeartBeat("n2", Term(1)))

    def test_a_candidate_follows_a_heartbeat_of_its_term(self) -> None:
        node = server(term=1)
        node.change_to_follower("n2", heart_beat=HeartBeat("n2", Term(1)))
        assert (node.member_state.role, node.member_state.leader_id) == (Role.FOLLOWER, "n2")

    @pytest.mark.parametrize("term", [0, 2])
    def test_a_heartbeat_of_another_term_is_not_followed(self, term: int) -> None:
        assert not server(term=1).can_change_to_follower("n2", heart_beat=HeartBeat("n2", Term(term)))

    def test_nobody_follows_itself_or_by_the_heartbeat_of_another(self) -> None:
        assert not server().can_change_to_follower("n1", heart_beat=HeartBeat("n1", Term(0)))
        assert not server().can_change_to_follower("n2", heart_beat=HeartBeat("n3", Term(0)))

    def test_a_candidate_has_lost_its_leader_but_not_its_term(self) -> None:
        node = server(term=5)
        node.change_to_follower("n2", heart_beat=HeartBeat("n2", Term(5)))
        node.change_to_candidate()
        state = node.member_state
        assert (state.role, state.leader_id, state.curr_term) == (Role.CANDIDATE, None, 5)
