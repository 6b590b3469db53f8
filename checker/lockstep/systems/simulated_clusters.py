"""Clusters of a Python reference as a system's simulator: what they tell becomes a trace, and they can be asked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from lockstep.base.errors import BadInputError
from lockstep.conformance.both_ways_check import Offer, Run
from lockstep.systems.system import Simulator
from lockstep.trace.trace_format import FORMAT, OBSERVE, REFERENCE, Event, Header

#: The form of all flaws together that the code was released with.
PUBLISHED = "published"


class Plan(Protocol):
    """A fault plan of a reference: a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def node_ids(self) -> Sequence[str]:
        """The nodes of its clusters."""

    @property
    def events(self) -> int:
        """How many events each runs for."""


class Schedule(Protocol):
    """A cluster that runs."""

    def next_event(self) -> Mapping[str, Any] | None:
        """Take the next action and tell it; None where nothing is possible any more."""


class Trial(Protocol):
    """A cluster between two events, of which copies can be tried."""

    def offers(self) -> Iterator[Offer]:
        """Yield what is worth trying though no rule allows it."""

    def take(self, node: str, action: str, args: Mapping[str, Any]) -> Sequence[Mapping[str, Any]] | None:
        """Take an action on a copy; the event, and what each other node shows then; None where it is refused."""


class Group(Protocol):
    """A cluster that takes the steps that it is told."""

    @property
    def node_ids(self) -> Sequence[str]:
        """Its nodes."""

    def enabled(self, node: str, action: str, *args: Any) -> bool:
        """Return whether a node may take an action now."""

    def take(self, node: str, action: str, *args: Any) -> dict[str, Any]:
        """Take it, and return the event."""


class Started(Protocol):
    """A cluster that has just begun, and reads the steps of a trace."""

    @property
    def cluster(self) -> Group:
        """The cluster; what is taken changes it."""

    def arguments(self, action: str, args: Mapping[str, Any]) -> list[Any] | None:
        """Return the arguments of an event of an action; None where there is no such action, or one is missing."""

    def under_way(self) -> Iterable[Mapping[str, Any]]:
        """Return every message, as an event has it: under way, or waiting at a node."""


P = TypeVar("P", bound=Plan)
S = TypeVar("S", bound=Schedule)


def event_of(event: Mapping[str, Any]) -> Event:
    """Return what a cluster tells as an event of a trace."""
    return Event(**{**event, "sent": tuple(event["sent"])})


@dataclass(frozen=True, slots=True)
class Simulation(Generic[P, S]):
    """What simulates clusters of a reference.

    `from_dict` makes a plan of its fields, `load_plan` reads one in a file; `constants` are those of the header for a
    plan; `begin` starts a cluster with a seed; `trial` is one between two events; `started` is one that has just begun,
    as a header describes it.
    """

    from_dict: Callable[[Mapping[str, Any]], P]
    load_plan: Callable[[Path], P]
    constants: Callable[[P], Mapping[str, Any]]
    begin: Callable[[int, P], S]
    trial: Callable[[S], Trial]
    started: Callable[[Header], Started]


@dataclass(frozen=True, slots=True)
class Reference(Generic[P, S]):
    """The clusters of a reference.

    `spec` is the name of its system's; `plans` are the fields of each plan that has a name, and `variants` those that
    replace them where it is run with another form of the flaws. `simulation` imports the reference: that is slow, and
    only what runs a cluster, or reads a plan, needs it.
    """

    spec: str
    plans: Mapping[str, Mapping[str, Any]]
    simulation: Callable[[], Simulation[P, S]]
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def simulator(self, verified: Sequence[str], flawed: Collection[str], kept: Collection[str]) -> Simulator:
        """Return the clusters as a system's simulator; which plans are verified, flawed and kept is said there."""
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
        """Return the plan of a name, in a variant if one is named, or the one in the file `name`, with so many events.

        Raises BadInputError where the file is no plan, or there is no such variant; OSError where it cannot be read.
        """
        if variant and (name not in self.plans or variant not in self.variants):
            raise BadInputError(f"{name}: no plan of {self.spec} that can be run in the variant {variant!r}")
        # It comes with what `simulation` imports, and no sooner for the same reason.
        from raftref.simulation.plans import PlanError

        simulation = self.simulation()
        try:
            fields = {**self.plans.get(name, {}), **self.variants.get(variant, {})}
            plan = simulation.from_dict(fields) if name in self.plans else simulation.load_plan(Path(name))
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
            constants=dict(self.simulation().constants(plan)),
            origin="simulation of the Python reference",
            scenario=f"plan {name}, {f'{variant}, ' if variant else ''}seed {seed}, {plan.events} events",
        )

    def cluster(self, name: str, seed: int, events: int, variant: str = "") -> tuple[Header, Iterator[Event]]:
        """Run a plan, named or in a file, with a seed for so many events, in a variant if one is named."""
        plan = self.fault_plan(name, events, variant)
        return self.header(name, plan, seed, variant), (event for event, _ in self.run(seed, plan))

    def asked(self, name: str, seed: int, events: int) -> tuple[Header, Run]:
        """Run it, and let every action be tried after each event."""
        plan = self.fault_plan(name, events)
        return self.header(name, plan, seed), self.run(seed, plan)

    def run(self, seed: int, plan: P) -> Run:
        """Yield what happens in a cluster of a plan, and with each event what lets every action be tried after it."""
        simulation = self.simulation()
        schedule = simulation.begin(seed, plan)
        for _ in range(plan.events):
            event = schedule.next_event()
            if event is None:
                return
            yield event_of(event), _Asked(simulation.trial(schedule))

    def again(self, header: Header, steps: Iterable[Event]) -> Iterator[Event]:
        """Take steps in a new cluster, and yield what it tells of them; those that it refuses are left out.

        A message that is not there any more is replaced by the one of its kind, between the same nodes, that differs in
        the fewest fields from it, the first of these.
        """
        from raftref.simulation.plans import PlanError  # it comes with what `simulation` imports

        try:
            started = self.simulation().started(header)
        except PlanError:  # no cluster of the reference is like that
            return
        if tuple(header.nodes) != tuple(started.cluster.node_ids):  # somebody else's nodes
            return
        for step in steps:
            args = _taken(started, step)
            if args is not None:
                yield event_of(started.cluster.take(step.node, step.action, *args))


def _taken(started: Started, step: Event) -> list[Any] | None:
    """Return arguments with which a step can be taken now, its own if that may be."""
    recorded = step.args.get("m")
    others = _like(recorded, started.under_way()) if isinstance(recorded, Mapping) else []
    for args in (step.args, *({**step.args, "m": message} for message in others)):
        found = started.arguments(step.action, args)
        if found is not None and started.cluster.enabled(step.node, step.action, *found):
            return found
    return None


def _like(told: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the messages of the same kind between the same nodes, those first that differ in the fewest fields."""
    alike = [
        each for each in others if all(each.get(name) == told.get(name) for name in ("kind", "type", "src", "dst"))
    ]
    return sorted(alike, key=lambda each: sum(told.get(name) != value for name, value in each.items()))


class _Asked:
    """A cluster that is asked what it would do, in events of a trace."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def offers(self) -> Iterator[Offer]:
        return self._trial.offers()

    def take(self, node: str, action: str, args: Mapping[str, Any]) -> list[Event] | None:
        found = self._trial.take(node, action, args)
        if found is None:
            return None
        others = [Event(seq=0, action=OBSERVE, node=each["node"], shows=each["shows"]) for each in found[1:]]
        return [event_of(found[0]), *others]
