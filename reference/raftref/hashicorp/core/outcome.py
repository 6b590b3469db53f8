"""What becomes of the durable writes of a step: all are done, one fails, or the process dies after one.

Stores that are handed to a server go through its Writes, which counts them. So a simulation decides where a write fails
and where a process dies; the server itself knows neither.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from raftref.disks.simulated_disk import Stopped
from raftref.hashicorp.stores import LogStore, SnapshotStore, StableStore, StoreError, Stores
from raftref.hashicorp.values import Entry, Index, Log, Snapshot


class Result(StrEnum):
    """How the writes of a step end."""

    DONE = "DONE"
    FAIL = "FAIL"
    CRASH = "CRASH"


@dataclass(frozen=True, slots=True)
class Outcome:
    """DONE: all writes are done. FAIL: the `write`-th returns an error. CRASH: the process dies right after it."""

    result: Result = Result.DONE
    write: int = 0

    def record(self) -> dict[str, Any]:
        """Return it as the spec's record."""
        return {"result": self.result.value, "write": self.write}


DONE = Outcome()


class Writes:
    """The durable writes of the step that is taken now."""

    def __init__(self) -> None:
        """Begin with a step whose writes are all done."""
        self.count = 0
        self._outcome = DONE

    def begin(self, outcome: Outcome) -> None:
        """Begin a step."""
        self.count, self._outcome = 0, outcome

    def write(self, do: Callable[[], None]) -> None:
        """Write, unless that fails: then raise StoreError. Raise Stopped where the process dies after the write."""
        self.count += 1
        now = self.count == self._outcome.write
        if now and self._outcome.result is Result.FAIL:
            raise StoreError("the write failed")
        do()
        if now and self._outcome.result is Result.CRASH:
            raise Stopped

    def through(self, stores: Stores) -> Stores:
        """Return the stores, each of whose writes is one of these."""
        return Stores(_Logs(stores.logs, self), _Stable(stores.stable, self), _Snapshots(stores.snapshots, self))


@dataclass(frozen=True, slots=True)
class _Logs:
    store: LogStore
    writes: Writes

    def first_index(self) -> Index:
        return self.store.first_index()

    def last_index(self) -> Index:
        return self.store.last_index()

    def get_log(self, index: Index) -> Entry:
        return self.store.get_log(index)

    def store_logs(self, logs: Sequence[Log]) -> None:
        self.writes.write(lambda: self.store.store_logs(logs))

    def delete_range(self, least: Index, greatest: Index) -> None:
        self.writes.write(lambda: self.store.delete_range(least, greatest))

    def all_logs(self) -> Mapping[Index, Entry]:
        return self.store.all_logs()


@dataclass(frozen=True, slots=True)
class _Stable:
    store: StableStore
    writes: Writes

    def get(self, key: str) -> int | str | None:
        return self.store.get(key)

    def set(self, key: str, value: int | str) -> None:
        self.writes.write(lambda: self.store.set(key, value))

    def set_together(self, values: Mapping[str, int | str]) -> None:
        self.writes.write(lambda: self.store.set_together(values))


@dataclass(frozen=True, slots=True)
class _Snapshots:
    store: SnapshotStore
    writes: Writes

    def all_snapshots(self) -> Sequence[Snapshot]:
        return self.store.all_snapshots()

    def save(self, snapshot: Snapshot) -> None:
        self.writes.write(lambda: self.store.save(snapshot))
