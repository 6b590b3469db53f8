"""The lines of DLedger's own logger: who says what, and what of it the spec knows.

A line is `MILLISECONDS seq<N [NODE/INCARNATION] LEVEL [THREAD] LOGGER - TEXT`; what an exception adds is indented
below it. The texts are DLedger's, those of 0.2.7 and 0.3.1; `seq` is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from lockstep.trace.json_lines import MAX_INTEGER, TraceError, beginning, file_lines

_HEAD = re.compile(
    r"(?P<t_ms>\d{1,15}(?:\.\d{1,9})?) seq<\d+ \[(?:-|(?P<node>[^\]/ ]{1,200})/(?P<incarnation>\d{1,9}))\] "
    r"[A-Z]+ \[[^\]]*\] \S+ - (?P<text>.*)",
    re.ASCII,
)

#: What the lines say that the spec knows, by the name that a reader of lines has for it. Source, in this order:
#: DLedgerLeaderElector.changeRoleTo..., maintainAsCandidate, maintainAsFollower; EntryDispatcher.changeState,
#: doCompare, doTruncate, doWork, doCheckAppendResponse; EntryHandler.handleDoCompare, handleDoTruncate;
#: QuorumAckChecker.doWork; DLedgerMmapFileStore.updateCommittedIndex, recover; again DLedgerLeaderElector.
_TEXTS = {
    "candidate": r"\[\S+\] ?\[ChangeRoleToCandidate\] from term: -?\d+ and currTerm: (?P<term>\d+)",
    "follower": r"\[\S+\] ?\[ChangeRoleToFollower\] from term: (?P<term>\d+) leaderId: (?P<leader>\S+) and ",
    "leader": r"\[\S+\] ?\[ChangeRoleToLeader\] from term: (?P<term>\d+) and currTerm: \d+",
    "next_term": r"\S+_\[INCREASE_TERM\] from (?P<old>\d+) to (?P<term>\d+)",
    "heartbeat_timeout": r"\[\S+\]\[HeartBeatTimeOut\] .*lastLeader=(?P<leader>\S+)",
    "change_state": r"\[Push-(?P<peer>\S+)\]Change state from (?P<old>[A-Z]+) to (?P<new>[A-Z]+) at (?P<index>-?\d+)",
    "do_compare": r"\[Push-(?P<peer>\S+)\]\[DoCompare\] compareIndex=-1 means start to compare",
    "do_truncate": r"\[Push-(?P<peer>\S+)\]Will push data to truncate truncateIndex=(?P<index>\d+) pos=\d+",
    "dispatcher_error": (
        r"\[Push-(?P<peer>\S+)\]Error in \S+ writeIndex=(?P<write>-?\d+) compareIndex=(?P<compare>-?\d+)"
    ),
    "retry": r"\[Push-(?P<peer>\S+)\]Retry to push entry at (?P<index>\d+)",
    "handle_compare": r"\[HandleDoCompare\] compareIndex=(?P<index>\d+)",
    "handle_truncate": r"\[HandleDoTruncate\] truncateIndex=(?P<index>\d+) pos=\d+",
    "status": (
        r"\[\S+\]\[(?P<role>LEADER|FOLLOWER|CANDIDATE)\] term=(?P<term>\d+) ledgerBegin=(?P<begin>-?\d+) "
        r"ledgerEnd=(?P<end>-?\d+) committed=(?P<committed>-?\d+) watermarks=\{(?P<marks>.*)\}"
    ),
    "skip_commit": r"\[MONITOR\]Skip update committed index for new=(?P<new>-?\d+) < old=(?P<committed>-?\d+)",
    "recovered_end": r"Recover data to the end entryIndex=(?P<end>-?\d+)",
    "recovered_committed": r"Recover to get committed index=(?P<committed>-?\d+) from checkpoint",
    "vote_result": r"\[\S+\] \[PARSE_VOTE_RESULT\] .*memberNum=(?P<members>\d+) ",
}
_PATTERNS = {kind: re.compile(text, re.ASCII) for kind, text in _TEXTS.items()}
_NAMES = ("peer", "leader")  # which may look like numbers
_MOST_DIGITS = 20
_RANGE = re.compile(r"\] -?\d+ should between -?\d+-(?P<end>-?\d+)$")
_MARKS_OF_TERM = re.compile(r"(\d+)=\{([^}]*)\}")


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: its number in the file, the node and its incarnation ("" and 0: no node's), and what it says.

    `kind` is a name of this module's table, or "" for what the spec does not know; `words` and `numbers` are what
    its text names.
    """

    number: int
    t_ms: float
    node: str
    incarnation: int
    kind: str
    words: dict[str, str]
    numbers: dict[str, int]

    def marks(self) -> dict[int, dict[str, int]]:
        """Return the watermarks of a status line, by term and node."""
        found = _MARKS_OF_TERM.findall(self.words["marks"])
        return {int(term): {name: int(value) for name, value in _pairs(text)} for term, text in found}


def _pairs(text: str) -> Iterator[list[str]]:
    return (pair.split("=", 1) for pair in text.split(", ") if "=" in pair)


def read_log(path: Path) -> tuple[LogLine, ...]:
    """Read the log at `path`.

    Raises TraceError, naming file and line, where a line is none of a log, a number is too large, or the last line is
    cut; OSError where the file cannot be read.
    """
    return parse_log(file_lines(path), str(path))


def parse_log(raw: Iterable[bytes], source: str) -> tuple[LogLine, ...]:
    """Parse the lines of a log; `source` names it in messages."""
    lines: list[LogLine] = []
    number = 0
    for number, data in enumerate(raw, start=1):
        text = _decoded(data, source, number)
        if text[:1].isspace() or not text:
            _add_exception(lines, text)
            continue
        head = _HEAD.fullmatch(text)
        if head is None:
            raise TraceError(source, number, "not a line of a log: `MS seq<N [NODE/INC] LEVEL [THREAD] LOGGER - TEXT`")
        lines.append(_line(number, head, source))
    if not lines:
        raise TraceError(source, max(1, number), "the log is empty")
    return tuple(lines)


def _decoded(data: bytes, source: str, number: int) -> str:
    if not data.endswith(b"\n"):
        raise TraceError(source, number, beginning(data, number) or "the file is truncated: this line does not end")
    try:
        return data.decode("utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        said = beginning(data, number) or f"not UTF-8: {error.reason} at byte {error.start}"
        raise TraceError(source, number, said) from error


def _line(number: int, head: re.Match[str], source: str) -> LogLine:
    kind, words = "", dict[str, str]()
    numbers: dict[str, int] = {}
    for name, pattern in _PATTERNS.items():
        if found := pattern.match(head["text"]):
            kind, words = name, found.groupdict()
    for key, value in words.items():
        if value.lstrip("-").isdigit() and key not in _NAMES:
            if len(value) > _MOST_DIGITS or abs(int(value)) > MAX_INTEGER:
                raise TraceError(source, number, f"{kind}: `{key}` is beyond {MAX_INTEGER}")
            numbers[key] = int(value)
    incarnation = int(head["incarnation"] or 0)
    return LogLine(number, float(head["t_ms"]), head["node"] or "", incarnation, kind, words, numbers)


def _add_exception(lines: list[LogLine], text: str) -> None:
    """An index that is out of range says where the log of the node ends."""
    if lines and lines[-1].kind == "handle_compare" and (found := _RANGE.search(text)):
        lines[-1].numbers["end"] = int(found["end"])
