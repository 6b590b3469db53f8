"""Requests of clients, as a DLedger node takes them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

from raftref.dledger.client_messages import (
    AppendEntryRequest,
    BatchAppendEntryRequest,
    ClientRequest,
    GetEntriesRequest,
    GetEntriesResponse,
    LeadershipTransferRequest,
    LeadershipTransferResponse,
    MetadataRequest,
    MetadataResponse,
    Refusal,
    ResponseCode,
)
from raftref.dledger.clients import REQUEST_WITH_EMPTY_BODYS
from raftref.dledger.messages import Index, NodeId, TransferCall, Value
from raftref.dledger.runtime.node_context import NodeContext
from raftref.dledger.runtime.waiting_clients import WaitingClients
from raftref.runtime.driver import ClientAnswer


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
        if request.dst != self._node.node_id:
            self._refuse(key, ResponseCode.UNKNOWN_MEMBER)
            return
        match request:
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

    def _append(self, key: Hashable, values: Sequence[Value]) -> None:
        """Append a client's entries, or refuse them. Source: DLedgerServer.handleAppend."""
        node, server = self._node, self._node.server
        code = server.refusal() or (None if values else REQUEST_WITH_EMPTY_BODYS)
        if code is not None:
            node.take("RefuseAppend", code)
            self._refuse(key, ResponseCode[code])
            return
        for value in values[:-1]:
            node.take("AppendInBatch", value)
        self._waiting.await_append(key, server.member_state.curr_term, Index(server.ledger_store.end_index + 1))
        node.take("AppendAsLeader", values[-1])

    def _get(self, key: Hashable, index: Index) -> None:
        """Return the entry at an index, committed or not. Source: DLedgerServer.handleGet."""
        store = self._node.server.ledger_store
        if not self._node.server.is_leader:
            self._refuse(key, ResponseCode.NOT_LEADER)
        elif not store.has_entry(index):
            self._refuse(key, ResponseCode.INDEX_OUT_OF_RANGE)
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
            self._node.put(ClientAnswer(key, LeadershipTransferResponse(code, term)))
