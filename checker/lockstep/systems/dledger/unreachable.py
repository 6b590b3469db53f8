"""Why clusters of a plan need not reach everything: what is out of their reach, and what is too seldom.

Out of reach is what the constants of the plan's spec rule out. The compiled spec tells most of that itself; the rest is
argued here, and a cluster that reaches it all the same refutes the argument. Too seldom is what a fleet of the stated
size may miss: another plan must reach it, or a model shows that it can be reached. Two answers a larger fleet
alone has shown; the tests of the floors name them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from lockstep.systems.dledger.constants import header_constants
from lockstep.systems.dledger.plans import PLANS
from lockstep.systems.dledger.reached import TOLD, kind_of_action
from lockstep.systems.system import Reached
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value

_Where: TypeAlias = Callable[[Mapping[str, Value]], bool]


# ---- Out of reach ----


@dataclass(frozen=True, slots=True)
class Argument:
    """Why some of it is out of reach, where the constants of a header are such."""

    what: tuple[Reached, ...]
    why: str
    where: _Where = lambda _: True


def actions(*names: str) -> tuple[Reached, ...]:
    """Return what it is to take these actions."""
    return tuple((kind_of_action(name), name) for name in names)


def of(kind: str, *names: str) -> tuple[Reached, ...]:
    """Return what it is to reach these of a kind."""
    return tuple((kind, name) for name in names)


_NO_MESSAGES: _Where = lambda has: not has["VoteMessages"]  # noqa: E731 - it is a name for a condition.

#: What the compiled spec does not tell by itself; that it tells which actions its constants make false is all it can.
OUT_OF_REACH: tuple[Argument, ...] = (
    Argument(
        actions("ActOnQuorumIndex"),
        "a pass of one step leaves nothing to act on",
        lambda has: not has["SplitQuorumCheck"],
    ),
    Argument(actions("DoCommitted"), "no state machine is told of anything to apply", lambda has: not has["Applies"]),
    Argument(
        (*actions("CheckResponseFuturesTimeout"), *of("client", *TOLD)),
        "no client waits for anything",
        lambda has: not has["Clients"],
    ),
    Argument(
        of("client", "NOT_LEADER", "LEADER_TRANSFERRING"),
        "no client is told anything",
        lambda has: not has["Clients"],
    ),
    Argument(of("client", "REQUEST_WITH_EMPTY_BODYS"), "no client has a batch", lambda has: not has["Batches"]),
    Argument(of("client", "LEADER_PENDING_FULL"), "more than MaxPendingRequests clients would have to wait: 10,000"),
    Argument(
        (
            *actions("HandleOwnVote", "ParseVoteResponses", "ParseHeartBeatResponses"),
            *of("answer", "VOTE ACCEPT", "VOTE REJECT_EXPIRED_LEDGER_TERM", "VOTE REJECT_SMALL_LEDGER_END_INDEX"),
            *of("answer", "VOTE REJECT_EXPIRED_VOTE_TERM", "VOTE REJECT_ALREADY_HAS_LEADER"),
            *of("answer", "VOTE REJECT_ALREADY_VOTED", "VOTE REJECT_TERM_NOT_READY"),
            *of("answer", "HEARTBEAT SUCCESS", "HEARTBEAT EXPIRED_TERM", "HEARTBEAT TERM_NOT_READY"),
        ),
        "neither votes nor heartbeats are messages",
        _NO_MESSAGES,
    ),
    Argument(
        (
            *actions("HandleTakeLeadership", "TakeLeadershipTimeOut", "TransferTimeOut"),
            *of("answer", "TRANSFER SUCCESS", "TRANSFER INCONSISTENT_LEADER", "TRANSFER INCONSISTENT_TERM"),
            *of("answer", "TRANSFER EXPIRED_TERM", "TRANSFER TAKE_LEADERSHIP_FAILED"),
            *of("client", "LEADER_TRANSFERRING"),
        ),
        "no leader is told to hand over",
        _NO_MESSAGES,
    ),
    Argument(
        of("answer", "VOTE REJECT_UNKNOWN_LEADER", "HEARTBEAT UNKNOWN_MEMBER"), "no stranger takes part in a group"
    ),
    Argument(
        of("answer", "VOTE REJECT_UNEXPECTED_LEADER", "HEARTBEAT UNEXPECTED_MEMBER"),
        "nobody sends a request to itself; its own vote is no message",
    ),
    Argument(
        of("answer", "VOTE REJECT_TAKING_LEADERSHIP"), "PreferredLeaders is empty, as it is by default in the code"
    ),
    Argument(
        of("answer", "VOTE REJECT_TERM_SMALL_THAN_LEDGER", "HEARTBEAT INCONSISTENT_LEADER"),
        "a node must lose its term file, and be in a lower term than its last entry, or vote twice in a term",
        lambda has: has["VoteFile"] == "repaired" or _NO_MESSAGES(has),
    ),
    Argument(
        of("answer", "TRANSFER INTERNAL_ERROR"),
        "a transferee changes its role in the term it is to take or in a later one, but to follow in an earlier one",
    ),
    Argument(
        of("answer", "COMPARE NOT_FOLLOWER", "TRUNCATE NOT_FOLLOWER"),
        "until 0.2.7 a request waits for its node to follow",
        lambda has: not has["NotFollower"],
    ),
    Argument(of("answer", "APPEND NOT_FOLLOWER"), "an APPEND waits for its node to follow, in every version"),
    Argument(
        of("answer", "APPEND REPEATED_PUSH"),
        "no APPEND waits for a second one to find it there",
        lambda has: not has["RequestQueues"],
    ),
    Argument(of("answer", "COMPARE REPEATED_PUSH", "TRUNCATE REPEATED_PUSH"), "an APPEND alone waits under its index"),
    Argument(
        of("answer", "COMPARE INCONSISTENT_TERM"),
        "a COMPARE is obeyed whatever its term",
        lambda has: has["PushTermCheck"] == "published",
    ),
    Argument(
        of("answer", "TRUNCATE INCONSISTENT_TERM", "APPEND INCONSISTENT_TERM"),
        "one of another term or leader is answered by INCONSISTENT_STATE",
    ),
    Argument(of("dispatcher", "APPEND -> TRUNCATE"), "a TRUNCATE follows from a COMPARE"),
    Argument(
        of("log", "late TRUNCATE cuts"),
        "what a leader appended behind the entry stays",
        lambda has: has["LateTruncate"] == "repaired",
    ),
    Argument(
        of("log", "cut entries back"),
        "nothing that was cut stays in the file",
        lambda has: has["TruncatedTail"] == "repaired",
    ),
    Argument(
        of("log", "commit past the end"),
        "nothing is cut below the committed index",
        lambda has: has["CommitPastEnd"] == "repaired",
    ),
)


def out_of_reach(spec: Spec) -> dict[Reached, str]:
    """Return what no cluster of a spec with these constants can reach, each with its reason."""
    found = dict.fromkeys(actions(*sorted(spec.never)), "the constants of the spec make it false")
    has = header_constants(spec.constants)
    for argument in OUT_OF_REACH:
        if argument.where(has):
            found |= {what: argument.why for what in argument.what if what not in found}
    return found


# ---- Too seldom ----


@dataclass(frozen=True, slots=True)
class Seldom:
    """Why clusters of some plans may miss something at the stated size: of these, less than a third reach it."""

    what: tuple[Reached, ...]
    plans: Collection[str]
    why: str


def _all_but(*plans: str) -> frozenset[str]:
    return frozenset(PLANS) - set(plans)


_PUBLISHED = ("published", "fine_published", "four_published", "batches_published", "votes_published")
_MESSAGES = ("whole", "four_published", "votes", "votes_published", "handover")

SELDOM: tuple[Seldom, ...] = (
    Seldom(
        of("answer", "TRUNCATE INCONSISTENT_STATE"),
        _all_but("restless"),
        "the follower must leave a leader for another while a TRUNCATE of the first comes, and is awaited",
    ),
    Seldom(
        of("answer", "COMPARE INCONSISTENT_TERM"),
        ("whole", "votes", "handover", "not_follower"),
        "a COMPARE of a term that its receiver has left is mostly answered, or lost, before that",
    ),
    Seldom(
        (
            *actions("CheckAppendFuture", "CheckLeak", "DoCheckAppendResponse", "DoCommit", "HandleDoCommit"),
            *of("answer", "APPEND REPEATED_PUSH", "APPEND INCONSISTENT_STATE"),
            *of("client", "SUCCESS"),
            *of("log", "entries committed", "commit learnt", "entries cut", "leader change and cut"),
        ),
        ("restless",),
        "leaders change too often for much to be appended, and committed",
    ),
    Seldom(
        of("answer", "TRANSFER SUCCESS"),
        ("whole", "four_published", "votes_published"),
        "leaders change too often for a transfer to come to its end",
    ),
    Seldom(
        of("answer", "TRANSFER EXPIRED_TERM"),
        ("whole", "four_published", "votes", "votes_published"),
        "leaders change too often for a transfer to come to its end",
    ),
    Seldom(
        of("answer", "TRANSFER INCONSISTENT_TERM"),
        _MESSAGES,
        "a transferee that waits must enter a higher term and then still reach the index",
    ),
    Seldom(
        of("answer", "HEARTBEAT TERM_NOT_READY"),
        ("four_published",),
        "a leader must win without a voter that then stands behind its term: three of four voted",
    ),
    Seldom(
        of("client", "TERM_CHANGED"),
        ("whole", "four_published"),
        "a leader with clients that wait must lead again in another term, before it crashes",
    ),
    Seldom(
        of("answer", "VOTE REJECT_TERM_SMALL_THAN_LEDGER", "HEARTBEAT INCONSISTENT_LEADER"),
        ("four_published", "votes_published"),
        "a quorum must be deceived by term files that were lost within a few steps of each other",
    ),
    Seldom(
        of("log", "late TRUNCATE cuts"),
        ("batches_published", "fine_published", "four_published"),
        "an answer that lets the leader append mostly comes after all copies of the TRUNCATE",
    ),
    Seldom(
        of("log", "commit past the end"),
        _PUBLISHED,
        "what is behind a late TRUNCATE must be committed before it comes",
    ),
    Seldom(
        of("log", "entries cut", "leader change and cut"),
        ("four_published",),
        "a candidate needs three of four, who mostly hold what the others hold",
    ),
    Seldom(
        of("log", "late TRUNCATE passes"),
        _all_but("late_truncate"),
        "without delay on purpose a TRUNCATE seldom comes late; as published it cuts",
    ),
    Seldom(
        of("log", "cut entries back"),
        _PUBLISHED,
        "entries must be cut, and the node start again before others are written over them",
    ),
)


def seldom(plan: str) -> dict[Reached, str]:
    """Return what a fleet of the stated size may miss of a plan, though it could be reached, each with its reason."""
    return {what: each.why for each in SELDOM if plan in each.plans for what in each.what}
