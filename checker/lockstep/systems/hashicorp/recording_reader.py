"""Reading a recording, and accepting nothing else.

The first line is the header, the last the end line, which counts all. An unknown kind or field, a missing field, a gap,
a file without an end line: each is a TraceError that names the file, the line and the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from lockstep.systems.hashicorp import recording_lines as s
from lockstep.systems.hashicorp import recording_messages as m
from lockstep.systems.hashicorp.recording_lines import LogEntry, NodeLine, RecordingLine
from lockstep.trace.json_lines import TraceError, convert_line, file_lines, json_object, rephrase_error

CAPTURE_FORMAT = "hcraft-capture-1"

#: The version that the spec is of.
VERSION = "v1.7.3"

AnyLine = (
    s.RecordingHeader | s.StartLine | s.StartedLine | s.StopBeginLine | s.StoppedLine | s.FinalLine | s.RecordingEnd
    | s.ClientReq | s.ClientResp | s.TransferReq | s.TransferResp
    | s.PartitionLine | s.HealLine | s.CutLine | s.ScriptLine | s.FaultsOffLine
    | s.StableSet | s.StableFail | s.StoreLogs | s.DeleteRange | s.StateLine | s.LeaderLine
    | s.FsmApply | s.FsmSnapshot | s.FsmRestore | s.SnapshotSaved
    | s.LibLog | s.HeartbeatFailed | s.HeartbeatResumed
    | m.Send | m.Duplicate | m.Recv | m.Respond | m.ReplyRecv | m.Drop | m.ReplyDrop | m.RpcError
)  # fmt: skip


def read_recording(path: Path) -> tuple[s.RecordingHeader, list[RecordingLine]]:
    """Return the header of a recording, and the lines between it and the end line.

    Raises TraceError where the file is not a whole recording, and UnreadableError where it cannot be read.
    """
    return parse_lines(file_lines(path), str(path))


def parse_lines(raw: Iterable[bytes], source: str) -> tuple[s.RecordingHeader, list[RecordingLine]]:
    """Do the same for lines that were read already; `source` names them in messages."""
    lines = list(_decoded(raw, source))
    if not lines:
        raise TraceError(source, 1, "the file is empty: a recording starts with a header line")
    header, *rest = lines
    if not isinstance(header, s.RecordingHeader):
        raise TraceError(source, 1, "field `kind`: the first line must be a header")
    _check_header(header, source)
    if not rest or not isinstance(rest[-1], s.RecordingEnd):
        raise TraceError(source, len(lines), "the file is truncated: it has no end line")
    *body, end = rest
    assert isinstance(end, s.RecordingEnd)
    if end.events != len(lines):
        problem = f"field `events`: the end line counts {end.events}, the file has {len(lines)}"
        raise TraceError(source, end.number, problem)
    _check_body(header, body, source)
    return header, body


def _check_header(header: s.RecordingHeader, source: str) -> None:
    for name, known in (("schema", CAPTURE_FORMAT), ("library_version", VERSION)):
        if getattr(header, name) != known:
            raise TraceError(source, 1, f"field `{name}`: {getattr(header, name)!r} is not {known!r}")
    if len(set(header.nodes)) != len(header.nodes):
        raise TraceError(source, 1, "field `nodes`: a node is named twice")


def _check_body(header: s.RecordingHeader, body: list[RecordingLine], source: str) -> None:
    before, lives = header.t_ms, dict.fromkeys(header.nodes, 0)
    for line in body:
        if isinstance(line, s.RecordingHeader | s.RecordingEnd):
            raise TraceError(source, line.number, f"field `kind`: a second {line.kind}")
        if not line.t_ms >= before:
            raise TraceError(source, line.number, f"field `t_ms`: {line.t_ms} is less than {before}, in the line above")
        before = line.t_ms
        if not isinstance(line, NodeLine):
            continue
        for name in ("node", "to", "source", "peer"):
            named = getattr(line, name, None)
            if named not in (None, "") and named not in lives:
                field = "from" if name == "source" else name
                raise TraceError(source, line.number, f"field `{field}`: {named!r} is not in the header")
        if isinstance(line, s.StartLine):
            lives[line.node] += 1
        if line.inc != lives[line.node] and not isinstance(line, s.ClientResp):
            problem = f"field `inc`: {line.inc}, but {line.node} is in life {lives[line.node]}"
            raise TraceError(source, line.number, problem)


def _decoded(raw: Iterable[bytes], source: str) -> Iterator[RecordingLine]:
    for number, text in enumerate(raw, start=1):
        if number == 1 and b'"lockstep-trace/' in text[:200]:
            raise TraceError(source, 1, "no recording, but a trace: `lockstep check` takes it as it is")
        tree = json_object(text, source, number, "recording")
        line: RecordingLine = convert_line(tree, AnyLine, source, number)
        if line.seq != number - 1:
            raise TraceError(source, number, f"field `seq`: {line.seq} is not {number - 1}")
        if isinstance(line, m.Send | m.Recv):
            line.body = _body(line, m.REQUESTS[line.msg], source)
            _check_entries(getattr(line.body, "entries", ()), "field `body.entries`", line, source)
        elif isinstance(line, m.Respond | m.ReplyRecv):
            line.body = _body(line, m.ANSWERS[line.msg], source)
        elif isinstance(line, s.StoreLogs):
            _check_entries(line.entries, "field `entries`", line, source)
        elif isinstance(line, s.StableSet | s.StableFail) and (line.key == "LastVoteCand") != isinstance(
            line.value, str
        ):
            raise TraceError(source, number, f"field `value`: {line.value!r} is no value of {line.key}")
        yield line


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
        if (entry.type == "Noop") != (entry.v is None):
            raise TraceError(source, line.number, f"{field}: a {entry.type} with {'a' if entry.v else 'no'} value `v`")
