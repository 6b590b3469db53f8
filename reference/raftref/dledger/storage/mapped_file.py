"""A mapped file: its bytes, the position where writing goes on, and the position up to which it counts as forced."""

from __future__ import annotations

from raftref.disks.disk import Disk, DiskError, FileName


class MappedFile:
    """A file of a fixed size, mapped into memory; it is one of a list, and has the bytes from `from_offset` on.

    The next bytes go to `write_position`; those behind it cannot be selected, and stay in the file. Up to
    `flushed_position` the file is taken as forced, which is not always so: see `set_positions`. What lies before
    `start_position` is not of the list.

    Source: DefaultMmapFile.
    """

    def __init__(self, disk: Disk, folder: FileName, from_offset: int, file_size: int) -> None:
        """Take a file, which need not exist yet.

        Args:
            disk: The disk it lies on.
            folder: Its folder there; its name is the offset in 20 digits.
            from_offset: The offset in the list at which it begins.
            file_size: Its size in bytes. A file that is shorter on the disk is mapped as if zeros followed.

        Source: DLedgerUtils.offset2FileName.
        """
        self._disk = disk
        self.name = f"{folder}/{from_offset:020}"
        self.from_offset = from_offset
        self.file_size = file_size
        self.start_position = 0
        self.write_position = 0
        self.flushed_position = 0

    @property
    def tail_offset(self) -> int:
        """The offset at which the next file begins."""
        return self.from_offset + self.file_size

    @property
    def is_full(self) -> bool:
        """Whether nothing can be written behind the write position."""
        return self.write_position == self.file_size

    def preallocate(self) -> None:
        """Give the file its size on the disk, in one step. Zeros take no space where the file system knows holes.

        Source: FileChannel.map, which lengthens the file.
        """
        self._disk.truncate(self.name, self.file_size)

    def append(self, data: bytes) -> None:
        """Write bytes at the write position.

        Raises:
            DiskError: They do not fit.

        Source: DefaultMmapFile.appendMessage.
        """
        if self.write_position + len(data) > self.file_size:
            raise DiskError(f"{self.name} is full: {self.write_position} and {len(data)} of {self.file_size} bytes")
        self._disk.write(self.name, self.write_position, data)
        self.write_position += len(data)

    def select(self, position: int, size: int) -> bytes:
        """Return `size` bytes that lie before the write position.

        Raises:
            DiskError: They do not all lie there.

        Source: DefaultMmapFile.selectMappedBuffer.
        """
        self.check_selection(position, size)
        return self.mapped(position, size)

    def check_selection(self, position: int, size: int) -> None:
        """Raise DiskError unless these bytes can be selected."""
        if position < 0 or size < 0 or position + size > self.write_position:
            raise DiskError(f"{self.name} has no {size} bytes at {position}: it is written to {self.write_position}")

    def mapped(self, position: int, size: int) -> bytes:
        """Return `size` bytes of the mapping, written or not.

        Raises:
            DiskError: They lie outside it.

        Source: DefaultMmapFile.sliceByteBuffer.
        """
        if position < 0 or size < 0 or position + size > self.file_size:
            raise DiskError(f"{self.name} ends at {self.file_size}, before {size} bytes at {position}")
        return self._disk.read(self.name, position, size).ljust(size, b"\0")

    def set_positions(self, position: int) -> None:
        """Move the write position, back or forward. The bytes behind it stay (TruncatedTail).

        Everything before it counts as forced from now on, whether it ever was or not: only after another
        write does `flush` force the file again.

        Source: MmapFileList.truncateOffset.
        """
        self.write_position = self.flushed_position = position

    @property
    def is_flushed(self) -> bool:
        """Whether `flush` would do nothing."""
        return self.write_position <= self.flushed_position

    def flush(self) -> None:
        """Force the file, if it was written to since it last counted as forced.

        Source: DefaultMmapFile.flush and isAbleToFlush.
        """
        if not self.is_flushed:
            self._disk.force(self.name)
            self.flushed_position = self.write_position

    def force(self) -> None:
        """Force the file, whatever counts as forced. DLedger never does (AsyncFlush repaired)."""
        self._disk.force(self.name)

    def drop_tail(self) -> None:
        """Let zeros stand behind the write position, in two steps. DLedger never does."""
        if not self.is_full:
            self._disk.truncate(self.name, self.write_position)
            self.preallocate()

    def modified(self) -> float:
        """Return when the file was last written to. Source: DefaultMmapFile.getLastModifiedTimestamp."""
        return self._disk.modified(self.name)

    def destroy(self) -> None:
        """Delete the file. Source: DefaultMmapFile.destroy."""
        self._disk.delete(self.name)
