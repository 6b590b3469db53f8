"""Simulated clusters of DLedger: the named plans of faults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.systems.dledger.constants import DEFAULTS
from lockstep.systems.simulated_clusters import Reference, Simulation
from raftref.dledger.choices import FINE, IN_0_2_7, Feature, Flaw

if TYPE_CHECKING:
    from raftref.dledger.simulation import FaultPlan

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
_REPAIRED = {**_RESTLESS, "flaws": []}
_PUBLISHED = {**_RESTLESS, "crash_in_persist": 0.0008}

#: Requests come to followers of another leader.
_ERRATIC = {**_REPAIRED, "step_down": 0.02, "client": 0.2, "delay": 0.15}
#: Few other changes of leaders: transfers come to their end.
_HANDING_OVER = {**_REPAIRED, "step_down": 0.001, "partition": 0.0005, "client": 0.05, "transfer": 0.02}
#: Copies of a TRUNCATE that come late, when entries stand behind what it keeps, and may be committed.
_LATE = {**_RESTLESS, "late": 0.9, "reorder": 0.8}


def _features(*features: Feature) -> list[str]:
    return sorted(features)


#: The plans by name. In those without "published" in their name everything is repaired, and no property may fail, but
#: for the last two, which have the flaws of their name; the others are the code as it is: they conform, and properties
#: may fail. Channels keep the order where `fifo` says so. `fine` has queues, clients, passes in two parts; `batches`,
#: `applied`, `whole` add batches, a state machine, votes as messages. `four` is an even group.
PLANS: dict[str, dict[str, Any]] = {
    "ordered": {"nodes": 3, "fifo": True, **_REPAIRED},
    "four": {"nodes": 4, "fifo": True, **_REPAIRED},
    "five": {"nodes": 5, "fifo": True, "max_down": 2, **_REPAIRED},
    "published": {"nodes": 3, **_PUBLISHED},
    "fine": {"nodes": 3, "features": _features(*FINE), **_REPAIRED},
    "fine_published": {"nodes": 5, "max_down": 2, "features": _features(*FINE), **_PUBLISHED},
    "restless": {"nodes": 3, "features": _features(*FINE), **_ERRATIC},
    "applied": {"nodes": 3, "features": _features(*FINE, Feature.APPLIES), **_REPAIRED},
    "whole": {"nodes": 3, "transfer": 0.004, "features": _features(*FINE, Feature.VOTE_MESSAGES), **_REPAIRED},
    "four_published": {
        "nodes": 4,
        "transfer": 0.004,
        "features": _features(*FINE, Feature.VOTE_MESSAGES),
        **_PUBLISHED,
    },
    "batches": {"nodes": 3, "features": _features(*FINE, Feature.BATCHES), **_REPAIRED},
    "batches_published": {"nodes": 3, "features": _features(*FINE, Feature.BATCHES), **_PUBLISHED},
    "votes": {"nodes": 3, "fifo": True, "transfer": 0.004, "features": _features(Feature.VOTE_MESSAGES), **_REPAIRED},
    "votes_published": {
        "nodes": 5,
        "max_down": 2,
        "transfer": 0.004,
        "features": _features(Feature.VOTE_MESSAGES),
        **_PUBLISHED,
    },
    "handover": {"nodes": 3, "fifo": True, "features": _features(Feature.VOTE_MESSAGES), **_HANDING_OVER},
    "not_follower": {
        "nodes": 3,
        "features": _features(*FINE, Feature.NOT_FOLLOWER, Feature.LATE_RESEND, Feature.LATE_ROLE),
        **_REPAIRED,
    },
    "late_truncate": {"nodes": 3, **_LATE, "flaws": [Flaw.LATE_TRUNCATE]},
    "commit_past_end": {"nodes": 3, **_LATE, "flaws": [Flaw.LATE_TRUNCATE, Flaw.COMMIT_PAST_END]},
}

#: The flaws that take the place of those of a plan.
_VARIANTS: dict[str, dict[str, Any]] = {"published": {"flaws": sorted(IN_0_2_7)}, "repaired": {"flaws": []}}

#: The plans that `verify` runs. Each cluster must be a behaviour of the spec.
VERIFIED = ("ordered", "five", "published", "fine", "votes")

#: The plans in which a property may fail.
FLAWED = frozenset({*(name for name in PLANS if "published" in name), "late_truncate", "commit_past_end"})

#: The properties that hold with every flaw all the same.
KEPT = frozenset({"TypeOK", "LeaderAppendOnlyProp", "WatermarkMonotonicWithinTermProp"})


def _simulation() -> Simulation[FaultPlan]:
    from raftref.dledger.simulation import Cluster, FaultPlan, Schedule, Trial

    return Simulation(FaultPlan, Cluster, Schedule, Trial)


REFERENCE = Reference("DLedger", PLANS, DEFAULTS, _simulation, _VARIANTS)
fault_plan = REFERENCE.fault_plan
SIMULATOR = REFERENCE.simulator(VERIFIED, FLAWED, KEPT)
