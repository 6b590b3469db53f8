"""Requests of clients, as a server takes them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Hashable
from operator import attrgetter

from raftref.hashicorp.runtime.client_calls import (
    ApplyRequest,
    BarrierRequest,
    ClientRequest,
    ConfigurationChangeRequest,
    LeadershipTransferRequest,
    RaftError,
    ReadRequest,
    ReadResult,
    SnapshotRequest,
    StateRequest,
    StateResult,
    StatsRequest,
    StatsResult,
    VerifyLeaderRequest,
)
from raftref.hashicorp.runtime.configuration_changes import ConfigurationChanges
from raftref.hashicorp.runtime.follower_loop import FollowerLoop
from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.leader_loop import LeaderLoop
from raftref.hashicorp.runtime.leader_verification import LeaderVerification
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.runtime.snapshot_routine import SnapshotRoutine
from raftref.hashicorp.runtime.transfer_routine import TransferRoutine
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import ClientLog, Entry, EntryType, Index
from raftref.runtime.driver import NEVER, ClientAnswer


class ClientRequests:
    """Takes the requests of clients: refuses them at once, or passes them to the routine that will answer.

    Source: Apply, Barrier, VerifyLeader, AddVoter, LeadershipTransfer, Snapshot, Stats.
    """

    def __init__(
        self,
        node: NodeContext,
        futures: Futures,
        follower: FollowerLoop,
        leader: LeaderLoop,
        verification: LeaderVerification,
        changes: ConfigurationChanges,
        transfer: TransferRoutine,
        snapshots: SnapshotRoutine,
    ) -> None:
        """Take the requests to a server, given its routines."""
        self._node = node
        self._futures = futures
        self._follower = follower
        self._leader = leader
        self._verification = verification
        self._changes = changes
        self._transfer = transfer
        self._snapshots = snapshots

    def handle(self, key: Hashable, request: ClientRequest) -> None:
        """Take a client's request, whose answer carries `key`."""
        server = self._node.server
        match request:
            case StatsRequest():
                self._node.put(ClientAnswer(key, self._stats()))
            case ReadRequest(index=index) if server.is_up:
                self._node.put(ClientAnswer(key, ReadResult(index, self._applied_at(index))))
            case StateRequest() if server.is_up:
                self._node.put(ClientAnswer(key, StateResult(server.fsm.last, tuple(server.fsm.applied))))
            case _ if not server.is_up:
                self._futures.answer(key, RaftError.RAFT_SHUTDOWN)
            case SnapshotRequest():
                self._snapshots.ask(key)
            case LeadershipTransferRequest(to=to) if to == self._node.node_id:
                self._futures.answer(key, "cannot transfer leadership to itself")
            case _ if not server.is_in_leader_loop:
                self._futures.answer(key, RaftError.NOT_LEADER)
            case _:
                self._handle_as_leader(key, request)

    def _handle_as_leader(self, key: Hashable, request: ClientRequest) -> None:
        match request:
            case VerifyLeaderRequest():
                self._verification.ask(key)
            case ConfigurationChangeRequest():
                self._changes.ask(key, request)
            case _ if self._node.server.transfer.in_progress:
                self._futures.answer(key, RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS)
            case ApplyRequest(value=value):
                self._leader.apply(key, ClientLog(EntryType.COMMAND, value))
            case BarrierRequest():
                self._leader.apply(key, ClientLog(EntryType.BARRIER))
            case LeadershipTransferRequest(to=to):
                self._transfer.begin(key, to)

    def _applied_at(self, index: Index) -> Entry | None:
        """Return the command at an index, if the FSM has applied one: they are in the order of their indexes."""
        applied = self._node.server.fsm.applied
        at = bisect_left(applied, index, key=attrgetter("index"))
        return applied[at].entry if at < len(applied) and applied[at].index == index else None

    def _stats(self) -> StatsResult:
        server, contact = self._node.server, self._follower.last_contact
        since = None if contact == -NEVER else self._node.now - contact
        return StatsResult(
            state=server.role,
            term=server.current_term,
            leader=server.leader,
            last_log=server.last_log,
            commit_index=server.commit_index,
            applied_index=server.last_applied,
            fsm_pending=len(server.fsm.queue),
            last_snapshot=server.last_snapshot,
            latest_configuration=server.configurations.latest,
            latest_configuration_index=server.configurations.latest_index,
            last_contact=0.0 if server.role is Role.LEADER else since,
        )
