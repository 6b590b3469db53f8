"""What a simulation tries next: by the rates of its plan, and by one seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeAlias, TypeVar

#: So many attempts that come to nothing, and the run is over.
ATTEMPTS_MAX = 20_000

E = TypeVar("E")

#: Takes an action and tells it as an event; None where nothing comes of it.
Try: TypeAlias = Callable[[], E | None]


class Chances(Generic[E]):
    """Chooses what is tried, one after another; everything follows from the seed."""

    def __init__(self, seed: int) -> None:
        """Begin with a seed, from which all chance comes."""
        self.random = random.Random(seed)
        self._tries: list[Try[E]] = []
        self._rates: list[float] = []

    def share_out(self, plan: object, rare: Mapping[str, Try[E]], ordinary: Sequence[tuple[Try[E], float]]) -> None:
        """Say what is tried, and how often.

        Args:
            plan: Has a rate, of all that is tried, by the name of each in `rare`.
            rare: What is tried at these rates.
            ordinary: What shares the rest, and its share.
        """
        rates = [float(getattr(plan, name)) for name in rare]
        rest = max(0.0, 1 - sum(rates))
        self._tries = [*rare.values(), *(each for each, _ in ordinary)]
        self._rates = [*rates, *(rest * share for _, share in ordinary)]

    def next_event(self) -> E | None:
        """Take the next action and tell it; None where nothing is possible any more."""
        for _ in range(ATTEMPTS_MAX):
            (attempt,) = self.random.choices(self._tries, self._rates)
            event = attempt()
            if event is not None:
                return event
        return None

    def chance(self, probability: float) -> bool:
        """Decide by the plan's odds."""
        return self.random.random() < probability
