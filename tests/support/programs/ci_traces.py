"""Traces and a verdict for the reports to the tools of a CI."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from tests.support.places import ROOT

_SERVICE = ROOT / "docs" / "lock_service"

#: What GitHub's runner might take for a command, Markdown for syntax, and HTML for an element.
_MARKUP = "</pre><script>x</script> | [l](javascript:x) `c` @team\x1b[31m"
HOSTILE = f"a%,:\n  ::error file=x::hacked\n##[error]hacked\n\n{_MARKUP}"


def write_traces(folder: Path) -> Path:
    """Write the lock service's spec, a trace that leaves it, one that holds, one that is empty, one that is cut."""
    shutil.copytree(_SERVICE, folder / "specs")
    event = {"kind": "event", "node": "a"}
    steps = [
        {**event, "seq": 0, "action": "Lock", "shows": {"token": 1}},
        {**event, "seq": 1, "action": "Unlock", "shows": {"token": 5}},
    ]
    for name, events in (("wrong trace", steps), ("good", steps[:1]), ("empty", [])):
        (folder / f"{name}.ndjson").write_text(_trace(events))
    (folder / "cut.ndjson").write_text(_trace(steps[:1])[:-10])
    return folder


def _trace(events: list[dict[str, Any]]) -> str:
    head = {"kind": "header", "format": "lockstep-trace/1", "system": "s", "version": "1", "spec": "LockService"}
    lines = [{**head, "nodes": ["a"], "constants": {}}, *events, {"kind": "end", "events": len(events)}]
    return "".join(json.dumps(line) + "\n" for line in lines)


def hostile_verdict() -> TraceVerdict:
    """Return a verdict whose texts are all hostile."""
    finding = Finding("shows", "LS202", HOSTILE, 7, 1, HOSTILE, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE)
    return TraceVerdict(HOSTILE, Verdict.VIOLATED, HOSTILE, findings=[finding], notes=[HOSTILE])
