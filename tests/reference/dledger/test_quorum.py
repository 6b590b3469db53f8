"""The quorum rule: MemberState.isQuorum, and the two published forms of QuorumAckChecker.doWork's index."""

from __future__ import annotations

from itertools import product

import pytest

from raftref.dledger.messages import Index
from raftref.dledger.quorum import is_quorum, quorum_index_by_counting, quorum_index_by_sorting


@pytest.mark.parametrize(("members_count", "least"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)])
def test_a_quorum_is_more_than_half_of_the_members(members_count: int, least: int) -> None:
    """MemberState.isQuorum: num >= size / 2 + 1."""
    assert is_quorum(least, members_count)
    assert not is_quorum(least - 1, members_count)


@pytest.mark.parametrize("members_count", [1, 2, 3, 4, 5])
def test_sorting_and_counting_find_the_same_index(members_count: int) -> None:
    """QuorumAckChecker.doWork of 0.2.0 and of 0.1, on all watermarks from -1 to 3."""
    for marks in product(map(Index, range(-1, 4)), repeat=members_count):
        assert quorum_index_by_sorting(marks) == quorum_index_by_counting(marks), marks


def test_the_quorum_index_is_element_half_the_size_of_the_descending_watermarks() -> None:
    assert quorum_index_by_sorting([Index(7), Index(-1), Index(3)]) == 3
    assert quorum_index_by_sorting([Index(7), Index(5), Index(3), Index(1)]) == 3
