"""The verdicts of `lockstep watch --once` on a folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.spec_choice import HeaderSpecs
from lockstep.pipeline.watch.verdict_table import WatchStore, WatchVerdict
from tests.support.pipeline.watched_traces import verdict_of


def watched_once(folder: Path, variant: HeaderSpecs) -> dict[str, TraceVerdict]:
    """The verdict on each trace of a folder."""
    command = [sys.executable, "-m", "lockstep", "watch", "--once", *variant.options, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1, 2), done.stderr
    rows: dict[str, list[WatchVerdict]] = {}
    for row in WatchStore(folder / ".lockstep", variant.name or DECLARED).rows():
        rows.setdefault(row.trace, []).append(row)
    return {trace: verdict_of(each) for trace, each in rows.items()}
