"""The mutants of DLedger's reference: of elections, replication and the ledger store.

The store's files are not among them: the spec does not know them, and recordings of the real ones hold them.
"""

from __future__ import annotations

from pathlib import Path

import raftref.dledger
from lockstep.systems.dledger.floors import FEW_CLUSTERS, FEW_EVENTS
from mutants import Reference
from rules import RULES

ROOT = Path(raftref.dledger.__file__).parent

REFERENCE = Reference(
    root=ROOT,
    sources=(
        *sorted([*(ROOT / "election").glob("*.py"), *(ROOT / "replication").glob("*.py")]),
        ROOT / "storage" / "ledger_store.py",
    ),
    order=("published", "whole", "batches", "not_follower", "applied", "handover", "ordered", "restless"),
    larger=("published", "batches_published", "commit_past_end", "late_truncate", "fine_published"),
    floor=(FEW_CLUSTERS, FEW_EVENTS),
    rules=RULES,
)
