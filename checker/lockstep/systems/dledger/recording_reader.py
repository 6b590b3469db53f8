"""Reading a recording, and accepting nothing else.

The first line is the header, the last the end line, which counts the lines before it by kind. An unknown kind or
field, a missing field, a gap, a file without an end line: each is a TraceError that names the file, the line and the
field.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from lockstep.systems.dledger.recording_lines import (
    CheckpointLine,
    ClientAck,
    ClientAppend,
    CrashLine,
    DispatcherLine,
    DroppedLine,
    DuplicatedLine,
    FaultLine,
    FinalLine,
    HeldLine,
    LogEntry,
    NetErrorLine,
    NodeLine,
    NoteLine,
    PushLine,
    QueueLine,
    QuiescedLine,
    RecordingEnd,
    RecordingHeader,
    RecordingLine,
    RecoveredLine,
    RecvAppend,
    RecvHeartbeat,
    RecvPush,
    RecvRespHeartbeat,
    RecvRespPush,
    RecvRespVote,
    RecvVote,
    RespAppend,
    RespHeartbeat,
    RespPush,
    RespVote,
    RoleLine,
    SendHeartbeat,
    SendPush,
    SendVote,
    StartLine,
    StopLine,
    StoppingLine,
    StoreLine,
    VoteParse,
    WatermarkLine,
)
from lockstep.trace.json_lines import TraceError, convert_line, file_lines, json_object

CAPTURE_FORMAT = "dledger-capture/1"
AnyLine = (
    RecordingHeader | StartLine | RecoveredLine | FinalLine | RecordingEnd | CrashLine | StoppingLine | StopLine
    | SendPush | RecvPush | QueueLine | RespPush | RecvRespPush | DispatcherLine | WatermarkLine
    | StoreLine | CheckpointLine | RoleLine | DroppedLine | DuplicatedLine | HeldLine | NetErrorLine
    | SendVote | RecvVote | RespVote | RecvRespVote | VoteParse
    | SendHeartbeat | RecvHeartbeat | RespHeartbeat | RecvRespHeartbeat
    | ClientAppend | RecvAppend | RespAppend | ClientAck | FaultLine | NoteLine | QuiescedLine
)  # fmt: skip


def read_recording(path: Path | str) -> tuple[RecordingHeader, Iterator[RecordingLine]]:
    """Open a recording; return its header and an iterator of the lines between it and the end line.

    Raises TraceError, at once or while it is iterated, where the file is not a whole recording, and OSError
    where it cannot be read.
    """
    return parse_lines(file_lines(Path(path)), str(path))


def parse_lines(raw: Iterable[bytes], source: str) -> tuple[RecordingHeader, Iterator[RecordingLine]]:
    """Do the same for lines that were read already; `source` names them in messages."""
    raw = iter(raw)
    first = next(raw, b"")
    if b'"lockstep-trace/' in first[:200]:
        raise TraceError(source, 1, "no recording, but a trace: `lockstep check` takes it as it is")
    lines = _decoded(chain([first] if first else [], raw), source)
    header = next(lines, None)
    if header is None:
        raise TraceError(source, 1, "the file is empty: a recording starts with a header line")
    if not isinstance(header, RecordingHeader):
        raise TraceError(source, 1, "field `kind`: the first line must be a header")
    if header.format != CAPTURE_FORMAT:
        raise TraceError(source, 1, f"field `format`: {header.format!r} is not {CAPTURE_FORMAT!r}")
    if len(set(header.nodes)) != len(header.nodes):
        raise TraceError(source, 1, "field `nodes`: a node is named twice")
    return header, _body(header, lines, source)


def _body(header: RecordingHeader, lines: Iterator[RecordingLine], source: str) -> Iterator[RecordingLine]:
    counts = Counter({"header": 1})
    number, before = 1, header.t_ms
    lives: Counter[str] = Counter()
    for line in lines:
        number = line.number
        if isinstance(line, RecordingHeader):
            raise TraceError(source, number, "field `kind`: a second header")
        if not line.t_ms >= before:
            raise TraceError(source, number, f"field `t_ms`: {line.t_ms} is less than {before}, in the line above")
        before = line.t_ms
        if isinstance(line, RecordingEnd):
            _check_end(line, counts, source)
            extra = next(lines, None)
            if extra is not None:
                raise TraceError(source, extra.number, "there is more after the end line")
            return
        if isinstance(line, NodeLine) and line.node not in header.nodes:
            raise TraceError(source, number, f"field `node`: {line.node!r} is not in the header")
        _check_life(line, lives, source)
        counts[str(line.__struct_config__.tag)] += 1
        yield line
    raise TraceError(source, number, "the file is truncated: it has no end line")


def _check_life(line: RecordingLine, lives: Counter[str], source: str) -> None:
    """Raise TraceError where a line is not of the life that its node is in."""
    if not isinstance(line, NodeLine):
        return
    if isinstance(line, StartLine):
        lives[line.node] += 1
    if line.inc != lives[line.node]:
        raise TraceError(source, line.number, f"field `inc`: {line.inc}, but {line.node} is in life {lives[line.node]}")


def _check_end(end: RecordingEnd, counts: Counter[str], source: str) -> None:
    for kind in sorted(counts.keys() | end.counts.keys()):
        if counts[kind] != end.counts.get(kind, 0):
            problem = f"the end line counts {end.counts.get(kind, 0)}, the file has {counts[kind]}"
            raise TraceError(source, end.number, f"field `counts.{kind}`: {problem}")


def _decoded(raw: Iterable[bytes], source: str) -> Iterator[RecordingLine]:
    for number, text in enumerate(raw, start=1):
        line: RecordingLine = convert_line(json_object(text, source, number, "recording"), AnyLine, source, number)
        if line.seq != number - 1:
            raise TraceError(source, number, f"field `seq`: {line.seq} is not {number - 1}")
        for field in line.required_fields():
            if getattr(line, field) is None:
                raise TraceError(source, number, f"field `{field}`: missing")
        if isinstance(line, PushLine) and line.entries is not None:
            _check_batch(line, line.entries, source)
        yield line


def _check_batch(line: PushLine, entries: tuple[LogEntry, ...], source: str) -> None:
    """Raise TraceError unless these are `count` entries of an APPEND, from `index` on."""
    if line.type != "APPEND":
        raise TraceError(source, line.number, f"field `entries`: a {line.type} carries one entry")
    if not entries or len(entries) != line.count:
        raise TraceError(source, line.number, f"field `count`: {line.count}, and {len(entries)} entries")
    assert line.index is not None
    for offset, (index, _, _) in enumerate(entries):
        if index != line.index + offset:
            raise TraceError(source, line.number, f"field `entries`: {index} is not {line.index + offset}")
