"""What clusters of each plan must reach of the protocol.

All there is comes from the spec: its actions, which of them may fail at a write, its roles; and from what is told of
answers and logs (lockstep.systems.hashicorp.reached). A plan must reach all of it but for what is out of reach and what
is too seldom, each with its reason (lockstep.systems.hashicorp.beyond).
"""

from __future__ import annotations

from lockstep.systems.hashicorp.beyond import actions, of, out_of_reach, seldom, universe
from lockstep.systems.hashicorp.reached import ANSWERS, LOGS
from lockstep.systems.system import Floor, Reached
from lockstep.tla.spec import Spec

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
