"""The leaders of a group by their terms, learnt from the steps of its nodes as they are taken."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from raftref.runtime.driver import NodeStep


class LeadersByTerm:
    """Knows who led which term, as far as the steps go that there are when it is asked."""

    def __init__(self, steps: Sequence[NodeStep], led_term: Callable[[NodeStep], int | None]) -> None:
        """Prepare to learn.

        Arguments: `steps`, of all nodes in their order, to which more may be added; `led_term`, the term that a node
        leads after a step.
        """
        self._steps, self._led_term = steps, led_term
        self._seen = 0
        self._leaders: dict[int, str] = {}
        #: The term that each node leads, as it showed last.
        self._leading: dict[str, int | None] = {}

    def newest(self) -> str | None:
        """Return the node that leads the newest term that anybody has led; None where it leads no more."""
        self._learn()
        if not self._leaders:
            return None
        term = max(self._leaders)
        node = self._leaders[term]
        return node if self._leading.get(node) == term else None

    def changes(self) -> int:
        """Return how often the leader was another node than the one before."""
        self._learn()
        nodes = [self._leaders[term] for term in sorted(self._leaders)]
        return sum(one != other for one, other in itertools.pairwise(nodes))

    def _learn(self) -> None:
        for step in self._steps[self._seen :]:
            term = self._led_term(step)
            self._leading[step.node] = term
            if term is not None:
                self._leaders[term] = step.node
        self._seen = len(self._steps)
