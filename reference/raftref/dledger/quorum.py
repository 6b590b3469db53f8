"""The quorum rule: the size of a majority, and the index that a majority is known to store.

The index rule was published in two forms, which are one: if v is the element size/2 of the watermarks in
descending order, then size/2 + 1 peers have reached v, and fewer have reached any larger one.
"""

from __future__ import annotations

from collections.abc import Collection

from raftref.dledger.messages import NONE, Index


def is_quorum(count: int, members_count: int) -> bool:
    """Return whether `count` members of a group of `members_count` are a majority.

    Source: MemberState.isQuorum.
    """
    return count >= members_count // 2 + 1


def quorum_index_by_sorting(watermarks: Collection[Index]) -> Index:
    """Return the index that a majority stores: element size/2 of the watermarks, largest first.

    Args:
        watermarks: One index a member, itself included; -1 where nothing is known. Not empty.

    Source: QuorumAckChecker.doWork since 0.2.0.
    """
    return sorted(watermarks, reverse=True)[len(watermarks) // 2]


def quorum_index_by_counting(watermarks: Collection[Index]) -> Index:
    """Return the index that a majority stores: the largest watermark that a majority has reached, or -1.

    Args:
        watermarks: One index a member, itself included; -1 where nothing is known.

    Source: QuorumAckChecker.doWork in 0.1, the nested loop with isQuorum.
    """
    quorum_index = NONE
    for index in watermarks:
        reached_count = sum(another >= index for another in watermarks)
        if index > quorum_index and is_quorum(reached_count, len(watermarks)):
            quorum_index = index
    return quorum_index
