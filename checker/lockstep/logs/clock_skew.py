"""Differences of clocks that would explain lines which nothing explains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lockstep.base.deadline import NEVER, Deadline
from lockstep.base.errors import BadInputError
from lockstep.base.progress import Say, silent
from lockstep.logs.continuations import Continuation
from lockstep.logs.explanation_search import explain
from lockstep.logs.line_order import Order
from lockstep.logs.line_steps import LineSteps
from lockstep.logs.log_lines import Thread
from lockstep.logs.mapped_logs import MappedLogs

#: The work that `sufficient_skew` does for each difference: lines times states that are carried, states after a line,
#: and hidden steps before one. No verdict depends on it.
MAX_WORK, MAX_STATES, MAX_HIDDEN_STEPS = 1000, 50, 20_000

MILLISECOND = 10**6

#: The greatest difference of clocks that is tried, in nanoseconds: a day, which covers wrong time zones.
MAX_SKEW = 86_400 * 1000 * MILLISECOND


def sufficient_skew(
    logs: MappedLogs,
    steps: LineSteps,
    starts: Callable[[LineSteps], Iterable[Continuation] | None],
    deadline: Deadline = NEVER,
    say: Say = silent,
) -> int | None:
    """Return a difference of the clocks, in nanoseconds, with which a behaviour explains the lines.

    It is None where none is found, which does not mean that there is none: what is spent on the search is bounded. For
    the same reason a smaller one may explain them, too.

    Arguments: `logs`, which nothing explains with the clocks that are declared; `steps`, the spec with its hidden
    actions; `starts`, the states in which the logs may begin; `deadline`, after which nothing is tried; `say`, which
    reports what is tried.
    """
    most = min(MAX_STATES, MAX_WORK // logs.lines)
    if not most:
        return None
    few = LineSteps(steps.spec, steps.interface, steps.hidden, MAX_HIDDEN_STEPS, deadline)

    def explains(slack: int) -> bool:
        if deadline.is_over():
            raise TimeoutError
        return bool(explain(Order(logs.threads, slack), few, starts(few), max_states=most, deadline=deadline).runs)

    try:
        found = least_skew(explains, logs.threads, logs.slack, say)
    except BadInputError:  # of a line that the declared clocks do not come to: it is not what was refuted
        return None
    return found.skew if found is not None and found.explains else None


@dataclass(frozen=True, slots=True)
class LeastSkew:
    """A difference of the clocks, in nanoseconds, and whether it was found to explain the lines.

    Where it was not, there was no time left to find out, and no smaller one of those that were tried explains them.
    """

    skew: int
    explains: bool


def least_skew(
    explains: Callable[[int], bool], threads: Sequence[Thread], declared: int, say: Say = silent
) -> LeastSkew | None:
    """Return a difference of the clocks that explains the lines, and is near the least that does.

    It is a whole number of milliseconds, found by doubling and then by halving the interval until a tenth of it is
    left; None where no difference does, up to MAX_SKEW, or to the one with which no stamps order any lines.

    Arguments: `explains` returns whether a difference does, and raises TimeoutError where no time is left to find out;
    `threads`, the logs; `declared`, a difference in nanoseconds that does not; `say`, which reports what is tried.
    """
    most = _ceiling(min(MAX_SKEW, _spread(threads)))
    below, found, tried = declared // MILLISECOND, None, 0
    try:
        while below < most if found is None else found - below > max(1, found // 10):
            tried = min(max(1, below * 2), most) if found is None else (found + below) // 2
            say(f"would clocks that differ by {tried:,} ms explain this")
            if explains(tried * MILLISECOND):
                found = tried
            else:
                below = tried
    except TimeoutError:
        return LeastSkew((found or tried) * MILLISECOND, explains=found is not None)
    return None if found is None else LeastSkew(found * MILLISECOND, explains=True)


def _spread(threads: Sequence[Thread]) -> int:
    """Return how far the stamps of several logs lie apart: where clocks may differ by that, these order nothing."""
    times = [line.time for thread in threads for line in thread.lines if line.time is not None]
    return max(times) - min(times) if times and len(threads) > 1 else 0


def _ceiling(nanoseconds: int) -> int:
    return -(-nanoseconds // MILLISECOND)


def milliseconds(nanoseconds: int) -> str:
    """Return a time in milliseconds, as messages have it."""
    return f"{nanoseconds / MILLISECOND:,.10g}"
