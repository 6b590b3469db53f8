"""Prefixes that collectors write before the lines of a log: docker compose, kubectl, journald, syslog and others.

A program's line stands behind them as the program wrote it. What a prefix says of where a line is from, such as the
service, the pod or the host, keeps the lines of several nodes in one file apart.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field

_DAY, _CLOCK, _ZONE = r"\d{4}[-/]\d\d[-/]\d\d", r"\d\d:\d\d:\d\d", r"(?:Z|[+-]\d\d:?\d\d)"
#: How a program's own line begins: with a stamp and no host behind it, or as a JSON object.
_OWN = re.compile(rf"\s*(?:{_DAY}[T ]{_CLOCK}(?:[.,]\d{{1,6}})?{_ZONE}? (?:\[?[A-Z]{{4,5}}\]? |\[)|\{{\"@)")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
#: A host with a program; on one host several may be members of groups.
_PROGRAM = r"(?P<origin>[^\s\[]\S* [\w./@-]+)(?:\[\d+\])?: "
_ISO = rf"\d{{4}}-\d\d-\d\dT{_CLOCK}(?:[.,]\d+)?{_ZONE}"

#: The prefixes by the name of what writes them; `origin` is where a line is from.
_PREFIXES = {
    "docker compose": rf"(?P<origin>[A-Za-z][\w.-]*)\s*\| (?:{_ISO} (?!\[?[A-Z]{{4}}))?",
    "kubectl": r"\[(?:pod/)?(?P<origin>[\w.-]+)[/ ][\w.-]+\] ",
    "syslog (RFC 5424)": r"<\d{1,3}>1 \S+ (?P<origin>\S+ \S+) \S+ \S+ (?:-|(?:\[(?:[^\]\\]|\\.)*\])+) \ufeff?",
    "journald or syslog": rf"(?:<\d{{1,3}}>)?[A-Z][a-z]{{2}} [ \d]\d {_CLOCK}(?:\.\d+)? {_PROGRAM}",
    "journald or syslog, with ISO dates": rf"{_ISO} {_PROGRAM}",
    "container runtime": rf"{_ISO} (?:stdout|stderr) [FP] ",
    "timestamps of docker or kubectl": rf"\d{{4}}-\d\d-\d\dT{_CLOCK}\.\d{{7,9}}{_ZONE} ",
}
_EXPRESSIONS = {name: re.compile(pattern) for name, pattern in _PREFIXES.items()}
#: A prefix may stand before another, as kubectl's before a timestamp.
_MAX_PREFIXES = 3
#: What docker writes into files, and journalctl with `-o json`: an object with the line, by its keys.
_WRAPPED = {"docker's JSON files": ("log", ()), "journald's JSON": ("MESSAGE", ("_HOSTNAME", "SYSLOG_IDENTIFIER"))}


@dataclass(slots=True)
class PrefixReader:
    """Takes prefixes off the lines of one file; `counts` are the lines that had one, by what writes it."""

    counts: dict[str, int] = field(default_factory=dict)

    def read(self, line: str) -> tuple[str, str]:
        """Return where a line is from, "" if no prefix says so, and the program's own line."""
        text, origin = _COLOUR.sub("", line) if "\x1b" in line else line, ""
        for _ in range(_MAX_PREFIXES):
            if _OWN.match(text):
                break
            name, said, rest = _stripped(text)
            if not name:
                break
            self.counts[name] = self.counts.get(name, 0) + 1
            origin, text = said or origin, rest
        return origin, text

    def notes(self, log: str) -> list[str]:
        """Return a note for each kind of prefix that was taken off."""
        return [f"note: {log}: the prefix of {name} before {count:,} lines" for name, count in self.counts.items()]


def _stripped(text: str) -> tuple[str, str, str]:
    """Return what wrote a prefix, where the line is from, and what stands behind; "" where there is no prefix."""
    if text.startswith("{"):
        return _unwrapped(text)
    for name, expression in _EXPRESSIONS.items():
        if found := expression.match(text):
            return name, found.groupdict().get("origin") or "", text[found.end() :]
    return "", "", text


def _unwrapped(text: str) -> tuple[str, str, str]:
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError):
        return "", "", text
    for name, (key, places) in _WRAPPED.items():
        if isinstance(tree, dict) and isinstance(tree.get(key), str):
            return name, " ".join(str(tree[each]) for each in places if each in tree), tree[key].rstrip("\n")
    return "", "", text
