"""Lemmas by name, their proofs, and running them. z3 is slow to import, so a lemma is imported when it is proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeAlias

from lockstep.base.extras import extra

DEFAULT_TIMEOUT_MS = 30_000
"""Milliseconds for one question to z3. The slowest takes about a second."""

MAX_TIMEOUT_MS = 2**32 - 1
"""The longest time-out of z3, which takes this one for ever."""


class ProofVerdict(StrEnum):
    """The verdict on a claim."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Proof:
    """One lemma and the attempt to prove it."""

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
    """The values that break a refuted claim, JSON-like, with `node_count` among them."""
    reason: str = ""
    """The reason of an unknown verdict."""
    controls: tuple[Proof, ...] = ()
    """Wrong variants of the claim, which must all be refuted."""


#: The module of each lemma, which has a function of its name; that takes the milliseconds of one question.
Lemmas: TypeAlias = Mapping[str, str]

#: The lemmas on what spec/common says of quorums.
QUORUM_LEMMAS: Lemmas = MappingProxyType(
    {
        name: f"lockstep.models.proofs.{name}"
        for name in (
            "quorum_rules_equal",
            "quorum_rules_equal_any_size",
            "quorums_intersect",
            "quorums_intersect_any_size",
        )
    }
)


def run_proofs(
    lemmas: Lemmas, names: Iterable[str] | None = None, *, timeout_ms: int = DEFAULT_TIMEOUT_MS
) -> tuple[Proof, ...]:
    """Run lemmas, each to its verdict; one that fails does not stop the others.

    Args:
        names: Which of them, in this order; all if left out.
        timeout_ms: Milliseconds for each question to z3, at least 1. A lemma asks one or two for each group
            size.

    Returns:
        One proof a lemma. Only `ProofVerdict.PROVED` is a pass; `ProofVerdict.UNKNOWN` is inconclusive.

    Raises:
        ValueError: A name is not that of a lemma, no name was given, or the time-out is not positive.
        MissingExtraError: z3 is not installed.
    """
    chosen = tuple(lemmas) if names is None else tuple(names)
    unknown = [name for name in chosen if name not in lemmas]
    if unknown or not chosen:
        raise ValueError(f"no such lemma: {', '.join(unknown) or '(none named)'}; there are {', '.join(lemmas)}")
    return tuple(_lemma(lemmas[name], name)(timeout_ms) for name in chosen)


def _lemma(module: str, name: str) -> Callable[[int], Proof]:
    with extra("prove"):
        found: Callable[[int], Proof] = getattr(import_module(module), name)
    return found
