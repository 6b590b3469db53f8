"""How a server becomes a candidate, asks for votes, and counts them."""

from __future__ import annotations

from collections.abc import Set

from raftref.hashicorp.core.outcome import DONE, Outcome
from raftref.hashicorp.core.state import Campaign, CampaignPhase, Loop, Role
from raftref.hashicorp.core.step import step
from raftref.hashicorp.election.voter import Voter
from raftref.hashicorp.messages import (
    RequestPreVoteRequest,
    RequestVoteRequest,
    RpcType,
    TimeoutNowRequest,
    TimeoutNowResponse,
    VoteResponse,
)
from raftref.hashicorp.stores import StoreError
from raftref.hashicorp.switches import Feature
from raftref.hashicorp.values import NodeId, Term


class Candidate(Voter):
    """A server that stands for election.

    Source: runFollower, runCandidate, preElectSelf, electSelf.
    """

    # ---- Standing ------------------------------------------------------------------------------------

    def can_heartbeat_timeout(self) -> bool:
        """A follower's main loop takes an event."""
        return self.selects and self.role is Role.FOLLOWER

    @step(when=can_heartbeat_timeout)
    def heartbeat_timeout(self) -> None:
        """Hear nothing of the leader, and forget it; a voter stands for election.

        Source: runFollower, heartbeatTimer.
        """
        self.leader = None
        if self.is_voter:
            self._stand()

    def can_election_timeout(self) -> bool:
        """A candidate's main loop takes an event."""
        return self.selects and self.role is Role.CANDIDATE

    @step(when=can_election_timeout)
    def election_timeout(self) -> None:
        """Begin the campaign anew. That a leader has chosen this server counts once only.

        Source: runCandidate, electionTimer.
        """
        self.end_campaign()
        self.loop = Loop.CAMPAIGN

    def can_timeout_now(self, m: TimeoutNowRequest) -> bool:
        """The main loop takes an event, and the request is for this server."""
        return self.selects and self.is_addressed(m)

    @step(when=can_timeout_now)
    def timeout_now(self, m: TimeoutNowRequest) -> None:
        """Stand at once, since a leader has chosen this server. No term is compared.

        Who is a candidate already goes on with the campaign that it has.

        Source: timeoutNow.
        """
        if self.role is Role.CANDIDATE:
            self.leader = None
        else:
            self._stand()
        self.campaign.transfer = True
        self.respond(m, TimeoutNowResponse(self.node_id, m.src))

    def _stand(self) -> None:
        self.set_state(Role.CANDIDATE)
        self.loop = Loop.CAMPAIGN

    # ---- Asking --------------------------------------------------------------------------------------

    @property
    def other_voters(self) -> frozenset[NodeId]:
        """Whom a candidate asks."""
        return self.configurations.latest.voters - {self.node_id}

    def _begins(self, phase: CampaignPhase) -> None:
        """Count the votes of a phase, its own at once. How many are needed is found out once for both phases."""
        if self.campaign.phase is CampaignPhase.NONE:
            self.campaign.votes_needed = self.configurations.latest.quorum_size()
        self.campaign.phase = phase
        self.campaign.granted = frozenset({self.node_id}) if self.is_voter else frozenset()

    def can_pre_elect_self(self) -> bool:
        """The main loop is at the beginning of a campaign, which no leader has asked for."""
        begins = self.campaign.phase is CampaignPhase.NONE and not self.campaign.transfer
        return self.is_up and self.loop is Loop.CAMPAIGN and self.has(Feature.PRE_VOTE) and begins

    @step(when=can_pre_elect_self)
    def pre_elect_self(self) -> None:
        """Ask the voters whether they would vote for this server. No term is raised, and nothing is written.

        Source: preElectSelf.
        """
        self.loop = Loop.SELECT
        self._begins(CampaignPhase.PREVOTE)
        if self.campaign.is_won:
            self._win_pre_vote()
            return
        last = self.last_entry
        for peer in sorted(self.other_voters):
            term = Term(self.current_term + 1)
            self.send(RequestPreVoteRequest(self.node_id, peer, term, last.index, last.term))

    def _win_pre_vote(self) -> None:
        self.effects.abandon({RpcType.REQUEST_PRE_VOTE})
        self.campaign.phase, self.campaign.granted = CampaignPhase.VOTE, frozenset()
        self.loop = Loop.CAMPAIGN

    def can_elect_self(self, asked: Set[NodeId], outcome: Outcome) -> bool:
        """The main loop is at an election, and `asked` are those whom it can have asked until then."""
        if not self.is_up or self.loop is not Loop.CAMPAIGN:
            return False
        if self.can_pre_elect_self():
            return False
        if outcome == DONE:
            return asked == self.other_voters
        return asked <= self.other_voters if outcome.write > 1 else not asked

    @step(when=can_elect_self)
    def elect_self(self, asked: Set[NodeId], outcome: Outcome) -> None:
        """Raise the term, vote for itself, and ask the voters for their votes.

        If the vote cannot be written, the candidate takes no answers, and waits for its timer.

        Args:
            asked: Whom it asks: all other voters, or where the writes end before, those who come first in the list of
                servers.
            outcome: Of the writes: CurrentTerm, then the vote.

        Source: electSelf.
        """
        self.loop = Loop.SELECT
        self.set_current_term(Term(self.current_term + 1))
        self._begins(CampaignPhase.VOTE)
        last, transfer = self.last_entry, self.campaign.transfer
        for peer in sorted(asked):
            self.send(RequestVoteRequest(self.node_id, peer, self.current_term, last.index, last.term, transfer))
        if self.is_voter:
            try:
                self.persist_vote(self.current_term, self.node_id)
            except StoreError:
                self.campaign.phase, self.campaign.granted = CampaignPhase.NONE, frozenset()
                self.effects.await_none()
                return
        if self.campaign.is_won:
            self._win()

    def _win(self) -> None:
        self.set_state(Role.LEADER)
        self.leader = self.node_id
        self.loop = Loop.LEAD

    # ---- Counting ------------------------------------------------------------------------------------

    def _can_count(self, m: VoteResponse, type_: RpcType) -> bool:
        return self.selects and self.is_addressed(m) and m.type is type_

    def can_handle_request_vote_response(self, m: VoteResponse, outcome: Outcome) -> bool:
        """The main loop takes an event, and a vote is for this server."""
        return self._can_count(m, RpcType.REQUEST_VOTE)

    @step(when=can_handle_request_vote_response)
    def handle_request_vote_response(self, m: VoteResponse, outcome: Outcome) -> None:
        """Count a vote, and lead with a majority; follow in a higher term.

        Args:
            m: The answer.
            outcome: Of the write of CurrentTerm, if the answer's is higher.

        Source: runCandidate, voteCh.
        """
        self.take_answer(m)
        if m.term > self.current_term:
            self._follow_in(m.term)
        elif self._counted(m).is_won:
            self._win()

    def can_handle_request_pre_vote_response(self, m: VoteResponse, outcome: Outcome) -> bool:
        """The main loop takes an event, and a pre-vote is for this server."""
        return self._can_count(m, RpcType.REQUEST_PRE_VOTE)

    @step(when=can_handle_request_pre_vote_response)
    def handle_request_pre_vote_response(self, m: VoteResponse, outcome: Outcome) -> None:
        """Count a pre-vote, and campaign with a majority; follow in a term higher than the one proposed.

        Args:
            m: The answer.
            outcome: Of the write of CurrentTerm, if the answer's is higher.

        Source: runCandidate, prevoteCh.
        """
        self.take_answer(m)
        if m.term > self.current_term + 1:
            self._follow_in(m.term)
        elif self._counted(m).is_won:
            self._win_pre_vote()

    def _counted(self, m: VoteResponse) -> Campaign:
        if m.granted:
            self.campaign.granted |= {m.src}
        return self.campaign

    def _follow_in(self, term: Term) -> None:
        self.set_state(Role.FOLLOWER)
        self.set_current_term(term)
