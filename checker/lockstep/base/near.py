"""The word that was meant, where one is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def did_you_mean(word: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """Return `; did you mean ...?` with the known words that are nearly `word`; "" where none is.

    Arguments: `likeness`, how alike they must be, from 0 to 1.
    """
    near = difflib.get_close_matches(word, {*known} - {word}, n=2, cutoff=likeness)
    return f"; did you mean {' or '.join(near)}?" if near else ""
