"""Floors: the parts of the protocol that clusters of each plan must reach.

All parts come from the spec: its actions, the answers that its sets of messages have, the states of a dispatcher,
the answers to a client. A plan must reach all of them but for the unreachable ones and those that are too seldom, each
with its reason (lockstep.systems.dledger.unreachable).
"""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.systems.dledger.reached import ELECTIONS, LOGS, PARSED, WAITING_ANSWERS, kind_of_action
from lockstep.systems.dledger.unreachable import RARE_PARTS, actions, unreachable
from lockstep.systems.plan_floors import few_and_whole, parts, rare_parts
from lockstep.systems.system import Floor, Reached
from lockstep.tla.spec import Spec
from lockstep.tla.values.constructed_sets import RcdSet
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.lazy_set_algebra import BinaryUnion

#: The clusters, and events of each, of the fleet that has a floor for every plan.
CLUSTERS, EVENTS = 20, 900
#: Plans that have the larger floor alone: in few clusters there may be no second leader, or nothing appended.
SLOW = ("restless", "four_published")

#: The sets of messages in the spec that have answers, and that of a dispatcher's states.
MESSAGES, DISPATCHER = ("ResponseMessage", "BatchResponseMessage", "ElectionMessage"), "Dispatcher"


# ---- All there is ----


def all_parts(spec: Spec) -> frozenset[Reached]:
    """Return all parts that a trace can reach of a spec, whether its constants allow it or not."""
    (initial,) = spec.initial_states()
    taken = {(kind_of_action(action), action) for action in spec.actions}
    states = spec.evaluate(DISPATCHER).fields["type"]
    dispatchers = {("dispatcher", f"{before} -> {after}") for before in states for after in states if before != after}
    refusals = {args["code"] for args in spec.arguments(initial, "RefuseAppend")}
    clients = {("client", code) for code in (*refusals, *WAITING_ANSWERS)}
    return frozenset({*taken, *_answers(spec), *dispatchers, *clients, *(("log", what) for what in LOGS)})


def _answers(spec: Spec) -> Iterator[Reached]:
    for name in MESSAGES:
        for records in _record_sets(spec.evaluate(name)):
            if records.fields["kind"] == frozenset({"response"}):
                for type_ in records.fields["type"]:
                    yield from (("answer", f"{type_} {code}") for code in records.fields["code"])


def _record_sets(messages: Value) -> Iterator[RcdSet]:
    """Yield the record sets that a set of messages is the union of; raises TypeError where it is something else."""
    if isinstance(messages, BinaryUnion):
        for part in messages.parts:
            yield from _record_sets(part)
    elif isinstance(messages, RcdSet):
        yield messages
    else:
        raise TypeError(f"a set of messages is no union of record sets: {messages}")


# ---- The floors ----

#: The parts without which nothing is replicated: a leader is elected, brings a follower in line, pushes, commits.
ESSENTIAL: frozenset[Reached] = frozenset(
    {
        *actions(*ELECTIONS, PARSED, "AppendAsLeader", "QuorumAckChecker", "ActOnQuorumIndex"),
        *actions("DoCompare", "HandleDoCompare", "HandleCompareResponse"),
        *actions("DoTruncate", "HandleDoTruncate", "HandleTruncateResponse"),
        *actions("DoAppend", "HandleDoAppend", "DoBatchAppend", "HandleDoBatchAppend", "HandleAppendResponse"),
        *actions("HandlePush", "DoCommit", "Restart", "PersistCheckPoint", "Lose", "PushTimeOut"),
        *parts("answer", "COMPARE INCONSISTENT_STATE", "TRUNCATE SUCCESS", "APPEND SUCCESS"),
        *parts("dispatcher", "COMPARE -> TRUNCATE", "TRUNCATE -> APPEND"),
        *parts("client", "SUCCESS", "NOT_LEADER"),
        *parts("log", "another leader", "entries committed", "commit learnt"),
    }
)


def floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    """Return the floors of a plan, that of the smaller fleet first.

    Arguments: `spec`, compiled with the constants of the plan's traces.
    """
    ruled_out, seldom = unreachable(spec), rare_parts(plan, RARE_PARTS)
    few, whole = few_and_whole(all_parts(spec), ESSENTIAL, ruled_out, seldom, CLUSTERS, EVENTS)
    return (whole,) if plan in SLOW else (few, whole)
