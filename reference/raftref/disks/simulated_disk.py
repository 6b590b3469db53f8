"""A disk in memory that can be stopped between any two steps, and can lose power."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NewType

from raftref.disks.disk import FileName

#: A file's content, whatever its names are.
FileId = NewType("FileId", int)


class Stopped(Exception):  # noqa: N818 - what happens to the process, not an error of it.
    """The process died before this step: the disk takes no more steps until it is started again."""


@dataclass(frozen=True, slots=True)
class Write:
    """A change of a file's content: bytes at an offset, or its size cut to `offset` where `data` is None."""

    file: FileId
    offset: int
    data: bytes | None

    def apply(self, content: bytearray) -> None:
        """Make the change."""
        length = self.offset + len(self.data or b"")
        content.extend(bytes(max(0, length - len(content))))
        if self.data is None:
            del content[self.offset :]
        else:
            content[self.offset : length] = self.data


@dataclass(frozen=True, slots=True)
class Naming:
    """A change of the names: `name` comes to mean a file, or none; with it `gone` comes to mean none."""

    name: FileName
    file: FileId | None
    gone: FileName | None = None

    def apply(self, names: dict[FileName, FileId]) -> None:
        """Make the change."""
        if self.gone is not None:
            names.pop(self.gone, None)
        if self.file is None:
            names.pop(self.name, None)
        else:
            names[self.name] = self.file


