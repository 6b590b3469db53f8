"""The clients that wait at a leader for the entries they appended."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from raftref.dledger.messages import Entry, Index, Term

#: So many may wait, and one more. Source: DLedgerConfig.maxPendingRequestsNum.
MAX_PENDING_REQUESTS = 10_000


@dataclass(frozen=True, slots=True)
class Future:
    """A client waits for the entry it appended at an index; `done`: it was told that it took too long.

    Source: AppendFuture.
    """

    index: Index
    entry: Entry
    done: bool = False

    def record(self) -> dict[str, Any]:
        """Return the future as the spec's record."""
        return {"index": self.index, "entry": self.entry.record(), "done": self.done}


class ClientFutures:
    """Who waits, by the term and index of the entry.

    Source: DLedgerEntryPusher.pendingAppendResponsesByTerm.
    """

    def __init__(self) -> None:
        """Begin with nobody."""
        self._futures: dict[tuple[Term, Index], Future] = {}

    def __len__(self) -> int:
        """Return how many wait."""
        return len(self._futures)

    def put(self, index: Index, entry: Entry) -> None:
        """Let a client wait, in the place of one that waited for this index of the term."""
        self._futures[entry.term, index] = Future(index, entry)

    def of_term(self, term: Term) -> dict[Index, Future]:
        """Return who waits for entries of a term, by index."""
        return {index: each for (of, index), each in self._futures.items() if of == term}

    def is_full(self, term: Term) -> bool:
        """Tell whether no more may wait for entries of a term. Source: DLedgerEntryPusher.isPendingFull."""
        return len(self.of_term(term)) > MAX_PENDING_REQUESTS

    def answer(self, term: Term, indexes: Collection[Index]) -> tuple[Future, ...]:
        """Let nobody wait any more at these indexes of a term.

        Returns:
            Those who are told success: who was told that it took too long is told nothing.
        """
        taken = [self._futures.pop((term, index)) for index in sorted(indexes) if (term, index) in self._futures]
        return tuple(each for each in taken if not each.done)

    def clean(self, term: Term) -> None:
        """Tell clients of other terms TERM_CHANGED. Source: QuorumAckChecker.doWork."""
        self._futures = {key: each for key, each in self._futures.items() if key[0] == term}

    def first_late(self, term: Term, first: Index) -> Future | None:
        """Return, of those who wait without a gap from an index on, the first that was not told it took too long.

        Source: DLedgerEntryPusher.checkResponseFuturesTimeout.
        """
        waiting, index = self.of_term(term), first
        while index in waiting and waiting[index].done:
            index = Index(index + 1)
        return waiting.get(index)

    def time_out(self, late: Future) -> None:
        """Tell a client WAIT_QUORUM_ACK_TIMEOUT; it keeps its place."""
        self._futures[late.entry.term, late.index] = replace(late, done=True)

    def record(self) -> dict[str, Any]:
        """Return all of them as the spec's set."""
        return {"#set": [each.record() for each in self._futures.values()]}
