"""The files of a folder that have traces: what is there now, and their bytes, compressed or not."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from lockstep.base.errors import BadInputError
from lockstep.logs.log_rotation import place_of

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
