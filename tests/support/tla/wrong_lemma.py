"""A lemma that is wrong: half of the members make no quorum."""

from __future__ import annotations

from lockstep.models.proofs.lemmas import Proof
from lockstep.models.proofs.quorums_intersect import quorums_intersect


def half_is_enough(timeout_ms: int) -> Proof:
    """Claim that two halves share a member."""
    return quorums_intersect(timeout_ms, quorum_size=lambda n: n // 2)
