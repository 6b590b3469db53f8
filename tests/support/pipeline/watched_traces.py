"""Traces that are checked batch by batch, as a task of a watch does it, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.pipeline.watch.resumed_check import BatchCheck, SourceRow, TraceProgress, WatchLimits
from lockstep.pipeline.watch.spec_cache import SpecCache
from lockstep.pipeline.watch.verdict_table import WatchVerdict
from lockstep.pipeline.watch.watch_task import check_batch, specs_in


@dataclass
class Watched:
    """One trace that is watched: `rows` of the table, `due` until when it waits for events (0: it does not)."""

    source: Path
    store: Path
    limits: WatchLimits = field(default_factory=WatchLimits)
    switches: dict[str, Any] = field(default_factory=dict)
    kept: bytes | None = None
    rows: list[WatchVerdict] = field(default_factory=list)
    due: float = 0.0
    line: int = 0

    @property
    def trace(self) -> str:
        return self.source.name

    @property
    def specs(self) -> SpecCache:
        return specs_in(self.store, self.switches)

    def batch(self, lines: Sequence[bytes], *notices: SourceRow) -> None:
        """Check one batch: lines, as they are in the file, and notices."""
        if lines and not self.line:
            self.specs.compile(lines[0], str(self.source))
        rows = [SourceRow("lines", self.line + 1, b"".join(lines))] if lines else []
        self.line += len(lines)
        given = self.kept, self.trace, str(self.source), [*rows, *notices], self.specs, self.limits
        self.kept, row, due = check_batch(*given)
        self.rows += [] if row is None else [row]
        self.due = self.due if due is None else due

    @property
    def progress(self) -> TraceProgress:
        return TraceProgress.from_bytes(self.kept)

    def finish(self, torn: bytes = b"") -> None:
        """No more will come."""
        progress = self.progress
        BatchCheck(progress, str(self.source), self.specs, self.limits).finish(torn)
        self.rows.append(progress.new_row(self.trace, str(self.source)))

    @property
    def verdict(self) -> TraceVerdict:
        """The last row, with the findings of all."""
        return verdict_of(self.rows)


def verdict_of(rows: Sequence[WatchVerdict]) -> TraceVerdict:
    """The verdict that the rows of a trace come to: the last of them, with the findings of all."""
    last = rows[-1]
    names = TraceVerdict.__dataclass_fields__
    found = TraceVerdict(**{name: getattr(last, name) for name in names})
    found.findings = [each for row in rows for each in row.findings]
    return found
