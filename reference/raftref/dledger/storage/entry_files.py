"""The files of a log: data files with the entries, and index files with the place of each."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from raftref.disks.disk import Disk, DiskError
from raftref.dledger.messages import NO_TERM, Entry, Index
from raftref.dledger.storage.entry_coder import (
    BODY_OFFSET,
    HEADER_TO_INDEX_SIZE,
    INDEX_UNIT_SIZE,
    EntryHeader,
    IndexUnit,
    header_of,
    index_in,
    to_body,
    to_value,
)
from raftref.dledger.storage.mapped_file import MappedFile
from raftref.dledger.storage.mapped_file_list import BLANK_MAGIC_CODE, MappedFileList
from raftref.dledger.storage.storage_config import DEFAULT_STORAGE, StorageConfig

DATA_FOLDER, INDEX_FOLDER = "data", "index"
#: The first files of a log that begins at index 0.
DATA_FILE, INDEX_FILE = f"{DATA_FOLDER}/{0:020}", f"{INDEX_FOLDER}/{0:020}"

#: The number of data files that a recovery scans, the last ones. Source: DLedgerMmapFileStore.recover.
MAX_SCANNED_FILES = 3

#: The most bytes that an index file can begin at: the name of a file has 20 digits.
_MAX_OFFSET = 2**63


class Bytes(Protocol):
    """A list of files, or a reader of it."""

    def select(self, offset: int, size: int) -> bytes:
        """Return bytes that were written, or raise DiskError."""

    def mapped(self, offset: int, size: int) -> bytes:
        """Return bytes of one file, or raise DiskError."""


@dataclass(slots=True)
class Scan:
    """The headers that a scan finds, of entries that follow one another, and the offset at which it ends."""

    headers: list[EntryHeader] = field(default_factory=list)
    end: int = 0


class EntryFiles:
    """Data files and index files, written together and forced together.

    DLedger neither writes nor checks the CRC of a body. With `checks_body_crc` both are done, and the scan stops at a
    body that was torn.

    Source: DLedgerMmapFileStore, its dataFileList and indexFileList.
    """

    def __init__(self, disk: Disk, *, checks_body_crc: bool, storage: StorageConfig = DEFAULT_STORAGE) -> None:
        """Take the files on a disk, which need not exist yet. None is known before `recover`."""
        self._disk = disk
        self._storage = storage
        self.data = MappedFileList(disk, DATA_FOLDER, storage.mapped_file_size_for_entry_data)
        self.index = MappedFileList(disk, INDEX_FOLDER, storage.mapped_file_size_for_entry_index)
        self._checks_body_crc = checks_body_crc

    # ---- Writing -------------------------------------------------------------------------------------

    def header(self, entry: Entry, index: Index, pos: int) -> EntryHeader:
        """Make the header of an entry at an index and a position in bytes."""
        return header_of(entry, index, pos, with_crc=self._checks_body_crc)

    def next_pos(self, size: int) -> int:
        """Return the position of the next entry, having made a file for it if need be; raises DiskError.

        Source: DLedgerMmapFileStore.appendAsLeader, its call of preAppend.
        """
        return self.data.pre_append(size, blank=True)

    def append_data(self, header: EntryHeader, entry: Entry) -> None:
        """Write an entry at the write position, or at the begin of the next file.

        Raises:
            DiskError: It fits into no file; or its header has another position, and by now it is written.
        """
        written = self.data.append(header.encode() + to_body(entry.value), blank=True)
        if written != header.pos:
            raise DiskError(f"entry {header.index} is at {written} and not at {header.pos}")

    def append_index(self, unit: IndexUnit) -> None:
        """Write the place of an entry at the write position.

        Raises:
            DiskError: The unit does not lie where its index has it, and by now it is written.
        """
        written = self.index.append(unit.encode(), blank=False)
        if written != unit.index * INDEX_UNIT_SIZE:
            raise DiskError(f"the unit of {unit.index} is at {written}")

    def move_index_to(self, index: Index) -> None:
        """Let the unit of `index` be the next to be written; where no file has it, all index files are deleted."""
        self.index.move_to(index * INDEX_UNIT_SIZE)

    def begin_without_file(self, pos: int, index: Index) -> None:
        """Make the first files of an empty log that is to begin with holes, if these lie in one file each."""
        if not self.data.files and pos < self.data.file_size:
            self.data.create(0)
        if not self.index.files and index * INDEX_UNIT_SIZE < self.index.file_size:
            self.index.create(0)

    def drop_tail(self) -> None:
        """Let zeros stand behind the end of the log in both lists. DLedger never does."""
        self.data.drop_tail()
        self.index.drop_tail()

    # ---- Reading -------------------------------------------------------------------------------------

    def readers(self) -> tuple[Bytes, Bytes]:
        """Return what reads many entries and many units, one behind the other."""
        return self.data.reader(), self.index.reader()

    def written_unit(self, index: Index) -> IndexUnit:
        """Return the unit that was written for an index, whatever it names; raises DiskError where none was.

        Source: DLedgerMmapFileStore.getEntryPosAndSize.
        """
        return IndexUnit.decode(self.index.select(index * INDEX_UNIT_SIZE, INDEX_UNIT_SIZE))

    def unit_at(self, index: Index, units: Bytes | None = None) -> IndexUnit:
        """Return the unit of an index; raises DiskError where none was written, or it names no entry."""
        unit = IndexUnit.decode((units or self.index).select(index * INDEX_UNIT_SIZE, INDEX_UNIT_SIZE))
        if unit.size < BODY_OFFSET:
            raise DiskError(f"the unit of {index} names no entry")
        return unit

    def header_at(self, index: Index, data: Bytes | None = None, units: Bytes | None = None) -> EntryHeader:
        """Return the header of the entry that the index file names for an index.

        Args:
            index: The index.
            data: What reads the data files, if not they themselves.
            units: What reads the index files.

        Raises:
            DiskError: There is none.

        Source: DLedgerMmapFileStore.get, which looks at the position alone: for an index that TRUNCATE jumped over
        it may return an entry of another one.
        """
        unit = self.unit_at(index, units)
        header = EntryHeader.decode((data or self.data).select(unit.pos, unit.size)[:BODY_OFFSET])
        if not header.begins_entry_at(unit.pos) or header.size > unit.size or header.index != index:
            raise DiskError(f"no entry {index} lies at {unit.pos}")
        return header

    def entry(self, header: EntryHeader, data: Bytes | None = None) -> Entry:
        """Return the entry that a header begins."""
        return Entry(header.term, to_value((data or self.data).mapped(header.pos + BODY_OFFSET, header.body_size)))

    def begin_index(self) -> Index:
        """Return the index that the first data file begins with, whatever that is.

        No entry need begin there: where a TRUNCATE let the list begin near the end of a file, and its entry did not
        fit, a blank does, and its zeros are taken for index 0.

        Raises:
            DiskError: The file ends before an index would.

        Source: DLedgerMmapFileStore.reviseLedgerBeginIndex.
        """
        return index_in(self.data.mapped(self.data.min_offset, HEADER_TO_INDEX_SIZE))

    def tail(self, index: Index) -> Iterator[EntryHeader]:
        """Yield the headers of the entries that follow one another behind the end of the log, written long ago.

        Args:
            index: The index of the first one.

        Yields:
            Each header, up to what is no entry or not the next, or the end of the last file.
        """
        if self.data.files and not self.data.files[-1].is_full:
            last, pos, data = self.data.files[-1], self.data.max_write_position, self.data.reader()
            while (header := self._header_in(last, pos, data)) is not None and header.index == index:
                yield header
                pos, index = pos + header.size, Index(index + 1)

    def _header_in(self, file: MappedFile, pos: int, data: Bytes) -> EntryHeader | None:
        """Return the header at a position of a file, None where no whole entry lies there."""
        if pos + BODY_OFFSET > file.tail_offset:
            return None
        header = EntryHeader.decode(data.mapped(pos, BODY_OFFSET))
        if not header.begins_entry_at(pos) or pos + header.size > file.tail_offset:
            return None
        return header if self._is_whole(header, data) else None

    def _is_whole(self, header: EntryHeader, data: Bytes) -> bool:
        """Return whether, repaired, the body is the one that was written."""
        if not self._checks_body_crc:
            return True
        return zlib.crc32(data.mapped(header.pos + BODY_OFFSET, header.body_size)) == header.body_crc & 0xFFFFFFFF

    # ---- Recovery ------------------------------------------------------------------------------------

    def scan(self) -> Scan:
        """Return what a recovery would find, in the files as they lie on the disk. Nothing is changed."""
        files = EntryFiles(self._disk, checks_body_crc=self._checks_body_crc, storage=self._storage)
        files.data.load()
        files.index.load()
        return files.scan_loaded()

    def scan_loaded(self) -> Scan:
        """Scan the last data files, while indexes follow one another and terms do not fall.

        The scan begins at the third-last file, or at one before it if the first entry there is not what its unit says.

        Source: DLedgerMmapFileStore.recover.
        """
        self.data.check_self()
        self.index.check_self()
        found = Scan()
        if not self.data.files:
            return found
        data, units = self.readers()
        number = max(0, len(self.data.files) - MAX_SCANNED_FILES)
        while number > 0 and not self._begins_well(self.data.files[number], data, units):
            number -= 1
        found.end = self.data.files[number].from_offset
        for file in self.data.files[number:]:
            found.end = file.from_offset
            if not self._scan_file(file, found, data):
                break
        return found

    def _begins_well(self, file: MappedFile, data: Bytes, units: Bytes) -> bool:
        header = self._header_in(file, file.from_offset, data)
        return header is not None and self._has_unit(header.unit(), units)

    def _scan_file(self, file: MappedFile, found: Scan, data: Bytes) -> bool:
        """Add what a file has; return whether a blank ends it, so that the next file may go on."""
        while found.end + 4 <= file.tail_offset:
            if int.from_bytes(data.mapped(found.end, 4), "big", signed=True) == BLANK_MAGIC_CODE:
                found.end = file.tail_offset
                return True
            header = self._header_in(file, found.end, data)
            if header is None or not self._goes_on(found.headers, header):
                return False
            found.headers.append(header)
            found.end += header.size
        return False

    def _goes_on(self, headers: list[EntryHeader], header: EntryHeader) -> bool:
        """Return whether an entry may be the next one. The first may have any index."""
        if not headers:
            return 0 <= header.index < _MAX_OFFSET // INDEX_UNIT_SIZE and header.term >= NO_TERM
        return header.index == headers[-1].index + 1 and header.term >= headers[-1].term

    def recover(self) -> Scan:
        """Find the end of the log in the data files, bring the index files in line with it, and go on behind it.

        The index is written anew from the first unit on that is not right. Files have their whole length from now on,
        and what lies behind the end is deleted where it is whole files. Nothing is forced.

        Returns:
            What the scan has found; entries before that are in the files as well.

        Raises:
            DiskError: Files do not follow one another, have more bytes than they should, or the log ends far before the
                last file: DLedger does not start then either.

        Source: DLedgerMmapFileStore.load, recover.
        """
        self.data.load()
        self.index.load()
        found = self.scan_loaded()
        last = self.data.files[-1].from_offset if self.data.files else 0
        if last - found.end > self.data.file_size:
            raise DiskError(f"the log ends at {found.end}, and there are files up to {last}: check them")
        self.data.preallocate()
        self.index.preallocate()
        if self.data.files:
            self._write_units(found.headers)
            if found.headers:
                self.revise_begin()
            self.data.update_where(found.end)
            self.data.truncate_offset(found.end)
        end = (found.headers[-1].index + 1) * INDEX_UNIT_SIZE if found.headers else 0
        self.index.update_where(end)
        self.index.truncate_offset(end)
        return found

    def _write_units(self, headers: list[EntryHeader]) -> None:
        units = self.index.reader()
        right = next((at for at, each in enumerate(headers) if not self._has_unit(each.unit(), units)), len(headers))
        if right < len(headers):
            self.move_index_to(headers[right].index)
        for header in headers[right:]:
            self.append_index(header.unit())

    def _has_unit(self, unit: IndexUnit, units: Bytes) -> bool:
        try:
            return units.select(unit.index * INDEX_UNIT_SIZE, INDEX_UNIT_SIZE) == unit.encode()
        except DiskError:
            return False

    def revise_begin(self) -> None:
        """Delete the index files before the first entry. Source: DLedgerMmapFileStore.reviseLedgerBeginIndex."""
        self.index.reset_offset(self.begin_index() * INDEX_UNIT_SIZE)

    # ---- Forcing -------------------------------------------------------------------------------------

    @property
    def is_flushed(self) -> bool:
        """Whether `flush` would do nothing, however often."""
        return self.data.is_flushed and self.index.is_flushed

    def flush(self) -> None:
        """Force one file of each list, where it was written to. Source: DLedgerMmapFileStore.flush."""
        self.data.flush()
        self.index.flush()

    def force_found(self) -> None:
        """Force all files: a process that died may have left what it wrote unforced. DLedger never does."""
        self.data.force(0)
        self.index.force(0)

    def force_end(self) -> None:
        """Force the last files, whatever counts as forced: what was cut must not come back. DLedger never does."""
        self.data.force(-1)
        self.index.force(-1)
