"""What the next batch reads: which files have grown, were renamed, copied, compressed, truncated or removed.

No line is lost or read twice over a rotation. A file that is renamed keeps its inode. One that is copied and then
truncated (`copytruncate`), or compressed and then removed, is found again by its checksum: the copy is read on from
where the file was left. A copy that is older than what was read is known by its bytes while both are there. What cannot
be found again is told of, and never a pass.
"""

from __future__ import annotations

import itertools
import os
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.logs.reading.rotation import place_of
from lockstep.trace.json_lines import MAX_LINE_BYTES, TraceError

SUFFIX = ".trace.ndjson"

#: How compressed files end, and how pyarrow names what unpacks them.
_PACKED = {".gz": "gzip", ".zst": "zstd"}

#: So much of a file is held at once.
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it is found: its path in the folder, the series it is of, and its place in that, the oldest first."""

    path: str
    series: str
    place: tuple[int, ...]
    dev: int
    ino: int
    size: int
    changed: int
    packed: bool

    @property
    def is_rotated(self) -> bool:
        """Whether its name is one that rotation gives, so that it may be a copy of another file."""
        return self.packed or self.path != self.series


def seen_files(folder: Path, known: Collection[str] = ()) -> list[Seen]:
    """List the files of a folder, and of the folders in it, that are a trace or a part of one.

    Hidden ones are passed over, and so are those whose names are not UTF-8. Of several names of one file, as links are,
    one counts: that which is known already, else the shortest that is no link; links to folders are followed, each
    folder once. A folder that cannot be listed, or a file that goes meanwhile, is as good as not there.

    Arguments: `known`, the paths by which files are known.
    """
    found: dict[tuple[int, int], tuple[tuple[bool, bool, int, str], Seen]] = {}
    for within, entry in _entries(folder, lambda _error: None, known):
        path = f"{within}{entry.name}"
        try:
            if not entry.is_dir() and (seen := _seen(path, within, entry)) is not None:
                named = (path not in known, entry.is_symlink(), len(path), path), seen
                file = seen.dev, seen.ino
                found[file] = min(found.get(file, named), named, key=lambda each: each[0])
        except OSError:
            continue
    return sorted((each for _, each in found.values()), key=lambda each: (each.series, each.place, each.packed))


def refuse_unlisted(folder: Path) -> None:
    """Raise BadInputError where a folder, or one in it, may not be listed: its traces would be passed over."""

    def refuse(error: OSError) -> None:
        if isinstance(error, PermissionError):
            raise BadInputError(f"{error.filename}: cannot be listed: {error.strerror}") from error

    for _ in _entries(folder, refuse, ()):
        pass


def _entries(
    folder: Path, failed: Callable[[OSError], None], known: Collection[str]
) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield what is in a folder and the folders in it, each once, with the path of its folder.

    Those by a link come last, of these first those through which files are known.
    """
    met: set[tuple[int, int]] = set()
    own, linked = [""], list[str]()
    while own or linked:
        if own:
            within = own.pop()
        else:
            within = min(linked, key=lambda path: (not any(each.startswith(path) for each in known), path))
            linked.remove(within)
        try:
            about = (folder / within).stat()
            if (about.st_dev, about.st_ino) in met:
                continue
            met.add((about.st_dev, about.st_ino))
            entries = list(os.scandir(folder / within))
        except OSError as error:
            failed(error)
            continue
        for entry in entries:
            if entry.name.startswith(".") or not _is_text(entry.name):
                continue
            with suppress(OSError):
                if entry.is_dir():
                    (linked if entry.is_symlink() else own).append(f"{within}{entry.name}/")
            yield within, entry


