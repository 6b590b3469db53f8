"""The driver of a DLedger node: its threads' loops, as what is done on each event and when a timer runs out.

DLedger has a thread for the elector, one for each dispatcher, one for the quorum checker, the entry handler, the state
machine and the flusher. Each is a method here that takes every step that its thread would take at this moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from raftref.disks.disk import Disk
from raftref.dledger.choices import Config, Feature, Flaw
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
    ResponseCode,
)
from raftref.dledger.clients import REQUEST_WITH_EMPTY_BODYS
from raftref.dledger.election_rules import HeartBeatCode, HeartBeatOutcome, VoteCode
from raftref.dledger.messages import (
    NONE,
    BatchRequest,
    Code,
    CommitRequest,
    ElectionResponse,
    ElectionType,
    HeartBeatMessage,
    Index,
    Message,
    NodeId,
    PushType,
    Request,
    Response,
    Term,
    TransferCall,
    TransferMessage,
    Value,
    VoteMessage,
)
from raftref.dledger.quorum import is_quorum
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.state import NOBODY_WAITS, Role
from raftref.dledger.steps import Abandoned, Effects
from raftref.dledger.storage import FileLedgerStore, TermFile
from raftref.dledger.storage.entry_coder import EntryHeader
from raftref.dledger.storage.storage_config import DEFAULT_STORAGE, StorageConfig
from raftref.runtime.driver import (
    DISK_FULL,
    DISK_HAS_SPACE,
    START,
    ClientAnswer,
    Driver,
    NodeStep,
    PeerCall,
    PeerReply,
    Seconds,
    Timers,
)

#: The grain of a node that runs: messages wait in queues, votes are messages, clients are answered.
RUNNING = frozenset({Feature.REQUEST_QUEUES, Feature.PENDING_MAP, Feature.CLIENTS, Feature.VOTE_MESSAGES})

#: The times of DLedger.
DEFAULTS = Settings()

#: The actions by which a follower handles what waits in its queues, by the type of the request.
_HANDLERS = {
    PushType.COMPARE: ("ClearCompareOrTruncateRequests", "HandleDoCompare"),
    PushType.TRUNCATE: ("ClearCompareOrTruncateRequests", "HandleDoTruncate"),
    PushType.APPEND: ("HandleDoAppend", "HandleDoBatchAppend"),
    PushType.COMMIT: ("ClearCompareOrTruncateRequests", "HandleDoCommit"),
}
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


class RunningServer(Server):
    """A server whose store is files."""

    ledger_store: FileLedgerStore


class DLedgerDriver(Driver):
    """Drives one `Server` on a disk.

    Source: DLedgerServer, DLedgerLeaderElector.StateMaintainer, DLedgerEntryPusher.
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
    ) -> None:
        """Make the driver of a node whose process has not come up yet.

        Args:
            node_id: The node, one of `members`.
            members: All nodes of the group, with the addresses that clients are given.
            disk: The disk with its files, or for them.
            config: Its flaws and its features; those in RUNNING are on in any case.
            random: Draws the intervals between votes.
            recorded: Called with each step, before anything that it asks for leaves the node.
            settings: Its times.
            storage: The sizes of its files.
        """
        super().__init__(node_id, recorded)
        config = replace(config, features=config.features | RUNNING)
        self.server = RunningServer(
            node_id, tuple(members), config, lambda choices: FileLedgerStore(disk, choices, storage=storage)
        )
        self._addresses = dict(members)
        self.settings = settings
        self._random = random
        self._term_file = TermFile(disk, config)
        self._durable: tuple[Term, NodeId | None] = (Term(0), None)
        self._timers = Timers()
        #: Calls that have no answer yet, by their numbers.
        self._calls: dict[int, Message] = {}
        #: The keys of requests that have no answer yet, in their order.
        self._unanswered: dict[Hashable, deque[Hashable]] = {}
        #: The clients that wait, by term and index of the entry.
        self._clients: dict[tuple[Term, Index], Hashable] = {}
        self._transfers: dict[TransferCall, Hashable] = {}
        #: When each client's entry was stored.
        self._appended: dict[tuple[Term, Index], Seconds] = {}
        self._last_leader_heart_beat: Seconds = 0.0
        self._last_success: Seconds | None = None

    @property
    def is_up(self) -> bool:
        """Whether the node runs."""
        return self.server.is_up

    # ---- Events --------------------------------------------------------------------------------------

    def start(self, now: Seconds) -> None:
        """Come up as a candidate, with term, vote, log and committed index from the disk.

        Source: DLedgerServer.startup, MemberState.loadTerm, DLedgerMmapFileStore.startup.
        """
        self.now = now
        server = self.server
        server.crash()
        self._durable = self._term_file.load()
        server.member_state.curr_term, server.member_state.curr_vote_for = self._durable
        server.restart(server.ledger_store.resurrectable_count())
        self.record_step(START, {}, server.observe())
        self._settle()

    def on_request(self, now: Seconds, key: Hashable, m: Message) -> None:
        """Take a request of a peer. One that the node cannot take gets no answer.

        Source: DLedgerServer.handleVote, handleHeartBeat, handlePush, handleLeadershipTransfer.
        """
        self.now = now
        if not isinstance(m, CommitRequest):
            self._unanswered.setdefault(_question(m), deque()).append(key)
        if isinstance(m, VoteMessage | HeartBeatMessage | TransferMessage):
            self.take(_REQUEST_HANDLERS[m.type], m)
            if isinstance(m, HeartBeatMessage) and self._follows(m.src, m.term):
                self._last_leader_heart_beat = now
        else:
            self.take("HandlePush", m)
        self._settle()
        if isinstance(m, CommitRequest):  # nobody looks at the answer, but the caller logs its absence
            store = self.server.ledger_store
            echo = m.type, self.node_id, m.src, m.term, NONE, Code.SUCCESS
            self.put(PeerReply(key, Response(*echo, store.begin_index, store.end_index)))

    def on_answer(self, now: Seconds, number: int, m: Message) -> None:
        """Take the answer to a call, unless the node has given the call up."""
        self.now = now
        call = self._calls.pop(number, None)
        if call is not None and not isinstance(call, CommitRequest):
            self._take_answer(m)
        self._settle()

    def _take_answer(self, m: Message) -> None:
        took = self.take(_ANSWER_HANDLERS[m.type], m)
        if isinstance(m, Response) and took and m.type in (PushType.COMPARE, PushType.TRUNCATE):
            # Any other code ends in doWork's handler of exceptions.
            inconsistent = m.type is PushType.COMPARE and m.code is Code.INCONSISTENT_STATE
            if m.code is not Code.SUCCESS and not inconsistent:
                self._rest(m.src)
        elif isinstance(m, ElectionResponse) and m.type is ElectionType.TRANSFER:
            self._answer_transfer(TransferCall(m.src, m.term), m.code)

    def on_failure(self, now: Seconds, number: int) -> None:
        """Give up a call: a dispatcher that waits for it begins again, after a rest."""
        self.now = now
        call = self._calls.pop(number, None)
        if isinstance(call, TransferMessage):
            given_up = TransferCall(call.dst, call.term)
            if self.take("TransferTimeOut", given_up):
                self._answer_transfer(given_up, "NETWORK_ERROR")
        elif call is not None and call.type in (PushType.COMPARE, PushType.TRUNCATE):
            self.take("PushTimeOut", call.dst)
            self._rest(call.dst)
        self._settle()

    def on_client(self, now: Seconds, key: Hashable, request: ClientRequest) -> None:
        """Take a client's request.

        Source: DLedgerServer.handleAppend, handleGet, handleMetadata, handleLeadershipTransfer.
        """
        self.now = now
        if request.dst != self.node_id:
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
                self.put(ClientAnswer(key, MetadataResponse(self.server.member_state.leader_id, self._addresses)))
            case LeadershipTransferRequest():
                self._transfer(key, request)
        self._settle()

    def _refuse(self, key: Hashable, code: ResponseCode) -> None:
        self.put(ClientAnswer(key, Refusal(code, self.server.member_state.leader_id)))

    def on_disk_space(self, now: Seconds, *, is_full: bool) -> None:
        """Append nothing while the disk is full. Source: DLedgerMmapFileStore.CleanSpaceService."""
        self.now = now
        self.server.ledger_store.is_disk_full = is_full
        self.record_step(DISK_FULL if is_full else DISK_HAS_SPACE, {}, {})
        self._settle()

    def on_time(self, now: Seconds) -> None:
        """Do what is due."""
        self.now = now
        self._settle()

    def next_time(self) -> Seconds:
        """Return when the next timer runs out."""
        return self._timers.next_after(self.now)

    # ---- Steps ---------------------------------------------------------------------------------------

    def take(self, action: str, *args: Any) -> bool:
        """Take a step if the node may: its term and vote are on the disk, and it is recorded, before anything leaves.

        Returns whether it was taken.
        """
        known = ACTIONS[action]
        if not known.enabled(self.server, *args):
            return False
        role = self.server.member_state.role
        effects: Effects = known.perform(self.server, *args)
        state = self.server.member_state
        if (state.curr_term, state.curr_vote_for) != self._durable:
            self._durable = state.curr_term, state.curr_vote_for
            self._term_file.persist(*self._durable)
        self.record_step(action, dict(zip(known.parameters, args, strict=True)), self.server.observe(with_log=False))
        if state.role is not role:
            self._change_role(state.role)
        self._carry_out(effects)
        return True

    def _carry_out(self, effects: Effects) -> None:
        for m in effects.sent:
            if isinstance(m, Response | ElectionResponse):
                self._answer(m)
            else:
                self._call(m)
        if effects.abandoned is not None:
            self._abandon(effects.abandoned)
        for future in effects.acknowledged:
            self._answer_client(future.entry.term, future.index, ResponseCode.SUCCESS)
        for future, code in effects.failed:
            self._answer_client(future.entry.term, future.index, ResponseCode[code])

    def _call(self, m: Message) -> None:
        number = self.next_number()
        waits = not isinstance(m, CommitRequest)
        if waits:
            self._calls[number] = m
        timeout = self.settings.rpc_timeout if waits else None
        self.put(PeerCall(number, m.dst, m, timeout, self._headers(m)))

    def _headers(self, m: Message) -> tuple[EntryHeader, ...]:
        """Return the headers of the entries that a request pushes."""
        if not isinstance(m, Request | BatchRequest):
            return ()
        files = self.server.ledger_store.files
        return tuple(files.header_at(Index(index)) for index in range(m.index, m.last_index + 1))

    def _answer(self, m: Response | ElectionResponse) -> None:
        keys = self._unanswered.get(_question_of(m))
        if keys:
            self.put(PeerReply(keys.popleft(), m))
            if not keys:
                del self._unanswered[_question_of(m)]

    def _abandon(self, abandoned: Abandoned) -> None:
        given_up = [
            number
            for number, m in self._calls.items()
            if abandoned.peer in (None, m.dst) and abandoned.includes(m.type)
        ]
        for number in given_up:
            del self._calls[number]

    def _answer_client(self, term: Term, index: Index, code: ResponseCode) -> None:
        self._appended.pop((term, index), None)
        key = self._clients.pop((term, index), None)
        if key is not None:
            self.put(ClientAnswer(key, self._append_response(code, term, index)))

    def _append_response(self, code: ResponseCode, term: Term, index: Index) -> AppendEntryResponse:
        store = self.server.ledger_store
        pos = store.files.header_at(index).pos if store.has_entry(index) else -1
        return AppendEntryResponse(index, pos, term, self.server.member_state.leader_id, code)

    # ---- The StateMaintainer -------------------------------------------------------------------------

    def _follows(self, leader: NodeId, term: Term) -> bool:
        state = self.server.member_state
        return state.role is Role.FOLLOWER and state.leader_id == leader and state.curr_term == term

    def _change_role(self, role: Role) -> None:
        if role is Role.FOLLOWER:
            self._last_leader_heart_beat = self.now
        elif role is Role.LEADER:
            self._last_success = None
            self._timers.clear("heartbeat")
            for peer in self.server.peers:
                self._timers.clear(("rest", peer))
        self._timers.clear("round")

    def _maintain(self) -> bool:
        match self.server.member_state.role:
            case Role.CANDIDATE:
                return self._maintain_as_candidate()
            case Role.LEADER:
                return self._maintain_as_leader()
            case Role.FOLLOWER:
                return self._maintain_as_follower()
        return False

    def _next_vote(self) -> None:
        """Draw when the next round of votes may begin. Source: getNextTimeToRequestVote."""
        settings = self.settings
        taking = self.server.election.takes_from is not None
        least = settings.min_take_leadership_vote_interval if taking else settings.min_vote_interval
        most = settings.max_take_leadership_vote_interval if taking else settings.max_vote_interval
        self._timers.set("vote", self.now + self._random.uniform(least, most))

    def _maintain_as_candidate(self) -> bool:
        """Raise the term, begin a round of votes, or end one. Source: maintainAsCandidate."""
        votes = self.server.election.round
        if votes.type is ElectionType.VOTE:
            if votes.answers[self.node_id] is None:
                return self.take("HandleOwnVote")
            if not (self._votes_are_decided() or self._timers.is_due("round", self.now)):
                return False
            took = self.take("ParseVoteResponses")
            self._next_vote()
            return took
        if votes.type is not None:
            return self.take("ParseHeartBeatResponses", False)
        if self.take("IncreaseTerm"):
            self._next_vote()
            return True
        if self._timers.is_due("vote", self.now) and self.take("VoteForQuorumResponses"):
            wait = self.settings.vote_wait + self._random.uniform(0, self.settings.max_vote_interval)
            self._timers.set("round", self.now + wait)
            return True
        return False

    def _votes_are_decided(self) -> bool:
        """Return whether the elector waits for no more answers. Source: maintainAsCandidate, its latch."""
        answers = self.server.election.round.answers
        given = [each for each in answers.values() if each is not None]
        accepted, not_ready = given.count(VoteCode.ACCEPT), given.count(VoteCode.REJECT_TERM_NOT_READY)
        return (
            VoteCode.REJECT_ALREADY_HAS_LEADER in given
            or is_quorum(accepted, len(answers))
            or is_quorum(accepted + not_ready, len(answers))
            or len(given) == len(answers)
        )

    def _maintain_as_leader(self) -> bool:
        """Begin a round of heartbeats, or end one. Source: maintainAsLeader, sendHeartbeats."""
        beats, settings = self.server.election.round, self.settings
        if beats.type is None:
            if self._timers.every("heartbeat", self.now, settings.heart_beat_time_interval):
                self._timers.set("round", self.now + settings.heart_beat_time_interval)
                return self.take("SendHeartbeats")
            return False
        given = [each for each in beats.answers.values() if each is not None]
        decided = is_quorum(given.count(HeartBeatCode.SUCCESS), len(beats.answers)) or len(given) == len(beats.answers)
        if not (decided or self._timers.is_due("round", self.now)):
            return False
        outcome = self.server.outcome_of_beats(beats)
        if outcome is HeartBeatOutcome.QUORUM:
            self._last_success = self.now
        elif outcome is HeartBeatOutcome.NOT_READY:
            self._timers.clear("heartbeat")
        limit = settings.max_heart_beat_leak * settings.heart_beat_time_interval
        expired = outcome is HeartBeatOutcome.NO_QUORUM and (
            self._last_success is None or self.now - self._last_success > limit
        )
        return self.take("ParseHeartBeatResponses", expired)

    def _maintain_as_follower(self) -> bool:
        """Stand for election once there was no heartbeat for too long. Source: maintainAsFollower."""
        settings = self.settings
        limit = settings.max_heart_beat_leak * settings.heart_beat_time_interval
        self._timers.set("leader", self._last_leader_heart_beat + limit)
        return self._timers.is_due("leader", self.now) and self.take("HeartBeatTimeOut")

    def _take_leadership(self) -> bool:
        """Stand for election on behalf of a leader, or give that up. Source: handleLeadershipTransfer."""
        if self.server.election.waiting == NOBODY_WAITS:
            self._timers.clear("takeover")
            return False
        if not self._timers.is_set("takeover"):
            self._timers.set("takeover", self.now + self.settings.leadership_transfer_wait_timeout)
        due = self._timers.is_due("takeover", self.now)
        return self.take("HandleTakeLeadership") or (due and self.take("TakeLeadershipTimeOut"))

    # ---- Clients -------------------------------------------------------------------------------------

    def _append(self, key: Hashable, values: Sequence[Value]) -> None:
        """Append a client's entries, or refuse them. Source: DLedgerServer.handleAppend."""
        server = self.server
        code = server.refusal() or (None if values else REQUEST_WITH_EMPTY_BODYS)
        if code is not None:
            self.take("RefuseAppend", code)
            self._refuse(key, ResponseCode[code])
            return
        for value in values[:-1]:
            self.take("AppendInBatch", value)
        term, index = server.member_state.curr_term, Index(server.ledger_store.end_index + 1)
        self._clients[term, index], self._appended[term, index] = key, self.now
        self.take("AppendAsLeader", values[-1])

    def _get(self, key: Hashable, index: Index) -> None:
        """Return the entry at an index, committed or not. Source: DLedgerServer.handleGet."""
        store = self.server.ledger_store
        if not self.server.is_leader:
            self._refuse(key, ResponseCode.NOT_LEADER)
        elif not store.has_entry(index):
            self._refuse(key, ResponseCode.INDEX_OUT_OF_RANGE)
        else:
            self.put(ClientAnswer(key, GetEntriesResponse((store.entry(index),), (store.files.header_at(index),))))

    def _transfer(self, key: Hashable, request: LeadershipTransferRequest) -> None:
        """Begin to hand over. Source: DLedgerServer.handleLeadershipTransfer, at the leader."""
        server, transferee = self.server, request.transferee
        term = server.member_state.curr_term
        if transferee not in server.peers:
            self._refuse(key, ResponseCode.UNKNOWN_MEMBER)
        elif request.term == term and self.take("HandleLeadershipTransfer", transferee):
            self._transfers[TransferCall(transferee, term)] = key
        else:
            code = ResponseCode[server.transfer_code(transferee, request.term)]
            self.put(ClientAnswer(key, LeadershipTransferResponse(code, term)))

    def _answer_transfer(self, call: TransferCall, code: str) -> None:
        key = self._transfers.pop(call, None)
        if key is not None:
            term = self.server.member_state.curr_term
            self.put(ClientAnswer(key, LeadershipTransferResponse(ResponseCode[code], term)))

    # ---- Dispatchers, checker, handler ---------------------------------------------------------------

    def _rest(self, peer: NodeId) -> None:
        self._timers.set(("rest", peer), self.now + self.settings.dispatcher_sleep)

    def _dispatch(self, peer: NodeId) -> bool:
        """Do what the dispatcher for a peer has to do. Source: EntryDispatcher.doWork."""
        if not self._timers.is_due(("rest", peer), self.now):
            return False
        server, settings = self.server, self.settings
        if self.take("DoTruncate", peer) or self.take("DoCompare", peer):
            return True
        store, state = server.ledger_store, server.dispatchers[peer]
        if state.type is not PushType.APPEND or not server.is_leader:
            return False
        pushes = bool(state.pendings) and state.write_index <= store.end_index
        if pushes and self._timers.every(("leak", peer), self.now, settings.check_leak):
            return self.take("CheckLeak", peer)
        if server.has(Feature.BATCHES):
            count = min(settings.max_batch_count, store.end_index - state.write_index + 1)
            if self.take("DoBatchAppend", peer, count):
                return True
        elif self.take("DoAppend", peer):
            return True
        return self._push_again(peer) or self._commit(peer)

    def _push_again(self, peer: NodeId) -> bool:
        """Push again what has had no answer for a second. Source: doCheckAppendResponse."""
        server = self.server
        if server.peer_water_marks[peer] >= server.ledger_store.end_index:
            self._timers.clear(("again", peer))
            return False
        if not self._timers.is_set(("again", peer)):
            self._timers.set(("again", peer), self.now + self.settings.check_leak)
        action = "DoCheckBatchAppendResponse" if server.has(Feature.BATCHES) else "DoCheckAppendResponse"
        return self._timers.every(("again", peer), self.now, self.settings.check_leak) and self.take(action, peer)

    def _commit(self, peer: NodeId) -> bool:
        return self._timers.every(("commit", peer), self.now, self.settings.push_commit) and self.take("DoCommit", peer)

    def _check_quorum(self) -> bool:
        """Commit what a quorum stores, and answer clients. Source: QuorumAckChecker.doWork."""
        server, settings = self.server, self.settings
        if not server.is_leader:
            return self.take("ActOnQuorumIndex")
        term = server.member_state.curr_term
        stale = any(each != term for each, _ in self._clients)
        if stale or server.quorum_index() > server.last_quorum_index:
            return self.take("QuorumAckChecker")
        if self.take("ActOnQuorumIndex"):
            return True
        behind = server.peer_water_marks[self.node_id] < server.ledger_store.end_index
        if behind and self._timers.every("refresh", self.now, settings.refresh_own_water_mark):
            return self.take("RefreshOwnWaterMark")
        return self._time_out_client()

    def _time_out_client(self) -> bool:
        """Let a client wait no longer. Source: checkResponseFuturesTimeout of DLedgerEntryPusher."""
        if not self._appended:
            self._timers.clear("ack")
            return False
        oldest = min(self._appended, key=lambda each: self._appended[each])
        self._timers.set("ack", self._appended[oldest] + self.settings.max_wait_ack_time)
        return self._timers.is_due("ack", self.now) and self.take("CheckResponseFuturesTimeout")

    def _handle_requests(self) -> bool:
        """Handle what waits in the queues. Source: EntryHandler.doWork."""
        for m in self.server.requests():
            if any(self.take(action, m) for action in _HANDLERS[m.type] if isinstance(m, ACTIONS[action].messages)):
                return True
        waiting = list(self.server.write_request_map.values())
        if not waiting or not self._timers.every("fast forward", self.now, self.settings.check_fast_forward):
            return False
        return sum(self.take("CheckAppendFuture", m) for m in waiting) > 0

    def _keep_files(self) -> bool:
        """Force the data file, and write the checkpoint. Source: FlushDataService, DLedgerMmapFileStore's timer."""
        store, settings = self.server.ledger_store, self.settings
        done = False
        if not store.is_forced and self._timers.every("flush", self.now, settings.flush_file_interval):
            done = self.take("FlushDataService")
        if store.check_point != store.committed_index and self._timers.every(
            "check point", self.now, settings.check_point_interval
        ):
            done = self.take("PersistCheckPoint") or done
        return done

    def _settle(self) -> None:
        """Let every thread do what it can do at this moment, until none can do more."""
        while True:
            done = self._maintain() or self._take_leadership() or self._handle_requests()
            if self.server.is_leader:
                done = sum(self._dispatch(peer) for peer in self.server.peers) > 0 or done
            elif self.server.has(Flaw.DEPOSED_TRUNCATE):
                done = sum(self.take("DoTruncate", peer) for peer in self.server.peers) > 0 or done
            done = self._check_quorum() or done
            done = self.take("DoCommitted") or self._keep_files() or done
            if not done:
                return


def _question(m: Message) -> Hashable:
    """Return by what an answer is matched to its request."""
    return m.src, m.type, getattr(m, "index", None) if isinstance(m.type, PushType) else None


def _question_of(m: Response | ElectionResponse) -> Hashable:
    return m.dst, m.type, m.index if isinstance(m, Response) else None
