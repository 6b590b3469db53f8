"""How a server answers a candidate."""

from __future__ import annotations

from raftref.hashicorp.core.member import Member
from raftref.hashicorp.core.outcome import Outcome
from raftref.hashicorp.core.state import Role
from raftref.hashicorp.core.step import step
from raftref.hashicorp.messages import RequestPreVoteRequest, RequestVoteRequest, VoteResponse
from raftref.hashicorp.stores import StoreError
from raftref.hashicorp.switches import Flaw
from raftref.hashicorp.values import NodeId


class Voter(Member):
    """A server that is asked for its vote.

    Source: requestVote, requestPreVote.
    """

    def can_request_vote(self, m: RequestVoteRequest, outcome: Outcome) -> bool:
        """The main loop takes an event, and the request is for this server."""
        return self.selects and self.is_addressed(m)

    @step(when=can_request_vote)
    def request_vote(self, m: RequestVoteRequest, outcome: Outcome) -> None:
        """Answer a candidate that asks for a vote. What is granted is on disk before.

        Args:
            m: The request.
            outcome: Of the writes: CurrentTerm if the request's is higher, then the vote.

        Source: requestVote.
        """
        granted = self._votes(m)
        self.respond(m, VoteResponse(m.type, self.node_id, m.src, self.current_term, granted))

    def _votes(self, m: RequestVoteRequest) -> bool:
        """Decide, by the library's tests in the library's order. The first three leave the term alone."""
        if self._is_stranger(m.src):
            return False
        knows_other = self.leader is not None and (self.leader != m.src or self.has(Flaw.KNOWN_LEADER_REJECTED))
        if knows_other and not m.leadership_transfer:
            return False
        if m.term < self.current_term:
            return False
        if m.term > self.current_term:
            self.set_state(Role.FOLLOWER)
            self.set_current_term(m.term)
        if self._has_no_vote(m.src):
            return False
        if self.last_vote_term == m.term and self.last_vote_cand is not None:
            return self.last_vote_cand == m.src
        if self._has_better_log(m):
            return False
        try:
            self.persist_vote(m.term, m.src)
        except StoreError:
            return False
        return True

    def can_request_pre_vote(self, m: RequestPreVoteRequest) -> bool:
        """The main loop takes an event, and the request is for this server."""
        return self.selects and self.is_addressed(m)

    @step(when=can_request_pre_vote)
    def request_pre_vote(self, m: RequestPreVoteRequest) -> None:
        """Tell a candidate whether it would get a vote. Nothing changes, and no vote that was given counts.

        The answer has the proposed term where that is higher and one of the first tests did not refuse.

        Source: requestPreVote.
        """
        knows_other = self.leader is not None and self.leader != m.src
        if self._is_stranger(m.src) or knows_other or m.term < self.current_term:
            term, granted = self.current_term, False
        else:
            term = m.term
            granted = not self._has_no_vote(m.src) and not self._has_better_log(m)
        self.respond(m, VoteResponse(m.type, self.node_id, m.src, term, granted))

    def _is_stranger(self, candidate: NodeId) -> bool:
        """Tell whether a candidate is not in the configuration; who has none turns nobody away."""
        servers = self.configurations.latest.servers
        return bool(servers) and candidate not in servers

    def _has_no_vote(self, candidate: NodeId) -> bool:
        """Tell whether a candidate has no vote itself."""
        latest = self.configurations.latest
        return bool(latest.servers) and not latest.has_vote(candidate)

    def _has_better_log(self, m: RequestVoteRequest | RequestPreVoteRequest) -> bool:
        """Tell whether the log ends in a later term than the candidate's, or in the same one at a higher index."""
        last = self.last_entry
        same = last.term == m.last_log_term or self.has(Flaw.LONGER_LOG_OLDER_TERM)
        return last.term > m.last_log_term or (same and last.index > m.last_log_index)
