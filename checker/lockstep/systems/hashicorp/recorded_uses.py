"""The uses of a recording's lines, for the summary of its import."""

from __future__ import annotations

from array import array
from collections import Counter

from lockstep.systems.recording_file import RecordingLine
from lockstep.trace.imported_trace import ACTION, NOISE, OBSERVATION

_ACTED, _OBSERVED, _BITS = 1, 2, 2


class RecordedUses:
    """The label of each line and its use so far: four bytes a line, since an event may be that of any line.

    Lines that were not added, as those of a recording that is still written, are not counted.
    """

    def __init__(self) -> None:
        """Begin before the first line."""
        self._labels: dict[str, int] = {}
        self._lines = array("I")

    def add(self, line: RecordingLine) -> None:
        """Add the next line."""
        self._lines.extend([0] * (line.number + 1 - len(self._lines)))
        self._lines[line.number] = self._labels.setdefault(line.label, len(self._labels) + 1) << _BITS

    def acted(self, number: int) -> None:
        """Note that a line has a step."""
        self._use(number, _ACTED)

    def observed(self, number: int) -> None:
        """Note that a line shows something of a node."""
        self._use(number, _OBSERVED)

    def _use(self, number: int, use: int) -> None:
        if number < len(self._lines):
            self._lines[number] |= use

    def counted(self) -> dict[str, dict[str, int]]:
        """Count the lines by label and use; a line with a step is one of no other use."""
        labels = ["", *self._labels]
        uses: dict[str, Counter[str]] = {}
        for each in self._lines:
            if each >> _BITS:
                use = ACTION if each & _ACTED else OBSERVATION if each & _OBSERVED else NOISE
                uses.setdefault(labels[each >> _BITS], Counter())[use] += 1
        return {label: dict(uses[label]) for label in sorted(uses)}
