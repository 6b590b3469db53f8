"""What the command line makes of an error: bad input (exit code 2), or no verdict (3)."""

from __future__ import annotations


class BadInputError(Exception):
    """What was given cannot be used; the message says why."""


class GaveUpError(Exception):
    """A budget was spent before there was a verdict."""


def too_deep(at: str = "") -> str:
    """Say why there is no verdict where a RECURSIVE operator, or a value, goes deeper than Python follows."""
    return f"the compiled spec cannot follow so deep a recursion{at}; TLC may (--engine tlc)"
