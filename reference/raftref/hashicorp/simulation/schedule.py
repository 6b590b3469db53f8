"""The schedule of a simulated group: one seed and one plan give one run.

Ordinary work beside the plan's rates: messages are delivered, main loops and routines go on, timers run out that nobody
kept from it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from raftref.hashicorp.hashicorp_raft import ACTIONS
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.messages import Message, Request, Response, RpcType
from raftref.hashicorp.replication import most_entries
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation.cluster import HANDLERS, Cluster
from raftref.hashicorp.simulation.fault_plan import FaultPlan
from raftref.hashicorp.state import CampaignPhase, Loop, Role
from raftref.hashicorp.steps import DONE, Outcome, Result
from raftref.hashicorp.values import ClientLog, EntryType, NodeId, Zombie
from raftref.simulation.group import Event
from raftref.simulation.random_schedule import CUT_LOSS, RandomSchedule

# Ordinary work: how the plan's rest is shared out.
DELIVER, GO_ON, REPLICATE, TIMERS = 0.42, 0.3, 0.2, 0.08

#: Clients wait while a leader has this many entries that are not committed.
MAX_PENDING = 6
#: A call whose answer can come no more is given up at this rate when its caller has its turn.
HOPELESS_ERROR = 0.4
#: A timer that nobody kept from running out does so at this rate when its server has its turn.
PATIENCE_ENDS = 0.15
#: A candidate that can win begins anew all the same, at this rate.
CAMPAIGN_ENDS = 0.03
#: A server that a heartbeat has made a follower before it campaigns does not campaign, at this rate.
FOLLOWS_AGAIN = 0.5
#: A routine that has nothing to send sends all the same (CommitTimeout), at this rate.
IDLE_REPLICATION = 0.12
#: A routine was woken before the last entries were appended, at this rate.
WOKEN_EARLY = 0.15
#: A routine that may open a pipeline does, at this rate.
PIPELINE_OPENS = 0.5
#: A pipeline has no more calls without an answer than this. Source: MaxRPCsInFlight, 2 by default.
MAX_IN_FLIGHT = 3
#: A routine heartbeats, instead of sending entries, at this rate.
HEARTBEAT = 0.25
#: Clients ask for several entries at once, at this rate.
GROUP_COMMIT = 0.25
#: The routine that clears the flag of a transfer which is over runs at this rate when its server has its turn.
TRANSFER_IS_OVER = 0.3


class Schedule(RandomSchedule[Cluster]):
    """Chooses and takes one action after another."""

    def __init__(self, seed: int, plan: FaultPlan, cluster: Cluster | None = None) -> None:
        """Begin a run of a group of this plan: of `cluster`, where one is given."""
        super().__init__(seed, plan, Cluster(plan) if cluster is None else cluster)
        self.value_count = 0
        self.follow_plan(plan)

    def follow_plan(self, plan: FaultPlan) -> None:
        """Go on by the rates of a plan of the same shape, features and flaws."""
        self.plan = plan
        self.share(
            plan,
            (self.try_deliver, DELIVER),
            (self.try_continue, GO_ON),
            (self.try_replicate, REPLICATE),
            (self.try_timer, TIMERS),
        )

    # ---- Choosing ------------------------------------------------------------------------------------

    def in_role(self, *roles: Role) -> list[Server]:
        """Return the servers that play one of these parts."""
        return [each for each in self.cluster.servers.values() if each.role in roles]

    def running(self) -> list[Server]:
        """Return the servers whose process runs."""
        return self.in_role(Role.FOLLOWER, Role.CANDIDATE, Role.LEADER)

    def down_count(self) -> int:
        """Return how many servers are down."""
        return len(self.in_role(Role.SHUTDOWN))

    def attempt(self, node: NodeId, action: str, *args: Any) -> Event | None:
        """Take an action if it is enabled; where it writes, chance decides what becomes of its writes."""
        if "outcome" not in ACTIONS[action].parameters:
            return super().attempt(node, action, *args)
        attempts = (super(Schedule, self).attempt(node, action, *args, outcome) for outcome in self.outcomes())
        return next((event for event in attempts if event is not None), None)

    def outcomes(self) -> list[Outcome]:
        """Return what is tried of the writes of a step, one after the other: it may have fewer writes, or none."""
        chosen = self.random.random()
        if chosen >= self.plan.store_failure + self.plan.crash_in_write:
            return [DONE]
        fails = chosen < self.plan.store_failure
        if not fails and self.down_count() >= self.plan.max_down:
            return [DONE]
        result = Result.FAIL if fails else Result.CRASH
        return [*(Outcome(result, write) for write in self.random.sample((1, 2, 3), 3)), DONE]

    # ---- Messages ------------------------------------------------------------------------------------

    def try_deliver(self) -> Event | None:
        """Let a message come to its turn: it is handled, delayed, doubled, or lost."""
        m: Message | None = self.next_message(self.plan.reorder)
        if m is None:
            return None
        if not self.reaches(m.src, m.dst):
            return self.cluster.take(m.dst, "Lose", m) if self.chance(CUT_LOSS) else None
        plan, odds = self.plan, self.random.random()
        if odds < plan.loss:
            return self.cluster.take(m.dst, "Lose", m)
        if odds < plan.loss + plan.duplicate:
            if self.is_full(m.src, m.dst) or not self.cluster.may_disturb(m.dst, "Duplicate", m):
                return None
            return self.cluster.take(m.dst, "Duplicate", m)
        if odds < plan.loss + plan.duplicate + plan.delay:
            self.hold(m, plan.delay_events)
            return None
        return self.attempt(m.dst, HANDLERS[type(m)], m)

    # ---- Main loops and routines ---------------------------------------------------------------------

    def try_continue(self) -> Event | None:
        """Let a main loop or a routine of a server do what it has to do."""
        server = self.one_of(self.running())
        if server is None:
            return None
        node = server.node_id
        if server.loop is Loop.LEAD:
            return self.attempt(node, "DispatchNoop")
        if server.is_overtaken:
            return (None if self.chance(FOLLOWS_AGAIN) else self.dispatch(server)) or self.attempt(node, "RunFollower")
        if server.loop is Loop.CAMPAIGN:
            if server.role is Role.FOLLOWER and self.chance(FOLLOWS_AGAIN):
                return self.attempt(node, "RunFollower")
            return self.attempt(node, "PreElectSelf") or self.elect_self(server)
        work = [
            "ProcessLogs",
            "StepDown",
            "ApplyFsm",
            "PersistSnapshot",
            "CompactLogs",
            "SendTimeoutNow",
            "HandleVerify",
        ]
        self.random.shuffle(work)
        for action in work:
            event = self.attempt(node, action)
            if event is not None:
                return event
        is_over = server.role is not Role.LEADER and server.transfer.in_progress
        return self.attempt(node, "EndTransfer") if is_over and self.chance(TRANSFER_IS_OVER) else None

    def elect_self(self, server: Server) -> Event | None:
        """Let a candidate elect itself; where its writes do not end well, it has asked some of the voters only."""
        others = sorted(server.other_voters)
        for each in self.outcomes():
            whole = each == DONE
            count = len(others) if whole else self.random.randint(0, len(others)) if each.write > 1 else 0
            asked = frozenset(others if whole else self.random.sample(others, count))
            if self.cluster.enabled(server.node_id, "ElectSelf", asked, each):
                return self.cluster.take(server.node_id, "ElectSelf", asked, each)
        return None

    def try_replicate(self) -> Event | None:
        """Let a routine of a leader send, or give up what can be answered no more."""
        server = self.one_of(self.in_role(Role.LEADER))
        peer = None if server is None else self.one_of(sorted(server.repl_state))
        if server is None or peer is None:
            return None
        node = server.node_id
        hopeless = self.hopeless(server, peer)
        if hopeless is not None and self.chance(HOPELESS_ERROR):
            return self.attempt(node, "RPCError", peer, hopeless)
        if self.is_full(node, peer):
            return None
        if self.chance(HEARTBEAT):
            return self.attempt(node, "Heartbeat", peer)
        return (
            self.attempt(node, "SendLatestSnapshot", peer)
            or self.attempt(node, "PipelineAbort", peer)
            or self.replicate(server, peer)
        )

    def replicate(self, server: Server, peer: NodeId) -> Event | None:
        """Let a routine send what there is; seldom if there is nothing."""
        replication = server.replication(peer)
        pipelines = replication.has_pipeline or (replication.may_pipeline and self.chance(PIPELINE_OPENS))
        if pipelines and len(replication.in_flight) >= MAX_IN_FLIGHT:
            return None
        next_index = replication.pipeline_index if pipelines else replication.next_index
        most = most_entries(server, next_index)
        count = self.random.randint(0, most) if self.chance(WOKEN_EARLY) else most
        if count == 0 and not self.chance(IDLE_REPLICATION):
            return None
        return self.attempt(server.node_id, "PipelineSend" if pipelines else "ReplicateTo", peer, count)

    def hopeless(self, server: Server, peer: NodeId) -> RpcType | None:
        """Return a call to a peer that waits for an answer which is not and will not be under way."""
        replication = server.replication(peer)
        calls = [replication.awaiting] if replication.awaiting is not None else []
        calls += [RpcType.APPEND_ENTRIES] if replication.in_flight else []
        calls += [RpcType.HEARTBEAT] if replication.beating else []
        return next((each for each in calls if not self.may_be_answered(server.node_id, peer, each)), None)

    def may_be_answered(self, node: NodeId, peer: NodeId, type_: RpcType) -> bool:
        """Return whether the answer to a call is under way, or its request, which the peer can receive."""
        channels = self.cluster.network.channels
        asked = any(m.type is type_ and isinstance(m, Request) and m.awaited for m in channels[node, peer])
        answered = any(m.type is type_ and isinstance(m, Response) for m in channels[peer, node])
        return answered or (asked and self.reaches(node, peer))

    # ---- Timers --------------------------------------------------------------------------------------

    def try_timer(self) -> Event | None:
        """Let a timer run out that nobody keeps from it: no leader is heard of, no vote comes, no quorum answers."""
        server = self.one_of(self.running())
        if server is None or not server.selects:
            return None
        node = server.node_id
        match server.role:
            case Role.FOLLOWER:
                waits = self.hears_leader(server) or not self.chance(PATIENCE_ENDS)
                idle = server.leader is None and not server.is_voter
                return None if waits or idle else self.attempt(node, "HeartbeatTimeout")
            case Role.CANDIDATE:
                waits = any(self.may_be_answered(node, peer, call_of(server)) for peer in server.other_voters)
                return (
                    self.attempt(node, "ElectionTimeout")
                    if self.chance(CAMPAIGN_ENDS if waits else PATIENCE_ENDS)
                    else None
                )
            case _:
                voters = server.configurations.latest.voters
                reached = sum(self.reaches(node, each) for each in voters)
                waits = reached >= server.configurations.latest.quorum_size() or not self.chance(PATIENCE_ENDS)
                return None if waits else self.attempt(node, "CheckLeaderLease")

    def hears_leader(self, server: Server) -> bool:
        """Return whether a leader of the server's term, which it knows, runs and is connected with it."""
        leader = server.leader
        if leader is None or not self.reaches(server.node_id, leader):
            return False
        other = self.cluster.servers[leader]
        leads = other.role is Role.LEADER and other.current_term >= server.current_term
        return leads and server.node_id in other.repl_state

    def try_timeout(self) -> Event | None:
        """Let a follower or a candidate lose patience for no reason that can be seen."""
        server = self.one_of(self.in_role(Role.FOLLOWER, Role.CANDIDATE))
        if server is None:
            return None
        return self.attempt(server.node_id, "HeartbeatTimeout") or self.attempt(server.node_id, "ElectionTimeout")

    def try_lease(self) -> Event | None:
        """Let a leader not hear of a quorum for no reason that can be seen."""
        server = self.one_of(self.in_role(Role.LEADER))
        return None if server is None else self.attempt(server.node_id, "CheckLeaderLease")

    def try_rpc_error(self) -> Event | None:
        """Let a caller give up a call that may yet be answered."""
        server = self.one_of(self.in_role(Role.CANDIDATE, Role.LEADER))
        if server is None:
            return None
        peers = sorted(server.repl_state) or sorted(server.other_voters)
        peer, types = self.one_of(peers), [each for each in RpcType if each is not RpcType.TIMEOUT_NOW]
        return None if peer is None else self.attempt(server.node_id, "RPCError", peer, self.random.choice(types))

    def try_zombie(self) -> Event | None:
        """Let a routine of a leadership that is over send what it was about to send."""
        found = self.one_zombie()
        if found is None:
            return None
        server, zombie = found
        count = self.random.randint(0, most_entries(server, zombie.next_index))
        sends = self.attempt(server.node_id, "ZombieReplicateTo", zombie, count)
        return sends or self.attempt(server.node_id, "ZombieSendSnapshot", zombie)

    def try_zombie_heartbeat(self) -> Event | None:
        """Let the routine of heartbeats of a leadership that is over send one."""
        found = self.one_zombie()
        return None if found is None else self.attempt(found[0].node_id, "ZombieHeartbeat", found[1])

    def one_zombie(self) -> tuple[Server, Zombie] | None:
        """Choose a routine of a leadership that is over, with its server; None if there is none that can send."""
        server = self.one_of([each for each in self.running() if each.zombies])
        if server is None:
            return None
        zombie = self.random.choice(sorted(server.zombies))
        return None if self.is_full(server.node_id, zombie.peer) else (server, zombie)

    # ---- Clients -------------------------------------------------------------------------------------

    def try_client(self) -> Event | None:
        """Let clients append values that were never appended before, at whoever leads."""
        server = self.one_of(self.in_role(Role.LEADER))
        if server is None or server.last_index - server.commit_index >= MAX_PENDING:
            return None
        return self.dispatch(server)

    def dispatch(self, server: Server) -> Event | None:
        """Let clients append values that were never appended before at a server."""
        count = self.random.randint(2, 3) if self.chance(GROUP_COMMIT) else 1
        values = [f"v{self.value_count + each + 1}" for each in range(count)]
        event = self.attempt(
            server.node_id, "DispatchLogs", tuple(ClientLog(EntryType.COMMAND, value) for value in values)
        )
        self.value_count += count if event is not None else 0
        return event

    def try_barrier(self) -> Event | None:
        """Let a client wait until the FSM has come as far as the log."""
        server = self.one_of(self.in_role(Role.LEADER))
        return None if server is None else self.attempt(server.node_id, "DispatchLogs", (ClientLog(EntryType.BARRIER),))

    def try_snapshot(self) -> Event | None:
        """Let a server take a snapshot, if its FSM has come further than the last one."""
        servers = [each for each in self.running() if each.fsm.last.index > each.last_snapshot.index]
        server = self.one_of(servers)
        return None if server is None else self.attempt(server.node_id, "TakeSnapshot")

    def try_change(self) -> Event | None:
        """Let a client ask a leader to add, promote, demote or remove a server."""
        server = self.one_of(self.in_role(Role.LEADER))
        if server is None:
            return None
        command, server_id = self.random.choice(list(ChangeCommand)), self.random.choice(self.cluster.node_ids)
        return self.attempt(server.node_id, "AppendConfigurationEntry", command, server_id)

    def try_transfer(self) -> Event | None:
        """Let a client ask a leader to hand over to one of its peers."""
        server = self.one_of(self.in_role(Role.LEADER))
        if server is None:
            return None
        return self.attempt(server.node_id, "LeadershipTransfer", self.random.choice(self.cluster.node_ids))

    def try_end_transfer(self) -> Event | None:
        """Let the time of a transfer be up."""
        server = self.one_of([each for each in self.running() if each.transfer.in_progress])
        return None if server is None else self.attempt(server.node_id, "EndTransfer")

    def try_verify(self) -> Event | None:
        """Let a client ask a leader whether it leads."""
        server = self.one_of(self.in_role(Role.LEADER))
        return None if server is None else self.attempt(server.node_id, "VerifyLeader")

    # ---- Processes ---------------------------------------------------------------------------------

    def try_crash(self) -> Event | None:
        """Let a process die, if the plan allows one more to be down."""
        server = None if self.down_count() >= self.plan.max_down else self.one_of(self.running())
        return None if server is None else self.attempt(server.node_id, "Crash")

    def try_restart(self) -> Event | None:
        """Let a process come back."""
        server = self.one_of(self.in_role(Role.SHUTDOWN))
        return None if server is None else self.attempt(server.node_id, "Restart")


def call_of(server: Server) -> RpcType:
    """Return the call whose answers a candidate counts."""
    return RpcType.REQUEST_VOTE if server.campaign.phase is CampaignPhase.VOTE else RpcType.REQUEST_PRE_VOTE


def simulate(seed: int, plan: FaultPlan) -> Iterator[Event]:
    """Run a group of servers and yield what happens, event by event.

    Args:
        seed: With the plan it reproduces everything.
        plan: Shape, faults and number of events; fewer come only where nothing is possible any more.

    Yields:
        Events with the fields `seq`, `node`, `action`, `args`, `shows` and `sent` of the trace format; in
        `shows` what grows with the log stands where it changed and after a restart.
    """
    return Schedule(seed, plan).run()
