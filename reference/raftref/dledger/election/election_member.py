"""What the parts of an elector that speaks in messages share: how a node looks to a rule, and changes its role."""

from __future__ import annotations

from collections.abc import Collection

from raftref.dledger.election.election_rules import Member, take_leadership_code
from raftref.dledger.member_state import Role
from raftref.dledger.messages import NO_TERM, ElectionMessage, ElectionResponse, ElectionType, NodeId, Term
from raftref.dledger.replication.entry_pusher import EntryPusher


class ElectionMember(EntryPusher):
    """A member of the group, as its elector sees it.

    A change of role may answer a leader that waits for this node to take over. So each change returns the
    messages it sends.

    Source: DLedgerLeaderElector, TakeLeadershipTask, MemberState.
    """

    #: The members that turn other candidates away while they take over. Source: DLedgerConfig, by default none.
    preferred_leaders: Collection[NodeId] = ()

    def member(self) -> Member:
        """Return the node as it looks to a rule of an election."""
        state, store, election = self.member_state, self.ledger_store, self.election
        return Member(
            node_id=self.node_id,
            members=self.members,
            role=state.role,
            curr_term=state.curr_term,
            curr_vote_for=state.curr_vote_for,
            leader_id=state.leader_id,
            ledger_end_term=store.end_term,
            ledger_end_index=store.end_index,
            transferee=election.transferee,
            is_taking_leadership=(
                self.node_id in self.preferred_leaders and election.term_to_take_leadership == state.curr_term
            ),
        )

    @property
    def is_idle(self) -> bool:
        """Whether the StateMaintainer waits for no answers."""
        return self.election.round.type is None

    def speaks_as(self, *roles: Role) -> bool:
        """Tell whether votes are messages here and the node has one of these roles."""
        return self.vote_messages and self.member_state.role in roles

    def hears(self, m: ElectionMessage, type_: ElectionType) -> bool:
        """Tell whether the process is running, and a message of this type is for it."""
        return self.vote_messages and self.is_up and self.is_addressed(m) and m.type is type_

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
        """Follow the leader of the term.

        Source: DLedgerLeaderElector.changeRoleToFollower.
        """
        self.election.vote_next = False
        self.election.transferee = None
        return self._change_role(Role.FOLLOWER, leader, self.member_state.curr_term)

    def become_leader(self) -> tuple[ElectionMessage, ...]:
        """Lead the term.

        Source: DLedgerLeaderElector.changeRoleToLeader.
        """
        return self._change_role(Role.LEADER, self.node_id, self.member_state.curr_term)

    def _change_role(self, role: Role, leader: NodeId | None, term: Term) -> tuple[ElectionMessage, ...]:
        self.member_state.role, self.member_state.leader_id = role, leader
        election = self.election
        code = take_leadership_code(election.term_to_take_leadership, term, role)
        if code is None or election.takes_from is None:
            return ()
        told = Term(election.term_to_take_leadership - 1)
        answer = ElectionResponse(ElectionType.TRANSFER, self.node_id, election.takes_from, told, code)
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
