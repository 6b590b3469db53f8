"""What the elector of a node keeps in memory, message by message; nothing of it survives a crash."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from raftref.dledger.messages import NO_TERM, NONE, ElectionType, Index, NodeId, Term, TransferCall


@dataclass(slots=True)
class Round:
    """The round of requests whose answers the StateMaintainer waits for; `type` None: it waits for none.

    `ledger_end_term` and `ledger_end_index` are what the vote requests tell. `max_term` is what the answers
    told of terms. `answers` has each member's answer, None where there is none.

    Source: the local variables of DLedgerLeaderElector.maintainAsCandidate and sendHeartbeats.
    """

    answers: dict[NodeId, str | None]
    type: ElectionType | None = None
    ledger_end_term: Term = NO_TERM
    ledger_end_index: Index = NONE
    max_term: Term = NO_TERM

    def record(self) -> dict[str, Any]:
        """Return the round as the spec's record."""
        return {
            "type": "NONE" if self.type is None else self.type.value,
            "ledgerEndTerm": self.ledger_end_term,
            "ledgerEndIndex": self.ledger_end_index,
            "maxTerm": self.max_term,
            "answers": {peer: "NONE" if code is None else str(code) for peer, code in self.answers.items()},
        }


@dataclass(frozen=True, slots=True)
class Waiting:
    """A transferee waits until its log has reached an index. Source: DLedgerServer.handleLeadershipTransfer."""

    leader: NodeId | None = None
    term: Term = NO_TERM
    index: Index = NONE

    def record(self) -> dict[str, Any]:
        """Return it as the spec's record."""
        return {"leader": self.leader, "term": self.term, "index": self.index}


NOBODY_WAITS = Waiting()


@dataclass(slots=True)
class ElectionState:
    """The fields of DLedgerLeaderElector, and those of MemberState that only it reads.

    `need_increase` is needIncreaseTermImmediately, `known_max_term` knownMaxTermInGroup where it is beyond the
    node's term (-1 otherwise), `vote_next` whether lastParseResult is WAIT_TO_VOTE_NEXT. `transferee` is whom
    this leader hands over to, `transfers` its calls without an answer yet. `term_to_take_leadership` is the term
    this transferee is to lead, and `takes_from` who is told when it does.
    """

    round: Round
    need_increase: bool = False
    known_max_term: Term = NO_TERM
    vote_next: bool = False
    transferee: NodeId | None = None
    transfers: frozenset[TransferCall] = field(default_factory=frozenset)
    waiting: Waiting = NOBODY_WAITS
    term_to_take_leadership: Term = NO_TERM
    takes_from: NodeId | None = None

    def record(self) -> dict[str, Any]:
        """Return the state as the spec's record."""
        calls = sorted(self.transfers, key=lambda call: (call.term, call.transferee))
        return {
            "needIncrease": self.need_increase,
            "knownMaxTerm": self.known_max_term,
            "voteNext": self.vote_next,
            "round": self.round.record(),
            "transferee": self.transferee,
            "transfers": {"#set": [call.record() for call in calls]},
            "waiting": self.waiting.record(),
            "termToTakeLeadership": self.term_to_take_leadership,
            "takesFrom": self.takes_from,
        }


def no_round(members: Sequence[NodeId]) -> Round:
    """Return the round of a StateMaintainer that waits for no answer."""
    return Round(dict.fromkeys(members))


def fresh_state(members: Sequence[NodeId]) -> ElectionState:
    """Return what an elector knows when its process begins: nothing."""
    return ElectionState(no_round(members))
