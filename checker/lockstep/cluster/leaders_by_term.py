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
        #: The newest term that each node has led.
        self._led: dict[str, int] = {}
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

    def claiming(self) -> list[str]:
        """Return the nodes that lead by what each showed last, also those of older terms."""
        self._learn()
        return sorted(node for node, term in self._leading.items() if term is not None)

    def newest_term(self, node: str | None = None) -> int:
        """Return the newest term that a node has led, or anybody if none is given; 0 if none."""
        self._learn()
        return max(self._leaders, default=0) if node is None else self._led.get(node, 0)

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
                self._led[step.node] = max(term, self._led.get(step.node, 0))
        self._seen = len(self._steps)
