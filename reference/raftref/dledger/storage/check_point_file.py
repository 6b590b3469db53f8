"""The checkpoint file: where the log ended and how far it was committed."""

from __future__ import annotations

from raftref.disks.disk import Disk
from raftref.dledger.messages import NONE, Index
from raftref.dledger.storage.string_file import (
    file_to_string,
    properties_to_string,
    remove_for_string,
    string_to_file,
    string_to_properties,
    to_long,
)

#: The names in the code. Source: DLedgerMmapFileStore.CHECK_POINT_FILE, END_INDEX_KEY, COMMITTED_INDEX_KEY.
CHECK_POINT_FILE = "checkpoint"
END_INDEX_KEY, COMMITTED_INDEX_KEY = "endIndex", "committedIndex"


class CheckPointFile:
    """Where the committed index outlasts the process, unless it dies while the file is replaced."""

    def __init__(self, disk: Disk) -> None:
        """Take the disk that the file is on, or will be."""
        self._disk = disk

    def persist(self, end_index: Index, committed_index: Index) -> None:
        """Replace the file, step by step and without forcing it.

        Args:
            end_index: The end of the log, which nothing ever reads.
            committed_index: How far it is committed.

        Source: DLedgerMmapFileStore.persistCheckPoint.
        """
        string_to_file(self._disk, CHECK_POINT_FILE, _text(end_index, committed_index))

    def persist_in_part(self, end_index: Index, committed_index: Index) -> None:
        """Go so far in replacing the file that there is none (D8). The arguments are those of `persist`."""
        remove_for_string(self._disk, CHECK_POINT_FILE, _text(end_index, committed_index))

    def load(self) -> Index:
        """Return the committed index, -1 without a file or where it holds no number.

        Source: DLedgerMmapFileStore.loadCheckPoint and the end of recover, which fails where it is no number.
        """
        properties = string_to_properties(file_to_string(self._disk, CHECK_POINT_FILE) or "")
        committed_index = to_long(properties.get(COMMITTED_INDEX_KEY, "").strip())
        return NONE if committed_index is None else Index(committed_index)


def _text(end_index: Index, committed_index: Index) -> str:
    return properties_to_string({COMMITTED_INDEX_KEY: committed_index, END_INDEX_KEY: end_index})
