"""A trace in memory, for a check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from lockstep.trace.trace_format import Event


@dataclass(frozen=True, slots=True)
class ListedTrace:
    """A trace in memory: `source` names it in messages, `events` have their line numbers."""

    source: str
    events: Sequence[tuple[int, Event]] = ()

    @classmethod
    def numbered(cls, source: str, events: Iterable[Event]) -> ListedTrace:
        """Return a trace whose events have the lines that they would have in a file."""
        return cls(source, tuple(enumerate(events, start=2)))

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield each event with its line."""
        return iter(self.events)
