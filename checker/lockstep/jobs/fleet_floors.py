"""The floor of a fleet: the parts of the protocol that its clusters must reach, and those argued to be unreachable."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lockstep.base.verdict import Verdict
from lockstep.conformance.step_coverage import Reached
from lockstep.jobs.fleet_coverage import Coverage
from lockstep.systems.registry import simulators
from lockstep.systems.system import Floor
from lockstep.systems.trace_specs import trace_spec


@dataclass(frozen=True, slots=True)
class FloorVerdict:
    """The verdict on the floor of a plan; `required` is the number of things that its clusters must reach.

    `refuted` was reached although it is argued to be unreachable, each with the argument; `empty`: the floor that is
    stated requires nothing.
    """

    plan: str
    verdict: Verdict
    required: int
    missing: tuple[Reached, ...] = ()
    refuted: tuple[tuple[Reached, str], ...] = ()
    too_small: str = ""
    empty: bool = False

    @property
    def row(self) -> tuple[object, ...]:
        """The row under FLOOR_HEADS."""
        return (self.plan, self.required - len(self.missing), self.required, self.result)

    @property
    def result(self) -> str:
        """The verdict in a line, with what was not reached."""
        problems = [f"{name} was reached, though {why}" for (_, name), why in self.refuted]
        if self.empty:
            problems.append("the floor asks for nothing")
        if self.missing:
            missing = "missing " + ", ".join(name for _, name in self.missing)
            problems.append(f"{missing} ({self.too_small})" if self.too_small else missing)
        return "; ".join(problems) or (str(self.verdict) if self.required else self.too_small)


FLOOR_HEADS = ("plan", "reached", "of", "floor")


def judge_floor(
    plan: str, floors: Sequence[Floor], reached: Collection[Reached], clusters: int, events: int
) -> FloorVerdict:
    """Compare what the clusters of a plan reached with its floor.

    The floor is that of the largest fleet that is no larger than this one. A fleet that is smaller than any is compared
    with that of the smallest, and is inconclusive where it misses something; so is a plan without a floor.

    Arguments: `floors`, in the order of their size; `reached`, by all clusters together; `clusters`, the number of
    them, with this number of `events` each.
    """
    if not floors:
        return FloorVerdict(plan, Verdict.INCONCLUSIVE, 0, too_small="no floor is stated")
    stated = [floor for floor in floors if clusters >= floor.clusters and events >= floor.events]
    floor = stated[-1] if stated else floors[0]
    found = frozenset(reached)
    missing = tuple(sorted(floor.must - found))
    refuted = tuple((what, why) for what, why in sorted(floor.unreachable.items()) if what in found)
    too_small = "" if stated else f"the floor is that of {floor.clusters} clusters of {floor.events} events"
    verdict = Verdict.HOLDS
    if missing:
        verdict = Verdict.VIOLATED if stated else Verdict.INCONCLUSIVE
    empty = not floor.must
    if refuted or empty:
        verdict = Verdict.VIOLATED
    return FloorVerdict(plan, verdict, len(floor.must), missing, refuted, too_small, empty)


def judge_plan(plan: str, coverage: Coverage, events: int) -> FloorVerdict:
    """Compare what the clusters of a plan reached with the floor that its system states.

    Arguments: `coverage`, of all clusters of the plan; `events`, the number that each of them had to take.
    """
    return judge_reached(plan, coverage.times, len(coverage.events), events)


def judge_reached(plan: str, reached: Collection[Reached], clusters: int, events: int) -> FloorVerdict:
    """Compare what a number of clusters reached together with the floor of their plan."""
    system, simulator = simulators()[plan]
    spec = trace_spec(simulator.cluster(plan, 0, 0)[0], plan, covers=True)
    floors = system.floors(plan, spec) if system.floors else ()
    return judge_floor(plan, floors, reached, clusters, events)
