"""The driver of a DLedger node: the events that come to it, and the order in which its threads work.

DLedger has a thread for the elector, one for each dispatcher, one for the quorum checker, the entry handler, the state
machine and the flusher. Each has a module here, whose `work` takes a step that its thread would take at this moment.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from random import Random

from raftref.disks.disk import Disk
from raftref.disks.disk_space import DiskSpace
from raftref.dledger.choices import Config, Feature, Flaw
from raftref.dledger.client_messages import ClientRequest, Refusal, ResponseCode
from raftref.dledger.election_rules import HeartBeatCode, VoteCode
from raftref.dledger.messages import (
    CommitRequest,
    ElectionResponse,
    ElectionType,
    HeartBeatMessage,
    Message,
    NodeId,
    PushRequest,
    PushType,
    Response,
    TransferCall,
    TransferMessage,
    VoteMessage,
)
from raftref.dledger.runtime.client_requests import ClientRequests
from raftref.dledger.runtime.dispatcher_thread import DispatcherThread
from raftref.dledger.runtime.entry_handler_thread import EntryHandlerThread
from raftref.dledger.runtime.leader_positions import LeaderPositions, PositionedPush
from raftref.dledger.runtime.node_context import NodeContext, RunningServer
from raftref.dledger.runtime.peer_calls import PeerCalls
from raftref.dledger.runtime.quorum_check_thread import QuorumCheckThread
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.runtime.state_maintainer import StateMaintainer
from raftref.dledger.runtime.store_threads import StoreThreads
from raftref.dledger.runtime.waiting_clients import WaitingClients
from raftref.dledger.state import Role
from raftref.dledger.steps import Effects
from raftref.dledger.storage import FileLedgerStore
from raftref.dledger.storage.storage_config import DEFAULT_STORAGE, StorageConfig
from raftref.runtime.driver import Driver, NodeStep, NoReply, PeerReply, Seconds

#: The grain of a node that runs: messages wait in queues, votes are messages, clients are answered.
RUNNING = frozenset({Feature.REQUEST_QUEUES, Feature.PENDING_MAP, Feature.CLIENTS, Feature.VOTE_MESSAGES})

#: The most COMPAREs, TRUNCATEs and COMMITs that wait, and the most APPENDs; the next one has a place in any case. What
#: comes to a queue that is full is lost. Source: compareOrTruncateRequests; maxPendingSize, which bounds what a leader
#: has pushed, since writeRequestMap has no bound.
MAX_WAITING_REQUESTS, MAX_WAITING_APPENDS = 100, 1000

#: The times of DLedger.
DEFAULTS = Settings()

#: The actions by which an answer is taken, by its type.
_ANSWER_HANDLERS = {
    PushType.COMPARE: "HandleCompareResponse",
    PushType.TRUNCATE: "HandleTruncateResponse",
    PushType.APPEND: "HandleAppendResponse",
    ElectionType.VOTE: "HandleVoteResponse",
    ElectionType.HEARTBEAT: "HandleHeartBeatResponse",
    ElectionType.TRANSFER: "HandleTransferResponse",
}
#: The actions by which a request is taken that waits in no queue.
_REQUEST_HANDLERS = {
    ElectionType.VOTE: "HandleVote",
    ElectionType.HEARTBEAT: "HandleHeartBeat",
    ElectionType.TRANSFER: "WaitToTakeLeadership",
}


class DLedgerDriver(Driver):
    """Drives one `Server` on a disk.

    Source: DLedgerServer, DLedgerEntryPusher.
    """

    def __init__(
        self,
        node_id: NodeId,
        members: Mapping[NodeId, str],
        disk: Disk,
        config: Config,
        random: Random,
        recorded: Callable[[NodeStep], None],
        settings: Settings = DEFAULTS,
        storage: StorageConfig = DEFAULT_STORAGE,
        space: DiskSpace | None = None,
    ) -> None:
        """Make the driver of a node whose process has not come up yet.

        Args:
            node_id: The node, one of `members`.
            members: All nodes of the group, with the addresses that clients are given.
            disk: The disk with its files, or for them.
            config: Its flaws and its features; those in RUNNING are on in any case.
            random: Draws the intervals between votes.
            recorded: Called with each step, before anything that it asks for leaves the node.
            settings: Its times and limits.
            storage: The sizes of its files, and when old ones are deleted.
            space: The space of that disk; without it nothing expires, and the disk is never found full.
        """
        super().__init__(node_id, recorded)
        config = replace(config, features=config.features | RUNNING)
        self._positions = LeaderPositions()

        def new_store(choices: Config) -> FileLedgerStore:
            return FileLedgerStore(disk, choices, storage=storage, leader_position=self._positions.position)

        self.server = RunningServer(node_id, tuple(members), config, new_store)
        self.node = NodeContext(self, self.server, disk, random, settings, self._after_step)
        self._calls = PeerCalls(self.node)
        self._waiting = WaitingClients(self.node)
        self._client_requests = ClientRequests(self.node, self._waiting, members)
        self._maintainer = StateMaintainer(self.node)
        self._dispatchers = {peer: DispatcherThread(self.node, peer) for peer in self.server.peers}
        self._quorum_checker = QuorumCheckThread(self.node, self._waiting)
        self._entry_handler = EntryHandlerThread(self.node)
        self._store_threads = StoreThreads(self.node, space)
        #: How many requests waited in either queue after the last step, and whether one of them is gone since.
        self._counts = (0, 0)
        self._has_lost_requests = False

    @property
    def is_up(self) -> bool:
        """Whether the node runs."""
        return self.server.is_up

    # ---- Events --------------------------------------------------------------------------------------

    def start(self, now: Seconds) -> None:
        """Come up as a candidate, with term, vote, log and committed index from the disk."""
        self.now, self._counts = now, (0, 0)
        self.node.start()
        self._settle()

    def on_request(self, now: Seconds, key: Hashable, m: Message | PositionedPush) -> None:
        """Take a request of a peer. One that the node cannot take gets no answer.

        Source: DLedgerServer.handleVote, handleHeartBeat, handlePush, handleLeadershipTransfer.
        """
        self.now = now
        request = m.request if isinstance(m, PositionedPush) else m
        if request.src not in self.node.server.peers:
            self.node.put(PeerReply(key, self._answer_to_stranger(request)))
            return
        if isinstance(request, PushRequest) and not self._has_room(request):
            self.node.put(NoReply(key))
            return
        m = self._positions.received(m)
        if not isinstance(m, CommitRequest):
            self._calls.expect_answer(key, m)
        action = _REQUEST_HANDLERS[m.type] if isinstance(m.type, ElectionType) else "HandlePush"
        waiting = self._waiting_counts()
        if self.node.take(action, m):
            if isinstance(m, HeartBeatMessage):
                self._maintainer.hear_heart_beat(m)
        elif not isinstance(m, CommitRequest):
            self._calls.refuse(m)
        if isinstance(request, PushRequest):
            self._has_lost_requests |= self._waiting_counts() == waiting  # this one does not wait
        self._settle()
        if isinstance(m, CommitRequest):
            self._calls.confirm_commit(key, m)

    def _has_room(self, m: PushRequest) -> bool:
        """Return whether a request may wait; the second APPEND at an index never does, and is answered."""
        server = self.server
        if isinstance(m, CommitRequest) or m.type is not PushType.APPEND:
            return len(server.compare_or_truncate_requests) < MAX_WAITING_REQUESTS
        waiting, next_index = server.write_request_map, server.ledger_store.end_index + 1
        return len(waiting) < MAX_WAITING_APPENDS or m.index in waiting or m.index == next_index

    def _answer_to_stranger(self, m: Message) -> ElectionResponse | Refusal:
        """Refuse one who is no member: no step, as in the spec every sender is one.

        To a vote or a heartbeat the answer names the term. DLedger itself does not ask who pushes, or hands over.
        """
        if not isinstance(m, VoteMessage | HeartBeatMessage):
            return Refusal(ResponseCode.UNKNOWN_MEMBER)
        code = VoteCode.REJECT_UNKNOWN_LEADER if isinstance(m, VoteMessage) else HeartBeatCode.UNKNOWN_MEMBER
        state = self.node.server.member_state
        return ElectionResponse(m.type, self.node.node_id, m.src, state.curr_term, code)

    def on_answer(self, now: Seconds, number: int, m: Message) -> None:
        """Take the answer to a call, unless the node has given the call up."""
        self.now = now
        call = self._calls.end(number)
        if call is not None and not isinstance(call, CommitRequest):
            self._take_answer(m)
        self._settle()

    def _take_answer(self, m: Message) -> None:
        if not self.node.take(_ANSWER_HANDLERS[m.type], m):
            return
        if isinstance(m, Response):
            self._dispatchers[m.src].take_answer(m)
        elif isinstance(m, ElectionResponse) and m.type is ElectionType.TRANSFER:
            self._waiting.answer_transfer(TransferCall(m.src, m.term), ResponseCode[m.code])

    def on_failure(self, now: Seconds, number: int) -> None:
        """Give up a call: a dispatcher that waits for it begins again, after a rest."""
        self.now = now
        call = self._calls.end(number)
        if isinstance(call, TransferMessage):
            given_up = TransferCall(call.dst, call.term)
            if self.node.take("TransferTimeOut", given_up):
                self._waiting.answer_transfer(given_up, ResponseCode.NETWORK_ERROR)
        elif call is not None and isinstance(call.type, PushType):
            self._dispatchers[call.dst].fail_call(call.type)
        self._settle()

    def on_client(self, now: Seconds, key: Hashable, request: ClientRequest) -> None:
        """Take a client's request."""
        self.now = now
        self._client_requests.handle(key, request)
        self._settle()

    def on_disk_space(self, now: Seconds, *, is_full: bool) -> None:
        """Append nothing while the disk is full. Source: DLedgerMmapFileStore.CleanSpaceService."""
        self.now = now
        self._store_threads.learn_space(is_full=is_full)
        self._settle()

    def on_time(self, now: Seconds) -> None:
        """Do what is due."""
        self.now = now
        self._settle()

    def next_time(self) -> Seconds:
        """Return when the next timer runs out, or a thread goes on that was held up."""
        return min(self.node.timers.next_after(self.now), self.turns.next_after(self.now))

    # ---- Threads -------------------------------------------------------------------------------------

    def _after_step(self, role_before: Role, effects: Effects) -> None:
        """Begin a new role, send what a step sends, and answer the clients that it answers."""
        role = self.server.member_state.role
        if role is not role_before:
            self._maintainer.change_role(role)
            if role is Role.LEADER:
                for dispatcher in self._dispatchers.values():
                    dispatcher.begin_leadership()
        self._calls.carry_out(effects)
        self._waiting.carry_out(effects)
        before, self._counts = self._counts, self._waiting_counts()
        self._has_lost_requests |= any(now < then for now, then in zip(self._counts, before, strict=True))

    def _waiting_counts(self) -> tuple[int, int]:
        """Return how many requests wait in either queue."""
        return len(self.server.compare_or_truncate_requests), len(self.server.write_request_map)

    def _settle(self) -> None:
        """Let every thread do what it can do at this moment, until none can do more."""
        while True:
            done = self._turn("elector", self._maintainer.work) or self._turn("entry handler", self._entry_handler.work)
            done = self._dispatch() or done
            done = self._turn("quorum checker", self._quorum_checker.work) or done
            done = self._turn("state machine", self._quorum_checker.apply) or done
            done = self._turn("store", self._store_threads.work) or done
            if not done:
                break
        if self._has_lost_requests:
            self._has_lost_requests = False
            waiting = [*self.server.compare_or_truncate_requests, *self.server.write_request_map.values()]
            self._positions.keep(waiting)
            self._calls.keep(waiting)

    def _turn(self, thread: Hashable, work: Callable[[], bool]) -> bool:
        """Let a thread work, unless it is held up; return whether it took a step."""
        return self.turns.take(thread, self.now, work)

    def _dispatch(self) -> bool:
        """Let the dispatchers of all peers work."""
        if self.server.is_leader:
            return sum(self._turn(peer, each.work) for peer, each in self._dispatchers.items()) > 0
        if self.server.has(Flaw.DEPOSED_TRUNCATE):
            return sum(self._turn(peer, each.work_when_deposed) for peer, each in self._dispatchers.items()) > 0
        return False
