"""DLedger's groups as `lockstep hunt` searches them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lockstep.systems.dledger.hunted_properties import PROPERTIES, DLedgerWatch
from lockstep.systems.hunted_group import Hunted, PhasedSchedule, WatchedSteps, arguments_of, is_full, weather_of
from raftref.dledger.choices import Feature, Flaw
from raftref.dledger.clients import REQUEST_WITH_EMPTY_BODYS
from raftref.dledger.messages import Message, NodeId
from raftref.dledger.server import ACTIONS
from raftref.dledger.simulation import Cluster, FaultPlan, Schedule
from raftref.dledger.simulation.cluster import PUSH_HANDLERS
from raftref.dledger.state import Role
from raftref.simulation.group import NETWORK_ACTIONS, Event

#: What a group does without faults.
ORDINARY = (
    "client",
    "quorum_check",
    "refresh",
    "resend",
    "commit",
    "check_point",
    "flush",
    "restart",
    "heal",
)
#: What takes a process or a machine down.
RARE = ("crash", "crash_in_persist", "power_loss", "shutdown")

#: What makes a node stand for election, or a leader step down.
UNSEATS = ("step_down",)

#: The actions by the part of the protocol.
PARTS: Mapping[str, tuple[str, ...]] = {
    "elections": (
        *("ChangeToCandidate", "NextTerm", "SetCurrVoteFor", "ChangeToLeader", "ChangeToFollower"),
        *("IncreaseTerm", "VoteForQuorumResponses", "HandleOwnVote", "ParseVoteResponses", "SendHeartbeats"),
        *("ParseHeartBeatResponses", "HeartBeatTimeOut", "HandleVote", "HandleVoteResponse", "HandleHeartBeat"),
        "HandleHeartBeatResponse",
    ),
    "transfers": (
        *("HandleLeadershipTransfer", "WaitToTakeLeadership", "HandleTakeLeadership", "TakeLeadershipTimeOut"),
        *("HandleTransferResponse", "TransferTimeOut"),
    ),
    "clients": ("AppendAsLeader", "AppendInBatch", "RefuseAppend", "CheckResponseFuturesTimeout"),
    "pushing": (
        *("DoCompare", "DoTruncate", "DoAppend", "DoBatchAppend", "DoCommit", "DoCheckAppendResponse"),
        *("DoCheckBatchAppendResponse", "CheckLeak", "PushTimeOut"),
    ),
    "handling": (
        *("HandlePush", "HandleDoCompare", "HandleDoTruncate", "HandleDoAppend", "HandleDoBatchAppend"),
        *("HandleDoCommit", "CheckAppendFuture", "ClearCompareOrTruncateRequests"),
        *("HandleCompareResponse", "HandleTruncateResponse", "HandleAppendResponse"),
    ),
    "committing": (
        *("QuorumAckChecker", "ActOnQuorumIndex", "RefreshOwnWaterMark", "DoCommitted", "PersistCheckPoint"),
        "FlushDataService",
    ),
    "processes": (*("Crash", "Shutdown", "LosePower", "CrashInPersistTerm", "CrashInPersistCheckPoint", "Restart"),),
    "network": NETWORK_ACTIONS,
}
#: The share of deliveries while elections are all the work.
DELIVER = 0.4
#: The most entries that a random walk pushes in one batch, or brings back at a restart.
MAX_COUNT = 4


#: The features without which there cannot be another one.
FEATURES_NEEDED: Mapping[str, tuple[Feature, ...]] = {Feature.BATCHES: (Feature.PENDING_MAP,)}


class WatchedCluster(WatchedSteps, Cluster):
    """A group whose steps are listened to."""


class HuntedSchedule(PhasedSchedule, Schedule):
    """A schedule of phases, that can leave all work but elections alone. Only a contender is voted for."""

    def in_role(self, *roles: Role) -> list[NodeId]:
        """Return the nodes in one of these roles that act."""
        found = super().in_role(*roles)
        return found if self.awake is None or Role.DOWN in roles else [each for each in found if each in self.awake]

    def vote(self, node: NodeId) -> Event | None:
        """Let a vote request arrive: of the contender, if there is one."""
        if self.contender is None:
            return super().vote(node)
        counted = node in self.cluster.servers[self.contender].member_state.votes
        hears = self.reaches(node, self.contender)
        return self.attempt(node, "SetCurrVoteFor", self.contender) if hears and not counted else None

    def stand(self, node: NodeId) -> Event | None:
        """Let a candidate enter a higher term: the next one if it contends, one that it heard of otherwise."""
        own_term = self.cluster.servers[node].member_state.curr_term
        waits = self.contender not in (None, node) and self.cluster.highest_term(node) == own_term
        return None if waits else super().stand(node)

    def begin_round(self, node: NodeId) -> Event | None:
        """Let a node that waits for nothing do what its role requires, but for standing beside the contender."""
        leads = self.cluster.servers[node].member_state.role is Role.LEADER
        return super().begin_round(node) if leads or self.contender in (None, node) else None

    def is_full(self, node: NodeId, peer: NodeId) -> bool:
        """Return whether nothing is sent to a peer: its channel is full, or only who acts is sent to."""
        return super().is_full(node, peer) or self.is_left_out(peer)

    def follow_election(self, plan: FaultPlan) -> None:
        """Go on as follow_plan does, with elections alone for ordinary work."""
        self.plan = plan
        self.share(plan, (self.try_deliver, DELIVER), (self.try_elect, 1 - DELIVER))


def fault_plan(nodes: int, features: Sequence[str], flaws: Sequence[str], chance: random.Random) -> FaultPlan:
    """Return a plan of a group; the order of channels and how many nodes may be down are random."""
    chosen = frozenset(map(Feature, features))
    chosen |= {needed for each in chosen for needed in FEATURES_NEEDED.get(each, ())}
    return FaultPlan(
        nodes=nodes,
        features=chosen,
        flaws=frozenset(map(Flaw, flaws)),
        fifo=chance.random() < 0.5,
        max_down=chance.choice((1, nodes // 2, nodes - 1)),
    )


def candidates(cluster: Cluster, node: str, action: str, _failing: bool) -> Iterator[tuple[Any, ...]]:
    """Yield arguments with which a node may be able to take an action now."""
    if action == "Duplicate" and is_full(cluster):
        return iter(())
    return arguments_of(ACTIONS, action, partial(_choices, cluster, node, action))


def _choices(cluster: Cluster, node: str, action: str, name: str) -> Sequence[Any]:
    server = cluster.servers[node]
    match name:
        case "m":
            return _messages(cluster, node, action)
        case "peer" | "leader" | "transferee":
            return server.peers
        case "candidate":
            return cluster.node_ids
        case "call":
            return sorted(server.election.transfers, key=lambda call: (call.term, call.transferee))
        case "expired":
            return (False, True)
        case "value":
            return (f"v{cluster.seq}",)
        case "term":
            highest = max(each.member_state.curr_term for each in cluster.servers.values())
            return sorted({server.member_state.curr_term + 1, highest, highest + 1})
        case "resurrected":
            return range(server.ledger_store.resurrectable_count() + 1)
        case "kept":
            return (0, len(server.ledger_store.file))
        case "count":
            return range(1, MAX_COUNT)
        case _:
            code = server.refusal()
            return (code or REQUEST_WITH_EMPTY_BODYS,)


def _messages(cluster: Cluster, node: str, action: str) -> list[Message]:
    if action in PUSH_HANDLERS and cluster.plan.has(Feature.REQUEST_QUEUES):
        return list(cluster.servers[node].requests())
    channels = cluster.network.channels
    arriving = [m for peer in cluster.servers[node].peers for m in channels[peer, node].deliverable()]
    if action in NETWORK_ACTIONS:
        return arriving
    return [m for m in arriving if isinstance(m, ACTIONS[action].messages)]


HUNTED = Hunted(
    spec="DLedger",
    flaws=tuple(map(str, Flaw)),
    # A push too many is nothing new to a network that duplicates.
    features=tuple(str(each) for each in Feature if each not in (Feature.LATE_RESEND, Feature.LATE_ROLE)),
    properties=PROPERTIES,
    # What was committed can be cut only by a TRUNCATE that comes late.
    together={Flaw.COMMIT_PAST_END: (Flaw.LATE_TRUNCATE,)},
    nodes_needed={Flaw.PUSH_TERM_CHECK: 5, Flaw.APPEND_TERM_CHECK: 5, Flaw.DEPOSED_TRUNCATE: 5},
    features_needed=FEATURES_NEEDED,
    # A late TRUNCATE cuts entries of earlier terms: docs/hunt.md.
    may_fail_repaired=frozenset({"CommittedEntriesStayProp"}),
    parts=PARTS,
    sizes=range(3, 8),
    weather=weather_of(FaultPlan, ORDINARY, RARE, UNSEATS),
    plan=fault_plan,
    group=WatchedCluster,
    schedule=lambda plan, cluster: HuntedSchedule(0, plan, cluster),
    recorded=Cluster,
    candidates=candidates,
    watch=DLedgerWatch,
)
