"""The runs from which a search goes on: the shortest run to each situation that its examples have met.

A situation is a small part of a group's state, such as one message seen from its receiver, without the numbers that
grow for ever. An example that begins at the start takes long to meet a rare one again; one that goes on from there has
all its steps for what comes next.

Source: the archive is that of Go-Explore (Ecoffet and others, "First return, then explore", 2021), for many small parts
of a state in place of one picture of all of it.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

from lockstep.systems.hunted_group import Move

#: The most steps of a run that is kept.
MAX_PREFIX = 400


@dataclass(frozen=True, slots=True)
class Prefix:
    """A run to begin with: the plan of its group, and its first `length` steps; the list may go on."""

    plan: Any
    all_moves: list[Move]
    length: int

    @property
    def moves(self) -> list[Move]:
        """The steps."""
        return self.all_moves[: self.length]


class Archive:
    """The shortest run to each situation, and in how many examples the situation was met."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._shortest: dict[Hashable, Prefix] = {}
        self._met: Counter[Hashable] = Counter()
        self._chosen: Counter[Hashable] = Counter()

    def __len__(self) -> int:
        """Return the number of situations."""
        return len(self._shortest)

    def meet(self, situations: Iterable[Hashable], plan: Any, moves: list[Move]) -> None:
        """Note situations that an example meets for the first time, after some moves in a group of a plan."""
        length = len(moves)
        for each in situations:
            self._met[each] += 1
            known = self._shortest.get(each)
            if length <= MAX_PREFIX and (known is None or length < known.length):
                self._shortest[each] = Prefix(plan, moves, length)

    def draw(self, chance: random.Random, count: int) -> list[Prefix]:
        """Draw runs by their situations, with repetition: rare ones, chosen seldom so far, and met soon, come first."""
        situations = list(self._shortest)
        if not situations:
            return []
        weights = [self._weight(each) for each in situations]
        drawn = chance.choices(situations, weights, k=count)
        self._chosen.update(drawn)
        return [self._shortest[each] for each in drawn]

    def _weight(self, situation: Hashable) -> float:
        length = self._shortest[situation].length
        return 1 / math.sqrt((1 + self._met[situation]) * (1 + self._chosen[situation]) * (10 + length))
