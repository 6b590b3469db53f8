"""The interface between a store and a disk: files by name, and forced bytes."""

from __future__ import annotations

from typing import Protocol, TypeAlias

#: A path below the store's own folder, its parts divided by "/".
FileName: TypeAlias = str


class DiskError(Exception):
    """A file cannot hold the bytes to write, or does not hold those to read."""


class Disk(Protocol):
    """Files by name. Each call that changes something is one step: a crash falls before it or after it.

    A write is visible at once to every reader. It outlasts the process, and only what was forced
    outlasts a loss of power.
    """

    def names(self, folder: FileName) -> list[FileName]:
        """Return the names of the files in a folder, without those in folders below it, in their order."""

    def size(self, name: FileName) -> int | None:
        """Return the size of a file in bytes, None where there is no such file."""

    def modified(self, name: FileName) -> float:
        """Return when a file was last written to, in seconds since 1970; raises FileNotFoundError without one."""

    def read(self, name: FileName, offset: int, size: int) -> bytes:
        """Return the bytes from an offset on: fewer than `size` at the end of the file, none without a file."""

    def write(self, name: FileName, offset: int, data: bytes) -> None:
        """Write bytes at an offset. A file that is missing is made; what is jumped over reads as zeros."""

    def truncate(self, name: FileName, size: int) -> None:
        """Cut a file, or lengthen it with zeros, to `size` bytes. A file that is missing is made."""

    def force(self, name: FileName) -> None:
        """Bring to the disk all that was written into a file; raises FileNotFoundError without one."""

    def delete(self, name: FileName) -> None:
        """Remove a file, if there is one."""

    def rename(self, name: FileName, new_name: FileName) -> None:
        """Give a file another name, in the place of whatever bears it; raises FileNotFoundError without one."""
