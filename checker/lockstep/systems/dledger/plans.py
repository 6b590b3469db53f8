"""Simulated clusters of DLedger: the plans of faults that have a name."""

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
from raftref.dledger import FINE, REPAIRED, VOTES
from raftref.dledger.simulation import FaultPlan, PlanError, Schedule, Trial, constants, load_plan, simulate

#: More changes of leaders than by default, and fewer crashes: half of the clusters cut entries by TRUNCATE.
_RESTLESS: dict[str, Any] = {
    "step_down": 0.005,
    "client": 0.15,
    "crash": 0.0003,
    "power_loss": 0.0002,
    "shutdown": 0.0002,
    "restart": 0.06,
    "check_point": 0.005,
    "flush": 0.01,
    "heal": 0.02,
}
_REPAIRED = {**_RESTLESS, "switches": REPAIRED.constants()}
_PUBLISHED = {**_RESTLESS, "crash_in_persist": 0.0008}
_BATCHES = {**FINE.constants(), "Batches": True}
_WHOLE = {**FINE.constants(), "VoteMessages": True}
#: So many changes of leaders that requests come to followers of another one.
_ERRATIC = {**_REPAIRED, "step_down": 0.02, "client": 0.2, "delay": 0.15}
#: So few, and so many transfers, that a transfer comes to its end.
_HANDING_OVER = {**_REPAIRED, "step_down": 0.001, "partition": 0.0005, "client": 0.05, "transfer": 0.02}
#: Copies of a TRUNCATE that come late, when entries stand behind what it keeps, and may be committed.
_LATE = {**_RESTLESS, "late": 0.9, "reorder": 0.8}


def _flaws(*names: str) -> dict[str, str]:
    """Return the switches with these flaws as published, and all others repaired."""
    return {**REPAIRED.constants(), **dict.fromkeys(names, "published")}


#: The plans by name. In those without "published" in their name everything is repaired, and no property may fail, but
#: for the last two, which have the flaws of their name; the others are the code as it is: they conform, and properties
#: may fail. Channels keep the order where `fifo` says so. `fine` has queues, clients, passes in two parts; `batches`,
#: `applied`, `whole` add batches, a state machine, votes as messages. `four` is an even group.
PLANS: dict[str, dict[str, Any]] = {
    "ordered": {"nodes": 3, "fifo": True, **_REPAIRED},
    "four": {"nodes": 4, "fifo": True, **_REPAIRED},
    "five": {"nodes": 5, "fifo": True, "max_down": 2, **_REPAIRED},
    "published": {"nodes": 3, **_PUBLISHED},
    "fine": {"nodes": 3, "grain": FINE.constants(), **_REPAIRED},
    "fine_published": {"nodes": 5, "max_down": 2, "grain": FINE.constants(), **_PUBLISHED},
    "restless": {"nodes": 3, "grain": FINE.constants(), **_ERRATIC},
    "applied": {"nodes": 3, "grain": {**FINE.constants(), "Applies": True}, **_REPAIRED},
    "whole": {"nodes": 3, "transfer": 0.004, "grain": _WHOLE, **_REPAIRED},
    "four_published": {"nodes": 4, "transfer": 0.004, "grain": _WHOLE, **_PUBLISHED},
    "batches": {"nodes": 3, "grain": _BATCHES, **_REPAIRED},
    "batches_published": {"nodes": 3, "grain": _BATCHES, **_PUBLISHED},
    "votes": {"nodes": 3, "fifo": True, "transfer": 0.004, "grain": VOTES.constants(), **_REPAIRED},
    "votes_published": {"nodes": 5, "max_down": 2, "transfer": 0.004, "grain": VOTES.constants(), **_PUBLISHED},
    "handover": {"nodes": 3, "fifo": True, "grain": VOTES.constants(), **_HANDING_OVER},
    "not_follower": {"nodes": 3, "grain": {**FINE.constants(), "NotFollower": True}, **_REPAIRED},
    "late_truncate": {"nodes": 3, **_LATE, "switches": _flaws("LateTruncate")},
    "commit_past_end": {"nodes": 3, **_LATE, "switches": _flaws("LateTruncate", "CommitPastEnd")},
}

#: The plans that `verify` runs. Each cluster must be a behaviour of the spec.
VERIFIED = ("ordered", "five", "published", "fine", "votes")

#: The plans in which a property may fail.
FLAWED = frozenset({*(name for name in PLANS if "published" in name), "late_truncate", "commit_past_end"})

#: The properties that hold with every flaw all the same.
KEPT = frozenset({"TypeOK", "LeaderAppendOnlyProp", "WatermarkMonotonicWithinTermProp"})


def fault_plan(name: str, events: int) -> FaultPlan:
    """Return a plan of PLANS, or the one in the file `name`, with so many events.

    Raises BadInputError where the file is no plan and OSError where it cannot be read.
    """
    try:
        plan = FaultPlan.from_dict(PLANS[name]) if name in PLANS else load_plan(Path(name))
    except PlanError as error:
        raise BadInputError(str(error)) from error
    return replace(plan, events=events)


def _header(name: str, plan: FaultPlan, seed: int) -> Header:
    return Header(
        format=FORMAT,
        system="raftref",
        version=version("lockstep-raft"),
        spec="DLedger",
        nodes=plan.node_ids,
        constants={**constants(plan)},
        origin="simulation of the Python reference",
        scenario=f"plan {name}, seed {seed}, {plan.events} events",
    )


def _cluster(name: str, seed: int, events: int) -> tuple[Header, Iterator[Event]]:
    plan = fault_plan(name, events)
    return _header(name, plan, seed), (_event(event) for event in simulate(seed, plan))


def _event(event: Mapping[str, Any]) -> Event:
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
        return [_event(found[0]), *others]


def _asked(name: str, seed: int, events: int) -> tuple[Header, Run]:
    plan = fault_plan(name, events)
    schedule = Schedule(seed, plan)

    def run() -> Run:
        for _ in range(events):
            event = schedule.next_event()
            if event is None:
                return
            yield _event(event), _Trial(Trial(schedule.cluster))

    return _header(name, plan, seed), run()


SIMULATOR = Simulator(plans=tuple(PLANS), verified=VERIFIED, flawed=FLAWED, kept=KEPT, cluster=_cluster, asked=_asked)
