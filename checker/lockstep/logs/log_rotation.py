"""Rotated files that are one log, and their order, by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from lockstep.base.errors import BadInputError
from lockstep.trace.json_lines import source_name

#: The day that a file is of, and what follows of a time or a number, which count upwards.
_DAY = (
    r"(?P<day>(?:19|20)\d\d(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])(?:(?:[-_.]|(?<=\d)T)\d+)*Z?)"
)
_NUMBER = r"(?P<number>\d{1,3})"

#: The ending of a log's name. Without it a number may as well be a node's, as in `node-1` and `node-2`.
_EXTENSION = r"\.(?:log|txt|out|err|jsonl?|ndjson|trace)"

#: The names that rotation makes of `a.log`, and their packing: `a.log.1`, `a.log-20260102`, `a.2026-01-02.log`.
_BEHIND = re.compile(rf"(?P<base>.+?)(?:\.{_NUMBER}|[-_.]{_DAY})(?:\.gz)?")
_WITHIN = re.compile(rf"(?P<stem>.+?)(?:\.{_NUMBER}|[-_.]{_DAY})(?P<extension>{_EXTENSION})(?:\.gz)?")
_NAMED = re.compile(rf".+{_EXTENSION}")

#: Names of rotations that give no order: of a file that it had rotated before, as wildcards of logrotate do, with a
#: month before its year, as in the examples of log4j 2, or without a day.
_NO_ORDER = re.compile(
    rf"\.gz\.\d+|{_EXTENSION}\.\d{{1,3}}\.\d{{1,3}}(?!\d)"
    r"|(?<!\d)[0-3]?\d-[0-3]?\d-(?:19|20)\d\d(?!\d)|(?<!\d)(?:19|20)\d\d-(?:0[1-9]|1[0-2])(?![-\d])"
)

#: How many files a message names.
MAX_NAMED = 3


@dataclass(frozen=True, slots=True)
class RotatedLog:
    """One log: its files in their order, the oldest first."""

    name: str
    paths: tuple[Path, ...]


#: Where a file comes among those of its log, the oldest first: those of a day by their time, then those with numbers,
#: which count downwards, and last the one that is written to.
_Place: TypeAlias = tuple[int, ...]
_DATED, _NUMBERED, _LAST = 0, 1, 2


@dataclass(frozen=True, slots=True)
class _FilePart:
    """A file by its name: the log, its place in it, and whether that is sure without other files."""

    base: str
    place: _Place
    is_sure: bool


def logs_of(paths: Sequence[Path]) -> list[RotatedLog]:
    """Put the files together that are one log, rotated, such as `a.log.2.gz`, `a.log.1` and `a.log`.

    A number in a name that may be a node's counts as one of a rotation where the log without a number is given, too.
    Raises BadInputError where it is not known which of two files is older.
    """
    given = {str(path.with_name(_unpacked(path.name))) for path in paths}
    found: dict[str, list[tuple[_Place, Path]]] = {}
    for path in paths:
        part = _part(path.name)
        base = str(path.with_name(part.base))
        if not part.is_sure and base not in given:
            base, part = str(path), _FilePart(path.name, (_LAST,), True)
        found.setdefault(base, []).append((part.place, path))
    return [_log(base, sorted(files)) for base, files in found.items()]


def is_log(path: Path) -> bool:
    """Return whether a file's name is that of a log, or of a part of one: `.ndjson` or `.log`, rotated or gzipped."""
    return _part(path.name).base.endswith((".ndjson", ".log"))


def note_missing_files(log: RotatedLog) -> str | None:
    """Return a note on files of a rotated log that are missing between others of it, None where none is."""
    places = [_part(path.name).place for path in log.paths]
    numbers = {-place[1] for place in places if place[0] == _NUMBERED}
    if len(places) < 2 or not numbers:
        return None
    oldest = next(path for path, place in zip(log.paths, places, strict=True) if place == (_NUMBERED, -max(numbers)))
    absent = [_numbered(oldest, each) for each in range(min(1, *numbers), max(numbers)) if each not in numbers]
    if (_LAST,) not in places and 0 not in numbers:  # where numbers begin at 0, that is the one which is written to
        absent.append(log.name)
    if not absent:
        return None
    return (
        f"{_few(absent)} {'is' if len(absent) == 1 else 'are'} not among the files: lines of {log.name} may be missing"
    )


def note_unordered_files(logs: Sequence[RotatedLog]) -> str | None:
    """Return a note on files with names of rotations that give no order, None where there is none."""
    names = [log.name for log in logs if len(log.paths) == 1 and _NO_ORDER.search(log.paths[0].name)]
    if not names or len(logs) < 2:
        return None
    taken = "is taken for a log of its own" if len(names) == 1 else "are taken for logs of their own"
    return f"{_few(names)} {taken}: such a name gives no order of rotated files; rename them if they are that"


def _few(names: Sequence[str]) -> str:
    others = len(names) - MAX_NAMED
    return ", ".join(names[:MAX_NAMED]) + (f" and {others:,} others" if others > 0 else "")


def _log(base: str, files: Sequence[tuple[_Place, Path]]) -> RotatedLog:
    kinds = {place[0]: path for place, path in files if place[0] != _LAST}
    if len(kinds) > 1:
        both = " and ".join(map(str, kinds.values()))
        raise BadInputError(f"{both}: which of them is older is not known: give one kind of them")
    known: dict[_Place, Path] = {}
    for place, path in files:
        if place in known and known[place] != path:
            raise BadInputError(f"{known[place]} and {path} are the same part of one log: give one of them")
        known[place] = path
    return RotatedLog(base if len(files) > 1 else source_name(files[0][1]), tuple(path for _, path in files))


def _part(name: str) -> _FilePart:
    """Read a file's name."""
    if (behind := _BEHIND.fullmatch(name)) is not None:
        is_sure = behind["day"] is not None or _NAMED.fullmatch(behind["base"]) is not None
        return _FilePart(behind["base"], _place(behind), is_sure)
    if (within := _WITHIN.fullmatch(name)) is not None:
        return _FilePart(within["stem"] + within["extension"], _place(within), within["day"] is not None)
    return _FilePart(_unpacked(name), (_LAST,), True)


def _numbered(path: Path, number: int) -> str:
    """Name the file of a log that has another number than one has."""
    name = _unpacked(path.name)
    found = _BEHIND.fullmatch(name) or _WITHIN.fullmatch(name)
    assert found is not None  # it has a number
    return str(path.with_name(f"{name[: found.start('number')]}{number}{name[found.end('number') :]}"))


def _place(found: re.Match[str]) -> _Place:
    if found["day"] is None:
        return _NUMBERED, -int(found["number"])
    day, rest = re.match(r"(\d{4}-?\d\d-?\d\d)(.*)", found["day"]).groups()  # type: ignore[union-attr]  # _DAY's form
    return _DATED, int(day.replace("-", "")), *map(int, re.findall(r"\d+", rest))


def _unpacked(name: str) -> str:
    return name.removesuffix(".gz")
