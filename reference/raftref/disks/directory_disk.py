"""A disk that is a folder of the real file system. The one module of the reference that does input and output."""

from __future__ import annotations

import os
from pathlib import Path

from raftref.disks.disk import FileName


class DirectoryDisk:
    """The files below one folder.

    Files are opened for each call. Only contents are forced, as by MappedByteBuffer.force, never the folder.
    """

    def __init__(self, root: Path) -> None:
        """Take a folder, which is made with the first file."""
        self._root = root

    def size(self, name: FileName) -> int | None:
        """Return the size of a file in bytes, None where there is no such file."""
        path = self._root / name
        return path.stat().st_size if path.is_file() else None

    def read(self, name: FileName, offset: int, size: int) -> bytes:
        """Return the bytes from an offset on, as far as the file has them."""
        path = self._root / name
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def write(self, name: FileName, offset: int, data: bytes) -> None:
        """Write bytes at an offset; raises OSError where the file system does."""
        with self._opened(name).open("r+b") as file:
            file.seek(offset)
            file.write(data)

    def truncate(self, name: FileName, size: int) -> None:
        """Cut or lengthen a file; raises OSError where the file system does."""
        os.truncate(self._opened(name), size)

    def force(self, name: FileName) -> None:
        """Bring a file's content to the disk; raises FileNotFoundError without one."""
        with (self._root / name).open("r+b") as file:
            os.fsync(file.fileno())

    def delete(self, name: FileName) -> None:
        """Remove a file, if there is one."""
        (self._root / name).unlink(missing_ok=True)

    def rename(self, name: FileName, new_name: FileName) -> None:
        """Give a file another name; raises FileNotFoundError without one."""
        target = self._root / new_name
        target.parent.mkdir(parents=True, exist_ok=True)
        (self._root / name).replace(target)

    def _opened(self, name: FileName) -> Path:
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        return path
