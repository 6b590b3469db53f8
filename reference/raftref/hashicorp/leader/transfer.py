"""How a leader hands over: it takes no entries, brings its target up to date, and tells it to campaign."""

from __future__ import annotations

from raftref.hashicorp.core.state import Role, Transfer
from raftref.hashicorp.core.step import step
from raftref.hashicorp.leader.membership import Membership
from raftref.hashicorp.messages import RpcType, TimeoutNowRequest, TimeoutNowResponse
from raftref.hashicorp.switches import Feature
from raftref.hashicorp.values import NodeId


class LeadershipTransfer(Membership):
    """A leader that hands over.

    Source: leaderLoop, leadershipTransferCh; leadershipTransfer.
    """

    def can_leadership_transfer(self, peer: NodeId) -> bool:
        """A leader's main loop takes an event, no transfer is in progress, and the peer is in the configuration."""
        known = peer != self.node_id and peer in self.configurations.latest.servers
        return self.has(Feature.TRANSFERS) and self.leads and not self.transfer.in_progress and known

    @step(when=can_leadership_transfer)
    def leadership_transfer(self, peer: NodeId) -> None:
        """Begin to hand over to a peer; while that lasts, no entry is taken.

        Args:
            peer: The one named, or the voter that is furthest.

        Source: leaderLoop, leadershipTransferCh; pickServer.
        """
        self.transfer = Transfer(True, peer, self.current_term)

    def can_send_timeout_now(self) -> bool:
        """It hands over in this term, its target has all entries, and was not told yet."""
        transfer = self.transfer
        waits = transfer.in_progress and not transfer.asked and transfer.term == self.current_term
        if not (self.is_up and self.role is Role.LEADER and waits and transfer.to is not None):
            return False
        return self.replication(transfer.to).next_index > self.last_index

    @step(when=can_send_timeout_now)
    def send_timeout_now(self) -> None:
        """Tell the target to campaign at once.

        Source: leadershipTransfer.
        """
        assert self.transfer.to is not None
        self.transfer.asked = True
        self.send(TimeoutNowRequest(self.node_id, self.transfer.to))

    def can_handle_timeout_now_response(self, m: TimeoutNowResponse) -> bool:
        """The answer is for this server."""
        return self.is_up and self.is_addressed(m)

    @step(when=can_handle_timeout_now_response)
    def handle_timeout_now_response(self, m: TimeoutNowResponse) -> None:
        """Learn that the target campaigns, and wait for what comes of it.

        Source: leadershipTransfer, doneCh.
        """
        self.take_answer(m)

    def can_end_transfer(self) -> bool:
        """The flag that a transfer is in progress is set."""
        return self.is_up and self.transfer.in_progress

    @step(when=can_end_transfer)
    def end_transfer(self) -> None:
        """Clear the flag: time is up, or the leadership is over. A routine of its own does that, whenever it runs.

        Source: leaderLoop, the routine beside leadershipTransfer.
        """
        self.effects.abandon({RpcType.TIMEOUT_NOW})
        self.transfer = Transfer()
