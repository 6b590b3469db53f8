"""Coverage: what traces reach of a protocol, in how many traces and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from lockstep.report.text_table import table
from lockstep.systems.system import Reached
from lockstep.systems.trace_specs import system_of
from lockstep.trace.trace_format import Event
from lockstep.trace.trace_reader import Trace


@dataclass(slots=True)
class Coverage:
    """Coverage of a protocol: `traces` counts the traces that reach a thing, `times` how often it is reached."""

    events: list[int] = field(default_factory=list)
    traces: Counter[Reached] = field(default_factory=Counter)
    times: Counter[Reached] = field(default_factory=Counter)

    def add(self, reached: Mapping[Reached, int], event_count: int) -> None:
        """Count one trace.

        Arguments: `reached`, what it reaches, each with its count; `event_count`, its length.
        """
        self.events.append(event_count)
        self.times.update(reached)
        self.traces.update(reached.keys())

    @property
    def median_events(self) -> float:
        """The median number of events of a trace."""
        return median(self.events)

    def share(self, what: Reached) -> float:
        """Return the fraction of the traces that reach something."""
        return self.traces[what] / len(self.events)

    def missing(self, actions: Iterable[str]) -> list[str]:
        """Return the actions that no trace takes."""
        return [name for name in actions if not self.traces["action", name] and not self.traces["fault", name]]

    def text(self) -> str:
        """Return a table of what was reached, by how many traces, and how often."""
        rows = [
            (kind, name, self.traces[kind, name], f"{100 * self.share((kind, name)):.0f} %", self.times[kind, name])
            for kind, name in sorted(self.times)
        ]
        return table(("what", "name", "traces", "share", "times"), rows)


def reached_by(trace: Trace) -> tuple[Counter[Reached], int]:
    """Return what a trace reaches, each with its count, and the number of its events, which are read meanwhile.

    Raises TraceError where the trace is malformed.
    """
    system = system_of(trace.header, trace.source)
    count = 0

    def events() -> Iterator[Event]:
        nonlocal count
        for _, event in trace:
            count += 1
            yield event

    if system.reached is None:
        return Counter(), sum(1 for _ in events())
    return Counter(system.reached(events())), count
