"""The main loop of a leader: it commits, appends what clients ask for, and gives up a leadership without a quorum."""

from __future__ import annotations

from collections.abc import Hashable

from raftref.hashicorp.runtime.client_calls import RaftError
from raftref.hashicorp.runtime.configuration_changes import ConfigurationChanges
from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.leader_verification import LeaderVerification
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.runtime.peer_routines import PeerRoutines
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.values import ClientLog, Index


class LeaderLoop:
    """Decides what a leader does next.

    Source: runLeader, leaderLoop.
    """

    def __init__(
        self,
        node: NodeContext,
        futures: Futures,
        peers: PeerRoutines,
        verification: LeaderVerification,
        changes: ConfigurationChanges,
    ) -> None:
        """Begin without clients; `futures` answers them."""
        self._node = node
        self._futures = futures
        self._peers = peers
        self._verification = verification
        self._changes = changes
        #: Commands and barriers that wait for this loop, with their clients.
        self._applies: list[tuple[Hashable, ClientLog]] = []

    def begin_role(self) -> None:
        """Begin to check the lease, or stop to."""
        node = self._node
        if node.server.role is Role.LEADER:
            node.timers.set("lease", node.now + node.settings.leader_lease_timeout)
        else:
            node.timers.clear("lease")

    def apply(self, key: Hashable, log: ClientLog) -> None:
        """Let a command or a barrier wait for this loop. Source: Apply, Barrier."""
        self._applies.append((key, log))

    def work(self) -> bool:
        """Commit, append, change the group, verify, or give up the leadership. Source: leaderLoop."""
        node = self._node
        if node.take("StepDown") or node.take("ProcessLogs") or self._verification.work() or self._changes.work():
            return True
        return self.dispatch() or (node.timers.is_due("lease", node.now) and self._check_leader_lease())

    def dispatch(self) -> bool:
        """Append what clients have asked for together. Source: leaderLoop, applyCh."""
        most = self._node.settings.max_append_entries + 1
        asked, self._applies = self._applies[:most], self._applies[most:]
        if not asked:
            return False
        first = self._node.server.last_index + 1
        for index, (key, log) in enumerate(asked, start=first):
            self._futures.add(key, Index(index), log.type)
        if not self._node.take("DispatchLogs", tuple(log for _, log in asked), DONE):
            # A transfer was asked for together with them.
            for index in range(first, first + len(asked)):
                self._futures.end(Index(index), RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS)
        return True

    def _check_leader_lease(self) -> bool:
        """Step down unless a quorum of the voters was heard of in time.

        A voter without a routine is one of a configuration that this leader has not appended: another leader of its
        term has sent it a snapshot. There the library dereferences nil.

        Source: checkLeaderLease.
        """
        node, server, lease = self._node, self._node.server, self._node.settings.leader_lease_timeout
        contacts = [self._peers.contact(peer) for peer in sorted(server.other_voters)]
        if None in contacts:
            return node.panic("CheckLeaderLease")
        ages = [node.now - contact for contact in contacts if contact is not None]
        recent = [age for age in ages if age <= lease]
        quorum = server.configurations.latest.quorum_size()
        if len(recent) + server.is_voter < quorum and node.take("CheckLeaderLease"):
            return True
        wait = max(lease - max(recent, default=0.0), node.settings.min_check_interval)
        node.timers.set("lease", node.now + wait)
        return False

    def end_leadership(self, refusal: RaftError) -> None:
        """Refuse those that wait. Source: runLeader, the deferred part."""
        self._verification.end_leadership(refusal)
        for key, _ in self._applies:
            self._futures.answer(key, refusal)
        self._applies = []
        self._changes.end_leadership(refusal)
