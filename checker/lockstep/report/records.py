"""Verdicts as records, for programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from lockstep.conformance.trace_verdict import TraceVerdict


def verdict_record(verdict: TraceVerdict) -> dict[str, Any]:
    """Return the verdict on one trace as JSON can hold it: its fields by name, each finding with its code."""
    return asdict(verdict) | {
        "verdict": str(verdict.verdict),
        "exit_code": verdict.verdict.exit_code,
        "sources": verdict.sources or [verdict.source],
    }
