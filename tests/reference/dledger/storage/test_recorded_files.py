"""The store on files does what the real one did: calls of DLedgerMmapFileStore, and its files after each.

The recording is of the unmodified classes of `io.openmessaging.storage:dledger:0.2.7`, by one thread and without
the services for flushing and cleaning: random calls, `recover` each time in new objects on the same folder, and
`damage`, which sets one byte of a file before the next recovery. `data` and `index` are the CRC-32 of the file's
bytes up to the last that is not zero, positions are wrotePosition and flushedPosition. Left out are calls that
meet a difference which FileLedgerStore names.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from raftref.dledger.messages import Entry, Index, Term
from raftref.dledger.storage import DiskError, FileLedgerStore, SimulatedDisk, StorageConfig
from raftref.dledger.storage.entry_files import DATA_FILE, INDEX_FILE
from raftref.dledger.storage.mapped_file_list import MappedFileList
from tests.support.places import TESTS

#: No recorded log is as long.
STORAGE = StorageConfig(mapped_file_size_for_entry_data=1 << 16, mapped_file_size_for_entry_index=1 << 16)
RECORDING = TESTS / "recorded" / "dledger-0.2.7-store.ndjson"


class Replay:
    """One folder of the recording, on a simulated disk."""

    def __init__(self) -> None:
        self.disk = SimulatedDisk()
        self.store = FileLedgerStore(self.disk, storage=STORAGE)

    def take(self, call: str, args: list[Any]) -> bool:
        """Make a call; return whether it was done."""
        try:
            getattr(self, call)(*args)
        except DiskError:
            return False
        return True

    def appendAsLeader(self, term: int, value: str) -> None:  # noqa: N802 - the recording's names.
        self.store.append(Entry(Term(term), value))

    def appendAsFollower(self, term: int, index: int, pos: int, value: str) -> None:  # noqa: N802
        assert index == self.store.end_index + 1
        self.store.append(Entry(Term(term), value), pos)

    def truncate(self, term: int, index: int, pos: int, value: str) -> None:
        self.store.truncate(Index(index), Entry(Term(term), value), pos)

    def updateCommittedIndex(self, term: int, index: int, curr_term: int) -> None:  # noqa: N802
        self.store.update_committed_index(Term(term), Index(index), curr_term=Term(curr_term))

    def persistCheckPoint(self) -> None:  # noqa: N802
        self.store.persist_check_point()

    def flush(self) -> None:
        self.store.flush()

    def recover(self) -> None:
        self.store = FileLedgerStore(self.disk, storage=STORAGE)
        self.store.startup(curr_term=Term(0))

    def damage(self, file: str, offset: int, byte: int) -> None:
        self.disk.write(DATA_FILE if file == "data" else INDEX_FILE, offset, bytes([byte]))

    def shown(self) -> dict[str, Any]:
        store, files = self.store, self.store.files
        checkpoint = self.disk.files().get("checkpoint")
        return {
            "begin": store.begin_index,
            "end": store.end_index,
            "committed": store.committed_index,
            "log": [None if entry is None else [entry.term, entry.value] for entry in store.log],
            "data": self.digest(DATA_FILE),
            "index": self.digest(INDEX_FILE),
            "dataPositions": positions(files.data),
            "indexPositions": positions(files.index),
            "checkpoint": None if checkpoint is None else checkpoint.decode(),
        }

    def digest(self, name: str) -> int | None:
        content = self.disk.files().get(name)
        return None if content is None else zlib.crc32(content.rstrip(b"\0"))


def positions(files: MappedFileList) -> list[int]:
    return [files.files[-1].write_position, files.files[-1].flushed_position] if files.files else [0, 0]


def test_every_call_leaves_the_files_as_the_real_store_left_them() -> None:
    replay, calls = Replay(), set()
    for number, line in enumerate(RECORDING.read_text().splitlines(), start=1):
        recorded = json.loads(line)
        call = recorded.pop("call")
        if call == "new":
            replay = Replay()
            continue
        done = replay.take(call, recorded.pop("args"))
        if call == "damage":
            continue
        assert {"done": done, **replay.shown()} == recorded, f"line {number}: {call}"
        calls.add((call, done))
    assert len(calls) == 8
