"""Which part a node plays in its group, in which term, and whom it votes for."""

from __future__ import annotations

from enum import StrEnum

from raftref.dledger.messages import Index, NodeId, Term, VoteRequest


class Role(StrEnum):
    """The part a node plays. DOWN: its process is not running. Source: MemberState.Role."""

    LEADER = "LEADER"
    FOLLOWER = "FOLLOWER"
    CANDIDATE = "CANDIDATE"
    DOWN = "DOWN"


class MemberState:
    """Role, term, vote and leader of one node.

    `curr_term` and `curr_vote_for` are durable, written together. `votes` are the members that accepted this
    candidate in its term. `leader_id` is the leader it follows, or itself.

    Source: MemberState.
    """

    def __init__(self) -> None:
        """Begin as a candidate of term 0 that has neither voted nor heard of a leader."""
        self.role = Role.CANDIDATE
        self.curr_term = Term(0)
        self.curr_vote_for: NodeId | None = None
        self.leader_id: NodeId | None = None
        self.votes: set[NodeId] = set()

    @property
    def is_up(self) -> bool:
        """Whether the process is running."""
        return self.role is not Role.DOWN

    def accepts(self, request: VoteRequest, ledger_end_index: Index, ledger_end_term: Term) -> bool:
        """Decide on a vote: same term, no other vote in it, and the candidate's log is fresh.

        The voter's own role and leader are not looked at, as long as it is running.

        Args:
            request: What the candidate tells of itself.
            ledger_end_index: The index of the voter's last entry.
            ledger_end_term: The term of the voter's last entry.

        Source: DLedgerLeaderElector.handleVote, the branch that ends in ACCEPT.
        """
        return (
            self.is_up
            and request.term == self.curr_term
            and self.curr_vote_for in (None, request.candidate)
            and log_is_fresh(request, ledger_end_index, ledger_end_term)
        )

    def enter_term(self, term: Term) -> None:
        """Go to a term the node was not in: its vote and its votes are of the past.

        Source: MemberState.nextTerm.
        """
        self.curr_term = term
        self.curr_vote_for = None
        self.votes = set()

    def go_down(self) -> None:
        """Forget what is not durable: role, leader and votes; term and vote stay."""
        self.role = Role.DOWN
        self.leader_id = None
        self.votes = set()


def log_is_fresh(request: VoteRequest, ledger_end_index: Index, ledger_end_term: Term) -> bool:
    """Tell whether a candidate's log ends in a later term than the voter's, or in the same at no less.

    Source: DLedgerLeaderElector.handleVote, REJECT_EXPIRED_LEDGER_TERM and REJECT_SMALL_LEDGER_END_INDEX.
    """
    if request.ledger_end_term != ledger_end_term:
        return request.ledger_end_term > ledger_end_term
    return request.ledger_end_index >= ledger_end_index
