"""The durable part of a server: its log, three keys, its snapshots.

A write is durable when its call returns, and one that fails has changed nothing: it makes new stores of the old ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from raftref.hashicorp.values import (
    NO_INDEX,
    NO_PLACE,
    NO_TERM,
    Configuration,
    Entry,
    EntryType,
    Index,
    Log,
    NodeId,
    Place,
    Snapshot,
    Term,
)


class LogNotFoundError(LookupError):
    """The log has no entry at an index. Source: ErrLogNotFound."""


@dataclass(frozen=True, slots=True)
class Stores:
    """The stores of one server. A log may have gaps; `snapshots` are those that are kept, the newest first.

    `commit_index` is what the log store keeps of it, if it does.

    Source: LogStore, CommitTrackingLogStore, StableStore, SnapshotStore; InmemStore, FileSnapshotStore.
    """

    current_term: Term = NO_TERM
    last_vote_term: Term = NO_TERM
    last_vote_cand: NodeId | None = None
    logs: Mapping[Index, Entry] = field(default_factory=dict)
    snapshots: tuple[Snapshot, ...] = ()
    commit_index: Index = NO_INDEX

    def set(self, **values: Any) -> Stores:
        """Write one key, or several, all or none. Source: StableStore.Set, SetUint64."""
        return replace(self, **values)

    # ---- The log -------------------------------------------------------------------------------------

    def first_index(self) -> Index:
        """Return the first index there is, 0 where there is none."""
        return min(self.logs, default=Index(0))

    def last_index(self) -> Index:
        """Return the last index there is, 0 where there is none."""
        return max(self.logs, default=Index(0))

    def get_log(self, index: Index) -> Entry:
        """Return the entry at an index; raises LogNotFoundError."""
        found = self.logs.get(index)
        if found is None:
            raise LogNotFoundError(index)
        return found

    def has_range(self, first: Index, last: Index) -> bool:
        """Return whether the log has every entry from one index to another."""
        return all(index in self.logs for index in range(first, last + 1))

    def end_of_log(self) -> Place:
        """Return where the log ends."""
        last = self.last_index()
        return NO_PLACE if last == 0 else Place(last, self.get_log(last).term)

    def store_logs(self, logs: Sequence[Log]) -> Stores:
        """Store entries at their indexes."""
        return replace(self, logs={**self.logs, **{log.index: log.entry for log in logs}})

    def delete_range(self, least: Index, greatest: Index) -> Stores:
        """Delete the entries from one index to another, both included."""
        return replace(self, logs={at: entry for at, entry in self.logs.items() if not least <= at <= greatest})

    # ---- Snapshots -----------------------------------------------------------------------------------

    def save_snapshot(self, snapshot: Snapshot, retain: int) -> Stores:
        """Save a snapshot, and remove the oldest of more than are retained, which may be this one.

        Snapshots are ordered by term, by index, and by when they were saved; two of one place count as two.

        Source: Create, SnapshotSink.Close, ReapSnapshots, snapMetaSlice.
        """
        newest_first = sorted([snapshot, *self.snapshots], key=lambda each: (each.term, each.index), reverse=True)
        return replace(self, snapshots=tuple(newest_first[:retain]))  # of two of one place the new one stays first


def bootstrap_cluster(configuration: Configuration) -> Stores:
    """Return the stores of a new server that begins with a first configuration, in term 1.

    Source: BootstrapCluster.
    """
    first = Entry(Term(1), EntryType.CONFIGURATION, None, configuration)
    return Stores(current_term=Term(1), logs={Index(1): first})
