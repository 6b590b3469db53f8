"""The verdicts of `lockstep watch --once` on a folder."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from lockstep.conformance.check import Finding, TraceVerdict
from lockstep.pipeline.watch.table import Store


def watched_once(folder: Path, switches: Sequence[str] = ()) -> dict[str, TraceVerdict]:
    """The last verdict on each trace of a folder, with the findings of all its rows."""
    words = [f"--switch={each}" for each in switches]
    command = [sys.executable, "-m", "lockstep", "watch", "--once", *words, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    found: dict[str, TraceVerdict] = {}
    findings: dict[str, list[Finding]] = {}
    for row in Store(folder / ".lockstep", "told").rows():
        findings.setdefault(row.trace, []).extend(row.result.findings)
        found[row.trace] = row.result
    for trace, verdict in found.items():
        verdict.findings = findings[trace]
    return found
