"""The stores that the library is given: LogStore, StableStore, SnapshotStore.

What they hold is durable when the call returns. A call that raises StoreError has changed nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from raftref.hashicorp.values import Entry, Index, Log, Snapshot

#: The keys of the StableStore. Source: keyCurrentTerm, keyLastVoteTerm, keyLastVoteCand.
CURRENT_TERM, LAST_VOTE_TERM, LAST_VOTE_CAND = "CurrentTerm", "LastVoteTerm", "LastVoteCand"


class StoreError(Exception):
    """A durable write failed, and changed nothing."""


class LogNotFoundError(LookupError):
    """The log has no entry at an index. Source: ErrLogNotFound."""


class LogStore(Protocol):
    """Entries by their indexes. Nothing keeps it from having gaps.

    Source: LogStore.
    """

    def first_index(self) -> Index:
        """Return the first index there is, 0 where there is none."""

    def last_index(self) -> Index:
        """Return the last index there is, 0 where there is none."""

    def get_log(self, index: Index) -> Entry:
        """Return the entry at an index; raises LogNotFoundError."""

    def store_logs(self, logs: Sequence[Log]) -> None:
        """Store entries at their indexes; raises StoreError."""

    def delete_range(self, least: Index, greatest: Index) -> None:
        """Delete the entries from one index to another, both included; raises StoreError."""

    def all_logs(self) -> Mapping[Index, Entry]:
        """Return every entry by its index. The mapping is never changed; a write makes another."""


class StableStore(Protocol):
    """A few values by key.

    Source: StableStore.
    """

    def get(self, key: str) -> int | str | None:
        """Return the value of a key, None where it was never set."""

    def set(self, key: str, value: int | str) -> None:
        """Write one key; raises StoreError."""

    def set_together(self, values: Mapping[str, int | str]) -> None:
        """Write several keys, all or none; raises StoreError. The library has no such call: it repairs TornVote."""


class SnapshotStore(Protocol):
    """The newest snapshots, by term, by index, and by when they were saved. Two of one place count as two.

    Source: SnapshotStore; FileSnapshotStore, in which the name of a snapshot has its term, its index and the time.
    """

    def all_snapshots(self) -> Sequence[Snapshot]:
        """Return what is retained, the newest first. Source: List."""

    def save(self, snapshot: Snapshot) -> None:
        """Save a snapshot, and remove the oldest beyond what is retained, which may be this one; raises StoreError.

        Source: Create, SnapshotSink.Close, ReapSnapshots.
        """


@dataclass(frozen=True, slots=True)
class Stores:
    """What one server keeps."""

    logs: LogStore
    stable: StableStore
    snapshots: SnapshotStore


def retained(snapshots: Sequence[Snapshot], new: Snapshot, retain: int) -> tuple[Snapshot, ...]:
    """Return what is kept of some snapshots, the newest first, and a new one. Source: ReapSnapshots, snapMetaSlice."""
    newest_first = sorted([new, *snapshots], key=lambda each: (each.term, each.index), reverse=True)
    return tuple(newest_first[:retain])  # of two of one place the new one stays first
