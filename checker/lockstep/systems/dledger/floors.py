"""Floors: the parts of the protocol that clusters of each plan must reach.

All parts are the spec's (spec/dledger/Reached.tla). A plan must reach all of them but for the unreachable ones and
those that are too seldom, each with its reason (lockstep.systems.dledger.unreachable).
"""

from __future__ import annotations

from lockstep.conformance.step_coverage import Reached, all_parts
from lockstep.systems.dledger.unreachable import RARE_PARTS, unreachable
from lockstep.systems.plan_floors import actions, few_and_whole, parts, rare_parts
from lockstep.systems.system import Floor
from lockstep.tla.spec import Spec

#: The clusters, and events of each, of the fleet that has a floor for every plan.
CLUSTERS, EVENTS = 20, 900
#: Plans that have the larger floor alone: in few clusters there may be no second leader, or nothing appended.
SLOW = ("restless", "four_published")

#: The parts without which nothing is replicated: a leader is elected, brings a follower in line, pushes, commits.
ESSENTIAL: frozenset[Reached] = frozenset(
    {
        *actions("ElectLeader", "ChangeToLeader", "ParseVoteResponses"),
        *actions("AppendAsLeader", "QuorumAckChecker", "ActOnQuorumIndex"),
        *actions("DoCompare", "HandleDoCompare", "HandleCompareResponse"),
        *actions("DoTruncate", "HandleDoTruncate", "HandleTruncateResponse"),
        *actions("DoAppend", "HandleDoAppend", "DoBatchAppend", "HandleDoBatchAppend", "HandleAppendResponse"),
        *actions("HandlePush", "DoCommit", "Restart", "PersistCheckPoint"),
        *parts("fault", "Lose", "PushTimeOut"),
        *parts("answer", "COMPARE INCONSISTENT_STATE", "TRUNCATE SUCCESS", "APPEND SUCCESS"),
        *parts("dispatcher", "COMPARE -> TRUNCATE", "TRUNCATE -> APPEND"),
        *parts("client", "SUCCESS", "NOT_LEADER"),
        *parts("log", "leader elected", "another leader", "entries committed", "commit learnt"),
    }
)


def floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    """Return the floors of a plan, that of the smaller fleet first.

    Arguments: `spec`, compiled with the constants of the plan's traces and the definitions of coverage.
    """
    ruled_out, seldom = unreachable(spec), rare_parts(plan, RARE_PARTS)
    few, whole = few_and_whole(all_parts(spec), ESSENTIAL, ruled_out, seldom, CLUSTERS, EVENTS)
    return (whole,) if plan in SLOW else (few, whole)
