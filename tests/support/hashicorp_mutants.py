"""The mutants of hashicorp/raft's reference: all that is not stores, messages or the form of a step."""

from __future__ import annotations

from pathlib import Path

import raftref.hashicorp
from lockstep.systems.hashicorp.floors import FEW_CLUSTERS, FEW_EVENTS
from mutants import Reference

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
)
