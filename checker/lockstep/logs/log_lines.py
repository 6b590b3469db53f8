"""What the lines of a log say in a spec's own words: which steps they are of, and what is seen after them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lockstep.tla.values.kinds import Value
from lockstep.tla.values.quantifier_bounds import Exactly, Matching


@dataclass(frozen=True, slots=True)
class Claim:
    """One step, or something seen, that a line tells of.

    `action` names the step's action; "" where nothing happens and something is seen. `told` is what is told of its
    parameters: a value, or a part of one; of a parameter that it does not have nothing is told. `shows` is seen
    afterwards, of `node` if the spec's observation takes one. The step is taken once to `repeat` times, with the same
    arguments.
    """

    action: str
    told: Mapping[str, Exactly | Matching] = field(default_factory=dict)
    shows: Mapping[str, Any] = field(default_factory=dict)
    node: Value | None = None
    repeat: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class Line:
    """One line of a log.

    `number` is that of the file, `source` its name and `text` what stands there. `readings` are the ways to understand
    it: each is what the line tells of, in its order, with nothing in between. `time` is its stamp in nanoseconds; what
    it tells of happened after the lines above it in its log were written, and up to `delay` nanoseconds before
    it was. `sends` and `receives` name a message: what sends it comes before what receives it.
    """

    number: int
    text: str
    readings: tuple[tuple[Claim, ...], ...]
    time: int | None = None
    delay: int = 0
    sends: str | None = None
    receives: str | None = None
    source: str = ""


@dataclass(frozen=True, slots=True)
class Thread:
    """Lines that happened one after the other as they stand in the file, such as the log of one node.

    Of one that `is_cut` nothing is known after the last line: others may have followed that were lost.
    """

    source: str
    lines: Sequence[Line]
    is_cut: bool = False

    def end(self) -> str:
        """Name what the thread does not tell."""
        return f"{self.source} tells after line {self.lines[-1].number}" if self.lines else f"{self.source} tells"

    def place(self, line: Line) -> str:
        """Return where one of the lines stands, as FILE:LINE; a log may have several files."""
        return f"{line.source or self.source}:{line.number}"
