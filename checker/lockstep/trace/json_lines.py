"""Reading NDJSON from anyone: bounded lines, one JSON object each, and errors that name file, line and field."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from lockstep.base.characters import visible_line
from lockstep.base.errors import OUT_OF_RESOURCES, BadInputError

MAX_LINE_BYTES = 16 * 1024 * 1024
MAX_INTEGER = 2**63 - 1
MIN_INTEGER = -(2**63)
MAX_DEPTH = 32

#: The file that stands for standard input.
STDIN = Path("-")

#: First bytes of files that are no NDJSON, each with what is wrong.
_BEGINNINGS = {
    b"\x1f\x8b": "it is compressed with gzip: unpack it first",
    b"\x28\xb5\x2f\xfd": "it is compressed with zstd: unpack it first",
    b"BZh": "it is compressed with bzip2: unpack it first",
    b"\xfd7zXZ": "it is compressed with xz: unpack it first",
    b"PK\x03\x04": "it is a zip archive: unpack it first",
    b"\xef\xbb\xbf": "it begins with a byte order mark: write UTF-8 without one",
    b"\xff\xfe": "it is UTF-16: write UTF-8",
    b"\xfe\xff": "it is UTF-16: write UTF-8",
}


class TraceError(BadInputError):
    """A trace is malformed: the message names the file, the line and, where there is one, the field."""

    def __init__(self, source: str, line: int, problem: str) -> None:
        problem = visible_line(problem)  # a field may be called as it likes
        super().__init__(f"{source}:{line}: {problem}")
        self.source, self.line, self.problem = source, line, problem

    def in_trace(self, source: str) -> TraceError:
        """Return the same problem of another trace, which has it in the same line."""
        return TraceError(source, self.line, self.problem)


class UnreadableError(BadInputError):
    """A file cannot be opened or read; the message names it."""

    def __init__(self, source: str, error: OSError) -> None:
        super().__init__(f"{source}: cannot be read: {error.strerror or error}")
        self.source = source


def source_name(path: Path) -> str:
    """Return how messages name a file; `-` is standard input."""
    return "<stdin>" if path == STDIN else str(path)


def file_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a file, `-` for standard input.

    Raises TraceError where one is longer than MAX_LINE_BYTES, UnreadableError where the file cannot be read.
    """
    if path == STDIN:
        yield from bounded_lines(sys.stdin.buffer, source_name(path))
        return
    with _opened(path) as file:
        yield from bounded_lines(file, str(path))


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        if error.errno in OUT_OF_RESOURCES:
            raise
        raise UnreadableError(str(path), error) from error


def bounded_lines(file: BinaryIO, source: str) -> Iterator[bytes]:
    """Yield the lines of an open file, which `source` names; raises as file_lines does."""
    number = 0
    while line := _read_line(file, source):
        number += 1
        if len(line) > MAX_LINE_BYTES:
            raise TraceError(source, number, f"a line of more than {MAX_LINE_BYTES:,} bytes")
        yield line


def _read_line(file: BinaryIO, source: str) -> bytes:
    try:
        return file.readline(MAX_LINE_BYTES + 1)
    except OSError as error:
        raise UnreadableError(source, error) from error


def json_object(text: bytes, source: str, number: int, noun: str) -> dict[str, Any]:
    """Return the JSON object of a line.

    Arguments: `text`, the line with its line break; `source` and `number` of it; `noun`, what the file is.
    Raises TraceError where it is cut, is no JSON object, or has a key twice.
    """
    tree = _decoded(text, source, number, noun)
    _refuse_keys_twice(tree, text, source, number)
    return tree


def plain_object(
    text: bytes, source: str, number: int, noun: str, least: int = MIN_INTEGER
) -> tuple[dict[str, Any], bool]:
    """Return the JSON object of a line as json_object does, and whether all that is nested in it is reasonable.

    Arguments: `least`, the least integer that is.
    """
    tree = _decoded(text, source, number, noun)
    count = len(tree)
    for part in tree.values():
        kind = type(part)
        if kind is dict or kind is list:
            within = _plain_key_count(part, MAX_DEPTH, least)
            if within < 0:
                _refuse_keys_twice(tree, text, source, number)
                return tree, False
            count += within
    if not _has_key_count(text, count):
        _refuse_keys_twice(tree, text, source, number)
    return tree, True


def _decoded(text: bytes, source: str, number: int, noun: str) -> dict[str, Any]:
    if not text.endswith(b"\n"):
        other = beginning(text, number)
        problem = "the file is truncated: this line does not end" if other is None else f"not a {noun}: {other}"
        raise TraceError(source, number, problem)
    try:
        tree = msgspec.json.decode(text)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise TraceError(source, number, _undecodable(text, number, noun, error)) from error
    if not isinstance(tree, dict):
        raise TraceError(source, number, f"not a line of a {noun}: it is no JSON object")
    return tree


def _refuse_keys_twice(tree: dict[str, Any], text: bytes, source: str, number: int) -> None:
    try:
        alike = _has_key_count(text, _key_count(tree))
    except RecursionError as error:
        raise TraceError(source, number, f"nested deeper than {MAX_DEPTH} levels") from error
    if not alike and (twice := _key_twice(text)) is not None:
        raise TraceError(source, number, f"field `{twice}`: it is there twice")


