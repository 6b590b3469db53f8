"""The parts of the protocol that the clusters of a plan reach together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from lockstep.systems.system import Reached, Simulator
from lockstep.trace.trace_format import Event


def times_reached(
    simulator: Simulator, reached: Callable[[list[Event]], Iterable[Reached]], plan: str, clusters: int, events: int
) -> Counter[Reached]:
    """Count the clusters of a plan that reach each part; each must run for all its events."""
    counts: Counter[Reached] = Counter()
    for seed in range(1, clusters + 1):
        run = list(simulator.cluster(plan, seed, events)[1])
        assert len(run) == events
        counts.update(set(reached(run)))
    return counts
