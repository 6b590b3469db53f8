"""What is told of a trace: a row of the table, with what is new since the row before.

A trace has a row for each batch in which something was found, and one that settles it. So each violation is in one row,
and the last row of a trace has its verdict. A finding has an id, the same over restarts.
"""

from __future__ import annotations

import hashlib
from typing import Any

import msgspec

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict, conclude
from lockstep.pipeline.watch.under_way import UnderWay

#: What a reason begins with where the trace is not settled.
SO_FAR = "so far "


class Told(msgspec.Struct):
    """A row: the trace and its file, the verdict so far, and the findings that are new, as JSON.

    `settled` tells that no more of the trace is checked. The other fields are those of the verdict.
    """

    trace: str
    source: str
    spec: str
    verdict: str
    reason: str
    events: int
    steps: int
    observed: int
    seconds: float
    findings: str
    notes: str
    settled: bool

    @classmethod
    def of(cls, trace: str, source: str, way: UnderWay) -> Told:
        """Return what is new of a trace, and note in `way` that it is told."""
        new, way.told = way.findings[way.told :], len(way.findings)
        verdict, reason = way.verdict, way.reason
        if not verdict:
            so_far = way.result(source)
            conclude(so_far)
            verdict, reason = str(so_far.verdict), f"{SO_FAR}{so_far.reason}"
        return cls(
            trace=trace,
            source=source,
            spec=way.digest,
            verdict=verdict,
            reason=reason,
            events=way.events,
            steps=way.steps,
            observed=way.observed,
            seconds=way.seconds,
            findings=msgspec.json.encode(new).decode(),
            notes=msgspec.json.encode(way.notes).decode(),
            settled=bool(way.verdict),
        )

    @property
    def result(self) -> TraceVerdict:
        """The verdict, with the new findings alone."""
        return TraceVerdict(
            self.source,
            Verdict(self.verdict),
            self.reason,
            self.events,
            self.steps,
            self.observed,
            self.seconds,
            msgspec.json.decode(self.findings, type=list[Finding]),
            notes=msgspec.json.decode(self.notes, type=list[str]),
        )

    @property
    def _id(self) -> str:
        return _hash(self.trace, self.verdict, self.reason)

    def record(self) -> dict[str, Any]:
        """Return the row as JSON can hold it, its findings with their ids."""
        found = [{"id": finding_id(self.trace, each), **msgspec.to_builtins(each)} for each in self.result.findings]
        return {**msgspec.to_builtins(self), "findings": found, "notes": self.result.notes}

    def records(self) -> list[dict[str, Any]]:
        """Return what a program is told: a record for each new finding, or for a verdict that is no pass.

        Each has `id`, `kind` ("finding" or "verdict"), `trace`, `source`, `verdict` and `reason`; a finding its fields.
        """
        base = {"trace": self.trace, "source": self.source, "verdict": self.verdict, "reason": self.reason}
        found = self.result.findings
        if not found and self.verdict not in (Verdict.HOLDS, Verdict.VIOLATED):
            return [{"id": self._id, "kind": "verdict", **base}]
        return [
            {"id": finding_id(self.trace, each), "kind": "finding", **base, "finding": msgspec.to_builtins(each)}
            for each in found
        ]


def finding_id(trace: str, finding: Finding) -> str:
    """Return the id of a finding: what it is and where, not when it was found."""
    return _hash(trace, finding.kind, finding.code, finding.name, finding.line, finding.seq)


def _hash(*parts: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(parts)).hexdigest()[:32]
