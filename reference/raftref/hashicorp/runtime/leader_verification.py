"""Clients that ask whether a server still leads."""

from __future__ import annotations

from collections.abc import Hashable

from raftref.hashicorp.runtime.client_calls import RaftError
from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.runtime.peer_routines import PeerRoutines
from raftref.hashicorp.state import Role


class LeaderVerification:
    """Asks all peers on behalf of clients.

    Source: verifyCh, verifyLeader, verifyFuture.
    """

    def __init__(self, node: NodeContext, futures: Futures, peers: PeerRoutines) -> None:
        """Begin without clients; `futures` answers them."""
        self._node = node
        self._futures = futures
        self._peers = peers
        #: The clients that peers are being asked for, and those that come after them.
        self._asked: list[Hashable] = []
        self._waiting: list[Hashable] = []

    def ask(self, key: Hashable) -> None:
        """Let a client ask. Source: VerifyLeader."""
        self._waiting.append(key)

    def work(self) -> bool:
        """Answer the clients that peers were asked for, or ask for those that wait; return whether either was done."""
        server = self._node.server
        if server.verification.active:
            return server.verification.is_decided and self._answer()
        if not (self._waiting and self._node.take("VerifyLeader")):
            return False
        self._asked, self._waiting = self._waiting, []
        self._peers.notify()
        return True

    def _answer(self) -> bool:
        keys, self._asked = self._asked, []
        self._node.take("HandleVerify")
        error = None if self._node.server.role is Role.LEADER else RaftError.NOT_LEADER
        for key in keys:
            self._futures.answer(key, error)
        return True

    def end_leadership(self, refusal: RaftError) -> None:
        """Answer every client; those that wait get the refusal. Source: runLeader, the deferred part."""
        for key in self._asked:
            self._futures.answer(key, RaftError.LEADERSHIP_LOST)
        for key in self._waiting:
            self._futures.answer(key, refusal)
        self._asked, self._waiting = [], []
