"""Elections without their messages: one step for each raised term, vote, leader and follower."""

from __future__ import annotations

from collections.abc import Collection

from raftref.action import NotEnabled, action
from raftref.dledger.election_rules import Member, VoteCode, vote_code
from raftref.dledger.messages import HeartBeat, NodeId, Term, VoteMessage
from raftref.dledger.quorum import is_quorum
from raftref.dledger.state import Node, Role
from raftref.dledger.steps import NO_EFFECTS, Effects


class RoleElections(Node):
    """Standing for election, voting, leading and following, role by role.

    The vote and heartbeat messages are no steps here: their content comes as keyword arguments. With VoteMessages
    the actions of MessageElections, Heartbeats and LeadershipTransfer take the place of these.

    Source: DLedgerLeaderElector, MemberState.
    """

    #: The members that turn other candidates away while they take over. Source: DLedgerConfig, by default none.
    preferred_leaders: Collection[NodeId] = ()

    def member(self) -> Member:
        """Return the node as it looks to a rule of an election."""
        state, store, election = self.member_state, self.ledger_store, self.election
        return Member(
            node_id=self.node_id,
            members=self.members,
            role=state.role,
            curr_term=state.curr_term,
            curr_vote_for=state.curr_vote_for,
            leader_id=state.leader_id,
            ledger_end_term=store.end_term,
            ledger_end_index=store.end_index,
            transferee=election.transferee,
            is_taking_leadership=(
                self.node_id in self.preferred_leaders and election.term_to_take_leadership == state.curr_term
            ),
        )

    def would_accept(self, m: VoteMessage) -> bool:
        """Return whether the node runs and would give its vote on this request."""
        to_self = m.src == self.node_id
        return self.is_up and vote_code(self.member(), m, to_self=to_self) is VoteCode.ACCEPT

    def can_change_to_candidate(self) -> bool:
        """The node runs; it may lose its leader or its leadership by time."""
        return self.is_up and not self.vote_messages

    @action(when=can_change_to_candidate)
    def change_to_candidate(self) -> Effects:
        """Lose the leader or the leadership, or hear of a higher term as a candidate.

        The term stays; it is raised later, by next_term. Votes count within one candidacy, and a candidate
        that hears of a higher term goes on with its round.

        Source: MemberState.changeToCandidate.
        """
        if self.member_state.role is not Role.CANDIDATE:
            self.member_state.votes = set()
        self.member_state.role = Role.CANDIDATE
        self.member_state.leader_id = None
        return NO_EFFECTS

    def can_next_term(self, term: Term, *, heard: Collection[Term] = ()) -> bool:
        """The node is a candidate, and the term is the next one, or a higher one that it may have heard of."""
        state = self.member_state
        stands = state.role is Role.CANDIDATE and not self.vote_messages
        return stands and state.curr_term < term <= max([state.curr_term + 1, *heard])

    @action(when=can_next_term)
    def next_term(self, term: Term, *, heard: Collection[Term] = ()) -> Effects:
        """Raise the term. Vote, votes and watermarks were of the term before.

        Args:
            term: The term to enter.
            heard: Terms that members of the group are in; any term up to them may have been heard of before.

        Source: MemberState.nextTerm.
        """
        self.member_state.enter_term(term)
        self.clear_water_marks()
        return NO_EFFECTS

    def vote_request(self, voter: NodeId) -> VoteMessage:
        """Return this candidate's request to a member, which may be this node; raises NotEnabled if it is none.

        A request to another member may be late: this node leads by now. The log that it had then is not kept.

        Source: DLedgerLeaderElector.voteForQuorumResponses.
        """
        role = self.member_state.role
        if role is not Role.CANDIDATE and (role is not Role.LEADER or voter == self.node_id):
            raise NotEnabled(f"{self.node_id} is no candidate")
        store = self.ledger_store
        return VoteMessage(self.node_id, voter, self.member_state.curr_term, store.end_term, store.end_index)

    def can_set_curr_vote_for(self, candidate: NodeId, *, request: VoteMessage) -> bool:
        """The request is that candidate's, and the rules for vote requests accept it."""
        return request.src == candidate and self.would_accept(request) and not self.vote_messages

    @action(when=can_set_curr_vote_for)
    def set_curr_vote_for(self, candidate: NodeId, *, request: VoteMessage) -> Effects:
        """Accept the candidate in this term; `vote_accepted` counts the vote at the candidate.

        Args:
            candidate: The candidate; it may be this node.
            request: Its term, and the end of its log.

        Source: DLedgerLeaderElector.handleVote, the branch that ends in ACCEPT.
        """
        self.member_state.curr_vote_for = candidate
        return NO_EFFECTS

    def vote_accepted(self, voter: NodeId) -> None:
        """Count a vote for this candidate in its term. Nobody counts one for a leader, whose round is over.

        Source: DLedgerLeaderElector.maintainAsCandidate, where it counts ACCEPT.
        """
        if self.member_state.role is Role.CANDIDATE:
            self.member_state.votes.add(voter)

    def can_change_to_leader(self) -> bool:
        """The node is a candidate that a quorum has accepted."""
        state = self.member_state
        accepted = is_quorum(len(state.votes), len(self.members))
        return accepted and state.role is Role.CANDIDATE and not self.vote_messages

    @action(when=can_change_to_leader)
    def change_to_leader(self) -> Effects:
        """Become the leader of the term. Dispatchers and watermarks of the same term go on.

        Source: MemberState.changeToLeader.
        """
        self.member_state.role = Role.LEADER
        self.member_state.leader_id = self.node_id
        return Effects(heart_beat=HeartBeat(self.node_id, self.member_state.curr_term))

    def can_change_to_follower(self, leader: NodeId, *, heart_beat: HeartBeat) -> bool:
        """The node is a candidate, and the peer leads, or led, its term."""
        state = self.member_state
        return (
            not self.vote_messages
            and state.role is Role.CANDIDATE
            and heart_beat == HeartBeat(leader, state.curr_term)
            and leader in self.peers
        )

    @action(when=can_change_to_follower)
    def change_to_follower(self, leader: NodeId, *, heart_beat: HeartBeat) -> Effects:
        """Follow the leader of this term. It may be late: the leader may lead no more.

        Args:
            leader: The peer to follow.
            heart_beat: Its heartbeat of when it led.

        Source: DLedgerLeaderElector.handleHeartBeat; MemberState.changeToFollower.
        """
        self.member_state.role = Role.FOLLOWER
        self.member_state.leader_id = leader
        return NO_EFFECTS
