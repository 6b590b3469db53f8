"""Files that only grow: how far each is read, and what the next batch of the stream reads.

A file is known by its name, and read on from where the batch before it ended. Its last bytes before that place show
whether it is still the file that was read. One that has shrunk, or was replaced, ends the watch: no verdict could be
relied on. To rotate, compress and collect files is the work of a log shipper.
"""

from __future__ import annotations

import os
import stat
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.trace.json_lines import MAX_LINE_BYTES, TraceError

SUFFIX = ".trace.ndjson"

#: Bytes that a batch reads at most, and those of one file; a longer line is read whole.
MAX_BATCH_BYTES, MAX_PIECE_BYTES = 8 << 20, 2 << 20

#: Bytes, before the place up to which a file is read, by which it is recognised.
TAIL_BYTES = 4096


class NotGrowingError(GaveUpError):
    """A file has shrunk or was replaced."""

    def __init__(self, name: str, line: int) -> None:
        """Name the file, and its last line that was read."""
        super().__init__(
            f"{name}: the file has shrunk or was replaced after line {line:,} was read; a watch follows files that "
            "only grow: give each trace a file of its own name, and begin again with another --store"
        )


class FollowedFile(msgspec.Struct):
    """The position up to which a file is read: `bytes` and `lines`; `tail` is the CRC-32 of the last of these bytes.

    Nothing more is read of one that `is_faulty`; `is_gone` is one that was looked for long enough.
    """

    bytes: int = 0
    lines: int = 0
    tail: int = 0
    is_faulty: bool = False
    is_gone: bool = False


class Piece(msgspec.Struct, frozen=True):
    """Complete lines of a file that a batch reads: from byte `begin` to `end`, the first is line `line`."""

    trace: str
    line: int
    begin: int
    end: int
    crc: int


class Notice(msgspec.Struct, frozen=True):
    """A notice to a trace, which a batch has besides lines.

    `kind` is "gone" (the file is), "fault" (it has a line that cannot be read) or "time" (it is now `at`, in
    milliseconds since 1970, and there is nothing more to read). `text` is for people.
    """

    trace: str
    kind: str
    text: str = ""
    at: int = 0


class ReadOffset(msgspec.Struct):
    """The position in all files after a batch, and the pieces that it reads: the same offset, the same batch."""

    number: int = 0
    files: dict[str, FollowedFile] = {}
    pieces: list[Piece] = []
    notices: list[Notice] = []

    @classmethod
    def from_tree(cls, tree: dict[str, Any]) -> ReadOffset:
        """Return the offset that Spark has kept as JSON."""
        return msgspec.convert(tree, cls)

    def tree(self) -> dict[str, Any]:
        """Return the offset as Spark keeps it."""
        tree: dict[str, Any] = msgspec.to_builtins(self)
        return tree


