"""The mutants of hashicorp/raft's reference: all that is not stores, messages or the form of a step."""

from __future__ import annotations

from pathlib import Path

import raftref.hashicorp
from hashicorp_traces import FIRST, check, cluster_with
from lockstep.systems.hashicorp.floors import FEW_CLUSTERS, FEW_EVENTS
from mutants import Reference


def with_each_flaw() -> str:
    """Say where a cluster with one flaw leaves the spec that has it: no plan has the flaws of 0.1 and of the sketch."""
    for flaw, (plan, seed, events) in FIRST.items():
        header, run = cluster_with(flaw, plan, seed, events)
        found = check(header, run)
        wrong = [each for each in found.findings if each.kind != "property"]
        if wrong:
            return f"{flaw}: {wrong[0].kind} {wrong[0].name}"
    return ""


ROOT = Path(raftref.hashicorp.__file__).parent
_ROOMS = ("election", "follower", "leader", "state_machine")

REFERENCE = Reference(
    root=ROOT,
    sources=(
        ROOT / "core" / "member.py",
        ROOT / "core" / "state.py",
        *(path for room in _ROOMS for path in sorted((ROOT / room).glob("*.py"))),
        ROOT / "raft.py",
        ROOT / "values.py",
    ),
    order=(
        *("raft_whole_published", "raft_votes_published", "raft_whole", "raft_snapshots_published"),
        *("raft_members_published", "raft_five", "raft_transfers", "raft_verify"),
    ),
    larger=("raft_whole_published", "raft_votes_published", "raft_snapshots_published", "raft_members_published"),
    floor=(FEW_CLUSTERS, FEW_EVENTS),
    rules=(),
    elsewhere=with_each_flaw,
)
