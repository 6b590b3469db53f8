"""A trace as a test of pytest: one file that holds the trace, checks it again, and asserts the verdict."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from lockstep.conformance.trace_verdict import TraceVerdict

_TEXT = '''\
# ruff: noqa: E501
"""A trace that is checked again, with the verdict that it had; `lockstep export --to pytest` wrote this file."""

from pathlib import Path

import lockstep

{constants}
#: The verdict, and of each finding its code, the line of the trace, and what it names.
VERDICT = {verdict}
FINDINGS = {findings}

TRACE = (
{trace}
)


def test_{name}(tmp_path: Path) -> None:
    trace = tmp_path / "exported.trace.ndjson"
    trace.write_bytes(TRACE.encode())
    found = lockstep.check(trace, {arguments})
    told = [(each.code, each.line, each.name) for each in found.findings]
    assert (str(found.verdict), told) == (VERDICT, FINDINGS), found.reason
'''


def regression_test(
    name: str,
    lines: Sequence[str],
    verdict: TraceVerdict,
    *,
    switches: Mapping[str, object],
    own: tuple[str, str] | None = None,
) -> str:
    """Return the text of a Python file with one test.

    Arguments: `name`, of the trace; `lines`, its text; `verdict`, the one to assert; `switches`, constants that replace
    the header's; `own`, module and cfg as paths from the folder of the test, where the spec is the reader's own.
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
