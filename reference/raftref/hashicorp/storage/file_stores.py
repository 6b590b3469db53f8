"""Stores of a server on a disk: every durable write is one record, which is there whole after a crash, or not at all.

The format is the reference's own. `stores` is a file of records, each behind its length and its CRC: the first one has
all of the stores, each later one what a write changed. `snapshots/` has a file for each snapshot, with one record.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from raftref.disks.disk import Disk, DiskError, FileName
from raftref.hashicorp.choices import Config
from raftref.hashicorp.server import Server
from raftref.hashicorp.steps import StoreError
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.values import Entry, Index, NodeId, Snapshot
from raftref.records import from_record, record

STORES_FILE, NEW_STORES_FILE = "stores", "stores.new"
SNAPSHOT_FOLDER = "snapshots"
#: What the first record of a file says of itself.
FORMAT = "raftref-hashicorp-stores/1"

#: The size in bytes above which the file of records may be written anew.
MIN_COMPACTED_BYTES = 1024 * 1024
#: How many times as long as when it was last written anew the file may be.
COMPACTION_FACTOR = 4

_HEADER = struct.Struct(">II")
_KEYS = ("current_term", "last_vote_term", "last_vote_cand")


@dataclass(frozen=True, slots=True)
class StoredSnapshot:
    """A snapshot, and the file that has it."""

    name: FileName
    snapshot: Snapshot


class FileStores:
    """The stores of one server, and their files.

    `stores` is what is durable. A write is over when its record was forced, and no earlier; what a process leaves that
    dies before is the stores as they were, or with the whole write. The end of a record that was torn is dropped by
    the next start. The disk must keep a name once the file was forced: `DirectoryDisk(..., forces_names=True)`.

    Source: the LogStore, StableStore and SnapshotStore that a user gives to NewRaft, such as raft-boltdb and
    FileSnapshotStore, which have other formats.
    """

    def __init__(self, disk: Disk, *, min_compacted_bytes: int = MIN_COMPACTED_BYTES) -> None:
        """Read the stores; without files they are those of a server that was never started.

        Args:
            disk: The disk that has the files, or will have.
            min_compacted_bytes: The size in bytes above which the file of records may be written anew.

        Raises:
            DiskError: A file is damaged, not merely torn at its end by a write that was under way.
        """
        self._disk = disk
        self._min_compacted_bytes = min_compacted_bytes
        self.stores = Stores()
        self._snapshots: tuple[StoredSnapshot, ...] = ()
        self._snapshot_count = 0
        #: Where the next record goes, and how long the file was when it was written anew; None without a file.
        self._end: int | None = None
        self._compacted_bytes = 0
        #: Whether a write failed and could not be undone: then nobody knows what is on the disk.
        self._is_broken = False
        try:
            self._load()
        except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
            raise DiskError(f"{STORES_FILE}, or a snapshot, has a record of another form: {error!r}") from error

    # ---- Writing -------------------------------------------------------------------------------------

    def persist(self, after: Stores) -> None:
        """Make other stores durable, in one step: after a crash these are found, or the ones before.

        Args:
            after: The stores after one write of the server, or after several.

        Raises:
            StoreError: The write failed, and changed nothing. If that cannot be brought about, all later ones fail.
        """
        if after == self.stores:
            self.stores = after
            return
        if self._is_broken:
            raise StoreError("an earlier write failed, and could not be undone")
        snapshots, count, end = self._snapshots, self._snapshot_count, self._end
        try:
            self._write_snapshots(after.snapshots)
            if self._end is None:
                self._write_anew(after)
            else:
                self._append(_encode(self._changes(after)))
        except (OSError, DiskError) as error:
            self._snapshots, self._snapshot_count, self._end = snapshots, count, end
            self._undo()
            raise StoreError(f"the write failed: {error}") from error
        self.stores = after
        self._tidy_up({each.name for each in snapshots} - {each.name for each in self._snapshots})

    def _append(self, data: bytes) -> None:
        assert self._end is not None
        self._disk.write(STORES_FILE, self._end, data)
        self._disk.force(STORES_FILE)
        self._end += len(data)

    def _undo(self) -> None:
        """Cut off what a write left that failed, so that no start finds it."""
        try:
            if self._end is not None:
                self._disk.truncate(STORES_FILE, self._end)
                self._disk.force(STORES_FILE)
            elif self._disk.size(STORES_FILE) is not None:
                self._is_broken = True
        except OSError:
            self._is_broken = True

    def _tidy_up(self, removed: set[FileName]) -> None:
        """Remove the files of snapshots that are kept no more, and write a long file of records anew.

        The write is durable by now, whatever becomes of this: what fails here is tried again later.
        """
        try:
            for name in sorted(removed):
                self._disk.delete(name)
            long = max(self._min_compacted_bytes, COMPACTION_FACTOR * self._compacted_bytes)
            if self._end is not None and self._end > long:
                self._write_anew(self.stores)
        except OSError:
            self._compacted_bytes = self._end or 0

    def _write_anew(self, stores: Stores) -> None:
        """Write a file with one record aside, and put it in the place of the old one."""
        data = _encode({"format": FORMAT, **self._all(stores)})
        self._disk.truncate(NEW_STORES_FILE, 0)
        self._disk.write(NEW_STORES_FILE, 0, data)
        self._disk.force(NEW_STORES_FILE)
        self._disk.rename(NEW_STORES_FILE, STORES_FILE)
        self._end = self._compacted_bytes = len(data)
        self._disk.force(STORES_FILE)

    def _write_snapshots(self, snapshots: tuple[Snapshot, ...]) -> None:
        """Write those that have no file yet, each aside at first; the record that names them comes later."""
        left, stored = list(self._snapshots), []
        for snapshot in snapshots:
            held = next((each for each in left if each.snapshot == snapshot), None)
            if held is None:
                held = self._write_snapshot(snapshot)
            else:
                left.remove(held)
            stored.append(held)
        self._snapshots = tuple(stored)

    def _write_snapshot(self, snapshot: Snapshot) -> StoredSnapshot:
        self._snapshot_count += 1
        name = f"{SNAPSHOT_FOLDER}/{snapshot.term}-{snapshot.index}-{self._snapshot_count}"
        aside = f"{name}.tmp"
        self._disk.truncate(aside, 0)
        self._disk.write(aside, 0, _encode(record(snapshot)))
        self._disk.force(aside)
        self._disk.rename(aside, name)
        self._disk.force(name)
        return StoredSnapshot(name, snapshot)

    # ---- Records -------------------------------------------------------------------------------------

    def _all(self, stores: Stores) -> dict[str, Any]:
        """Return the record of all that is stored."""
        return {
            **{key: getattr(stores, key) for key in _KEYS},
            "put": [[index, record(entry)] for index, entry in stores.logs.items()],
            **self._named_snapshots(),
        }

    def _named_snapshots(self) -> dict[str, Any]:
        return {"snapshots": [each.name for each in self._snapshots], "snapshotCount": self._snapshot_count}

    def _changes(self, after: Stores) -> dict[str, Any]:
        """Return the record of what is stored otherwise after a write."""
        before = self.stores
        changes: dict[str, Any] = {
            key: getattr(after, key) for key in _KEYS if getattr(after, key) != getattr(before, key)
        }
        if after.logs is not before.logs:
            deleted = [index for index in before.logs if index not in after.logs]
            put = [
                [index, record(entry)]
                for index, entry in after.logs.items()
                if (held := before.logs.get(index)) is not entry and held != entry
            ]
            changes |= {"deleted": _ranges(deleted), "put": put}
        if after.snapshots != before.snapshots:
            changes |= self._named_snapshots()
        return changes

    # ---- Reading -------------------------------------------------------------------------------------

    def _load(self) -> None:
        size = self._disk.size(STORES_FILE)
        if size:
            records = _Records(self._disk.read(STORES_FILE, 0, size), STORES_FILE)
            fields: dict[str, Any] = {}
            logs: dict[Index, Entry] = {}
            for number, each in enumerate(records):
                if number == 0:
                    self._compacted_bytes = records.end
                    if each.get("format") != FORMAT:
                        raise DiskError(f"{STORES_FILE} is no file of {FORMAT}")
                _take(each, fields, logs)
            if not fields:
                raise DiskError(f"{STORES_FILE} is damaged at its begin")
            self._snapshots = tuple(StoredSnapshot(name, self._read_snapshot(name)) for name in fields["snapshots"])
            self._snapshot_count = fields["snapshotCount"]
            snapshots = tuple(each.snapshot for each in self._snapshots)
            self.stores = Stores(**{key: fields[key] for key in _KEYS}, logs=logs, snapshots=snapshots)
            self._end = records.end
            if records.end < size:  # a record was torn
                self._disk.truncate(STORES_FILE, records.end)
            self._disk.force(STORES_FILE)
        self._remove_strangers()

    def _read_snapshot(self, name: FileName) -> Snapshot:
        found = list(_Records(self._disk.read(name, 0, self._disk.size(name) or 0), name))
        if len(found) != 1:
            raise DiskError(f"{name}, a snapshot, is damaged")
        snapshot: Snapshot = from_record(Snapshot, found[0])
        return snapshot

    def _remove_strangers(self) -> None:
        """Remove what a write left that was not over, and the snapshots that no record names any more."""
        kept = {each.name for each in self._snapshots}
        for name in [*self._disk.names(SNAPSHOT_FOLDER), NEW_STORES_FILE]:
            if name not in kept:
                self._disk.delete(name)


class DurableServer(Server):
    """A server whose stores are on a disk: each of its writes is durable when it returns, or fails with StoreError.

    Its steps are to be taken with the outcome DONE: others are tried out first, on the same disk.
    """

    def __init__(self, node_id: NodeId, nodes: tuple[NodeId, ...], config: Config, file_stores: FileStores) -> None:
        """Make a server that has not been started.

        Args:
            node_id: Its name.
            nodes: All servers that there may be.
            config: Its features, its flaws, its bounds.
            file_stores: Its durable part, as it was read from a disk. A first configuration is written there by
                `file_stores.persist(bootstrap_cluster(configuration))`.
        """
        self._file_stores = file_stores
        super().__init__(node_id, nodes, config, file_stores.stores)

    @property
    def stores(self) -> Stores:
        """The durable part, as the disk has it."""
        return self._file_stores.stores

    @stores.setter
    def stores(self, stores: Stores) -> None:
        self._file_stores.persist(stores)


class _Records:
    """The records in the bytes of a file, up to the first that is torn; `end` is the position behind the last one."""

    def __init__(self, data: bytes, name: FileName) -> None:
        self._data = data
        self._name = name
        self.end = 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        while (payload := self._payload(self.end)) is not None:
            self.end += _HEADER.size + len(payload)
            found: dict[str, Any] = json.loads(payload)
            yield found
        if self._payload(self._behind(self.end)) is not None:
            raise DiskError(f"{self._name} is damaged at {self.end}: a whole record follows")

    def _behind(self, position: int) -> int:
        """Return where the record behind the one at a position would be."""
        header = self._data[position : position + _HEADER.size]
        return position + _HEADER.size + (_HEADER.unpack(header)[0] if len(header) == _HEADER.size else 0)

    def _payload(self, position: int) -> bytes | None:
        """Return what the record at a position has, None where none is whole; an empty one would be made of zeros."""
        header = self._data[position : position + _HEADER.size]
        if len(header) < _HEADER.size:
            return None
        length, crc = _HEADER.unpack(header)
        payload = self._data[position + _HEADER.size : self._behind(position)]
        return payload if 0 < length == len(payload) and zlib.crc32(payload) == crc else None


def _encode(value: Mapping[str, Any]) -> bytes:
    payload = json.dumps(value, separators=(",", ":")).encode("ascii")
    return _HEADER.pack(len(payload), zlib.crc32(payload)) + payload


def _ranges(indexes: list[Index]) -> list[list[int]]:
    """Return the ranges of indexes that these are, first and last."""
    ranges: list[list[int]] = []
    for index in sorted(indexes):
        if ranges and ranges[-1][1] == index - 1:
            ranges[-1][1] = index
        else:
            ranges.append([index, index])
    return ranges


def _take(changes: dict[str, Any], fields: dict[str, Any], logs: dict[Index, Entry]) -> None:
    """Take over what a record changes."""
    for first, last in changes.pop("deleted", ()):
        for index in range(first, last + 1):
            del logs[Index(index)]
    logs.update({Index(index): from_record(Entry, entry) for index, entry in changes.pop("put", ())})
    fields.update(changes)
