"""Lines that DLedger writes, as brokers of RocketMQ log them, for what they establish each by itself.

lockstep.systems.dledger.log_lines has the texts. Lines about roles and terms are written under DLedger's monitor, and
stand in their order. A status line is read field by field without it, and may be written late: its role and term count
only if the lines beside it have them, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lockstep.systems.dledger.log_lines import NO_LEADER, NUMBERS, RECOVERY, kind_and_words
from lockstep.systems.logged_facts import Fact, OwnLogs, ReadLine, fact

#: A node and its process, as loggers may write them before the text.
_WRITER = re.compile(r"\[(?P<node>[^\]/ ]{1,200})/\d{1,9}\] ")
#: The text of EntryHandler.handleDoTruncate where it fails: without a position, and an exception below.
_NOT_TRUNCATED = re.compile(r"\[HandleDoTruncate\] truncateIndex=(\d+)\s*$", re.ASCII)
_OF_EXCEPTION = re.compile(r"\s*(?:at [\w.$]+\(|Caused by: |\.\.\. \d+ more|(?:[\w$]+\.)+[\w$]*(?:Exception|Error)\b)")
#: A process that is killed may leave a line without its end, and the next one writes behind it.
_STAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d", re.ASCII)
_FACTUAL = ("candidate", "next_term", "leader", "follower", "status", "handle_truncate", *RECOVERY)
_NUMBER = re.compile(r"\d+", re.ASCII)
#: The number of words of an unknown text that name its kind.
_WORDS_OF_KIND = 2


@dataclass(slots=True)
class _Node:
    """A node as far as its lines so far show it.

    The role and term that it has for certain, and those of its last status; the index of a truncation that may still
    fail; its term by its changes of role; whether its last line is the first of a start.
    """

    settled: tuple[str, int] | None = None
    shown: tuple[str, int] | None = None
    cut: int | None = None
    term: int = 0
    recovers: bool = False

    def turns(self, role: str, term: int, was: int | None = None) -> tuple[Fact, ...]:
        """Take a change of role; a process that is in term 0 again, which it was `was` in, is another one."""
        starts = self.begins() if (term if was is None else was) == 0 < self.term else ()
        self.settled, self.shown, self.term = (role, term), None, term
        return starts

    def begins(self) -> tuple[Fact, ...]:
        """Take the start of a process."""
        self.settled = self.shown = self.cut = None
        self.recovers = False
        return (fact("Starts"),)

    def shows(self, role: str, term: int) -> bool:
        """Take a status; return whether its role and term are certain."""
        self.settled = (role, term) if self.shown == (role, term) else self.settled
        self.shown = role, term
        return self.settled == self.shown


class BrokerLines:
    """Reads the lines of one log."""

    def __init__(self) -> None:
        """Begin anywhere in a log."""
        self._nodes: dict[str, _Node] = {}

    def read(self, text: str) -> ReadLine:
        """Return what a line says."""
        head, message, kind, words = _split(text)
        if not kind and (failed := _NOT_TRUNCATED.match(message)):
            kind, words = "not_truncated", {"index": failed[1]}
        if not kind:
            return ReadLine(_unknown(message), is_own=False)
        writer = found["node"] if (found := _WRITER.search(head)) else ""
        node = self._nodes.setdefault(writer, _Node())
        if kind in _FACTUAL and _STAMP.search(message):
            return ReadLine("two lines in one", node.begins(), writer=writer)
        numbers = {name: int(word) for name, word in words.items() if re.fullmatch(r"-?\d{1,18}", word, re.ASCII)}
        if NUMBERS & words.keys() - numbers.keys():
            return ReadLine(f"{kind} (without its numbers)", writer=writer)
        others = tuple(words[each] for each in ("peer", "leader") if words.get(each, "null") != "null")
        facts = _facts(node, kind, words, numbers)
        return ReadLine(kind, facts, writer=writer, name=words.get("self", ""), others=others)


def _split(text: str) -> tuple[str, str, str, dict[str, str]]:
    """Return what stands before the text of a line, the text, its kind and its words."""
    at = text.find(" - ")
    while at >= 0:
        kind, words = kind_and_words(text[at + 3 :])
        if kind:
            return text[:at], text[at + 3 :], kind, words
        following = text.find(" - ", at + 3)
        if following < 0:
            return text[:at], text[at + 3 :], "", {}
        at = following
    return "", text, *kind_and_words(text)


def _unknown(message: str) -> str:
    if _OF_EXCEPTION.match(message):
        return "part of an exception"
    words = _NUMBER.sub("0", message).split(maxsplit=_WORDS_OF_KIND)[:_WORDS_OF_KIND]
    return f"text {' '.join(words)[:40]!r}" if words else "empty"


def _facts(node: _Node, kind: str, words: dict[str, str], numbers: dict[str, int]) -> tuple[Fact, ...]:
    match kind:
        case "candidate":
            starts = node.turns("CANDIDATE", numbers["term"])
            return *starts, fact("Resigns"), fact("Reaches", term=numbers["term"])
        case "next_term":
            starts = node.turns("CANDIDATE", numbers["term"], numbers["old"])
            return *starts, fact("Reaches", term=numbers["old"]), fact("Reaches", term=numbers["term"])
        case "leader":
            return *node.turns("LEADER", numbers["term"]), fact("Leads", term=numbers["term"])
        case "follower":
            starts = node.turns("FOLLOWER", numbers["term"])
            leader = words["leader"]
            if leader == NO_LEADER:
                return *starts, fact("Reaches", term=numbers["term"])
            return *starts, fact("Follows", term=numbers["term"], leader=leader)
        case "status":
            return _status(node, words, numbers)
        case "handle_truncate":
            node.cut = numbers["index"]
        case "not_truncated":
            node.cut = None
        case "recovered_end":
            starts, node.recovers = node.begins(), True
            return *starts, fact("EndsAt", end=numbers["end"])
        case "recovered_committed":
            starts = () if node.recovers else node.begins()
            node.recovers = False
            return *starts, fact("Commits", index=numbers["committed"])
        case "started":
            return node.begins()
    return ()


def _status(node: _Node, words: dict[str, str], numbers: dict[str, int]) -> tuple[Fact, ...]:
    """QuorumAckChecker.doWork; a truncation that was not refused by then has been done."""
    cut, node.cut = node.cut, None
    is_certain = node.shows(words["role"], numbers["term"])
    shown = {"end": numbers["end"], "commits": numbers["committed"]}
    cuts = () if cut is None else (fact("Cuts", **{"from": cut + 1}),)
    if is_certain and words["role"] == "LEADER":
        return *cuts, fact("ShowsAsLeader", term=numbers["term"], **shown)
    return *cuts, *((fact("Reaches", term=numbers["term"]),) if is_certain else ()), fact("Shows", **shown)


OWN_LOGS = OwnLogs(
    BrokerLines,
    forgets_term=True,
    blind="votes, and that an entry is appended, pushed or acknowledged",
)
