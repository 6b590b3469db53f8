"""What z3 proves for all values, where a model checker sees only bounded ones."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from lockstep.proofs.base import DEFAULT_TIMEOUT_MS, MAX_TIMEOUT_MS, Proof, Verdict
from lockstep.proofs.index_order_inductive import index_order_inductive
from lockstep.proofs.quorum_rules_equal import quorum_rules_equal
from lockstep.proofs.quorum_rules_equal_any_size import quorum_rules_equal_any_size
from lockstep.proofs.quorums_intersect import quorums_intersect
from lockstep.proofs.quorums_intersect_any_size import quorums_intersect_any_size

__all__ = ["DEFAULT_TIMEOUT_MS", "LEMMAS", "MAX_TIMEOUT_MS", "Proof", "Verdict", "run_proofs"]

LEMMAS: Mapping[str, Callable[[int], Proof]] = MappingProxyType(
    {
        "quorum_rules_equal": quorum_rules_equal,
        "quorum_rules_equal_any_size": quorum_rules_equal_any_size,
        "quorums_intersect": quorums_intersect,
        "quorums_intersect_any_size": quorums_intersect_any_size,
        "index_order_inductive": index_order_inductive,
    }
)
"""Every lemma by name; each takes the milliseconds that one question to z3 may last."""


def run_proofs(names: Iterable[str] | None = None, *, timeout_ms: int = DEFAULT_TIMEOUT_MS) -> tuple[Proof, ...]:
    """Run lemmas, each to its verdict; one that fails does not stop the others.

    Args:
        names: Which lemmas, in this order; all of them if left out.
        timeout_ms: Milliseconds for each question to z3, at least 1. A lemma asks one or two for each group
            size.

    Returns:
        One proof a lemma. Only `Verdict.PROVED` is a pass; `Verdict.UNKNOWN` is inconclusive.

    Raises:
        ValueError: A name is not that of a lemma, no name was given, or the time-out is not positive.
    """
    chosen = tuple(LEMMAS) if names is None else tuple(names)
    unknown = [name for name in chosen if name not in LEMMAS]
    if unknown or not chosen:
        raise ValueError(f"no such lemma: {', '.join(unknown) or '(none named)'}; there are {', '.join(LEMMAS)}")
    return tuple(LEMMAS[name](timeout_ms) for name in chosen)
