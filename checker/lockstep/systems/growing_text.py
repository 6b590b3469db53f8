"""A text file that another process writes: its lines and its size, as far as it is written.

A recorder may map its file into memory, piece by piece. What it has not written yet is zero, so a text ends before its
first zero byte, or where its file ends. A process that was killed leaves the zeros behind, and among them the part of a
line whose first byte was not written.
"""

from __future__ import annotations

import os
from io import FileIO
from pathlib import Path

from lockstep.base.errors import OUT_OF_RESOURCES
from lockstep.trace.json_lines import MAX_LINE_BYTES, UnreadableError

#: The bytes that are read at once.
BLOCK = 1 << 16


class GrowingText:
    """The text of a file; `offset` is where the next line begins, in bytes."""

    def __init__(self, path: Path) -> None:
        """Open nothing yet: a file that is not there has no lines yet."""
        self.path, self.offset = path, 0
        self._file: FileIO | None = None
        self._size = 0
        self._block, self._at = b"", 0

    @property
    def is_there(self) -> bool:
        """Whether the file has been found."""
        return self._file is not None

    @property
    def size(self) -> int:
        """The bytes that are written; 0 where the file is not there. Raises UnreadableError."""
        while text := written(self._read(self._size)):
            self._size += len(text)
        return self._size

    def line(self) -> bytes | None:
        """Return the next line with its break, None where it has none yet.

        A line that is longer than MAX_LINE_BYTES is returned as far as it was read. Raises UnreadableError.
        """
        if (end := self._block.find(b"\n", self._at)) < 0:
            self._read_on()
            if (end := self._block.find(b"\n")) < 0:
                end = len(self._block) - 1 if len(self._block) > MAX_LINE_BYTES else -1
        if end < 0:
            return None
        line = self._block[self._at : end + 1]
        self._at = end + 1
        self.offset += len(line)
        return line

    def rest(self) -> bytes:
        """Return what is written after the last line that has a break."""
        return self._block[self._at :]

    def goes_on(self) -> bool:
        """Return whether more than a part of one line stands after the first zero byte: then the file is damaged.

        A text that has grown by now is not.
        """
        end = begin = self.offset + len(self.rest())
        has_line = False
        while read := self._read(begin):
            before, line_break, after = read.partition(b"\n")
            if (has_line and before.strip(b"\0")) or after.strip(b"\0"):
                return self._read(end)[:1] == b"\0"
            has_line = has_line or bool(line_break)
            begin += len(read)
        return False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _read_on(self) -> None:
        """Read from the next line on: more at once while it does not end."""
        parts, begin = [], self.offset
        while text := written(read := self._read(begin)):
            parts.append(text)
            begin += len(text)
            if b"\n" in text or len(text) < len(read) or begin - self.offset > MAX_LINE_BYTES:
                break
        self._block, self._at = b"".join(parts), 0

    def _read(self, begin: int) -> bytes:
        """Read a block from a place on; there is nothing where the file is not there, or was closed."""
        try:
            if self._file is None:
                self._file = self.path.open("rb", buffering=0)
            return b"" if self._file.closed else os.pread(self._file.fileno(), BLOCK, begin)
        except FileNotFoundError:
            return b""
        except OSError as error:
            if error.errno in OUT_OF_RESOURCES:
                raise
            raise UnreadableError(str(self.path), error) from error


def written(read: bytes) -> bytes:
    """Return what was read up to the first zero byte."""
    end = read.find(b"\0")
    return read if end < 0 else read[:end]
