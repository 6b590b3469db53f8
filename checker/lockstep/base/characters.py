"""Text for readers: nouns that fit their numbers, cuts between characters, escapes for control characters."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

_JOINER = "\u200d"

#: An emoji, and what joins emoji, letters of scripts that need it, or a digit and its key to one character.
_EMOJI = "[\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]"
_JOINED = (
    "\U0001f3f4[\U000e0020-\U000e007e]+\U000e007f"
    f"|{_EMOJI}[\ufe0e\ufe0f]?(?:{_JOINER}{_EMOJI}[\ufe0e\ufe0f]?)*"
    "|[0-9#*]\ufe0f\u20e3"
    "|(?<=[\u0620-\u109f])[\u200c\u200d](?=[\u0620-\u109f])"
)

#: Characters that are shown as escapes: controls but for tab and newline, separators of lines, halves of surrogate
#: pairs, and what orders or hides text without a shape of its own (Unicode's Default_Ignorable_Code_Point, but for what
#: joins).
_OBEYED = re.compile(
    f"(?P<joined>{_JOINED})|"
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff\ud800-\udfff]"
)


def counted(count: int, one: str, many: str = "") -> str:
    """Return a number with its noun: ``1 event``, ``2,000 events``; `many` where that is not `one` with an s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def visible(text: str) -> str:
    """Return a text in which each control character is an escape: U+202E is ``\\u202e``."""
    return text if text.isascii() and text.isprintable() else _OBEYED.sub(_escape, text)


def visible_line(text: str) -> str:
    """Return the same in one line: a newline is ``\\n``, and a tab ``\\t``."""
    return visible(text.replace("\n", "\\n").replace("\t", "\\t"))


def visible_tree(tree: Any) -> Any:
    """Return a tree of JSON in which each text is visible."""
    if isinstance(tree, str):
        return visible(tree)
    if isinstance(tree, dict):
        return {visible(name): visible_tree(value) for name, value in tree.items()}
    return [visible_tree(each) for each in tree] if isinstance(tree, list) else tree


def xml_text(text: str) -> str:
    """Return visible text in which what XML 1.0 cannot hold even so is a replacement character."""
    return re.sub("[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", visible(text))


def _escape(found: re.Match[str]) -> str:
    if found["joined"]:
        return found[0]
    code = ord(found[0])
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def beginning(text: str, most: int) -> str:
    """Return a text; of one longer than `most` code points, its beginning and an ellipsis, no longer than that.

    A character as a reader sees it is not cut (the common cases of Unicode's UAX #29): a letter with its accents,
    a flag, an emoji with its colour or joined with others.
    """
    if len(text) <= most:
        return text
    end = most - 1
    while end > 0 and _is_within(text, end):
        end -= 1
    return f"{text[: end or most - 1]}…"


def _is_within(text: str, place: int) -> bool:
    """Return whether a place lies within a character."""
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
    """Return whether a code point is one of the pairs that make a flag."""
    return "\U0001f1e6" <= letter <= "\U0001f1ff"
