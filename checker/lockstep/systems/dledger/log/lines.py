"""The lines of DLedger's own logger: who says what, and what of it the spec knows.

A line is `MILLISECONDS seq<N [NODE/INCARNATION] LEVEL [THREAD] LOGGER - TEXT`; what an exception adds is indented
below it. The texts are DLedger's, those of 0.2.7 and 0.3.1; `seq` is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
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
    "candidate": r"\[(?P<self>\S+)\] ?\[ChangeRoleToCandidate\] from term: -?\d+ and currTerm: (?P<term>\d+)",
    "follower": r"\[(?P<self>\S+)\] ?\[ChangeRoleToFollower\] from term: (?P<term>\d+) leaderId: (?P<leader>\S+) and ",
    "leader": r"\[(?P<self>\S+)\] ?\[ChangeRoleToLeader\] from term: (?P<term>\d+) and currTerm: \d+",
    "next_term": r"(?P<self>\S+)_\[INCREASE_TERM\] from (?P<old>\d+) to (?P<term>\d+)",
    "heartbeat_timeout": r"\[(?P<self>\S+)\]\[HeartBeatTimeOut\] .*lastLeader=(?P<leader>\S+)",
    "change_state": r"\[Push-(?P<peer>\S+)\]Change state from (?P<was>[A-Z]+) to (?P<is>[A-Z]+) at (?P<index>-?\d+)",
    "do_compare": r"\[Push-(?P<peer>\S+)\]\[DoCompare\] compareIndex=-1 means start to compare",
    "do_truncate": r"\[Push-(?P<peer>\S+)\]Will push data to truncate truncateIndex=(?P<index>\d+) pos=\d+",
    "dispatcher_error": (
        r"\[Push-(?P<peer>\S+)\]Error in \S+ writeIndex=(?P<write>-?\d+) compareIndex=(?P<compare>-?\d+)"
    ),
    "retry": r"\[Push-(?P<peer>\S+)\]Retry to push entry at (?P<index>\d+)",
    "handle_compare": r"\[HandleDoCompare\] compareIndex=(?P<index>\d+)",
    "handle_truncate": r"\[HandleDoTruncate\] truncateIndex=(?P<index>\d+) pos=\d+",
    "status": (
        r"\[(?P<self>\S+)\]\[(?P<role>LEADER|FOLLOWER|CANDIDATE)\] term=(?P<term>\d+) ledgerBegin=(?P<begin>-?\d+) "
        r"ledgerEnd=(?P<end>-?\d+) committed=(?P<committed>-?\d+) watermarks=\{(?P<marks>.*)\}"
    ),
    "skip_commit": r"\[MONITOR\]Skip update committed index for new=-?\d+ < old=(?P<committed>-?\d+)",
    "recovered_end": r"Recover data to the end entryIndex=(?P<end>-?\d+)",
    "recovered_committed": r"Recover to get committed index=(?P<committed>-?\d+) from checkpoint",
    "vote_result": r"\[(?P<self>\S+)\] \[PARSE_VOTE_RESULT\] .*memberNum=(?P<members>\d+) ",
}
_PATTERNS = {kind: re.compile(text, re.ASCII) for kind, text in _TEXTS.items()}
#: Those of the words that are numbers.
_NUMBERS = {"term", "old", "index", "write", "compare", "begin", "end", "committed", "members"}
_RANGE = re.compile(r"\] -?\d+ should between -?\d+-(?P<end>-?\d+)$", re.ASCII)
#: As Java prints a map, and as fastjson does.
_MARKS_OF_TERM = re.compile(r'"?(\d+)"?[=:]\{([^{}]*)\}(?:, ?|$)', re.ASCII)
_MARK = re.compile(r'"?([^"=:, ]+)"?[=:](-?\d+)(?:, ?|$)', re.ASCII)
_MOST_DIGITS = 20


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line: its number in the file, the node and its incarnation ("" and 0: no node's), and what it says.

    `kind` is a name of this module's table, or "" for what the spec does not know; `words` and `numbers` are what
    its text names, `marks` the watermarks of a status line by term and node.
    """

    number: int
    t_ms: float
    node: str
    incarnation: int
    kind: str
    words: dict[str, str]
    numbers: dict[str, int]
    marks: dict[int, dict[str, int]]


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
            _add_exception(lines, text, source, number)
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
    node = head["node"] or ""
    matches = ((kind, pattern.match(head["text"])) for kind, pattern in _PATTERNS.items() if node)
    kind, found = next(((kind, found) for kind, found in matches if found), ("", None))
    words = found.groupdict() if found else {}
    for name, problem in (("self", words.get("self", node) != node), ("peer", words.get("peer") == node)):
        if problem:
            raise TraceError(source, number, f"{kind}: a line of {node} cannot name {words[name]} here")
    what = f"{kind}: `{{}}`".format
    numbers = {name: _integer(word, source, number, what(name)) for name, word in words.items() if name in _NUMBERS}
    marks = _marks(words.get("marks", ""), source, number)
    return LogLine(number, float(head["t_ms"]), node, int(head["incarnation"] or 0), kind, words, numbers, marks)


def _integer(text: str, source: str, number: int, what: str) -> int:
    if len(text) > _MOST_DIGITS or abs(int(text)) > MAX_INTEGER:
        raise TraceError(source, number, f"{what} is beyond {MAX_INTEGER}")
    return int(text)


def _marks(text: str, source: str, number: int) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for term, marks in _all_of(_MARKS_OF_TERM, text, source, number):
        what = "status: a watermark"
        pairs = _all_of(_MARK, marks, source, number)
        found[_integer(term, source, number, what)] = {n: _integer(mark, source, number, what) for n, mark in pairs}
    return found


def _all_of(pattern: re.Pattern[str], text: str, source: str, number: int) -> list[tuple[str, str]]:
    found, end = [], 0
    while end < len(text):
        match = pattern.match(text, end)
        if match is None:
            raise TraceError(source, number, "status: the watermarks are neither {TERM={NODE=INDEX}} nor its JSON")
        found.append((match[1], match[2]))
        end = match.end()
    return found


def _add_exception(lines: list[LogLine], text: str, source: str, number: int) -> None:
    """An index that is out of range says where the log of the node ends."""
    if lines and lines[-1].kind == "handle_compare" and (found := _RANGE.search(text)):
        lines[-1].numbers["end"] = _integer(found["end"], source, number, "the exception: the end")
