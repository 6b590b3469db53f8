"""Lines of a log in the words of a spec: the steps that they claim, and what they show afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lockstep.tla.values.kinds import Value
from lockstep.tla.values.quantifier_bounds import KnownValue, Matching


@dataclass(frozen=True, slots=True)
class Claim:
    """A step that a line claims, or an observation.

    `action` names the step's action; "" for an observation alone. `args` are its parameters as far as the line has
    them: a value, or a part of one. `shows` is observed afterwards, of `node` if the spec's observation takes one. The
    step is taken once to `repeat` times, with the same arguments; where it `may_be_over`, never, too.
    """

    action: str
    args: Mapping[str, KnownValue | Matching] = field(default_factory=dict)
    shows: Mapping[str, Any] = field(default_factory=dict)
    node: Value | None = None
    repeat: int = 1
    may_be_over: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class ThreadLine:
    """One line of a log.

    `number` is that of the file, `source` its name and `text` what stands there. `readings` are the ways to understand
    it: each is a sequence of claims, with nothing in between. `time` is its stamp in nanoseconds; its steps
    happened after the lines above it in its log were written, and up to `delay` nanoseconds before
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

    Nothing is known after the last line of a thread that `is_cut`: lines that followed may be lost.
    """

    source: str
    lines: Sequence[ThreadLine]
    is_cut: bool = False

    def unknown_part(self) -> str:
        """Name what may have followed the thread."""
        return f"what followed line {self.lines[-1].number} of {self.source}" if self.lines else f"all of {self.source}"

    def place(self, line: ThreadLine) -> str:
        """Return where one of the lines stands, as FILE:LINE; a log may have several files."""
        return f"{line.source or self.source}:{line.number}"
