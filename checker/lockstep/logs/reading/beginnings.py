"""How the lines of one log begin, and where another one may begin within a line.

A process that is killed may leave a line that does not end; the next process writes its first line right behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice

_DIGITS = re.compile(r"[0-9]+")
_WORD = re.compile(r"\S+")
#: A line begins with a stamp if at least this many numbers stand in its first words, or one number this long.
STAMP_NUMBERS, _STAMP_DIGITS = 3, 10
#: How many of the first words are searched for the stamp.
_FIRST_WORDS = 4
#: How many different beginnings are remembered at most; a log's lines have few.
MAX_BEGINNINGS = 100
#: How many places within one line are looked at.
MAX_PLACES = 100


@dataclass(slots=True)
class Beginnings:
    """The beginnings of the lines of one log, up to their stamp, as far as they were read."""

    _seen: set[str] = field(default_factory=set)
    _anywhere: re.Pattern[str] | None = None

    def know(self, text: str) -> int:
        """Learn how a line begins, and return where its beginning ends, 0 if its first words have no stamp."""
        at = len(text) - len(text.lstrip())
        if self._anywhere is not None and (known := self._anywhere.match(text, at)):
            return known.end()
        beginning = _beginning(text[at:])
        if beginning is None:
            return 0
        if len(self._seen) < MAX_BEGINNINGS:
            self._seen.add(_expression(beginning))
            self._anywhere = re.compile("|".join(sorted(self._seen)))
        return at + len(beginning)

    def within(self, text: str, behind: int) -> Iterator[tuple[int, str]]:
        """Yield each place in a text where a line may begin, and the beginning that stands there.

        Arguments: `behind`, where the beginning of the text itself ends, 0 if it is no line of the log.
        """
        if self._anywhere is not None:
            for found in islice(self._anywhere.finditer(text, behind), MAX_PLACES):
                yield found.start(), found[0]


def _beginning(text: str) -> str | None:
    for word in islice(_WORD.finditer(text), _FIRST_WORDS):
        numbers = _DIGITS.findall(text, 0, word.end())
        if len(numbers) >= STAMP_NUMBERS or any(len(number) >= _STAMP_DIGITS for number in numbers):
            return text[: word.end()]
    return None


def _expression(beginning: str) -> str:
    """Return a regular expression of what begins alike.

    The first number has as many digits, for what it follows may end in digits; others may be shorter or longer, as a
    fraction without its last zeros is.
    """
    literals, numbers = _DIGITS.split(beginning), _DIGITS.findall(beginning)
    parts = [f"[0-9]{{{len(numbers[0])}}}"] + ["[0-9]+"] * (len(numbers) - 1)
    behind = (part + re.escape(literal) for part, literal in zip(parts, literals[1:], strict=True))
    return re.escape(literals[0]) + "".join(behind) + ("" if literals[-1] else "(?![0-9])")
