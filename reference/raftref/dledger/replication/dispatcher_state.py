"""What one EntryDispatcher knows about the peer it serves, and how it changes its state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from raftref.dledger.messages import NO_TERM, NONE, Index, PushType, Term


@dataclass(frozen=True, slots=True, order=True)
class Pending:
    """So many entries, from an index on, that were pushed in one APPEND and are not answered."""

    index: Index
    count: int = 1

    def record(self) -> dict[str, Any]:
        """Return it as the spec's record."""
        return {"index": self.index, "count": self.count}


@dataclass(frozen=True, slots=True)
class DispatcherState:
    """The fields of a dispatcher. Frozen: a change gives a new one.

    `type` is COMPARE, TRUNCATE or APPEND. `term` is that of the leadership it serves. `compare_index` is
    being compared (-1: start from the end), `truncate_index` is to be sent by TRUNCATE (-1: none),
    `write_index` is the next to push. `awaiting` is the type of the call its thread waits for, if any.
    `pendings` is what was pushed by APPEND and not answered; empty where the grain leaves it out.

    Source: EntryDispatcher's fields, pendingMap or batchPendingMap among them.
    """

    type: PushType = PushType.COMPARE
    term: Term = NO_TERM
    compare_index: Index = NONE
    truncate_index: Index = NONE
    write_index: Index = NONE
    awaiting: PushType | None = None
    pendings: frozenset[Pending] = frozenset()

    def to_compare(self) -> DispatcherState:
        """Go to COMPARE; the comparison starts anew only when APPEND is left.

        Source: EntryDispatcher.changeState(COMPARE).
        """
        anew = self.type is PushType.APPEND
        return replace(
            self,
            type=PushType.COMPARE,
            compare_index=NONE if anew else self.compare_index,
            pendings=frozenset() if anew else self.pendings,
            truncate_index=NONE,
        )

    def to_truncate(self, index: Index) -> DispatcherState:
        """Go to TRUNCATE: the peer's log is to end at `index`.

        Source: EntryDispatcher.changeState(TRUNCATE).
        """
        return replace(self, type=PushType.TRUNCATE, compare_index=NONE, truncate_index=index)

    def to_append(self, index: Index) -> DispatcherState:
        """Go to APPEND: the peer holds the log up to `index`, so the entry behind it is next.

        Source: EntryDispatcher.changeState(APPEND); the watermark is the pusher's to set.
        """
        return replace(
            self,
            type=PushType.APPEND,
            compare_index=NONE,
            truncate_index=NONE,
            write_index=Index(index + 1),
        )

    def pushed(self, index: Index, count: int) -> DispatcherState:
        """Wait for the answer to a push of so many entries from `index` on."""
        return replace(self, pendings=self.answered(index).pendings | {Pending(index, count)})

    def answered(self, index: Index) -> DispatcherState:
        """Wait no more for the answer to the push of this entry, or of a batch that begins with it."""
        return replace(self, pendings=frozenset(each for each in self.pendings if each.index != index))

    def fresh(self, curr_term: Term, *, anew: bool) -> DispatcherState:
        """Serve the leadership of `curr_term`: a dispatcher of another term begins with COMPARE.

        Args:
            curr_term: The term the node leads.
            anew: Whether it compares from the end of the log; as published, one that was comparing goes on.

        Source: EntryDispatcher.checkAndFreshState.
        """
        if self.term == curr_term:
            return self
        fresh = replace(self.to_compare(), term=curr_term)
        return replace(fresh, compare_index=NONE) if anew else fresh

    def waiting_for(self, type_: PushType | None) -> DispatcherState:
        """Wait for the answer to a call of this type, or (None) for none."""
        return replace(self, awaiting=type_)

    def record(self) -> dict[str, Any]:
        """Return the state as the spec's record."""
        return {
            "type": self.type.value,
            "term": self.term,
            "compareIndex": self.compare_index,
            "truncateIndex": self.truncate_index,
            "writeIndex": self.write_index,
            "pendings": {"#set": [each.record() for each in sorted(self.pendings)]},
            "awaiting": "NOTHING" if self.awaiting is None else self.awaiting.value,
        }
