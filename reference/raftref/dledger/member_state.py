"""Which part a node plays in its group, in which term, and whom it votes for."""

from __future__ import annotations

from enum import StrEnum

from raftref.dledger.messages import NodeId, Term


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
