"""The driver of a hashicorp/raft server: the events that come to it, and the order in which its goroutines work.

The library has a goroutine for the main loop, one for the FSM, one for snapshots, and on a leader two for each peer.
Each has a module here, whose `work` takes a step that its goroutine would take at this moment.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Sequence, Set
from dataclasses import replace
from random import Random

from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature, Flaw
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    Request,
    RequestVoteResponse,
    Response,
    RpcType,
)
from raftref.hashicorp.runtime.candidate_loop import CandidateLoop
from raftref.hashicorp.runtime.client_calls import ClientRequest, RaftError
from raftref.hashicorp.runtime.client_requests import ClientRequests
from raftref.hashicorp.runtime.configuration_changes import ConfigurationChanges
from raftref.hashicorp.runtime.durable_stores import DurableStores
from raftref.hashicorp.runtime.follower_loop import FollowerLoop
from raftref.hashicorp.runtime.fsm_routine import FsmRoutine
from raftref.hashicorp.runtime.futures import Futures
from raftref.hashicorp.runtime.leader_loop import LeaderLoop
from raftref.hashicorp.runtime.leader_verification import LeaderVerification
from raftref.hashicorp.runtime.node_context import NodeContext, TakenStep
from raftref.hashicorp.runtime.peer_calls import PeerCalls
from raftref.hashicorp.runtime.peer_routines import PeerRoutines
from raftref.hashicorp.runtime.settings import Settings
from raftref.hashicorp.runtime.snapshot_routine import SnapshotRoutine
from raftref.hashicorp.runtime.state_machine import RecordingStateMachine, SnapshotStream, StateMachine
from raftref.hashicorp.runtime.transfer_routine import TransferRoutine
from raftref.hashicorp.runtime.zombie_routines import ZombieRoutines
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import Loop, Role
from raftref.hashicorp.steps import DONE
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.values import Configuration, NodeId
from raftref.runtime.driver import NEVER, Driver, NodeStep, Seconds

#: The times and bounds of the library.
DEFAULTS = Settings()


class RaftDriver(Driver):
    """Drives one `Server` on its stores. By default the library's pipeline is left off.

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
        features: Set[Feature] = DEFAULT_FEATURES,
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
        self._configuration = configuration
        self.machine = RecordingStateMachine() if machine is None else machine
        self.server = Server(node_id, nodes, settings.config(flaws, features), Stores())
        node = self.node = NodeContext(self, self.server, stores, random, settings, self._after_step)
        futures = self._futures = Futures(node)
        self._fsm = FsmRoutine(node, futures, self.machine)
        self._calls = PeerCalls(node, self._fsm)
        self._zombies = ZombieRoutines(node, self._calls)
        self._peers = PeerRoutines(node, self._zombies)
        #: What has come while the main loop is between two roles.
        self._waiting: deque[Callable[[], None]] = deque()
        verification = LeaderVerification(node, futures, self._peers)
        self._changes = ConfigurationChanges(node, futures)
        self._follower = FollowerLoop(node)
        self._candidate = CandidateLoop(node)
        self._leader = LeaderLoop(node, futures, self._peers, verification, self._changes)
        self._transfer = TransferRoutine(node, futures, self._calls)
        self._snapshots = SnapshotRoutine(node, self._fsm, futures)
        self._client_requests = ClientRequests(
            node,
            futures,
            self._follower,
            self._leader,
            verification,
            self._changes,
            self._transfer,
            self._snapshots,
        )

    @property
    def is_up(self) -> bool:
        """Whether the server runs."""
        return self.server.is_up

    # ---- Events --------------------------------------------------------------------------------------

    def start(self, now: Seconds) -> None:
        """Come up as a follower on what is durable, or bootstrap.

        A server whose log has a gap stays down, which is its `failure`, and nothing is recorded.
        """
        self.now = now
        if not self.node.start(self._configuration):
            self.failure = "the log behind the newest snapshot has a gap, with which NewRaft fails"
            return
        self._fsm.restore()
        self.node.record_start()
        self._begin_role()
        self._snapshots.start()
        self._settle()

    def on_request(self, now: Seconds, key: Hashable, m: Request | SnapshotStream) -> None:
        """Take a request of a peer. One that ends in an error gets no answer.

        Source: processRPC, processHeartbeat.
        """
        self.now = now
        self._take_request(key, m)
        self._settle()

    def _take_request(self, key: Hashable, m: Request | SnapshotStream) -> None:
        request, data = (m.request, m.data) if isinstance(m, SnapshotStream) else (m, b"")
        # Whether its caller still waits a server cannot know.
        effects = self.node.take_message(replace(request, awaited=True), key, data)
        if effects is not None:
            self._follower.hear_request(effects)
        elif self._is_between:
            self._waiting.append(lambda: self._take_request(key, m))

    def on_answer(self, now: Seconds, number: int, m: Response) -> None:
        """Take the answer to a call, unless the server has given the call up."""
        self.now = now
        self._zombies.end_call(number)
        if self.server.is_overtaken and isinstance(m, RequestVoteResponse):
            self._take_answer(number, m)  # it wakes the main loop, which counts it as the candidate that it was
        else:
            self._at_a_select(lambda: self._take_answer(number, m))
        self._settle()

    def _take_answer(self, number: int, m: Response) -> None:
        call = self._calls.end(number)
        if call is not None and call.type is m.type and call.dst == m.src:
            term = self.server.replication(m.src).term
            self.node.take_message(self._with_sent_index(m, call))
            if m.type is RpcType.TIMEOUT_NOW:
                self._transfer.take_answer()
            self._peers.take_answer(m, term)

    def _with_sent_index(self, m: Response, call: Request) -> Response:
        """Return an answer with what it has of its request where there are pipelines; the wire has nothing of it."""
        if isinstance(m, AppendEntriesResponse) and isinstance(call, AppendEntriesRequest):
            return replace(m, sent_index=call.sent_index if self.server.has(Feature.PIPELINE) else None)
        return m

    def on_failure(self, now: Seconds, number: int) -> None:
        """Give up a call: its routine goes on after a rest that gets longer with each failure."""
        self.now = now
        self._zombies.end_call(number)
        self._at_a_select(lambda: self._fail_call(number))
        self._settle()

    def _fail_call(self, number: int) -> None:
        call = self._calls.end(number)
        if call is not None and call.type is RpcType.TIMEOUT_NOW:
            self._transfer.fail_call(call.dst)
        elif call is not None:
            self._peers.fail_call(call)

    def on_client(self, now: Seconds, key: Hashable, request: ClientRequest) -> None:
        """Take a client's request."""
        self.on_clients(now, [(key, request)])

    def on_clients(self, now: Seconds, requests: Iterable[tuple[Hashable, ClientRequest]]) -> None:
        """Take requests that came together: the commands among them are stored in one write.

        Source: leaderLoop, GROUP_COMMIT_LOOP.
        """
        self.now = now
        for key, request in requests:
            self._client_requests.handle(key, request)
        self._settle()

    def on_disk_space(self, now: Seconds, *, is_full: bool) -> None:
        """Let a write of each step fail while the disk is full: any of them, since a small one may still fit."""
        self.now, self.node.disk_is_full = now, is_full
        self._settle()

    def on_time(self, now: Seconds) -> None:
        """Do what is due."""
        self.now = now
        self._settle()

    def next_time(self) -> Seconds:
        """Return when the next timer runs out; a server that is down has none."""
        if not self.server.is_up:
            return NEVER
        moments = [*self._zombies.moments(), *self._changes.moments(), self.turns.next_after(self.now)]
        return min([self.node.timers.next_after(self.now), *(at for at in moments if at > self.now)])

    @property
    def _is_between(self) -> bool:
        """Whether the main loop is between two roles, held up there, and takes no event."""
        return self.server.is_up and not self.server.selects

    def _at_a_select(self, event: Callable[[], None]) -> None:
        """Let an event wait, behind those that do already, until the main loop takes one again."""
        if self._is_between:
            self._waiting.append(event)
        else:
            event()

    # ---- What a step leads to ------------------------------------------------------------------------

    def _after_step(self, step: TakenStep) -> None:
        """Do what follows from a step: timers, routines, answers to clients and peers, and calls."""
        self._candidate.after_step(step.before)
        self._peers.after_step(step.before)
        if step.before.is_in_leader_loop and not self.server.is_in_leader_loop:
            self._end_leadership(step)
        is_another = self.server.role is not step.before.role or step.before.is_overtaken
        if is_another and not self.server.is_overtaken:
            self._begin_role()
        self._futures.end_committed_changes(step.committed)
        if not self.server.is_up:
            self._waiting.clear()
            if step.effects.panicked:
                self.failure = f"the library panics in {step.action}"
            elif self.node.panics_in is not None:
                self.failure = f"the library panics in {self.node.panics_in}"
            self._futures.shut_down()
            self._snapshots.shut_down()
        self._fsm.after_step(step)
        self._calls.carry_out(step.effects, step.key)

    def _begin_role(self) -> None:
        self._follower.begin_role()
        self._candidate.begin_role()
        self._leader.begin_role()

    def _end_leadership(self, step: TakenStep) -> None:
        """Answer those whose entry is not committed, and those that wait. Source: runLeader, the deferred part."""
        self._follower.hear_of_leader()
        self._futures.end_leadership(step.committed)
        self._leader.end_leadership(RaftError.NOT_LEADER if self.server.is_up else RaftError.RAFT_SHUTDOWN)
        self._transfer.end_leadership()

    # ---- Goroutines ----------------------------------------------------------------------------------

    def _run(self) -> bool:
        """Take a step of the main loop. Source: run, runFollower, runCandidate, runLeader."""
        if self._waiting and self.server.selects:
            self._waiting.popleft()()
            return True
        if self.server.loop is Loop.CAMPAIGN:
            return self._candidate.campaign()
        if self.server.loop is Loop.LEAD:
            return self.node.take("DispatchNoop", DONE)
        if self.server.is_overtaken:
            return self._run_overtaken()
        match self.server.role:
            case Role.FOLLOWER:
                return self._follower.work()
            case Role.CANDIDATE:
                return self._candidate.work()
        return self._leader.work()

    def _run_overtaken(self) -> bool:
        """Take one more event as a leader or a candidate, if there is one, and follow then (HeartbeatRace).

        A heartbeat beside the main loop does not wake it. What does is a command, which a leader appends, a vote, any
        request, or its timer.
        """
        if self.server.is_in_leader_loop and self._leader.dispatch():
            return True
        timer = "lease" if self.server.is_in_leader_loop else "election"
        wakes = bool(self._waiting) or self.node.timers.is_due(timer, self.now)
        return wakes and self.node.take("RunFollower")

    def _settle(self) -> None:
        """Let every goroutine do what it can do at this moment, until none can do more."""
        routines = (self._fsm, self._transfer, self._peers, self._zombies, self._snapshots)
        while self.server.is_up:
            done = self.turns.take("main loop", self.now, self._run)
            for routine in routines:
                done = self.turns.take(routine, self.now, routine.work) or done
            if not done:
                return
