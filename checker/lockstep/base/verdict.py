"""Verdicts of checks, and their exit codes."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """The three verdicts, and two for what gets none: malformed input, and an error of the check itself.

    HOLDS: everything that was checked holds, within its bounds. VIOLATED: a property fails, or a trace takes a
    step the spec does not allow. INCONCLUSIVE: a budget was spent, a tool died, there was nothing to check.
    INTERNAL: an error of the checker or of the spec, which says nothing about the input.
    """

    HOLDS = "holds"
    VIOLATED = "violated"
    INCONCLUSIVE = "inconclusive"
    MALFORMED = "malformed"
    INTERNAL = "internal error"

    @property
    def exit_code(self) -> int:
        """0 holds, 1 violated, 2 malformed input, 3 inconclusive, 4 internal error."""
        return _EXIT_CODES[self]


_EXIT_CODES = {
    Verdict.HOLDS: 0,
    Verdict.VIOLATED: 1,
    Verdict.MALFORMED: 2,
    Verdict.INCONCLUSIVE: 3,
    Verdict.INTERNAL: 4,
}
_WORST_FIRST = (Verdict.INTERNAL, Verdict.MALFORMED, Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.HOLDS)


def no_state_reason(generated: int) -> str:
    """Return why a search that ended without a state has no verdict: there was nothing that could fail.

    Arguments: `generated`, how many initial states there were before the constraints.
    """
    why = "the CONSTRAINT excludes every initial state" if generated else "nothing satisfies Init"
    return f"no state was checked: {why}"


def violation_reason(kind: str, name: str | None, message: str = "") -> str:
    """Return in a line what a search found violated, whichever engine it is.

    Arguments: `kind`, such as "invariant" or "deadlock"; `name`, of the property, if it has one; `message`, what an
    ASSUME, an Assert or an evaluation reports.
    """
    if kind == "deadlock":
        return "deadlock: a reachable state has no successor"
    if kind == "assumption":
        return message
    if message:
        return f"{kind}{f' in {name}' if name else ''}: {message}"
    return f"{kind} {name} is violated"


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the first of internal error, malformed, violated, inconclusive and holds that is there.

    Nothing checked is inconclusive.
    """
    return next((verdict for verdict in _WORST_FIRST if verdict in verdicts), Verdict.INCONCLUSIVE)
