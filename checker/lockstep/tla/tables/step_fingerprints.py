"""The fingerprints of states after steps, from those before: a step changes them by what it writes."""

from __future__ import annotations

import numpy as np

from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.fingerprints import Fingerprints, Hashes
from lockstep.tla.tables.kernel_threads import KernelThreads
from lockstep.tla.tables.search_kernels import fingerprint
from lockstep.tla.tables.state_layout import Rows
from lockstep.tla.tables.written_steps import WrittenSteps


class StepFingerprints:
    """The fingerprints, by one function, of states after steps."""

    def __init__(self, hashing: Fingerprints, steps: WrittenSteps, threads: KernelThreads) -> None:
        self._hashing, self._steps, self._threads = hashing, steps, threads
        self._added: Hashes = np.zeros((0, hashing.image_count), np.uint64)

    def of_steps(self) -> Hashes:
        """Return for all steps by number what the values that they write add to the fingerprints of images."""
        steps, known = self._steps, len(self._added)
        if known < steps.pattern.count:
            which, slots, values = steps.written(np.arange(known, steps.pattern.count))
            added = np.zeros((steps.pattern.count - known, self._added.shape[1]), np.uint64)
            np.add.at(added, which, self._hashing.at(slots, values))
            self._added = np.concatenate([self._added, added])
        return self._added

    def after(self, rows: Rows, hashes: Hashes, sources: Ints, steps: Ints) -> Hashes:
        """Return the fingerprints of states after steps: of each the least of those of its images.

        Args:
            rows: the states before; `hashes` are the fingerprints of their images.
            sources: the number of the state before each step; `steps` are the numbers of what each writes.
        """
        least = np.empty(len(sources), np.uint64)
        pattern, slot_first, slots, _, _ = self._steps.arrays()
        tables = pattern, slot_first, slots, self.of_steps(), *self._hashing.sums

        def part(begin: int, end: int) -> None:
            fingerprint(sources[begin:end], steps[begin:end], *tables, rows, hashes, least[begin:end])

        self._threads.run(len(least), part)
        return least
