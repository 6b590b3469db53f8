"""lockstep course."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from lockstep.base.command_group import CommandGroup

if TYPE_CHECKING:
    from lockstep.jobs.course.course_exercises import Exercise
    from lockstep.jobs.course.student_answers import Grade


def _names(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
    from lockstep.jobs.course.course_exercises import exercise_names

    return [name for name in exercise_names() if name.startswith(begun)]


@click.group(cls=CommandGroup)
def command() -> None:
    """Learn how a replicated log works and fails, with exercises that are graded.

    The pages are docs/course/README.md and those that it names.

    \b
    lockstep course list                 name the exercises
    lockstep course start 1 mine         copy the files of exercise 1 into the folder `mine`
    lockstep course check 1 mine         grade what you wrote there
    """


@command.command("list")
def list_() -> int:
    """Name the exercises, and the page that each belongs to."""
    from lockstep.jobs.course.course_exercises import exercise_names, load_exercise

    for name in exercise_names():
        exercise = load_exercise(name)
        click.echo(f"{name:8} {exercise.title} ({exercise.page})")
    return 0


@command.command()
@click.argument("name", metavar="N", shell_complete=_names)
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False), default=Path())
def start(name: str, folder: Path) -> int:
    """Copy the files of exercise N into FOLDER (default: where you are). Nothing is overwritten."""
    from lockstep.jobs.course.course_exercises import FindBug, copy_files, load_exercise

    exercise = load_exercise(name)
    files = copy_files(name, folder)
    if isinstance(exercise, FindBug):
        from lockstep.jobs.course.find_bug import write_flawed_trace

        files.append(write_flawed_trace(exercise, folder))
    for path in files:
        click.echo(path)
    click.echo(f"fill in {folder / exercise.file}, then run: lockstep course check {name} {folder / exercise.file}")
    return 0


@command.command()
@click.argument("name", metavar="N", shell_complete=_names)
@click.argument("file", type=click.Path(path_type=Path, exists=True), required=False)
@click.option("--solution", is_flag=True, help="Print the solution, too. Try by yourself first.")
def check(name: str, file: Path | None, solution: bool) -> int:
    """Grade exercise N: your FILE, or the file of that exercise in a folder (default: where you are).

    Predictions are compared with the compiled spec, which takes the steps. Your correction of a bug is planted in the
    reference, and its clusters are checked. Your guard is explored with the spec that it belongs to. Only TLA+ and one
    expression of Python are run, and the expression may use only names that the method has already.

    Exit codes: 0 solved; 1 not yet, with a hint; 2 wrong usage, or an answer that cannot be read; 3 a tool is missing;
    4 an internal error.
    """
    from lockstep.jobs.course.course_exercises import load_exercise

    exercise = load_exercise(name)
    path = exercise.file if file is None else file / exercise.file if file.is_dir() else file
    if not Path(path).is_file():
        raise click.UsageError(f"there is no {path}: run `lockstep course start {name}` first, or name the file")
    grade = _grade(name, exercise, Path(path), solution)
    for line in grade.lines:
        click.echo(line)
    click.echo(f"exercise {name}: {'solved' if grade.solved else 'not yet'}")
    return 0 if grade.solved else 1


def _grade(name: str, exercise: Exercise, path: Path, show_solution: bool) -> Grade:
    from lockstep.jobs.course.course_exercises import WriteGuard
    from lockstep.jobs.course.grade_answers import answer_names, grade_answers
    from lockstep.jobs.course.student_answers import read_answers
    from lockstep.jobs.course.write_guard import grade_guard

    if isinstance(exercise, WriteGuard):
        return grade_guard(name, exercise, path)
    return grade_answers(name, exercise, read_answers(path, answer_names(exercise)), show_solution)