def _has_key_count(text: bytes, count: int) -> bool:
    """Return whether a line has the keys of what was decoded, and no more; False where that is not plain to see."""
    return text.count(b'":') == count and b" :" not in text and b"\t:" not in text and b"\r:" not in text


def convert_line(tree: dict[str, Any], to: Any, source: str, number: int) -> Any:
    """Return the object as one of the types of a line, which `to` is a union of.

    Raises TraceError, naming the field, where it is none.
    """
    try:
        return msgspec.convert(tree, to)
    except msgspec.ValidationError as error:
        raise TraceError(source, number, rephrase_error(error, tree)) from error


def rephrase_error(error: msgspec.ValidationError, tree: Any) -> str:
    """Turn msgspec's `... - at `$.field`` into our words, the field first; `tree` is what it looked at."""
    problem, _, path = str(error).partition(" - at `$")
    path = path.rstrip("`").lstrip(".")
    for ours, theirs in (("unknown field", "contains unknown field"), ("missing", "missing required field")):
        if theirs in problem:
            name = problem.split("`")[-2]
            return f"field `{'.'.join(filter(None, (path, name)))}`: {ours}"
    if "[...]" in path:  # msgspec does not name the key of a table
        path = _first_null(tree, path.partition("[...]")[0]) or path
    return f"field `{path or 'kind'}`: {problem[:1].lower()}{problem[1:]}"


def _first_null(tree: Any, table: str) -> str | None:
    for name in table.split("."):
        tree = tree.get(name) if isinstance(tree, dict) else None
    keys = tree.items() if isinstance(tree, dict) else ()
    return next((f"{table}.{key}" for key, value in keys if not isinstance(value, bool | int | str)), None)


def beginning(text: bytes, number: int) -> str | None:
    """Return what a file is by its first bytes, if it is something that people take for NDJSON."""
    begins = (problem for bytes_, problem in _BEGINNINGS.items() if text.startswith(bytes_))
    return next(begins, None) if number == 1 else None


def _undecodable(text: bytes, number: int, noun: str, error: Exception) -> str:
    if (problem := beginning(text, number)) is not None:
        return f"not a {noun}: {problem}"
    if isinstance(error, RecursionError):
        return f"not a line of a {noun}: nested deeper than {MAX_DEPTH} levels"
    if not text.strip():
        return f"not a line of a {noun}: it is empty"
    return f"not a line of a {noun}: {error}"


def _key_count(tree: Any) -> int:
    """Count the keys of all objects of a tree."""
    count, parts = (len(tree), tree.values()) if type(tree) is dict else (0, tree)
    for part in parts:
        kind = type(part)
        if kind is dict or kind is list:
            count += _key_count(part)
    return count


def _key_twice(text: bytes) -> str | None:
    """Return a key that an object of a line has twice; slow, for lines in which the keys cannot be counted."""
    twice: list[str] = []

    def table(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, value in pairs:
            if key in found:
                twice.append(key)
            found[key] = value
        return found

    json.loads(text, object_pairs_hook=table, parse_int=str)
    return twice[0] if twice else None


def _plain_key_count(tree: Any, depth: int, least: int) -> int:
    """Count the keys of a dict or list, or return -1 where something in it is unreasonable."""
    count, parts = (len(tree), tree.values()) if type(tree) is dict else (0, tree)
    if depth == 0 or (depth == 1 and parts):
        return -1
    for part in parts:
        kind = type(part)
        if kind is int:
            if not least <= part <= MAX_INTEGER:
                return -1
        elif kind is dict or kind is list:
            within = _plain_key_count(part, depth - 1, least)
            if within < 0:
                return -1
            count += within
        elif kind is float:
            return -1
    return count


def unreasonable(value: Any, path: str, least: int = MIN_INTEGER) -> str | None:
    """Return what is wrong with a free-form value: a fraction, a huge number, deep nesting; None if nothing is.

    Arguments: `least`, the least integer that is not wrong.
    """
    return _unreasonable(value, path, MAX_DEPTH, least)


def _unreasonable(value: Any, path: str, depth: int, least: int) -> str | None:
    if depth == 0:
        return f"field `{path}`: nested deeper than {MAX_DEPTH} levels"
    if isinstance(value, float):
        return f"field `{path}`: {value} is no integer of 64 bits"
    if isinstance(value, int) and not least <= value <= MAX_INTEGER:
        return f"field `{path}`: {_short(value)} is not between {least} and {MAX_INTEGER}"
    parts: Iterable[tuple[str, Any]] = ()
    if isinstance(value, dict):
        parts = ((f"{path}.{key}", part) for key, part in value.items())
    elif isinstance(value, list | tuple):
        parts = ((f"{path}[{index}]", part) for index, part in enumerate(value))
    return next((p for p in (_unreasonable(v, k, depth - 1, least) for k, v in parts) if p), None)


def _short(number: int) -> str:
    digits = str(number)
    return digits if len(digits) <= 40 else f"a number of {len(digits.lstrip('-'))} digits"
