"""The error of every codec, and how a value that is wrong stands in its line."""

from __future__ import annotations

import reprlib

#: The most characters of a value that an error shows.
MAX_SHOWN = 60


class WireError(ValueError):
    """Bytes that are no message of the protocol, or a message that the protocol has no bytes for.

    Its text is one line. A connection that carried such bytes is of no more use: where the next message begins
    is not known.
    """


def shown(value: object) -> str:
    """Return a value in a few characters of one line, however long or deep it is."""
    text = reprlib.repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."
