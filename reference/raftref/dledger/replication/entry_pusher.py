"""What dispatchers, handler and quorum checker of one node share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from raftref.dledger.election.election_state import fresh_state
from raftref.dledger.member_state import MemberState, Role
from raftref.dledger.messages import NONE, AppendRequest, CommitRequest, Index, Message, NodeId, Request, Term
from raftref.dledger.replication.client_futures import ClientFutures
from raftref.dledger.replication.dispatcher_state import DispatcherState
from raftref.dledger.storage.ledger_store import LedgerStore
from raftref.dledger.switches import COARSE, PUBLISHED, Grain, Switches, Variant


@dataclass(frozen=True, slots=True)
class Check:
    """What a pass of the quorum checker has read: the term, and the index that a quorum stores in it."""

    term: Term
    index: Index


class EntryPusher:
    """The state of one node. The classes that act on it derive from this one.

    In DLedger they are inner classes of DLedgerEntryPusher and reach the same fields.

    `write_request_map` and `compare_or_truncate_requests` hold what was received and not handled, APPENDs by their
    index. `checking` is what a pass of the quorum checker has read. `client_futures` are the clients that wait.
    `told_index` is up to where the state machine shall apply, `last_applied_index` up to where it did.

    `peer_water_marks` tells for each member, itself included, up to where it is known to store the log; it is
    of the current term. `last_quorum_index` is what the last pass of the quorum checker found.

    Source: DLedgerEntryPusher.
    """

    def __init__(
        self,
        node_id: NodeId,
        members: Sequence[NodeId],
        switches: Switches = PUBLISHED,
        new_store: Callable[[Switches], LedgerStore] = LedgerStore,
        grain: Grain = COARSE,
    ) -> None:
        """Make a node that was never started before.

        Args:
            node_id: This node, one of `members`.
            members: All nodes of the group.
            switches: The form of the rules that have two.
            new_store: Makes its store, told the form of its rules.
            grain: How fine its steps are.

        Raises:
            ValueError: The node is not a member, or a member is named twice.
        """
        if node_id not in members or len(set(members)) != len(members):
            raise ValueError(f"{node_id!r} must be one of the members, each named once: {list(members)}")
        self.node_id = node_id
        self.members = tuple(members)
        self.peers = tuple(member for member in members if member != node_id)
        self.switches = switches
        self.grain = grain
        self.member_state = MemberState()
        self.ledger_store = new_store(switches)
        self.forget()

    def forget(self) -> None:
        """Lose what a process keeps in memory only: queues, dispatchers, watermarks, clients, elections."""
        self.dispatchers = {peer: DispatcherState() for peer in self.peers}
        self.last_quorum_index = NONE
        self.checking: Check | None = None
        self.client_futures = ClientFutures()
        self.told_index = NONE
        self.last_applied_index = NONE
        self.write_request_map: dict[Index, AppendRequest] = {}
        self.compare_or_truncate_requests: list[Request | CommitRequest] = []
        self.election = fresh_state(self.members)
        self.clear_water_marks()

    def clear_water_marks(self) -> None:
        """Know nothing any more of what the members store, as in every new term.

        Source: DLedgerEntryPusher.checkTermForWaterMark; QuorumAckChecker.doWork on [TermChange].
        """
        self.peer_water_marks = dict.fromkeys(self.members, NONE)

    def update_peer_water_mark(self, peer: NodeId, term: Term, index: Index) -> None:
        """Note that a member stores the log up to `index`; a watermark only grows.

        What is known of another term than the current one is not noted.

        Args:
            peer: The member, which may be this node.
            term: The term in which it was learnt.
            index: Up to where the log is stored.

        Source: DLedgerEntryPusher.updatePeerWaterMark.
        """
        if term == self.member_state.curr_term and self.peer_water_marks[peer] < index:
            self.peer_water_marks[peer] = index

    def update_committed_index(self, term: Term, index: Index) -> None:
        """Commit up to an index that was heard of, as far as the store does, and tell the state machine.

        Args:
            term: The term in which it was told.
            index: The index that is committed, -1 for none.

        Source: DLedgerEntryPusher.updateCommittedIndex.
        """
        self.ledger_store.update_committed_index(term, index, curr_term=self.member_state.curr_term)
        if self.grain.applies:
            published = self.switches.apply_unclamped is Variant.PUBLISHED
            told = index if published else self.ledger_store.committed_index
            self.told_index = max(self.told_index, told)

    def is_addressed(self, m: Message) -> bool:
        """Tell whether a message is for this node.

        Source: DLedgerServer, its check of remoteId before each handler.
        """
        return m.dst == self.node_id

    @property
    def vote_messages(self) -> bool:
        """Whether elections are told message by message."""
        return self.grain.vote_messages

    @property
    def is_leader(self) -> bool:
        """Whether the node leads."""
        return self.member_state.role is Role.LEADER

    @property
    def is_up(self) -> bool:
        """Whether the process is running."""
        return self.member_state.is_up
