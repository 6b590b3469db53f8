"""Coverage: what traces reach of a protocol, in how many traces and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

from lockstep.base.errors import BadInputError
from lockstep.report.text_table import table
from lockstep.systems.system import Reached
from lockstep.systems.trace_specs import system_of
from lockstep.trace.trace_format import REFERENCE, Event
from lockstep.trace.trace_reader import Trace

#: The kind of a thing reached by a trace whose actions alone could be counted; its name is the reason.
NOT_COUNTED = "not counted"


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


def reached_by(trace: Trace, *, is_simulated: bool = True) -> tuple[Counter[Reached], int]:
    """Return how often a trace reaches each thing, and how many events it has, which are read meanwhile.

    Answers, roles and logs are found in what nodes show, which only a trace of the reference is sure to have. Only the
    actions of other traces are counted. NOT_COUNTED stands for a trace that names the reference in its header and has
    events that the reference does not write.

    Arguments: `is_simulated`, whether the reference wrote it, so that such an event is this program's own error.
    Raises TraceError where the trace is malformed.
    """
    system = system_of(trace.header, trace.source)
    actions: Counter[str] = Counter()
    reached = system.reached if trace.header.system == REFERENCE else None

    def events() -> Iterator[Event]:
        for _, event in trace:
            actions[event.action] += 1
            yield event

    rest = events()
    try:
        times = Counter(reached(rest) if reached is not None else ())
    except BadInputError:
        raise
    except Exception:
        if is_simulated:
            raise
        place = f"event {actions.total() - 1}" if actions else "the first event"
        times = Counter({(NOT_COUNTED, f"{place} does not show what the reference shows of a node"): 1})
    for _ in rest:
        pass
    for action, count in actions.items():
        if not {("action", action), ("fault", action)} & times.keys():
            times["fault" if action in system.faults else "action", action] = count
    return times, actions.total()
