"""The clients whose entries are in the log, and are not committed, or not applied yet."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from raftref.hashicorp.runtime.client_calls import FutureResult, RaftError
from raftref.hashicorp.runtime.node_context import NodeContext
from raftref.hashicorp.values import NO_INDEX, NO_TERM, EntryType, Index, Term
from raftref.runtime.driver import ClientAnswer


class Futures:
    """The futures of one server, and its answers to clients.

    Source: logFuture, leaderState.inflight.
    """

    def __init__(self, node: NodeContext) -> None:
        """Begin with none."""
        self._node = node
        self._futures: dict[Index, tuple[Hashable, Term, EntryType]] = {}

    def answer(
        self, key: Hashable, error: str | None, index: Index = NO_INDEX, term: Term = NO_TERM, response: Any = None
    ) -> None:
        """Answer a client, and name the leader.

        Args:
            key: That of the client's request.
            error: The name of the error, or its words; None for a success.
            index: The index of the entry, or of the snapshot.
            term: Its term.
            response: What the FSM returned.
        """
        server = self._node.server
        leader = server.leader if server.is_up else None
        self._node.put(ClientAnswer(key, FutureResult(error, leader, index, term, response)))

    def add(self, key: Hashable, index: Index, type_: EntryType) -> None:
        """Let a client wait for the entry that is about to be appended."""
        self._futures[index] = key, self._node.server.current_term, type_

    def end(self, index: Index, error: str | None, response: Any = None) -> None:
        """Answer the client of an entry."""
        key, term, _ = self._futures.pop(index)
        self.answer(key, error, index, term, response)

    def end_applied(self, last: Index, responses: Mapping[Index, Any]) -> None:
        """Answer the clients of all that was applied. Source: runFSM."""
        for index in [each for each in self._futures if each <= last]:
            self.end(index, None, responses.get(index))

    def end_committed_changes(self, committed: Index) -> None:
        """Answer the clients of configurations that are committed: no FSM applies these. Source: processLogs."""
        for index, (_, _, type_) in list(self._futures.items()):
            if type_ is EntryType.CONFIGURATION and index <= committed:
                self.end(index, None)

    def end_leadership(self, committed: Index) -> None:
        """Answer the clients whose entries are not committed. Source: runLeader, the deferred part."""
        for index in [each for each in self._futures if each > committed]:
            self.end(index, RaftError.LEADERSHIP_LOST)

    def shut_down(self) -> None:
        """Answer every client. Source: ErrRaftShutdown."""
        for index in list(self._futures):
            self.end(index, RaftError.RAFT_SHUTDOWN)
