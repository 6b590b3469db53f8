"""Lemma: any two quorums share a node, whatever the number of nodes.

The sizes of the two sets, of what they share and of what they cover together are all that matters, so the
sets themselves need not appear, and neither does a bound on the group.
"""

from collections.abc import Callable

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.z3_questions import SizedClaim, integers, prove

NAME = "quorums_intersect_any_size"
STATEMENT = (
    "For every n >= 1, any two sets of at least n / 2 + 1 of n nodes have a node in common. "
    "Assumed: |A| + |B| = |A or B| + |A and B|, and A or B is among the n nodes."
)
HALF_STATEMENT = "The same with n / 2 nodes for a quorum (wrong)."

SizeTerm = Callable[[z3.ArithRef], z3.ArithRef]
"""From the term of the number of nodes to the term of a quorum's size."""


def majority_term(node_count: z3.ArithRef) -> z3.ArithRef:
    """Build the size of a quorum, more than half of the nodes, for a size that is a variable."""
    return node_count / 2 + 1


def quorums_intersect_any_size(timeout_ms: int = DEFAULT_TIMEOUT_MS, *, quorum_size: SizeTerm = majority_term) -> Proof:
    """Prove that two quorums overlap in a group of any size.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        quorum_size: How many nodes are a quorum; a smaller number than `majority_term` should be refuted.

    Returns:
        The proof; in its control half of the nodes are a quorum. A counterexample has the integers `nodes`,
        `first`, `second` (the sets' sizes), `shared` and `covered`.
    """
    control = prove(f"{NAME}/half_is_a_quorum", HALF_STATEMENT, None, [_question(lambda n: n / 2)], timeout_ms)
    return prove(NAME, STATEMENT, None, [_question(quorum_size)], timeout_ms, [control])


def _question(quorum_size: SizeTerm) -> SizedClaim:
    names = ("nodes", "first", "second", "shared", "covered")
    sizes = z3.Ints(names)
    nodes, first, second, shared, covered = sizes

    def read(model: z3.ModelRef) -> dict[str, object]:
        return dict(zip(names, integers(model, sizes), strict=True))

    return SizedClaim(
        None,
        [
            nodes >= 1,
            shared >= 0,
            shared <= first,
            shared <= second,
            first + second == covered + shared,
            covered <= nodes,
            first >= quorum_size(nodes),
            second >= quorum_size(nodes),
        ],
        shared >= 1,
        read,
    )
