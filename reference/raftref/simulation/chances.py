"""The choice of a simulation's next attempt, by the rates of its plan and by one seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Generic, TypeAlias, TypeVar

#: The number of attempts in a row that come to nothing after which the run is over.
MAX_ATTEMPTS = 20_000

E = TypeVar("E")

#: Takes an action and returns its event; None where nothing comes of it.
Try: TypeAlias = Callable[[], E | None]


class Chances(Generic[E]):
    """Chooses one attempt after another; everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        """Start with the seed of all chance."""
        self.random = random.Random(seed)
        #: After how many attempts in a row that come to nothing the run is over.
        self.max_attempts = MAX_ATTEMPTS
        self._tries: list[Try[E]] = []
        self._summed_rates: list[float] = []

    def share_out(self, plan: object, rare: Mapping[str, Try[E]], ordinary: Sequence[tuple[Try[E], float]]) -> None:
        """Set the attempts and their rates.

        Args:
            plan: Has a rate, by name, for each attempt in `rare`.
            rare: The attempts at these rates.
            ordinary: The attempts that share the rest, each with its share.
        """
        rates = [float(getattr(plan, name)) for name in rare]
        rest = max(0.0, 1 - sum(rates))
        self._tries = [*rare.values(), *(each for each, _ in ordinary)]
        self._summed_rates = list(accumulate([*rates, *(rest * share for _, share in ordinary)]))

    def next_event(self) -> E | None:
        """Take the next action and return its event; None where nothing is possible any more."""
        for _ in range(self.max_attempts):
            (attempt,) = self.random.choices(self._tries, cum_weights=self._summed_rates)
            event = attempt()
            if event is not None:
                return event
        return None

    def chance(self, probability: float) -> bool:
        """Decide by the plan's odds."""
        return self.random.random() < probability
