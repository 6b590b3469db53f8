"""Reading traces: each line is parsed, and what stands between the lines (order of `seq`, the end line) is checked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from lockstep.tla.values.html_table import table
from lockstep.trace.json_lines import (
    MIN_INTEGER,
    TraceError,
    convert_line,
    file_lines,
    plain_object,
    source_name,
    unreasonable,
)
from lockstep.trace.trace_format import FORMAT, End, Event, Header

_AnyLine = Header | Event | End


def parse_trace_line(text: bytes, source: str, number: int, least: int = MIN_INTEGER) -> Header | Event | End:
    """Parse a line of a trace.

    Arguments: `source` and `number`, of the line, for messages; `least`, the least integer that an event may have.
    Raises TraceError where it is malformed.
    """
    tree, plain = plain_object(text, source, number, "trace", least)
    line: Header | Event | End = convert_line(tree, _AnyLine, source, number)
    if isinstance(line, Event) and not plain:
        for field, value in (("args", line.args), ("shows", line.shows), ("sent", line.sent)):
            problem = unreasonable(value, field, least)
            if problem:
                raise TraceError(source, number, problem)
    return line


def read_trace(path: Path | str) -> Trace:
    """Open the trace at `path`; its events are read while it is iterated.

    Raises TraceError where the file is malformed and UnreadableError where it cannot be read.
    """
    return Trace(file_lines(Path(path)), source_name(Path(path)))


class Trace:
    """A trace that is read while it is iterated: memory is that of one event.

    `header` is read at once; iterating yields (line number, event) and raises TraceError where the file is
    malformed, out of order, or ends before its end line. `least_integer` is the least that an event may have.
    """

    least_integer = MIN_INTEGER

    def __init__(self, lines: Iterable[bytes], source: str) -> None:
        """Read the header from `lines`; `source` names the file in messages."""
        self.source = source
        self._lines = enumerate(lines, start=1)
        number, first = next(self._lines, (1, None))
        if first is None:
            raise TraceError(source, 1, "the file is empty: a trace starts with a header line")
        header = parse_trace_line(first, source, number)
        if not isinstance(header, Header):
            raise TraceError(source, number, "field `kind`: the first line must be a header")
        if header.format != FORMAT:
            raise TraceError(source, number, f"field `format`: {header.format!r} is not {FORMAT!r}")
        if len(set(header.nodes)) != len(header.nodes):
            raise TraceError(source, number, "field `nodes`: a node is named twice")
        self.header = header

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event) up to the end line, which must be there and be right."""
        return iter(TracePart(self.header, self._lines, self.source, least_integer=self.least_integer))

    def _repr_html_(self) -> str:
        """Show the header in a notebook; no event is read for it."""
        rows = [
            (name, msgspec.json.encode(getattr(self.header, name)).decode()) for name in self.header.__struct_fields__
        ]
        return table(self.source, ["header", "value"], rows)


class TracePart:
    """Some of the lines of a trace, one after the other, read as those of the whole trace are.

    Iterating yields (line number, event) and raises TraceError. Checks across parts are left to the caller that puts
    them together: `first_seq` and `last_seq` are those of the events that were read, None before there is one;
    `has_ended` is true once the end line was read, and `last_line` is the number of the last line once all are read.
    """

    def __init__(
        self,
        header: Header,
        lines: Iterable[tuple[int, bytes]],
        source: str,
        *,
        before: int = 1,
        is_last: bool = True,
        least_integer: int = MIN_INTEGER,
    ) -> None:
        """Read a part of a trace.

        Arguments: `lines` with their numbers, which begin with 1 for the header; `source` names the file in messages;
        `before`, the number of the line before; `is_last`, whether the trace must end with this part; `least_integer`
        that an event may have.
        """
        self.header, self.source = header, source
        self.first_line, self.last_line = before + 1, before
        self._lines, self._is_last = iter(lines), is_last
        self._least_integer = least_integer
        self.first_seq: int | None = None
        self.last_seq: int | None = None
        self.has_ended = False

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield (line number, event)."""
        number = self.last_line
        for number, line in self._lines:
            item = parse_trace_line(line, self.source, number, self._least_integer)
            if isinstance(item, Event):
                if item.node not in self.header.nodes:
                    raise TraceError(self.source, number, f"field `node`: {item.node!r} is not in the header")
                if self.last_seq is None:
                    self.first_seq = item.seq
                elif item.seq <= self.last_seq:
                    raise not_rising_error(self.source, number, item.seq, self.last_seq)
                self.last_seq = item.seq
                yield number, item
                continue
            if isinstance(item, Header):
                raise TraceError(self.source, number, "field `kind`: a second header")
            self._check_end(item, number)
            break
        self.last_line = number
        if self._is_last and not self.has_ended:
            raise TraceError(self.source, number, "the file is truncated: it has no end line")

    def _check_end(self, end: End, number: int) -> None:
        self.has_ended = True
        count = number - 2  # all lines before but the header
        if end.events != count:
            problem = f"field `events`: the end line counts {end.events} events, the file has {count}"
            raise TraceError(self.source, number, problem)
        extra = next(self._lines, None)
        if extra is not None:
            raise after_end_error(self.source, extra[0])


def not_rising_error(source: str, number: int, seq: int, last: int) -> TraceError:
    """Make the error of an event whose `seq` is not above that of the event before."""
    return TraceError(source, number, f"field `seq`: {seq} does not rise above {last}")


def after_end_error(source: str, number: int) -> TraceError:
    """Make the error of a line that stands behind the end line."""
    return TraceError(source, number, "there is more after the end line")


#: The bytes at the end of a file among which its end line is looked for.
_END_BYTES = 256


def events_at_end(path: Path) -> int | None:
    """Return how many events the end line of a trace counts, read without the lines before; None where none is found.

    The count is not checked here; it serves to report the progress of a reader of the whole file.
    """
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - _END_BYTES))
            last = file.read().rstrip().rpartition(b"\n")[2]
        return msgspec.json.decode(last, type=End).events
    except (OSError, msgspec.MsgspecError):
        return None
