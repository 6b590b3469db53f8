"""The trace format: one header line, one line an event, one end line (NDJSON).

A trace lists the actions that the nodes of a system took, and what each node showed afterwards. It is compared
with the spec and never written into the spec's state. The end line makes a file that is cut at a line break differ
from a whole one.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from lockstep.base.whole_files import writing_whole
from lockstep.trace.json_lines import MAX_INTEGER

FORMAT = "lockstep-trace/1"

#: The `system` of a header whose trace a Python reference wrote: each of its events shows all of its node.
REFERENCE = "raftref"

#: The action of an event that is no step: the node only shows something.
OBSERVE = "Observe"

Count = Annotated[int, Meta(ge=0, le=MAX_INTEGER)]
Name = Annotated[str, Meta(min_length=1, max_length=200)]


class Header(msgspec.Struct, tag="header", tag_field="kind", forbid_unknown_fields=True, frozen=True):
    """The source of a trace, and the spec that its actions are of.

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
    several, and none of them agrees with all that was recorded; so it is from a forced event on, too.
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


_encoder = msgspec.json.Encoder()


def trace_lines(header: Header, events: Iterable[Event]) -> Iterator[bytes]:
    """Yield the lines of a trace: header, events, end."""
    yield _encoder.encode(header) + b"\n"
    count = 0
    for event in events:
        yield _encoder.encode(event) + b"\n"
        count += 1
    yield end_line(count)


def end_line(events: int) -> bytes:
    """Return the end line of a trace with this many events."""
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
