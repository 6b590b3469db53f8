"""The parts of the protocol that clusters of a plan of DLedger need not reach, each with the reason.

Two answers a larger fleet alone has shown; the tests of the floors name them.
"""

from __future__ import annotations

from lockstep.conformance.step_coverage import Reached
from lockstep.systems.dledger.constants import header_constants
from lockstep.systems.dledger.plans import PLANS
from lockstep.systems.plan_floors import Condition, RarePart, Unreachable, actions, parts, unreachable_parts
from lockstep.tla.spec import Spec

# ---- Unreachable ----

_NO_MESSAGES: Condition = lambda has: not has["VoteMessages"]  # noqa: E731 - it is a name for a condition.

#: Those that do not follow from the compiled spec, which knows the actions that its constants make false.
UNREACHABLE: tuple[Unreachable, ...] = (
    Unreachable(
        actions("ActOnQuorumIndex"),
        "a pass of one step leaves nothing to act on",
        lambda has: not has["SplitQuorumCheck"],
    ),
    Unreachable(actions("DoCommitted"), "there is no state machine", lambda has: not has["Applies"]),
    Unreachable(
        (
            *actions("CheckResponseFuturesTimeout"),
            *parts("client", "SUCCESS", "TERM_CHANGED", "WAIT_QUORUM_ACK_TIMEOUT"),
        ),
        "no client waits for anything",
        lambda has: not has["Clients"],
    ),
    Unreachable(
        parts("client", "NOT_LEADER", "LEADER_TRANSFERRING"),
        "there are no clients",
        lambda has: not has["Clients"],
    ),
    Unreachable(parts("client", "REQUEST_WITH_EMPTY_BODYS"), "no client has a batch", lambda has: not has["Batches"]),
    Unreachable(
        parts("client", "LEADER_PENDING_FULL"), "more than MaxPendingRequests clients would have to wait: 10,000"
    ),
    Unreachable(
        (
            *actions("HandleOwnVote", "ParseVoteResponses", "ParseHeartBeatResponses"),
            *parts("answer", "VOTE ACCEPT", "VOTE REJECT_EXPIRED_LEDGER_TERM", "VOTE REJECT_SMALL_LEDGER_END_INDEX"),
            *parts("answer", "VOTE REJECT_EXPIRED_VOTE_TERM", "VOTE REJECT_ALREADY_HAS_LEADER"),
            *parts("answer", "VOTE REJECT_ALREADY_VOTED", "VOTE REJECT_TERM_NOT_READY"),
            *parts("answer", "HEARTBEAT SUCCESS", "HEARTBEAT EXPIRED_TERM", "HEARTBEAT TERM_NOT_READY"),
        ),
        "neither votes nor heartbeats are messages",
        _NO_MESSAGES,
    ),
    Unreachable(
        (
            *actions("HandleTakeLeadership", "TakeLeadershipTimeOut", "TransferTimeOut"),
            *parts("answer", "TRANSFER SUCCESS", "TRANSFER INCONSISTENT_LEADER", "TRANSFER INCONSISTENT_TERM"),
            *parts("answer", "TRANSFER EXPIRED_TERM", "TRANSFER TAKE_LEADERSHIP_FAILED"),
            *parts("client", "LEADER_TRANSFERRING"),
        ),
        "no leader hands over",
        _NO_MESSAGES,
    ),
    Unreachable(
        parts("answer", "VOTE REJECT_UNKNOWN_LEADER", "HEARTBEAT UNKNOWN_MEMBER"), "no stranger takes part in a group"
    ),
    Unreachable(
        parts("answer", "VOTE REJECT_UNEXPECTED_LEADER", "HEARTBEAT UNEXPECTED_MEMBER"),
        "nobody sends a request to itself; its own vote is no message",
    ),
    Unreachable(
        parts("answer", "VOTE REJECT_TAKING_LEADERSHIP"), "PreferredLeaders is empty, as it is by default in the code"
    ),
    Unreachable(
        parts("answer", "VOTE REJECT_TERM_SMALL_THAN_LEDGER", "HEARTBEAT INCONSISTENT_LEADER"),
        "a node must lose its term file, and be in a lower term than its last entry, or vote twice in a term",
        lambda has: has["VoteFile"] == "repaired" or _NO_MESSAGES(has),
    ),
    Unreachable(
        parts("answer", "TRANSFER INTERNAL_ERROR"),
        "a transferee changes its role in the term it is to take or in a later one, but to follow in an earlier one",
    ),
    Unreachable(
        parts("answer", "COMPARE NOT_FOLLOWER", "TRUNCATE NOT_FOLLOWER"),
        "until 0.2.7 a request waits for its node to follow",
        lambda has: not has["NotFollower"],
    ),
    Unreachable(parts("answer", "APPEND NOT_FOLLOWER"), "an APPEND waits for its node to follow, in every version"),
    Unreachable(
        parts("answer", "APPEND REPEATED_PUSH"),
        "no APPEND waits for a second one to find it there",
        lambda has: not has["RequestQueues"],
    ),
    Unreachable(
        parts("answer", "COMPARE REPEATED_PUSH", "TRUNCATE REPEATED_PUSH"), "only an APPEND waits under its index"
    ),
    Unreachable(
        parts("answer", "COMPARE INCONSISTENT_TERM"),
        "a COMPARE is obeyed whatever its term",
        lambda has: has["PushTermCheck"] == "published",
    ),
    Unreachable(
        parts("answer", "TRUNCATE INCONSISTENT_TERM", "APPEND INCONSISTENT_TERM"),
        "one of another term or leader is answered by INCONSISTENT_STATE",
    ),
    Unreachable(parts("dispatcher", "APPEND -> TRUNCATE"), "a TRUNCATE follows from a COMPARE"),
    Unreachable(
        parts("log", "late TRUNCATE cuts"),
        "what a leader appended behind the entry stays",
        lambda has: has["LateTruncate"] == "repaired",
    ),
    Unreachable(
        parts("log", "cut entries back"),
        "nothing that was cut stays in the file",
        lambda has: has["TruncatedTail"] == "repaired",
    ),
    Unreachable(
        parts("log", "commit past the end"),
        "nothing is cut below the committed index",
        lambda has: has["CommitPastEnd"] == "repaired",
    ),
)


