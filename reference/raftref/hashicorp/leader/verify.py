"""How a leader finds out whether it still leads: a quorum answers what it sends."""

from __future__ import annotations

from raftref.hashicorp.core.state import Role, Verification
from raftref.hashicorp.core.step import step
from raftref.hashicorp.leader.transfer import LeadershipTransfer
from raftref.hashicorp.switches import Feature, Flaw


class Verifier(LeadershipTransfer):
    """A leader that a client asks whether it leads.

    Source: verifyLeader; leaderLoop, verifyCh.
    """

    def can_verify_leader(self) -> bool:
        """A leader's main loop takes an event, and no client has asked."""
        return self.has(Feature.VERIFY) and self.leads and not self.verification.active

    @step(when=can_verify_leader)
    def verify_leader(self) -> None:
        """Ask all peers, also those without a vote (VerifyCountsNonvoters), and let their next answers count.

        Source: verifyLeader.
        """
        running = frozenset(peer for peer, each in self.leader_state.repl_state.items() if each.running)
        latest = self.configurations.latest
        waiting = running if self.has(Flaw.VERIFY_COUNTS_NONVOTERS) else running & latest.voters
        self.verification = Verification(True, waiting=waiting, quorum_size=latest.quorum_size())
        for each in self.leader_state.repl_state.values():
            each.is_asked()

    def can_handle_verify(self) -> bool:
        """A leader's main loop takes an event: a quorum has answered, or one has said no."""
        return self.leads and self.verification.active and self.verification.is_decided

    @step(when=can_handle_verify)
    def handle_verify(self) -> None:
        """Tell the client that it leads, or follow, since a peer said no.

        Source: leaderLoop, verifyCh.
        """
        if self.verification.is_verified:
            self.verification = Verification()
        else:
            self.set_state(Role.FOLLOWER)
