"""Requests to peers that have no answer yet, and the way of what a step sends."""

from __future__ import annotations

from collections.abc import Hashable

from raftref.hashicorp.messages import InstallSnapshotRequest, Message, Request, Response, RpcType
from raftref.hashicorp.runtime.fsm_routine import FsmRoutine
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.runtime.state_machine import SnapshotStream
from raftref.hashicorp.steps import Effects
from raftref.hashicorp.values import NodeId
from raftref.runtime.driver import PeerCall, PeerReply


class PeerCalls:
    """The calls of one server."""

    def __init__(self, node: NodeContext, fsm: FsmRoutine) -> None:
        """Begin with none; `fsm` has the state that goes with a snapshot."""
        self._node = node
        self._fsm = fsm
        #: Calls that have no answer yet, by their numbers.
        self._calls: dict[int, Request] = {}
        self._timeout_now_call: int | None = None
        #: The first call of the pipeline to each peer that has one.
        self._pipelines: dict[NodeId, int] = {}

    @property
    def timeout_now_waits(self) -> bool:
        """Whether a TimeoutNow has no answer yet, given up or not."""
        return self._timeout_now_call is not None

    def carry_out(self, effects: Effects, key: Hashable) -> None:
        """Give up the calls that a step gives up, and send what it sends; an answer goes to the caller with the key."""
        for abandoned in effects.abandoned:
            for number, call in list(self._calls.items()):
                if abandoned.peer in (None, call.dst) and abandoned.includes(call.type):
                    del self._calls[number]
            if abandoned.includes(RpcType.APPEND_ENTRIES):
                closed = [peer for peer in self._pipelines if abandoned.peer in (None, peer)]
                self._pipelines = {peer: each for peer, each in self._pipelines.items() if peer not in closed}
        for m in effects.sent:
            if isinstance(m, Response):
                self._node.put(PeerReply(key, m))
            elif isinstance(m, Request):
                self._call(m)

    def _call(self, m: Request) -> None:
        number = self._node.next_number()
        if m.awaited:
            self._calls[number] = m
        if m.type is RpcType.TIMEOUT_NOW:
            self._timeout_now_call = number
        sent: Message | SnapshotStream = m
        if isinstance(m, InstallSnapshotRequest):
            sent = SnapshotStream(m, self._fsm.snapshot_data(m.snapshot))
        timeout = self._node.settings.rpc_timeout if m.awaited else None
        self._node.put(PeerCall(number, m.dst, sent, timeout, self._stream(m, number)))

    def _stream(self, m: Request, number: int) -> int | None:
        """Return the pipeline that a call is of, if it is of one. Source: AppendEntriesPipeline."""
        pipelined = m.type is RpcType.APPEND_ENTRIES and m.awaited and self._node.server.replication(m.dst).has_pipeline
        return self._pipelines.setdefault(m.dst, number) if pipelined else None

    def end(self, number: int) -> Request | None:
        """Return the call that has ended, by an answer or without one; None where the server has given it up."""
        if number == self._timeout_now_call:
            self._timeout_now_call = None
        return self._calls.pop(number, None)

    def replication_call(self, peer: NodeId) -> int | None:
        """Return the call to a peer that its replication routine waits for, None if there is none."""
        types = (RpcType.APPEND_ENTRIES, RpcType.INSTALL_SNAPSHOT)
        return next((n for n, call in self._calls.items() if call.dst == peer and call.type in types), None)
