"""Traces that are checked batch by batch, as a task of a watch does it, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.pipeline.watch.specs import Specs
from lockstep.pipeline.watch.task import specs_of, stepped
from lockstep.pipeline.watch.told import Told
from lockstep.pipeline.watch.under_way import Limits, Row, Step, UnderWay


@dataclass
class Watched:
    """One trace under way: `told` are its rows, `due` until when it waits for events (0: it does not)."""

    source: Path
    store: Path
    limits: Limits = field(default_factory=Limits)
    switches: dict[str, Any] = field(default_factory=dict)
    kept: bytes | None = None
    told: list[Told] = field(default_factory=list)
    due: float = 0.0
    line: int = 0

    @property
    def trace(self) -> str:
        return self.source.name

    @property
    def specs(self) -> Specs:
        return specs_of(self.store, self.switches)

    def take(self, lines: Sequence[bytes], *said: Row) -> None:
        """One batch: lines, as they are in the file, and what is said besides."""
        if lines and not self.line:
            self.specs.compile(lines[0], str(self.source))
        rows = [Row("lines", self.line + 1, b"".join(lines))] if lines else []
        self.line += len(lines)
        self.kept, found = stepped(self.kept, self.trace, str(self.source), [*rows, *said], self.specs, self.limits)
        for row in found:
            if row[-1] is None:
                self.told.append(Told(*row[:-1]))
            else:
                self.due = row[-1]

    @property
    def way(self) -> UnderWay:
        assert self.kept is not None
        return UnderWay.of(self.kept)

    def finish(self, torn: bytes | None = None) -> None:
        """No more will come."""
        way = self.way if self.kept is not None else UnderWay()
        Step(way, str(self.source), self.specs, self.limits).finish(torn)
        self.told.append(Told.of(self.trace, str(self.source), way))

    @property
    def verdict(self) -> TraceVerdict:
        """The last row, with the findings of all."""
        found = self.told[-1].result
        found.findings = [each for row in self.told for each in row.result.findings]
        return found
