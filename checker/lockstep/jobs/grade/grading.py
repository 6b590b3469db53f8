"""The grade of a test of a lab: a verdict, the rule that is broken, and where a rule is kept in another way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lockstep.base.progress import Say, silent
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.jobs.grade.lab import Lab
from lockstep.jobs.grade.lab_lines import LabTest
from lockstep.jobs.view.answer import diagnose
from lockstep.jobs.view.trace_view import view_own_logs
from lockstep.report.page.page_content import PageContext
from lockstep.report.page.shown_behaviour import ShownBehaviour
from lockstep.systems.file_check import OwnTraceCheck, own_check


@dataclass(frozen=True, slots=True)
class LabGrade:
    """The grade of one test.

    `broken` is the rule that the verdict's finding breaks; `unlike` is the first line at which a server does what is
    safe, and is not what the rules say, with the rule `unlike_rule`.
    """

    test: LabTest
    verdict: TraceVerdict
    broken: str = ""
    unlike: Finding | None = None
    unlike_rule: str = ""


class LabGrader:
    """Grader of tests of a lab."""

    def __init__(self, lab: Lab, say: Say = silent) -> None:
        self.lab, self.say = lab, say
        self._safe: OwnTraceCheck = own_check(lab.files(literal=False))
        self._literal: OwnTraceCheck = own_check(lab.files(literal=True))

    def grades(self, tests: Sequence[LabTest], diagnosed: int) -> Iterator[LabGrade]:
        """Yield the grades of tests, the first `diagnosed` of those that break a rule with its cause."""
        for number, test in enumerate(tests, 1):
            self.say(f"{test.source}: test {number} of {len(tests)}, {test.name}")
            grade = self.grade(test, is_diagnosed=diagnosed > 0)
            diagnosed -= grade.verdict.deviation is not None
            yield grade

    def grade(self, test: LabTest, *, is_diagnosed: bool = False) -> LabGrade:
        """Return the grade of a test."""
        if not test.lines:
            return LabGrade(test, TraceVerdict(test.source, Verdict.INCONCLUSIVE, "no server printed a line"))
        with scratch("lab") as folder:
            path = folder / Path(test.source).name
            test.write(path)
            found = self._literal.check_steps(path)
            literal = found.deviation
            if literal is not None:  # what is as the rules say is safe
                found = self._safe.check_steps(path)
            if is_diagnosed:
                diagnose(found, path, self._safe.diagnosis, self.say)
            _rename(found, str(path), test.source)
        deviation = found.deviation
        if literal is not None and deviation is not None and literal.line >= deviation.line:
            literal = None
        rules = ["" if each is None else self.lab.rule(each) for each in (deviation, literal)]
        return LabGrade(test, found, rules[0], literal, rules[1])

    def page(self, grade: LabGrade, *, diagnoses: bool = True) -> tuple[ShownBehaviour, PageContext]:
        """Return what the page of a test shows, with the diagnosis of its grade; raises as view_own_logs does.

        Arguments: `diagnoses`, whether to look for the cause of what is safe, which a grade does not have.
        """
        with scratch("lab") as folder:
            path = folder / Path(grade.test.source).name
            grade.test.write(path)
            is_safe = grade.verdict.deviation is not None or grade.unlike is None
            files, known = self.lab.files(literal=not is_safe), grade.verdict.diagnosis if is_safe else None
            return view_own_logs([path], files, self.say, diagnoses=diagnoses and not is_safe, diagnosed=known)


def shown_grade(grades: Sequence[LabGrade]) -> LabGrade | None:
    """Return the grade that a page is of: the first that breaks a rule, or is unlike one, or has a line; or None."""
    broken = (each for each in grades if each.verdict.deviation is not None)
    unlike = (each for each in grades if each.unlike is not None)
    graded = (each for each in grades if each.test.lines)
    return next(broken, None) or next(unlike, None) or next(graded, None)


def _rename(verdict: TraceVerdict, path: str, source: str) -> None:
    """Name in a verdict the file of the student in place of ours."""
    verdict.source = source
    verdict.reason = verdict.reason.replace(path, source)
    verdict.notes = [note.replace(path, source) for note in verdict.notes]
