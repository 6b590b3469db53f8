"""A mapped file: its bytes, the position where writing goes on, and the position up to which it counts as forced."""

from __future__ import annotations

from raftref.disks.disk import Disk, DiskError, FileName


class MappedFile:
    """A file of a fixed capacity, mapped into memory.

    The next bytes go to `write_position`; those behind it cannot be selected, and stay in the file. Up to
    `flushed_position` the file is taken as forced, which is not always so: see `truncate_offset`.

    Source: DefaultMmapFile; MmapFileList, with this one file.
    """

    def __init__(self, disk: Disk, name: FileName, capacity: int) -> None:
        """Take a file, which need not exist yet.

        Args:
            disk: The disk it lies on.
            name: Its name there.
            capacity: The number of bytes it can hold. On the disk it is as long as was written; behind that the
                mapping reads zeros.
        """
        self._disk = disk
        self._name = name
        self.capacity = capacity
        self.write_position = 0
        self.flushed_position = 0

    @property
    def exists(self) -> bool:
        """Whether anything was ever written."""
        return self._disk.size(self._name) is not None

    def load(self) -> None:
        """Count all of the file as written and forced, as before a scan.

        Source: MmapFileList.doLoad.
        """
        self.truncate_offset(self.capacity if self.exists else 0)

    def append(self, data: bytes) -> int:
        """Write bytes at the write position and return that position.

        Raises:
            DiskError: The file is full.

        Source: MmapFileList.append, DefaultMmapFile.appendMessage.
        """
        position = self.write_position
        if position + len(data) > self.capacity:
            raise DiskError(f"{self._name} is full: {position} and {len(data)} of {self.capacity} bytes")
        self._disk.write(self._name, position, data)
        self.write_position = position + len(data)
        return position

    def select(self, position: int, size: int) -> bytes:
        """Return `size` bytes that lie before the write position.

        Raises:
            DiskError: They do not all lie there.

        Source: DefaultMmapFile.selectMappedBuffer.
        """
        if position < 0 or size < 0 or position + size > self.write_position:
            raise DiskError(f"{self._name} has no {size} bytes at {position}: it is written to {self.write_position}")
        return self.mapped(position, size)

    def mapped(self, position: int, size: int) -> bytes:
        """Return `size` bytes of the mapping, written or not.

        Raises:
            DiskError: They lie outside it.

        Source: DefaultMmapFile.sliceByteBuffer.
        """
        if position < 0 or size < 0 or position + size > self.capacity:
            raise DiskError(f"{self._name} ends at {self.capacity}, before {size} bytes at {position}")
        return self._disk.read(self._name, position, size).ljust(size, b"\0")

    def truncate_offset(self, offset: int) -> None:
        """Move the write position, back or forward. The bytes behind it stay (TruncatedTail).

        Everything before it counts as forced from now on, whether it ever was or not: only after another
        write does `flush` force the file again.

        Raises:
            DiskError: It would lie outside the file.

        Source: MmapFileList.truncateOffset.
        """
        if not 0 <= offset <= self.capacity:
            raise DiskError(f"{self._name} cannot go on at {offset}: it holds {self.capacity} bytes")
        self.write_position = self.flushed_position = offset

    @property
    def is_flushed(self) -> bool:
        """Whether `flush` would do nothing."""
        return self.write_position <= self.flushed_position

    def flush(self) -> None:
        """Force the file, if it was written to since it last counted as forced.

        Source: MmapFileList.flush, DefaultMmapFile.flush and isAbleToFlush.
        """
        if not self.is_flushed:
            self._disk.force(self._name)
            self.flushed_position = self.write_position

    def drop_tail(self) -> None:
        """Cut off what lies behind the write position. DLedger never does."""
        if self.exists:
            self._disk.truncate(self._name, self.write_position)
