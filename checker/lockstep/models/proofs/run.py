"""Running lemmas by name. z3 is slow to import, so a lemma is imported when it is proved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import TypeAlias

from lockstep.base.extras import extra
from lockstep.models.proofs.proof import DEFAULT_TIMEOUT_MS, Proof

#: Lemmas by name: the module that has a function of the lemma's name, which takes the milliseconds of one question.
Lemmas: TypeAlias = Mapping[str, str]

#: The lemmas on what spec/common says of quorums.
OF_QUORUMS: Lemmas = MappingProxyType(
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
        lemmas: Those there are.
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
