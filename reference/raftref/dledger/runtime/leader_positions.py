"""Where the entries that are pushed to a follower lie in the files of its leader."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from raftref.dledger.messages import CommitRequest, Entry, Index, Message, PushRequest
from raftref.dledger.storage.entry_coder import EntryHeader


@dataclass(frozen=True, slots=True)
class PositionedPush:
    """A request that pushes entries, with the headers that these have in the leader's data file.

    Source: DLedgerEntry.pos, which a follower demands of its own file as well.
    """

    request: PushRequest
    headers: tuple[EntryHeader, ...]


class LeaderPositions:
    """The positions of the entries in the requests that wait.

    Source: PushEntryRequest.entry, batchEntry.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._positions: dict[Index, tuple[Entry, int]] = {}

    def received(self, m: Message | PositionedPush) -> Message:
        """Learn the positions that a request comes with, if it does; return the request."""
        if not isinstance(m, PositionedPush):
            return m
        if not isinstance(m.request, CommitRequest):
            for entry, header in zip(m.request.entries, m.headers, strict=True):
                self._positions[header.index] = entry, header.pos
        return m.request

    def position(self, index: Index, entry: Entry) -> int | None:
        """Return the position in bytes of an entry that is being handled, None where its request had none."""
        known, pos = self._positions.get(index, (None, None))
        return pos if known == entry else None

    def keep(self, waiting: Collection[PushRequest]) -> None:
        """Forget all positions but those of the requests that wait."""
        if not self._positions:
            return
        kept = {
            Index(index)
            for m in waiting
            if not isinstance(m, CommitRequest)
            for index in range(m.index, m.last_index + 1)
        }
        self._positions = {index: each for index, each in self._positions.items() if index in kept}
