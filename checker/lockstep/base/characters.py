"""Texts as readers see them: nouns that fit their numbers, no cut within a character, and none that is obeyed."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["beginning", "counted", "one_line", "visible"]

_JOINER = "\u200d"

#: What is shown as an escape: controls but for tab and newline, separators of lines, halves of surrogate pairs, and
#: what orders or hides text without a shape of its own. Joiners and tags, which are parts of emoji, stay.
_OBEYED = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 event``, ``2,000 events``; `many` where that is not `one` with an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def visible(text: str) -> str:
    """Return a text in which each character that would be obeyed is an escape: U+202E is ``\\u202e``."""
    return _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def one_line(text: str) -> str:
    """Return a text, such as the name of a file, in which the end of a line is shown, too."""
    return visible(text).replace("\n", "\\n")


def beginning(text: str, most: int) -> str:
    """Return a text; of one longer than `most` code points, its beginning and an ellipsis, no longer than that.

    What a reader takes for one character is not cut within (the common cases of Unicode's UAX #29): a letter with its
    accents, a flag, an emoji with its colour or joined with others.
    """
    if len(text) <= most:
        return text
    end = most - 1
    while end > 0 and _is_within(text, end):
        end -= 1
    return f"{text[: end or most - 1]}…"


def _is_within(text: str, place: int) -> bool:
    """Tell whether a place lies within a character."""
    before, after = text[place - 1], text[place]
    if before == _JOINER or after == _JOINER or unicodedata.combining(after) or unicodedata.category(after) in _MARKS:
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f":  # colours, and tags of flags
        return True
    if not _is_regional(before) or not _is_regional(after):
        return False
    flags = place
    while flags > 0 and _is_regional(text[flags - 1]):
        flags -= 1
    return (place - flags) % 2 == 1


_MARKS = ("Mn", "Me", "Mc")


def _is_regional(letter: str) -> bool:
    """Tell whether a code point is one of the pairs that make a flag."""
    return "\U0001f1e6" <= letter <= "\U0001f1ff"
