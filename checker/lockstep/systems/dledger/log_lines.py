"""Lines of DLedger's own logger, and the kinds that the spec knows.

The texts are DLedger's, those of 0.2.7 and 0.3.1. Before a text the logger writes a time, maybe the node and its
incarnation in brackets, anything, and ` - `. An exception follows the line that it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.logs.log_lines import Thread, ThreadLine
from lockstep.logs.log_records import Record, records
from lockstep.logs.log_rotation import logs_of
from lockstep.logs.mapping import Mapping, Stamp, Text
from lockstep.logs.stray_lines import StrayLines
from lockstep.logs.timestamps import nanoseconds
from lockstep.trace.json_lines import MAX_INTEGER, TraceError

_DATE, _CLOCK = r"\d{4}-\d\d-\d\d", r"\d\d:\d\d:\d\d(?:[.,]\d{1,9})?"
_HEAD = Mapping(
    lines={},
    text=Text(
        format="regex",
        pattern=(
            rf"(?a)(?P<time>(?:{_DATE}[ T])?{_CLOCK}(?:Z|[+-]\d\d:?\d\d)?|\d{{1,15}}(?:\.\d{{1,9}})?) (?:seq<\d+ )?"
            r"(?:\[(?:-|(?P<node>[^\]/ ]{1,200})/(?P<incarnation>\d{1,9}))\] )?(?P<rest>.*?) - (?P<message>.*)"
        ),
    ),
)
#: The form of a line, as messages name it.
_FORM = "`TIME [NODE/INCARNATION] ... - TEXT`, where the bracket may be missing"
_MILLISECONDS, _MOMENT = Stamp(field="time", unit="ms"), Stamp(field="time")

#: The kind of the line that marks another start of a process.
RESTART = "restart"
#: The lines of a process that finds files, in this order.
RECOVERY = ("recovered_end", "recovered_committed")

#: What Java writes for the leader of a node that knows none.
NO_LEADER = "null"

#: The texts that the spec knows, by the names of log_line_steps. Source, in this order:
#: DLedgerLeaderElector.changeRoleTo..., maintainAsCandidate, maintainAsFollower; EntryDispatcher.changeState,
#: doCompare, doTruncate, doWork, doCheckAppendResponse; EntryHandler.handleDoCompare, handleDoTruncate;
#: QuorumAckChecker.doWork; DLedgerMmapFileStore.updateCommittedIndex, recover; DLedger.main; DLedgerLeaderElector.
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
    "started": r"\[(?P<self>\S+)\] group \S+ start ok with config ",
    "vote_response": r"\[(?P<self>\S+)\] ?\[GetVoteResponse\] ",
    "vote_result": r"\[(?P<self>\S+)\] \[PARSE_VOTE_RESULT\] .*memberNum=(?P<members>\d+) ",
}
#: 0.4.0 writes this of a dispatcher; it replicates in another way.
_OF_0_4 = re.compile(r"\[Push-\S+\]Change state from [A-Z_]+ to [A-Z_]+, matchIndex: ", re.ASCII)
_PATTERNS = {kind: re.compile(text, re.ASCII) for kind, text in _TEXTS.items()}
#: The words that are numbers.
NUMBERS = {"term", "old", "index", "write", "compare", "begin", "end", "committed", "members"}
_RANGE = re.compile(r"\] -?\d+ should between -?\d+-(?P<end>-?\d+)$", re.ASCII | re.MULTILINE)
#: The watermarks of a term, as Java prints a map, or as fastjson does.
_MARKS_OF_TERM = re.compile(r'"?(\d+)"?[=:]\{([^{}]*)\}(?:, ?|$)', re.ASCII)
_MARK = re.compile(r'"?([^"=:, ]+)"?[=:](-?\d+)(?:, ?|$)', re.ASCII)
_MAX_DIGITS = 20


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LogLine(ThreadLine):
    """One line, with its node and incarnation ("" and 0: no node's).

    `kind` is a name of this module's table, or "" where the spec does not know it; `words` and `numbers` are those of
    its text, `marks` the watermarks of a status line by term and node. Its `readings` are those of
    lockstep.systems.dledger.log_line_steps.
    """

    readings: tuple[()] = ()
    node: str
    incarnation: int
    kind: str
    words: dict[str, str]
    numbers: dict[str, int]
    marks: dict[int, dict[str, int]]

    def error(self, problem: str) -> TraceError:
        """Make the error of the line."""
        return TraceError(self.source, self.number, problem)


def read_logs(paths: Sequence[Path], note: Callable[[str], None]) -> tuple[list[list[LogLine]], int]:
    """Read the logs of a group: the lines of each, and the number of lines of other programs between them.

    Arguments: `paths`, their files; rotated ones of a log are put together; `note` gets a message about what is left
    out: a last line that does not end, and the lines of other programs.
    Raises TraceError, naming file and line, where a line is damaged, no line is of a log, or a number is too large;
    UnreadableError where a file cannot be read.
    """
    found, count = [], 0
    for log in logs_of(paths):
        strays = StrayLines(log.name, _FORM, tuple(_PATTERNS.values()))
        found.append([_line(record) for record in records(log, _HEAD, note, strays, _is_appended)])
        count += strays.count
        if noise := strays.note():
            note(noise)
        if not found[-1]:
            raise TraceError(log.name, 1, "the log is empty")
    return found, count


def _is_appended(_whole: Record | None, rest: Record, _stamp: str) -> bool:
    """Return whether text with a stamp within a line is another line: none of DLedger's texts has a stamp."""
    return bool(kind_and_words(rest.fields["message"])[0])


def _line(record: Record) -> LogLine:
    if _OF_0_4.match(record.fields["message"]):
        raise record.error("this is a line of DLedger 0.4.0, which replicates in a way that the spec does not model")
    kind, words = kind_and_words(record.fields["message"])
    numbers = {name: _integer(word, record, f"{kind}: `{name}`") for name, word in words.items() if name in NUMBERS}
    if kind == "handle_compare" and (found := _RANGE.search(record.fields.get("below", ""))):
        numbers["end"] = _integer(found["end"], record, "the exception: the end")
    return LogLine(
        number=record.number,
        text=record.text,
        source=record.source,
        time=_time(record),
        node=record.fields.get("node", ""),
        incarnation=int(record.fields.get("incarnation", 0)),
        kind=kind,
        words=words,
        numbers=numbers,
        marks=_marks(words.get("marks", ""), record),
    )


def kind_and_words(message: str) -> tuple[str, dict[str, str]]:
    """Return the kind of a text and its words by their names; no kind and no words where the spec does not know it."""
    matches = ((kind, pattern.match(message)) for kind, pattern in _PATTERNS.items())
    return next(((kind, found.groupdict()) for kind, found in matches if found), ("", {}))


def _time(record: Record) -> int:
    stamp = record.fields["time"]
    try:
        if ":" not in stamp:
            return nanoseconds(stamp, _MILLISECONDS)
        return nanoseconds(stamp if "-" in stamp[:5] else f"1970-01-01 {stamp}", _MOMENT)
    except ValueError as error:
        raise record.error(f"the time: {error}") from None


def _integer(text: str, record: Record, what: str) -> int:
    if len(text) > _MAX_DIGITS or abs(int(text)) > MAX_INTEGER:
        raise record.error(f"{what} is beyond {MAX_INTEGER}")
    return int(text)


def _marks(text: str, record: Record) -> dict[int, dict[str, int]]:
    found: dict[int, dict[str, int]] = {}
    for term, marks in _all_of(_MARKS_OF_TERM, text, record):
        what = "status: a watermark"
        pairs = _all_of(_MARK, marks, record)
        found[_integer(term, record, what)] = {name: _integer(mark, record, what) for name, mark in pairs}
    return found


def _all_of(pattern: re.Pattern[str], text: str, record: Record) -> list[tuple[str, str]]:
    found, end = [], 0
    while end < len(text):
        match = pattern.match(text, end)
        if match is None:
            raise record.error("status: the watermarks are neither {TERM={NODE=INDEX}} nor its JSON")
        found.append((match[1], match[2]))
        end = match.end()
    return found


def in_time(threads: Sequence[Thread]) -> list[tuple[int, int, int, LogLine]]:
    """Return the lines of some logs, with time, log and place, in the order of their times.

    The time is that of the stamp, or of a later one above it.
    """
    found: list[tuple[int, int, int, LogLine]] = []
    for number, thread in enumerate(threads):
        latest = 0
        for place, line in enumerate(thread.lines):
            assert isinstance(line, LogLine)
            latest = max(latest, line.time or 0)
            found.append((latest, number, place, line))
    return sorted(found, key=lambda row: row[:3])
