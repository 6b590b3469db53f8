"""The trace format: one header line, one line an event, one end line (NDJSON).

A trace tells which actions the nodes of a system took and what each node showed afterwards. It is compared
with the spec and never written into the spec's state. The end line makes a file cut at a line break differ
from a whole one.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lockstep.base.whole_files import writing_whole
from lockstep.tla.values.html_table import table
from lockstep.trace.json_lines import (
    MAX_INTEGER,
    MAX_LINE_BYTES,
    MIN_INTEGER,
    TraceError,
    converted,
    file_lines,
    plain_object,
    source_name,
    unreasonable,
)

__all__ = [
    "FORMAT",
    "MAX_LINE_BYTES",
    "OBSERVE",
    "End",
    "Event",
    "Header",
    "Trace",
    "TraceError",
    "TracePart",
    "after_the_end",
    "end_line",
    "json_schema",
    "not_rising",
    "read_trace",
    "trace_lines",
    "write_trace",
]

FORMAT = "lockstep-trace/1"

#: The `system` of a header whose trace a Python reference wrote: each of its events shows all of its node.
REFERENCE = "raftref"

#: The action of an event that is no step: the node only shows something.
OBSERVE = "Observe"

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Header(msgspec.Struct, tag="header", tag_field="kind", forbid_unknown_fields=True, frozen=True):
    """What a trace was recorded from, and the spec that it is told in.

    `constants` gives every constant of the spec that has a choice (flaw switches, grain); `spec_hash` is that
    of the spec when the trace was written, or empty where the writer had none. `origin` is free text: where
    the recording came from. `scenario` names the seed or plan that reproduces it.
    """

    format: str
    system: Name
    version: Name
    spec: Name
    nodes: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=64)]
    constants: dict[str, bool | str | int]
    spec_hash: Annotated[str, Meta(pattern=r"^([0-9a-f]{64})?$")] = ""
    origin: str = ""
    scenario: str = ""


class Event(msgspec.Struct, tag="event", tag_field="kind", forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """One step of one node, and what that node shows after it.

    `action` is an action of the spec's Next, or "Observe"; `args` are its parameters by the spec's names;
    `shows` is compared with the spec's Observe(node), objects key by key (a part may be shown), arrays
    whole; `sent` are the messages that the step sent, all of them, or absent where that was not observed.
    `seq`, `t_ms` (milliseconds) and `line` (of the recording it was imported from) are not compared with the
    spec; `seq` must rise. `forced`: it stands where something that was recorded contradicts it, and no place agrees
    with all; a trace with such an event does not hold. `disputed`: from this event on the order of the events is one of
    several, none of which agrees with all that was recorded; so it is from a forced one on, too.
    """

    seq: Count
    node: Name
    action: Name
    args: dict[str, Any] = {}
    shows: dict[str, Any] = {}
    sent: tuple[dict[str, Any], ...] | None = None
    t_ms: float | None = None
    line: Count | None = None
    forced: bool = False
    disputed: bool = False


class End(msgspec.Struct, tag="end", tag_field="kind", forbid_unknown_fields=True, frozen=True):
    """The last line: how many events stand before it."""

    events: Count


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
        header = _decode(first, source, number)
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
        """Show what the header says in a notebook; no event is read for it."""
        rows = [(name, _encoder.encode(getattr(self.header, name)).decode()) for name in self.header.__struct_fields__]
        return table(self.source, ["header", "value"], rows)


class TracePart:
    """Some of the lines of a trace, one after the other, read as those of the whole trace are.

    Iterating yields (line number, event) and raises TraceError. What needs the lines before is left to whoever puts
    parts together: `first_seq` and `last_seq` are those of the events that were read, None before there is one,
    `has_ended` tells that the end line was read, and `last_line` is the number of the last line once all are read.
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

        Arguments: `lines` with their numbers, of which that of the header is 1; `source` names the file in messages;
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
            item = _decode(line, self.source, number, self._least_integer)
            if isinstance(item, Event):
                if item.node not in self.header.nodes:
                    raise TraceError(self.source, number, f"field `node`: {item.node!r} is not in the header")
                if self.last_seq is None:
                    self.first_seq = item.seq
                elif item.seq <= self.last_seq:
                    raise not_rising(self.source, number, item.seq, self.last_seq)
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
            raise after_the_end(self.source, extra[0])


def not_rising(source: str, number: int, seq: int, last: int) -> TraceError:
    """Make the error of an event whose `seq` is not above that of the event before."""
    return TraceError(source, number, f"field `seq`: {seq} does not rise above {last}")


def after_the_end(source: str, number: int) -> TraceError:
    """Make the error of a line that stands behind the end line."""
    return TraceError(source, number, "there is more after the end line")


#: The bytes at the end of a file among which its end line is looked for.
_END_BYTES = 256


def events_at_end(path: Path) -> int | None:
    """Return how many events the end line of a trace counts, read without the lines before; None where none is found.

    A reader of the whole file checks the count; this one serves to say how far that has come.
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


_encoder = msgspec.json.Encoder()
_AnyLine = Header | Event | End


def _decode(text: bytes, source: str, number: int, least: int = MIN_INTEGER) -> Header | Event | End:
    tree, plain = plain_object(text, source, number, "trace", least)
    line: Header | Event | End = converted(tree, _AnyLine, source, number)
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


def trace_lines(header: Header, events: Iterable[Event]) -> Iterator[bytes]:
    """Yield the lines of a trace: header, events, end."""
    yield _encoder.encode(header) + b"\n"
    count = 0
    for event in events:
        yield _encoder.encode(event) + b"\n"
        count += 1
    yield end_line(count)


def end_line(events: int) -> bytes:
    """Return the end line of a trace of so many events."""
    return _encoder.encode(End(events=events)) + b"\n"


def write_trace(path: Path | str, header: Header, events: Iterable[Event]) -> int:
    """Write a trace to `path` whole or not at all; return how many events it has.

    Raises OSError where it cannot be written.
    """
    count = -2  # all lines but the header and the end line
    with writing_whole(Path(path)) as file:
        for line in trace_lines(header, events):
            file.write(line)
            count += 1
    return count


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a line of a trace, which names the fields that are not compared."""
    schema = msgspec.json.schema(Header | Event | End)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = FORMAT
    schema["description"] = (
        "One line of a trace. Not compared with the spec: t_ms, line, forced and disputed (a trace with a forced event "
        "does not hold, and is not violated by what is wrong from a forced or disputed one on) and seq (which must "
        "rise) of an event; "
        "system, version, spec_hash, origin and scenario of a header. Compared where it is given: shows, by its "
        "parts; sent, which then lists every message that the step sent."
    )
    return schema
