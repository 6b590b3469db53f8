"""How a member answers the vote requests and heartbeats of others."""

from __future__ import annotations

from raftref.action import action
from raftref.dledger.effects import Effects
from raftref.dledger.election.election_member import ElectionMember
from raftref.dledger.election.election_rules import HeartBeatCode, VoteCode, heart_beat_code, vote_code
from raftref.dledger.messages import (
    NO_TERM,
    ElectionMessage,
    ElectionResponse,
    ElectionType,
    HeartBeatMessage,
    Term,
    VoteMessage,
)


class ElectionHandler(ElectionMember):
    """What a member does on a vote request or a heartbeat, whatever its role.

    Source: DLedgerLeaderElector.handleVote, handleHeartBeat.
    """

    def can_handle_vote(self, m: VoteMessage) -> bool:
        """The process is running, and votes are messages."""
        return self.hears(m, ElectionType.VOTE)

    @action(when=can_handle_vote)
    def handle_vote(self, m: VoteMessage) -> Effects:
        """Decide on a candidate's request, and tell it why.

        A vote is kept for the term. A higher term makes the node a candidate, which will raise its own.

        Args:
            m: The request.

        Raises:
            NotEnabled: The node is down.

        Source: DLedgerLeaderElector.handleVote.
        """
        end_term, term = self.ledger_store.end_term, self.member_state.curr_term
        code, changes = self.decide(m, to_self=False)
        told = end_term if code is VoteCode.REJECT_TERM_SMALL_THAN_LEDGER else term
        return self._with_answer(m, changes, told, code)

    def would_accept(self, m: VoteMessage) -> bool:
        """Tell whether the node, if it runs, would give its vote on this request."""
        to_self = m.src == self.node_id
        return self.is_up and vote_code(self.member(), m, to_self=to_self) is VoteCode.ACCEPT

    def decide(self, m: VoteMessage, *, to_self: bool) -> tuple[VoteCode, tuple[ElectionMessage, ...]]:
        """Decide on a vote and do what follows from it; return the code, and what a change of role sends."""
        code = vote_code(self.member(), m, to_self=to_self)
        if code is VoteCode.ACCEPT:
            self.member_state.curr_vote_for = m.src
        if code is VoteCode.REJECT_TERM_NOT_READY:
            return code, self.become_candidate(m.term, at_once=True)
        return code, ()

    def can_handle_heart_beat(self, m: HeartBeatMessage) -> bool:
        """The process is running, and heartbeats are messages."""
        return self.hears(m, ElectionType.HEARTBEAT)

    @action(when=can_handle_heart_beat)
    def handle_heart_beat(self, m: HeartBeatMessage) -> Effects:
        """Hear from a leader, and follow it if it leads the node's own term and no leader is known.

        It may be late, and its sender lead no more. A higher term makes the node a candidate.

        Args:
            m: The heartbeat.

        Raises:
            NotEnabled: The node is down.

        Source: DLedgerLeaderElector.handleHeartBeat.
        """
        code = heart_beat_code(self.member(), m)
        told = self.member_state.curr_term if code is HeartBeatCode.EXPIRED_TERM else NO_TERM
        changes: tuple[ElectionMessage, ...] = ()
        if code is HeartBeatCode.TERM_NOT_READY:
            changes = self.become_candidate(m.term, at_once=True)
        elif code is HeartBeatCode.SUCCESS and self.member_state.leader_id is None:
            changes = self.become_follower(m.src)
        return self._with_answer(m, changes, told, code)

    def _with_answer(
        self, m: VoteMessage | HeartBeatMessage, changes: tuple[ElectionMessage, ...], told: Term, code: str
    ) -> Effects:
        """Return what is sent: what a change of role sends, and the answer if it is awaited."""
        answer = (ElectionResponse(m.type, self.node_id, m.src, told, code),) if m.awaited else ()
        return Effects(sent=(*changes, *answer))
