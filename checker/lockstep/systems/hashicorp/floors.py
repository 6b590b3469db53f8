"""What clusters of each plan must reach of the protocol: all there is, but for what has a reason.

All there is comes from the spec: its actions, which of them may fail at a write, its roles; and from what is told of
answers and logs (lockstep.systems.hashicorp.reached). What clusters of a plan cannot reach, and what so few of them may
miss, is listed with its reason.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from lockstep.systems.hashicorp.constants import PUBLISHED, told_constants
from lockstep.systems.hashicorp.plans import PLANS, fault_plan
from lockstep.systems.hashicorp.reached import ANSWERS, LOGS, kind_of_action
from lockstep.systems.system import Floor, Reached
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value

if TYPE_CHECKING:
    from raftref.hashicorp.simulation import FaultPlan

#: The actions that write, so that a write of them can fail or be the last.
WRITING = (
    *("RequestVote", "ElectSelf", "HandleRequestVoteResponse", "HandleRequestPreVoteResponse"),
    *("DispatchNoop", "DispatchLogs", "AppendEntries", "InstallSnapshot", "PersistSnapshot", "CompactLogs"),
    "AppendConfigurationEntry",
)
RESULTS = ("FAIL", "CRASH")


def of(kind: str, *names: str) -> tuple[Reached, ...]:
    """Name several things of a kind."""
    return tuple((kind, name) for name in names)


def actions(*names: str) -> tuple[Reached, ...]:
    """Name actions."""
    return tuple((kind_of_action(name), name) for name in names)


def outcomes(*names: str, results: tuple[str, ...] = RESULTS) -> tuple[Reached, ...]:
    """Name the failures, and the crashes, in the writes of actions."""
    return of("outcome", *(f"{name} {result}" for name in names for result in results))


def answers(*types: str) -> tuple[Reached, ...]:
    """Name all answers of RPCs."""
    said = ("granted", "refused", "success", "refused, no backoff", "received")
    return of("answer", *(f"{type_} {each}" for type_ in types for each in said))


#: The constants by the names of a header.
Has: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Argument:
    """Why clusters cannot reach something, where the spec has these constants and the plan these rates."""

    what: tuple[Reached, ...]
    why: str
    where: Callable[[Has, FaultPlan], bool] = lambda _has, _plan: True


OF_SNAPSHOTS = ("TakeSnapshot", "PersistSnapshot", "CompactLogs", "SendLatestSnapshot", "ZombieSendSnapshot")
OF_INSTALLING = ("InstallSnapshot", "HandleInstallSnapshotResponse")
OF_TRANSFERS = ("LeadershipTransfer", "SendTimeoutNow", "TimeoutNow", "HandleTimeoutNowResponse", "EndTransfer")
OF_CHANGES = ("AppendConfigurationEntry",)
OF_VERIFYING = ("VerifyLeader", "HandleVerify")

OUT_OF_REACH: tuple[Argument, ...] = (
    Argument(
        of("role", "Follower -> Leader", "Shutdown -> Candidate", "Shutdown -> Leader"),
        "who starts follows, and who leads was a candidate before",
    ),
    Argument(
        (
            *actions(*OF_SNAPSHOTS, *OF_INSTALLING),
            *outcomes(*OF_SNAPSHOTS, *OF_INSTALLING),
            *answers("InstallSnapshot"),
            *of("log", "log compacted", "snapshot saved", "FSM set back", "start from a snapshot"),
        ),
        "the plan has no snapshots",
        lambda _has, plan: plan.snapshot == 0,
    ),
    Argument(
        of("log", "gap in a log"),
        "the plan has no snapshots, and no follower keeps an end that it deleted (DeleteThenStore)",
        lambda has, plan: plan.snapshot == 0 and (plan.store_failure == 0 or has["DeleteThenStore"] != PUBLISHED),
    ),
    Argument(
        (*actions(*OF_CHANGES), *outcomes(*OF_CHANGES), *of("log", "leader removed")),
        "the plan leaves the group as it is",
        lambda _has, plan: plan.change == 0,
    ),
    Argument(
        (*actions(*OF_TRANSFERS), *answers("TimeoutNow"), *of("role", "Leader -> Candidate")),
        "the plan has no transfers",
        lambda _has, plan: plan.transfer == 0,
    ),
    Argument(
        (*actions(*OF_VERIFYING), *of("log", "leader verified", "leader refuted")),
        "no client asks who leads",
        lambda _has, plan: plan.verify == 0,
    ),
    Argument(
        outcomes(*WRITING, results=("FAIL",)),
        "no write fails in the plan",
        lambda _has, plan: plan.store_failure == 0,
    ),
    Argument(
        outcomes(*WRITING, results=("CRASH",)),
        "no process dies at a write in the plan",
        lambda _has, plan: plan.crash_in_write == 0,
    ),
    Argument(
        of("log", "vote torn"),
        "no write fails or is the last in the plan, or a vote is one write (TornVote)",
        lambda has, plan: plan.store_failure + plan.crash_in_write == 0 or has["TornVote"] != PUBLISHED,
    ),
    Argument(
        of("log", "FSM set back"),
        "what was applied is not installed (StaleInstall)",
        lambda has, _plan: has["StaleInstall"] != PUBLISHED,
    ),
    Argument(
        (
            *actions("RequestPreVote", "HandleRequestPreVoteResponse"),
            *answers("RequestPreVote"),
            *outcomes("HandleRequestPreVoteResponse"),
        ),
        "there are no pre-votes",
        lambda has, _plan: not has["PreVote"],
    ),
    Argument(
        of("answer", "InstallSnapshot refused, no backoff", "Heartbeat refused, no backoff"),
        "only AppendEntries has that field",
    ),
)


def out_of_reach(plan: str, spec: Spec) -> dict[Reached, str]:
    """Return what no cluster of a plan can reach, each with its reason."""
    found = dict.fromkeys(actions(*sorted(spec.never)), "the constants of the spec make it false")
    has, rates = told_constants(spec.constants), fault_plan(plan, 0)
    for argument in OUT_OF_REACH:
        if argument.where(has, rates):
            found |= {what: argument.why for what in argument.what if what not in found}
    return found


def universe(spec: Spec, logs: tuple[str, ...], said: tuple[str, ...]) -> Iterator[Reached]:
    """Yield all that a trace can reach of a spec, whether constants and plan allow it or not."""
    taken: Any = spec.actions
    yield from ((kind_of_action(action), action) for action in taken)
    yield from outcomes(*(name for name, each in taken.items() if "outcome" in each.params))
    yield from of("answer", *said)
    yield from of("log", *logs)
    roles = sorted(spec.evaluate("Role"))
    yield from of("role", *(f"{one} -> {other}" for one in roles for other in roles if one != other))


# ---- Too seldom ----


@dataclass(frozen=True, slots=True)
class Seldom:
    """Why clusters of some plans may miss something at the stated size: of these, less than a third reach it."""

    what: tuple[Reached, ...]
    plans: tuple[str, ...]
    why: str


_STORES = ("raft_stores", "raft_votes_published", "raft_snapshots_published", "raft_members_published")
_WHOLE = ("raft_whole", "raft_whole_published")
_RARELY_BEHIND = (*_WHOLE, "raft_members_published")

SELDOM: tuple[Seldom, ...] = (
    Seldom(
        (*actions("StepDown"), *of("answer", "AppendEntries refused", "Heartbeat refused")),
        tuple(plan for plan in PLANS if plan not in ("raft_five", "raft_votes", "raft_votes_published")),
        "a leader must still be taken for one when a request of its term comes to a server that is in a later one",
    ),
    Seldom(
        of("answer", "Heartbeat refused"),
        ("raft_five",),
        "the same for heartbeats, which are a quarter of what is sent",
    ),
    Seldom(
        of("answer", "InstallSnapshot refused"),
        tuple(PLANS),
        "the same for the few requests that have a snapshot",
    ),
    Seldom(
        (*actions(*OF_INSTALLING), *answers("InstallSnapshot")),
        _RARELY_BEHIND,
        "a follower must be so far behind that the entries it needs are compacted away, or have a tail of its own",
    ),
    Seldom(
        of("log", "gap in a log", "FSM set back"),
        tuple(PLANS),
        "the snapshot must end behind the log of the follower, or before what it has applied; or a follower that has"
        " deleted entries and could not store others must lead, and append behind those",
    ),
    Seldom(
        outcomes("HandleRequestVoteResponse", "HandleRequestPreVoteResponse"),
        tuple(PLANS),
        "a candidate writes only if a voter that does not refuse it at once is in a higher term",
    ),
    Seldom(
        outcomes("DispatchNoop", "InstallSnapshot", "PersistSnapshot", "CompactLogs", "AppendConfigurationEntry"),
        tuple(PLANS),
        "few of so few writes fail",
    ),
    Seldom(
        outcomes("RequestVote", "ElectSelf"),
        (*_WHOLE, "raft_stores", "raft_snapshots_published", "raft_members_published"),
        "with pre-votes there are so few elections that few of their writes fail",
    ),
    Seldom(
        of("log", "vote torn"), (*_STORES, *_WHOLE), "it takes the one of two writes, and a vote for another before"
    ),
    Seldom(of("log", "entries cut"), ("raft_members_published", "raft_verify"), "leaders change too seldom"),
    Seldom(
        of("log", "leader refuted", "leader removed"),
        ("raft_verify", "raft_members", "raft_members_published", *_WHOLE),
        "another leader must be elected while a client waits; a leader must be told to remove itself, and commit that",
    ),
    Seldom(
        actions("ZombieHeartbeat"),
        ("raft", "raft_published", "raft_snapshots", "raft_transfers", "raft_verify"),
        "leaderships are lost seldom, and their routines of heartbeats go on seldom",
    ),
    Seldom(
        of("role", "Leader -> Candidate"),
        tuple(PLANS),
        "a leader that was chosen by the one before it must be told to campaign twice",
    ),
    Seldom(
        of("role", "Candidate -> Shutdown", "Leader -> Shutdown"),
        ("raft_verify", "raft_five"),
        "of so few crashes few fall into an election, or hit the leader",
    ),
)


def seldom(plan: str) -> dict[Reached, str]:
    """Return what a fleet of the stated size may miss of a plan, though it could be reached, each with its reason."""
    return {what: each.why for each in SELDOM if plan in each.plans for what in each.what}


# ---- Floors ----

#: A fleet of this size has a floor for every plan: so many clusters, of so many events each.
CLUSTERS, EVENTS = 12, 700
#: What `lockstep verify` runs of each of its plans. So few clusters have a floor of what is essential.
FEW_CLUSTERS, FEW_EVENTS = 5, 400

#: What makes a cluster one of a replicated log at all: a leader is elected, replicates, commits, and applies.
ESSENTIAL: frozenset[Reached] = frozenset(
    {
        *actions("HeartbeatTimeout", "PreElectSelf", "ElectSelf", "RequestVote", "HandleRequestVoteResponse"),
        *actions("RequestPreVote", "HandleRequestPreVoteResponse", "DispatchNoop", "DispatchLogs"),
        *actions("ReplicateTo", "AppendEntries", "HandleAppendEntriesResponse", "Heartbeat", "HandleHeartbeatResponse"),
        *actions("ProcessLogs", "ApplyFsm", "Restart", "Lose", "RPCError", "TakeSnapshot", "PersistSnapshot"),
        *of("answer", "RequestVote granted", "AppendEntries success", "Heartbeat success"),
        *of("log", "entries committed", "commit learnt", "another leader"),
        *of("role", "Follower -> Candidate", "Candidate -> Leader", "Leader -> Follower"),
    }
)


def floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    """Return the floors of a plan, that of the smaller fleet first.

    Arguments: `spec`, compiled with the constants of the plan's traces.
    """
    beyond, rare = out_of_reach(plan, spec), seldom(plan)
    must = frozenset(universe(spec, LOGS, ANSWERS)) - beyond.keys() - rare.keys()
    whole = Floor(CLUSTERS, EVENTS, must, beyond, {what: why for what, why in rare.items() if what not in beyond})
    few = Floor(FEW_CLUSTERS, FEW_EVENTS, must & ESSENTIAL, beyond, {})
    return (few, whole)
