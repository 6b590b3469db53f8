"""The format of a recording of hashicorp/raft."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import Any

import msgspec

from lockstep.systems.hashicorp import recording_lines as s
from lockstep.systems.hashicorp import recording_messages as m
from lockstep.systems.hashicorp.recording_lines import LogEntry
from lockstep.systems.recording_file import RecordingFormat, RecordingLine, line_kinds
from lockstep.trace.json_lines import TraceError, rephrase_error

CAPTURE_FORMAT = "hcraft-capture-1"

#: The version that the spec is of, and the one whose steps and messages are the same.
VERSIONS = ("v1.7.3", "v1.8.0")


def _check_line(line: RecordingLine, source: str) -> None:
    """Convert the body of a message by its type, and check the entries and values that a line has."""
    if isinstance(line, m.Send | m.Recv):
        line.body = _body(line, m.REQUESTS[line.msg], source)
        _check_entries(getattr(line.body, "entries", ()), "field `body.entries`", line, source)
    elif isinstance(line, m.Respond | m.ReplyRecv):
        line.body = _body(line, m.ANSWERS[line.msg], source)
    elif isinstance(line, s.StoreLogs):
        _check_entries(line.entries, "field `entries`", line, source)
    elif isinstance(line, s.StableSet | s.StableFail) and (line.key == "LastVoteCand") != isinstance(line.value, str):
        raise TraceError(source, line.number, f"field `value`: {line.value!r} is no value of {line.key}")


def _body(line: Any, to: type[m.Body], source: str) -> m.Body:
    try:
        return msgspec.convert(line.body, to)
    except msgspec.ValidationError as error:
        field, _, problem = rephrase_error(error, line.body).partition("`: ")
        name = field.removeprefix("field `")
        raise TraceError(source, line.number, f"field `body.{name}`: {problem}") from error


def _check_entries(entries: tuple[LogEntry, ...], field: str, line: RecordingLine, source: str) -> None:
    """Raise TraceError unless the indexes rise by one, and each entry has what its type has."""
    for before, entry in pairwise(entries):
        if entry.i != before.i + 1:
            raise TraceError(source, line.number, f"{field}: {entry.i} does not follow {before.i}")
    for entry in entries:
        if (entry.type in ("Noop", "Barrier")) != (entry.v is None):
            raise TraceError(source, line.number, f"{field}: a {entry.type} with {'a' if entry.v else 'no'} value `v`")


def _check_end(end: s.RecordingEnd, counts: Counter[str], source: str) -> None:
    lines = counts.total() + 1
    if end.events != lines:
        problem = f"field `events`: the end line counts {end.events}, the file has {lines}"
        raise TraceError(source, end.number, problem)


RECORDING = RecordingFormat(
    header=s.RecordingHeader,
    start=s.StartLine,
    end=s.RecordingEnd,
    kinds=line_kinds(s, m),
    required={"schema": (CAPTURE_FORMAT,), "library_version": VERSIONS},
    has_bootstrap=True,
    node_fields=("node", "to", "source", "peer"),
    check_line=_check_line,
    check_end=_check_end,
)
