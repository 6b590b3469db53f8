"""A list of mapped files of one size, which together are one sequence of bytes."""

from __future__ import annotations

import re
import struct

from raftref.disks.disk import Disk, DiskError, FileName
from raftref.dledger.storage.mapped_file import MappedFile

#: What stands at the end of a data file whose last bytes hold no entry: this magic, and the number of the bytes.
BLANK_MAGIC_CODE = -1
_BLANK = struct.Struct(">ii")
#: The size of that in bytes, which every entry leaves behind it. Source: MmapFileList.MIN_BLANK_LEN.
MIN_BLANK_LEN = _BLANK.size

#: The most files that one cleaning deletes. Source: MmapFileList.DELETE_FILES_BATCH_MAX.
MAX_DELETED_FILES = 10

#: How many bytes a reader takes from the disk at once.
_BLOCK_BYTES = 64 * 1024


class MappedFileList:
    """Files that follow one another without a gap; the first need not begin at 0. Offsets count through all of them.

    Source: MmapFileList.
    """

    def __init__(self, disk: Disk, folder: FileName, file_size: int) -> None:
        """Begin without a file, whatever the folder has: `load` finds it.

        Args:
            disk: The disk they lie on.
            folder: Their folder.
            file_size: The size of each in bytes.
        """
        self._disk = disk
        self._folder = folder
        self.file_size = file_size
        self.files: list[MappedFile] = []
        self.flushed_where = 0

    def load(self) -> None:
        """Find the files of the folder; all of each counts as written and forced, as before a scan.

        Files whose names are no offsets are passed over, where DLedger ends itself.

        Raises:
            DiskError: One is longer than it should be. One that is shorter is taken as if zeros followed, where DLedger
                ends itself.

        Source: MmapFileList.load, doLoad.
        """
        self.files, self.flushed_where = [], 0
        for name in self._disk.names(self._folder):
            digits = name.rpartition("/")[2]
            if not re.fullmatch(r"[0-9]{20}", digits):
                continue
            file = self._file_at(int(digits))
            size = self._disk.size(name) or 0
            if size > self.file_size:
                raise DiskError(f"{name} has {size} bytes and not {self.file_size}, the configured length")
            file.set_positions(self.file_size)
            self.files.append(file)

    def preallocate(self) -> None:
        """Lengthen the files that are shorter than they should be: DLedger does not start on these."""
        for file in self.files:
            if self._disk.size(file.name) != self.file_size:
                file.preallocate()

    def check_self(self) -> None:
        """Raise DiskError where the files do not follow one another. Source: MmapFileList.checkSelf."""
        for before, file in zip(self.files, self.files[1:], strict=False):
            if file.from_offset != before.tail_offset:
                raise DiskError(f"{file.name} does not follow {before.name}: files have {self.file_size} bytes")

    def _file_at(self, offset: int) -> MappedFile:
        return MappedFile(self._disk, self._folder, offset, self.file_size)

    @property
    def min_offset(self) -> int:
        """The first offset, 0 without a file. Source: MmapFileList.getMinOffset."""
        return self.files[0].from_offset + self.files[0].start_position if self.files else 0

    @property
    def max_write_position(self) -> int:
        """The offset at which writing goes on, 0 without a file. Source: MmapFileList.getMaxWrotePosition."""
        return self.files[-1].from_offset + self.files[-1].write_position if self.files else 0

    def find(self, offset: int) -> MappedFile | None:
        """Return the file that has the byte at an offset. Source: MmapFileList.findMappedFileByOffset."""
        if not self.files or not self.files[0].from_offset <= offset < self.files[-1].tail_offset:
            return None
        return self.files[(offset - self.files[0].from_offset) // self.file_size]

    def _found(self, offset: int) -> MappedFile:
        file = self.find(offset)
        if file is None:
            raise DiskError(f"{self._folder} has no file with the byte {offset}")
        return file

    def select(self, offset: int, size: int) -> bytes:
        """Return `size` bytes that were written; raises DiskError where they were not. Source: MmapFileList.getData."""
        file = self._found(offset)
        return file.select(offset - file.from_offset, size)

    def mapped(self, offset: int, size: int) -> bytes:
        """Return `size` bytes of one file, written or not; raises DiskError where it has not got them."""
        file = self._found(offset)
        return file.mapped(offset - file.from_offset, size)

    def reader(self) -> ReadAhead:
        """Return what reads many pieces, one behind the other. It is to be forgotten at the next write."""
        return ReadAhead(self)

    # ---- Writing -------------------------------------------------------------------------------------

    def create(self, offset: int) -> MappedFile:
        """Make the file that has the byte at an offset, behind the others. Source: MmapFileList.doCreateMappedFile."""
        file = self._file_at(offset - offset % self.file_size)
        file.preallocate()
        self.files.append(file)
        return file

    def pre_append(self, size: int, *, blank: bool) -> int:
        """Return the offset at which `size` bytes will lie, having made a file for them if need be.

        Args:
            size: How many bytes are to be written.
            blank: Whether they may be too long for the last file: its rest becomes blank then, and they go to the next.

        Raises:
            DiskError: The last file has no space for them, and none for a blank.

        Source: MmapFileList.preAppend.
        """
        if not self.files:
            self.create(0)
        elif self.files[-1].is_full:
            self.create(self.files[-1].tail_offset)
        last = self.files[-1]
        left = self.file_size - last.write_position
        if size + (MIN_BLANK_LEN if blank else 0) > left:
            if not blank or left < MIN_BLANK_LEN:
                raise DiskError(f"{last.name} is full: it has {left} bytes left for {size}")
            last.append(_BLANK.pack(BLANK_MAGIC_CODE, left).ljust(left, b"\0"))
            self.create(last.tail_offset)
        return self.max_write_position

    def append(self, data: bytes, *, blank: bool) -> int:
        """Write bytes behind the others, and return the offset at which they lie.

        Args:
            data: The bytes.
            blank: Whether they may go to the next file: see `pre_append`.

        Raises:
            DiskError: They do not fit into a file.

        Source: MmapFileList.append.
        """
        offset = self.pre_append(len(data), blank=blank)
        self.files[-1].append(data)
        return offset

    def truncate_offset(self, offset: int) -> None:
        """Let writing go on at an offset, if a file has it, and delete all files behind it.

        What lies behind the offset in its own file stays, and all before it counts as forced.

        Source: MmapFileList.truncateOffset.
        """
        for file in [each for each in self.files if each.tail_offset > offset]:
            if offset >= file.from_offset:
                file.set_positions(offset - file.from_offset)
            else:
                file.destroy()
                self.files.remove(file)

    def move_to(self, offset: int) -> None:
        """Let writing go on at an offset; where no file has it, all files are deleted, and the list begins there.

        Raises:
            DiskError: It is negative, or too large for a file's name.

        Source: the callers of MmapFileList.truncateOffset and rebuildWithPos.
        """
        if not 0 <= offset < 2**63:
            raise DiskError(f"{self._folder} cannot go on at {offset}")
        self.truncate_offset(offset)
        if self.max_write_position != offset:
            self.truncate_offset(-1)
            self.create(offset)
            self.truncate_offset(offset)
            self.reset_offset(offset)
        self._revise_flushed_where(offset)

    def reset_offset(self, offset: int) -> None:
        """Let the list begin at an offset, and delete the files before it. Source: MmapFileList.resetOffset."""
        for file in [each for each in self.files if each.from_offset <= offset]:
            if offset < file.tail_offset:
                file.start_position = offset - file.from_offset
            else:
                file.destroy()
                self.files.remove(file)

    def drop_tail(self) -> None:
        """Let zeros stand behind the write position. DLedger never does."""
        if self.files:
            self.files[-1].drop_tail()

    # ---- Forcing -------------------------------------------------------------------------------------

    @property
    def is_flushed(self) -> bool:
        """Whether `flush` would force nothing, however often."""
        file = self._next_to_flush()
        return file is None or all(each.is_flushed for each in self.files[self.files.index(file) :])

    def _next_to_flush(self) -> MappedFile | None:
        file = self.find(self.flushed_where)
        return self.files[0] if file is None and self.flushed_where == 0 and self.files else file

    def flush(self) -> None:
        """Force one file, that with the first offset that was not forced. Source: MmapFileList.flush."""
        file = self._next_to_flush()
        if file is not None:
            file.flush()
            self.flushed_where = file.from_offset + file.flushed_position

    def force(self, first: int) -> None:
        """Force all files from the one with this number on, whatever counts as forced. DLedger never does."""
        for file in self.files[first:]:
            file.force()

    def update_where(self, offset: int) -> None:
        """Take all before an offset as forced. Source: MmapFileList.updateWherePosition."""
        if offset <= self.max_write_position:
            self.flushed_where = offset

    def _revise_flushed_where(self, offset: int) -> None:
        """Take no more as forced than lies before an offset.

        Source: DLedgerMmapFileStore.calculateWherePosition.
        """
        if self.flushed_where != 0:
            first = self.files[0].from_offset if self.files else 0
            self.update_where(max(first, min(self.flushed_where, offset)))

    # ---- Expiry --------------------------------------------------------------------------------------

    def delete_expired_by_time(self, modified_before: float, *, immediately: bool) -> int:
        """Delete the first files that were written to before a time, but for the last file; no more than a batch.

        Args:
            modified_before: The time in seconds since 1970.
            immediately: Whether they are deleted however old they are.

        Returns:
            How many were deleted.

        Source: MmapFileList.deleteExpiredFileByTime.
        """
        count = 0
        for file in self.files[:-1][:MAX_DELETED_FILES]:
            if not immediately and file.modified() > modified_before:
                break
            file.destroy()
            count += 1
        del self.files[:count]
        return count


class ReadAhead:
    """Reads pieces of a list, and takes a block from the disk for many of them."""

    def __init__(self, files: MappedFileList) -> None:
        self._files = files
        self._start = 0
        self._block = b""

    def select(self, offset: int, size: int) -> bytes:
        """Return what `MappedFileList.select` does."""
        file = self._files._found(offset)
        file.check_selection(offset - file.from_offset, size)
        return self.mapped(offset, size)

    def mapped(self, offset: int, size: int) -> bytes:
        """Return what `MappedFileList.mapped` does."""
        at = offset - self._start
        if not 0 <= at <= at + size <= len(self._block):
            file = self._files._found(offset)
            left = file.tail_offset - offset
            self._start, self._block = (
                offset,
                file.mapped(offset - file.from_offset, max(size, min(left, _BLOCK_BYTES))),
            )
            at = 0
        return self._block[at : at + size]
