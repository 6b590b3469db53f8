"""Verdicts as text, each finding with its explanation, and as records for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lockstep.base.characters import visible, visible_line
from lockstep.base.errors import INCOMPLETE_STEP, NO_VALUE
from lockstep.base.terminal import styled
from lockstep.base.verdict import Verdict
from lockstep.conformance.finding_codes import INCONCLUSIVE, INTERNAL, MALFORMED
from lockstep.conformance.trace_verdict import INIT, Fault, Finding, TraceVerdict, counts_of
from lockstep.report.diagnosis_text import diagnosis_lines

_COLOURS = {Verdict.HOLDS: "green", Verdict.VIOLATED: "red"}
NO_VERDICT_CODES = {Verdict.MALFORMED: MALFORMED, Verdict.INCONCLUSIVE: INCONCLUSIVE, Verdict.INTERNAL: INTERNAL}


def finding_text(source: str, finding: Finding) -> str:
    """Return a finding as text: what is wrong, where in the trace, and the lines of spec and reference."""
    what = {
        "step": f"{finding.action} is not a step the spec allows here",
        "shows": f"after {finding.action} the trace shows something else than the spec",
        "sent": f"{finding.action} sent something else than the spec",
        "refused": f"{finding.action} is a step the spec allows here, and the system refuses it",
        "property": f"{finding.name} is violated by {finding.action}",
        "unexplained": "no behaviour of the spec explains this line",
        "state": "no step leads to this state" if finding.seq else "this is no initial state of the spec",
    }[finding.kind]
    recorded = f", recorded line {finding.recorded_line}" if finding.recorded_line is not None else ""
    of_node = f" of {visible_line(finding.node)}" if finding.node else ""
    event = "before any event" if finding.action == INIT else f"event {finding.seq}{of_node}{recorded}"
    place = "" if _is_only_a_line(finding) else f" ({event})"
    lines = [f"{visible_line(finding.source or source)}:{finding.line}: {finding.code} {what}{place}"]
    lines += [f"    {detail}" for detail in finding.details]
    if finding.spec_line:
        lines.append(f"    spec       {finding.spec_line}")
    if finding.reference_line:
        lines.append(f"    reference  {finding.reference_line}")
    return visible("\n".join(lines))


def explained_text(verdict: TraceVerdict, finding: Finding) -> str:
    """Return a finding of a verdict as text, the deviation with its cause, where that was looked for."""
    text = finding_text(finding.source or verdict.source, finding)
    if verdict.diagnosis is None or finding is not verdict.deviation:
        return text
    return visible("\n    ".join([text, *diagnosis_lines(verdict.diagnosis, finding.line, finding.source)]))


def _is_only_a_line(finding: Finding) -> bool:
    """Return whether the line number says all about the place: an event of a log of the user's own is its line."""
    at_line = finding.seq == finding.line and finding.recorded_line is None
    return bool(finding.source) or (at_line and finding.action != INIT)


def verdict_text(verdict: TraceVerdict, *, colour: bool = False) -> str:
    """Return the verdict on a trace as text, optionally in colour, with each finding below it."""
    counts = counts_of(verdict)
    word = str(verdict.verdict)
    if colour:
        word = styled(word, _COLOURS.get(verdict.verdict, "yellow"))
    place, reason = verdict.source, verdict.reason
    if (code := NO_VERDICT_CODES.get(verdict.verdict)) is not None:
        place, reason = split_place(verdict)
        if verdict.verdict is Verdict.MALFORMED and verdict.fault is not None:
            code = INCOMPLETE_STEP if verdict.fault is Fault.INCOMPLETE_STEP else NO_VALUE
        word = f"{code} {word}"
    counted = f" ({counts})" if code is None or verdict.events else ""
    head = f"{visible_line(place)}: {word}: {reason}{counted}"
    findings = [explained_text(verdict, each) for each in verdict.findings]
    return visible("\n".join([head, *verdict.notes, *findings]))


def split_place(verdict: TraceVerdict) -> tuple[str, str]:
    """Return file and line of the reason why there is no verdict, if it has a line, and the rest of the reason."""
    line, _, rest = verdict.reason.removeprefix(f"{verdict.source}:").partition(": ")
    return (f"{verdict.source}:{line}", rest) if line.isdigit() else (verdict.source, verdict.reason)


def verdict_record(verdict: TraceVerdict) -> dict[str, Any]:
    """Return the verdict on a trace as a tree of JSON, with what was asked for: the diagnosis, what it reaches."""
    record = asdict(verdict) | {
        "verdict": str(verdict.verdict),
        "exit_code": verdict.verdict.exit_code,
        "sources": verdict.sources or [verdict.source],
    }
    if verdict.diagnosis is not None:
        record["diagnosis"] = asdict(verdict.diagnosis)
    if verdict.reached is not None:
        parts = sorted(verdict.reached.items())
        record["reached"] = [{"kind": kind, "name": name, "times": times} for (kind, name), times in parts]
    return record
