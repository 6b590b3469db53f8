"""Verdicts as text: tables, and one finding with its explanation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lockstep.base.characters import visible, visible_line
from lockstep.base.errors import INCOMPLETE_STEP, NO_VALUE
from lockstep.base.terminal import styled
from lockstep.base.verdict import Verdict
from lockstep.conformance.finding_codes import INCONCLUSIVE, INTERNAL, MALFORMED
from lockstep.conformance.trace_verdict import INIT, NOT_EVALUATED, Finding, TraceVerdict, counts_of

_COLOURS = {Verdict.HOLDS: "green", Verdict.VIOLATED: "red"}
_CODES = {Verdict.MALFORMED: MALFORMED, Verdict.INCONCLUSIVE: INCONCLUSIVE, Verdict.INTERNAL: INTERNAL}


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


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table whose rows are printed as they come: its head, its width, and whether it is of numbers."""

    head: str
    width: int = 0
    is_number: bool = False

    def laid_out(self, value: object) -> str:
        """Return a cell; one that is wider than the column moves the rest of its row."""
        text, width = _cell(value), max(self.width, len(self.head))
        return text.rjust(width) if self.is_number else text.ljust(width)


def row(columns: Sequence[Column], values: Sequence[object]) -> str:
    """Lay out one row of a table with these columns, as `table` does it."""
    return "  " + "  ".join(column.laid_out(value) for column, value in zip(columns, values, strict=True)).rstrip()


def heads(columns: Sequence[Column]) -> str:
    """Lay out the first line of a table with these columns."""
    return row(columns, [column.head for column in columns])


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
        "unexplained": "no behaviour of the spec explains this line",
        "state": "no step leads to this state" if finding.seq else "this is no initial state of the spec",
    }[finding.kind]
    recorded = f", recorded line {finding.recorded_line}" if finding.recorded_line is not None else ""
    of_node = f" of {visible_line(finding.node)}" if finding.node else ""
    event = "before any event" if finding.action == INIT else f"event {finding.seq}{of_node}{recorded}"
    place = "" if _is_its_line(finding) else f" ({event})"
    lines = [f"{visible_line(finding.source or source)}:{finding.line}: {finding.code} {what}{place}"]
    lines += [f"    {detail}" for detail in finding.details]
    if finding.spec_line:
        lines.append(f"    spec       {finding.spec_line}")
    if finding.reference_line:
        lines.append(f"    reference  {finding.reference_line}")
    return visible("\n".join(lines))


def _is_its_line(finding: Finding) -> bool:
    """Whether the line tells all that there is to say about where: an event of a log of one's own is its line."""
    at_line = finding.seq == finding.line and finding.recorded_line is None
    return bool(finding.source) or (at_line and finding.action != INIT)


def verdict_text(verdict: TraceVerdict, *, colour: bool = False) -> str:
    """Say the verdict of one trace, in colour if wished, and each finding below it."""
    counts = counts_of(verdict)
    word = str(verdict.verdict)
    if colour:
        word = styled(word, _COLOURS.get(verdict.verdict, "yellow"))
    place, reason = verdict.source, verdict.reason
    if (code := _CODES.get(verdict.verdict)) is not None:
        place, reason = placed(verdict)
        is_of_spec = verdict.verdict is Verdict.MALFORMED and reason.startswith(NOT_EVALUATED)
        of_spec = INCOMPLETE_STEP if f" {INCOMPLETE_STEP} " in reason else NO_VALUE
        word = f"{of_spec if is_of_spec else code} {word}"
    said = f" ({counts})" if code is None or verdict.events else ""
    head = f"{visible_line(place)}: {word}: {reason}{said}"
    findings = (finding_text(verdict.source, each) for each in verdict.findings)
    return visible("\n".join([head, *verdict.notes, *findings]))


def placed(verdict: TraceVerdict) -> tuple[str, str]:
    """Return file and line, if the reason for which there is no verdict tells one, and the rest of it."""
    line, _, rest = verdict.reason.removeprefix(f"{verdict.source}:").partition(": ")
    return (f"{verdict.source}:{line}", rest) if line.isdigit() else (verdict.source, verdict.reason)
