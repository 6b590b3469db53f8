"""Files in which recorders of nodes write, one for each node: read whole, or while they grow.

A line is a JSON object. A process that is killed may leave its last line unfinished; the node's next life then begins a
line of its own, or writes over it. Between the lines may stand what the program itself prints: noise, which is counted.
"""

from __future__ import annotations

import errno
import json
import os
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from lockstep.logs.stray_lines import StrayLines
from lockstep.systems.growing_text import GrowingText
from lockstep.trace.json_lines import MAX_LINE_BYTES, TraceError, UnreadableError, json_object, rephrase_error
from raftref.runtime.driver import START, NodeStep

#: The beginning of a text that stands for bytes that are no UTF-8, in hexadecimal.
BYTES = "bytes:"

#: Records at the beginning of a file among which the first start of its node stands.
MAX_BEGINNING = 100

#: The form of the lines, as messages name it.
FORM = "a JSON object of a recorder on a line of its own"


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A line of a node's file: where it stands, and its fields."""

    source: str
    number: int
    fields: dict[str, Any]

    @property
    def begins_life(self) -> bool:
        """Whether it is the first line of a process, or the second after a header."""
        return self.fields.get("kind") in ("header", "start") or self.is_start

    @property
    def is_start(self) -> bool:
        """Whether a process starts with it."""
        return self.fields.get("kind") == "start" or self.fields.get("action") == START

    @property
    def is_step(self) -> bool:
        """Whether it is a step of a node of the reference, as `lockstep node --record` writes it."""
        return "action" in self.fields

    def step(self) -> NodeStep:
        """Return the step of a node of the reference; raises TraceError where it is none."""
        try:
            return msgspec.convert(self.fields, NodeStep)
        except msgspec.ValidationError as error:
            raise self.error(f"this is no step: {rephrase_error(error, self.fields)}") from error

    def error(self, problem: str) -> TraceError:
        """Make the error of the line."""
        return TraceError(self.source, self.number, problem)


class NodeFile:
    """One node's file, as far as it is written.

    Its records come one by one; a line whose break is not written yet is waited for. A line that is cut is an error,
    unless the process that wrote it is dead: it is the last of the file, or the next record begins another life.
    """

    def __init__(self, path: Path, note: Callable[[str], None]) -> None:
        """Open nothing yet: a file that is not there has no records yet.

        Arguments: `note` gets a message about what is left out.
        """
        self.path, self._note = path, note
        self._text = GrowingText(path)
        self._number = 0
        self._strays = StrayLines(str(path), FORM)
        self._again: deque[FileRecord] = deque()
        self._cut: TraceError | None = None
        self._is_closed = False

    def beginning(self, *, is_over: bool) -> list[FileRecord] | None:
        """Return the records up to the node's first start, which `next` returns once more.

        None where they are not written yet. Raises TraceError where the file has none, once it `is_over`.
        """
        found: list[FileRecord] = []
        while not (found and found[-1].is_start) and len(found) < MAX_BEGINNING:
            record = self.next(is_over=is_over)
            if record is None:
                break
            found.append(record)
        self._again.extendleft(reversed(found))
        if found and found[-1].is_start:
            return found
        if is_over and not self._text.is_there:
            raise UnreadableError(str(self.path), FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)))
        if is_over or len(found) == MAX_BEGINNING:
            first = found[0] if found else FileRecord(str(self.path), 1, {})
            raise first.error("no line here is of the start of a node" if found else "the file has no whole line")
        return None

    @property
    def size(self) -> int:
        """The bytes that are written; 0 where the file is not there."""
        return self._text.size

    @property
    def offset(self) -> int:
        """The bytes of the lines that were read."""
        return self._text.offset

    def next(self, *, is_over: bool) -> FileRecord | None:
        """Return the next record, None where none is complete.

        Arguments: `is_over`, whether nothing more is written: what does not end is cut.
        Raises TraceError where a line is damaged; UnreadableError where the file cannot be read.
        """
        if self._again:
            return self._again.popleft()
        while (text := self._line(is_over=is_over)) is not None:
            if not text.startswith(b"{"):
                self._refuse_cut()
                self._strays.add(str(self.path), self._number, text.decode("utf-8", "replace").rstrip(), strict=True)
                continue
            try:
                fields = record_fields(text, str(self.path), self._number)
            except TraceError as error:
                self._refuse_cut()
                self._cut = error
                continue
            return self._whole(FileRecord(str(self.path), self._number, fields))
        if is_over:
            self._close()
        return None

    def _whole(self, record: FileRecord) -> FileRecord:
        if self._cut is not None and record.begins_life:
            self._note(f"{self._cut.source}:{self._cut.line}: a line that a dying process did not finish is left out")
            self._cut = None
        self._refuse_cut()
        if record.number == 1 or record.begins_life:
            self._strays.know("{")
        return record

    def _refuse_cut(self) -> None:
        if self._cut is not None:
            raise self._cut

    def _line(self, *, is_over: bool) -> bytes | None:
        """Return the next line with its break, None where it has none yet."""
        if self._is_closed:
            return None
        line = self._text.line()
        if line is None:
            if is_over:
                self._end_text()
            return None
        self._number += 1
        if len(line) > MAX_LINE_BYTES:
            raise TraceError(str(self.path), self._number, f"a line of more than {MAX_LINE_BYTES:,} bytes")
        return line

    def _end_text(self) -> None:
        if self._text.rest():
            self._number += 1
            self._note(f"{self.path}:{self._number}: the last line does not end, and is left out")
        if self._text.goes_on():
            raise TraceError(str(self.path), self._number + 1, "a zero byte, and lines after it")

    def _close(self) -> None:
        if self._is_closed:
            return
        self._is_closed = True
        self._text.close()
        self._refuse_cut()
        self._strays.end(strict=True)
        if noise := self._strays.note():
            self._note(noise)


def record_fields(text: bytes, source: str, number: int) -> dict[str, Any]:
    """Return the fields of a record; `text` is the line with its break, `source` and `number` are for messages.

    A trace is UTF-8, and an entry may be any bytes, whose halves of surrogate pairs no trace can have. A text with one,
    or one that could be taken for what stands for it, becomes BYTES and the bytes in hexadecimal: two texts that differ
    still do. Raises TraceError where the line is no JSON object.
    """
    if BYTES.encode() not in text and b"\\ud" not in text:
        return json_object(text, source, number, "file of a recorder")
    try:
        found = _as_utf8(json.loads(text))
    except (ValueError, RecursionError):
        found = None
    return found if isinstance(found, dict) else json_object(text, source, number, "file of a recorder")


def _as_utf8(value: Any) -> Any:
    match value:
        case str() if value.startswith(BYTES) or not _is_utf8(value):
            return BYTES + value.encode("utf-8", "surrogateescape").hex()
        case dict():
            return {_as_utf8(name): _as_utf8(each) for name, each in value.items()}
        case list():
            return [_as_utf8(each) for each in value]
    return value


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= each <= "\udfff" for each in text)
