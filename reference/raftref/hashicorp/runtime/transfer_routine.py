"""The goroutine that transfers a leadership on behalf of a client."""

from __future__ import annotations

from collections.abc import Hashable

from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.runtime.peer_calls import PeerCalls
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import NodeId


class TransferRoutine:
    """Transfers the leadership of one server, and answers the client that asked for it.

    Source: leadershipTransfer; leaderLoop, leadershipTransferCh.
    """

    def __init__(self, node: NodeContext, futures: Futures, calls: PeerCalls) -> None:
        """Begin without a client; `futures` answers it, and among the `calls` is the one to the target."""
        self._node = node
        self._futures = futures
        self._calls = calls
        self._client: Hashable = None

    def begin(self, key: Hashable, to: NodeId | None) -> None:
        """Begin to hand over, or refuse to. Source: leaderLoop, leadershipTransferCh; pickServer."""
        node, server = self._node, self._node.server
        if to is None:
            voters = sorted(server.other_voters & server.repl_state.keys())
            to = max(voters, key=lambda peer: server.replication(peer).next_index, default=None)
        if to is None:
            self._futures.answer(key, "cannot find peer")
        elif not node.take("LeadershipTransfer", to):
            self._futures.answer(key, f"cannot find replication state for {to}")
        else:
            self._client = key
            self._limit()

    def take_answer(self) -> None:
        """Wait for the end of the leadership, once the target has said that it campaigns."""
        self._limit()

    def fail_call(self, peer: NodeId) -> None:
        """End the transfer, since its target could not be asked."""
        self._end_client(f"failed to make TimeoutNow RPC to {peer}")
        self._node.take("EndTransfer")

    def work(self) -> bool:
        """Ask the target to campaign, or end the transfer. Source: leadershipTransfer, and the routine beside it."""
        node, server = self._node, self._node.server
        if not server.transfer.in_progress:
            return False
        if server.role is not Role.LEADER or server.transfer.term != server.current_term:
            # The flag stays until the call is over (TransferFlagLeft).
            return not self._calls.timeout_now_waits and node.take("EndTransfer")
        if node.timers.is_due("transfer", node.now):
            self._end_client("leadership transfer timeout")
            return node.take("EndTransfer")
        return node.take("SendTimeoutNow")

    def end_leadership(self) -> None:
        """Answer the client that its leader leads no more."""
        self._end_client(None)
        self._node.timers.clear("transfer")

    def _limit(self) -> None:
        self._node.timers.set("transfer", self._node.now + self._node.settings.election_timeout)

    def _end_client(self, error: str | None) -> None:
        key, self._client = self._client, None
        if key is not None:
            self._futures.answer(key, error)
