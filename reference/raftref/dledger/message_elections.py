"""Elections message by message: changes of role, rounds of vote requests, and the answers of voters.

The StateMaintainer of a node sends a round of requests, waits for answers, and draws its conclusion. How long it
waits is a matter of time: it may draw it at any moment. It alone raises the term, so that a round ends in the term
in which it began.
"""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.election_rules import (
    CARRIES_TERM,
    PARSE_RESULTS,
    ParseResult,
    VoteCode,
    VoteOutcome,
    answered_term,
    take_leadership_code,
    vote_code,
    vote_outcome,
)
from raftref.dledger.messages import (
    NO_TERM,
    ElectionMessage,
    ElectionResponse,
    ElectionType,
    HeartBeat,
    HeartBeatMessage,
    NodeId,
    Term,
    VoteMessage,
)
from raftref.dledger.role_elections import RoleElections
from raftref.dledger.state import Role, Round, empty_round
from raftref.dledger.steps import NO_EFFECTS, Abandoned, Effects


class MessageElections(RoleElections):
    """A candidate's rounds of votes, and a member's answers to candidates.

    Source: DLedgerLeaderElector, its StateMaintainer; TakeLeadershipTask; MemberState.
    """

    # ---- Changes of role. One may answer a leader that waits for this node to take over: it returns that message ----

    def become_candidate(self, term: Term, *, at_once: bool = False) -> tuple[ElectionMessage, ...]:
        """Lose leader or leadership. The term is known from now on, and entered later.

        Args:
            term: The term heard of, or the current one.
            at_once: Whether the StateMaintainer is to raise the term before it does anything else.

        Source: DLedgerLeaderElector.changeRoleToCandidate; needIncreaseTermImmediately.
        """
        election = self.election
        if term > self.member_state.curr_term:
            election.known_max_term = max(election.known_max_term, term)
        election.transferee = None
        election.need_increase = election.need_increase or at_once
        return self._change_role(Role.CANDIDATE, None, term)

    def become_follower(self, leader: NodeId) -> tuple[ElectionMessage, ...]:
        """Follow the leader of the term. Source: DLedgerLeaderElector.changeRoleToFollower."""
        self.election.vote_next = False
        self.election.transferee = None
        return self._change_role(Role.FOLLOWER, leader, self.member_state.curr_term)

    def become_leader(self) -> tuple[ElectionMessage, ...]:
        """Lead the term. Source: DLedgerLeaderElector.changeRoleToLeader."""
        return self._change_role(Role.LEADER, self.node_id, self.member_state.curr_term)

    def _change_role(self, role: Role, leader: NodeId | None, term: Term) -> tuple[ElectionMessage, ...]:
        self.member_state.role, self.member_state.leader_id = role, leader
        election = self.election
        code = take_leadership_code(election.term_to_take_leadership, term, role)
        if code is None or election.takes_from is None:
            return ()
        term_of_transfer = Term(election.term_to_take_leadership - 1)
        answer = ElectionResponse(ElectionType.TRANSFER, self.node_id, election.takes_from, term_of_transfer, code)
        election.term_to_take_leadership, election.takes_from = NO_TERM, None
        return (answer,)

    def raise_term(self) -> None:
        """Enter the highest term heard of, or else the next.

        Source: MemberState.nextTerm, as maintainAsCandidate calls it.
        """
        election = self.election
        self.member_state.enter_term(max(Term(self.member_state.curr_term + 1), election.known_max_term))
        self.clear_water_marks()
        election.need_increase = election.vote_next = False
        election.known_max_term = NO_TERM

    # ---- Rounds ----

    @property
    def is_idle(self) -> bool:
        """Whether the StateMaintainer waits for no answers."""
        return self.election.round.type is None

    def speaks_as(self, *roles: Role) -> bool:
        """Return whether votes are messages here and the node has one of these roles."""
        return self.vote_messages and self.member_state.role in roles

    def hears(self, m: ElectionMessage, type_: ElectionType) -> bool:
        """Return whether the process is running, and a message of this type is for it."""
        return self.vote_messages and self.is_up and self.is_addressed(m) and m.type is type_

    def counts(self, m: ElectionResponse, type_: ElectionType) -> bool:
        """Return whether a message answers the round under way, which is of this type."""
        return self.hears(m, type_) and self.election.round.type is type_

    def count_answer(self, m: ElectionResponse, max_term: Term) -> Effects:
        """Count an answer to the round; other copies of the request and of its answer count no more."""
        self.election.round.answers[m.src] = m.code
        self.election.round.max_term = max_term
        return Effects(abandoned=Abandoned(m.src, m.type))

    def end_round(self) -> Round:
        """Wait for no more answers, and return the round that has ended."""
        ended, self.election.round = self.election.round, empty_round(self.members)
        return ended

    # ---- Votes ----

    def can_increase_term(self) -> bool:
        """A candidate has heard of a higher term, and is between two rounds."""
        return self.speaks_as(Role.CANDIDATE) and self.is_idle and self.election.need_increase

    @action(when=can_increase_term)
    def increase_term(self) -> Effects:
        """Go to the term that was heard of, and ask for no votes yet.

        Source: DLedgerLeaderElector.maintainAsCandidate, with needIncreaseTermImmediately.
        """
        self.raise_term()
        return NO_EFFECTS

    def can_vote_for_quorum_responses(self) -> bool:
        """A candidate is between two rounds, and need not go to a higher term first."""
        return self.speaks_as(Role.CANDIDATE) and self.is_idle and not self.election.need_increase

    @action(when=can_vote_for_quorum_responses)
    def vote_for_quorum_responses(self) -> Effects:
        """Ask all peers for their votes, in a higher term only if that follows from the last round.

        The node's own vote is a step of its own.

        Source: DLedgerLeaderElector.maintainAsCandidate, voteForQuorumResponses.
        """
        if self.election.vote_next:
            self.raise_term()
        store = self.ledger_store
        self.election.round = Round(
            answers=dict.fromkeys(self.members),
            type=ElectionType.VOTE,
            ledger_end_term=store.end_term,
            ledger_end_index=store.end_index,
            max_term=self.member_state.curr_term,
        )
        return Effects(sent=tuple(self._vote_request_of_round(peer) for peer in self.peers))

    def _vote_request_of_round(self, voter: NodeId) -> VoteMessage:
        votes = self.election.round
        term = self.member_state.curr_term
        return VoteMessage(self.node_id, voter, term, votes.ledger_end_term, votes.ledger_end_index)

    def can_handle_vote(self, m: VoteMessage) -> bool:
        """The process is running, and votes are messages."""
        return self.hears(m, ElectionType.VOTE)

    @action(when=can_handle_vote)
    def handle_vote(self, m: VoteMessage) -> Effects:
        """Decide on a candidate's request, and answer why.

        A vote is kept for the term. A higher term makes the node a candidate, which will raise its own.

        Source: DLedgerLeaderElector.handleVote.
        """
        voter = self.member()
        code, changes = self._decide(m, to_self=False)
        return self.with_answer(m, changes, answered_term(voter, code), code)

    def _decide(self, m: VoteMessage, *, to_self: bool) -> tuple[VoteCode, tuple[ElectionMessage, ...]]:
        """Decide on a vote and do what follows from it; return the code, and the message of a change of role."""
        code = vote_code(self.member(), m, to_self=to_self)
        if code is VoteCode.ACCEPT:
            self.member_state.curr_vote_for = m.src
        if code is VoteCode.REJECT_TERM_NOT_READY:
            return code, self.become_candidate(m.term, at_once=True)
        return code, ()

    def with_answer(
        self, m: VoteMessage | HeartBeatMessage, changes: tuple[ElectionMessage, ...], term: Term, code: str
    ) -> Effects:
        """Send the message of a change of role, and the answer if it is awaited."""
        answer = (ElectionResponse(m.type, self.node_id, m.src, term, code),) if m.awaited else ()
        return Effects(sent=(*changes, *answer))

    def can_handle_own_vote(self) -> bool:
        """A round of votes has begun, and the node has not asked itself yet."""
        votes = self.election.round
        return self.vote_messages and votes.type is ElectionType.VOTE and votes.answers[self.node_id] is None

    @action(when=can_handle_own_vote)
    def handle_own_vote(self) -> Effects:
        """Ask itself, by the rules for all. Another candidate may have been quicker.

        Source: DLedgerLeaderElector.voteForQuorumResponses, handleVote with self.
        """
        code, changes = self._decide(self._vote_request_of_round(self.node_id), to_self=True)
        self.election.round.answers[self.node_id] = code
        return Effects(sent=changes)

    def can_handle_vote_response(self, m: ElectionResponse) -> bool:
        """The node waits for answers to vote requests."""
        return self.counts(m, ElectionType.VOTE)

    @action(when=can_handle_vote_response)
    def handle_vote_response(self, m: ElectionResponse) -> Effects:
        """Count the decision of a member, and the term that it carries.

        Source: DLedgerLeaderElector.maintainAsCandidate, where the answers are counted.
        """
        votes = self.election.round
        return self.count_answer(m, max(votes.max_term, m.term) if m.code in CARRIES_TERM else votes.max_term)

    def can_parse_vote_responses(self) -> bool:
        """A round of votes is under way, and the node has asked itself."""
        votes = self.election.round
        return self.vote_messages and votes.type is ElectionType.VOTE and votes.answers[self.node_id] is not None

    @action(when=can_parse_vote_responses)
    def parse_vote_responses(self) -> Effects:
        """Draw the conclusion from the answers that are in; others come too late.

        A node that leads from now on sends heartbeats.

        Source: DLedgerLeaderElector.maintainAsCandidate, from PARSE_VOTE_RESULT on.
        """
        ended = self.end_round()
        term = self.member_state.curr_term
        outcome = vote_outcome(term, ended.max_term, ended.answers)
        self.election.vote_next = PARSE_RESULTS[outcome] is ParseResult.WAIT_TO_VOTE_NEXT
        effects = Effects(abandoned=Abandoned(type=ElectionType.VOTE))
        if outcome is VoteOutcome.HIGHER_TERM:
            return replace(effects, sent=self.become_candidate(ended.max_term))
        if outcome is VoteOutcome.ACCEPTED:
            return replace(effects, sent=self.become_leader(), heart_beat=HeartBeat(self.node_id, term))
        return effects
