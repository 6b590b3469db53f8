"""A disk that is a folder of the real file system. The one module of the reference that does input and output."""

from __future__ import annotations

import os
import shutil
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from raftref.disks.disk import FileName


class DirectoryDisk:
    """The files below one folder.

    Files are opened for each call. As by MappedByteBuffer.force only contents are forced, and no folder: whether the
    name of a new file outlasts a loss of power is up to the file system.
    """

    def __init__(self, root: Path, *, forces_names: bool = False) -> None:
        """Take a folder, which is made with the first file.

        Args:
            root: The folder.
            forces_names: Whether forcing a file brings its name to the disk, too, and what happened to other names in
                its folder.
        """
        self._root = root
        self._forces_names = forces_names
        #: Folders whose names were forced, and are as they were then. None is known when a process comes up.
        self._settled: set[Path] = set()

    def names(self, folder: FileName) -> list[FileName]:
        """Return the names of the files in a folder, in their order."""
        path = self._root / folder
        if not path.is_dir():
            return []
        return sorted(each.relative_to(self._root).as_posix() for each in path.iterdir() if each.is_file())

    def size(self, name: FileName) -> int | None:
        """Return the size of a file in bytes, None where there is no such file."""
        path = self._root / name
        return path.stat().st_size if path.is_file() else None

    def modified(self, name: FileName) -> float:
        """Return when a file was last written to; raises FileNotFoundError without one."""
        return (self._root / name).stat().st_mtime

    def read(self, name: FileName, offset: int, size: int) -> bytes:
        """Return the bytes from an offset on, as far as the file has them."""
        try:
            with (self._root / name).open("rb") as file:
                file.seek(offset)
                return file.read(size)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return b""

    def write(self, name: FileName, offset: int, data: bytes) -> None:
        """Write bytes at an offset; raises OSError where the file system does."""
        with self._opened(name) as file:
            file.seek(offset)
            file.write(data)

    def truncate(self, name: FileName, size: int) -> None:
        """Cut or lengthen a file; raises OSError where the file system does."""
        with self._opened(name) as file:
            file.truncate(size)

    def force(self, name: FileName) -> None:
        """Bring a file's content to the disk; raises FileNotFoundError without one."""
        path = self._root / name
        with path.open("r+b") as file:
            os.fsync(file.fileno())
        if self._forces_names:
            for folder in self._folders(path):
                if folder not in self._settled:
                    _force_folder(folder)
                    self._settled.add(folder)

    def _folders(self, path: Path) -> list[Path]:
        """Return the folders that have the name of a file, or of a folder that it is in, up to the root's own name."""
        parents = path.parents
        return list(parents[: parents.index(self._root.parent) + 1])

    def _names_change(self, path: Path) -> None:
        self._settled.difference_update(self._folders(path))

    def delete(self, name: FileName) -> None:
        """Remove a file, if there is one."""
        self._names_change(self._root / name)
        (self._root / name).unlink(missing_ok=True)

    def rename(self, name: FileName, new_name: FileName) -> None:
        """Give a file another name; raises FileNotFoundError without one."""
        target = self._root / new_name
        for path in (self._root / name, target):
            self._names_change(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        (self._root / name).replace(target)

    def _opened(self, name: FileName) -> BinaryIO:
        """Open a file to be written to, made now if there is none."""
        path = self._root / name
        try:
            return path.open("r+b")
        except FileNotFoundError:
            self._names_change(path)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
            return path.open("r+b")


def _force_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class DirectorySpace:
    """The disk of a folder."""

    def __init__(self, folder: Path) -> None:
        """Ask for the disk of this folder, which is made if it is missing."""
        self._folder = folder

    def used_ratio(self) -> float:
        """Return how much of the disk is in use, from 0 to 1."""
        self._folder.mkdir(parents=True, exist_ok=True)
        usage = shutil.disk_usage(self._folder)
        return usage.used / usage.total

    def time_of_day(self) -> datetime:
        """Return the local time."""
        return datetime.now()