def _is_text(name: str) -> bool:
    """Tell whether a name is UTF-8, as Spark's tables need it."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _seen(path: str, within: str, entry: os.DirEntry[str]) -> Seen | None:
    if SUFFIX not in entry.name or not entry.is_file():
        return None
    bare, packed = entry.name, False
    for ending in _PACKED:
        if bare.endswith(ending):
            bare, packed = bare.removesuffix(ending), True
    base, place = place_of(bare)
    if not base.endswith(SUFFIX):
        return None
    about = entry.stat()
    return Seen(path, f"{within}{base}", place, about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns, packed)


def opened_bytes(path: Path, packed: bool) -> BinaryIO:
    """Open a file, unpacked if it is compressed; raises OSError."""
    if not packed:
        return path.open("rb")
    import pyarrow as pa  # slow to import, and there is seldom one

    return cast(BinaryIO, pa.input_stream(str(path), compression=_PACKED[path.suffix]))


def bytes_between(path: Path, packed: bool, begin: int, end: int) -> bytes:
    """Return the bytes of a file from `begin` up to `end`, or to where it ends; raises OSError."""
    with opened_bytes(path, packed) as file:
        if packed:
            left = begin
            while left and (passed := len(file.read(min(left, _CHUNK_BYTES)))):
                left -= passed
        else:
            file.seek(begin)
        return bytes(file.read(end - begin))


def chunks(path: Path, packed: bool, size: int) -> Iterator[bytes]:
    """Yield the first `size` bytes of a file, in parts; raises OSError."""
    with opened_bytes(path, packed) as file:
        while size and (data := bytes(file.read(min(size, _CHUNK_BYTES)))):
            size -= len(data)
            yield data


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


#: A batch reads so much at most, and of one file so much; a longer line is read whole.
BATCH_BYTES, PIECE_BYTES = 8 << 20, 2 << 20


_GONE, _SHRANK = "is gone", "shrank"

#: How the header of a trace begins where it is written as this program writes it.
_HEADER_BEGINS = b'{"kind":"header"'


@dataclass(frozen=True, slots=True)
class Torn:
    """The end of a file that is no complete line: what a check of the file would meet after its last line."""

    trace: str
    series: str
    path: str
    begin: int
    line: int


@dataclass(slots=True)
class Planner:
    """Plans one batch after the other from what is there; `patience` is how many seconds it waits for what is missing.

    `shown` is how messages name the folder; `met` is told the first line of each trace. After each plan `torn` has the
    ends of files that are no complete lines, and the files without any line; `behind` tells whether there was more to
    read than a batch takes, and `waiting` whether something is looked for once more.
    """

    folder: Path
    patience: float
    shown: str
    met: Callable[[bytes, str], None] = lambda _line, _source: None
    clock: Callable[[], float] = time.time
    torn: list[Torn] = field(default_factory=list)
    behind: bool = False
    waiting: bool = False
    _since: dict[tuple[str, str], float] = field(default_factory=dict)
    _heads: dict[tuple[int, int, int, int, int], int | None] = field(default_factory=dict)
    _older: dict[tuple[str, int, int, int], bool] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)
    _ends: dict[str, tuple[tuple[int, ...], bytes]] = field(default_factory=dict)

    def next(self, start: Offset, due: Sequence[str] = ()) -> Offset:
        """Return the offset after the next batch, or `start` itself where there is nothing to do.

        Arguments: `due`, traces that have waited long enough for events that are missing.
        """
        after = start.following()
        self.torn, self.behind, self.waiting = [], False, False
        seen = seen_files(self.folder, {file.path for file in after.files.values()})
        there = self._match(after, seen)
        self._read(after, there)
        if not self.behind:  # else what they wait for may be there, and is not read yet
            now = int(self.clock() * 1000)
            after.said += [Said(trace, "tick", at=now) for trace in due]
        return after if after.has_work else start

    # ---- Which file is which ----

    def _match(self, after: Offset, seen: Sequence[Seen]) -> dict[str, Seen]:
        """Find the known files again, drop those that are gone, take in the new ones; return what is there by file."""
        unknown = {(file.dev, file.ino): name for name, file in after.files.items() if _is_unknown(file)}
        there, absent = self._found_again(after, {(each.dev, each.ino): each for each in seen})
        taken = {(each.dev, each.ino) for each in there.values()}
        fresh = [each for each in seen if (each.dev, each.ino) not in taken]
        if fresh:
            by_series: dict[str, list[str]] = {}
            for name, file in after.files.items():
                by_series.setdefault(file.series, []).append(name)
            fresh = [each for each in fresh if not self._is_copy(each, after, by_series, there, absent)]
        absent = {name: why for name, why in absent.items() if not self._is_given_up(after, name, why, fresh)}
        # Of a series with a file that may still be found nothing is read: its lines might come before.
        unsure = {
            after.files[name].series
            for name, why in absent.items()
            if not (why == _GONE and self._is_old_and_read(after, name))
        }
        there = {name: each for name, each in there.items() if each.series not in unsure}
        for each in fresh:
            if each.series not in unsure and self._can_be_new(each, after, absent):
                name = unknown.get((each.dev, each.ino), "")  # how long it was waited for goes on
                if not name:
                    name = f"{after.next_file}"
                    after.next_file += 1
                after.files[name] = File(each.path, each.series, each.dev, each.ino, each.packed)
                there[name] = each
        return there

    def _found_again(
        self, after: Offset, by_inode: Mapping[tuple[int, int], Seen]
    ) -> tuple[dict[str, Seen], dict[str, str]]:
        """Return which known files are where they were, or renamed, and why each other one is not."""
        there: dict[str, Seen] = {}
        absent: dict[str, str] = {}
        for name, file in list(after.files.items()):
            found = by_inode.get((file.dev, file.ino))
            why = _GONE if found is None else self._not_the_same(file, found)
            if why is None and found is not None and not _is_unknown(file):
                there[name] = found
                file.path = found.path
                self._sizes[name] = found.size
                self._since.pop(("absent", name), None)
            elif file.bytes:
                absent[name] = why or ""
            else:  # nothing is known that it could be found again by, and nothing was read
                del after.files[name]
        return there, absent

    def _is_given_up(self, after: Offset, name: str, why: str, fresh: Sequence[Seen]) -> bool:
        """Drop a file that was looked for long enough; tell whether that is so."""
        # A copy, or what it is renamed to, would be there already: it is looked for once more.
        is_replaced = why.startswith(_SHRANK) or any(each.path == after.files[name].path for each in fresh)
        if not self._has_waited(("absent", name), min(self.patience, 1.0) if is_replaced else None):
            return False
        self._drop(after, name, why)
        return True

    def _not_the_same(self, file: File, found: Seen) -> str | None:
        """Say why what has a file's inode is another file, or None."""
        if file.packed != found.packed or file.series != found.series:
            return _GONE
        if file.packed:
            return None
        if found.size < file.bytes:
            return f"{_SHRANK} from {file.bytes:,} bytes or more to {found.size:,}"
        head = self._head(found, file.head_bytes)
        return None if head == file.head else f"{_SHRANK}, and was written anew"

    def _head(self, found: Seen, size: int) -> int | None:
        """Return the checksum of a file's first bytes, None where they cannot be read."""
        key = found.dev, found.ino, found.size, found.changed, size
        if key not in self._heads:
            if len(self._heads) > 100_000:
                self._heads.clear()
            self._heads[key] = self._crc(found, size)
        return self._heads[key]

    def _crc(self, found: Seen, size: int) -> int | None:
        crc, length = 0, 0
        try:
            for data in chunks(self.folder / found.path, found.packed, size):
                crc, length = crc_of(data, crc), length + len(data)
        except OSError:
            return None
        return crc if length == size else None

    def _is_copy(
        self,
        found: Seen,
        after: Offset,
        by_series: Mapping[str, Sequence[str]],
        there: dict[str, Seen],
        absent: dict[str, str],
    ) -> bool:
        """Tell whether a file is, or may become, a copy of one that is known; where that is gone it takes its place."""
        if not found.is_rotated:
            return False
        alike = [
            name
            for name in by_series.get(found.series, ())
            if (file := after.files[name]).bytes
            and (self._is_older(found, name, file, there.get(name)) or self._head(found, file.head_bytes) == file.head)
        ]
        for name in sorted(alike, key=lambda name: -after.files[name].bytes):
            file = after.files[name]
            if name in absent and self._has_what_was_read(found, name, file, absent[name]):
                file.path, file.dev, file.ino, file.packed = found.path, found.dev, found.ino, found.packed
                there[name] = found
                self._sizes[name] = found.size
                del absent[name]
                return True
        return bool(alike)

    def _has_what_was_read(self, found: Seen, name: str, file: File, why: str) -> bool:
        """Tell whether what is absent was copied into a file; of a copy that is older all counts as read."""
        if self._crc(found, file.bytes) == file.crc:
            return True
        if not (why.startswith(_SHRANK) and found.size and self._is_older(found, name, file, None)):
            return False
        crc, head_bytes = self._crc(found, found.size), min(found.size, HEAD_BYTES)
        head = self._crc(found, head_bytes)
        if crc is None or head is None:
            return False
        file.bytes, file.crc, file.head_bytes, file.head = found.size, crc, head_bytes, head
        return True

    def _is_older(self, found: Seen, name: str, file: File, of: Seen | None) -> bool:
        """Tell whether a file has what another one begins with, and less than was read of that.

        Arguments: `of`, the other file as long as it is there; later it counts what was seen then.
        """
        if found.packed or file.packed or found.size >= file.bytes:
            return False
        key = name, found.dev, found.ino, found.size
        if of is not None and key not in self._older:
            self._older[key] = self._begins_as(found, of)
        return self._older.get(key, False)

    def _begins_as(self, found: Seen, other: Seen) -> bool:
        both = (chunks(self.folder / each.path, each.packed, found.size) for each in (found, other))
        try:
            return all(mine == its for mine, its in itertools.zip_longest(*both))
        except OSError:
            return False

    def _can_be_new(self, found: Seen, after: Offset, absent: dict[str, str]) -> bool:
        """Tell whether an unknown file can be read from its begin: not where it is not known yet what it is."""
        if found.is_rotated and any(after.files[name].series == found.series for name in absent):
            return False
        if found.packed and self._head(found, 1) is None:
            return self._has_waited(("packed", found.path))
        return True

    def _has_waited(self, what: tuple[str, str], seconds: float | None = None) -> bool:
        now = self.clock()
        over = now - self._since.setdefault(what, now) >= (self.patience if seconds is None else seconds)
        self.waiting |= not over
        return over

    def _drop(self, after: Offset, name: str, why: str) -> None:
        """Forget a file, and tell its trace of it unless it was an older part that had been read to its end."""
        is_read = self._is_old_and_read(after, name)
        file = after.files.pop(name)
        self._ends.pop(name, None)
        if file.trace and not file.done and not is_read:
            after.said.append(Said(file.trace, "lost", f"{self._named(file.path)}: the file {why}"))

    def _named(self, path: str) -> str:
        return str(Path(self.shown) / path)

    def _is_old_and_read(self, after: Offset, name: str) -> bool:
        """Tell whether a file was read to its end when it was last seen, and its trace goes on in a newer one."""
        file = after.files[name]
        others = [each.trace for other, each in after.files.items() if other != name and each.series == file.series]
        return file.trace in others and (file.done or self._sizes.get(name) == file.bytes)

    # ---- What is new in them ----

    def _read(self, after: Offset, there: dict[str, Seen]) -> None:
        left = BATCH_BYTES
        by_series: dict[str, list[str]] = {}
        for name in sorted(there, key=lambda name: (there[name].series, there[name].place)):
            by_series.setdefault(there[name].series, []).append(name)
        for names in by_series.values():
            has_begun = False
            for name in names:
                if left <= 0:
                    self.behind = True
                    return
                file, found = after.files[name], there[name]
                if file.done or (not file.packed and found.size == file.bytes and file.trace):
                    continue
                before = len(after.pieces)
                was_new = not file.trace
                goes_on = self._read_file(after, name, found, min(left, PIECE_BYTES), has_begun)
                has_begun |= was_new and bool(file.trace)
                left -= sum(piece.end - piece.begin for piece in after.pieces[before:])
                if not goes_on:
                    break

    def _read_file(self, after: Offset, name: str, found: Seen, most: int, has_begun: bool) -> bool:
        """Plan what is new in one file; return whether the next file of its series may be read."""
        file = after.files[name]
        series = after.series.setdefault(file.series, Series())
        try:
            data = self._complete(name, file, found, most)
        except OSError as error:
            return self._unreadable(after, name, error)
        end = data.rfind(b"\n") + 1
        if not end:
            return self._without_line(after, name, found, data)
        self._since.pop(("torn", name), None)
        if not file.trace:
            if has_begun:  # one more in a batch is enough
                self.behind = True
                return False
            self._begin(after, file, series, data[: data.index(b"\n") + 1])
        self._take(after, file, found, data[:end])
        if len(data) >= most:
            self.behind = True
            return False
        file.done = file.packed and end == len(data)
        if end < len(data):
            self._keep_end(name, file, found, data[end:])
            self._note_torn(after, file, found, data[end:])
            return self._torn_is_over(after, name, found)
        return True

    def _take(self, after: Offset, file: File, found: Seen, data: bytes) -> None:
        """Plan to read complete lines, which are the next of a file."""
        series = after.series[file.series]
        begin, end, crc = file.bytes, file.bytes + len(data), crc_of(data, file.crc)
        after.pieces.append(
            Piece(
                trace=file.trace,
                line=series.lines + 1,
                path=found.path,
                series=file.series,
                dev=found.dev,
                ino=found.ino,
                packed=file.packed,
                begin=begin,
                end=end,
                crc=file.crc,
                crc_after=crc,
            )
        )
        if file.head_bytes == begin < HEAD_BYTES:
            more = data[: HEAD_BYTES - begin]
            file.head, file.head_bytes = crc_of(more, file.head), begin + len(more)
        file.bytes, file.crc, series.lines = end, crc, series.lines + data.count(b"\n")

    def _complete(self, name: str, file: File, found: Seen, most: int) -> bytes:
        """Return the bytes that are new, as many as `most`, but a line at least if there is one.

        Of a file that has not changed since it had no complete line more, the begin of them is enough.
        """
        if (kept := self._ends.get(name)) is not None and kept[0] == _version(file, found):
            return kept[1]
        path = self.folder / found.path
        data = bytes_between(path, file.packed, file.bytes, file.bytes + most)
        if b"\n" not in data:
            if len(data) == most:
                data = bytes_between(path, file.packed, file.bytes, file.bytes + MAX_LINE_BYTES + 1)
            else:
                self._keep_end(name, file, found, data)
        return data

    def _keep_end(self, name: str, file: File, found: Seen, end: bytes) -> None:
        """Keep the begin of what a file has behind its last complete line, so that it is read again if it changes."""
        self._ends[name] = _version(file, found), end[: len(_HEADER_BEGINS)]

    def _begin(self, after: Offset, file: File, series: Series, line: bytes) -> None:
        """Decide which trace a file's first line is of: a header begins another one."""
        if not series.traces or (_is_header(line) and series.lines):
            if series.traces:
                ended = trace_name(file.series, series.traces)
                after.said.append(Said(ended, "cut", self._named(file.path)))
            series.traces, series.lines = series.traces + 1, 0
        file.trace = trace_name(file.series, series.traces)
        if not series.lines:
            self.met(line, self._named(file.trace))

    def _without_line(self, after: Offset, name: str, found: Seen, data: bytes) -> bool:
        """Look at a file with no complete line that is new; return whether the next file of the series may be read."""
        file = after.files[name]
        if len(data) > MAX_LINE_BYTES:
            self._fault(after, name, f"a line of more than {MAX_LINE_BYTES:,} bytes")
            return False
        if data or not file.trace:
            self._note_torn(after, file, found, data)
        return not data or self._torn_is_over(after, name, found)

    def _note_torn(self, after: Offset, file: File, found: Seen, data: bytes) -> None:
        """Note the end of a file; of one without a line it is guessed whether a trace begins there."""
        series = after.series[file.series]
        begins = not series.traces or (not file.trace and data.startswith(_HEADER_BEGINS))
        if data or begins:
            trace = file.trace or trace_name(file.series, series.traces + begins)
            self.torn.append(Torn(trace, file.series, found.path, file.bytes, 0 if begins else series.lines))

    def _torn_is_over(self, after: Offset, name: str, found: Seen) -> bool:
        """Tell whether the end of an older file will not be completed any more, and say so to its trace."""
        if found.path == found.series or not self._has_waited(("torn", name)):
            return False
        self._fault(after, name, "the file is truncated: this line does not end")
        return True

    def _unreadable(self, after: Offset, name: str, error: OSError) -> bool:
        if self._has_waited(("unreadable", name)):
            self._fault(after, name, f"cannot be read: {error.strerror or error}")
        return False

    def _fault(self, after: Offset, name: str, problem: str) -> None:
        file = after.files[name]
        series = after.series[file.series]
        file.done = True
        if not file.trace:
            series.traces, series.lines = series.traces + 1, 0
            file.trace = trace_name(file.series, series.traces)
        after.said.append(
            Said(file.trace, "fault", str(TraceError(self._named(file.trace), series.lines + 1, problem)))
        )


def _version(file: File, found: Seen) -> tuple[int, ...]:
    """Return what is another if there is more to read of a file, or other bytes."""
    return found.dev, found.ino, found.size, found.changed, file.bytes


def _is_unknown(file: File) -> bool:
    """Tell whether nothing was read of a compressed file yet, which may turn out to be a copy of one that is known."""
    return file.packed and not file.bytes and not file.trace


def _is_header(line: bytes) -> bool:
    try:
        tree = msgspec.json.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(tree, dict) and tree.get("kind") == "header"
