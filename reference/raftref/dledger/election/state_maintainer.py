"""The StateMaintainer: a node's own part in elections, a round of votes or of heartbeats at a time.

It sends a round of requests, waits for answers, and draws its conclusion. How long it waits is time: it may
draw it at any moment. It alone raises the term, so that a round ends in the term in which it began.
"""

from __future__ import annotations

from dataclasses import replace

from raftref.action import action
from raftref.dledger.effects import NO_EFFECTS, Abandoned, Effects
from raftref.dledger.election.election_handler import ElectionHandler
from raftref.dledger.election.election_rules import (
    PARSE_RESULTS,
    TELLS_TERM,
    HeartBeatCode,
    HeartBeatOutcome,
    ParseResult,
    VoteOutcome,
    heart_beat_outcome,
    vote_outcome,
)
from raftref.dledger.election.election_state import Round, no_round
from raftref.dledger.member_state import Role
from raftref.dledger.messages import (
    ElectionMessage,
    ElectionResponse,
    ElectionType,
    HeartBeat,
    HeartBeatMessage,
    NodeId,
    Term,
    VoteMessage,
)
from raftref.dledger.switches import Variant


class StateMaintainer(ElectionHandler):
    """What a node does of itself as a candidate, a leader or a follower.

    Source: DLedgerLeaderElector.StateMaintainer.
    """

    def can_increase_term(self) -> bool:
        """A candidate has been told of a higher term, and is between two rounds."""
        return self.speaks_as(Role.CANDIDATE) and self.is_idle and self.election.need_increase

    @action(when=can_increase_term)
    def increase_term(self) -> Effects:
        """Go to the term that was heard of, and ask for no votes yet.

        Raises:
            NotEnabled: The node is no candidate, waits for answers, or heard of no higher term.

        Source: DLedgerLeaderElector.maintainAsCandidate, with needIncreaseTermImmediately.
        """
        self.raise_term()
        return NO_EFFECTS

    def can_vote_for_quorum_responses(self) -> bool:
        """A candidate is between two rounds, and need not go to a higher term first."""
        return self.speaks_as(Role.CANDIDATE) and self.is_idle and not self.election.need_increase

    @action(when=can_vote_for_quorum_responses)
    def vote_for_quorum_responses(self) -> Effects:
        """Ask all members for their votes, in a higher term only if the last round told so.

        Returns:
            A request to each peer. The node's own vote is a step of its own.

        Raises:
            NotEnabled: The node is no candidate, waits for answers, or is to raise its term at once.

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
        return Effects(sent=tuple(self._vote_request(peer) for peer in self.peers))

    def _vote_request(self, peer: NodeId) -> VoteMessage:
        asked = self.election.round
        term = self.member_state.curr_term
        return VoteMessage(self.node_id, peer, term, asked.ledger_end_term, asked.ledger_end_index)

    def can_handle_own_vote(self) -> bool:
        """A round of votes has begun, and the node has not asked itself yet."""
        asked = self.election.round
        return self.vote_messages and asked.type is ElectionType.VOTE and asked.answers[self.node_id] is None

    @action(when=can_handle_own_vote)
    def handle_own_vote(self) -> Effects:
        """Ask itself, by the rules for all. Another candidate may have been quicker.

        Raises:
            NotEnabled: No round of votes has begun, or its own vote is counted already.

        Source: DLedgerLeaderElector.voteForQuorumResponses, handleVote with self.
        """
        code, changes = self.decide(self._vote_request(self.node_id), to_self=True)
        self.election.round.answers[self.node_id] = code
        return Effects(sent=changes)

    def can_handle_vote_response(self, m: ElectionResponse) -> bool:
        """The node waits for answers to vote requests."""
        return self._counts(m, ElectionType.VOTE)

    @action(when=can_handle_vote_response)
    def handle_vote_response(self, m: ElectionResponse) -> Effects:
        """Count how a member decided, and the term it told of.

        Args:
            m: The answer.

        Returns:
            What is abandoned: other copies of the request and of its answer.

        Raises:
            NotEnabled: It is another answer, or no round of votes is under way.

        Source: DLedgerLeaderElector.maintainAsCandidate, where the answers are counted.
        """
        asked = self.election.round
        return self._count(m, max(asked.max_term, m.term) if m.code in TELLS_TERM else asked.max_term)

    def can_parse_vote_responses(self) -> bool:
        """A round of votes is under way, and the node has asked itself."""
        asked = self.election.round
        return self.vote_messages and asked.type is ElectionType.VOTE and asked.answers[self.node_id] is not None

    @action(when=can_parse_vote_responses)
    def parse_vote_responses(self) -> Effects:
        """Draw the conclusion from the answers that are in; others come too late.

        Returns:
            What is abandoned: all answers to the round; what a leader that waits for this node is told; and the
            heartbeat that members may hear, where it leads from now on.

        Raises:
            NotEnabled: No round of votes is under way, or its own vote is not counted.

        Source: DLedgerLeaderElector.maintainAsCandidate, from PARSE_VOTE_RESULT on.
        """
        ended = self._end_round()
        term = self.member_state.curr_term
        outcome = vote_outcome(term, ended.max_term, ended.answers)
        self.election.vote_next = PARSE_RESULTS[outcome] is ParseResult.WAIT_TO_VOTE_NEXT
        effects = Effects(abandoned=Abandoned(type=ElectionType.VOTE))
        if outcome is VoteOutcome.HIGHER_TERM:
            return replace(effects, sent=self.become_candidate(ended.max_term))
        if outcome is VoteOutcome.ACCEPTED:
            return replace(effects, sent=self.become_leader(), heart_beat=HeartBeat(self.node_id, term))
        return effects

    def can_send_heartbeats(self) -> bool:
        """A leader is between two rounds."""
        return self.speaks_as(Role.LEADER) and self.is_idle

    @action(when=can_send_heartbeats)
    def send_heartbeats(self) -> Effects:
        """Tell all peers that this node leads the term.

        Raises:
            NotEnabled: The node does not lead, or waits for answers.

        Source: DLedgerLeaderElector.maintainAsLeader, sendHeartbeats.
        """
        term = self.member_state.curr_term
        answers: dict[NodeId, str | None] = dict.fromkeys(self.members)
        answers[self.node_id] = HeartBeatCode.SUCCESS
        self.election.round = Round(answers, ElectionType.HEARTBEAT)
        return Effects(sent=tuple(HeartBeatMessage(self.node_id, peer, term) for peer in self.peers))

    def can_handle_heart_beat_response(self, m: ElectionResponse) -> bool:
        """The node waits for answers to heartbeats."""
        return self._counts(m, ElectionType.HEARTBEAT)

    @action(when=can_handle_heart_beat_response)
    def handle_heart_beat_response(self, m: ElectionResponse) -> Effects:
        """Count who is with this leader. Of several higher terms the last one that is told counts.

        Args:
            m: The answer.

        Returns:
            What is abandoned: other copies of the heartbeat and of its answer.

        Raises:
            NotEnabled: It is another answer, or no round of heartbeats is under way.

        Source: DLedgerLeaderElector.sendHeartbeats, where the answers are counted.
        """
        told = m.code == HeartBeatCode.EXPIRED_TERM
        return self._count(m, m.term if told else self.election.round.max_term)

    def can_parse_heart_beat_responses(self, expired: bool) -> bool:
        """A round of heartbeats is under way; it may be the last one only where it lacks a quorum."""
        if not self.vote_messages or self.election.round.type is not ElectionType.HEARTBEAT:
            return False
        return not expired or self._heart_beat_outcome(self.election.round) is HeartBeatOutcome.NO_QUORUM

    @action(when=can_parse_heart_beat_responses)
    def parse_heart_beat_responses(self, expired: bool) -> Effects:
        """Draw the conclusion from the answers that are in; others come too late.

        Args:
            expired: Whether there was no quorum for three periods, or ever since this node leads.

        Returns:
            What is abandoned: all answers to the round; and what a leader that waits for this node is told.

        Raises:
            NotEnabled: No round of heartbeats is under way, or there is no reason to call it expired.

        Source: DLedgerLeaderElector.sendHeartbeats, from the wait on.
        """
        outcome = self._heart_beat_outcome(self.election.round)
        ended = self._end_round()
        sent: tuple[ElectionMessage, ...] = ()
        if outcome is HeartBeatOutcome.HIGHER_TERM:
            sent = self.become_candidate(ended.max_term)
        elif outcome is HeartBeatOutcome.INCONSISTENT_LEADER or expired:
            sent = self.become_candidate(self.member_state.curr_term)
        return Effects(sent=sent, abandoned=Abandoned(type=ElectionType.HEARTBEAT))

    def can_heart_beat_time_out(self) -> bool:
        """A follower may have heard of no leader for too long, and waits for no answers."""
        return self.speaks_as(Role.FOLLOWER) and self.is_idle

    @action(when=can_heart_beat_time_out)
    def heart_beat_time_out(self) -> Effects:
        """Have heard of no leader for too long.

        Raises:
            NotEnabled: The node does not follow, or still waits for answers to a round.

        Source: DLedgerLeaderElector.maintainAsFollower.
        """
        return Effects(sent=self.become_candidate(self.member_state.curr_term))

    def _heart_beat_outcome(self, beaten: Round) -> HeartBeatOutcome:
        """As published a leader with a quorum does not mind the higher term of another member (D17)."""
        repaired = self.switches.high_term_laggard is Variant.REPAIRED
        if repaired and beaten.max_term > self.member_state.curr_term:
            return HeartBeatOutcome.HIGHER_TERM
        return heart_beat_outcome(self.member_state.curr_term, beaten.max_term, beaten.answers)

    def _counts(self, m: ElectionResponse, type_: ElectionType) -> bool:
        return self.hears(m, type_) and self.election.round.type is type_

    def _count(self, m: ElectionResponse, max_term: Term) -> Effects:
        self.election.round.answers[m.src] = m.code
        self.election.round.max_term = max_term
        return Effects(abandoned=Abandoned(m.src, m.type))

    def _end_round(self) -> Round:
        ended, self.election.round = self.election.round, no_round(self.members)
        return ended
