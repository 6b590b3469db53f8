"""What happens next: one seed and one plan give one run.

Time is nothing but this order. At each moment the plan's rates decide what is tried; ordinary work takes the
rest: messages are delivered, dispatchers push, members elect. A moment at which nothing comes of it is no
event. The schedule holds no rule of the protocol. It knows what an environment knows: who runs, who is
connected with whom, what is under way; and it lets things time out that cannot come about any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from raftref.dledger.member_state import Role
from raftref.dledger.messages import HeartBeat, Message, NodeId, PushType, Request, Response
from raftref.dledger.replication.append_handler import REQUEST_WITH_EMPTY_BODYS
from raftref.dledger.replication.quorum import is_quorum
from raftref.dledger.simulation.cluster import Cluster, Event
from raftref.dledger.simulation.elections import MessageElections
from raftref.dledger.simulation.plan import EVENT_PROBABILITIES, FaultPlan
from raftref.dledger.switches import Grain
from raftref.simulation.chances import Chances

# Ordinary work: how the plan's rest is shared out.
DELIVER, DISPATCH, ELECT = 0.55, 0.3, 0.15
#: And which part of that goes to threads that only a finer grain has.
WORK = 0.2

#: Nobody sends into a channel that holds so many messages.
CHANNEL_FULL = 12
#: Clients wait while a leader has so many uncommitted entries of its own term. Those of earlier terms do not count:
#: where they commit only with one of its own, clients that waited for them would wait for ever.
PENDING_FULL = 6
#: A message across a partition or to a node that is down is lost at this rate when its turn comes.
CUT_LOSS = 0.3
#: A message that its receiver cannot take now is cleared from its queue at this rate when its turn comes.
QUEUE_CLEARED = 0.1
#: A call whose answer can come no more times out at this rate when its dispatcher has its turn.
HOPELESS_TIMEOUT = 0.3
#: A member acts on what it can know only by time (no leader, no quorum, no vote) at this rate.
PATIENCE_ENDS = 0.12
#: A member that hears of a higher term leaves its own at this rate.
HIGHER_TERM_HEARD = 0.3
#: A heartbeat arrives though its sender leads no more, at this rate.
LATE_HEARTBEAT = 0.05
#: A leader that stepped down wins the same term again at this rate.
SAME_TERM_AGAIN = 0.03
#: The EntryHandler of a node works at this rate when the node has its turn, other threads at the rest.
HANDLER_TURN = 0.7
#: An entry that is not the next one has waited long enough at this rate when it comes to its turn.
GAP_TIMEOUT = 0.3
#: A client asks a node at this rate whether it leads or not.
WRONG_NODE = 0.02
#: A client's entry is one of a batch and not its last, at this rate, where clients append batches.
IN_BATCH = 0.4
#: What a leader could take is an empty batch at this rate, of what is asked to be refused.
EMPTY_BATCH = 0.5
#: A batch is pushed because it has its full size, and not because there is nothing more, at this rate.
BATCH_FULL = 0.3
#: A checker's pass that can change nothing is told at this rate.
IDLE_PASS = 0.03


class Schedule(Chances[Event]):
    """Chooses and takes one action after another."""

    def __init__(self, seed: int, plan: FaultPlan, cluster: Cluster | None = None) -> None:
        """Begin a run; everything in it follows from seed and plan.

        Args:
            seed: Where all chance comes from.
            plan: Shape and faults.
            cluster: The group of that plan to run; one that keeps its logs in memory unless given.
        """
        super().__init__(seed)
        self.plan = plan
        self.cluster = Cluster(plan) if cluster is None else cluster
        self.elections = MessageElections(self) if plan.vote_messages else None
        self.value_count = 0
        self.held_until: dict[tuple[NodeId, NodeId], int] = {}
        tries, work = self.tries(), 0 if plan.grain == Grain() else WORK
        shares = [*((1 - work) * share for share in (DELIVER, DISPATCH, ELECT)), work]
        ordinary = zip((self.try_deliver, self.try_dispatch, self.try_elect, self.try_work), shares, strict=True)
        self.share_out(plan, {name: tries[name] for name in EVENT_PROBABILITIES}, [*ordinary])

    def tries(self) -> dict[str, Callable[[], Event | None]]:
        """Return what is tried at each rate of the plan, by the rate's name."""
        return {
            "client": self.try_client,
            "client_timeout": self.try_client_timeout,
            "quorum_check": self.try_quorum_check,
            "refresh": self.try_refresh,
            "resend": self.try_resend,
            "commit": self.try_commit,
            "push_timeout": self.try_push_timeout,
            "step_down": self.try_step_down,
            "check_point": self.try_check_point,
            "crash": self.try_crash,
            "crash_in_persist": self.try_crash_in_persist,
            "power_loss": self.try_power_loss,
            "shutdown": self.try_shutdown,
            "flush": self.try_flush,
            "restart": self.try_restart,
            "partition": self.try_partition,
            "heal": self.try_heal,
            "transfer": self.try_transfer,
        }

    # ---- Choosing ------------------------------------------------------------------------------------

    def one_of(self, nodes: list[NodeId]) -> NodeId | None:
        """Choose one of the nodes; None if there are none."""
        return self.random.choice(nodes) if nodes else None

    def in_role(self, *roles: Role) -> list[NodeId]:
        """Return the nodes that play one of these parts."""
        return [name for name, each in self.cluster.servers.items() if each.member_state.role in roles]

    def running(self) -> list[NodeId]:
        """Return the nodes whose process runs."""
        return self.in_role(Role.LEADER, Role.FOLLOWER, Role.CANDIDATE)

    def pushing(self) -> tuple[NodeId, NodeId] | None:
        """Choose a dispatcher: mostly a leader's, sometimes one of a leader that was."""
        node = self.one_of(self.running() if self.chance(0.1) else self.in_role(Role.LEADER))
        return None if node is None else (node, self.random.choice(self.cluster.servers[node].peers))

    def attempt(self, node: NodeId, action: str, *args: Any) -> Event | None:
        """Take an action if it is enabled."""
        return self.cluster.take(node, action, *args) if self.cluster.enabled(node, action, *args) else None

    def push(self, node: NodeId, action: str, peer: NodeId, *args: Any) -> Event | None:
        """Let a dispatcher send, unless its channel is full."""
        full = len(self.cluster.network.channels[node, peer]) >= CHANNEL_FULL
        return None if full else self.attempt(node, action, peer, *args)

    def reaches(self, one: NodeId, other: NodeId) -> bool:
        """Tell whether both run and are connected."""
        servers = self.cluster.servers
        return servers[one].is_up and servers[other].is_up and self.cluster.network.connected(one, other)

    # ---- Messages ------------------------------------------------------------------------------------

    def try_deliver(self) -> Event | None:
        """Let a message come to its turn: it is handled, delayed, doubled, lost, or cleared from a queue."""
        network, seq = self.cluster.network, self.cluster.seq
        open_links = [
            link for link, channel in network.channels.items() if len(channel) and self.held_until.get(link, 0) <= seq
        ]
        if not open_links:
            return None
        link = self.random.choice(open_links)
        deliverable = network.channels[link].deliverable()
        m = self.random.choice(deliverable) if self.chance(self.plan.reorder) else deliverable[0]
        if self.comes_late(m):
            return self.cluster.take(m.dst, "Duplicate", m) if isinstance(m, Request) and m.awaited else None
        if not self.reaches(*link):
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
            self.held_until[link] = seq + self.random.randint(1, plan.delay_events)
            return None
        return self.deliver(m)

    def comes_late(self, m: Message) -> bool:
        """Tell whether a message is a TRUNCATE of which a copy is to come late, or such a copy."""
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

    # ---- Dispatchers and checkers --------------------------------------------------------------------

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
        if self.plan.grain.batches:
            event = self.push(node, "DoBatchAppend", peer, self.batch_size(node, peer))
            if event is not None:
                return event
        if self.is_hopeless(node, peer) and self.chance(HOPELESS_TIMEOUT):
            return self.attempt(node, "PushTimeOut", peer)
        return None

    def batch_size(self, node: NodeId, peer: NodeId) -> int:
        """Choose how many entries to push at once: mostly all there are, else what fills a batch."""
        server = self.cluster.servers[node]
        count = server.ledger_store.end_index - server.dispatchers[peer].write_index + 1
        return count if count < 2 or not self.chance(BATCH_FULL) else self.random.randint(1, count)

    def is_hopeless(self, node: NodeId, peer: NodeId) -> bool:
        """Tell whether a dispatcher waits for an answer that is not and will not be under way."""
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
        """Let a dispatcher push an unanswered entry once more."""
        chosen = self.pushing()
        action = "DoCheckBatchAppendResponse" if self.plan.grain.batches else "DoCheckAppendResponse"
        return None if chosen is None else self.push(chosen[0], action, chosen[1])

    def try_commit(self) -> Event | None:
        """Let a dispatcher tell the committed index."""
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
        """Let a client append a value that was never appended before, at whoever leads."""
        if self.chance(WRONG_NODE):
            return self.refuse()
        node = self.one_of(self.in_role(Role.LEADER))
        if node is None:
            return None
        if self.pending_count(node) >= PENDING_FULL:
            return None
        self.value_count += 1
        more = self.plan.grain.batches and self.chance(IN_BATCH)
        return self.attempt(node, "AppendInBatch" if more else "AppendAsLeader", f"v{self.value_count}")

    def pending_count(self, leader: NodeId) -> int:
        """Count the entries of a leader's own term that are not committed."""
        server = self.cluster.servers[leader]
        store, term = server.ledger_store, server.member_state.curr_term
        behind = store.log[store.committed_index + 1 :]
        return sum(entry is not None and entry.term == term for entry in behind)

    def refuse(self) -> Event | None:
        """Let a node tell a client why it takes nothing; a leader that would take it, that its batch is empty."""
        asked = self.one_of(self.running())
        if asked is None:
            return None
        code = self.cluster.servers[asked].refusal()
        if code is None and not self.chance(EMPTY_BATCH):
            return None
        return self.attempt(asked, "RefuseAppend", code or REQUEST_WITH_EMPTY_BODYS)

    # ---- Elections -----------------------------------------------------------------------------------

    def try_elect(self) -> Event | None:
        """Let a member vote, lead, follow, or leave what it can keep no longer."""
        node = self.one_of(self.running())
        if node is None:
            return None
        if self.elections is not None:
            return self.elections.maintain(node)
        state = self.cluster.servers[node].member_state
        if state.role is not Role.CANDIDATE:
            return self.leave(node)
        return self.follow(node) or self.lead(node) or self.vote(node) or self.stand(node)

    def lead(self, node: NodeId) -> Event | None:
        """Let a candidate lead; one that led this term already mostly finds that others do not follow."""
        led = HeartBeat(node, self.cluster.servers[node].member_state.curr_term) in self.cluster.elected
        return None if led and not self.chance(SAME_TERM_AGAIN) else self.attempt(node, "ChangeToLeader")

    def follow(self, node: NodeId) -> Event | None:
        """Let a heartbeat of the term's leader arrive."""
        term = self.cluster.servers[node].member_state.curr_term
        for beat in self.cluster.elected:
            if beat.term != term or beat.leader == node:
                continue
            leads = self.cluster.servers[beat.leader].member_state.role is Role.LEADER
            in_time = leads and self.cluster.servers[beat.leader].member_state.curr_term == term
            if (in_time and self.reaches(node, beat.leader)) or self.chance(LATE_HEARTBEAT):
                return self.attempt(node, "ChangeToFollower", beat.leader)
        return None

    def vote(self, node: NodeId) -> Event | None:
        """Let a vote request arrive, the member's own among them."""
        vote_for = self.cluster.servers[node].member_state.curr_vote_for
        candidates = [each for each in self.in_role(Role.CANDIDATE) if self.reaches(node, each)]
        self.random.shuffle(candidates)
        for candidate in candidates:
            counted = node in self.cluster.servers[candidate].member_state.votes
            if (vote_for is None or vote_for == candidate) and not counted:
                event = self.attempt(node, "SetCurrVoteFor", candidate)
                if event is not None:
                    return event
        return None

    def stand(self, node: NodeId) -> Event | None:
        """Let a candidate enter a higher term: one it heard of, or the next when no vote came for long."""
        term = self.cluster.highest_term(node)
        if term > self.cluster.servers[node].member_state.curr_term:
            return self.attempt(node, "NextTerm", term) if self.chance(HIGHER_TERM_HEARD) else None
        return (
            self.attempt(node, "NextTerm", term + 1)
            if self.chance(PATIENCE_ENDS / len(self.cluster.node_ids))
            else None
        )

    def leave(self, node: NodeId) -> Event | None:
        """Let a leader or follower become a candidate: a higher term, no leader, no quorum."""
        servers, state = self.cluster.servers, self.cluster.servers[node].member_state
        if self.cluster.highest_term(node) > state.curr_term:
            waits = not self.chance(HIGHER_TERM_HEARD)
        elif state.role is Role.LEADER:
            reached_count = sum(self.reaches(node, each) for each in servers)
            waits = is_quorum(reached_count, len(servers)) or not self.chance(PATIENCE_ENDS / 3)
        else:
            leader = state.leader_id
            gone = leader is None or not self.reaches(node, leader)
            waits = not (gone or self.deposed(leader)) or not self.chance(PATIENCE_ENDS)
        return None if waits else self.attempt(node, "ChangeToCandidate")

    def deposed(self, leader: NodeId | None) -> bool:
        """Tell whether a node leads no more."""
        return leader is None or self.cluster.servers[leader].member_state.role is not Role.LEADER

    def try_step_down(self) -> Event | None:
        """Let a leader or follower become a candidate for no reason that can be seen."""
        node = self.one_of(self.in_role(Role.LEADER, Role.FOLLOWER))
        lost = "ChangeToCandidate" if self.elections is None else "HeartBeatTimeOut"
        return None if node is None else self.attempt(node, lost)

    def try_transfer(self) -> Event | None:
        """Let a client tell a leader to hand over to one of its peers."""
        node = self.one_of(self.in_role(Role.LEADER))
        if node is None or self.elections is None:
            return None
        return self.attempt(node, "HandleLeadershipTransfer", self.random.choice(self.cluster.servers[node].peers))

    # ---- Processes and partitions --------------------------------------------------------------------

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

    def try_partition(self) -> None:
        """Cut the group in two, if it is whole."""
        if not self.cluster.network.is_partitioned:
            size = self.random.randint(1, len(self.cluster.node_ids) - 1)
            self.cluster.network.partition(self.random.sample(self.cluster.node_ids, size))

    def try_heal(self) -> None:
        """End the partition."""
        self.cluster.network.heal()


def simulate(seed: int, plan: FaultPlan) -> Iterator[Event]:
    """Run a group of nodes and yield what happens, event by event.

    Args:
        seed: With the plan it reproduces everything.
        plan: Shape, faults and number of events; fewer come only where nothing is possible any more.

    Yields:
        Events with the fields `seq`, `node`, `action`, `args`, `shows` and `sent` of the trace format; in
        `shows` the log stands where it changed and after a restart.
    """
    schedule = Schedule(seed, plan)
    for _ in range(plan.events):
        event = schedule.next_event()
        if event is None:
            return
        yield event


def constants(plan: FaultPlan) -> dict[str, bool | str]:
    """Return the spec's constants that a trace of this plan is told in."""
    return {"AtomicElection": False, "Fifo": plan.fifo, **plan.grain.constants(), **plan.switches.constants()}
