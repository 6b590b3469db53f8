"""Heartbeats: how a leader gets its followers, and loses its leadership."""

from __future__ import annotations

from raftref.action import action
from raftref.dledger.choices import Flaw
from raftref.dledger.election_rules import HeartBeatCode, HeartBeatOutcome, heart_beat_code, heart_beat_outcome
from raftref.dledger.message_elections import MessageElections
from raftref.dledger.messages import NO_TERM, ElectionMessage, ElectionResponse, ElectionType, HeartBeatMessage, NodeId
from raftref.dledger.state import Role, Round
from raftref.dledger.steps import Abandoned, Effects


class Heartbeats(MessageElections):
    """A leader's rounds of heartbeats, and a member's answers to leaders.

    Source: DLedgerLeaderElector.
    """

    def can_send_heartbeats(self) -> bool:
        """A leader is between two rounds."""
        return self.speaks_as(Role.LEADER) and self.is_idle

    @action(when=can_send_heartbeats)
    def send_heartbeats(self) -> Effects:
        """Send all peers a heartbeat of this term.

        Source: DLedgerLeaderElector.maintainAsLeader, sendHeartbeats.
        """
        term = self.member_state.curr_term
        answers: dict[NodeId, str | None] = dict.fromkeys(self.members)
        answers[self.node_id] = HeartBeatCode.SUCCESS
        self.election.round = Round(answers, ElectionType.HEARTBEAT)
        return Effects(sent=tuple(HeartBeatMessage(self.node_id, peer, term) for peer in self.peers))

    def can_handle_heart_beat(self, m: HeartBeatMessage) -> bool:
        """The process is running, and heartbeats are messages."""
        return self.hears(m, ElectionType.HEARTBEAT)

    @action(when=can_handle_heart_beat)
    def handle_heart_beat(self, m: HeartBeatMessage) -> Effects:
        """Hear from a leader, and follow it if it leads the node's own term and no leader is known.

        It may be late, and its sender lead no more. A higher term makes the node a candidate.

        Source: DLedgerLeaderElector.handleHeartBeat.
        """
        code = heart_beat_code(self.member(), m)
        answered_term = self.member_state.curr_term if code is HeartBeatCode.EXPIRED_TERM else NO_TERM
        changes: tuple[ElectionMessage, ...] = ()
        if code is HeartBeatCode.TERM_NOT_READY:
            changes = self.become_candidate(m.term, at_once=True)
        elif code is HeartBeatCode.SUCCESS and self.member_state.leader_id is None:
            changes = self.become_follower(m.src)
        return self.with_answer(m, changes, answered_term, code)

    def can_handle_heart_beat_response(self, m: ElectionResponse) -> bool:
        """The node waits for answers to heartbeats."""
        return self.counts(m, ElectionType.HEARTBEAT)

    @action(when=can_handle_heart_beat_response)
    def handle_heart_beat_response(self, m: ElectionResponse) -> Effects:
        """Count a member's answer. Of several higher terms the last one counts.

        Source: DLedgerLeaderElector.sendHeartbeats, where the answers are counted.
        """
        is_expired = m.code == HeartBeatCode.EXPIRED_TERM
        return self.count_answer(m, m.term if is_expired else self.election.round.max_term)

    def can_parse_heart_beat_responses(self, expired: bool) -> bool:
        """A round of heartbeats is under way; it may be the last one only where it lacks a quorum."""
        if not self.vote_messages or self.election.round.type is not ElectionType.HEARTBEAT:
            return False
        return not expired or self.outcome_of_beats(self.election.round) is HeartBeatOutcome.NO_QUORUM

    @action(when=can_parse_heart_beat_responses)
    def parse_heart_beat_responses(self, expired: bool) -> Effects:
        """Draw the conclusion from the answers that are in; others come too late.

        Args:
            expired: Whether there was no quorum for three periods, or ever since this node leads.

        Source: DLedgerLeaderElector.sendHeartbeats, from the wait on.
        """
        outcome = self.outcome_of_beats(self.election.round)
        ended = self.end_round()
        sent: tuple[ElectionMessage, ...] = ()
        if outcome is HeartBeatOutcome.HIGHER_TERM:
            sent = self.become_candidate(ended.max_term)
        elif outcome is HeartBeatOutcome.INCONSISTENT_LEADER or expired:
            sent = self.become_candidate(self.member_state.curr_term)
        return Effects(sent=sent, abandoned=Abandoned(type=ElectionType.HEARTBEAT))

    def outcome_of_beats(self, beats: Round) -> HeartBeatOutcome:
        """Return the outcome; as published a leader with a quorum ignores a member's higher term (HighTermLaggard)."""
        if not self.has(Flaw.HIGH_TERM_LAGGARD) and beats.max_term > self.member_state.curr_term:
            return HeartBeatOutcome.HIGHER_TERM
        return heart_beat_outcome(self.member_state.curr_term, beats.max_term, beats.answers)

    def can_heart_beat_time_out(self) -> bool:
        """A follower may have heard of no leader for too long, and waits for no answers."""
        return self.speaks_as(Role.FOLLOWER) and self.is_idle

    @action(when=can_heart_beat_time_out)
    def heart_beat_time_out(self) -> Effects:
        """Have heard of no leader for too long.

        Source: DLedgerLeaderElector.maintainAsFollower.
        """
        return Effects(sent=self.become_candidate(self.member_state.curr_term))
