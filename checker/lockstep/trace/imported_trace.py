"""Raw input as a trace, with a summary of what its lines were used for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lockstep.trace.trace_format import Event, Header

#: Uses of a line: a step, something a node showed, nothing.
ACTION, OBSERVATION, NOISE = "action", "observation", "noise"


@dataclass(frozen=True)
class Summary:
    """The lines by kind and use, the events by action, and the lines whose event was moved.

    `moved` are the lines whose event stands before one of a line above; `forced` those for which no place was
    found that agrees with all that was recorded, and which keep that of their line; `hidden` counts, by action, the
    events without a line that the event of a later line needs. `states` is how many states of the spec explain the
    lines, at most, and `explanations` how many explain them all: one, where each step has a line; `refuted` is the line
    of a log that none explains, with which the trace ends; `notes` name what was left out.
    """

    uses: dict[str, dict[str, int]]
    actions: dict[str, int]
    moved: tuple[int, ...]
    forced: tuple[int, ...]
    hidden: dict[str, int]
    states: int = 1
    explanations: int = 1
    refuted: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> dict[str, int]:
        """The number of lines by use."""
        totals: Counter[str] = Counter()
        for uses in self.uses.values():
            totals.update(uses)
        return dict(totals)

    @property
    def explained(self) -> int:
        """How many lines are an action or an observation within one."""
        return sum(count for use, count in self.lines.items() if use != NOISE)


@dataclass(frozen=True)
class Imported:
    """Raw input as a trace; its events may be in a file."""

    header: Header
    events: Sequence[Event]
    summary: Summary

    def __iter__(self) -> Iterator[Event]:
        """Yield the events in the order of their effects."""
        return iter(self.events)
