"""lockstep grade."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.terminal import fit_to_terminal
from lockstep.cli.options import diagnosis_option, progress, progress_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockstep.jobs.grade.grading import LabGrade, LabGrader


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--lab", is_flag=True, required=True, help="Grade a Raft written for labs 3A to 3C of MIT 6.5840.")
@click.option(
    "--page",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Also write a page for stepping through the first test that breaks a rule.",
)
@diagnosis_option(
    "For the first test that breaks a rule, name the expression of the spec that, changed, would accept it. Takes up "
    "to 20 seconds."
)
def command(files: tuple[Path, ...], lab: bool, page: Path | None, diagnoses: bool) -> int:
    """Grade your own Raft by Figure 2 of the Raft paper.

    Your program prints a line for each thing that a server does, with the state in which it leaves the server:

    \b
    000412 STEP S1.2 follower T3 vote=0 last=5:2 commit=4 vote from=0 term=3 last=5:2 reply=3 granted=true

    docs/lab.md has these lines, and the function of Go that prints them. FILE is the output of `go test`, with one
    test or several; lines of other prints are passed over, and counted.

    Each test gets a verdict. It is violated at the first line that Figure 2 does not allow. The rule that is broken is
    named as it is there ("Rules for Servers, Leaders 4"), with the false condition and the values of both sides.
    A server may also do what is safe, though Figure 2 has it otherwise, such as to refuse a vote that it could give:
    that is named, too, and changes no verdict. So a test that fails may still hold, for example if nothing happens in
    it.

    \b
    go test -run 3A > out.log
    lockstep grade --lab out.log
    lockstep grade --lab --page out.html out.log

    Exit codes: 0 every test holds; 1 a rule is broken; 2 a malformed line, an unreadable file or wrong usage; 3 a test
    has no line of a server; 4 an internal error.
    """
    from lockstep.base.verdict import worst
    from lockstep.jobs.grade.grade_text import grade_text, summary_text
    from lockstep.jobs.grade.grading import LabGrader
    from lockstep.jobs.grade.lab import load_lab
    from lockstep.jobs.grade.lab_lines import lab_tests
    from lockstep.systems.trace_files import refuse_overwriting

    refuse_overwriting(page, files, "page")
    chosen = load_lab()
    tests = [test for path in files for test in lab_tests(path, chosen)]
    if not tests:
        click.echo("inconclusive: the files have no line", err=True)
        return 3
    grader = LabGrader(chosen, progress)
    grades: list[LabGrade] = []
    for grade in grader.grades(tests, 1 if diagnoses else 0):
        progress_end()
        click.echo(fit_to_terminal(grade_text(grade, colour=True), sys.stdout))
        grades.append(grade)
    click.echo(f"\n{summary_text(grades)}")
    if page is not None:
        _write_page(page, grader, grades, diagnoses=diagnoses)
    return worst([grade.verdict.verdict for grade in grades]).exit_code


def _write_page(page: Path, grader: LabGrader, grades: Sequence[LabGrade], *, diagnoses: bool) -> None:
    from lockstep.base.whole_files import writing_whole
    from lockstep.jobs.grade.grading import shown_grade
    from lockstep.report.page.build_page import build_page
    from lockstep.report.page.page_content import fit_to_page

    grade = shown_grade(grades)
    if grade is None:
        click.echo("no page: no server printed a line", err=True)
        return
    try:
        behaviour, context = grader.page(grade, diagnoses=diagnoses)
        shown, tree = fit_to_page(behaviour, context)
        text = build_page(tree).encode()
    finally:
        progress_end()
    with writing_whole(page) as file:
        file.write(text)
    click.echo(f"{page}: {len(shown.steps):,} of {shown.count + 1:,} states of {grade.test.name}")
