"""Lines of logs as operators have them: without the prefixes of collectors, and with the place that each is from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from lockstep.base.characters import counted
from lockstep.logs.line_prefixes import PrefixReader
from lockstep.logs.log_records import log_bytes
from lockstep.logs.log_rotation import logs_of

_STAMP = re.compile(r"(\d{4})[-/](\d\d)[-/](\d\d)[T ](\d\d):(\d\d):(\d\d)(?:[.,](\d{1,9}))?", re.ASCII)
#: A line has its stamp within this many characters.
_MAX_STAMP_PLACE = 60
#: The number of kinds of lines that a note names.
MAX_KINDS = 6


@dataclass(frozen=True, slots=True)
class OperatorLine:
    """A line of a program's log: its file and number there, where it is from, and the text without prefixes.

    `log` and `origin` together name the program that wrote it: the file, or all of a rotated log, and what a prefix
    says. A last line without an end is left out: it may have been cut within a number.
    """

    log: str
    origin: str
    source: str
    number: int
    text: str

    @property
    def microseconds(self) -> int | None:
        """The moment of its stamp, without a zone; None where it has no date."""
        found = _STAMP.search(self.text, 0, _MAX_STAMP_PLACE)
        if found is None:
            return None
        *parts, fraction = found.groups()
        year, month, day, hour, minute, second = map(int, parts)
        try:
            moment = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
        except ValueError:
            return None
        return int(moment.timestamp()) * 10**6 + int((fraction or "0")[:6].ljust(6, "0"))


@dataclass(slots=True)
class UnreadLines:
    """The lines that establish nothing, by kind."""

    counts: Counter[str] = field(default_factory=Counter)

    def note(self) -> str | None:
        """Return a note on how many there are, and what they are; None where there is none."""
        if not self.counts:
            return None
        shown = [f"{kind} ({count:,})" for kind, count in self.counts.most_common(MAX_KINDS)]
        others = len(self.counts) - len(shown)
        listed = ", ".join(shown) + (f" and {counted(others, 'other kind')}" if others else "")
        return f"note: {counted(self.counts.total(), 'line')} not looked at: {listed}"


def operator_lines(paths: Sequence[Path], notes: list[str]) -> Iterator[OperatorLine]:
    """Yield the lines of some logs, log by log; rotated files of a log come one after the other.

    Arguments: `notes` gets a note for each kind of prefix.
    Raises UnreadableError where a file cannot be read, BadInputError where the order of rotated files is not known.
    """
    for log in logs_of(paths):
        prefixes = PrefixReader()
        for path in log.paths:
            for number, line in enumerate(log_bytes(path), start=1):
                if not line.endswith(b"\n"):
                    notes.append(f"note: {path}:{number}: the last line does not end, and is left out")
                    continue
                origin, text = prefixes.read(line.decode("utf-8", errors="replace").rstrip("\r\n"))
                yield OperatorLine(log.name, origin, str(path), number, text)
        notes.extend(prefixes.notes(log.name))
