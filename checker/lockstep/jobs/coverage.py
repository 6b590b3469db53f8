"""What many traces reach of a protocol, and by how many of them each thing is reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from statistics import median

from lockstep.report.text import table
from lockstep.systems.specs import system_of
from lockstep.systems.system import Reached
from lockstep.trace.format import Trace


@dataclass(slots=True)
class Coverage:
    """What many traces reach: `traces` the number of those that reach a thing, `times` how often it is reached."""

    events: list[int] = field(default_factory=list)
    traces: Counter[Reached] = field(default_factory=Counter)
    times: Counter[Reached] = field(default_factory=Counter)

    def add(self, reached: Iterable[Reached], event_count: int) -> None:
        """Count one trace.

        Arguments: `reached`, what it reaches, again and again where it is reached again; `event_count`, its length.
        """
        found = Counter(reached)
        self.events.append(event_count)
        self.times += found
        self.traces.update(found.keys())

    @property
    def median_events(self) -> float:
        """The median number of events of a trace."""
        return median(self.events)

    def share(self, what: Reached) -> float:
        """Return which part of the traces reaches something."""
        return self.traces[what] / len(self.events)

    def missing(self, actions: Iterable[str]) -> list[str]:
        """List those of these actions that no trace takes."""
        return [name for name in actions if not self.traces["action", name] and not self.traces["fault", name]]

    def text(self) -> str:
        """Lay out what was reached, by how many traces, and how often."""
        rows = [
            (kind, name, self.traces[kind, name], f"{100 * self.share((kind, name)):.0f} %", self.times[kind, name])
            for kind, name in sorted(self.times)
        ]
        return table(("what", "name", "traces", "share", "times"), rows)


def reached_by(trace: Trace) -> tuple[list[Reached], int]:
    """Return what a trace reaches, again and again where it is reached again, and how many events it has."""
    system = system_of(trace.header, trace.source)
    events = [event for _, event in trace]
    return list(system.reached(events)) if system.reached else [], len(events)
