"""Transfer of leadership: a leader hands over to a peer, which stands for election in the next term."""

from __future__ import annotations

from raftref.action import action
from raftref.dledger.election_rules import TransferCode, transfer_command_code
from raftref.dledger.heartbeats import Heartbeats
from raftref.dledger.messages import (
    ElectionMessage,
    ElectionResponse,
    ElectionType,
    NodeId,
    Term,
    TransferCall,
    TransferMessage,
)
from raftref.dledger.state import NOBODY_WAITS, TransferWait
from raftref.dledger.steps import NO_EFFECTS, Effects

#: The number of entries from which on a transferee is too far behind. Source: DLedgerConfig, its default.
MAX_LEADERSHIP_TRANSFER_WAIT_INDEX = 1000


class LeadershipTransfer(Heartbeats):
    """Both ends of a transfer: the leader, which takes no appends meanwhile, and the transferee.

    Source: DLedgerServer.handleLeadershipTransfer; DLedgerLeaderElector.handleLeadershipTransfer,
    handleTakeLeadership.
    """

    # ---- At the leader ----

    def transfer_code(self, transferee: NodeId, term: Term) -> TransferCode:
        """Return the answer to a client's command to hand over the leadership of a term to a peer."""
        fall_behind = self.ledger_store.end_index - self.peer_water_marks[transferee]
        return transfer_command_code(self.member(), term, fall_behind, MAX_LEADERSHIP_TRANSFER_WAIT_INDEX)

    def can_handle_leadership_transfer(self, transferee: NodeId) -> bool:
        """The command is accepted, and no such call is under way."""
        term = self.member_state.curr_term
        return (
            self.vote_messages
            and transferee in self.peers
            and self.transfer_code(transferee, term) is TransferCode.SUCCESS
            and TransferCall(transferee, term) not in self.election.transfers
        )

    @action(when=can_handle_leadership_transfer)
    def handle_leadership_transfer(self, transferee: NodeId) -> Effects:
        """Take no more appends, and ask a peer to lead once it holds what this leader holds.

        Source: DLedgerServer.handleLeadershipTransfer and DLedgerLeaderElector's, at the leader.
        """
        term = self.member_state.curr_term
        self.election.transferee = transferee
        self.election.transfers |= {TransferCall(transferee, term)}
        return Effects(sent=(TransferMessage(self.node_id, transferee, term, self.ledger_store.end_index),))

    def can_handle_transfer_response(self, m: ElectionResponse) -> bool:
        """The process is running."""
        return self.hears(m, ElectionType.TRANSFER)

    @action(when=can_handle_transfer_response)
    def handle_transfer_response(self, m: ElectionResponse) -> Effects:
        """Hear the end of a transfer; an answer that comes too late is ignored.

        Source: DLedgerLeaderElector.handleLeadershipTransfer, from the answer on.
        """
        call = TransferCall(m.src, m.term)
        if call in self.election.transfers:
            self._end_call(call, m.code)
        return NO_EFFECTS

    def can_transfer_time_out(self, call: TransferCall) -> bool:
        """The call has no answer yet."""
        return self.vote_messages and call in self.election.transfers

    @action(when=can_transfer_time_out)
    def transfer_time_out(self, call: TransferCall) -> Effects:
        """Wait no more for the answer to a call: to the leader it is one of NETWORK_ERROR.

        Source: DLedgerRpcNettyService.leadershipTransfer.
        """
        self._end_call(call, TransferCode.NETWORK_ERROR)
        return NO_EFFECTS

    def _end_call(self, call: TransferCall, code: str) -> None:
        """Forget the transferee, as a leader: a change of role has done so already."""
        self.election.transfers -= {call}
        if self.is_leader and (code != TransferCode.SUCCESS or self.member_state.curr_term == call.term):
            self.election.transferee = None

    # ---- At the transferee ----

    def can_wait_to_take_leadership(self, m: TransferMessage) -> bool:
        """The process is running, and no other request waits here."""
        waits = self.election.waiting != NOBODY_WAITS
        return self.hears(m, ElectionType.TRANSFER) and not waits

    @action(when=can_wait_to_take_leadership)
    def wait_to_take_leadership(self, m: TransferMessage) -> Effects:
        """Begin to wait for what the leader held, or answer that another leads.

        Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
        """
        if self.member_state.leader_id != m.src:
            return Effects(sent=(self._transfer_response(m.src, m.term, TransferCode.INCONSISTENT_LEADER),))
        self.election.waiting = TransferWait(m.src, m.term, m.index)
        return NO_EFFECTS

    def can_handle_take_leadership(self) -> bool:
        """A request waits, and the log has reached its index."""
        waiting = self.election.waiting
        return self.vote_messages and waiting != NOBODY_WAITS and self.ledger_store.end_index >= waiting.index

    @action(when=can_handle_take_leadership)
    def handle_take_leadership(self) -> Effects:
        """Stand for election in the next term. Who leads is not asked again.

        Source: DLedgerLeaderElector.handleTakeLeadership.
        """
        waiting, self.election.waiting = self.election.waiting, NOBODY_WAITS
        if waiting.term != self.member_state.curr_term:
            return self._refusal(waiting, TransferCode.INCONSISTENT_TERM)
        target = Term(waiting.term + 1)
        self.election.term_to_take_leadership = target
        self.election.takes_from = waiting.leader
        return Effects(sent=self.become_candidate(target, at_once=True))

    def can_take_leadership_time_out(self) -> bool:
        """A request waits, and the log is still behind its index."""
        waiting = self.election.waiting
        return self.vote_messages and waiting != NOBODY_WAITS and self.ledger_store.end_index < waiting.index

    @action(when=can_take_leadership_time_out)
    def take_leadership_time_out(self) -> Effects:
        """Have been behind for too long.

        Source: DLedgerServer.handleLeadershipTransfer, at the transferee.
        """
        waiting, self.election.waiting = self.election.waiting, NOBODY_WAITS
        return self._refusal(waiting, TransferCode.TAKE_LEADERSHIP_FAILED)

    def _refusal(self, waiting: TransferWait, code: TransferCode) -> Effects:
        refusal: tuple[ElectionMessage, ...] = ()
        if waiting.leader is not None:
            refusal = (self._transfer_response(waiting.leader, waiting.term, code),)
        return Effects(sent=refusal)

    def _transfer_response(self, leader: NodeId, term: Term, code: TransferCode) -> ElectionResponse:
        return ElectionResponse(ElectionType.TRANSFER, self.node_id, leader, term, code)
