"""Stores in memory: what they hold outlasts a simulated process, whose server is told to forget the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from raftref.hashicorp.stores.stores import LogNotFoundError, retained
from raftref.hashicorp.values import Entry, Index, Log, Snapshot


class InmemLogStore:
    """A log in memory. Source: InmemStore."""

    def __init__(self, logs: Mapping[Index, Entry] | None = None) -> None:
        """Begin with these entries, or none."""
        self._logs: dict[Index, Entry] = dict(logs or {})

    def first_index(self) -> Index:
        """Return the first index there is, 0 where there is none."""
        return min(self._logs, default=Index(0))

    def last_index(self) -> Index:
        """Return the last index there is, 0 where there is none."""
        return max(self._logs, default=Index(0))

    def get_log(self, index: Index) -> Entry:
        """Return the entry at an index; raises LogNotFoundError."""
        found = self._logs.get(index)
        if found is None:
            raise LogNotFoundError(index)
        return found

    def store_logs(self, logs: Sequence[Log]) -> None:
        """Store entries at their indexes."""
        self._logs = {**self._logs, **{log.index: log.entry for log in logs}}

    def delete_range(self, least: Index, greatest: Index) -> None:
        """Delete the entries from one index to another, both included."""
        self._logs = {index: entry for index, entry in self._logs.items() if not least <= index <= greatest}

    def all_logs(self) -> Mapping[Index, Entry]:
        """Return every entry by its index."""
        return self._logs


class InmemStableStore:
    """A few values in memory. Source: InmemStore."""

    def __init__(self) -> None:
        """Begin with none."""
        self._values: dict[str, int | str] = {}

    def get(self, key: str) -> int | str | None:
        """Return the value of a key, None where it was never set."""
        return self._values.get(key)

    def set(self, key: str, value: int | str) -> None:
        """Write one key."""
        self._values[key] = value

    def set_together(self, values: Mapping[str, int | str]) -> None:
        """Write several keys."""
        self._values.update(values)


class InmemSnapshotStore:
    """Snapshots in memory; unlike the library's InmemSnapshotStore it keeps more than one."""

    def __init__(self, retain: int) -> None:
        """Begin with none; `retain` is how many are kept."""
        self._retain = retain
        self._snapshots: tuple[Snapshot, ...] = ()

    def all_snapshots(self) -> Sequence[Snapshot]:
        """Return what is retained, the newest first."""
        return self._snapshots

    def save(self, snapshot: Snapshot) -> None:
        """Save a snapshot, and remove the oldest beyond what is retained."""
        self._snapshots = retained(self._snapshots, snapshot, self._retain)
