"""Errors by exit code: bad input (2), no verdict (3), a failing machine (4)."""

from __future__ import annotations

import copyreg
import errno
from typing import Any

#: Why a file cannot be made, written or opened although nothing is wrong with it: the machine has no more.
OUT_OF_RESOURCES = frozenset(
    {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM}
)


#: The codes of an author's mistakes in a spec and its cfg; `lockstep explain` describes each.
NOT_PARSED, WRONG_CFG, NO_VALUE, INCOMPLETE_STEP, NOT_TRANSLATED, OLD_TRANSLATION, NOT_CHECKED = (
    "LS601",
    "LS602",
    "LS603",
    "LS604",
    "LS605",
    "LS606",
    "LS607",
)


class BadInputError(Exception):
    """Input that cannot be used; the message says why."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the message and the attributes, whatever the constructor takes."""
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class GaveUpError(Exception):
    """A budget was spent before there was a verdict."""


class EnvironmentFailedError(Exception):
    """The machine refused what is needed, such as a temporary folder; nothing is wrong with the input."""


def too_deep(at: str = "") -> str:
    """Return why there is no verdict where a RECURSIVE operator, or a value, goes deeper than Python follows."""
    return f"the compiled spec cannot follow so deep a recursion{at}; TLC may (--engine tlc)"
