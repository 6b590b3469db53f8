"""Lemma: the two published commit rules choose the same index, whatever the number of nodes.

In a descending sequence the elements that have reached an index are the first ones. That one fact about
counting is assumed, and it is enough to look at two elements: the middle one, and the one that the count
chooses. So no sequence appears, and no bound on its length. `quorum_rules_equal` assumes nothing of the
kind, for up to nine nodes.
"""

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.quorums_intersect_any_size import SizeTerm, majority_term
from lockstep.models.proofs.z3_questions import SizedClaim, integers, prove

NAME = "quorum_rules_equal_any_size"
STATEMENT = (
    "For every n >= 1 and all integer watermarks >= -1, the largest watermark that at least n / 2 + 1 peers "
    "have reached is element n / 2 of the watermarks in descending order. Assumed: in a descending sequence, "
    "the elements that are at least v are the first ones, as many as there are."
)
HALF_STATEMENT = "The same with n / 2 peers for a quorum (wrong)."


def quorum_rules_equal_any_size(
    timeout_ms: int = DEFAULT_TIMEOUT_MS, *, quorum_size: SizeTerm = majority_term
) -> Proof:
    """Prove that counting and sorting choose the same quorum index in a group of any size.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        quorum_size: The counting rule's quorum; another one than `majority_term` should be refuted.

    Returns:
        The proof; in its control half of the peers are a quorum. A counterexample has the `watermarks`, in
        descending order, and `counted` and `sorted`, what the two rules choose.
    """
    control = prove(f"{NAME}/half_is_a_quorum", HALF_STATEMENT, None, [question(lambda n: n / 2)], timeout_ms)
    return prove(NAME, STATEMENT, None, [question(quorum_size)], timeout_ms, [control])


def middle_term(node_count: z3.ArithRef) -> z3.ArithRef:
    """Build the position of the quorum index in descending order, for a size that is a variable."""
    return node_count / 2


def question(quorum_size: SizeTerm, position: SizeTerm = middle_term) -> SizedClaim:
    """Build the claim that a count and an element in descending order are the same index.

    Args:
        quorum_size: The counting rule's quorum.
        position: The sorting rule's element, counted from 0.

    Returns:
        The question to z3.
    """
    nodes, chosen_at, middle, chosen, middle_reached, chosen_reached = z3.Ints(
        "nodes chosen_at middle chosen middle_reached chosen_reached"
    )
    elements = ((position(nodes), middle, middle_reached), (chosen_at, chosen, chosen_reached))
    assumptions = [nodes >= 1]
    for place, value, reached in elements:
        assumptions += [place >= 0, place < nodes, value >= -1, reached >= 0, reached <= nodes]
        assumptions.append(z3.Implies(value == -1, reached == nodes))
        for _, bar, bar_reached in elements:
            # An element has reached the bar just if it stands among the first `bar_reached`, ...
            assumptions.append((value >= bar) == (place < bar_reached))
            # ... and a higher bar is reached by no more elements than a lower one.
            assumptions.append(z3.Implies(value >= bar, reached <= bar_reached))

    quorum = quorum_size(nodes)
    # The count goes for the largest element with a quorum, compared here with the middle; if there is none,
    # the chosen element is any.
    assumptions.append(z3.Implies(z3.And(middle_reached >= quorum, chosen_reached >= quorum), chosen >= middle))
    assumptions.append(z3.Implies(middle_reached >= quorum, chosen_reached >= quorum))
    counted = z3.If(chosen_reached >= quorum, chosen, z3.IntVal(-1))

    def read(model: z3.ModelRef) -> dict[str, object]:
        size, result = integers(model, [nodes, counted])
        pairs = integers(model, [middle, middle_reached]), integers(model, [chosen, chosen_reached])
        watermarks: list[int] = []
        for value, reached in sorted(pairs, reverse=True):
            watermarks += [value] * (reached - len(watermarks))
        watermarks += [-1] * (size - len(watermarks))
        return {"watermarks": watermarks, "counted": result, "sorted": pairs[0][0]}

    return SizedClaim(None, assumptions, counted == middle, read)
