"""Simulated clusters of hashicorp/raft: the plans of faults that have a name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from lockstep.base.errors import BadInputError
from lockstep.conformance.both_ways import Offer, Run
from lockstep.systems.system import Simulator
from lockstep.trace.format import FORMAT, OBSERVE, Event, Header
from raftref.hashicorp.simulation import FaultPlan, PlanError, Schedule, Trial, constants, load_plan, simulate
from raftref.hashicorp.switches import ALL_FEATURES, Feature

_REPAIRED: dict[str, Any] = {"flaws": []}
#: Writes fail, or are the last of their process, so often that this happens in most clusters.
_STORES: dict[str, Any] = {"store_failure": 0.03, "crash_in_write": 0.03, "restart": 0.05}
_SNAPSHOTS: dict[str, Any] = {"snapshot": 0.02, "client": 0.1, "trailing_logs": 1}
#: Servers come and go; who was removed may come back.
_MEMBERS: dict[str, Any] = {"spares": 1, "nonvoters": 1, "change": 0.04, "max_down": 2}
#: Leaders hand over, and are asked whether they lead.
_HANDING_OVER: dict[str, Any] = {"transfer": 0.015, "end_transfer": 0.006}
_VERIFYING: dict[str, Any] = {"nonvoters": 1, "verify": 0.03, "timeout": 0.006}
#: More changes of leaders than by default.
_RESTLESS: dict[str, Any] = {"timeout": 0.012, "lease": 0.006, "client": 0.1, "zombie": 0.01}
_WITHOUT_PRE_VOTE = sorted(str(each) for each in ALL_FEATURES - {Feature.PRE_VOTE})
_ALL = {**_STORES, **_SNAPSHOTS, **_MEMBERS, **_HANDING_OVER, **_VERIFYING, **_RESTLESS}

#: The plans by name. In those without "published" in their name everything is repaired, and no property may fail; the
#: others are the code as it is in v1.7.3: they conform, and properties may fail.
PLANS: dict[str, dict[str, Any]] = {
    "raft": {**_REPAIRED},
    "raft_published": {},
    "raft_five": {"voters": 5, "max_down": 2, **_RESTLESS, **_REPAIRED},
    "raft_votes": {"features": _WITHOUT_PRE_VOTE, **_RESTLESS, **_REPAIRED},
    "raft_votes_published": {"features": _WITHOUT_PRE_VOTE, **_STORES, **_RESTLESS},
    "raft_stores": {**_STORES, **_REPAIRED},
    "raft_snapshots": {**_SNAPSHOTS, **_REPAIRED},
    "raft_snapshots_published": {**_SNAPSHOTS, **_STORES, **_RESTLESS, "trailing_logs": 0},
    "raft_members": {**_MEMBERS, **_REPAIRED},
    "raft_members_published": {**_MEMBERS, **_SNAPSHOTS, **_STORES},
    "raft_transfers": {**_HANDING_OVER, **_REPAIRED},
    "raft_verify": {**_VERIFYING, **_REPAIRED},
    "raft_whole": {**_ALL, **_REPAIRED},
    "raft_whole_published": {**_ALL},
}

#: The plans that `verify` runs. Each cluster must be a behaviour of the spec.
VERIFIED = ("raft", "raft_whole_published")

#: The plans in which a property may fail.
FLAWED = frozenset(name for name in PLANS if "published" in name)

#: The properties that hold with every flaw all the same.
KEPT = frozenset({"TypeOK", "TermsRiseProp"})


def fault_plan(name: str, events: int) -> FaultPlan:
    """Return a plan of PLANS, or the one in the file `name`, with so many events.

    Raises BadInputError where the file is no plan and OSError where it cannot be read.
    """
    try:
        plan = FaultPlan.from_dict(PLANS[name]) if name in PLANS else load_plan(Path(name))
    except PlanError as error:
        raise BadInputError(str(error)) from error
    return replace(plan, events=events)


def header_of(name: str, plan: FaultPlan, seed: int) -> Header:
    """Return the header of the trace of a plan."""
    return Header(
        format=FORMAT,
        system="raftref",
        version=version("lockstep-raft"),
        spec="HashicorpRaft",
        nodes=plan.node_ids,
        constants=constants(plan),
        origin="simulation of the Python reference",
        scenario=f"plan {name}, seed {seed}, {plan.events} events",
    )


def _cluster(name: str, seed: int, events: int) -> tuple[Header, Iterator[Event]]:
    plan = fault_plan(name, events)
    return header_of(name, plan, seed), (event_of(event) for event in simulate(seed, plan))


def event_of(event: Mapping[str, Any]) -> Event:
    """Return what a cluster tells as an event of a trace."""
    return Event(**{**event, "sent": tuple(event["sent"])})


class _Trial:
    """A cluster of the reference that is asked what it would do, in events of a trace."""

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


def _asked(name: str, seed: int, events: int) -> tuple[Header, Run]:
    plan = fault_plan(name, events)
    schedule = Schedule(seed, plan)

    def run() -> Run:
        for _ in range(events):
            event = schedule.next_event()
            if event is None:
                return
            yield event_of(event), _Trial(Trial(schedule.cluster))

    return header_of(name, plan, seed), run()


SIMULATOR = Simulator(plans=tuple(PLANS), verified=VERIFIED, flawed=FLAWED, kept=KEPT, cluster=_cluster, asked=_asked)
