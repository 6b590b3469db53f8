"""Formats of lines of text: logfmt, hclog, patterns of logback and log4j, and any regular expression."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from lockstep.logs.mapping import Text

#: Returns the fields of a line, None where it is not of the form.
Split: TypeAlias = Callable[[str], "dict[str, Any] | None"]

_PAIR = re.compile(r"""(?<![^\s=":])([^\s=":]+)=("(?:[^"\\]|\\.)*"|\S*)(?=\s|$)""")

#: hclog: time, level, name and message, then the message's pairs of key and value.
_HCLOG = re.compile(
    r"(?P<time>\S+)\s+\[(?P<level>[A-Z]+)\]\s+(?:(?P<logger>[\w.\-/]+): )?"
    r"(?P<message>.*?)(?::(?P<pairs>(?: [^\s=]+=.*)?))?$"
)

#: The expressions of conversion words of logback or log4j; any other word is text without white space.
_WORDS = {
    **dict.fromkeys(("d", "date"), r"(?P<time>.+?)"),
    **dict.fromkeys(("p", "le", "level"), r"(?P<level>[A-Za-z]+)"),
    **dict.fromkeys(("t", "thread", "tn", "threadName"), r"(?P<thread>.*?)"),
    **dict.fromkeys(("c", "lo", "logger"), r"(?P<logger>\S*?)"),
    **dict.fromkeys(("m", "msg", "message"), r"(?P<message>.*)"),
    **dict.fromkeys(("n", "ex", "xEx", "throwable", "rEx", "nopex"), r""),
    **dict.fromkeys(("X", "mdc", "M", "method", "L", "line", "F", "file", "C", "class", "r", "relative"), r".*?"),
}
_ESCAPE = re.compile(
    r"\\(?:(?:x(?=[0-9a-fA-F]{2})|u(?=[0-9a-fA-F]{4})|U(?=[0-9a-fA-F]{8}))"
    r"(?P<digits>(?<=x)..|(?<=u).{4}|(?<=U).{8})|(?P<sign>.))"
)
_SIGNS = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_GROUP = re.compile(r"\(\?P<(\w+)>")
_CONVERSION = re.compile(r"%(?P<width>[-.\d]*)(?P<word>[A-Za-z]+)(?:\{[^}]*\})*")


def line_splitter(text: Text) -> Split:
    """Return what splits the lines of a text format into fields.

    Raises:
        re.error: the pattern cannot be understood.
    """
    if text.format == "logfmt":
        return _logfmt
    if text.format == "hclog":
        return _hclog
    assert text.pattern is not None  # read_mapping sees to that
    if text.format == "regex":
        return _by(re.compile(text.pattern))
    return _one_time(_by(re.compile(expression_of(text.pattern))))


def expression_of(pattern: str) -> str:
    """Return the regular expression of a pattern of logback or log4j, such as ``%d{ISO8601} %-5p [%t] %c - %m%n``.

    Its groups are time, level, thread, logger and message. Where a word stands several times, those of the time are
    time, time2, time3, and of the others the first is the group.
    """
    found, end = list[str](), 0
    counts = Counter[str]()
    for word in _CONVERSION.finditer(pattern):
        found.append(_literal(pattern[end : word.start()]))
        inner = next((_WORDS[name] for name in _names(word["word"]) if name in _WORDS), r"\S*?")
        rest = word["word"][len(next((n for n in _names(word["word"]) if n in _WORDS), word["word"])) :]
        inner = _GROUP.sub(lambda group: _counted(group[1], counts), inner)
        padding = r"\s*" if word["width"] else ""
        found.append(f"{padding}{inner}{padding}{_literal(rest)}")
        end = word.end()
    return "".join(found) + _literal(pattern[end:])


def _counted(group: str, counts: Counter[str]) -> str:
    """Return how a group begins that may stand there already."""
    counts[group] += 1
    if counts[group] == 1:
        return f"(?P<{group}>"
    return f"(?P<{group}{counts[group]}>" if group == "time" else "(?:"


def _one_time(split: Split) -> Split:
    """Put the parts of a time together, as of `%d{yyyy-MM-dd} %d{HH:mm:ss}`."""

    def joined(line: str) -> dict[str, Any] | None:
        found = split(line)
        if found is None or "time2" not in found:
            return found
        others = {name: text for name, text in found.items() if not name.startswith("time")}
        return {"time": " ".join(found[name] for name in found if name.startswith("time"))} | others

    return joined


def _names(word: str) -> list[str]:
    """List what a conversion word may be, the longest first: letters may follow it directly."""
    return [word[:length] for length in range(len(word), 0, -1)]


def _literal(text: str) -> str:
    return re.sub(r"(?:\\?\s)+", lambda _: r"\s+", re.escape(text))


def _by(expression: re.Pattern[str]) -> Split:
    def split(line: str) -> dict[str, Any] | None:
        found = expression.fullmatch(line)
        return None if found is None else {name: text for name, text in found.groupdict().items() if text is not None}

    return split


def _logfmt(line: str) -> dict[str, Any] | None:
    found = _pairs(line)
    return found or None


def _pairs(text: str) -> dict[str, Any]:
    return {name: _unquoted(value) for name, value in _PAIR.findall(text)}


def _unquoted(value: str) -> str:
    if len(value) < 2 or not value.startswith('"'):
        return value
    return _ESCAPE.sub(_sign, value[1:-1])


def _sign(escape: re.Match[str]) -> str:
    """Return what an escape of Go stands for."""
    if (digits := escape["digits"]) is None:
        return _SIGNS.get(escape["sign"], escape["sign"])
    number = int(digits, 16)
    return "\ufffd" if 0xD800 <= number < 0xE000 or number > sys.maxunicode else chr(number)


def _hclog(line: str) -> dict[str, Any] | None:
    found = _HCLOG.fullmatch(line)
    if found is None:
        return None
    fields = {name: text for name, text in found.groupdict().items() if text is not None and name != "pairs"}
    return _pairs(found["pairs"] or "") | fields  # a pair may be named as a part of the head is: `time=120ms`
