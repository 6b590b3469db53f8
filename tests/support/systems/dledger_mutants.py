"""The mutants of DLedger's reference: of elections, replication and the ledger store.

The store's files are not among them: the spec does not know them, and recordings of the real ones hold them.
"""

from __future__ import annotations

from pathlib import Path

import raftref.dledger
from lockstep.systems.plan_floors import FEW_CLUSTERS, FEW_EVENTS
from tests.support.systems.mutants import Reference
from tests.support.systems.rules import RULES

ROOT = Path(raftref.dledger.__file__).parent
CHAPTERS = (
    *("clients", "commit", "election_rules", "follower", "heartbeats", "leader", "message_elections", "pushing"),
    *("quorum", "role_elections", "state", "store", "transfer"),
)

REFERENCE = Reference(
    root=ROOT,
    sources=tuple(ROOT / f"{chapter}.py" for chapter in CHAPTERS),
    order=("published", "whole", "batches", "not_follower", "applied", "handover", "ordered", "restless"),
    larger=("published", "batches_published", "commit_past_end", "late_truncate", "fine_published"),
    floor=(FEW_CLUSTERS, FEW_EVENTS),
    rules=RULES,
)
