"""Requests of clients, as a DLedger node takes them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from raftref.dledger.client_messages import (
    AppendEntryRequest,
    AppendEntryResponse,
    BatchAppendEntryRequest,
    ClientRequest,
    GetEntriesRequest,
    GetEntriesResponse,
    LeadershipTransferRequest,
    LeadershipTransferResponse,
    MetadataRequest,
    MetadataResponse,
    Refusal,
    RemotingFailure,
    ResponseCode,
)
from raftref.dledger.clients import DISK_FULL, LEADER_PENDING_FULL, REQUEST_WITH_EMPTY_BODYS
from raftref.dledger.messages import NO_TERM, NONE, Entry, Index, NodeId, TransferCall, Value
from raftref.dledger.remoting import SYSTEM_ERROR
from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.runtime.waiting_clients import WaitingClients
from raftref.dledger.storage.storage_config import MAX_ENTRY_SIZE
from raftref.runtime.driver import ClientAnswer

#: The refusals of a transfer that do not name the term. Source: DLedgerServer.handleLeadershipTransfer.
_REFUSED_TRANSFERS = frozenset(
    {ResponseCode.INCONSISTENT_TERM, ResponseCode.NOT_LEADER, ResponseCode.FALL_BEHIND_TOO_MUCH}
)


class ClientRequests:
    """Takes the requests of clients: answers them at once, or lets the client wait.

    Source: DLedgerServer.handleAppend, handleGet, handleMetadata, handleLeadershipTransfer.
    """

    def __init__(self, node: NodeContext, waiting: WaitingClients, addresses: Mapping[NodeId, str]) -> None:
        """Take the requests to a node, whose clients wait among others; `addresses` are those of all members."""
        self._node = node
        self._waiting = waiting
        self._addresses = dict(addresses)

    def handle(self, key: Hashable, request: ClientRequest) -> None:
        """Take a client's request, whose answer carries `key`."""
        match request:
            case AppendEntryRequest(dst=dst) | BatchAppendEntryRequest(dst=dst) if dst != self._node.node_id:
                self._node.put(ClientAnswer(key, self._refused_append(ResponseCode.UNKNOWN_MEMBER)))
            case _ if request.dst != self._node.node_id:
                self._refuse(key, ResponseCode.UNKNOWN_MEMBER)
            case AppendEntryRequest():
                self._append(key, (request.value,))
            case BatchAppendEntryRequest():
                self._append(key, request.values)
            case GetEntriesRequest():
                self._get(key, request.begin_index)
            case MetadataRequest():
                leader = self._node.server.member_state.leader_id
                self._node.put(ClientAnswer(key, MetadataResponse(leader, self._addresses)))
            case LeadershipTransferRequest():
                self._transfer(key, request)

    def _refuse(self, key: Hashable, code: ResponseCode) -> None:
        self._node.put(ClientAnswer(key, Refusal(code, self._node.server.member_state.leader_id)))

    # ---- Appending -----------------------------------------------------------------------------------

    def _append(self, key: Hashable, values: Sequence[Value]) -> None:
        """Append a client's entries and let it wait for the last one, or answer why not.

        Source: DLedgerServer.handleAppend.
        """
        node, server = self._node, self._node.server
        answer = self._refusal(values) or self._append_all_but_last(values) or self._size_refusal(values[-1])
        if answer is not None:
            node.put(ClientAnswer(key, answer))
            return
        self._waiting.await_append(key, server.member_state.curr_term, Index(server.ledger_store.end_index + 1))
        node.take("AppendAsLeader", values[-1])

    def _append_all_but_last(self, values: Sequence[Value]) -> AppendEntryResponse | RemotingFailure | None:
        """Append the first entries of a batch; those before one that is too long stay."""
        for value in values[:-1]:
            answer = self._size_refusal(value)
            if answer is not None:
                return answer
            # A node that pushes no batches appends each of a client's batch as it appends any entry.
            taken = self._node.take("AppendInBatch", value) or self._node.take("AppendAsLeader", value)
            assert taken, value
        return None

    def _refusal(self, values: Sequence[Value]) -> AppendEntryResponse | None:
        """Return the answer to entries that are not taken, None where they are.

        A full disk is none of the spec, and neither is a smaller limit of clients: these refusals are no steps.
        """
        server, settings = self._node.server, self._node.settings
        term, code = server.member_state.curr_term, server.refusal()
        if code in (None, DISK_FULL):
            if server.client_futures.is_full(term, settings.max_pending_requests_num):
                code = LEADER_PENDING_FULL
            elif not values:
                code = REQUEST_WITH_EMPTY_BODYS
        if code is None:
            return None
        if code != DISK_FULL:
            self._node.take("RefuseAppend", code)
        if code == LEADER_PENDING_FULL:
            return AppendEntryResponse(term=term, leader_id=self._node.node_id, code=ResponseCode[code])
        return self._refused_append(ResponseCode[code])

    def _size_refusal(self, value: Value) -> AppendEntryResponse | RemotingFailure | None:
        """Return the answer to an entry that is too long, None where it is not.

        Simplified: one that fits into no file leaves the files as they are, where DLedger begins another one.

        Source: DLedgerMmapFileStore.appendAsLeader, whose buffer overflows, or whose data file has not got the space.
        """
        store = self._node.server.ledger_store
        size = store.files.header(Entry(NO_TERM, value), NONE, 0).size
        if size > MAX_ENTRY_SIZE:
            return RemotingFailure(SYSTEM_ERROR, "java.nio.BufferOverflowException")
        if size > store.storage.mapped_file_size_for_entry_data:
            return self._refused_append(ResponseCode.DISK_ERROR)
        return None

    def _refused_append(self, code: ResponseCode) -> AppendEntryResponse:
        return AppendEntryResponse(leader_id=self._node.server.member_state.leader_id, code=code)

    # ---- Other requests ------------------------------------------------------------------------------

    def _get(self, key: Hashable, index: Index) -> None:
        """Return the entry at an index, committed or not. Source: DLedgerServer.handleGet."""
        store = self._node.server.ledger_store
        if not self._node.server.is_leader:
            self._refuse(key, ResponseCode.NOT_LEADER)
        elif not store.has_entry(index):
            self._refuse(key, ResponseCode[store.index_check(index) or "DISK_ERROR"])
        else:
            found = GetEntriesResponse((store.entry(index),), (store.files.header_at(index),))
            self._node.put(ClientAnswer(key, found))

    def _transfer(self, key: Hashable, request: LeadershipTransferRequest) -> None:
        """Begin to hand over. Source: DLedgerServer.handleLeadershipTransfer, at the leader."""
        server, transferee = self._node.server, request.transferee
        term = server.member_state.curr_term
        if transferee not in server.peers:
            self._refuse(key, ResponseCode.UNKNOWN_MEMBER)
        elif request.term == term and self._node.take("HandleLeadershipTransfer", transferee):
            self._waiting.await_transfer(key, TransferCall(transferee, term))
        else:
            code = ResponseCode[server.transfer_code(transferee, request.term)]
            if code in _REFUSED_TRANSFERS:
                self._refuse(key, code)
            else:
                self._node.put(ClientAnswer(key, LeadershipTransferResponse(code, term)))
