"""Lemma: commitment.recalculate takes what a majority stores, however many voters there are.

Element k of n in ascending order is element n - 1 - k in descending order, and of that
`quorum_rules_equal_any_size` is asked, with its assumption.
"""

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.quorum_rules_equal_any_size import question
from lockstep.models.proofs.quorums_intersect_any_size import SizeTerm, majority_term
from lockstep.models.proofs.z3_questions import prove

NAME = "quorum_match_index_any_size"
STATEMENT = (
    "For every n >= 1 and all integer matchIndexes, the largest that at least n / 2 + 1 voters have reached is element "
    "(n - 1) / 2 in ascending order. Assumed: in a sorted sequence, the elements that are at least v stand together at "
    "its end."
)
EVEN_STATEMENT = "The same with element n / 2, as in 0.1 (wrong)."


def lower_middle_term(voter_count: z3.ArithRef) -> z3.ArithRef:
    """Build the position in ascending order of what is taken, for a number of voters that is a variable."""
    return (voter_count - 1) / 2


def quorum_match_index_any_size(
    timeout_ms: int = DEFAULT_TIMEOUT_MS, *, position: SizeTerm = lower_middle_term
) -> Proof:
    """Prove that what recalculate takes is what a majority stores, for any number of voters.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        position: Which element in ascending order is taken; another one than `lower_middle_term` should be refuted.

    Returns:
        The proof; its control takes element n / 2. A counterexample has the `watermarks`, in descending order, and
        `counted` and `sorted`, what the two rules choose.
    """

    def descending(position: SizeTerm) -> SizeTerm:
        return lambda voter_count: voter_count - 1 - position(voter_count)

    even = question(majority_term, descending(lambda voter_count: voter_count / 2))
    control = prove(f"{NAME}/even_quorum", EVEN_STATEMENT, None, [even], timeout_ms)
    return prove(NAME, STATEMENT, None, [question(majority_term, descending(position))], timeout_ms, [control])
