"""Files in tasks: a trace, a recording or a log, plain or packed, as the numbered lines of one trace.

A file is read as a stream. A recording is first written into a temporary file, for its importer.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import pyarrow as pa

from lockstep.base.errors import OUT_OF_RESOURCES, BadInputError, GaveUpError
from lockstep.base.scratch import scratch
from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError
from lockstep.pipeline.file_locations import location
from lockstep.pipeline.store_tables import MAX_DEAD_LETTER_BYTES
from lockstep.systems.registry import raw_formats
from lockstep.systems.system import BEGINNING_BYTES, ImportOptions
from lockstep.systems.trace_files import imported_trace
from lockstep.trace.imported_trace import Imported
from lockstep.trace.json_lines import TraceError, UnreadableError, bounded_lines, json_object
from lockstep.trace.trace_format import Event, trace_lines

#: The first bytes of packed files, with the codec that unpacks them.
_CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}

#: The endings of the names of packed files.
PACKED_SUFFIXES = (".gz", ".zst")

#: The ways to group logs, for a mapping to read them: each file alone, or all files of a folder as those of one system.
EACH, TOGETHER = "each", "together"

_BUFFER_BYTES = 1 << 20


def unpacked_name(name: str) -> str:
    """Return the name of a file without the ending that says how it is packed."""
    return next((name.removesuffix(suffix) for suffix in PACKED_SUFFIXES if name.endswith(suffix)), name)


class FileRow(NamedTuple):
    """A line of a trace, or with a `reason` a dead letter; `line` is its number in the file, 0 for the whole file."""

    seq: int
    bytes: bytes
    line: int
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read: the `uri`, how messages name it (`source`), and the `trace` that it becomes.

    `is_log`: its lines are stored as they are, for a mapping to read them; `version`, of the system that wrote it, if
    the file does not name it; `isolation`, of the import.
    """

    uri: str
    source: str
    trace: str
    is_log: bool = False
    version: str | None = None
    isolation: Isolation = field(default_factory=Isolation)

    def rows(self) -> Iterator[FileRow]:
        """Yield the lines of the trace, and the dead letters.

        Raises OSError where it is not the file that is wrong, such as where a network fails: another try may read it;
        WorkDiedError where it kills the processes that import it.
        """
        try:
            yield from self._rows()
        except UnreadableError as error:
            if isinstance(error.__cause__, OSError) and not _is_fault_of_file(error.__cause__):
                raise error.__cause__ from error
            yield dead_row(0, str(error).removeprefix(f"{self.source}: "))
        except TraceError as error:
            yield dead_row(error.line, error.problem)
        except (BadInputError, GaveUpError) as error:
            yield dead_row(0, str(error))

    def _rows(self) -> Iterator[FileRow]:
        with self._stream() as stream:
            begin = self._beginning(stream)
            lines = bounded_lines(cast(BinaryIO, stream), self.source)
            if self.is_log:
                yield from (FileRow(seq, text, seq + 1) for seq, text in enumerate(lines))
            elif any(raw.recognises(Path(self.trace), begin) for _, raw in raw_formats()):
                yield from self._imported(stream)
            else:
                yield from _trace_rows(lines, self.source)
            if not begin:
                yield dead_row(0, "the file is empty")

    @contextmanager
    def _stream(self) -> Iterator[io.BufferedReader]:
        where = location(self.uri)
        try:
            file = where.files.open_input_file(where.path)
        except OSError as error:
            if error.errno in OUT_OF_RESOURCES:
                raise
            raise UnreadableError(self.source, error) from error
        with file:
            begin = file.read(4)
            file.seek(0)
            codec = next((codec for magic, codec in _CODECS.items() if begin.startswith(magic)), None)
            stream = file if codec is None else pa.CompressedInputStream(file, codec)
            with io.BufferedReader(stream, _BUFFER_BYTES) as buffered:
                yield buffered

    def _beginning(self, stream: io.BufferedReader) -> bytes:
        try:
            return stream.peek(BEGINNING_BYTES)[:BEGINNING_BYTES]
        except OSError as error:
            raise UnreadableError(self.source, error) from error

    def _imported(self, stream: io.BufferedReader) -> Iterator[FileRow]:
        with scratch("recording") as folder:
            file = folder / Path(self.trace).name
            with file.open("wb") as copy:
                copy.writelines(bounded_lines(cast(BinaryIO, stream), self.source))
            try:
                if self.isolation.is_isolated:
                    yield from self.isolation.run(lambda: list(self._recording_rows(file)))
                else:
                    yield from self._recording_rows(file)
            except WorkDiedError as error:
                raise WorkDiedError(f"{self.source}: the import of this recording {error}") from error
            except TraceError as error:
                raise TraceError(self.source, error.line, error.problem) from error
            except (BadInputError, GaveUpError) as error:
                raise type(error)(str(error).replace(str(file), self.source)) from error

    def _recording_rows(self, file: Path) -> Iterator[FileRow]:
        return _imported_rows(imported_trace(file, ImportOptions(self.version)))


def _is_fault_of_file(error: OSError) -> bool:
    """Return whether a file cannot be read wherever that is tried: it is gone, forbidden, or packed wrongly."""
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
        return True
    return error.errno is None and bool(re.search("compress|zlib|zstd", str(error), re.IGNORECASE))


def dead_row(line: int, reason: str, text: bytes = b"") -> FileRow:
    """Return the row of a dead letter."""
    return FileRow(-1, text[:MAX_DEAD_LETTER_BYTES], line, reason)


def _trace_rows(lines: Iterator[bytes], source: str) -> Iterator[FileRow]:
    """Yield the lines of a trace; a line that is no JSON object leaves a gap in their numbers."""
    for seq, text in enumerate(lines):
        try:
            json_object(text, source, seq + 1, "trace")
        except TraceError as error:
            yield dead_row(seq + 1, error.problem, text)
            if seq == 0:  # without a header the rest is nothing
                return
        else:
            yield FileRow(seq, text, seq + 1)


def _imported_rows(imported: Imported) -> Iterator[FileRow]:
    """Yield the lines of a trace that was imported, each event with its recorded line."""
    line = 0

    def events() -> Iterator[Event]:
        nonlocal line
        for event in imported.events:
            line = event.line or 0
            yield event

    for seq, text in enumerate(trace_lines(imported.header, events())):
        yield FileRow(seq, text, line)
