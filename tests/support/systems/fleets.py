"""The parts of the protocol that the clusters of a plan reach together."""

from __future__ import annotations

import functools
from collections import Counter

from lockstep.conformance.step_coverage import Reached
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.fleet_coverage import cover_trace
from lockstep.systems.registry import simulators
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.spec import Spec
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace


@functools.cache
def covering_spec(plan: str) -> Spec:
    """The spec of a plan's traces, with the definitions of coverage."""
    _, simulator = simulators()[plan]
    return trace_spec(simulator.cluster(plan, 0, 0)[0], plan, covers=True)


def covered(plan: str, seed: int, events: int, spec: Spec | None = None) -> TraceVerdict:
    """Follow a cluster of a plan through the spec of the plan's traces, or another one, and count what it reaches."""
    _, simulator = simulators()[plan]
    return cover_trace(Trace(trace_lines(*simulator.cluster(plan, seed, events)), plan), spec or covering_spec(plan))


def times_reached(plan: str, clusters: int, events: int) -> Counter[Reached]:
    """Count the clusters of a plan that reach each part; each must run for all its events, as its spec allows."""
    counts: Counter[Reached] = Counter()
    for seed in range(1, clusters + 1):
        found = covered(plan, seed, events)
        assert found.deviation is None, found.reason
        assert found.events == events
        counts.update(set(found.reached or ()))
    return counts
