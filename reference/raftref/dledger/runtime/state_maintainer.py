"""The elector's thread: it stands for election, keeps the leadership by heartbeats, or waits for those of a leader."""

from __future__ import annotations

from raftref.dledger.election_rules import HeartBeatCode, HeartBeatOutcome, VoteCode
from raftref.dledger.messages import ElectionType, HeartBeatMessage
from raftref.dledger.quorum import is_quorum
from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.state import NOBODY_WAITS, Role
from raftref.runtime.driver import Seconds


class StateMaintainer:
    """Maintains the role of one node.

    Source: DLedgerLeaderElector, its StateMaintainer.
    """

    def __init__(self, node: NodeContext) -> None:
        """Begin without having heard of anybody."""
        self._node = node
        self._last_leader_heart_beat: Seconds = 0.0
        #: When a quorum of heartbeats was answered last in this leadership.
        self._last_success: Seconds | None = None

    def work(self) -> bool:
        """Take the next step of the role, or take a leadership over; return whether one was due."""
        return self._maintain() or self._take_leadership()

    def _maintain(self) -> bool:
        """Take the next step of the role. Source: StateMaintainer.doWork."""
        match self._node.server.member_state.role:
            case Role.CANDIDATE:
                return self._maintain_as_candidate()
            case Role.LEADER:
                return self._maintain_as_leader()
            case Role.FOLLOWER:
                return self._maintain_as_follower()
        return False

    def change_role(self, role: Role) -> None:
        """Begin another role. Source: changeRoleToLeader, changeRoleToFollower, changeRoleToCandidate."""
        if role is Role.FOLLOWER:
            self._last_leader_heart_beat = self._node.now
        elif role is Role.LEADER:
            self._last_success = None
            self._node.timers.clear("heartbeat")
        self._node.timers.clear("round")

    def hear_heart_beat(self, m: HeartBeatMessage) -> None:
        """Let a heartbeat count that was handled, if it is one of the leader that this node follows."""
        state = self._node.server.member_state
        if state.role is Role.FOLLOWER and (state.leader_id, state.curr_term) == (m.src, m.term):
            self._last_leader_heart_beat = self._node.now

    # ---- As a candidate ------------------------------------------------------------------------------

    def _maintain_as_candidate(self) -> bool:
        """Raise the term, begin a round of votes, or end one. Source: maintainAsCandidate."""
        node = self._node
        round_ = node.server.election.round
        if round_.type is ElectionType.VOTE:
            return self._end_votes()
        if round_.type is not None:
            return node.take("ParseHeartBeatResponses", False)
        if node.take("IncreaseTerm"):
            self._set_next_vote()
            return True
        if node.timers.is_due("vote", node.now) and node.take("VoteForQuorumResponses"):
            wait = node.settings.vote_wait + node.random.uniform(0, node.settings.max_vote_interval)
            node.timers.set("round", node.now + wait)
            return True
        return False

    def _end_votes(self) -> bool:
        """Give the own vote, or count the votes once no more are waited for."""
        node = self._node
        if node.server.election.round.answers[node.node_id] is None:
            return node.take("HandleOwnVote")
        if not (self._votes_are_decided() or node.timers.is_due("round", node.now)):
            return False
        took = node.take("ParseVoteResponses")
        self._set_next_vote()
        return took

    def _votes_are_decided(self) -> bool:
        """Return whether the elector waits for no more answers. Source: maintainAsCandidate, its latch."""
        answers = self._node.server.election.round.answers
        given = [each for each in answers.values() if each is not None]
        accepted, not_ready = given.count(VoteCode.ACCEPT), given.count(VoteCode.REJECT_TERM_NOT_READY)
        return (
            VoteCode.REJECT_ALREADY_HAS_LEADER in given
            or is_quorum(accepted, len(answers))
            or is_quorum(accepted + not_ready, len(answers))
            or len(given) == len(answers)
        )

    def _set_next_vote(self) -> None:
        """Draw when the next round of votes may begin. Source: getNextTimeToRequestVote."""
        node, settings = self._node, self._node.settings
        taking = node.server.election.takes_from is not None
        least = settings.min_take_leadership_vote_interval if taking else settings.min_vote_interval
        most = settings.max_take_leadership_vote_interval if taking else settings.max_vote_interval
        node.timers.set("vote", node.now + node.random.uniform(least, most))

    # ---- As a leader ---------------------------------------------------------------------------------

    def _maintain_as_leader(self) -> bool:
        """Begin a round of heartbeats, or end one. Source: maintainAsLeader, sendHeartbeats."""
        node, interval = self._node, self._node.settings.heart_beat_time_interval
        if node.server.election.round.type is not None:
            return self._end_heart_beats()
        if node.timers.every("heartbeat", node.now, interval):
            node.timers.set("round", node.now + interval)
            return node.take("SendHeartbeats")
        return False

    def _end_heart_beats(self) -> bool:
        """End a round once a quorum has answered, all have, or its time is over; a leader without one may step down."""
        node = self._node
        beats = node.server.election.round
        given = [each for each in beats.answers.values() if each is not None]
        decided = is_quorum(given.count(HeartBeatCode.SUCCESS), len(beats.answers)) or len(given) == len(beats.answers)
        if not (decided or node.timers.is_due("round", node.now)):
            return False
        outcome = node.server.outcome_of_beats(beats)
        if outcome is HeartBeatOutcome.QUORUM:
            self._last_success = node.now
        elif outcome is HeartBeatOutcome.NOT_READY:
            node.timers.clear("heartbeat")
        late = self._last_success is None or node.now - self._last_success > node.settings.max_silence
        return node.take("ParseHeartBeatResponses", outcome is HeartBeatOutcome.NO_QUORUM and late)

    # ---- As a follower -------------------------------------------------------------------------------

    def _maintain_as_follower(self) -> bool:
        """Stand for election once there was no heartbeat for too long. Source: maintainAsFollower."""
        if self._end_round_of_another_role():
            return True
        node = self._node
        node.timers.set("leader", self._last_leader_heart_beat + node.settings.max_silence)
        return node.timers.is_due("leader", node.now) and node.take("HeartBeatTimeOut")

    def _end_round_of_another_role(self) -> bool:
        """End a round that the node began as a candidate or leader: the wait for its answers is over."""
        node = self._node
        if node.server.election.round.type is ElectionType.VOTE:
            return node.take("HandleOwnVote") or node.take("ParseVoteResponses")
        return node.take("ParseHeartBeatResponses", False)

    # ---- Taking a leadership over --------------------------------------------------------------------

    def _take_leadership(self) -> bool:
        """Stand for election on behalf of a leader, or give that up. Source: handleLeadershipTransfer."""
        node, timers = self._node, self._node.timers
        if node.server.election.waiting == NOBODY_WAITS:
            timers.clear("takeover")
            return False
        if not timers.is_set("takeover"):
            timers.set("takeover", node.now + node.settings.leadership_transfer_wait_timeout)
        due = timers.is_due("takeover", node.now)
        return node.take("HandleTakeLeadership") or (due and node.take("TakeLeadershipTimeOut"))
