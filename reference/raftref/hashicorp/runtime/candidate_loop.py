"""The main loop of a candidate: it asks for votes, and asks anew once there were too few for too long."""

from __future__ import annotations

from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import CampaignPhase, Role
from raftref.hashicorp.steps import DONE


class CandidateLoop:
    """Decides when a candidate campaigns.

    Source: runCandidate.
    """

    def __init__(self, node: NodeContext) -> None:
        """Campaign for a server."""
        self._node = node

    def campaign(self) -> bool:
        """Ask for pre-votes, or for votes. Source: runCandidate, its first lines."""
        return self._node.take("PreElectSelf") or self._node.take("ElectSelf", self._node.server.other_voters, DONE)

    def after_step(self, before: Server) -> None:
        """Let a campaign that begins with a step end in time. Source: runCandidate, electionTimer."""
        node, phase = self._node, self._node.server.campaign.phase
        if phase is not before.campaign.phase and phase is not CampaignPhase.NONE:
            node.timers.set("election", node.now + node.between(node.settings.election_timeout))

    def begin_role(self) -> None:
        """Stop the campaign in another role."""
        if self._node.server.role is not Role.CANDIDATE:
            self._node.timers.clear("election")

    def work(self) -> bool:
        """Begin the campaign anew once there were too few votes for too long. Source: runCandidate, electionTimer."""
        return self._node.timers.is_due("election", self._node.now) and self._node.take("ElectionTimeout")
