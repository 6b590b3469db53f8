"""Lemma: any two quorums share a node.

This is what every safety argument about replicated logs leans on: the voters of a new leader include one of
those who stored a committed entry.
"""

from collections.abc import Iterable, Sequence

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.quorum_rules_equal import SizeRule, majority
from lockstep.models.proofs.z3_questions import NODE_COUNTS, SizedClaim, count, prove

NAME = "quorums_intersect"
STATEMENT = "Any two sets of at least n / 2 + 1 of n nodes have a node in common."
HALF_STATEMENT = "Any two sets of at least half of n nodes have a node in common (wrong for even n)."


def quorums_intersect(
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    *,
    node_counts: Iterable[int] = NODE_COUNTS,
    quorum_size: SizeRule = majority,
) -> Proof:
    """Prove that two quorums always overlap.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        node_counts: The group sizes to prove it for.
        quorum_size: How many nodes are a quorum; a smaller number than `majority` should be refuted.

    Returns:
        The proof. It has one control for every even size, in which half of the nodes are a quorum. A
        counterexample has two disjoint quorums, `first` and `second`, as lists of node numbers.
    """
    sizes = tuple(node_counts)
    controls = [
        prove(f"{NAME}/half_is_a_quorum_of_{n}", HALF_STATEMENT, [n], [_question(n, n // 2)], timeout_ms)
        for n in sizes
        if n % 2 == 0
    ]
    questions = (_question(n, quorum_size(n)) for n in sizes)
    return prove(NAME, STATEMENT, sizes, questions, timeout_ms, controls)


def _question(node_count: int, quorum_size: int) -> SizedClaim:
    first = z3.Bools([f"first{i}" for i in range(node_count)])
    second = z3.Bools([f"second{i}" for i in range(node_count)])

    def read(model: z3.ModelRef) -> dict[str, object]:
        return {"first": _members(model, first), "second": _members(model, second)}

    return SizedClaim(
        node_count,
        [count(first) >= quorum_size, count(second) >= quorum_size],
        z3.Or([z3.And(a, b) for a, b in zip(first, second, strict=True)]),
        read,
    )


def _members(model: z3.ModelRef, indicators: Sequence[z3.BoolRef]) -> list[int]:
    return [i for i, is_in in enumerate(indicators) if z3.is_true(model.eval(is_in, model_completion=True))]
