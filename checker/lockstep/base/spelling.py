"""Spelling hints: the known words that are like an unknown one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], likeness: float = 0.6, max_words: int = 2) -> str:
    """Return `; did you mean ...?` with the known words that are nearly `word`, the nearest first; "" where none is.

    Arguments: `likeness`, how alike they must be, from 0 to 1; `max_words`, the most to name.
    """
    near = nearest(word, known, likeness, max_words)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def nearest(word: str, known: Iterable[str], likeness: float = 0.6, max_words: int = 2) -> list[str]:
    """Return the known words that are nearly `word`, the nearest first; the arguments are those of did_you_mean."""
    return difflib.get_close_matches(word, sorted({*known} - {word}), n=max_words, cutoff=likeness)
