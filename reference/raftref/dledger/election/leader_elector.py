"""Elections, one step for each raised term, vote, leader and follower; or message by message."""

from __future__ import annotations

from collections.abc import Collection

from raftref.action import NotEnabled, action
from raftref.dledger.effects import NO_EFFECTS, Effects
from raftref.dledger.election.leadership_transfer import LeadershipTransfer
from raftref.dledger.election.state_maintainer import StateMaintainer
from raftref.dledger.member_state import Role
from raftref.dledger.messages import HeartBeat, NodeId, Term, VoteMessage
from raftref.dledger.replication.quorum import is_quorum


class LeaderElector(StateMaintainer, LeadershipTransfer):
    """How a node stands for election, votes, leads and follows.

    Message by message (`vote_messages`) it does so by the actions of StateMaintainer, ElectionHandler and
    LeadershipTransfer. Otherwise by those here: the vote and heartbeat messages are then no part of the grain,
    and what they tell comes as keyword arguments.

    Source: DLedgerLeaderElector, MemberState.
    """

    def can_change_to_candidate(self) -> bool:
        """Any running node may lose its leader or its leadership by time."""
        return self.is_up and not self.vote_messages

    @action(when=can_change_to_candidate)
    def change_to_candidate(self) -> Effects:
        """Lose the leader or the leadership, or hear of a higher term as a candidate.

        The term stays; it is raised later, by next_term. Votes count within one candidacy, and a candidate
        that hears of a higher term goes on with its round.

        Raises:
            NotEnabled: The node is down.

        Source: MemberState.changeToCandidate.
        """
        if self.member_state.role is not Role.CANDIDATE:
            self.member_state.votes = set()
        self.member_state.role = Role.CANDIDATE
        self.member_state.leader_id = None
        return NO_EFFECTS

    def can_next_term(self, term: Term, *, heard: Collection[Term] = ()) -> bool:
        """A candidate may go to the next term, or to a higher one that it may have heard of."""
        state = self.member_state
        stands = state.role is Role.CANDIDATE and not self.vote_messages
        return stands and state.curr_term < term <= max([state.curr_term + 1, *heard])

    @action(when=can_next_term)
    def next_term(self, term: Term, *, heard: Collection[Term] = ()) -> Effects:
        """Raise the term. Vote, votes and watermarks were of the term before.

        Args:
            term: The term to enter.
            heard: Terms that members of the group are in; any term up to them may have been heard of before.

        Raises:
            NotEnabled: The node is no candidate, or the term is not higher, or neither next nor heard of.

        Source: MemberState.nextTerm.
        """
        self.member_state.enter_term(term)
        self.clear_water_marks()
        return NO_EFFECTS

    def vote_request(self, voter: NodeId) -> VoteMessage:
        """Ask a member, which may be this node, for its vote, telling where the log ends.

        Raises:
            NotEnabled: The node is no candidate.

        Source: DLedgerLeaderElector.voteForQuorumResponses.
        """
        if self.member_state.role is not Role.CANDIDATE:
            raise NotEnabled(f"{self.node_id} is no candidate")
        store = self.ledger_store
        return VoteMessage(self.node_id, voter, self.member_state.curr_term, store.end_term, store.end_index)

    def can_set_curr_vote_for(self, candidate: NodeId, *, request: VoteMessage) -> bool:
        """The request is that candidate's, and the rules for vote requests accept it."""
        return request.src == candidate and self.would_accept(request) and not self.vote_messages

    @action(when=can_set_curr_vote_for)
    def set_curr_vote_for(self, candidate: NodeId, *, request: VoteMessage) -> Effects:
        """Accept the candidate in this term; the candidate learns of it by vote_accepted.

        Args:
            candidate: Who asks; it may be this node.
            request: What it tells of its term and of the end of its log.

        Raises:
            NotEnabled: The node rejects it or is down.

        Source: DLedgerLeaderElector.handleVote, the branch that ends in ACCEPT.
        """
        self.member_state.curr_vote_for = candidate
        return NO_EFFECTS

    def vote_accepted(self, voter: NodeId) -> None:
        """Count a vote for this candidate in its term.

        Source: DLedgerLeaderElector.maintainAsCandidate, where it counts ACCEPT.
        """
        self.member_state.votes.add(voter)

    def can_change_to_leader(self) -> bool:
        """A candidate may lead once a quorum has accepted it."""
        state = self.member_state
        accepted = is_quorum(len(state.votes), len(self.members))
        return accepted and state.role is Role.CANDIDATE and not self.vote_messages

    @action(when=can_change_to_leader)
    def change_to_leader(self) -> Effects:
        """Become the leader of the term. Dispatchers and watermarks of the same term go on.

        Returns:
            The heartbeat that members may hear from now on.

        Raises:
            NotEnabled: The node is no candidate, or no quorum has accepted it.

        Source: MemberState.changeToLeader.
        """
        self.member_state.role = Role.LEADER
        self.member_state.leader_id = self.node_id
        return Effects(heart_beat=HeartBeat(self.node_id, self.member_state.curr_term))

    def can_change_to_follower(self, leader: NodeId, *, heart_beat: HeartBeat) -> bool:
        """A candidate may follow who leads, or led, its own term."""
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
            leader: Whom to follow.
            heart_beat: What it told when it led.

        Raises:
            NotEnabled: The node is no candidate, or the heartbeat is of another term or leader.

        Source: DLedgerLeaderElector.handleHeartBeat; MemberState.changeToFollower.
        """
        self.member_state.role = Role.FOLLOWER
        self.member_state.leader_id = leader
        return NO_EFFECTS
