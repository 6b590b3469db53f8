"""A trace as a regression test: a file for pytest that holds the trace, checks it again, and asserts the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lockstep.conformance.trace_verdict import TraceVerdict

_TEXT = '''\
# ruff: noqa: E501
"""Check a trace again and assert the verdict that it had; `lockstep export --to pytest` wrote this file."""

from pathlib import Path

import lockstep

{constants}
#: The verdict, and the code, the line of the trace and the name of each finding.
VERDICT = {verdict}
FINDINGS: list[tuple[str, int, str]] = {findings}

TRACE = (
{trace}
)


def test_{name}(tmp_path: Path) -> None:
    trace = tmp_path / "exported.trace.ndjson"
    trace.write_bytes(TRACE.encode())
    found = lockstep.check(trace, {arguments})
    findings = [(each.code, each.line, each.name) for each in found.findings]
    assert (str(found.verdict), findings) == (VERDICT, FINDINGS), found.reason
'''


def regression_test(
    name: str,
    lines: Sequence[str],
    verdict: TraceVerdict,
    *,
    switches: Mapping[str, object],
    own: tuple[str, str] | None = None,
) -> str:
    """Return the text of a Python file with one test, which asserts a verdict.

    Arguments: `name`, the name of the trace; `lines`, its text; `switches`, constants that replace the header's; `own`,
    where the spec is the user's own, module and cfg as paths from the folder of the test.
    """
    if own is None:
        constants, arguments = f"SWITCHES: dict[str, bool | str | int] = {dict(switches)!a}\n", "switches=SWITCHES"
    else:
        here = "Path(__file__).parent"
        constants = f"SPEC = {here} / {own[0]!a}\nCFG = {here} / {own[1]!a}\n"
        arguments = "spec=SPEC, cfg=CFG"
    findings = [(each.code, each.line, each.name) for each in verdict.findings]
    return _TEXT.format(
        constants=constants,
        verdict=ascii(str(verdict.verdict)),
        findings=ascii(findings),
        trace="\n".join(f"    {line!a}" for line in lines),
        name=re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower() or "trace",
        arguments=arguments,
    )
