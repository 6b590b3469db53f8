"""The grades of a lab's tests as text."""

from __future__ import annotations

from collections.abc import Sequence

from lockstep.base.characters import counted, visible, visible_line
from lockstep.base.terminal import styled
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding
from lockstep.jobs.grade.grading import LabGrade
from lockstep.report.diagnosis_text import diagnosis_lines

_COLOURS = {Verdict.HOLDS: "green", Verdict.VIOLATED: "red"}


def grade_text(grade: LabGrade, *, colour: bool = False) -> str:
    """Return a grade as text: the test with its verdict, and below it what is wrong with which rule."""
    test, verdict = grade.test, grade.verdict
    word = str(verdict.verdict)
    if colour:
        word = styled(word, _COLOURS.get(verdict.verdict, "yellow"))
    head = f"{visible_line(test.name)}: {word} ({counted(verdict.events, 'line')})"
    lines = [head]
    if verdict.verdict not in (Verdict.HOLDS, Verdict.VIOLATED):
        lines.append(f"    {verdict.reason}")
    if grade.unlike is not None:
        lines += _finding_lines(grade, grade.unlike, "safe, but not as in", grade.unlike_rule)
    if (found := verdict.deviation) is not None:
        lines += _finding_lines(grade, found, "breaks", grade.broken)
        if verdict.diagnosis is not None:
            lines += [f"    {each}" for each in diagnosis_lines(verdict.diagnosis, found.line)]
    return visible("\n".join(lines))


def _finding_lines(grade: LabGrade, finding: Finding, verb: str, rule: str) -> list[str]:
    name = rule or "no rule by name: the spec does not allow this step"
    return [
        f"  {visible_line(grade.test.source)}:{finding.line}: {verb} {name}",
        f"    {visible_line(grade.test.lines.get(finding.line, ''))}",
        *(f"    {detail}" for detail in finding.details),
    ]


def summary_text(grades: Sequence[LabGrade]) -> str:
    """Return how many tests there are of each verdict, and how many lines were passed over."""
    count = {verdict: sum(each.verdict.verdict is verdict for each in grades) for verdict in Verdict}
    found = ", ".join(f"{number} {verdict}" for verdict, number in count.items() if number)
    others, late = sum(each.test.others for each in grades), sum(each.test.late for each in grades)
    passed = f"; passed over: {counted(others, 'line')} of other prints, {late} of servers that had been replaced"
    cut = [visible_line(each.test.source) for each in grades if each.test.is_cut]
    passed += "".join(f"\n{source} ends within a line, which is not graded" for source in cut)
    return f"{counted(len(grades), 'test')}: {found}{passed}"
