"""Schedules of simulated groups: one seed and one plan give one run.

Time is nothing but this order. At each moment the plan's rates decide what is tried; ordinary work takes the
rest: messages are delivered, dispatchers push, members elect. A moment at which nothing comes of it is no
event. The schedule holds no rule of the protocol. It knows what an environment knows: which nodes run, which are
connected, what is under way; and it lets things time out that cannot come about any more.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raftref.dledger.choices import Feature
from raftref.dledger.clients import REQUEST_WITH_EMPTY_BODYS
from raftref.dledger.messages import Message, NodeId, PushType, Request, Response
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.simulation.election_turns import ElectionTurns
from raftref.dledger.simulation.fault_plan import FaultPlan
from raftref.dledger.state import Role
from raftref.simulation.group import Event
from raftref.simulation.random_schedule import CUT_LOSS

# Ordinary work: how the plan's rest is shared out.
DELIVER, DISPATCH, ELECT = 0.55, 0.3, 0.15
#: The part of that for threads that only split steps have.
WORK = 0.2

#: The number of uncommitted entries of a leader's own term from which on no client appends. Those of earlier terms do
#: not count: where they commit only with one of its own, clients that waited for them would wait for ever.
MAX_UNCOMMITTED = 6

# Rates.
#: A message that its receiver cannot take now is cleared from its queue when its turn comes.
QUEUE_CLEARED = 0.1
#: A call whose answer can come no more times out when its dispatcher has its turn.
HOPELESS_TIMEOUT = 0.3
#: The EntryHandler of a node works when the node has its turn; other threads take the rest.
HANDLER_TURN = 0.7
#: An entry that is not the next one has waited long enough when it comes to its turn.
GAP_TIMEOUT = 0.3
#: A client asks a node whether it leads or not.
WRONG_NODE = 0.02
#: A client's entry is one of a batch and not its last, where clients append batches.
IN_BATCH = 0.4
#: A client whose request is to be refused has an empty batch, where the leader could take one.
EMPTY_BATCH = 0.5
#: A batch is pushed because it has its full size, and not because there is nothing more.
BATCH_FULL = 0.3
#: What a dispatcher pushes again was answered since it looked, where it may look before.
ANSWERED_SINCE = 0.3
#: A pass of a checker that can change nothing is an event all the same.
IDLE_PASS = 0.03


class Schedule(ElectionTurns):
    """One action after another, chosen by chance and taken."""

    def __init__(self, seed: int, plan: FaultPlan, cluster: Cluster | None = None) -> None:
        """Begin a run, as ElectionTurns does."""
        super().__init__(seed, plan, cluster)
        self.value_count = 0
        self.follow_plan(plan)

    def follow_plan(self, plan: FaultPlan) -> None:
        """Go on by the rates of a plan of the same shape, features and flaws."""
        self.plan = plan
        work = WORK if plan.features else 0
        self.share(
            plan,
            (self.try_deliver, (1 - work) * DELIVER),
            (self.try_dispatch, (1 - work) * DISPATCH),
            (self.try_elect, (1 - work) * ELECT),
            (self.try_work, work),
        )

    # ---- Messages ----

    def try_deliver(self) -> Event | None:
        """Let a message come to its turn: it is handled, delayed, doubled, lost, or cleared from a queue."""
        m: Message | None = self.next_message(self.plan.reorder)
        if m is None:
            return None
        network = self.cluster.network
        if self.comes_late(m):
            return self.cluster.take(m.dst, "Duplicate", m) if isinstance(m, Request) and m.awaited else None
        if not self.reaches(m.src, m.dst):
            lost = self.chance(CUT_LOSS) and network.may_be_disturbed(m)
            return self.cluster.take(m.dst, "Lose", m) if lost else None
        if not network.may_be_disturbed(m):
            return self.deliver(m)
        plan, odds = self.plan, self.random.random()
        if odds < plan.loss:
            return self.cluster.take(m.dst, "Lose", m)
        if odds < plan.loss + plan.duplicate:
            return self.cluster.take(m.dst, "Duplicate", m)
        if odds < plan.loss + plan.duplicate + plan.delay:
            self.hold(m, plan.delay_events)
            return None
        return self.deliver(m)

    def comes_late(self, m: Message) -> bool:
        """Return whether a message is a TRUNCATE that is to be copied, or a copy that is to come late."""
        if not self.plan.late or self.plan.fifo or not isinstance(m, Request) or m.type is not PushType.TRUNCATE:
            return False
        return self.chance(self.plan.late)

    def deliver(self, m: Message) -> Event | None:
        """Let its receiver handle a message, or clear it from its queue if it cannot."""
        handler = self.cluster.handler_of(m)
        if handler is not None:
            return self.cluster.take(m.dst, handler, m)
        cleared = self.chance(QUEUE_CLEARED) and self.cluster.network.may_be_disturbed(m)
        return self.cluster.take(m.dst, "Lose", m) if cleared else None

    # ---- Dispatchers, checkers, clients ----

    def pushing(self) -> tuple[NodeId, NodeId] | None:
        """Choose a dispatcher: mostly a leader's, sometimes one of a leader that was."""
        node = self.one_of(self.running() if self.chance(0.1) else self.in_role(Role.LEADER))
        return None if node is None else (node, self.random.choice(self.cluster.servers[node].peers))

    def push(self, node: NodeId, action: str, peer: NodeId, *args: Any) -> Event | None:
        """Let a dispatcher send, unless its channel is full."""
        return None if self.is_full(node, peer) else self.attempt(node, action, peer, *args)

    def try_dispatch(self) -> Event | None:
        """Let a dispatcher do what it has to do, or give up what can come no more."""
        chosen = self.pushing()
        if chosen is None:
            return None
        node, peer = chosen
        if self.chance(IDLE_PASS):
            event = self.attempt(node, "CheckLeak", peer)
            if event is not None:
                return event
        for action in ("DoTruncate", "DoCompare", "DoAppend"):
            event = self.push(node, action, peer)
            if event is not None:
                return event
        if self.plan.has(Feature.BATCHES):
            event = self.push(node, "DoBatchAppend", peer, self.batch_size(node, peer))
            if event is not None:
                return event
        if self.is_hopeless(node, peer) and self.chance(HOPELESS_TIMEOUT):
            return self.attempt(node, "PushTimeOut", peer)
        return None

    def batch_size(self, node: NodeId, peer: NodeId) -> int:
        """Choose the number of entries to push at once: mostly all there are, else those that fill a batch."""
        server = self.cluster.servers[node]
        count = server.ledger_store.end_index - server.dispatchers[peer].write_index + 1
        return count if count < 2 or not self.chance(BATCH_FULL) else self.random.randint(1, count)

    def is_hopeless(self, node: NodeId, peer: NodeId) -> bool:
        """Return whether a dispatcher waits for an answer that is not and will not be under way."""
        awaited = self.cluster.servers[node].dispatchers[peer].awaiting
        channels = self.cluster.network.channels
        requests = [*channels[node, peer], *self.cluster.servers[peer].compare_or_truncate_requests]
        asked = any(isinstance(m, Request) and m.src == node and m.awaited and m.type is awaited for m in requests)
        answered = any(isinstance(m, Response) and m.type is awaited for m in channels[peer, node])
        return awaited is not None and not (answered or (asked and self.reaches(node, peer)))

    def try_work(self) -> Event | None:
        """Let a thread of a node go on: its EntryHandler, the pass of its checker, its state machine."""
        node = self.one_of(self.running())
        if node is None:
            return None
        waiting = self.cluster.waiting(node)
        if waiting and self.chance(HANDLER_TURN):
            name, m = self.random.choice(waiting)
            gap = name == "CheckAppendFuture" and not self.chance(GAP_TIMEOUT)
            return None if gap else self.attempt(node, name, m)
        for action in ("ActOnQuorumIndex", "DoCommitted"):
            event = self.attempt(node, action)
            if event is not None:
                return event
        return None

    def try_client_timeout(self) -> Event | None:
        """Let a client have waited too long."""
        node = self.one_of(self.in_role(Role.LEADER))
        return None if node is None else self.attempt(node, "CheckResponseFuturesTimeout")

    def try_push_timeout(self) -> Event | None:
        """Let a dispatcher give up a call that may yet be answered."""
        chosen = self.pushing()
        return None if chosen is None else self.attempt(chosen[0], "PushTimeOut", chosen[1])

    def try_resend(self) -> Event | None:
        """Let a dispatcher push an unanswered entry once more, or one that was answered since it looked."""
        chosen = self.pushing()
        if chosen is None:
            return None
        if self.plan.has(Feature.LATE_RESEND) and self.chance(ANSWERED_SINCE):
            return self.resend_answered(*chosen)
        action = "DoCheckBatchAppendResponse" if self.plan.has(Feature.BATCHES) else "DoCheckAppendResponse"
        return self.push(chosen[0], action, chosen[1])

    def resend_answered(self, node: NodeId, peer: NodeId) -> Event | None:
        """Let a dispatcher push once more the entry that was answered last."""
        mark = self.cluster.servers[node].peer_water_marks[peer]
        return self.push(node, "PushAnsweredAgain", peer, mark, 1)

    def try_commit(self) -> Event | None:
        """Let a dispatcher send the committed index."""
        chosen = self.pushing()
        return None if chosen is None else self.push(chosen[0], "DoCommit", chosen[1])

    def try_quorum_check(self) -> Event | None:
        """Let a leader's checker pass; mostly only when it finds something new."""
        node = self.one_of(self.in_role(Role.LEADER))
        if node is None:
            return None
        server = self.cluster.servers[node]
        idle = server.quorum_index() == server.last_quorum_index
        return None if idle and not self.chance(IDLE_PASS) else self.attempt(node, "QuorumAckChecker")

    def try_refresh(self) -> Event | None:
        """Let a leader mark its own entries; mostly only when one is not."""
        node = self.one_of(self.in_role(Role.LEADER))
        if node is None:
            return None
        server = self.cluster.servers[node]
        idle = server.peer_water_marks[node] == server.ledger_store.end_index
        return None if idle and not self.chance(IDLE_PASS) else self.attempt(node, "RefreshOwnWaterMark")

    def try_client(self) -> Event | None:
        """Let a client append a value that was never appended before, at a leader."""
        if self.chance(WRONG_NODE):
            return self.refuse()
        node = self.one_of(self.in_role(Role.LEADER))
        if node is None:
            return None
        if self.pending_count(node) >= MAX_UNCOMMITTED:
            return None
        self.value_count += 1
        more = self.plan.has(Feature.BATCHES) and self.chance(IN_BATCH)
        return self.attempt(node, "AppendInBatch" if more else "AppendAsLeader", f"v{self.value_count}")

    def pending_count(self, leader: NodeId) -> int:
        """Count the entries of a leader's own term that are not committed."""
        server = self.cluster.servers[leader]
        store, term = server.ledger_store, server.member_state.curr_term
        behind = store.log[store.committed_index + 1 :]
        return sum(entry is not None and entry.term == term for entry in behind)

    def refuse(self) -> Event | None:
        """Let a node refuse a client's entry; a leader that would take it refuses an empty batch."""
        node = self.one_of(self.running())
        if node is None:
            return None
        code = self.cluster.servers[node].refusal()
        if code is None and not self.chance(EMPTY_BATCH):
            return None
        return self.attempt(node, "RefuseAppend", code or REQUEST_WITH_EMPTY_BODYS)

    # ---- Processes and partitions ----

    def try_check_point(self) -> Event | None:
        """Let a node write its checkpoint; mostly only when it has something new."""
        node = self.one_of(self.running())
        if node is None:
            return None
        store = self.cluster.servers[node].ledger_store
        idle = store.check_point == store.committed_index
        return None if idle and not self.chance(IDLE_PASS) else self.attempt(node, "PersistCheckPoint")

    def try_crash(self) -> Event | None:
        """Let a process die, if the plan allows one more to be down."""
        node = self.may_go_down()
        return None if node is None else self.attempt(node, "Crash")

    def may_go_down(self) -> NodeId | None:
        """Choose a node that runs, if the plan allows one more to be down."""
        return None if len(self.in_role(Role.DOWN)) >= self.plan.max_down else self.one_of(self.running())

    def try_crash_in_persist(self) -> Event | None:
        """Let a process die while it writes its term and vote, or its checkpoint."""
        node, files = self.may_go_down(), ("CrashInPersistTerm", "CrashInPersistCheckPoint")
        return None if node is None else self.attempt(node, self.random.choice(files))

    def try_shutdown(self) -> Event | None:
        """Stop a process in good order."""
        node = self.may_go_down()
        return None if node is None else self.attempt(node, "Shutdown")

    def try_power_loss(self) -> Event | None:
        """Let a machine die; how much of what was not forced survives is by chance, often nothing."""
        node = self.may_go_down()
        if node is None:
            return None
        store = self.cluster.servers[node].ledger_store
        return self.attempt(node, "LosePower", 0 if self.chance(0.5) else self.random.randint(0, len(store.file)))

    def try_flush(self) -> Event | None:
        """Let a node force its data file; mostly only when it has something new."""
        node = self.one_of(self.running())
        if node is None:
            return None
        idle = self.cluster.servers[node].ledger_store.is_forced
        return None if idle and not self.chance(IDLE_PASS) else self.attempt(node, "FlushDataService")

    def try_restart(self) -> Event | None:
        """Let a process come back; how much of the cut tail does too is by chance, often all it can."""
        node = self.one_of(self.in_role(Role.DOWN))
        if node is None:
            return None
        most = self.cluster.servers[node].ledger_store.resurrectable_count()
        return self.attempt(node, "Restart", most if self.chance(0.5) else self.random.randint(0, most))


def simulate(seed: int, plan: FaultPlan) -> Iterator[Event]:
    """Run a group of nodes and yield its events.

    Args:
        seed: With the plan it reproduces everything.
        plan: Shape, faults and number of events; there are fewer only where nothing is possible any more.

    Yields:
        Events with the fields `seq`, `node`, `action`, `args`, `shows` and `sent` of the trace format; in
        `shows` the log stands where it changed and after a restart.
    """
    return Schedule(seed, plan).run()
