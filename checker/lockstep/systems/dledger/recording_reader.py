"""The format of a recording of DLedger."""

from collections import Counter

from lockstep.systems.dledger import recording_lines
from lockstep.systems.dledger.recording_lines import LogEntry, PushLine, RecordingEnd, RecordingHeader, StartLine
from lockstep.systems.recording_file import RecordingFormat, RecordingLine, line_kinds
from lockstep.trace.json_lines import TraceError

CAPTURE_FORMAT = "dledger-capture/1"


def _check_line(line: RecordingLine, source: str) -> None:
    if isinstance(line, PushLine) and line.entries is not None:
        _check_batch(line, line.entries, source)


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


def _check_end(end: RecordingEnd, counts: Counter[str], source: str) -> None:
    for kind in sorted(counts.keys() | end.counts.keys()):
        if counts[kind] != end.counts.get(kind, 0):
            problem = f"the end line counts {end.counts.get(kind, 0)}, the file has {counts[kind]}"
            raise TraceError(source, end.number, f"field `counts.{kind}`: {problem}")


RECORDING = RecordingFormat(
    header=RecordingHeader,
    start=StartLine,
    end=RecordingEnd,
    kinds=line_kinds(recording_lines),
    required={"format": (CAPTURE_FORMAT,)},
    has_bootstrap=False,
    node_fields=("node",),
    check_line=_check_line,
    check_end=_check_end,
)
