"""The pendingMap of a dispatcher, as its lines show it: the pushes that have no answer.

The code pushes the next entry only while fewer than MAX_PENDING_SIZE pushes are in the map. So the n-th push stands
after the (n - MAX_PENDING_SIZE)-th removal. An answer removes its push a little before the line that raises the
watermark.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lockstep.systems.dledger.step_placement import PlacedStep
from raftref.dledger.pushing import MAX_PENDING_SIZE


@dataclass(eq=False)
class Removal:
    """The removal of a push from the map; its `step` is None until the line that shows its effect."""

    step: PlacedStep | None = None
    _later: list[PlacedStep] = field(default_factory=list)

    def happens_in(self, step: PlacedStep) -> None:
        """Take `step` as the one in which it happens."""
        self.step = step
        for later in self._later:
            later.after.append(step)

    def precedes(self, later: PlacedStep) -> None:
        """Let `later` stand after it."""
        if self.step is None:
            self._later.append(later)
        else:
            later.after.append(self.step)

    def mark_unshown(self) -> None:
        """Note that no line shows its effect: the steps that need it read a value that no line gave."""
        for later in self._later if self.step is None else ():
            later.unread = True


class PendingMap:
    """The pendingMap or batchPendingMap of one dispatcher, in the order of lines."""

    def __init__(self) -> None:
        """Start with none pushed."""
        self._last_index: dict[int, int] = {}
        self._pushed = 0
        self._removals: list[Removal] = []

    @property
    def excess(self) -> int:
        """The number of pushes that must leave before one more may be pushed, if it is positive."""
        return len(self._last_index) - MAX_PENDING_SIZE + 1

    def __contains__(self, index: int) -> bool:
        """Return whether a push that begins at `index` is in the map."""
        return index in self._last_index

    def push(self, step: PlacedStep, index: int, last_index: int) -> None:
        """Let `step` push entries: it stands after the removal that lets it in."""
        needed = self._pushed - MAX_PENDING_SIZE
        if 0 <= needed < len(self._removals):
            self._removals[needed].precedes(step)
        self._pushed += index not in self._last_index
        self._last_index[index] = last_index

    def remove(self, index: int, step: PlacedStep | None = None) -> Removal:
        """Remove the push that begins at `index`, in `step` if that is known yet."""
        del self._last_index[index]
        removal = Removal(step)
        self._removals.append(removal)
        return removal

    def clear(self, step: PlacedStep) -> None:
        """Remove all in `step`: the dispatcher leaves APPEND."""
        for index in list(self._last_index):
            self.remove(index, step)

    def leaked(self, mark: int, *, batches: bool) -> Iterator[int]:
        """Yield the first index of each push that CheckLeak removes: below the watermark, or a batch up to it."""
        yield from [index for index, last in self._last_index.items() if last < mark + batches]
