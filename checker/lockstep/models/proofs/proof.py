"""The record of a proof: what a lemma says, and what became of it. Reading one needs no z3."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

DEFAULT_TIMEOUT_MS = 30_000
"""Milliseconds for one question to z3. The slowest takes about a second."""

MAX_TIMEOUT_MS = 2**32 - 1
"""The longest that z3 can be told; to it this one means for ever."""


class ProofVerdict(StrEnum):
    """What is known of a claim afterwards."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Proof:
    """What one lemma says and what became of it."""

    name: str
    """The lemma's name, as `run_proofs` takes it."""
    statement: str
    """The claim in words, with everything it assumes."""
    node_counts: tuple[int, ...] | None
    """The group sizes it speaks of; `None` for every size."""
    verdict: ProofVerdict
    """`PROVED` only if the claim is proved and every control refuted."""
    seconds: float
    """Wall time, controls included."""
    counterexample: Mapping[str, Any] | None = None
    """Of a refuted claim: the values that break it, JSON-like, with `node_count` among them."""
    reason: str = ""
    """Of an unknown verdict: why."""
    controls: tuple[Proof, ...] = ()
    """Wrong neighbours of the claim, each of which must be refuted."""
