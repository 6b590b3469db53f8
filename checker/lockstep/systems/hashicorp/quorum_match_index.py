"""Lemma: commitment.recalculate takes the index that a majority of the voters stores.

The code sorts the matchIndexes of the voters in ascending order, and takes element (n - 1) / 2. Spec and code say so;
what is meant is counted: the largest index that more than half of the voters have reached. The variables are `matched`,
what the sort gives: to count, the order does not matter. Release 0.1 took element n / 2, which of an even number of
voters half have reached (EvenQuorum): a control, whose counterexample is the smallest there is.

For any number of voters: element k of n in ascending order is element n - 1 - k in descending order, and of that
`quorum_rules_equal_any_size` is asked, with its assumption.
"""

from collections.abc import Iterable
from itertools import pairwise

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.quorum_rules_equal import SizeRule, counted, majority
from lockstep.models.proofs.quorum_rules_equal_any_size import question
from lockstep.models.proofs.quorums_intersect_any_size import SizeTerm, majority_term
from lockstep.models.proofs.z3_questions import NODE_COUNTS, SizedClaim, integers, prove

NAME = "quorum_match_index"
STATEMENT = (
    "For all integer matchIndexes >= 0, element (n - 1) / 2 of them in ascending order is the largest that at least "
    "n / 2 + 1 voters have reached."
)
EVEN_STATEMENT = "The same with element n / 2 in ascending order, as in 0.1 (wrong for even n)."
AFTER_STATEMENT = "The same with element (n + 1) / 2 (wrong for n > 1)."


def lower_middle(voter_count: int) -> int:
    """Return the position of the committed element in the ascending matchIndexes, counted from 0."""
    return (voter_count - 1) // 2


def quorum_match_index(
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    *,
    node_counts: Iterable[int] = NODE_COUNTS,
    position: SizeRule = lower_middle,
) -> Proof:
    """Prove that what recalculate takes is what a majority stores, for unbounded integers.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        node_counts: How many voters to prove it for.
        position: Which element is taken; another one than `lower_middle` should be refuted.

    Returns:
        The proof. A counterexample has `matched`, `counted` and `taken`. That of the control `even_quorum` has the
        fewest voters, and of these the smallest sum.
    """
    sizes = tuple(node_counts)
    controls = []
    if any(n % 2 == 0 for n in sizes):
        by_size = (_question(n, n // 2, most) for n in sizes for most in range(n + 1))
        controls.append(prove(f"{NAME}/even_quorum", EVEN_STATEMENT, sizes, by_size, timeout_ms))
    if several := [n for n in sizes if n > 1]:
        after = (_question(n, (n + 1) // 2) for n in several)
        controls.append(prove(f"{NAME}/element_after", AFTER_STATEMENT, several, after, timeout_ms))
    questions = (_question(n, position(n)) for n in sizes)
    return prove(NAME, STATEMENT, sizes, questions, timeout_ms, controls)


def _question(voter_count: int, position: int, most: int | None = None) -> SizedClaim:
    """Ask of a number of voters, with matchIndexes whose sum is at most `most`, if that is given."""
    matched = z3.Ints([f"matched{i}" for i in range(voter_count)])
    by_count, taken = counted(matched, majority(voter_count)), matched[position]
    is_sorted = [one <= next_one for one, next_one in pairwise(matched)]
    small = [] if most is None else [z3.Sum(matched) <= most]

    def read(model: z3.ModelRef) -> dict[str, object]:
        both = integers(model, [by_count, taken])
        return {"matched": integers(model, matched), "counted": both[0], "taken": both[1]}

    return SizedClaim(voter_count, [matched[0] >= 0, *is_sorted, *small], taken == by_count, read)


# ---- Any number of voters ----

ANY_SIZE_NAME = "quorum_match_index_any_size"
ANY_SIZE_STATEMENT = (
    "For every n >= 1 and all integer matchIndexes, the largest that at least n / 2 + 1 voters have reached is element "
    "(n - 1) / 2 in ascending order. Assumed: in a sorted sequence, the elements that are at least v stand together at "
    "its end."
)
EVEN_ANY_SIZE_STATEMENT = "The same with element n / 2, as in 0.1 (wrong)."


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
    control = prove(f"{ANY_SIZE_NAME}/even_quorum", EVEN_ANY_SIZE_STATEMENT, None, [even], timeout_ms)
    return prove(
        ANY_SIZE_NAME, ANY_SIZE_STATEMENT, None, [question(majority_term, descending(position))], timeout_ms, [control]
    )
