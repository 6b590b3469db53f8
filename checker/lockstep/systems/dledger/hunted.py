"""DLedger's groups as `lockstep hunt` searches them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from lockstep.systems.dledger.hunted_properties import PROPERTIES, DLedgerWatch
from lockstep.systems.hunted_group import Hunted, WatchedSteps, arguments_of, is_full, weather_of
from raftref.dledger.choices import Feature, Flaw
from raftref.dledger.clients import REQUEST_WITH_EMPTY_BODYS
from raftref.dledger.messages import Message
from raftref.dledger.server import ACTIONS
from raftref.dledger.simulation import Cluster, FaultPlan, Schedule
from raftref.dledger.simulation.cluster import PUSH_HANDLERS
from raftref.simulation.group import NETWORK_ACTIONS

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
#: The most entries that a random walk pushes in one batch, or brings back at a restart.
MAX_COUNT = 4


class WatchedCluster(WatchedSteps, Cluster):
    """A group whose steps are listened to."""


def fault_plan(nodes: int, features: Sequence[str], flaws: Sequence[str], chance: random.Random) -> FaultPlan:
    """Return a plan of a group; the order of channels and how many nodes may be down are random."""
    chosen = frozenset(map(Feature, features))
    if Feature.BATCHES in chosen:
        chosen |= {Feature.PENDING_MAP}
    return FaultPlan(
        nodes=nodes,
        features=chosen,
        flaws=frozenset(map(Flaw, flaws)),
        fifo=chance.random() < 0.5,
        max_down=chance.choice((1, nodes // 2, nodes - 1)),
    )


def candidates(cluster: Cluster, node: str, action: str) -> Iterator[tuple[Any, ...]]:
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
    flaws=tuple(map(str, Flaw)),
    features=tuple(map(str, Feature)),
    properties=PROPERTIES,
    # What was committed can be cut only by a TRUNCATE that comes late.
    together={Flaw.COMMIT_PAST_END: (Flaw.LATE_TRUNCATE,)},
    parts=PARTS,
    sizes=range(3, 8),
    weather=weather_of(FaultPlan, ORDINARY, RARE),
    plan=fault_plan,
    group=WatchedCluster,
    schedule=lambda plan, cluster: Schedule(0, plan, cluster),
    recorded=Cluster,
    candidates=candidates,
    watch=DLedgerWatch,
)
