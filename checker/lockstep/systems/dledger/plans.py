"""Simulated clusters of DLedger: the plans of faults that have a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.systems.simulated_clusters import Reference, Simulation
from lockstep.trace.trace_format import Header
from raftref.dledger.switches import FINE, PUBLISHED, REPAIRED, VOTES

if TYPE_CHECKING:
    from raftref.dledger.simulation import FaultPlan, Schedule, Trial

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

#: What replaces the switches of a plan.
_VARIANTS = {"published": {"switches": PUBLISHED.constants()}, "repaired": {"switches": REPAIRED.constants()}}

#: The plans that `verify` runs. Each cluster must be a behaviour of the spec.
VERIFIED = ("ordered", "five", "published", "fine", "votes")

#: The plans in which a property may fail.
FLAWED = frozenset({*(name for name in PLANS if "published" in name), "late_truncate", "commit_past_end"})

#: The properties that hold with every flaw all the same.
KEPT = frozenset({"TypeOK", "LeaderAppendOnlyProp", "WatermarkMonotonicWithinTermProp"})


def _simulation() -> Simulation[FaultPlan, Schedule]:
    # Only what runs clusters needs the reference, which is slow to import.
    from raftref.dledger.simulation import FaultPlan, Schedule, Trial, constants, load_plan

    return Simulation(
        FaultPlan.from_dict, load_plan, constants, Schedule, lambda schedule: Trial(schedule.cluster), _started
    )


def _started(header: Header) -> Trial:
    from raftref.dledger.simulation import FaultPlan, Trial
    from raftref.dledger.simulation.cluster import Cluster
    from raftref.dledger.switches import Switches

    told, names = header.constants, Switches().constants()
    grain = {name: value for name, value in told.items() if name not in (*names, "Fifo", "AtomicElection")}
    fields = {"switches": {name: told[name] for name in names if name in told}, "grain": grain}
    return Trial(Cluster(FaultPlan.from_dict({"nodes": len(header.nodes), "fifo": told["Fifo"], **fields})))


REFERENCE = Reference("DLedger", PLANS, _simulation, _VARIANTS)
fault_plan = REFERENCE.fault_plan
SIMULATOR = REFERENCE.simulator(VERIFIED, FLAWED, KEPT)
