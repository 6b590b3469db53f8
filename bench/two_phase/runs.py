"""Two-phase commits, simulated: what every node does, with the time of its own clock.

A run is recorded whole: the reader of the run chooses which lines and fields of it a log keeps.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Iterator
from typing import Any

MANAGERS = ("r1", "r2", "r3", "r4")
#: Milliseconds by which a clock is fast or slow at most; two clocks differ by twice that at most.
MAX_OFFSET_MS = 1.0
#: One transaction of this many is aborted.
TRANSACTIONS_PER_ABORT = 6


class Run:
    """One run: iterating yields (node, line) in the order in which things happen.

    A line has the time of its node's clock in milliseconds, the event, the resource manager and transaction that take
    part, and what is seen after it. A rash transaction manager decides to commit when half of them are prepared.
    """

    def __init__(self, seed: int, transactions: int, every: float, *, rash: bool = False) -> None:
        """Take the seed, how many transactions there are, and the milliseconds from one's begin to the next's."""
        self.random, self.rash, self.now = random.Random(seed), rash, 0.0
        self.offset = {node: self.random.uniform(-MAX_OFFSET_MS, MAX_OFFSET_MS) for node in ("tm", *MANAGERS)}
        self.coming: list[tuple[float, int, str, str, int]] = []
        self.numbers = itertools.count()
        self.work = {(r, t): "working" for r in MANAGERS for t in range(1, transactions + 1)}
        self.heard: dict[int, set[str]] = {t: set() for t in range(1, transactions + 1)}
        self.decided = dict.fromkeys(self.heard, "open")
        for t in self.heard:
            for r in MANAGERS:
                self._later(every * t, 10, "prepare", r, t)
            if self.random.randrange(TRANSACTIONS_PER_ABORT) == 0:
                self._later(every * t, 20, "give_up", "", t)

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (node, line)."""
        while self.coming:
            self.now, _, what, r, t = heapq.heappop(self.coming)
            yield from getattr(self, what)(r, t)

    def prepare(self, r: str, t: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """A resource manager prepares, if the decision is not there yet."""
        if self.work[r, t] == "working":
            self.work[r, t] = "prepared"
            yield self._line(r, "prepared", rm=r, tx=t, shows=self._seen(r))
            self._later(self.now + 1, 15, "hear", r, t)

    def hear(self, r: str, t: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The transaction manager hears of it; of the last one, and it decides."""
        if self.decided[t] == "open":
            self.heard[t].add(r)
            yield self._line("tm", "heard", rm=r, tx=t)
            if len(self.heard[t]) >= len(MANAGERS) // (2 if self.rash else 1):
                yield from self._decide(t, "commit")

    def give_up(self, _: str, t: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """The transaction manager waits no longer."""
        if self.decided[t] == "open":
            yield from self._decide(t, "abort")

    def receive(self, r: str, t: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """A decision arrives."""
        yield self._line(r, "received", rm=r, tx=t)
        self._later(self.now + 1, 10, "finish", r, t)

    def finish(self, r: str, t: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """A resource manager does what was decided."""
        self.work[r, t] = "committed" if self.decided[t] == "commit" else "aborted"
        yield self._line(r, "finished", rm=r, tx=t, shows=self._seen(r))

    def _decide(self, t: int, outcome: str) -> Iterator[tuple[str, dict[str, Any]]]:
        self.decided[t] = outcome
        yield self._line("tm", "decided", tx=t, outcome=outcome, shows={"decided": {str(t): outcome}})
        for r in MANAGERS:
            self._later(self.now + 1, 20, "receive", r, t)

    def _later(self, least: float, spread: float, what: str, r: str, t: int) -> None:
        heapq.heappush(self.coming, (least + self.random.uniform(0, spread), next(self.numbers), what, r, t))

    def _line(self, node: str, event: str, **fields: Any) -> tuple[str, dict[str, Any]]:
        return node, {"ts": round(self.now + self.offset[node], 3), "event": event, **fields}

    def _seen(self, r: str) -> dict[str, Any]:
        work = [each for (manager, _), each in self.work.items() if manager == r]
        return {
            "prepared": {r: work.count("prepared")},
            "finished": {r: work.count("committed") + work.count("aborted")},
        }
