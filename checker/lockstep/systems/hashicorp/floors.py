"""Floors: the parts of the protocol that clusters of each plan must reach.

All parts are the spec's (spec/hashicorp/Reached.tla). A plan must reach all of them but for the unreachable ones and
those that are too seldom, each with its reason.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lockstep.conformance.step_coverage import Reached, all_parts
from lockstep.systems.hashicorp.constants import header_constants
from lockstep.systems.hashicorp.plans import PLANS, fault_plan
from lockstep.systems.plan_floors import (
    RarePart,
    Unreachable,
    actions,
    few_and_whole,
    parts,
    rare_parts,
    unreachable_parts,
)
from lockstep.systems.system import Floor
from lockstep.tla.spec import Spec
from raftref.choices import PUBLISHED

#: The actions that write, so that a write of them can fail or be the last.
WRITING = (
    *("RequestVote", "ElectSelf", "HandleRequestVoteResponse", "HandleRequestPreVoteResponse"),
    *("DispatchNoop", "DispatchLogs", "AppendEntries", "InstallSnapshot", "PersistSnapshot", "CompactLogs"),
    "AppendConfigurationEntry",
)
RESULTS = ("FAIL", "CRASH")


def outcomes(*names: str, results: tuple[str, ...] = RESULTS) -> tuple[Reached, ...]:
    """Return the failures, and the crashes, in the writes of actions."""
    return parts("outcome", *(f"{name} {result}" for name in names for result in results))


def answers(*types: str) -> tuple[Reached, ...]:
    """Return all answers of RPCs."""
    answers_of_any = ("granted", "refused", "success", "refused, no backoff", "received")
    return parts("answer", *(f"{type_} {each}" for type_ in types for each in answers_of_any))


OF_SNAPSHOTS = ("TakeSnapshot", "PersistSnapshot", "CompactLogs", "SendLatestSnapshot", "ZombieSendSnapshot")
OF_INSTALLING = ("InstallSnapshot", "HandleInstallSnapshotResponse")
OF_TRANSFERS = ("LeadershipTransfer", "SendTimeoutNow", "TimeoutNow", "HandleTimeoutNowResponse", "EndTransfer")
OF_CHANGES = ("AppendConfigurationEntry",)
OF_VERIFYING = ("VerifyLeader", "HandleVerify")
OF_PIPELINES = ("PipelineSend", "PipelineAbort")

UNREACHABLE: tuple[Unreachable, ...] = (
    Unreachable(
        parts("role", "Follower -> Leader", "Shutdown -> Candidate", "Shutdown -> Leader"),
        "a server starts as a follower, and a leader was a candidate before",
    ),
    Unreachable(
        (
            *actions(*OF_SNAPSHOTS, *OF_INSTALLING),
            *outcomes(*OF_SNAPSHOTS, *OF_INSTALLING),
            *answers("InstallSnapshot"),
            *parts("log", "log compacted", "snapshot saved", "FSM set back", "start from a snapshot"),
        ),
        "the plan has no snapshots",
        lambda has: has["snapshot"] == 0,
    ),
    Unreachable(
        parts("log", "gap in a log"),
        "the plan has no snapshots, and no follower keeps an end that it deleted (DeleteThenStore)",
        lambda has: has["snapshot"] == 0 and (has["store_failure"] == 0 or has["DeleteThenStore"] != PUBLISHED),
    ),
    Unreachable(
        (*actions(*OF_CHANGES), *outcomes(*OF_CHANGES), *parts("log", "leader removed")),
        "the plan leaves the group as it is",
        lambda has: has["change"] == 0,
    ),
    Unreachable(
        (*actions(*OF_TRANSFERS), *answers("TimeoutNow"), *parts("role", "Leader -> Candidate")),
        "the plan has no transfers",
        lambda has: has["transfer"] == 0,
    ),
    Unreachable(
        (*actions(*OF_VERIFYING), *parts("log", "leader verified", "leader refuted")),
        "no client asks who leads",
        lambda has: has["verify"] == 0,
    ),
    Unreachable(
        actions("RunFollower"),
        "the main loop handles heartbeats (HeartbeatRace)",
        lambda has: has["HeartbeatRace"] != PUBLISHED,
    ),
    Unreachable(
        actions("RequestVoteAroundHeartbeat"),
        "the steps of simulated clusters do not overlap",
        lambda _has: True,
    ),
    Unreachable(actions(*OF_PIPELINES), "routines wait for each answer", lambda has: not has["Pipeline"]),
    Unreachable(
        outcomes(*WRITING, results=("FAIL",)),
        "no write fails in the plan",
        lambda has: has["store_failure"] == 0,
    ),
    Unreachable(
        outcomes(*WRITING, results=("CRASH",)),
        "no process dies at a write in the plan",
        lambda has: has["crash_in_write"] == 0,
    ),
    Unreachable(
        parts("log", "vote torn"),
        "no write fails or is the last in the plan, or a vote is one write (TornVote)",
        lambda has: has["store_failure"] + has["crash_in_write"] == 0 or has["TornVote"] != PUBLISHED,
    ),
    Unreachable(
        parts("log", "FSM set back"),
        "what was applied is not installed (StaleInstall)",
        lambda has: has["StaleInstall"] != PUBLISHED,
    ),
    Unreachable(
        (
            *actions("RequestPreVote", "HandleRequestPreVoteResponse"),
            *answers("RequestPreVote"),
            *outcomes("HandleRequestPreVoteResponse"),
        ),
        "there are no pre-votes",
        lambda has: not has["PreVote"],
    ),
    Unreachable(
        parts("answer", "InstallSnapshot refused, no backoff", "Heartbeat refused, no backoff"),
        "only AppendEntries has that field",
    ),
)


def unreachable(plan: str, spec: Spec) -> dict[Reached, str]:
    """Return the parts that no cluster of a plan can reach, each with its reason."""
    return unreachable_parts(spec, UNREACHABLE, conditions(plan, spec))


def conditions(plan: str, spec: Spec) -> dict[str, Any]:
    """Return the constants of a spec by the names of a header, and the fields of a plan."""
    return {**header_constants(spec.constants), **asdict(fault_plan(plan, 0))}


# ---- Too seldom ----


_STORES = ("raft_stores", "raft_votes_published", "raft_snapshots_published", "raft_members_published")
_WHOLE = ("raft_whole", "raft_whole_published")
_RARELY_BEHIND = (*_WHOLE, "raft_members_published")

RARE_PARTS: tuple[RarePart, ...] = (
    RarePart(
        (*actions("StepDown"), *parts("answer", "AppendEntries refused", "Heartbeat refused")),
        tuple(plan for plan in PLANS if plan not in ("raft_five", "raft_votes", "raft_votes_published")),
        "a leader must still be taken for one when a request of its term comes to a server that is in a later one",
    ),
    RarePart(
        parts("answer", "Heartbeat refused"),
        ("raft_five",),
        "a heartbeat, a quarter of the messages, must come to a server in a later term",
    ),
    RarePart(
        parts("answer", "InstallSnapshot refused"),
        tuple(PLANS),
        "one of the few requests with a snapshot must come to a server in a later term",
    ),
    RarePart(
        (*actions(*OF_INSTALLING), *answers("InstallSnapshot")),
        _RARELY_BEHIND,
        "a follower must be so far behind that the entries it needs are compacted away, or have a tail of its own",
    ),
    RarePart(
        parts("log", "gap in a log", "FSM set back"),
        tuple(PLANS),
        "the snapshot must end behind the log of the follower, or before what it has applied; or a follower that has"
        " deleted entries and could not store others must lead, and append behind those",
    ),
    RarePart(
        outcomes("HandleRequestVoteResponse", "HandleRequestPreVoteResponse"),
        tuple(PLANS),
        "a candidate writes only if a voter that does not refuse it at once is in a higher term",
    ),
    RarePart(
        outcomes("DispatchNoop", "InstallSnapshot", "PersistSnapshot", "CompactLogs", "AppendConfigurationEntry"),
        tuple(PLANS),
        "these writes are rare, and so are their failures",
    ),
    RarePart(
        outcomes("RequestVote", "ElectSelf"),
        (*_WHOLE, "raft_stores", "raft_snapshots_published", "raft_members_published"),
        "with pre-votes elections are rare, and so are failures of their writes",
    ),
    RarePart(
        parts("log", "vote torn"), (*_STORES, *_WHOLE), "it takes the one of two writes, and a vote for another before"
    ),
    RarePart(parts("log", "entries cut"), ("raft_members_published", "raft_verify"), "leaders change too seldom"),
    RarePart(
        parts("log", "leader refuted", "leader removed"),
        ("raft_verify", "raft_members", "raft_members_published", *_WHOLE),
        "another leader must be elected while a client waits; a leader must be asked to remove itself, and commit that",
    ),
    RarePart(
        actions("ZombieHeartbeat"),
        ("raft", "raft_published", "raft_snapshots", "raft_transfers", "raft_verify"),
        "leaderships are lost seldom, and their routines of heartbeats go on seldom",
    ),
    RarePart(
        actions("RunFollower"),
        tuple(PLANS),
        "a heartbeat must come between the steps with which a server becomes a candidate and campaigns",
    ),
    RarePart(
        actions("PipelineAbort"),
        ("raft_pipeline",),
        "the entries behind those that a pipeline has sent must be compacted away while it is open",
    ),
    RarePart(
        parts("role", "Leader -> Candidate"),
        tuple(PLANS),
        "a leader that was chosen by the one before it must be asked to campaign twice",
    ),
    RarePart(
        parts("role", "Candidate -> Shutdown", "Leader -> Shutdown"),
        ("raft_verify", "raft_five"),
        "few of the crashes fall into an election, or hit the leader",
    ),
)


# ---- Floors ----

#: The clusters, and events of each, of the fleet that has a floor for every plan.
CLUSTERS, EVENTS = 12, 700

#: The parts of any replicated log: a leader is elected, replicates, commits, and applies.
ESSENTIAL: frozenset[Reached] = frozenset(
    {
        *actions("HeartbeatTimeout", "PreElectSelf", "ElectSelf", "RequestVote", "HandleRequestVoteResponse"),
        *actions("RequestPreVote", "HandleRequestPreVoteResponse", "DispatchNoop", "DispatchLogs"),
        *actions("ReplicateTo", "AppendEntries", "HandleAppendEntriesResponse", "Heartbeat", "HandleHeartbeatResponse"),
        *actions("ProcessLogs", "ApplyFsm", "Restart", "TakeSnapshot", "PersistSnapshot"),
        *parts("fault", "Lose", "RPCError"),
        *parts("answer", "RequestVote granted", "AppendEntries success", "Heartbeat success"),
        *parts("log", "leader elected", "another leader", "entries committed", "commit learnt"),
        *parts("role", "Follower -> Candidate", "Candidate -> Leader", "Leader -> Follower"),
    }
)


def floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    """Return the floors of a plan, that of the smaller fleet first.

    Arguments: `spec`, compiled with the constants of the plan's traces and the definitions of coverage.
    """
    ruled_out, seldom = unreachable(plan, spec), rare_parts(plan, RARE_PARTS)
    return few_and_whole(all_parts(spec), ESSENTIAL, ruled_out, seldom, CLUSTERS, EVENTS)
