"""The routines that a leader runs for each peer: one sends the log, the other heartbeats."""

from __future__ import annotations

from raftref.hashicorp.core.state import CampaignPhase, Loop
from raftref.hashicorp.core.step import step
from raftref.hashicorp.leader.follower_replication import NO_REPLICATION, FollowerReplication
from raftref.hashicorp.leader.leader import Leader
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InstallSnapshotRequest,
    InstallSnapshotResponse,
    Response,
    RpcType,
)
from raftref.hashicorp.stores import LogNotFoundError
from raftref.hashicorp.switches import Feature, Flaw
from raftref.hashicorp.values import NO_PLACE, Index, NodeId, Place, Term, Zombie


class Replication(Leader):
    """A leader that brings the logs of its peers in line with its own.

    Source: replicate, replicateTo, sendLatestSnapshot, heartbeat.
    """

    def replication(self, peer: NodeId) -> FollowerReplication:
        """Return what is kept for a peer; where there are no routines for it, what begins."""
        return self.leader_state.repl_state.get(peer, NO_REPLICATION)

    # ---- What a request has --------------------------------------------------------------------------

    def _previous(self, next_index: Index) -> Place:
        """Return what comes before the next entry; raise LogNotFoundError.

        Source: setPreviousLog.
        """
        if next_index == 1:
            return NO_PLACE
        previous = Index(next_index - 1)
        if previous == self.last_snapshot.index:
            return self.last_snapshot
        return Place(previous, self.term_at(previous))

    def most(self, next_index: Index) -> int:
        """Return how many entries a request can have.

        Source: setNewLogs.
        """
        return max(0, min(self.config.max_append_entries, self.last_log.index - next_index + 1))

    def can_append(self, next_index: Index, count: int) -> bool:
        """Tell whether `count` entries from an index on are in the log, and what comes before them is known."""
        try:
            self._previous(next_index)
        except LogNotFoundError:
            return False
        return self.has_range(next_index, Index(next_index + count - 1))

    def must_send_snapshot(self, next_index: Index) -> bool:
        """Tell whether an entry that should be sent is gone, and there is a snapshot."""
        return not self.can_append(next_index, self.most(next_index)) and bool(self.stores.snapshots.all_snapshots())

    def _append_entries_request(
        self, peer: NodeId, term: Term, next_index: Index, count: int, *, awaited: bool
    ) -> AppendEntriesRequest:
        """Return the request with `count` entries from an index on.

        Source: setupAppendEntries.
        """
        previous = self._previous(next_index)
        entries = tuple(self.log[Index(index)] for index in range(next_index, next_index + count))
        return AppendEntriesRequest(
            self.node_id, peer, term, previous.index, previous.term, entries, self.commit_index, awaited
        )

    # ---- Sending -------------------------------------------------------------------------------------

    def _is_idle(self, peer: NodeId) -> bool:
        replication = self.replication(peer)
        return self.is_up and replication.running and replication.awaiting is None

    def can_replicate_to(self, peer: NodeId, count: int) -> bool:
        """The routine runs and waits for nothing, and the entries are there, as many as a request can have."""
        next_index = self.replication(peer).next_index
        return self._is_idle(peer) and 0 <= count <= self.most(next_index) and self.can_append(next_index, count)

    @step(when=can_replicate_to)
    def replicate_to(self, peer: NodeId, count: int) -> None:
        """Send a peer entries from nextIndex on.

        Args:
            peer: Whom.
            count: How many: the routine was told the end of the log when it was woken, and there may be more by now.

        Source: replicateTo, setupAppendEntries.
        """
        replication = self.replication(peer)
        first = replication.next_index
        self.send(self._append_entries_request(peer, replication.current_term, first, count, awaited=True))
        replication.sends(RpcType.APPEND_ENTRIES, Index(first + count - 1 if count else 0))

    def can_send_latest_snapshot(self, peer: NodeId) -> bool:
        """The routine runs and waits for nothing, and must send a snapshot."""
        return self._is_idle(peer) and self.must_send_snapshot(self.replication(peer).next_index)

    @step(when=can_send_latest_snapshot)
    def send_latest_snapshot(self, peer: NodeId) -> None:
        """Send a peer the latest snapshot, since an entry that it needs is gone.

        Source: sendLatestSnapshot.
        """
        replication = self.replication(peer)
        snapshot = self.stores.snapshots.all_snapshots()[0]
        self.send(InstallSnapshotRequest(self.node_id, peer, replication.current_term, snapshot))
        replication.sends(RpcType.INSTALL_SNAPSHOT, snapshot.index)

    def can_heartbeat(self, peer: NodeId) -> bool:
        """The routine runs, and its last heartbeat was answered or given up."""
        replication = self.replication(peer)
        return self.has(Feature.HEARTBEATS) and self.is_up and replication.running and not replication.beating

    @step(when=can_heartbeat)
    def heartbeat(self, peer: NodeId) -> None:
        """Send a peer a heartbeat.

        Source: heartbeat.
        """
        replication = self.replication(peer)
        self.send(HeartbeatRequest(self.node_id, peer, replication.current_term))
        replication.beating = True

    # ---- Answers -------------------------------------------------------------------------------------

    def _notify_all(self, peer: NodeId, leader: bool, *, old: bool = False) -> None:
        """Tell a client that asked VerifyLeader what a peer says; what was sent before it asked proves nothing.

        Source: followerReplication.notifyAll.
        """
        if not old or self.has(Flaw.VERIFY_COUNTS_OLD_ACKS):
            self.verification.vote(peer, leader)

    def _handle_stale_term(self, peer: NodeId) -> None:
        """End the routine, and tell the main loop.

        Source: handleStaleTerm.
        """
        self._notify_all(peer, False)
        self.replication(peer).running = False
        self.leader_state.step_down = True

    def _can_take(self, m: Response) -> bool:
        return self.is_up and self.is_addressed(m) and m.src in self.leader_state.repl_state

    def can_handle_append_entries_response(self, m: AppendEntriesResponse) -> bool:
        """The answer is for this server."""
        return self._can_take(m)

    @step(when=can_handle_append_entries_response)
    def handle_append_entries_response(self, m: AppendEntriesResponse) -> None:
        """Learn what a peer stores, or go back to where it may agree.

        Source: replicateTo, updateLastAppended.
        """
        self.take_answer(m)
        replication = self.replication(m.src)
        sent_index, old = replication.is_answered()
        if m.term > replication.current_term:
            self._handle_stale_term(m.src)
        elif not m.success:
            replication.next_index = Index(max(min(replication.next_index - 1, m.last_log + 1), 1))
        else:
            if sent_index:
                replication.next_index = Index(sent_index + 1)
                self.leader_state.commitment.match(m.src, sent_index)
            self._notify_all(m.src, True, old=old)

    def can_handle_install_snapshot_response(self, m: InstallSnapshotResponse) -> bool:
        """The answer is for this server."""
        return self._can_take(m)

    @step(when=can_handle_install_snapshot_response)
    def handle_install_snapshot_response(self, m: InstallSnapshotResponse) -> None:
        """Learn that a peer has the snapshot.

        Source: sendLatestSnapshot.
        """
        self.take_answer(m)
        replication = self.replication(m.src)
        sent_index, old = replication.is_answered()
        if m.term > replication.current_term:
            self._handle_stale_term(m.src)
        elif m.success:
            replication.next_index = Index(sent_index + 1)
            self.leader_state.commitment.match(m.src, sent_index)
            self._notify_all(m.src, True, old=old)

    def can_handle_heartbeat_response(self, m: HeartbeatResponse) -> bool:
        """The answer is for this server."""
        return self._can_take(m)

    @step(when=can_handle_heartbeat_response)
    def handle_heartbeat_response(self, m: HeartbeatResponse) -> None:
        """Learn whether a peer is still in this term. A higher term alone does not end the leadership.

        Source: heartbeat, notifyAll.
        """
        self.take_answer(m)
        old = self.replication(m.src).is_beaten()
        self._notify_all(m.src, m.success, old=old)

    def can_rpc_error(self, peer: NodeId, type: RpcType) -> bool:
        """A call of this type to the peer waits for its answer."""
        match type:
            case RpcType.REQUEST_VOTE:
                return self.campaign.phase is CampaignPhase.VOTE and self.loop is Loop.SELECT
            case RpcType.REQUEST_PRE_VOTE:
                return self.campaign.phase is CampaignPhase.PREVOTE
            case RpcType.HEARTBEAT:
                return self.replication(peer).beating
            case _:
                return self.replication(peer).awaiting is type

    @step(when=can_rpc_error, name="RPCError")
    def rpc_error(self, peer: NodeId, type: RpcType) -> None:
        """Give up a call: it got no answer in time, or an error.

        Source: replicateTo, sendLatestSnapshot, heartbeat, electSelf, preElectSelf.
        """
        self.effects.abandon({type}, peer)
        if type is RpcType.HEARTBEAT:
            self.replication(peer).is_beaten()
        elif type in (RpcType.APPEND_ENTRIES, RpcType.INSTALL_SNAPSHOT):
            self.replication(peer).is_answered()

    # ---- Routines of a leadership that is over ------------------------------------------------------

    def can_zombie_replicate_to(self, zombie: Zombie, count: int) -> bool:
        """There is such a routine, and the entries are there, as many as a request can have."""
        fits = 0 <= count <= self.most(zombie.next_index)
        return zombie in self.zombies and fits and self.can_append(zombie.next_index, count)

    @step(when=can_zombie_replicate_to)
    def zombie_replicate_to(self, zombie: Zombie, count: int) -> None:
        """Send entries of the log as it is now, in the term of a leadership that is over. Nobody awaits the answer.

        Source: replicateTo, before the routine looks at stopCh.
        """
        request = self._append_entries_request(zombie.peer, zombie.term, zombie.next_index, count, awaited=False)
        self.send(request)

    def can_zombie_send_snapshot(self, zombie: Zombie) -> bool:
        """There is such a routine, and it must send a snapshot."""
        return zombie in self.zombies and self.must_send_snapshot(zombie.next_index)

    @step(when=can_zombie_send_snapshot)
    def zombie_send_snapshot(self, zombie: Zombie) -> None:
        """Send the latest snapshot in the term of a leadership that is over. Nobody awaits the answer.

        Source: sendLatestSnapshot, likewise.
        """
        snapshot = self.stores.snapshots.all_snapshots()[0]
        self.send(InstallSnapshotRequest(self.node_id, zombie.peer, zombie.term, snapshot, awaited=False))

    def can_zombie_heartbeat(self, zombie: Zombie) -> bool:
        """There is such a routine."""
        return self.has(Feature.HEARTBEATS) and zombie in self.zombies

    @step(when=can_zombie_heartbeat)
    def zombie_heartbeat(self, zombie: Zombie) -> None:
        """Send a heartbeat in the term of a leadership that is over. Nobody awaits the answer.

        Source: heartbeat, which goes on until replicate closes stopHeartbeat; that may wait for an answer.
        """
        self.send(HeartbeatRequest(self.node_id, zombie.peer, zombie.term, awaited=False))
