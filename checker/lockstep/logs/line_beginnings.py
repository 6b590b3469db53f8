"""Beginnings of the lines of a log, and the places within a line where another may begin.

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
#: How many different beginnings are remembered at most, and of how many characters; a log's lines have few.
MAX_BEGINNINGS, _MAX_LENGTH = 100, 200
#: How many places within one line are looked at.
MAX_PLACES = 100


@dataclass(slots=True)
class LineBeginnings:
    """The beginnings of the lines of one log, up to their stamp, as far as they were read."""

    _seen: set[str] = field(default_factory=set)
    _anywhere: re.Pattern[str] | None = None

    def know(self, text: str) -> int:
        """Record how a line begins, and return the place in it after which another line may begin."""
        at = len(text) - len(text.lstrip())
        if self._anywhere is not None and (known := self._anywhere.match(text, at)):
            return known.end()
        beginning = _beginning(text[at:])
        if beginning is None or len(beginning) > _MAX_LENGTH:
            return 0
        if len(self._seen) < MAX_BEGINNINGS:
            self._seen.add(_expression(beginning))
            self._anywhere = re.compile("|".join(sorted(self._seen, key=len, reverse=True)))
        # This one may have been cut within its stamp. Its first number may only have more digits than others have.
        first = _DIGITS.search(beginning)
        return at + (first.end() if first else 0)

    def within(self, text: str, behind: int) -> Iterator[tuple[int, str]]:
        """Yield each place in a text where a line may begin, and the beginning that stands there.

        Arguments: `behind`, where the search begins, as returned by `know` for a line of the log.
        """
        if self._anywhere is not None:
            for found in islice(self._anywhere.finditer(text, behind), MAX_PLACES):
                yield found.start(), found[0]


def _beginning(text: str) -> str | None:
    """Return the first words of a text up to its stamp, the last one where a collector writes its own before that."""
    end = 0
    for word in islice(_WORD.finditer(text), _FIRST_WORDS):
        if end and not _has_stamp(word[0]):
            break
        if end or _has_stamp(text[: word.end()]):
            end = word.end()
    return text[:end] or None


def _has_stamp(text: str) -> bool:
    numbers = _DIGITS.findall(text)
    return len(numbers) >= STAMP_NUMBERS or any(len(number) >= _STAMP_DIGITS for number in numbers)


def _expression(beginning: str) -> str:
    """Return a regular expression of what begins alike.

    The first number has as many digits, for what it follows may end in digits; others may be shorter or longer, as a
    fraction without its last zeros is.
    """
    literals, numbers = _DIGITS.split(beginning), _DIGITS.findall(beginning)
    parts = [f"[0-9]{{{len(numbers[0])}}}"] + ["[0-9]+"] * (len(numbers) - 1)
    behind = (part + re.escape(literal) for part, literal in zip(parts, literals[1:], strict=True))
    return re.escape(literals[0]) + "".join(behind) + ("" if literals[-1] else "(?![0-9])")
