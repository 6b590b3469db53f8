"""A series of runs of chaos, and what must have happened in it for the series to say anything."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lockstep.cluster.chaos_run import STALE_READS, ChaosResult
from lockstep.cluster.chaos_verdict import ChaosVerdict


@dataclass(slots=True)
class ChaosSeries:
    """The counts of a series, and the runs with something wrong.

    `kinds` are the faults that a run may have, and `floors` the outcomes that must come of them, None for all.
    """

    kinds: Sequence[str]
    floors: frozenset[str] | None = None
    runs: int = 0
    steps: int = 0
    appends: int = 0
    confirmed: int = 0
    reads: int = 0
    answered_reads: int = 0
    checked: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    orders: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    wrong: list[ChaosVerdict] = field(default_factory=list)

    def add(self, verdict: ChaosVerdict, *, checked: bool) -> None:
        """Count a run; `checked`: its trace was checked against the spec."""
        result: ChaosResult = verdict.result
        self.runs += 1
        self.steps += len(result.steps)
        self.appends += len(result.appends)
        self.confirmed += result.confirmed
        self.reads += len(result.reads)
        self.answered_reads += result.answered_reads
        self.checked += checked
        for total, counts in (
            (self.faults, result.faults),
            (self.orders, result.orders),
            (self.outcomes, result.outcomes),
        ):
            total.update(counts)
        if verdict.reasons:
            self.wrong.append(verdict)

    def missing(self) -> list[str]:
        """Return what never happened: a kind of faults, an outcome, an append that was confirmed, a read."""
        found = [kind for kind in self.kinds if not self.faults[kind]]
        found += [f"{kind} carried out" for kind in self.orders if not self.orders[kind]]
        floors = self.outcomes.keys() - {STALE_READS} if self.floors is None else self.floors
        found += [name for name in sorted(floors) if not self.outcomes[name]]
        for name, count in (("append confirmed", self.confirmed), ("read answered", self.answered_reads)):
            found += [] if count else [name]
        return found

    def record(self) -> dict[str, Any]:
        """Return all counts as JSON, with the reasons of wrong runs by their seeds."""
        counts = {name: getattr(self, name) for name in _COUNTS}
        named = {name: dict(sorted(getattr(self, name).items())) for name in ("faults", "orders", "outcomes")}
        return {**counts, **named, "wrong": {each.result.seed: each.reasons for each in self.wrong}}


_COUNTS = ("runs", "steps", "appends", "confirmed", "reads", "answered_reads", "checked")


T = TypeVar("T")


def collected_between(runs: Iterable[T]) -> Iterator[T]:
    """Yield what each run gives, and collect garbage between two of them alone.

    A run keeps nearly all that it makes until it is judged. The collector, which looks at it again and again, takes a
    quarter to a third of the time.
    """
    gc.disable()
    try:
        for each in runs:
            yield each
            gc.collect()
    finally:
        gc.enable()