def trace_files(folder: Path) -> Iterator[tuple[str, int, int]]:
    """Yield each trace in a folder and the folders in it: its path there, its size, and when it was changed.

    Links and hidden names are passed over, and so are names that are not UTF-8. Raises OSError where a folder cannot
    be listed.
    """

    def refuse(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for within, folders, names in os.walk(folder, onerror=refuse):
        folders[:] = [each for each in folders if not each.startswith(".")]
        for name in names:
            file = Path(within, name)
            path = str(file.relative_to(folder))
            if name.endswith(SUFFIX) and not name.startswith(".") and _is_utf8(path):
                try:
                    about = file.lstat()
                except FileNotFoundError:
                    continue
                if stat.S_ISREG(about.st_mode):
                    yield path, about.st_size, about.st_mtime_ns


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def refuse_unlisted(folder: Path) -> None:
    """Raise BadInputError where a folder, or one in it, may not be listed: its traces would be passed over."""
    try:
        for _ in trace_files(folder):
            pass
    except PermissionError as error:
        raise BadInputError(f"{error.filename}: cannot be listed: {error.strerror}") from error


def read_piece(folder: Path, piece: Piece, shown: str) -> bytes:
    """Return the lines of a piece; raises OSError, and NotGrowingError where the file has others there."""
    data = bytes_between(folder / piece.trace, piece.begin, piece.end)
    if zlib.crc32(data) != piece.crc:
        raise NotGrowingError(str(Path(shown) / piece.trace), piece.line - 1)
    return data


def bytes_between(path: Path, begin: int, end: int) -> bytes:
    """Return the bytes of a file from `begin` up to `end`, or to where it ends; raises OSError."""
    with path.open("rb") as file:
        file.seek(begin)
        return file.read(end - begin)


@dataclass(slots=True)
class BatchPlanner:
    """Plans one batch after the other from what has been written.

    `patience` is how many seconds it waits for a file that is gone or cannot be read; `shown` is how messages name the
    folder; `on_header` is given the first line of each trace. After each plan `torn` has the traces whose last line is
    not complete, or that have no line, with the place where that begins; `is_behind` is whether there was more to read
    than a batch takes, and `is_waiting` whether something is waited for.
    """

    folder: Path
    patience: float
    shown: str
    on_header: Callable[[bytes, str], None] = lambda _line, _source: None
    clock: Callable[[], float] = time.time
    torn: dict[str, int] = field(default_factory=dict)
    is_behind: bool = False
    is_waiting: bool = False
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    _examined: dict[str, tuple[int, int]] = field(default_factory=dict)

    def next(self, start: ReadOffset, due: Sequence[str] = ()) -> ReadOffset:
        """Return the offset after the next batch, or `start` itself where there is nothing to do.

        Arguments: `due`, traces that have waited long enough for events that are missing.
        Raises NotGrowingError where a file has shrunk or was replaced; OSError where a folder cannot be listed.
        """
        after = ReadOffset(
            start.number + 1, {path: msgspec.structs.replace(each) for path, each in start.files.items()}
        )
        self.is_behind = self.is_waiting = False
        found = {path: (size, changed) for path, size, changed in trace_files(self.folder)}
        self._note_gone(after, found.keys())
        left = MAX_BATCH_BYTES
        for path in sorted(found):
            if self._examined.get(path) != found[path]:
                self.is_behind |= left <= 0
                left -= self._read(after, path, found[path], min(left, MAX_PIECE_BYTES)) if left > 0 else 0
        if not self.is_behind:  # else what they wait for may be there, and is not read yet
            after.notices += [Notice(trace, "time", at=int(self.clock() * 1000)) for trace in due]
        return after if after.pieces or after.notices else start

    def _note_gone(self, after: ReadOffset, found: Collection[str]) -> None:
        for path in self.torn.keys() - found:
            del self.torn[path]
        for path, file in after.files.items():
            if path in found:
                file.is_gone = False
                self._since.pop(("gone", path), None)
            elif not file.is_gone and self._has_waited("gone", path):
                file.is_gone = True
                after.notices.append(Notice(path, "gone", f"{self._named(path)}: the file is gone"))

    def _read(self, after: ReadOffset, path: str, version: tuple[int, int], most: int) -> int:
        """Plan to read the new bytes of a file, `most` at most; return how many."""
        file = after.files.get(path, FollowedFile())
        if file.is_faulty:
            return 0
        try:
            tail, data = self._new_bytes(path, file, most)
        except OSError as error:
            if self._has_waited("unreadable", path):
                self._note_fault(after, path, f"cannot be read: {error.strerror or error}")
            return 0
        self._since.pop(("unreadable", path), None)
        size = data.rfind(b"\n") + 1
        lines, rest = data[:size], data[size:]
        if size:
            if not file.lines:
                self.on_header(lines[: lines.index(b"\n") + 1], self._named(path))
            end = file.bytes + size
            after.pieces.append(Piece(path, file.lines + 1, file.bytes, end, zlib.crc32(lines)))
            tail = (tail + lines)[-TAIL_BYTES:]
            after.files[path] = file = FollowedFile(end, file.lines + lines.count(b"\n"), zlib.crc32(tail))
        if len(rest) > MAX_LINE_BYTES:
            self._note_fault(after, path, f"a line of more than {MAX_LINE_BYTES:,} bytes")
        elif size and len(data) >= most:
            self.is_behind = True
        else:
            self._examined[path] = version
            self.torn.pop(path, None)
            if rest or not file.lines:
                self.torn[path] = file.bytes
        return size

    def _new_bytes(self, path: str, file: FollowedFile, most: int) -> tuple[bytes, bytes]:
        """Return the last bytes that were read, and those that are new: `most`, or more for a line that is longer."""
        with (self.folder / path).open("rb") as stream:
            begin = max(0, file.bytes - TAIL_BYTES)
            stream.seek(begin)
            tail = stream.read(file.bytes - begin)
            if zlib.crc32(tail) != file.tail:
                raise NotGrowingError(self._named(path), file.lines)
            data = stream.read(most)
            if len(data) == most and b"\n" not in data:
                data += stream.read(MAX_LINE_BYTES + 1 - most)
                data = data[: data.find(b"\n") + 1] or data
        return tail, data

    def _note_fault(self, after: ReadOffset, path: str, problem: str) -> None:
        file = after.files.setdefault(path, FollowedFile())
        file.is_faulty = True
        self.torn.pop(path, None)
        after.notices.append(Notice(path, "fault", str(TraceError(self._named(path), file.lines + 1, problem))))

    def _has_waited(self, what: str, path: str) -> bool:
        now = self.clock()
        is_over = now - self._since.setdefault((what, path), now) >= self.patience
        self.is_waiting |= not is_over
        return is_over

    def _named(self, path: str) -> str:
        return str(Path(self.shown) / path)
