"""What clusters of each plan must reach of the protocol.

All there is comes from the spec: its actions, the answers that its sets of messages have, the states of a dispatcher,
what a client may be told. A plan must reach all of it but for what is out of reach and what is too seldom, each with
its reason (lockstep.systems.dledger.unreachable).
"""

from __future__ import annotations

from collections.abc import Iterator

from lockstep.systems.dledger.reached import ELECTIONS, LOGS, PARSED, TOLD, kind_of_action
from lockstep.systems.dledger.unreachable import actions, of, out_of_reach, seldom
from lockstep.systems.system import Floor, Reached
from lockstep.tla.spec import Spec
from lockstep.tla.values.constructed_sets import RcdSet
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.lazy_set_algebra import Union2

#: A fleet of this size has a floor for every plan: so many clusters, of so many events each.
CLUSTERS, EVENTS = 20, 900
#: What `lockstep verify` runs of each of its plans. So few clusters have a floor of what is essential.
FEW_CLUSTERS, FEW_EVENTS = 5, 400
#: In so few clusters of these there may be no second leader, or nothing appended: they have the larger floor alone.
SLOW = ("restless", "four_published")

#: The sets of messages in the spec that have answers, and that of a dispatcher's states.
MESSAGES, DISPATCHER = ("ResponseMessage", "BatchResponseMessage", "ElectionMessage"), "Dispatcher"


# ---- All there is ----


def universe(spec: Spec) -> frozenset[Reached]:
    """Return all that a trace can reach of a spec, whether its constants allow it or not."""
    (initial,) = spec.initial_states()
    taken = {(kind_of_action(action), action) for action in spec.actions}
    states = spec.evaluate(DISPATCHER).fields["type"]
    dispatchers = {("dispatcher", f"{before} -> {after}") for before in states for after in states if before != after}
    refusals = {args["code"] for args in spec.arguments(initial, "RefuseAppend")}
    clients = {("client", code) for code in (*refusals, *TOLD)}
    return frozenset({*taken, *_answers(spec), *dispatchers, *clients, *(("log", what) for what in LOGS)})


def _answers(spec: Spec) -> Iterator[Reached]:
    for name in MESSAGES:
        for records in _record_sets(spec.evaluate(name)):
            if records.fields["kind"] == frozenset({"response"}):
                for type_ in records.fields["type"]:
                    yield from (("answer", f"{type_} {code}") for code in records.fields["code"])


def _record_sets(messages: Value) -> Iterator[RcdSet]:
    """Yield the record sets that a set of messages is the union of; raises TypeError where it is something else."""
    if isinstance(messages, Union2):
        for part in messages.parts:
            yield from _record_sets(part)
    elif isinstance(messages, RcdSet):
        yield messages
    else:
        raise TypeError(f"a set of messages is no union of record sets: {messages}")


# ---- The floors ----

#: What makes a cluster one of a replicated log at all: a leader is elected, brings a follower in line, pushes, commits.
ESSENTIAL: frozenset[Reached] = frozenset(
    {
        *actions(*ELECTIONS, PARSED, "AppendAsLeader", "QuorumAckChecker", "ActOnQuorumIndex"),
        *actions("DoCompare", "HandleDoCompare", "HandleCompareResponse"),
        *actions("DoTruncate", "HandleDoTruncate", "HandleTruncateResponse"),
        *actions("DoAppend", "HandleDoAppend", "DoBatchAppend", "HandleDoBatchAppend", "HandleAppendResponse"),
        *actions("HandlePush", "DoCommit", "Restart", "PersistCheckPoint", "Lose", "PushTimeOut"),
        *of("answer", "COMPARE INCONSISTENT_STATE", "TRUNCATE SUCCESS", "APPEND SUCCESS"),
        *of("dispatcher", "COMPARE -> TRUNCATE", "TRUNCATE -> APPEND"),
        *of("client", "SUCCESS", "NOT_LEADER"),
        *of("log", "another leader", "entries committed", "commit learnt"),
    }
)


def floors(plan: str, spec: Spec) -> tuple[Floor, ...]:
    """Return the floors of a plan, that of the smaller fleet first.

    Arguments: `spec`, compiled with the constants of the plan's traces.
    """
    beyond, rare = out_of_reach(spec), seldom(plan)
    must = universe(spec) - beyond.keys() - rare.keys()
    whole = Floor(CLUSTERS, EVENTS, must, beyond, {what: why for what, why in rare.items() if what not in beyond})
    few = Floor(FEW_CLUSTERS, FEW_EVENTS, must & ESSENTIAL, beyond, {})
    return (whole,) if plan in SLOW else (few, whole)
