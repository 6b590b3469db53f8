"""Coverage: what traces reach of a protocol, in how many traces and how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import median

from lockstep.conformance.property_evaluation import NoEvaluation
from lockstep.conformance.step_coverage import Reached
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.text_table import table
from lockstep.systems.trace_specs import system_of
from lockstep.tla.spec import Spec
from lockstep.trace.trace_reader import Trace


@dataclass(slots=True)
class Coverage:
    """Coverage of a protocol: `traces` counts the traces that reach a part, `times` the steps that do."""

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

    def add_verdict(self, verdict: TraceVerdict) -> None:
        """Count the trace of a verdict, with what that says it reaches: nothing where its check came to no such end."""
        self.add(verdict.reached or {}, verdict.events)

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

    def never_text(self, parts: frozenset[Reached]) -> str:
        """Return a line for each kind with the parts that no trace reaches; `parts` are all that there are."""
        missing: dict[str, list[str]] = {}
        for kind, name in sorted(parts - self.times.keys()):
            missing.setdefault(kind, []).append(name)
        return "\n".join(f"never reached, of kind {kind}: {', '.join(names)}" for kind, names in missing.items())


def cover_trace(trace: Trace, spec: Spec) -> TraceVerdict:
    """Follow the steps of a trace and return a verdict with what they `reached`; no property is evaluated.

    What is counted ends where the trace leaves the spec. A malformed trace is a verdict, too.

    Arguments: `trace`, opened; `spec`, that of its header, compiled with the definitions of coverage.
    """
    interface = system_of(trace.header, trace.source).interface(spec)
    return check_trace(trace, spec, interface, NoEvaluation, covers=True)
