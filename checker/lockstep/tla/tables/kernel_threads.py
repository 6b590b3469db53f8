"""Threads that share the work of kernels: each does a part of the rows, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Result = TypeVar("Result")

#: Rows below which one thread does them all: to wake another takes as long.
_LEAST_ROWS = 2_048


class KernelThreads:
    """Some threads, which wait until there are rows enough for all.

    Kernels run beside one another, since they need nothing of Python; so no two parts may write to one place.
    """

    def __init__(self, count: int = 1) -> None:
        self.count = count
        self._pool = ThreadPoolExecutor(count) if count > 1 else None

    def run(self, rows: int, work: Callable[[int, int], Result]) -> list[Result]:
        """Do work on all rows; it takes the first row of a part, and the one after the last.

        Returns:
            What it returns for each part, in the order of the rows.
        """
        if self._pool is None or rows < _LEAST_ROWS:
            return [work(0, rows)]
        edges = [rows * part // self.count for part in range(self.count + 1)]
        return list(self._pool.map(work, edges[:-1], edges[1:]))
