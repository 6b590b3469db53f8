"""Verdicts as JUnit XML, for the reports of a CI."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree import ElementTree

from lockstep.base.characters import xml_text
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.verdict_text import explained_text


def junit_xml(verdicts: Sequence[TraceVerdict]) -> str:
    """Return one test suite with a test case for each trace.

    A violation is a failure. A trace that is malformed, or without a verdict, is an error, as is an internal error.
    Nothing is skipped, since a check that was not made is not a pass.
    """
    failed = sum(each.verdict is Verdict.VIOLATED for each in verdicts)
    broken = sum(each.verdict not in (Verdict.HOLDS, Verdict.VIOLATED) for each in verdicts)
    suite = ElementTree.Element(
        "testsuite",
        name="lockstep check",
        tests=str(len(verdicts)),
        failures=str(failed),
        errors=str(broken),
        time=f"{sum(each.seconds for each in verdicts):.3f}",
    )
    for verdict in verdicts:
        _case(suite, verdict)
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode")


def _case(suite: ElementTree.Element, verdict: TraceVerdict) -> None:
    attributes = {"classname": "lockstep", "name": xml_text(verdict.source), "time": f"{verdict.seconds:.3f}"}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    if verdict.verdict is Verdict.VIOLATED:
        for finding in verdict.findings:
            what = {
                "type": finding.code,
                "message": xml_text(f"line {finding.line}: {finding.name}"),
            }
            ElementTree.SubElement(case, "failure", what).text = xml_text(explained_text(verdict, finding))
    elif verdict.verdict is not Verdict.HOLDS:
        what = {"type": str(verdict.verdict), "message": xml_text(verdict.reason)}
        found = "\n".join(explained_text(verdict, finding) for finding in verdict.findings)
        ElementTree.SubElement(case, "error", what).text = xml_text(found) or None
    if verdict.notes:
        ElementTree.SubElement(case, "system-out").text = xml_text("\n".join(verdict.notes))
