"""The verdicts of `lockstep watch --once` on a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.pipeline.against import Variant
from lockstep.pipeline.watch.table import Store


def watched_once(folder: Path, variant: Variant) -> dict[str, TraceVerdict]:
    """The last verdict on each trace of a folder, with the findings of all its rows."""
    command = [sys.executable, "-m", "lockstep", "watch", "--once", *variant.options, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    found: dict[str, TraceVerdict] = {}
    findings: dict[str, list[Finding]] = {}
    for row in Store(folder / ".lockstep", variant.name or "told").rows():
        findings.setdefault(row.trace, []).extend(row.result.findings)
        found[row.trace] = row.result
    for trace, verdict in found.items():
        verdict.findings = findings[trace]
    return found
