"""Clients that wait: for their entries to be committed, or for a leadership to be handed over."""

from __future__ import annotations

from collections.abc import Hashable

from raftref.dledger.client_messages import AppendEntryResponse, LeadershipTransferResponse, ResponseCode
from raftref.dledger.messages import NO_TERM, Index, Term, TransferCall
from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.steps import Effects
from raftref.runtime.driver import ClientAnswer, Seconds


class WaitingClients:
    """The clients of one node that have no answer yet.

    Source: DLedgerEntryPusher.pendingAppendResponsesByTerm.
    """

    def __init__(self, node: NodeContext) -> None:
        """Begin with none."""
        self._node = node
        #: The clients, by term and index of the entry, or of the last one of a batch.
        self._appends: dict[tuple[Term, Index], Hashable] = {}
        #: When each client's entry was stored.
        self._since: dict[tuple[Term, Index], Seconds] = {}
        self._transfers: dict[TransferCall, Hashable] = {}

    # ---- Entries -------------------------------------------------------------------------------------

    def await_append(self, key: Hashable, term: Term, index: Index) -> None:
        """Let a client wait for an entry, from now on."""
        self._appends[term, index], self._since[term, index] = key, self._node.now

    def carry_out(self, effects: Effects) -> None:
        """Answer the clients that a step answers."""
        for future in effects.acknowledged:
            self._answer_append(future.entry.term, future.index, ResponseCode.SUCCESS)
        for future, code in effects.failed:
            self._answer_append(future.entry.term, future.index, ResponseCode[code])

    def _answer_append(self, term: Term, index: Index, code: ResponseCode) -> None:
        self._since.pop((term, index), None)
        key = self._appends.pop((term, index), None)
        if key is not None:
            self._node.put(ClientAnswer(key, self._append_response(term, index, code)))

    def _append_response(self, term: Term, index: Index, code: ResponseCode) -> AppendEntryResponse:
        """Return the answer to a client: only a success has the position, and one whose term is over has no term.

        Source: QuorumAckChecker.doWork, checkResponseFuturesTimeout, checkResponseFuturesElapsed.
        """
        store, leader = self._node.server.ledger_store, self._node.server.member_state.leader_id
        pos = store.files.header_at(index).pos if code is ResponseCode.SUCCESS and store.has_entry(index) else -1
        named = NO_TERM if code is ResponseCode.TERM_CHANGED else term
        return AppendEntryResponse(index, pos, named, leader, code)

    def waits_in_another_term(self, term: Term) -> bool:
        """Return whether a client waits for an entry of another term."""
        return any(each != term for each, _ in self._appends)

    def oldest(self) -> Seconds | None:
        """Return since when the client waits that has waited longest; None where none waits."""
        return min(self._since.values(), default=None)

    # ---- Leaderships that are handed over ------------------------------------------------------------

    def await_transfer(self, key: Hashable, call: TransferCall) -> None:
        """Let a client wait for the end of a transfer."""
        self._transfers[call] = key

    def answer_transfer(self, call: TransferCall, code: ResponseCode) -> None:
        """Answer the client that waits for a transfer, if one does."""
        key = self._transfers.pop(call, None)
        if key is not None:
            term = self._node.server.member_state.curr_term
            self._node.put(ClientAnswer(key, LeadershipTransferResponse(code, term)))
