"""Lemma: the two published commit rules choose the same index.

Up to 0.1 the leader counts: going through the peers' watermarks it keeps the largest one that a quorum of
peers has reached. From 0.2 on it sorts the watermarks in descending order and takes the element at size /
2. The two are written down independently here: the count as the loop it is, the sort by ranks (a
watermark's rank is the number of watermarks that come before it in a stable descending sort), which z3
decides twenty times faster than a sorting network.
"""

from collections.abc import Callable, Iterable, Sequence

import z3

from lockstep.models.proofs.lemmas import DEFAULT_TIMEOUT_MS, Proof
from lockstep.models.proofs.z3_questions import NODE_COUNTS, SizedClaim, count, integers, prove

NAME = "quorum_rules_equal"
STATEMENT = (
    "For all integer watermarks >= -1, the largest watermark that at least n / 2 + 1 peers have reached "
    "(-1 if there is none) is element n / 2 of the watermarks in descending order."
)
HALF_STATEMENT = "The same with n / 2 peers for a quorum (wrong for more than one node)."
LOWER_STATEMENT = "The same with element (n - 1) / 2 (wrong for even n)."

SizeRule = Callable[[int], int]
"""From the number of nodes to a number of peers or to a position."""


def majority(node_count: int) -> int:
    """Return the size of a quorum: more than half of the peers."""
    return node_count // 2 + 1


def middle(node_count: int) -> int:
    """Return which element of the descending watermarks is the quorum index, counted from 0."""
    return node_count // 2


def counted(watermarks: Sequence[z3.ArithRef], quorum_size: int) -> z3.ArithRef:
    """Build the quorum index by counting, as published in 0.1.

    Args:
        watermarks: One integer term a peer, in the order in which the loop meets them.
        quorum_size: The number of peers that must have reached an index.

    Returns:
        The term of the index; -1 where no watermark has a quorum behind it.
    """
    quorum_index: z3.ArithRef = z3.IntVal(-1)
    for index in watermarks:
        reached = count(another >= index for another in watermarks)
        is_better = z3.And(reached >= quorum_size, index > quorum_index)
        quorum_index = z3.If(is_better, index, quorum_index)
    return quorum_index


def element(watermarks: Sequence[z3.ArithRef], position: int) -> z3.ArithRef:
    """Build one element of the watermarks in descending order, as from 0.2 on.

    Args:
        watermarks: One integer term a peer.
        position: Which element, counted from 0.

    Returns:
        The term of the element. Were there no watermark of that rank it would be -2, which no watermark is,
        so that a flaw in the ranks shows as a counterexample and cannot help a proof.
    """
    chosen: z3.ArithRef = z3.IntVal(-2)
    for i, mine in enumerate(watermarks):
        before = [other >= mine if j < i else other > mine for j, other in enumerate(watermarks) if j != i]
        chosen = z3.If(count(before) == position, mine, chosen)
    return chosen


def quorum_rules_equal(
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
    *,
    node_counts: Iterable[int] = NODE_COUNTS,
    quorum_size: SizeRule = majority,
    position: SizeRule = middle,
) -> Proof:
    """Prove that counting and sorting choose the same quorum index, for unbounded integers.

    Args:
        timeout_ms: Milliseconds for each question to z3.
        node_counts: The group sizes to prove it for.
        quorum_size: The counting rule's quorum; another one than `majority` should be refuted.
        position: The sorting rule's element; another one than `middle` should be refuted.

    Returns:
        The proof. Its controls take half of the peers for a quorum, and the element before the middle. A
        counterexample has `watermarks`, `counted` and `sorted`.
    """
    sizes = tuple(node_counts)
    controls = []
    if several := [n for n in sizes if n > 1]:
        questions = (_question(n, n // 2, middle(n)) for n in several)
        controls.append(prove(f"{NAME}/half_is_a_quorum", HALF_STATEMENT, several, questions, timeout_ms))
    if even := [n for n in sizes if n % 2 == 0]:
        questions = (_question(n, majority(n), (n - 1) // 2) for n in even)
        controls.append(prove(f"{NAME}/lower_middle", LOWER_STATEMENT, even, questions, timeout_ms))
    questions = (_question(n, quorum_size(n), position(n)) for n in sizes)
    return prove(NAME, STATEMENT, sizes, questions, timeout_ms, controls)


def _question(node_count: int, quorum_size: int, position: int) -> SizedClaim:
    watermarks = z3.Ints([f"w{i}" for i in range(node_count)])
    by_count, by_sort = counted(watermarks, quorum_size), element(watermarks, position)

    def read(model: z3.ModelRef) -> dict[str, object]:
        both = integers(model, [by_count, by_sort])
        return {"watermarks": integers(model, watermarks), "counted": both[0], "sorted": both[1]}

    return SizedClaim(node_count, [w >= -1 for w in watermarks], by_count == by_sort, read)
