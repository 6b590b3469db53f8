"""The two files of a log: the data file with the entries, and the index file with the place of each."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from raftref.disks.disk import Disk, DiskError
from raftref.dledger.messages import Entry, Index
from raftref.dledger.storage.entry_coder import (
    BODY_OFFSET,
    INDEX_UNIT_SIZE,
    EntryHeader,
    IndexUnit,
    header_of,
    to_body,
    to_value,
)
from raftref.dledger.storage.mapped_file import MappedFile

#: The first files of their folders, named by the offset they begin at. Source: DLedgerUtils.offset2FileName.
DATA_FILE = f"data/{0:020}"
INDEX_FILE = f"index/{0:020}"

#: The capacity of each file, in bytes. Source: DLedgerConfig.
DATA_FILE_CAPACITY = 1024 * 1024 * 1024
INDEX_FILE_CAPACITY = INDEX_UNIT_SIZE * 5 * 1024 * 1024


class EntryFiles:
    """Data file and index file, written together and forced together.

    DLedger neither writes nor checks the CRC of a body. With `checks_body_crc` both are done, and the scan stops at a
    body that was torn.

    Source: DLedgerMmapFileStore, its dataFileList and indexFileList, with one file each.
    """

    def __init__(self, disk: Disk, *, checks_body_crc: bool) -> None:
        """Take the files on a disk, which need not exist yet."""
        self.data = MappedFile(disk, DATA_FILE, DATA_FILE_CAPACITY)
        self.index = MappedFile(disk, INDEX_FILE, INDEX_FILE_CAPACITY)
        self._checks_body_crc = checks_body_crc

    def header(self, entry: Entry, index: Index, pos: int) -> EntryHeader:
        """Make the header of an entry at an index and a position in bytes."""
        return header_of(entry, index, pos, with_crc=self._checks_body_crc)

    def append_data(self, header: EntryHeader, entry: Entry) -> int:
        """Write an entry at the write position and return that position, whatever position its header has.

        Raises:
            DiskError: The file is full.
        """
        return self.data.append(header.encode() + to_body(entry.value))

    def append_index(self, unit: IndexUnit) -> None:
        """Write the place of an entry at the write position; raises DiskError if the file is full."""
        self.index.append(unit.encode())

    def truncate_index(self, index: Index) -> None:
        """Let the unit of `index` be the next to be written; raises DiskError if it would lie outside the file."""
        self.index.truncate_offset(index * INDEX_UNIT_SIZE)

    def header_at(self, index: Index) -> EntryHeader:
        """Return the header of the entry that the index file names for an index.

        Raises:
            DiskError: There is none.

        Source: DLedgerMmapFileStore.get, which looks at the position alone: for an index that TRUNCATE jumped over
        it may return an entry of another one.
        """
        unit = IndexUnit.decode(self.index.select(index * INDEX_UNIT_SIZE, INDEX_UNIT_SIZE))
        if unit.size < BODY_OFFSET:
            raise DiskError(f"the unit of {index} names no entry")
        header = EntryHeader.decode(self.data.select(unit.pos, unit.size)[:BODY_OFFSET])
        if not header.begins_entry_at(unit.pos) or header.size > unit.size or header.index != index:
            raise DiskError(f"no entry {index} lies at {unit.pos}")
        return header

    def end_in_index(self, index: Index) -> list[int]:
        """Return the position at which the entry of an index ends by the index file; none if that names no entry."""
        try:
            unit = IndexUnit.decode(self.index.select(index * INDEX_UNIT_SIZE, INDEX_UNIT_SIZE))
        except DiskError:
            return []
        return [unit.pos + unit.size] if unit.size >= BODY_OFFSET else []

    def entry(self, header: EntryHeader) -> Entry:
        """Return the entry that a header begins."""
        return Entry(header.term, to_value(self.data.mapped(header.pos + BODY_OFFSET, header.body_size)))

    def entries_from(self, pos: int, index: Index) -> Iterator[EntryHeader]:
        """Yield the headers of the entries that follow one another in the data file, written last or long ago.

        Args:
            pos: The position of the first one, in bytes.
            index: The index of the first one.

        Yields:
            Each header, up to what is no entry or not the next.

        Source: DLedgerMmapFileStore.recover, which lets the first index of the file be any.
        """
        while pos + BODY_OFFSET <= self.data.capacity:
            header = EntryHeader.decode(self.data.mapped(pos, BODY_OFFSET))
            if not header.begins_entry_at(pos) or header.index != index or not self._is_whole(header):
                return
            yield header
            pos, index = pos + header.size, Index(index + 1)

    def _is_whole(self, header: EntryHeader) -> bool:
        """The file is long enough for the body, and repaired, the body is the one that was written."""
        if header.pos + header.size > self.data.capacity:
            return False
        if not self._checks_body_crc:
            return True
        body = self.data.mapped(header.pos + BODY_OFFSET, header.body_size)
        return zlib.crc32(body) == header.body_crc & 0xFFFFFFFF

    def scan(self) -> list[EntryHeader]:
        """Return the headers that recovery takes for the log: from the start of the file, while terms do not fall.

        Source: DLedgerMmapFileStore.recover.
        """
        found: list[EntryHeader] = []
        for header in self.entries_from(0, Index(0)):
            if found and header.term < found[-1].term:
                break
            found.append(header)
        return found

    def recover(self) -> list[EntryHeader]:
        """Find the log in the data file, bring the index file in line with it, and go on behind it.

        The index is written anew from the first unit on that is not right. Neither file is forced.

        Returns:
            The headers of the log.

        Source: DLedgerMmapFileStore.load, recover.
        """
        self.data.load()
        self.index.load()
        headers = self.scan()
        right = next((each.index for each in headers if not self._has_unit(each.unit())), Index(len(headers)))
        self.truncate_index(right)
        for header in headers[right:]:
            self.append_index(header.unit())
        self.data.truncate_offset(headers[-1].pos + headers[-1].size if headers else 0)
        self.truncate_index(Index(len(headers)))
        return headers

    def _has_unit(self, unit: IndexUnit) -> bool:
        return self.index.mapped(unit.index * INDEX_UNIT_SIZE, INDEX_UNIT_SIZE) == unit.encode()

    @property
    def is_flushed(self) -> bool:
        """Whether `flush` would do nothing."""
        return self.data.is_flushed and self.index.is_flushed

    def flush(self) -> None:
        """Force both files, where they were written to. Source: DLedgerMmapFileStore.flush."""
        self.data.flush()
        self.index.flush()

    def drop_tail(self) -> None:
        """Cut off what lies behind the end of the log in both files. DLedger never does."""
        self.data.drop_tail()
        self.index.drop_tail()
