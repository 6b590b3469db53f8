"""How far a quorum stores the log of a leader."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from raftref.hashicorp.values import NO_INDEX, Index, NodeId


@dataclass(slots=True)
class Commitment:
    """The matchIndexes of the voters, and what follows from them.

    `start_index` is the first index of the leadership: nothing before it commits by itself. `half_commits`: half of an
    even number of voters is enough (EvenQuorum).

    Source: commitment.
    """

    start_index: Index = NO_INDEX
    voters: frozenset[NodeId] = frozenset()
    half_commits: bool = False
    commit_index: Index = NO_INDEX
    match_indexes: dict[NodeId, Index] = field(default_factory=dict)

    def set_configuration(self, voters: frozenset[NodeId]) -> None:
        """Let others vote from now on; of those who do not the marks are forgotten.

        Source: commitment.setConfiguration.
        """
        self.voters = voters
        self.match_indexes = {each: mark for each, mark in self.match_indexes.items() if each in voters}
        self.recalculate()

    def match(self, server: NodeId, index: Index) -> None:
        """Learn that a server stores the log up to an index.

        Source: commitment.match.
        """
        if server in self.voters and index > self.match_indexes.get(server, 0):
            self.match_indexes[server] = index
            self.recalculate()

    def recalculate(self) -> None:
        """Take the index that a quorum has reached for committed, if it is of this leadership.

        Source: commitment.recalculate.
        """
        if not self.voters:
            return
        matched = sorted(self.match_indexes.get(each, Index(0)) for each in self.voters)
        quorum_match_index = matched[len(matched) // 2 if self.half_commits else (len(matched) - 1) // 2]
        if quorum_match_index > self.commit_index and quorum_match_index >= self.start_index:
            self.commit_index = quorum_match_index

    def record(self, nodes: tuple[NodeId, ...]) -> dict[str, Any]:
        """Return it as the spec's record, with a mark for each server there may be."""
        marks = {each: self.match_indexes.get(each, 0) for each in nodes}
        return {"startIndex": self.start_index, "commitIndex": self.commit_index, "matchIndexes": marks}
