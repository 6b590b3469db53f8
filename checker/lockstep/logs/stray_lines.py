"""Lines of a log's file that its logger did not write: noise, unless they look like a damaged line of the log.

Programs write into the same file: a banner, the output of a script, a library that prints. Such a line is counted, and
means nothing. A line that the logger wrote and that is cut, or mixed with another, may be of a step: left out, it would
falsify the log, or hide what is wrong. So a line is noise only if nothing in it looks like the log.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lockstep.base.characters import counted
from lockstep.logs.line_beginnings import STAMP_NUMBERS
from lockstep.trace.json_lines import TraceError

_DIGITS = re.compile(r"\d+", re.ASCII)
#: How a line begins that is a JSON object, or what a later part of one has: a quoted key with its colon.
_JSON = re.compile(r'\s*\{|.*"\s*:')
#: How many forms of a first word are remembered at most; the log's lines begin in few ways.
MAX_FORMS = 1000
#: Lines above the first one of the log that are remembered until it is known how the log's lines begin.
MAX_LINES_ABOVE = 100_000
#: How many characters of a line a message has.
MAX_TEXT = 80


@dataclass(slots=True)
class StrayLines:
    """The lines of one log that are noise: how many there are, and the first of them.

    `form` names what its own lines are, for messages; `texts` are expressions for these: a line in which one is
    found is none of another program.
    """

    log: str
    form: str
    texts: Sequence[re.Pattern[str]] = ()
    count: int = 0
    first: tuple[str, int, str] | None = None
    _lines: int = 0
    _forms: set[str] = field(default_factory=set)
    _undecided: list[tuple[str, int, str]] = field(default_factory=list)
    _anywhere: list[re.Pattern[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Prepare to find the texts of the log's lines anywhere in a line."""
        found = [re.compile(without_anchors(each.pattern), each.flags) for each in self.texts]
        self._anywhere = [each for each in found if not each.match("")]

    def know(self, text: str) -> None:
        """Record how a line of the log begins."""
        self._lines += 1
        if len(self._forms) < MAX_FORMS and (words := text.split(maxsplit=1)):
            self._forms.add(_form(words[0]))

    def add(self, source: str, number: int, text: str, *, strict: bool) -> None:
        """Count a line that is not of the form of the log.

        Arguments: `strict`, whether a line that looks damaged is an error: it is not where lines may be left out.
        Raises TraceError where the line looks like a damaged one of the log.
        """
        if not text.strip():
            return
        self.count += 1
        if self.first is None:
            self.first = source, number, text
        if not strict:
            return
        if _JSON.match(text) or any(expression.search(text) for expression in self._anywhere):
            raise _damaged(source, number, text)
        if self._lines:
            self._refuse_damaged(source, number, text)
        elif len(self._undecided) < MAX_LINES_ABOVE:  # how the log's lines begin is known once there is one
            self._undecided.append((source, number, text))
        else:
            raise TraceError(source, number, f"the first {number:,} lines are not of the form of the log: {self.form}")

    def end(self, *, strict: bool) -> None:
        """Judge the lines above those of the log; raises TraceError where one is damaged.

        Arguments: `strict`, whether it is an error, too, if no line at all is of the log.
        """
        for line in self._undecided if self._lines else ():
            self._refuse_damaged(*line)
        if strict and not self._lines and self.first is not None:
            source, number, text = self.first
            raise TraceError(
                source,
                number,
                f"the line is not of the form of the log, nor is any other: {text[:MAX_TEXT]!r}; expected: {self.form}",
            )

    def note(self) -> str | None:
        """Return a note on how many lines were left out, None where none was."""
        if self.first is None:
            return None
        source, number, text = self.first
        skipped = f"{counted(self.count, 'line')} {'was' if self.count == 1 else 'were'} skipped as noise"
        return f"{self.log}: {skipped}, not in the log's form; the first is {source}:{number}: {text[:MAX_TEXT]!r}"

    def _refuse_damaged(self, source: str, number: int, text: str) -> None:
        form = _form(text)
        first = form.split(maxsplit=1)[0]
        is_start = first in self._forms or (first == form.strip() and any(f.startswith(first) for f in self._forms))
        if is_start or any(f.count("0") >= STAMP_NUMBERS and f in form for f in self._forms):
            raise _damaged(source, number, text)


def without_anchors(pattern: str) -> str:
    """Return a regular expression that finds in the middle of a text what the given one finds at its ends."""
    bare, at, in_set = "", 0, False
    while at < len(pattern):
        sign = pattern[at]
        if sign == "\\":
            escape = pattern[at : at + 2]
            bare += "" if escape in (r"\A", r"\Z") and not in_set else escape
            at += 2
            continue
        if in_set:
            in_set = sign != "]"
        elif sign == "[":
            # A bracket at the beginning of a set, negated or not, is one of its characters.
            end = at + 1 + pattern.startswith("^", at + 1)
            end += pattern.startswith("]", end)
            bare, at, in_set = bare + pattern[at:end], end, True
            continue
        elif sign in "^$":
            at += 1
            continue
        bare, at = bare + sign, at + 1
    return bare


def _form(text: str) -> str:
    """Return a text with each number written as 0."""
    return _DIGITS.sub("0", text)


def _damaged(source: str, number: int, text: str) -> TraceError:
    return TraceError(
        source,
        number,
        f"the line is not of the form of the log, and looks like a part of one that is: {text[:MAX_TEXT]!r};"
        " mend it, or take it out if another program wrote it",
    )
