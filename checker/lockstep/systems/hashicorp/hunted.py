"""Groups of hashicorp/raft as `lockstep hunt` searches them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lockstep.systems.hashicorp.hunted_properties import PROPERTIES, HashicorpWatch
from lockstep.systems.hunted_group import Hunted, PhasedSchedule, WatchedSteps, arguments_of, is_full, weather_of
from raftref.hashicorp.choices import DEFAULT_FEATURES, Feature, Flaw
from raftref.hashicorp.hashicorp_raft import ACTIONS
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.messages import Message, RpcType
from raftref.hashicorp.replication import most_entries
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster, FaultPlan, Schedule
from raftref.hashicorp.simulation.cluster import HANDLERS
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE, Outcome, Result
from raftref.hashicorp.values import ClientLog, EntryType, NodeId
from raftref.simulation.group import NETWORK_ACTIONS, Event

#: What a group does without faults.
ORDINARY = ("client", "restart", "heal", "end_transfer", "snapshot")
#: What takes a process down.
RARE = ("crash",)

#: What makes a node stand for election, or a leader step down.
UNSEATS = ("timeout", "lease")

#: The actions by the part of the library.
PARTS: Mapping[str, tuple[str, ...]] = {
    "elections": (
        *("HeartbeatTimeout", "ElectionTimeout", "PreElectSelf", "ElectSelf", "RequestVote", "RequestPreVote"),
        *("HandleRequestVoteResponse", "HandleRequestPreVoteResponse", "DispatchNoop", "StepDown", "CheckLeaderLease"),
        "RunFollower",
    ),
    "transfers": (*("LeadershipTransfer", "SendTimeoutNow", "TimeoutNow", "HandleTimeoutNowResponse", "EndTransfer"),),
    "verifying": ("VerifyLeader", "HandleVerify", "Heartbeat", "HandleHeartbeatResponse"),
    "clients": ("DispatchLogs", "AppendConfigurationEntry"),
    "replication": (
        *("ReplicateTo", "AppendEntries", "HandleAppendEntriesResponse", "RPCError"),
        *("ZombieReplicateTo", "ZombieHeartbeat"),
    ),
    "committing": ("ProcessLogs", "ApplyFsm"),
    "snapshots": (
        *("TakeSnapshot", "PersistSnapshot", "CompactLogs", "SendLatestSnapshot", "InstallSnapshot"),
        *("HandleInstallSnapshotResponse", "ZombieSendSnapshot"),
    ),
    "processes": ("Crash", "Restart"),
    "network": NETWORK_ACTIONS,
}

#: The shares of ordinary work while elections are all of it.
DELIVER, GO_ON = 0.4, 0.3

FAILURES = tuple(Outcome(result, write) for result in (Result.FAIL, Result.CRASH) for write in (1, 2, 3))


class WatchedCluster(WatchedSteps, Cluster):
    """A group whose steps are listened to."""


class HuntedSchedule(PhasedSchedule, Schedule):
    """A schedule of phases, that can leave all work but elections alone.

    Only a contender begins another campaign when its first has failed.
    """

    def in_role(self, *roles: Role) -> list[Server]:
        """Return the servers in one of these roles that act."""
        found = super().in_role(*roles)
        if self.awake is None or Role.SHUTDOWN in roles:
            return found
        return [each for each in found if each.node_id in self.awake]

    def try_timer(self) -> Event | None:
        """Let a timer run out that nobody keeps from it, but for that of a candidate beside the contender."""
        if self.contender is None:
            return super().try_timer()
        campaign = {each.node_id for each in self.in_role(Role.CANDIDATE)} - {self.contender}
        awake = self.awake
        self.awake = frozenset(awake or self.cluster.node_ids) - campaign
        try:
            return super().try_timer()
        finally:
            self.awake = awake

    def is_full(self, node: NodeId, peer: NodeId) -> bool:
        """Return whether nothing is sent to a peer: its channel is full, or only who acts is sent to."""
        return super().is_full(node, peer) or self.is_left_out(peer)

    def follow_election(self, plan: FaultPlan) -> None:
        """Go on as follow_plan does, with elections alone for ordinary work."""
        self.plan = plan
        self.share(plan, (self.try_deliver, DELIVER), (self.try_continue, GO_ON), (self.try_timer, 1 - DELIVER - GO_ON))


def fault_plan(nodes: int, features: Sequence[str], flaws: Sequence[str], chance: random.Random) -> FaultPlan:
    """Return a plan of a group of voters, and sometimes one without a vote, and one more that may be added."""
    return FaultPlan(
        voters=nodes,
        nonvoters=chance.choice((0, 1)),
        spares=chance.choice((0, 0, 0, 1)),
        features=frozenset(map(Feature, features)),
        flaws=frozenset(map(Flaw, flaws)),
        fifo=chance.random() < 0.3,
        max_down=chance.choice((1, nodes // 2, nodes - 1)),
        trailing_logs=chance.choice((0, 0, 1, 2)),
        retain_snapshots=chance.choice((1, 2)),
        max_append_entries=chance.choice((1, 2, 4)),
    )


def candidates(cluster: Cluster, node: str, action: str, failing: bool) -> Iterator[tuple[Any, ...]]:
    """Yield arguments with which a server may be able to take an action now."""
    if action == "Duplicate" and is_full(cluster):
        return iter(())
    return arguments_of(ACTIONS, action, partial(_choices, cluster, node, action, failing))


def _choices(cluster: Cluster, node: str, action: str, failing: bool, name: str) -> Sequence[Any]:
    server = cluster.servers[node]
    match name:
        case "m":
            return _messages(cluster, node, action)
        case "outcome":
            return (*FAILURES, DONE) if failing else (DONE,)
        case "peer":
            return sorted(server.repl_state) or sorted(server.other_voters)
        case "server":
            return cluster.node_ids
        case "count":
            most = max((most_entries(server, each.next_index) for each in server.repl_state.values()), default=0)
            return range(most, -1, -1)
        case "type":
            return tuple(RpcType)
        case "command":
            return tuple(ChangeCommand)
        case "logs":
            return ((ClientLog(EntryType.COMMAND, f"v{cluster.seq}"),), (ClientLog(EntryType.BARRIER),))
        case "zombie":
            return sorted(server.zombies)
        case _:  # the voters that a candidate has asked
            others = sorted(server.other_voters)
            return [frozenset(others[:count]) for count in range(len(others), -1, -1)]


def _messages(cluster: Cluster, node: str, action: str) -> list[Message]:
    channels = cluster.network.channels
    arriving = [m for (_, dst), channel in channels.items() if dst == node for m in channel.deliverable()]
    return arriving if action in NETWORK_ACTIONS else [m for m in arriving if HANDLERS[type(m)] == action]


HUNTED = Hunted(
    spec="HashicorpRaft",
    flaws=tuple(map(str, Flaw)),
    features=tuple(str(each) for each in Feature if each in DEFAULT_FEATURES),
    properties=PROPERTIES,
    # A server that installs nothing it has no need of never saves a snapshot older than those that it keeps.
    together={Flaw.REAPED_INSTALL: (Flaw.STALE_INSTALL,)},
    nodes_needed={Flaw.EVEN_QUORUM: 4},
    features_needed={},
    may_fail_repaired=frozenset(),
    parts=PARTS,
    sizes=range(1, 8),
    weather=weather_of(FaultPlan, ORDINARY, RARE, UNSEATS),
    plan=fault_plan,
    group=WatchedCluster,
    schedule=lambda plan, cluster: HuntedSchedule(0, plan, cluster),
    recorded=Cluster,
    candidates=candidates,
    watch=HashicorpWatch,
)
