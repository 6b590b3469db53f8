"""Stores on the files of a disk. A crash at any step of it loses what a call was about, or nothing.

The log is a file of frames: each holds what one call stored or deleted, with its length and checksum. A frame that is
not whole was never acknowledged, and is cut off. The keys, and the snapshots, are one small file each, written anew
under another name which then takes the place of the old one.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from raftref.disks.disk import Disk, FileName
from raftref.hashicorp.stores.codec import log_of, snapshot_of
from raftref.hashicorp.stores.inmem import InmemLogStore
from raftref.hashicorp.stores.stores import StoreError, retained
from raftref.hashicorp.values import Entry, Index, Log, Snapshot

_LOG, _STABLE, _SNAPSHOTS = FileName("log"), FileName("stable"), FileName("snapshots")
#: What stands before the body of a frame: its length, and its checksum.
_HEAD = struct.Struct(">II")


class FileLogStore:
    """A log on a file, to which each call adds what it did. What it holds is in memory, too."""

    def __init__(self, disk: Disk) -> None:
        """Read the log that a disk has, and cut off a frame that is not whole."""
        self._disk = disk
        self._memory = InmemLogStore()
        self._size = 0
        for frame, end in _frames(disk):
            self._replay(frame)
            self._size = end
        if (disk.size(_LOG) or 0) > self._size:
            disk.truncate(_LOG, self._size)
            disk.force(_LOG)

    def first_index(self) -> Index:
        """Return the first index there is, 0 where there is none."""
        return self._memory.first_index()

    def last_index(self) -> Index:
        """Return the last index there is, 0 where there is none."""
        return self._memory.last_index()

    def get_log(self, index: Index) -> Entry:
        """Return the entry at an index; raises LogNotFoundError."""
        return self._memory.get_log(index)

    def store_logs(self, logs: Sequence[Log]) -> None:
        """Store entries at their indexes; raises StoreError."""
        self._add({"stored": [log.record() for log in logs]})

    def delete_range(self, least: Index, greatest: Index) -> None:
        """Delete the entries from one index to another, both included; raises StoreError."""
        self._add({"deleted": [least, greatest]})

    def all_logs(self) -> Mapping[Index, Entry]:
        """Return every entry by its index."""
        return self._memory.all_logs()

    def _add(self, frame: dict[str, Any]) -> None:
        body = json.dumps(frame, separators=(",", ":")).encode()
        data = _HEAD.pack(len(body), zlib.crc32(body)) + body
        try:
            self._disk.write(_LOG, self._size, data)
            self._disk.force(_LOG)
        except OSError as error:
            raise StoreError(str(error)) from error
        self._size += len(data)
        self._replay(frame)

    def _replay(self, frame: Mapping[str, Any]) -> None:
        if "stored" in frame:
            self._memory.store_logs([log_of(each) for each in frame["stored"]])
        else:
            self._memory.delete_range(*frame["deleted"])


def _frames(disk: Disk) -> Iterator[tuple[dict[str, Any], int]]:
    """Yield the whole frames of the log file, each with where it ends."""
    data = disk.read(_LOG, 0, disk.size(_LOG) or 0)
    start = 0
    while start + _HEAD.size <= len(data):
        length, checksum = _HEAD.unpack_from(data, start)
        end = start + _HEAD.size + length
        body = data[start + _HEAD.size : end]
        if end > len(data) or zlib.crc32(body) != checksum or not body:
            return
        yield json.loads(body), end
        start = end


class FileStableStore:
    """A few values on a file, which each call replaces as a whole."""

    def __init__(self, disk: Disk) -> None:
        """Read the values that a disk has."""
        self._disk = disk
        self._values: dict[str, int | str] = _read(disk, _STABLE) or {}

    def get(self, key: str) -> int | str | None:
        """Return the value of a key, None where it was never set."""
        return self._values.get(key)

    def set(self, key: str, value: int | str) -> None:
        """Write one key; raises StoreError."""
        self.set_together({key: value})

    def set_together(self, values: Mapping[str, int | str]) -> None:
        """Write several keys, all or none; raises StoreError."""
        changed = {**self._values, **values}
        _replace(self._disk, _STABLE, changed)
        self._values = changed


class FileSnapshotStore:
    """Snapshots on a file, which each call replaces as a whole."""

    def __init__(self, disk: Disk, retain: int) -> None:
        """Read the snapshots that a disk has; `retain` is how many are kept."""
        self._disk, self._retain = disk, retain
        self._snapshots = tuple(snapshot_of(each) for each in _read(disk, _SNAPSHOTS) or ())

    def all_snapshots(self) -> Sequence[Snapshot]:
        """Return what is retained, the newest first."""
        return self._snapshots

    def save(self, snapshot: Snapshot) -> None:
        """Save a snapshot, and remove the oldest beyond what is retained; raises StoreError."""
        changed = retained(self._snapshots, snapshot, self._retain)
        _replace(self._disk, _SNAPSHOTS, [each.record() for each in changed])
        self._snapshots = changed


def _read(disk: Disk, name: FileName) -> Any:
    size = disk.size(name)
    return None if size is None else json.loads(disk.read(name, 0, size))


def _replace(disk: Disk, name: FileName, content: Any) -> None:
    """Put a new file in the place of an old one; the old one is there until the new one is whole and forced."""
    new, data = FileName(f"{name}.new"), json.dumps(content).encode()
    try:
        disk.truncate(new, 0)
        disk.write(new, 0, data)
        disk.force(new)
        disk.rename(new, name)
        disk.force(name)
    except OSError as error:
        raise StoreError(str(error)) from error
