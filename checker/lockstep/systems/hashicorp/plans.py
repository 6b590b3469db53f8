"""Simulated clusters of hashicorp/raft: the plans of faults that have a name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockstep.systems.hashicorp.constants import CONSTANTS
from lockstep.systems.simulated_clusters import Reference, Simulation
from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature

if TYPE_CHECKING:
    from raftref.hashicorp.simulation import FaultPlan

_REPAIRED: dict[str, Any] = {"flaws": []}
#: Writes fail, or are the last of their process, so often that this happens in most clusters.
_STORES: dict[str, Any] = {"store_failure": 0.03, "crash_in_write": 0.03, "restart": 0.05}
_SNAPSHOTS: dict[str, Any] = {"snapshot": 0.02, "client": 0.1, "trailing_logs": 1}
#: Servers come and go; one that was removed may come back.
_MEMBERS: dict[str, Any] = {"spares": 1, "nonvoters": 1, "change": 0.04, "max_down": 2}
#: Leaders hand over.
_HANDING_OVER: dict[str, Any] = {"transfer": 0.015, "end_transfer": 0.006}
_VERIFYING: dict[str, Any] = {"nonvoters": 1, "verify": 0.03, "timeout": 0.006}
#: More changes of leaders than by default.
_RESTLESS: dict[str, Any] = {
    "timeout": 0.012,
    "lease": 0.006,
    "client": 0.1,
    "zombie": 0.01,
    "zombie_heartbeat": 0.0033,
}
_WITHOUT_PRE_VOTE = sorted(str(each) for each in DEFAULT_FEATURES - {Feature.PRE_VOTE})
#: Routines send without waiting; entries that they need are compacted away.
_PIPELINED: dict[str, Any] = {
    "features": sorted(map(str, DEFAULT_FEATURES | {Feature.PIPELINE})),
    **_STORES,
    **_SNAPSHOTS,
    **_RESTLESS,
}
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
    "raft_pipeline": {**_PIPELINED, "trailing_logs": 0, "client": 0.2, **_REPAIRED},
}

#: Replacements of the flaws of a plan.
_VARIANTS: dict[str, dict[str, Any]] = {"published": {"flaws": sorted(map(str, IN_V173))}, "repaired": _REPAIRED}

#: The plans that `verify` runs. Each cluster must be a behaviour of the spec.
VERIFIED = ("raft", "raft_whole_published")

#: The plans in which a property may fail.
FLAWED = frozenset(name for name in PLANS if "published" in name)

#: The properties that hold with every flaw all the same.
KEPT = frozenset({"TypeOK", "TermsRiseProp"})


def _simulation() -> Simulation[FaultPlan]:
    from raftref.hashicorp.simulation import Cluster, FaultPlan, Schedule, Trial

    return Simulation(FaultPlan, Cluster, Schedule, Trial)


REFERENCE = Reference("HashicorpRaft", PLANS, CONSTANTS.defaults, _simulation, _VARIANTS)
fault_plan = REFERENCE.fault_plan
SIMULATOR = REFERENCE.simulator(VERIFIED, FLAWED, KEPT)