class SimulatedDisk:
    """A disk in memory, which knows what of it was forced.

    Names change in order, as in the journal of a file system: if one change survives a loss of power, so do
    all before it, and forcing any file brings the changes so far to the disk. Contents are independent: any
    unforced write may survive without those before it. With sectors a write is as many writes as it touches
    sectors, so that it can survive in part.
    """

    def __init__(self, sector_bytes: int | None = None) -> None:
        """Begin with no file; `sector_bytes` is what survives whole or not at all, None for every write."""
        self._sector_bytes = sector_bytes
        self._names: dict[FileName, FileId] = {}
        self._contents: dict[FileId, bytearray] = {}
        self._forced_names: dict[FileName, FileId] = {}
        self._forced_contents: dict[FileId, bytearray] = {}
        self._unforced_names: list[Naming] = []
        self._unforced_writes: list[Write] = []
        self._steps_left: int | None = None
        #: The number of steps that the disk has taken.
        self.step_count = 0
        #: The time of day, in seconds since 1970; whoever holds the disk lets it pass.
        self.now = 0.0
        self._modified: dict[FileId, float] = {}

    # ---- The disk as a process sees it ---------------------------------------------------------------

    def names(self, folder: FileName) -> list[FileName]:
        """Return the names of the files in a folder, in their order."""
        return sorted(name for name in self._names if name.rpartition("/")[0] == folder)

    def size(self, name: FileName) -> int | None:
        """Return the size of a file in bytes, None where there is no such file."""
        return len(self._contents[self._names[name]]) if name in self._names else None

    def modified(self, name: FileName) -> float:
        """Return when a file was last written to; raises FileNotFoundError without one."""
        return self._modified[self._file(name)]

    def read(self, name: FileName, offset: int, size: int) -> bytes:
        """Return the bytes from an offset on, as far as the file has them."""
        return bytes(self._contents[self._names[name]][offset : offset + size]) if name in self._names else b""

    def write(self, name: FileName, offset: int, data: bytes) -> None:
        """Write bytes at an offset; raises Stopped if the process dies before."""
        self._step()
        file = self._open(name)
        for start, piece in self._sectors(offset, data):
            self._change(Write(file, start, piece))

    def truncate(self, name: FileName, size: int) -> None:
        """Cut or lengthen a file; raises Stopped if the process dies before."""
        self._step()
        self._change(Write(self._open(name), size, None))

    def force(self, name: FileName) -> None:
        """Bring a file's content, and all names, to the disk; raises Stopped if the process dies before."""
        self._step()
        file = self._file(name)
        self._survive_names(len(self._unforced_names))
        self._survive_writes([write for write in self._unforced_writes if write.file == file])
        self._unforced_names = []
        self._unforced_writes = [write for write in self._unforced_writes if write.file != file]

    def delete(self, name: FileName) -> None:
        """Remove a file, if there is one; raises Stopped if the process dies before."""
        self._step()
        if name in self._names:
            self._name(Naming(name, None))

    def rename(self, name: FileName, new_name: FileName) -> None:
        """Give a file another name; raises Stopped if the process dies before."""
        self._step()
        self._name(Naming(new_name, self._file(name), gone=name))

    # ---- Faults --------------------------------------------------------------------------------------

    @property
    def unforced_names(self) -> tuple[Naming, ...]:
        """The changes of names that a loss of power can undo, in their order."""
        return tuple(self._unforced_names)

    @property
    def unforced_writes(self) -> tuple[Write, ...]:
        """The writes that a loss of power can undo, in their order."""
        return tuple(self._unforced_writes)

    def files(self) -> dict[FileName, bytes]:
        """Return every file with its content."""
        return {name: bytes(self._contents[file]) for name, file in sorted(self._names.items())}

    def stop_after(self, step_count: int) -> None:
        """Let the process die after `step_count` more steps: each later one raises Stopped and changes nothing."""
        self._steps_left = step_count

    def kill(self) -> None:
        """Let the process die as by kill -9: all that was written stays, forced or not."""
        self._steps_left = None

    def lose_power(self, names: int = 0, writes: Collection[int] = ()) -> None:
        """Lose what was not forced, but for what the caller lets survive.

        Args:
            names: How many of `unforced_names` survive, the first ones.
            writes: Which of `unforced_writes` survive, by their numbers there.

        Raises:
            IndexError: There are fewer.
        """
        if not 0 <= names <= len(self._unforced_names):
            raise IndexError(f"{names} of {len(self._unforced_names)} changes of names cannot survive")
        chosen = set(writes)
        if not chosen <= set(range(len(self._unforced_writes))):
            raise IndexError(f"of {len(self._unforced_writes)} writes {sorted(chosen)} cannot survive")
        self._survive_names(names)
        self._survive_writes([self._unforced_writes[number] for number in sorted(chosen)])
        self._unforced_names, self._unforced_writes = [], []
        self._names = dict(self._forced_names)
        for file in self._contents:
            self._contents[file] = bytearray(self._forced_contents.get(file, b""))
        self.kill()

    # ---- Within --------------------------------------------------------------------------------------

    def _step(self) -> None:
        self.step_count += 1
        if self._steps_left is not None:
            if self._steps_left == 0:
                raise Stopped
            self._steps_left -= 1

    def _file(self, name: FileName) -> FileId:
        if name not in self._names:
            raise FileNotFoundError(name)
        return self._names[name]

    def _open(self, name: FileName) -> FileId:
        """Return the file of a name, made now if there is none."""
        if name not in self._names:
            file = FileId(len(self._contents))
            self._contents[file] = bytearray()
            self._modified[file] = self.now
            self._name(Naming(name, file))
        return self._names[name]

    def _name(self, naming: Naming) -> None:
        naming.apply(self._names)
        self._unforced_names.append(naming)

    def _change(self, write: Write) -> None:
        write.apply(self._contents[write.file])
        self._modified[write.file] = self.now
        self._unforced_writes.append(write)

    def _sectors(self, offset: int, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Divide what is written at the bounds of sectors, each piece with its offset."""
        start, end = offset, offset + len(data)
        while start < end:
            stop = (
                end if self._sector_bytes is None else min(end, (start // self._sector_bytes + 1) * self._sector_bytes)
            )
            yield start, data[start - offset : stop - offset]
            start = stop

    def _survive_names(self, count: int) -> None:
        for naming in self._unforced_names[:count]:
            naming.apply(self._forced_names)

    def _survive_writes(self, writes: list[Write]) -> None:
        for write in writes:
            write.apply(self._forced_contents.setdefault(write.file, bytearray()))
