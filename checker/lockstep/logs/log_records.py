"""Lines of a log as records: their text, their place, and the values that a mapping finds in them."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias

import msgspec

from lockstep.base.errors import OUT_OF_RESOURCES
from lockstep.base.spelling import did_you_mean
from lockstep.conformance.comparison import ElementCount, PartialElement
from lockstep.logs.line_beginnings import LineBeginnings
from lockstep.logs.log_rotation import RotatedLog
from lockstep.logs.mapping import FieldSource, Source
from lockstep.logs.mapping import Mapping as LogMapping
from lockstep.logs.stray_lines import MAX_LINES_ABOVE, StrayLines
from lockstep.logs.telemetry import request_records
from lockstep.logs.text_formats import Split, line_splitter
from lockstep.trace.json_lines import (
    STDIN,
    TraceError,
    UnreadableError,
    beginning,
    bounded_lines,
    file_lines,
    json_object,
    source_name,
    unreasonable,
)

_GZIP = b"\x1f\x8b"

#: A line that belongs to the line above it: it begins with white space, or is part of an exception of Java.
_BELOW = re.compile(r"\s|$|Caused by: |(?:[\w$]+\.)+[\w$]*(?:Exception|Error|Throwable)\b")
#: A mark of a part of a JSON object: a brace, or a quoted key with its colon.
_PART_OF_OBJECT = re.compile(rb'[{}]|"\s*:')
#: A longer text of a line is cut in messages.
MAX_TEXT = 60

#: How many fields of a line a message names.
MAX_NAMED_FIELDS = 12

#: Stands for a value that a line does not have.
MISSING: Any = object()


@dataclass(frozen=True, slots=True)
class RecordFields:
    """The fields of a record that a line has, of a record that may have more."""

    fields: dict[str, Any]


def plain(value: Any) -> Any:
    """Return a value as it is compared: the known fields of a record as an object."""
    return value.fields if isinstance(value, RecordFields) else value


def _listed(terms: int | str | list[int | str] | None) -> list[int | str]:
    if terms is None:
        return []
    return terms if isinstance(terms, list) else [terms]


def _named(source: Source) -> str:
    return source if isinstance(source, str) else source.field or "value"


@dataclass(frozen=True, slots=True)
class Record:
    """A line of a log: its file's name, its number, its text and its fields.

    The field `below` of a text has the lines below it, as of an exception, if there are any.
    """

    source: str
    number: int
    text: str
    fields: dict[str, Any]
    node: Any = MISSING

    def error(self, problem: str) -> TraceError:
        """Make the error of the line."""
        return TraceError(self.source, self.number, problem)

    def at(self, path: str) -> Any:
        """Return the value of a field, MISSING where there is none."""
        found: Any = self.fields
        rest = path
        while rest:
            if isinstance(found, dict) and rest in found:  # the name itself may have dots
                return found[rest]
            name, _, rest = rest.partition(".")
            if isinstance(found, list) and name.isdecimal() and int(name) < len(found):
                found = found[int(name)]
            elif isinstance(found, dict) and name in found:
                found = found[name]
            else:
                return MISSING
        return found

    def first_of(self, paths: Iterable[str]) -> str | None:
        """Return the first of several fields that the line has, None where it has none of them."""
        return next((path for path in paths if self.at(path) is not MISSING), None)

    def lacks(self, paths: Iterable[str]) -> str:
        """Return the sentence that the line has none of some fields, with those that it has."""
        *others, last = (f"`{path}`" for path in paths)
        wanted = f"field {', '.join(others)} or {last}" if others else f"field {last}"
        has = ", ".join(list(self.fields)[:MAX_NAMED_FIELDS]) + (", ..." if len(self.fields) > MAX_NAMED_FIELDS else "")
        near = did_you_mean(last.strip("`"), self.fields)
        return f"{wanted}: missing; the line has {has or 'no field'}{near}"

    def needed(self, path: str) -> Any:
        """Return the value of a field; raises TraceError where it is missing or unreasonable."""
        found = self.at(path)
        if found is MISSING:
            raise self.error(self.lacks([path]))
        problem = unreasonable(found, path)
        if problem:
            raise self.error(problem)
        return found

    def value(self, source: Source) -> Any:
        """Return the value that a mapping finds in the line: JSON, or what is known of a value.

        It is MISSING where it is optional and not there.

        Raises TraceError where it must be there and is not, or cannot be cast.
        """
        if isinstance(source, str):
            return self.needed(source)
        if source.parts is not None:
            return RecordFields(self._known_fields(source.parts))
        if source.has is not None:
            return PartialElement(self._known_fields(source.has))
        if source.size is not None:
            return self._size(source.size)
        found = self._plain(source)
        if found is MISSING:
            return MISSING
        if source.values is not None and isinstance(found, str | int | bool):
            word = str(found).lower() if isinstance(found, bool) else str(found)
            found = source.values.get(word, found)
        if source.cast is not None:
            found = self._cast(found, source)
        return found if source.plus is None and source.minus is None else self._sum(found, source)

    def _known_fields(self, parts: Mapping[str, Source]) -> dict[str, Any]:
        values = {name: self.value(part) for name, part in parts.items()}
        return {name: plain(value) for name, value in values.items() if value is not MISSING}

    def _size(self, source: Source) -> Any:
        found = self.value(source)
        if found is MISSING:
            return MISSING
        if type(found) is not int or found < 0:
            raise self.error(f"field `{_named(source)}`: {str(found)[:60]!r} is no size")
        return ElementCount(found)

    def _sum(self, found: Any, source: FieldSource) -> int:
        """Return a number with what is added to it, and taken away: numbers, and what is in other fields."""
        added, taken = _listed(source.plus), _listed(source.minus)
        total = self._integer(found, _named(source))
        for sign, terms in ((1, added), (-1, taken)):
            for term in terms:
                total += sign * self._integer(self.needed(term) if isinstance(term, str) else term, str(term))
        return total

    def _integer(self, found: Any, name: str) -> int:
        if type(found) is not int:
            raise self.error(f"field `{name}`: {str(found)[:60]!r} is no integer")
        return found

    def _plain(self, source: FieldSource) -> Any:
        if source.node:
            return self.node
        if source.file is not None:
            found = re.search(source.file, Path(self.source).name)
            if found is None:
                raise self.error(f"the file's name has nothing like {source.file!r}")
            if found[1] is None:
                raise self.error(f"the group of {source.file!r} takes no part in the file's name")
            return found[1]
        if source.field is None:
            return source.value
        return MISSING if source.optional and self.at(source.field) is MISSING else self.needed(source.field)

    def _cast(self, value: Any, source: FieldSource) -> Any:
        try:
            if source.cast == "integer":
                cast: Any = value if isinstance(value, int) and not isinstance(value, bool) else int(str(value), 10)
            elif source.cast == "set":
                if not isinstance(value, list | dict):
                    raise ValueError
                cast = {"#set": list(value)}
            elif source.cast == "boolean":
                cast = {"true": True, "false": False}[str(value).lower()]
            else:
                cast = value if isinstance(value, str) else str(value)
        except (ValueError, KeyError):
            digits = str(value).strip().lstrip("+-")
            if source.cast == "integer" and digits.isdecimal():  # more than Python reads
                problem = f"a number of {len(digits):,} digits is too long"
            else:
                problem = f"{cut(repr(value if isinstance(value, str) else str(value)))} is no {source.cast}"
            raise self.error(f"field `{source.field}`: {problem}") from None
        if problem := unreasonable(cast, source.field or "") or "":
            raise self.error(problem)
        return cast


def cut(text: str) -> str:
    """Cut a text for a message."""
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}..."


#: A line as it stands: its file's name, its number and its bytes.
_Raw = tuple[str, int, bytes]
#: Whether another line is appended to one: the line as it was read, or None where it is no line of the
#: log; what begins within it, as a line of its own; and the stamp there.
IsAppended: TypeAlias = Callable[[Record | None, Record, str], bool]


def records(
    log: RotatedLog,
    mapping: LogMapping,
    torn: Callable[[str], None],
    strays: StrayLines,
    is_appended: IsAppended,
    report: Callable[[int], None] = lambda _: None,
) -> Iterator[Record]:
    """Yield the lines of a log with their fields.

    Arguments: `torn`, called with a note on a last line that does not end and is left out; `strays`, which counts the
    lines that are none of the log; `is_appended`, which judges what reads as a line of its own within a line; `report`,
    called with how many lines were read.
    Raises TraceError where a line is malformed, or none is of the log; UnreadableError where a file cannot be read.
    """
    splits, strict = [line_splitter(text) for text in mapping.texts()], mapping.otherwise == "error"
    appended = _Appended(splits, is_appended)
    if mapping.records == "otlp":
        yield from _telemetry(log, torn, strays, report)
        return
    for path in log.paths:
        whole = _whole_lines(path, log, torn, report)
        # A JSON object means something only if there are rules, which find it by its fields.
        lines = whole if mapping.lines else _without_objects(whole, strays)
        yield from _texts(lines, splits, strays, appended, strict) if splits else _objects(whole, strays)
    strays.end(strict=strict or not splits)


def _telemetry(
    log: RotatedLog, torn: Callable[[str], None], strays: StrayLines, report: Callable[[int], None]
) -> Iterator[Record]:
    """Yield the records of OpenTelemetry in the order of their times; of equal ones, in that of the files.

    An exporter sends a span once it has ended, and logs in another request, so no order of lines is that of the steps.
    """
    found: list[Record] = []
    for path in log.paths:
        for source, number, raw in _whole_lines(path, log, torn, report):
            fields = request_records(raw, source, number)
            if fields is None:
                strays.add(source, number, _shown(raw), strict=False)
                continue
            strays.know("{")
            found += [Record(source, number, msgspec.json.encode(each).decode(), each) for each in fields]
    strays.end(strict=True)
    yield from sorted(found, key=lambda record: record.fields["time"])


@dataclass(slots=True)
class _Appended:
    """Finder of lines that begin within another, which was cut when a new process went on writing."""

    splits: Sequence[Split]
    is_appended: IsAppended
    beginnings: LineBeginnings = field(default_factory=LineBeginnings)
    is_begun: bool = False
    undecided: list[tuple[str, _Raw]] = field(default_factory=list)

    def refuse(self, whole: Record | None, text: str, line: _Raw) -> None:
        """Raise TraceError where another line begins within a line.

        Lines above the first one of the log are judged with that one, for it is known then how lines begin.

        Arguments: `whole`, the line as it was read, None where it is no line of the log.
        """
        if whole is None and not self.is_begun:
            if len(self.undecided) < MAX_LINES_ABOVE:
                self.undecided.append((text, line))
            return
        behind = 0 if whole is None else self.beginnings.know(text)
        if not self.is_begun:
            self.is_begun = True
            for above in self.undecided:
                self._refuse(None, *above, 0)
            self.undecided.clear()
        self._refuse(whole, text, line, behind)

    def _refuse(self, whole: Record | None, text: str, line: _Raw, behind: int) -> None:
        source, number, _ = line
        for at, stamp in self.beginnings.within(text, behind):
            rest = text[at:]
            if _is_open(text[:at]) and _is_open(rest):  # it stands within a quoted text
                continue
            fields = _fields(rest, self.splits)
            if fields is not None and self.is_appended(whole, Record(source, number, rest, fields), stamp):
                where = f"another line of the log begins at column {at + 1}"
                raise TraceError(source, number, f"two lines in one: {where}, {cut(rest)!r}; break it there")


def _is_open(text: str) -> bool:
    """Return whether a text has one quote more or less than it needs."""
    return (text.count('"') - text.count('\\"')) % 2 == 1


def _object(line: _Raw) -> Record:
    source, number, raw = line
    whole = raw if raw.endswith(b"\n") else raw + b"\n"
    return Record(source, number, _shown(raw), json_object(whole, source, number, "log"))


def _objects(lines: Iterable[_Raw], strays: StrayLines) -> Iterator[Record]:
    """Yield the lines that are JSON objects; a line with no part of one is a stray one."""
    for line in lines:
        source, number, raw = line
        if _PART_OF_OBJECT.search(raw) or beginning(raw, number) is not None or _is_array(raw):
            strays.know("{")
            yield _object(line)
        else:
            strays.add(source, number, _shown(raw), strict=True)


def _without_objects(lines: Iterable[_Raw], strays: StrayLines) -> Iterator[_Raw]:
    """Yield the lines of a text that are no JSON objects; another program wrote those."""
    for line in lines:
        if _is_object(line[2]):
            strays.add(line[0], line[1], _shown(line[2]), strict=False)
        else:
            yield line


def _is_array(raw: bytes) -> bool:
    """Return whether a line is JSON that is no object, such as a logger of JSON may write: `[INFO] ...` is none."""
    if not raw.lstrip().startswith(b"["):
        return False
    try:
        msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _texts(
    lines: Iterable[_Raw], splits: Sequence[Split], strays: StrayLines, appended: _Appended, strict: bool
) -> Iterator[Record]:
    """Yield the lines of a form, each with those below it, and the JSON objects between them."""
    above: Record | None = None
    below: list[str] = []
    for line in lines:
        record, text = _parsed(line, splits)
        if record is not None:
            if above is not None:
                yield _with(above, below)
            above, below = record, []
            strays.know(text)
            if not _is_object(line[2]):
                appended.refuse(record, text, line)
        elif above is not None and _BELOW.match(text):
            appended.refuse(None, text, line)
            below.append(text)
        else:
            if not strict:  # else it is refused if it looks damaged in any way
                appended.refuse(None, text, line)
            strays.add(line[0], line[1], text, strict=strict)
    if above is not None:
        yield _with(above, below)


def _parsed(line: _Raw, splits: Sequence[Split]) -> tuple[Record | None, str]:
    """Return a line with its fields, if it is of a form or JSON, and its text."""
    source, number, raw = line
    if problem := beginning(raw, number):
        raise TraceError(source, number, f"not a log: {problem}")
    text = _shown(raw)
    if _is_object(raw):
        return _object(line), text
    fields = _fields(text, splits)
    if fields is None:
        return None, text
    _refuse_no_utf8(raw, source, number)
    return Record(source, number, text, fields), text


def _fields(text: str, splits: Sequence[Split]) -> dict[str, Any] | None:
    return next((found for split in splits if (found := split(text)) is not None), None)


def _with(above: Record, below: list[str]) -> Record:
    return replace(above, fields={**above.fields, "below": "\n".join(below)}) if below else above


def _whole_lines(
    path: Path, log: RotatedLog, torn: Callable[[str], None], report: Callable[[int], None]
) -> Iterator[_Raw]:
    """Yield the lines of a file, but for the last one of the log if it is cut."""
    source = source_name(path)
    for number, raw in enumerate(log_bytes(path), start=1):
        if number % 1000 == 0:
            report(number)
        if not raw.endswith(b"\n") and beginning(raw, number) is None and not _is_object(raw):
            if path != log.paths[-1]:
                raise TraceError(source, number, f"the last line does not end, though {log.name} goes on")
            torn(f"{source}:{number}: the last line does not end, and is left out")
            return
        yield source, number, raw


def _is_object(raw: bytes) -> bool:
    """Return whether a line is a whole JSON object."""
    if not raw.lstrip().startswith(b"{"):
        return False
    try:
        return isinstance(msgspec.json.decode(raw), dict)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return False


def _shown(raw: bytes) -> str:
    return raw.decode("utf-8", "replace").rstrip("\r\n")


def _refuse_no_utf8(raw: bytes, source: str, number: int) -> None:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TraceError(source, number, f"the byte {raw[error.start]:#04x} is no UTF-8") from error


def log_bytes(path: Path) -> Iterator[bytes]:
    """Yield the lines of a log's file, which may be packed by gzip, `-` for standard input.

    Raises TraceError where a line is too long, UnreadableError where the file cannot be read.
    """
    if path == STDIN:
        yield from file_lines(path)
        return
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == _GZIP
        if packed:
            yield from _unpacked(path)
            return
    except OSError as error:
        if error.errno in OUT_OF_RESOURCES:
            raise
        raise UnreadableError(str(path), error) from error
    yield from file_lines(path)


def _unpacked(path: Path) -> Iterator[bytes]:
    with gzip.open(path, "rb") as file:
        reader: BinaryIO = file  # type: ignore[assignment]  # typeshed has no BinaryIO of it, but for the name's type
        lines = bounded_lines(reader, str(path))
        try:
            yield from lines
        except (EOFError, gzip.BadGzipFile, OSError) as error:
            raise UnreadableError(str(path), OSError(None, f"the gzip data is damaged: {error}")) from error
