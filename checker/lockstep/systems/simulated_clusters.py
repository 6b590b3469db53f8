"""Clusters of a Python reference as a system's simulator: their events become traces, and any step can be tried."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from lockstep.base.errors import BadInputError
from lockstep.conformance.both_ways_check import Offer, ProbedRun
from lockstep.systems.system import Simulator
from lockstep.trace.trace_format import FORMAT, OBSERVE, REFERENCE, Event, Header
from raftref.choices import PUBLISHED

# The reference is slow to import, and only runs of clusters need it.
if TYPE_CHECKING:
    from raftref.simulation.cluster_trial import ClusterTrial
    from raftref.simulation.group import Group
    from raftref.simulation.group_plan import GroupPlan
    from raftref.simulation.random_schedule import RandomSchedule

    AnyGroup: TypeAlias = Group[Any, Any, Any]

P = TypeVar("P", bound="GroupPlan")


def event_of(event: Mapping[str, Any]) -> Event:
    """Return the event of a cluster as one of a trace."""
    return Event(**{**event, "sent": tuple(event["sent"])})


@dataclass(frozen=True, slots=True)
class Simulation(Generic[P]):
    """The classes of a reference that simulate its clusters."""

    plan: type[P]
    cluster: Callable[[Any], AnyGroup]
    schedule: Callable[[int, Any], RandomSchedule[Any]]
    trial: Callable[[Any], ClusterTrial[Any]]


@dataclass(frozen=True, slots=True)
class Reference(Generic[P]):
    """The clusters of a reference.

    `spec` is the name of its system's; `plans` are the fields of each plan that has a name, and `variants` those that
    replace them where it is run with another form of the flaws. `defaults` are the constants that a header may leave
    out. `simulation` imports the reference.
    """

    spec: str
    plans: Mapping[str, Mapping[str, Any]]
    defaults: Mapping[str, Any]
    simulation: Callable[[], Simulation[P]]
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def simulator(self, verified: Sequence[str], flawed: Collection[str], kept: Collection[str]) -> Simulator:
        """Return the clusters as a system's simulator, with the names of plans and properties that it has."""
        return Simulator(
            plans=tuple(self.plans),
            verified=tuple(verified),
            flawed=frozenset(flawed),
            kept=frozenset(kept),
            cluster=self.cluster,
            asked=self.asked,
            again=self.again,
            variants=tuple(self.variants),
            flawed_variants=frozenset(self.variants) & {PUBLISHED},
        )

    def fault_plan(self, name: str, events: int, variant: str = "") -> P:
        """Return a named plan, in a variant if one is named, or the plan in the file `name`, for a number of events.

        Raises BadInputError where the file is no plan, or there is no such variant; OSError where it cannot be read.
        """
        if variant and (name not in self.plans or variant not in self.variants):
            raise BadInputError(f"{name}: no plan of {self.spec} that can be run in the variant {variant!r}")
        from raftref.simulation.plans import PlanError

        plan_class = self.simulation().plan
        try:
            fields = {**self.plans.get(name, {}), **self.variants.get(variant, {})}
            plan = plan_class.from_dict(fields) if name in self.plans else plan_class.load(Path(name))
        except PlanError as error:
            raise BadInputError(str(error)) from error
        return replace(plan, events=events)

    def header(self, name: str, plan: P, seed: int, variant: str = "") -> Header:
        """Return the header of the trace of a plan; `variant` is the one that it is run in, if it is another."""
        from importlib.metadata import version  # it is slow to import, and no check needs it

        return Header(
            format=FORMAT,
            system=REFERENCE,
            version=version("lockstep-raft"),
            spec=self.spec,
            nodes=tuple(plan.node_ids),
            constants=dict(plan.constants()),
            origin="simulation of the Python reference",
            scenario=f"plan {name}, {f'{variant}, ' if variant else ''}seed {seed}, {plan.events} events",
        )

    def cluster(self, name: str, seed: int, events: int, variant: str = "") -> tuple[Header, Iterator[Event]]:
        """Run a plan, named or in a file, with a seed for a number of events, in a variant if one is named."""
        plan = self.fault_plan(name, events, variant)
        return self.header(name, plan, seed, variant), (event for event, _ in self.run(seed, plan))

    def asked(self, name: str, seed: int, events: int) -> tuple[Header, ProbedRun]:
        """Run it, and let every action be tried after each event."""
        plan = self.fault_plan(name, events)
        return self.header(name, plan, seed), self.run(seed, plan)

    def run(self, seed: int, plan: P) -> ProbedRun:
        """Yield the events of a cluster of a plan, each with a probe that tries every action after it."""
        simulation = self.simulation()
        schedule = simulation.schedule(seed, plan)
        for event in schedule.run():
            yield event_of(event), _ClusterProbe(simulation.trial(schedule.cluster))

    def started(self, header: Header) -> ClusterTrial[Any]:
        """Return a cluster that has just started, as a header describes it; raises PlanError where there is none."""
        simulation = self.simulation()
        plan = simulation.plan.from_constants(header.nodes, {**self.defaults, **header.constants})
        return simulation.trial(simulation.cluster(plan))

    def again(self, header: Header, steps: Iterable[Event]) -> Iterator[Event]:
        """Take steps in a new cluster, and yield their events; those that it refuses are left out.

        A message that is not there any more is replaced by the one of its kind, between the same nodes, that differs in
        the fewest fields from it, the first of these.
        """
        from raftref.simulation.plans import PlanError

        try:
            started = self.started(header)
        except PlanError:  # no cluster of the reference is like that
            return
        if tuple(header.nodes) != started.cluster.node_ids:  # the header names other nodes
            return
        for step in steps:
            args = _possible_arguments(started, step)
            if args is not None:
                yield event_of(started.cluster.take(step.node, step.action, *args))


def _possible_arguments(started: ClusterTrial[Any], step: Event) -> list[Any] | None:
    """Return arguments with which a step can be taken now, its own if that may be."""
    recorded = step.args.get("m")
    others = _similar(recorded, started.under_way()) if isinstance(recorded, Mapping) else []
    for args in (step.args, *({**step.args, "m": message} for message in others)):
        found = started.arguments(step.action, args)
        if found is not None and started.cluster.enabled(step.node, step.action, *found):
            return found
    return None


def _similar(recorded: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of the same kind between the same nodes, those first that differ in the fewest fields."""
    names = ("kind", "type", "src", "dst")
    similar = [each for each in others if all(each.get(name) == recorded.get(name) for name in names)]
    return sorted(similar, key=lambda each: sum(recorded.get(name) != value for name, value in each.items()))


class _ClusterProbe:
    """A cluster between two steps, on which steps are tried; their events are those of a trace."""

    def __init__(self, trial: ClusterTrial[Any]) -> None:
        self._trial = trial

    def offers(self) -> Iterator[Offer]:
        return self._trial.offers()

    def take(self, node: str, action: str, args: Mapping[str, Any]) -> list[Event] | None:
        found = self._trial.take(node, action, args)
        if found is None:
            return None
        others = [Event(seq=0, action=OBSERVE, node=each["node"], shows=each["shows"]) for each in found[1:]]
        return [event_of(found[0]), *others]