def unreachable(spec: Spec) -> dict[Reached, str]:
    """Return the parts that no cluster of a spec with these constants can reach, each with its reason."""
    return unreachable_parts(spec, UNREACHABLE, header_constants(spec.constants))


# ---- RarePart ----


def _all_but(*plans: str) -> frozenset[str]:
    return frozenset(PLANS) - set(plans)


_PUBLISHED = ("published", "fine_published", "four_published", "batches_published", "votes_published")
_MESSAGES = ("whole", "four_published", "votes", "votes_published", "handover")

RARE_PARTS: tuple[RarePart, ...] = (
    RarePart(
        parts("answer", "TRUNCATE INCONSISTENT_STATE"),
        _all_but("restless"),
        "the follower must leave a leader for another while a TRUNCATE of the first comes, and is awaited",
    ),
    RarePart(
        parts("answer", "COMPARE INCONSISTENT_TERM"),
        ("whole", "votes", "handover", "not_follower"),
        "a COMPARE of a term that its receiver has left is mostly answered, or lost, before that",
    ),
    RarePart(
        (
            *actions("CheckAppendFuture", "CheckLeak", "DoCheckAppendResponse", "DoCommit", "HandleDoCommit"),
            *parts("answer", "APPEND REPEATED_PUSH", "APPEND INCONSISTENT_STATE"),
            *parts("client", "SUCCESS"),
            *parts("log", "commit learnt", "entries cut", "leader change and cut"),
        ),
        ("restless",),
        "leaders change too often for much to be appended, and known to be committed",
    ),
    RarePart(
        parts("answer", "TRANSFER SUCCESS"),
        ("whole", "four_published", "votes_published"),
        "leaders change too often for a transfer to come to its end",
    ),
    RarePart(
        parts("answer", "TRANSFER EXPIRED_TERM"),
        ("whole", "four_published", "votes", "votes_published"),
        "leaders change too often for a transfer to come to its end",
    ),
    RarePart(
        parts("answer", "TRANSFER INCONSISTENT_TERM"),
        _MESSAGES,
        "a transferee that waits must enter a higher term and then still reach the index",
    ),
    RarePart(
        parts("answer", "HEARTBEAT TERM_NOT_READY"),
        ("four_published",),
        "a leader must win without a voter that then stands behind its term: three of four voted",
    ),
    RarePart(
        parts("client", "TERM_CHANGED"),
        ("whole", "four_published"),
        "a leader with clients that wait must lead again in another term, before it crashes",
    ),
    RarePart(
        parts("answer", "VOTE REJECT_TERM_SMALL_THAN_LEDGER", "HEARTBEAT INCONSISTENT_LEADER"),
        ("four_published", "votes_published"),
        "a quorum must be deceived by term files that were lost within a few steps of each other",
    ),
    RarePart(
        parts("log", "late TRUNCATE cuts"),
        ("batches_published", "fine_published", "four_published"),
        "an answer that lets the leader append mostly comes after all copies of the TRUNCATE",
    ),
    RarePart(
        parts("log", "commit past the end"),
        _PUBLISHED,
        "what is behind a late TRUNCATE must be committed before it comes",
    ),
    RarePart(
        parts("log", "entries cut", "leader change and cut"),
        ("four_published",),
        "a candidate needs three of four, who mostly hold what the others hold",
    ),
    RarePart(
        parts("log", "late TRUNCATE passes"),
        _all_but("late_truncate"),
        "without delay on purpose a TRUNCATE seldom comes late; as published it cuts",
    ),
    RarePart(
        parts("log", "cut entries back"),
        _PUBLISHED,
        "entries must be cut, and the node start again before others are written over them",
    ),
)
