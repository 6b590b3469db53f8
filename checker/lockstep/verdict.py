"""Verdicts: what a check found, and the exit code that says so."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The three verdicts, and malformed input, which gets none.

    HOLDS: everything that was checked holds, within its bounds. VIOLATED: a property fails, or a trace takes a
    step the spec does not allow. INCONCLUSIVE: a budget was spent, a tool died, there was nothing to check.
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"
    MALFORMED = "malformed"

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 2 malformed input, 3 inconclusive."""
        return _EXIT_CODES[self]


_EXIT_CODES = {Verdict.HOLDS: 0, Verdict.VIOLATED: 1, Verdict.MALFORMED: 2, Verdict.INCONCLUSIVE: 3}


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the verdict of a whole: malformed before violated before inconclusive before holds.

    Nothing checked is inconclusive.
    """
    for verdict in (Verdict.MALFORMED, Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.HOLDS):
        if verdict in verdicts:
            return verdict
    return Verdict.INCONCLUSIVE
