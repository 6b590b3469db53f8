"""Verdicts as text: tables, and one finding with its explanation."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.conformance import INIT, Finding, TraceVerdict


def table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Lay out rows in columns: numbers to the right, the rest to the left, no trailing spaces."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(row[column]) for row in [list(header), *cells]) for column in range(len(header))]
    numeric = [all(isinstance(row[column], int | float | None) for row in rows) for column in range(len(header))]

    def line(row: Sequence[str]) -> str:
        parts = [
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(row, widths, numeric, strict=True)
        ]
        return "  " + "  ".join(parts).rstrip()

    return "\n".join([line(header), *(line(row) for row in cells)])


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.1f}"
    return str(value)


def finding_text(source: str, finding: Finding) -> str:
    """Say what is wrong, where in the trace, and at which lines of spec and reference."""
    what = {
        "step": f"{finding.action} is not a step the spec allows here",
        "shows": f"after {finding.action} the trace shows something else than the spec",
        "sent": f"{finding.action} sent something else than the spec",
        "property": f"{finding.name} is violated by {finding.action}",
    }[finding.kind]
    recorded = f", recorded line {finding.recorded_line}" if finding.recorded_line is not None else ""
    of_node = f" of {finding.node}" if finding.node else ""
    event = "before any event" if finding.action == INIT else f"event {finding.seq}{of_node}{recorded}"
    lines = [f"{source}:{finding.line}: {what} ({event})"]
    lines += [f"    {detail}" for detail in finding.details]
    if finding.spec_line:
        lines.append(f"    spec       {finding.spec_line}")
    if finding.reference_line:
        lines.append(f"    reference  {finding.reference_line}")
    return "\n".join(lines)


def verdict_text(verdict: TraceVerdict) -> str:
    """Say the verdict of one trace, and each finding below it."""
    counts = f"{verdict.events:,} events, {verdict.steps:,} steps, {verdict.observed:,} values compared"
    head = f"{verdict.source}: {verdict.verdict}: {verdict.reason} ({counts})"
    return "\n".join([head, *(finding_text(verdict.source, finding) for finding in verdict.findings)])
