"""Stores on a disk: a journal of changes, a line for each step, and a file for each snapshot.

A line is the CRC of its JSON, and the JSON; it is forced before the step goes on, and so a step is durable whole or not
at all. What is behind the last line whose CRC is right was being written when the process died, and is dropped. A file
that comes to be is written aside, forced, and renamed.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

from raftref.disks.disk import Disk, DiskError, FileName
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.values import NO_TERM, Entry, Index, Snapshot
from raftref.records import from_record, record

JOURNAL = "journal.jsonl"
_SNAPSHOT, _ASIDE = "snapshot-", ".new"
#: A journal that is shorter is not written anew.
MIN_REWRITE_BYTES = 1 << 20
#: How many times as long a journal gets before it is written anew.
GROWTH = 4


class JournalStores:
    """The stores of one server on a disk, which nobody else changes.

    The disk must force names together with contents, as `DirectoryDisk(..., forces_names=True)` does.
    """

    def __init__(self, disk: Disk, *, min_rewrite_bytes: int = MIN_REWRITE_BYTES) -> None:
        """Take what is on a disk; a journal is not written anew before it has `min_rewrite_bytes`."""
        self._disk = disk
        self._min_rewrite_bytes = min_rewrite_bytes
        self._size = self._rewritten_size = 0
        #: The snapshots that are kept, each with its file.
        self._files: list[tuple[Snapshot, FileName]] = []
        self._number = 0

    # ---- Reading -------------------------------------------------------------------------------------

    def load(self) -> Stores | None:
        """Return what is durable, None where nothing ever was; drop what was being written when the process died.

        Raises:
            DiskError: A line or a snapshot is damaged, which no end of a process explains.
        """
        data = self._read(JOURNAL)
        state: dict[str, Any] = {}
        logs: dict[Index, Entry] = {}
        self._size = 0
        for line in _whole_lines(data):
            try:
                change = _from_line(line)
                _apply(logs, change)
                state |= change
            except _NO_LINE as error:
                raise DiskError(f"{JOURNAL}: the line at byte {self._size} is damaged") from error
            self._size += len(line) + 1
        if self._size < len(data):
            self._disk.truncate(JOURNAL, self._size)
            self._disk.force(JOURNAL)
        self._rewritten_size = self._size
        names: list[FileName] = state.get("snapshots", [])
        self._files = [(self._snapshot(name), name) for name in names]
        self._clean_up(set(names))
        if not self._size:
            return None
        vote_term, vote_cand = state.get("vote", (NO_TERM, None))
        return Stores(state.get("term", NO_TERM), vote_term, vote_cand, logs, tuple(each for each, _ in self._files))

    def _read(self, name: FileName) -> bytes:
        return self._disk.read(name, 0, self._disk.size(name) or 0)

    def _snapshot(self, name: FileName) -> Snapshot:
        try:
            snapshot: Snapshot = from_record(Snapshot, _from_line(self._read(name).removesuffix(b"\n")))
        except _NO_LINE as error:
            raise DiskError(f"{name} is missing or damaged") from error
        return snapshot

    def _clean_up(self, kept: set[FileName]) -> None:
        """Delete the files of snapshots that are not kept, and what was written aside."""
        for name in self._disk.names(""):
            if name.startswith(_SNAPSHOT):
                number = name.removeprefix(_SNAPSHOT).removesuffix(_ASIDE)
                self._number = max(self._number, int(number) if number.isdecimal() else 0)
            if name.endswith(_ASIDE) or (name.startswith(_SNAPSHOT) and name not in kept):
                self._disk.delete(name)

    # ---- Writing -------------------------------------------------------------------------------------

    def persist(self, before: Stores, after: Stores) -> None:
        """Let the changes from one state of the stores to the next be durable, all of them or none.

        Raises:
            OSError: The file system does. The process must end then, as what is durable is not known.
        """
        change = _change(before, after)
        if before.snapshots != after.snapshots:
            self._files = self._save(after.snapshots)
            change["snapshots"] = [name for _, name in self._files]
        line = _to_line(change)
        self._disk.write(JOURNAL, self._size, line)
        self._disk.force(JOURNAL)
        self._size += len(line)
        if "snapshots" in change:
            self._clean_up({name for _, name in self._files})
        if self._size > max(self._min_rewrite_bytes, GROWTH * self._rewritten_size):
            self._rewrite(after)

    def _save(self, snapshots: tuple[Snapshot, ...]) -> list[tuple[Snapshot, FileName]]:
        """Write the snapshots that have no file, and return all with theirs."""
        old, files = [*self._files], []
        for each in snapshots:
            found = next((pair for pair in old if pair[0] == each), None)
            if found is None:
                self._number += 1
                found = each, f"{_SNAPSHOT}{self._number}"
                self._write_whole(found[1], _to_line(record(each)))
            else:
                old.remove(found)
            files.append(found)
        return files

    def _rewrite(self, stores: Stores) -> None:
        """Write the journal anew, as one change from nothing."""
        names = [name for _, name in self._files]
        line = _to_line({**_change(Stores(), stores), "snapshots": names})
        self._write_whole(JOURNAL, line)
        self._size = self._rewritten_size = len(line)

    def _write_whole(self, name: FileName, data: bytes) -> None:
        """Write a file so that there is the old one, or the new one, whenever the process dies."""
        aside = name + _ASIDE
        self._disk.truncate(aside, 0)
        self._disk.write(aside, 0, data)
        self._disk.force(aside)
        self._disk.rename(aside, name)
        self._disk.force(name)


# ---- Lines -----------------------------------------------------------------------------------------------

#: The errors of what is no line, or no change.
_NO_LINE = (ValueError, KeyError, TypeError, AttributeError, RecursionError)


def _to_line(value: Any) -> bytes:
    text = json.dumps(value, separators=(",", ":")).encode()
    return b"%08x %b\n" % (zlib.crc32(text), text)


def _from_line(line: bytes) -> Any:
    """Return the value of a line without its end; raises ValueError where the CRC is not that of the rest."""
    if not _is_right(line):
        raise ValueError("the CRC is wrong")
    return json.loads(line[9:])


def _is_right(line: bytes) -> bool:
    return line[:9] == b"%08x " % zlib.crc32(line[9:])


def _whole_lines(data: bytes) -> Iterator[bytes]:
    """Yield the lines up to the last one whose CRC is right: each is forced before the next is written."""
    lines = data.split(b"\n")[:-1]
    while lines and not _is_right(lines[-1]):
        lines.pop()
    yield from lines


# ---- Changes ---------------------------------------------------------------------------------------------


def _change(before: Stores, after: Stores) -> dict[str, Any]:
    """Return what is different, but for snapshots, as JSON."""
    change: dict[str, Any] = {}
    if before.current_term != after.current_term:
        change["term"] = after.current_term
    if (before.last_vote_term, before.last_vote_cand) != (after.last_vote_term, after.last_vote_cand):
        change["vote"] = [after.last_vote_term, after.last_vote_cand]
    if before.logs is not after.logs:
        gone = sorted(before.logs.keys() - after.logs.keys())
        if gone:
            change["deleted"] = [list(each) for each in _ranges(gone)]
        new = [[index, record(entry)] for index, entry in after.logs.items() if before.logs.get(index) != entry]
        if new:
            change["stored"] = new
    return change


def _ranges(indexes: list[Index]) -> Iterator[tuple[int, int]]:
    """Yield the first and the last of each run of indexes that follow each other."""
    first = last = indexes[0]
    for index in indexes[1:]:
        if index != last + 1:
            yield first, last
            first = index
        last = index
    yield first, last


def _apply(logs: dict[Index, Entry], change: Mapping[str, Any]) -> None:
    """Let a log change."""
    for first, last in change.get("deleted", ()):
        for index in range(first, last + 1):
            del logs[Index(index)]
    for index, entry in change.get("stored", ()):
        logs[index] = from_record(Entry, entry)
