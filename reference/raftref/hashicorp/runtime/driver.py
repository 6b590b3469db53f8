"""The driver of a hashicorp/raft server: its goroutines, as what is done on each event and when a timer runs out.

The library has a goroutine for the main loop, one for the FSM, one for snapshots, and on a leader two for each peer.
Each is a method here that takes every step that its goroutine would take at this moment.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from raftref.action import Action
from raftref.hashicorp.choices import ALL_FEATURES, IN_V173, Feature, Flaw
from raftref.hashicorp.failures import start
from raftref.hashicorp.hashicorp_raft import ACTIONS, observe
from raftref.hashicorp.membership import next_configuration
from raftref.hashicorp.messages import (
    AppendEntriesResponse,
    HeartbeatResponse,
    InstallSnapshotRequest,
    InstallSnapshotResponse,
    Message,
    Request,
    RequestVoteResponse,
    Response,
    RpcType,
)
from raftref.hashicorp.replication import most_entries
from raftref.hashicorp.runtime.client_calls import (
    ApplyRequest,
    BarrierRequest,
    ClientRequest,
    ConfigurationChangeRequest,
    FutureResult,
    LeadershipTransferRequest,
    RaftError,
    SnapshotRequest,
    StateRequest,
    StateResult,
    StatsRequest,
    StatsResult,
    VerifyLeaderRequest,
)
from raftref.hashicorp.runtime.durable_stores import DurableStores
from raftref.hashicorp.runtime.settings import Settings
from raftref.hashicorp.runtime.state_machine import RecordingStateMachine, SnapshotStream, StateMachine
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import CampaignPhase, Loop, Role, SnapshotPhase
from raftref.hashicorp.steps import DONE, MAX_WRITES, Effects, Outcome, Result
from raftref.hashicorp.stores import Stores, bootstrap_cluster
from raftref.hashicorp.values import (
    NO_INDEX,
    NO_TERM,
    ClientLog,
    Configuration,
    EntryType,
    Index,
    NodeId,
    Snapshot,
    Term,
    Zombie,
)
from raftref.runtime.driver import NEVER, START, ClientAnswer, Driver, NodeStep, PeerCall, PeerReply, Seconds, Timers

#: The times and bounds of the library.
DEFAULTS = Settings()

#: The action that handles each class of messages.
_HANDLERS = {kind: name for name, action in ACTIONS.items() for kind in action.messages}

#: What grows with the log: it is recorded when a process comes up, and follows from the steps after that.
_GROWING = frozenset({"log", "fsm", "fsmQueue"})


@dataclass(slots=True)
class Routine:
    """The two routines for a peer, besides what the spec has of them.

    `target` is the last index that the replication routine was woken for, None while it waits to be woken; `triggered`
    wakes it. `beat_asked` lets the other one send a heartbeat at once. `contact` is when the peer answered last.

    Source: followerReplication, replicate, heartbeat.
    """

    contact: Seconds
    triggered: bool = True
    target: Index | None = None
    failure_count: int = 0
    beat_asked: bool = False
    beat_failure_count: int = 0


@dataclass(slots=True)
class ZombieRoutine:
    """A routine of a leadership that is over, and what it still sends: entries up to `target`, and heartbeats.

    Entries, if any, are sent at `sends_at`. `call` is the call that the routine waits for; until then it heartbeats.
    """

    target: Index
    sends_at: Seconds = NEVER
    call: int | None = None
    beats_at: Seconds = NEVER

    @property
    def is_over(self) -> bool:
        """Whether nothing more comes of it."""
        return self.sends_at == NEVER and self.call is None

    @property
    def next_time(self) -> Seconds:
        """When it sends next."""
        return min(self.sends_at, self.beats_at)


class RaftDriver(Driver):
    """Drives one `Server` on its stores.

    The library's pipeline is left off. A step is recorded before its writes begin, and they have ended before anything
    leaves the server: where a process dies in between, `replayed` finds out which of them were done.

    Source: Raft.run, runFSM, runSnapshots, replicate, heartbeat.
    """

    def __init__(
        self,
        node_id: NodeId,
        nodes: Sequence[NodeId],
        configuration: Configuration,
        stores: DurableStores,
        random: Random,
        recorded: Callable[[NodeStep], None],
        *,
        flaws: Set[Flaw] = IN_V173,
        features: Set[Feature] = ALL_FEATURES,
        settings: Settings = DEFAULTS,
        machine: StateMachine | None = None,
    ) -> None:
        """Make the driver of a server whose process has not come up yet.

        Args:
            node_id: The server.
            nodes: All servers that there may be.
            configuration: The first configuration. A server of it whose stores are empty bootstraps; one that is none
                of it begins with nothing, and waits for a leader.
            stores: What is durable.
            random: Draws the times between once and twice a constant.
            recorded: Called with each step, before anything that it asks for leaves the server.
            flaws: IN_V173 is the library as it is published, the empty set as it is repaired.
            features: Its features.
            settings: Its times and bounds.
            machine: The client's state machine, with nothing applied; without it what is applied is remembered.
        """
        super().__init__(node_id, recorded)
        self.settings = settings
        self.machine = RecordingStateMachine() if machine is None else machine
        self._configuration = configuration
        self._durable = stores
        self._random = random
        self.server = Server(node_id, nodes, settings.config(flaws, features), Stores())
        self._timers = Timers()
        #: Calls that have no answer yet, by their numbers.
        self._calls: dict[int, Request] = {}
        #: When a leader was heard of last.
        self._last_contact: Seconds = -NEVER
        self._routines: dict[NodeId, Routine] = {}
        self._zombies: dict[Zombie, ZombieRoutine] = {}
        #: The state of the FSM in each snapshot that is kept.
        self._data: dict[Snapshot, bytes] = {}
        #: The state of the FSM in the snapshot that is being taken, whether a client asked for it, and those that did.
        self._taken_data = b""
        self._snapshot_for_client = False
        self._snapshot_clients: list[Hashable] = []
        #: Commands and barriers that wait for the main loop, with their clients.
        self._applies: list[tuple[Hashable, ClientLog]] = []
        #: The clients of entries that are not committed, or not applied yet, by index.
        self._futures: dict[Index, tuple[Hashable, Term, EntryType]] = {}
        #: The clients that wait for VerifyLeader: those that were asked for, and those that come after them.
        self._verifying: list[Hashable] = []
        self._verifies: list[Hashable] = []
        #: Changes that wait for the one before them, with their clients and the moment until which they wait.
        self._changes: list[tuple[Hashable, ConfigurationChangeRequest, Seconds]] = []
        self._transfer_client: Hashable = None
        self._timeout_now_call: int | None = None
        self._disk_is_full = False

    @property
    def is_up(self) -> bool:
        """Whether the node runs."""
        return self.server.is_up

    # ---- Events --------------------------------------------------------------------------------------

    def start(self, now: Seconds) -> None:
        """Come up as a follower on what is durable, or bootstrap.

        A server whose log has a gap stays down, and nothing is recorded.

        Source: BootstrapCluster, NewRaft.
        """
        self.now = now
        server, loaded = self.server, self._durable.load()
        if loaded is None:
            if self.node_id in self._configuration.servers:
                server.stores = bootstrap_cluster(self._configuration)
            self._durable.persist(Stores(), server.stores)
            start(server)
        else:
            server.stores = loaded
            server.go_down()
            restart = ACTIONS["Restart"]
            if not restart.enabled(server):
                return
            restart.perform(server)
        self._restore_machine()
        self.record_step(START, {}, observe(server))
        self._begin_role()
        self._timers.set("snapshot", now + self._between(self.settings.snapshot_interval))
        self._settle()

    def on_request(self, now: Seconds, key: Hashable, m: Request | SnapshotStream) -> None:
        """Take a request of a peer. One that ends in an error gets no answer.

        Source: processRPC, processHeartbeat.
        """
        self.now = now
        request, data = (m.request, m.data) if isinstance(m, SnapshotStream) else (m, b"")
        # Whether its caller still waits a server cannot know.
        self._handle(replace(request, awaited=True), key, data)
        self._settle()

    def on_answer(self, now: Seconds, number: int, m: Response) -> None:
        """Take the answer to a call, unless the server has given the call up."""
        self.now = now
        self._end_zombie_call(number)
        call = self._calls.pop(number, None)
        if number == self._timeout_now_call:
            self._timeout_now_call = None
        if call is not None and call.type is m.type and call.dst == m.src:
            self._take_answer(m)
        self._settle()

    def on_failure(self, now: Seconds, number: int) -> None:
        """Give up a call: its routine goes on after a rest that gets longer with each failure."""
        self.now = now
        self._end_zombie_call(number)
        call = self._calls.pop(number, None)
        if number == self._timeout_now_call:
            self._timeout_now_call = None
        if call is not None:
            self._give_up(call)
        self._settle()

    def on_client(self, now: Seconds, key: Hashable, request: ClientRequest) -> None:
        """Take a client's request."""
        self.on_clients(now, [(key, request)])

    def on_clients(self, now: Seconds, requests: Iterable[tuple[Hashable, ClientRequest]]) -> None:
        """Take requests that came together: the commands among them are stored in one write.

        Source: leaderLoop, GROUP_COMMIT_LOOP.
        """
        self.now = now
        for key, request in requests:
            self._take_client(key, request)
        self._settle()

    def on_disk_space(self, now: Seconds, *, is_full: bool) -> None:
        """Let a write of each step fail while the disk is full: any of them, since a small one may still fit."""
        self.now, self._disk_is_full = now, is_full
        self._settle()

    def on_time(self, now: Seconds) -> None:
        """Do what is due."""
        self.now = now
        self._settle()

    def next_time(self) -> Seconds:
        """Return when the next timer runs out; a server that is down has none."""
        if not self.server.is_up:
            return NEVER
        later = [at for at in self._moments() if at > self.now]
        return min([self._timers.next_after(self.now), *later])

    def _moments(self) -> list[Seconds]:
        return [each.next_time for each in self._zombies.values()] + [until for _, _, until in self._changes]

    # ---- Steps ---------------------------------------------------------------------------------------

    def take(self, action: str, *args: Any) -> bool:
        """Take a step if the server may: it is recorded, and its writes are durable, before anything leaves.

        Returns whether it was taken.
        """
        return self._take(action, args) is not None

    def _take(self, action: str, args: tuple[Any, ...], key: Hashable = None, data: bytes = b"") -> Effects | None:
        known = ACTIONS[action]
        if not known.enabled(self.server, *args):
            return None
        if self._disk_is_full:
            args = self._with_failing_write(known, args)
        before = copy.copy(self.server)
        effects: Effects = known.perform(self.server, *args)
        self.record_step(action, dict(zip(known.parameters, args, strict=True)), observe(self.server, omitted=_GROWING))
        if self.server.stores is not before.stores:
            try:
                self._durable.persist(before.stores, self.server.stores)
            except BaseException:
                self.server.go_down()  # nobody knows what is durable now
                raise
        self._follow(action, before)
        self._run_machine(action, before, data)
        self._carry_out(effects, key)
        return effects

    def _with_failing_write(self, action: Action, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments of a step with one of its writes failing, if it has any."""
        tried = [Outcome(Result.FAIL, write) for write in range(1, MAX_WRITES + 1)]
        failing = [tuple(outcome if each is DONE else each for each in args) for outcome in tried]
        possible = [each for each in failing if each != args and action.enabled(self.server, *each)]
        return self._random.choice(possible) if possible else args

    def _carry_out(self, effects: Effects, key: Hashable) -> None:
        for abandoned in effects.abandoned:
            for number, call in list(self._calls.items()):
                if abandoned.peer in (None, call.dst) and abandoned.includes(call.type):
                    del self._calls[number]
        for m in effects.sent:
            if isinstance(m, Response):
                self.put(PeerReply(key, m))
            elif isinstance(m, Request):
                self._call(m)

    def _call(self, m: Request) -> None:
        number = self.next_number()
        if m.awaited:
            self._calls[number] = m
        if m.type is RpcType.TIMEOUT_NOW:
            self._timeout_now_call = number
        sent: Message | SnapshotStream = m
        if isinstance(m, InstallSnapshotRequest):
            sent = SnapshotStream(m, self._data[m.snapshot])
        self.put(PeerCall(number, m.dst, sent, self.settings.rpc_timeout if m.awaited else None))

    def _between(self, time: Seconds) -> Seconds:
        """Draw a time between once and twice another. Source: randomTimeout."""
        return self._random.uniform(time, 2 * time)

    # ---- What a step leads to ------------------------------------------------------------------------

    def _follow(self, action: str, before: Server) -> None:
        """Do what follows from a step: timers, routines, and the clients of a leadership that is over."""
        server = self.server
        # A leader that removes itself may go down, and forget what it has just committed.
        committed = before.commitment.commit_index if action == "ProcessLogs" else before.commit_index
        if server.campaign.phase is not before.campaign.phase and server.campaign.phase is not CampaignPhase.NONE:
            self._timers.set("election", self.now + self._between(self.settings.election_timeout))
        if server.repl_state.keys() != self._routines.keys():
            self._start_stop_routines(before)
        if server.last_log.index > before.last_log.index:
            for routine in self._routines.values():
                routine.triggered = True
        if server.role is not before.role:
            if before.role is Role.LEADER:
                self._last_contact = self.now
                self._end_leadership(committed)
            self._begin_role()
        self._answer_futures(committed)

    def _begin_role(self) -> None:
        if self.server.role is Role.FOLLOWER:
            self._timers.set("heartbeat", self.now + self._between(self.settings.heartbeat_timeout))
        else:
            self._timers.clear("heartbeat")
        if self.server.role is Role.LEADER:
            self._timers.set("lease", self.now + self.settings.leader_lease_timeout)
        else:
            self._timers.clear("lease")
        if self.server.role is not Role.CANDIDATE:
            self._timers.clear("election")

    def _end_leadership(self, committed: Index) -> None:
        """Answer those whose entry is not committed, and those that wait. Source: runLeader, the deferred part."""
        for index in [each for each in self._futures if each > committed]:
            self._end_future(index, RaftError.LEADERSHIP_LOST)
        for key in self._verifying:
            self._answer(key, RaftError.LEADERSHIP_LOST)
        waiting = [*self._verifies, *(key for key, _ in self._applies), *(key for key, _, _ in self._changes)]
        refusal = RaftError.NOT_LEADER if self.server.is_up else RaftError.RAFT_SHUTDOWN
        for key in waiting:
            self._answer(key, refusal)
        self._verifying, self._verifies, self._applies, self._changes = [], [], [], []
        self._end_transfer_of_client(None)
        self._timers.clear("transfer")

    # ---- The FSM -------------------------------------------------------------------------------------

    def _restore_machine(self) -> None:
        """Bring the client's state machine, which has nothing applied, to the state of the FSM.

        What is durable is all that was applied, and so the machine applies that again.

        Source: restoreSnapshot.
        """
        for log in self.server.fsm.applied:
            self.machine.apply(log)
        for snapshot in self.server.stores.snapshots[:1]:
            self._data[snapshot] = self.machine.snapshot()

    def _run_machine(self, action: str, before: Server, data: bytes) -> None:
        """Let the client's state machine do what the FSM did in a step. Source: runFSM."""
        server = self.server
        if server.stores.snapshots is not before.stores.snapshots:
            # Of a step that saves a snapshot the newest is the one that it saved, or it saved none that counts.
            saved = self._taken_data if action == "PersistSnapshot" else data
            kept = {each: self._data.get(each, saved) for each in server.stores.snapshots}
            self._data = kept
        if not server.is_up or server.fsm is before.fsm:
            return
        if action == "InstallSnapshot":
            self.machine.restore(data)
            return
        results = {log.index: self.machine.apply(log) for log in server.fsm.applied[len(before.fsm.applied) :]}
        for index in [each for each in self._futures if each <= server.fsm.last.index]:
            self._end_future(index, None, results.get(index))

    def _apply_fsm(self) -> bool:
        return self.take("ApplyFsm")

    # ---- Futures -------------------------------------------------------------------------------------

    def _answer(
        self, key: Hashable, error: str | None, index: Index = NO_INDEX, term: Term = NO_TERM, response: Any = None
    ) -> None:
        leader = self.server.leader if self.server.is_up else None
        self.put(ClientAnswer(key, FutureResult(error, leader, index, term, response)))

    def _end_future(self, index: Index, error: str | None, response: Any = None) -> None:
        key, term, _ = self._futures.pop(index)
        self._answer(key, error, index, term, response)

    def _answer_futures(self, committed: Index) -> None:
        """Answer changes that are committed; and everybody, where the server has gone down.

        Source: processLogs; ErrRaftShutdown.
        """
        for index, (_, _, type_) in list(self._futures.items()):
            if type_ is EntryType.CONFIGURATION and index <= committed:
                self._end_future(index, None)
        if not self.server.is_up:
            for index in list(self._futures):
                self._end_future(index, RaftError.RAFT_SHUTDOWN)
            for key in self._snapshot_clients:
                self._answer(key, RaftError.RAFT_SHUTDOWN)
            self._snapshot_clients = []

    # ---- Clients -------------------------------------------------------------------------------------

    def _take_client(self, key: Hashable, request: ClientRequest) -> None:
        match request:
            case StatsRequest():
                self.put(ClientAnswer(key, self._stats()))
            case StateRequest() if self.server.is_up:
                self.put(ClientAnswer(key, StateResult(self.server.fsm.last, self.machine.snapshot())))
            case _ if not self.server.is_up:
                self._answer(key, RaftError.RAFT_SHUTDOWN)
            case SnapshotRequest():
                self._snapshot_clients.append(key)
            case LeadershipTransferRequest(to=to) if to == self.node_id:
                self._answer(key, "cannot transfer leadership to itself")
            case _ if self.server.role is not Role.LEADER:
                self._answer(key, RaftError.NOT_LEADER)
            case VerifyLeaderRequest():
                self._verifies.append(key)
            case ConfigurationChangeRequest(timeout=timeout):
                self._changes.append((key, request, self.now + timeout if timeout > 0 else NEVER))
            case _ if self.server.transfer.in_progress:
                self._answer(key, RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS)
            case ApplyRequest(value=value):
                self._applies.append((key, ClientLog(EntryType.COMMAND, value)))
            case BarrierRequest():
                self._applies.append((key, ClientLog(EntryType.BARRIER)))
            case LeadershipTransferRequest(to=to):
                self._transfer(key, to)

    def _stats(self) -> StatsResult:
        server = self.server
        since = None if self._last_contact == -NEVER else self.now - self._last_contact
        return StatsResult(
            state=server.role,
            term=server.current_term,
            leader=server.leader,
            last_log=server.last_log,
            commit_index=server.commit_index,
            applied_index=server.last_applied,
            fsm_pending=len(server.fsm.queue),
            last_snapshot=server.last_snapshot,
            latest_configuration=server.configurations.latest,
            latest_configuration_index=server.configurations.latest_index,
            last_contact=0.0 if server.role is Role.LEADER else since,
        )

    def _dispatch(self) -> bool:
        """Append what clients have asked for together. Source: leaderLoop, applyCh."""
        most = self.settings.max_append_entries + 1
        asked, self._applies = self._applies[:most], self._applies[most:]
        if not asked:
            return False
        first, term = self.server.last_index + 1, self.server.current_term
        for index, (key, log) in enumerate(asked, start=first):
            self._futures[Index(index)] = key, term, log.type
        if self.take("DispatchLogs", tuple(log for _, log in asked), DONE):
            return True
        # A transfer was asked for together with them.
        for index in range(first, first + len(asked)):
            self._end_future(Index(index), RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS)
        return True

    def _change(self) -> bool:
        """Take the next change, once the one before it is committed, or let it wait no longer.

        Source: configurationChangeChIfStable, requestConfigChange, appendConfigurationEntry.
        """
        server = self.server
        late = [key for key, _, until in self._changes if until <= self.now]
        self._changes = [each for each in self._changes if each[0] not in late]
        for key in late:
            self._answer(key, RaftError.ENQUEUE_TIMEOUT)
        committed_own = server.commit_index >= server.commitment.start_index
        if not (self._changes and server.configurations.is_stable and committed_own):
            return False
        key, request, _ = self._changes.pop(0)
        error = self._refusal(request)
        if error is not None:
            self._answer(key, error)
            return True
        index = Index(server.last_index + 1)
        self._futures[index] = key, server.current_term, EntryType.CONFIGURATION
        return self.take("AppendConfigurationEntry", request.command, request.server, DONE)

    def _refusal(self, request: ConfigurationChangeRequest) -> str | None:
        """Return why a change is refused, None where it is not. Source: nextConfiguration, checkConfiguration."""
        configurations = self.server.configurations
        if self.server.transfer.in_progress:
            return RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS
        if request.prev_index not in (NO_INDEX, configurations.latest_index):
            return f"configuration changed since {request.prev_index} (latest is {configurations.latest_index})"
        if not next_configuration(configurations.latest, request.command, request.server).voters:
            return "need at least one voter in configuration"
        return None

    def _verify(self) -> bool:
        """Ask all peers whether this server still leads, or answer those that asked. Source: verifyCh, verifyLeader."""
        server = self.server
        if server.verification.active:
            if not server.verification.is_decided:
                return False
            keys, self._verifying = self._verifying, []
            self.take("HandleVerify")
            error = None if server.role is Role.LEADER else RaftError.NOT_LEADER
            for key in keys:
                self._answer(key, error)
            return True
        if not (self._verifies and self.take("VerifyLeader")):
            return False
        self._verifying, self._verifies = self._verifies, []
        for routine in self._routines.values():
            routine.beat_asked = True
        return True

    # ---- Handing over --------------------------------------------------------------------------------

    def _transfer(self, key: Hashable, to: NodeId | None) -> None:
        """Begin to hand over. Source: leaderLoop, leadershipTransferCh; pickServer."""
        server = self.server
        if to is None:
            voters = sorted(server.other_voters & server.repl_state.keys())
            to = max(voters, key=lambda peer: server.replication(peer).next_index, default=None)
        if to is None:
            self._answer(key, "cannot find peer")
        elif not self.take("LeadershipTransfer", to):
            self._answer(key, f"cannot find replication state for {to}")
        else:
            self._transfer_client = key
            self._timers.set("transfer", self.now + self.settings.election_timeout)

    def _end_transfer_of_client(self, error: str | None) -> None:
        key, self._transfer_client = self._transfer_client, None
        if key is not None:
            self._answer(key, error)

    def _hand_over(self) -> bool:
        """Ask the target to campaign, or end the transfer. Source: leadershipTransfer, and the routine beside it."""
        server = self.server
        if not server.transfer.in_progress:
            return False
        if server.role is not Role.LEADER or server.transfer.term != server.current_term:
            # The flag stays until the call is over (TransferFlagLeft).
            return self._timeout_now_call is None and self.take("EndTransfer")
        if self._timers.is_due("transfer", self.now):
            self._end_transfer_of_client("leadership transfer timeout")
            return self.take("EndTransfer")
        return self.take("SendTimeoutNow")

    # ---- Snapshots -----------------------------------------------------------------------------------

    def _take_snapshot(self) -> bool:
        if not self.take("TakeSnapshot"):
            return False
        self._taken_data = self.machine.snapshot()
        self._timers.set("persist", self.now + self.settings.persist_time)
        return True

    def _take_asked_snapshot(self) -> bool:
        """Read the FSM for a client that asks for a snapshot, or refuse to. Source: takeSnapshot."""
        server = self.server
        last, committed = server.fsm.last.index, server.configurations.committed_index
        if last == 0:
            self._answer(self._snapshot_clients.pop(0), RaftError.NOTHING_NEW_TO_SNAPSHOT)
        elif last < committed:
            wait = f"wait until the configuration entry at {committed} has been applied (have applied {last})"
            self._answer(self._snapshot_clients.pop(0), f"cannot take snapshot now, {wait}")
        elif not self._take_snapshot():
            self._answer(self._snapshot_clients.pop(0), RaftError.LEADERSHIP_TRANSFER_IN_PROGRESS)
        else:
            self._snapshot_for_client = True
        return True

    def _run_snapshots(self) -> bool:
        """Take a snapshot that was asked for, or is due, and write the one that was taken. Source: runSnapshots."""
        match self.server.snapshotting.phase:
            case SnapshotPhase.TAKEN:
                return self._timers.is_due("persist", self.now) and self.take("PersistSnapshot", DONE)
            case SnapshotPhase.SAVED:
                return self._end_snapshot()
        if self._snapshot_clients:
            return self._take_asked_snapshot()
        if not self._timers.is_due("snapshot", self.now):
            return False
        self._timers.set("snapshot", self.now + self._between(self.settings.snapshot_interval))
        grown = self.server.stores.last_index() - self.server.last_snapshot.index
        return grown >= self.settings.snapshot_threshold and self._take_snapshot()

    def _end_snapshot(self) -> bool:
        saved = self.server.snapshotting.snapshot
        took = self.take("CompactLogs", DONE)
        if self._snapshot_for_client and saved is not None:
            self._answer(self._snapshot_clients.pop(0), None, saved.index, saved.term)
        self._snapshot_for_client = False
        return took

    # ---- Requests and answers of peers ---------------------------------------------------------------

    def _handle(self, m: Request, key: Hashable, data: bytes) -> None:
        effects = self._take_message(m, key, data)
        if effects is None:
            return
        for answer in effects.sent:
            match answer:
                case AppendEntriesResponse() | HeartbeatResponse() | InstallSnapshotResponse() if answer.success:
                    self._last_contact = self.now
                case RequestVoteResponse(granted=True):
                    self._last_contact = self.now

    def _take_message(self, m: Message, key: Hashable = None, data: bytes = b"") -> Effects | None:
        action = _HANDLERS[type(m)]
        args = (m, DONE) if "outcome" in ACTIONS[action].parameters else (m,)
        return self._take(action, args, key, data)

    def _take_answer(self, m: Response) -> None:
        """Take an answer that the server waits for; a routine goes on at once if there is more to send.

        Source: replicateTo, sendLatestSnapshot, heartbeat, leadershipTransfer.
        """
        replication, routine = self.server.replication(m.src), self._routines.get(m.src)
        self._take_message(m)
        if m.type is RpcType.TIMEOUT_NOW:
            self._timers.set("transfer", self.now + self.settings.election_timeout)
        if routine is None or m.src not in self._routines:
            return
        match m:
            case HeartbeatResponse():
                routine.contact, routine.beat_failure_count = self.now, 0
                self._timers.set(("beat", m.src), self.now + self._between(self.settings.heartbeat_interval))
            case AppendEntriesResponse() | InstallSnapshotResponse() if m.term <= replication.term:
                routine.contact = self.now
                expected = m.success or (isinstance(m, AppendEntriesResponse) and m.no_retry_backoff)
                routine.failure_count = 0 if expected else routine.failure_count + 1
                self._check_more(m.src, routine)

    def _give_up(self, call: Request) -> None:
        """Learn that a call has failed. Source: the same functions, where the call returns an error."""
        peer, routine = call.dst, self._routines.get(call.dst)
        if call.type is RpcType.TIMEOUT_NOW:
            self._end_transfer_of_client(f"failed to make TimeoutNow RPC to {peer}")
            self.take("EndTransfer")
            return
        self.take("RPCError", peer, call.type)
        if routine is None:
            return
        if call.type is RpcType.HEARTBEAT:
            rest = self.settings.heartbeat_backoff(routine.beat_failure_count)
            routine.beat_failure_count += 1
            self._timers.set(("rest", peer), self.now + rest)
            self._timers.set(("beat", peer), self.now + rest + self._between(self.settings.heartbeat_interval))
        elif call.type in (RpcType.APPEND_ENTRIES, RpcType.INSTALL_SNAPSHOT):
            routine.failure_count += 1
            self._wait_for_trigger(peer, routine)

    # ---- The routines of a leader --------------------------------------------------------------------

    def _start_stop_routines(self, before: Server) -> None:
        """Begin routines for new peers, and end those for peers that are gone.

        One that rests still sends after that, and one that waits for an answer goes on with heartbeats until then. One
        for a peer that was removed, which does neither, sends the log up to that entry.

        Source: startStopReplication, runLeader, the deferred part; replicate.
        """
        server = self.server
        for peer in sorted(server.repl_state.keys() - self._routines.keys()):
            self._routines[peer] = Routine(self.now)
            self._timers.set(("beat", peer), self.now + self._between(self.settings.heartbeat_interval))
            self._timers.clear(("backoff", peer))
            self._timers.clear(("rest", peer))
        left = {each.peer: each for each in server.zombies - before.zombies}
        for peer in sorted(self._routines.keys() - server.repl_state.keys()):
            routine = self._routines.pop(peer)
            if peer in left:
                zombie = self._zombie(peer, routine, before)
                if not zombie.is_over:
                    self._zombies[left[peer]] = zombie
            for name in ("commit", "backoff", "beat", "rest"):
                self._timers.clear((name, peer))

    def _zombie(self, peer: NodeId, routine: Routine, before: Server) -> ZombieRoutine:
        removed = self.server.role is Role.LEADER
        waits = [n for n, call in self._calls.items() if call.dst == peer and self._replicates(call)]
        if waits:
            first = self.now + self._between(self.settings.heartbeat_interval)
            return ZombieRoutine(self.server.last_log.index, NEVER, waits[0], first)
        rests = routine.target is not None and not self._timers.is_due(("backoff", peer), self.now)
        if rests and routine.target is not None:
            return ZombieRoutine(routine.target, self._timers.moment(("backoff", peer)))
        if removed:
            return ZombieRoutine(self.server.last_log.index, self.now)
        return ZombieRoutine(before.last_log.index)

    @staticmethod
    def _replicates(call: Request) -> bool:
        return call.type in (RpcType.APPEND_ENTRIES, RpcType.INSTALL_SNAPSHOT)

    def _wait_for_trigger(self, peer: NodeId, routine: Routine) -> None:
        routine.target = None
        self._timers.set(("commit", peer), self.now + self._between(self.settings.commit_timeout))

    def _begin_replicating(self, peer: NodeId, routine: Routine, target: Index) -> None:
        """Set out to send the log up to an index, after a rest if calls have failed."""
        routine.target = target
        if routine.failure_count:
            self._timers.set(("backoff", peer), self.now + self.settings.backoff(routine.failure_count))
        else:
            self._timers.clear(("backoff", peer))

    def _check_more(self, peer: NodeId, routine: Routine) -> None:
        target = routine.target
        if target is not None and self.server.replication(peer).next_index <= target:
            self._begin_replicating(peer, routine, target)
        else:
            self._wait_for_trigger(peer, routine)

    def _replicate(self, peer: NodeId, routine: Routine) -> bool:
        """Send a peer what it needs, if the routine was woken. Source: replicate, replicateTo."""
        server = self.server
        replication = server.replication(peer)
        if not replication.running or replication.awaiting is not None:
            return False
        if routine.target is None:
            transfer = server.transfer
            hurries = transfer.to == peer and not transfer.asked and replication.next_index <= server.last_index
            if not (routine.triggered or hurries or self._timers.is_due(("commit", peer), self.now)):
                return False
            routine.triggered = False
            self._begin_replicating(peer, routine, server.last_log.index)
        if routine.target is None or not self._timers.is_due(("backoff", peer), self.now):
            return False
        next_index = replication.next_index
        count = max(0, min(most_entries(server, next_index), routine.target - next_index + 1))
        if self.take("ReplicateTo", peer, count) or self.take("SendLatestSnapshot", peer):
            return True
        self._wait_for_trigger(peer, routine)
        return False

    def _beat(self, peer: NodeId, routine: Routine) -> bool:
        """Send a peer a heartbeat, if it is time or a client waits for it. Source: heartbeat."""
        due = self._timers.is_due(("beat", peer), self.now)
        if not (due or (routine.beat_asked and self._timers.is_due(("rest", peer), self.now))):
            return False
        if not self.take("Heartbeat", peer):
            return False
        routine.beat_asked = False
        return True

    def _run_routines(self) -> bool:
        return sum(self._replicate(*each) + self._beat(*each) for each in list(self._routines.items())) > 0

    def _run_zombies(self) -> bool:
        """Let routines of a leadership that is over send what they still send."""
        took = False
        for zombie, routine in list(self._zombies.items()):
            if routine.beats_at <= self.now:
                routine.beats_at = self.now + self._between(self.settings.heartbeat_interval)
                took = self.take("ZombieHeartbeat", zombie) or took
            if routine.sends_at <= self.now:
                routine.sends_at = NEVER
                most = most_entries(self.server, zombie.next_index)
                count = max(0, min(most, routine.target - zombie.next_index + 1))
                sent = self.take("ZombieReplicateTo", zombie, count) or self.take("ZombieSendSnapshot", zombie)
                took = sent or took
            if routine.is_over:
                del self._zombies[zombie]
        return took

    def _end_zombie_call(self, number: int) -> None:
        self._zombies = {zombie: each for zombie, each in self._zombies.items() if each.call != number}

    # ---- The main loop -------------------------------------------------------------------------------

    def _run(self) -> bool:
        """Take a step of the main loop. Source: run, runFollower, runCandidate, runLeader, leaderLoop."""
        server = self.server
        if server.loop is Loop.CAMPAIGN:
            return self.take("PreElectSelf") or self.take("ElectSelf", server.other_voters, DONE)
        if server.loop is Loop.LEAD:
            return self.take("DispatchNoop", DONE)
        match server.role:
            case Role.FOLLOWER:
                return self._run_follower()
            case Role.CANDIDATE:
                return self._run_candidate()
        return self.take("StepDown") or self._run_leader()

    def _run_follower(self) -> bool:
        """Stand for election once nothing was heard for too long. Source: runFollower, heartbeatTimer."""
        time = self.settings.heartbeat_timeout
        if not self._timers.is_due("heartbeat", self.now):
            return False
        self._timers.set("heartbeat", self.now + self._between(time))
        idle = self.server.leader is None and not self.server.is_voter
        return self.now - self._last_contact >= time and not idle and self.take("HeartbeatTimeout")

    def _run_candidate(self) -> bool:
        """Begin the campaign anew once there were too few votes for too long. Source: runCandidate, electionTimer."""
        return self._timers.is_due("election", self.now) and self.take("ElectionTimeout")

    def _run_leader(self) -> bool:
        """Commit, append, change the group, verify, or give up the leadership. Source: leaderLoop."""
        if self.take("ProcessLogs") or self._verify() or self._change() or self._dispatch():
            return True
        return self._timers.is_due("lease", self.now) and self._check_leader_lease()

    def _check_leader_lease(self) -> bool:
        """Step down unless a quorum of the voters was heard of in time. Source: checkLeaderLease."""
        server, lease = self.server, self.settings.leader_lease_timeout
        ages = [self.now - self._routines[peer].contact for peer in sorted(server.other_voters)]
        recent = [age for age in ages if age <= lease]
        quorum = server.configurations.latest.quorum_size()
        if len(recent) + server.is_voter < quorum and self.take("CheckLeaderLease"):
            return True
        wait = max(lease - max(recent, default=0.0), self.settings.min_check_interval)
        self._timers.set("lease", self.now + wait)
        return False

    def _settle(self) -> None:
        """Let every goroutine do what it can do at this moment, until none can do more."""
        while self.server.is_up:
            done = self._run()
            done = self._apply_fsm() or done
            done = self._hand_over() or done
            done = self._run_routines() or done
            done = self._run_zombies() or done
            done = self._run_snapshots() or done
            if not done:
                return
