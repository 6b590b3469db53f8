"""How far the files of a folder are read: the offset of the stream, and what one batch of it reads.

A file is known by its device and inode and by its first bytes; how far it is read is told in bytes, with the checksum
of all of them, by which a copy of it, compressed or not, is known again. A *series* is a file and what rotation made of
it: `a.trace.ndjson.2.gz`, `a.trace.ndjson.1`, `a.trace.ndjson`. It has one trace after the other, each of which begins
with the header at the begin of a file.
"""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

__all__ = ["HEAD_BYTES", "File", "Offset", "Piece", "Said", "Series", "trace_name"]

FORMAT = "lockstep-watch-offset/1"

#: So many of a file's first bytes tell it from another file that has its inode.
HEAD_BYTES = 4096


class File(msgspec.Struct):
    """A file, known by device and inode: `bytes` of it are read, whose CRC-32 is `crc`.

    `head` is the CRC-32 of its first `head_bytes`. `trace` names the trace that it has a part of, "" before its first
    line. Of a compressed file all bytes are those that it holds unpacked. `done`: nothing more of it is read.
    """

    path: str
    series: str
    dev: int
    ino: int
    packed: bool = False
    head: int = 0
    head_bytes: int = 0
    bytes: int = 0
    crc: int = 0
    trace: str = ""
    done: bool = False


class Series(msgspec.Struct):
    """The traces of a series: how many have begun, and how many lines the last of them has so far."""

    traces: int = 0
    lines: int = 0


class Piece(msgspec.Struct, frozen=True):
    """Complete lines of a file that a batch reads: from byte `begin` to `end`, the first is line `line` of a trace.

    `crc` is that of all bytes of the file before `begin`, and `crc_after` of those before `end`.
    """

    trace: str
    line: int
    path: str
    series: str
    dev: int
    ino: int
    packed: bool
    begin: int
    end: int
    crc: int
    crc_after: int


class Said(msgspec.Struct, frozen=True):
    """What a batch is to know of a trace besides its lines.

    `kind` is "cut" (another trace begins, and this one has no end), "lost" (a file is gone, or shrank), "fault" (a line
    that cannot be read) or "tick" (it is now `at`, in milliseconds, and there is nothing more to read). `text` says it
    to people.
    """

    trace: str
    kind: str
    text: str = ""
    at: int = 0


class Offset(msgspec.Struct):
    """How far everything is read after a batch, and what that batch read: the same offset, the same batch."""

    format: str = FORMAT
    number: int = 0
    files: dict[str, File] = {}
    series: dict[str, Series] = {}
    next_file: int = 1
    pieces: list[Piece] = []
    said: list[Said] = []

    @classmethod
    def of(cls, tree: dict[str, Any]) -> Offset:
        """Return the offset that Spark has kept as JSON; raises ValueError where it is of another version."""
        if tree.get("format") != FORMAT:
            raise ValueError(f"the checkpoint has an offset {tree.get('format')!r}; this program reads {FORMAT!r}")
        return msgspec.convert(tree, cls)

    def tree(self) -> dict[str, Any]:
        """Return the offset as Spark keeps it."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def following(self) -> Offset:
        """Return a copy that the next batch can be written into."""
        return Offset(
            number=self.number + 1,
            files={name: msgspec.structs.replace(each) for name, each in self.files.items()},
            series={name: msgspec.structs.replace(each) for name, each in self.series.items()},
            next_file=self.next_file,
            pieces=[],
            said=[],
        )

    @property
    def has_work(self) -> bool:
        """Whether the batch reads anything."""
        return bool(self.pieces or self.said)


def trace_name(series: str, number: int) -> str:
    """Name the trace of a series: the first is named like the file, later ones have a number behind it."""
    return series if number <= 1 else f"{series}#{number}"


def crc_of(data: bytes, before: int = 0) -> int:
    """Return the CRC-32 of bytes that come behind others, whose CRC-32 is `before`."""
    return zlib.crc32(data, before)
