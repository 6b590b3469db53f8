"""The exercises of the course for tests: their names by kind, the files of each, and the command that grades it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from lockstep.base.package_data import course_dir
from lockstep.cli.command_line import cli
from lockstep.jobs.course.course_exercises import FindBug, Predict, WriteGuard, exercise_names, load_exercise
from tests.support.places import ROOT

COURSE = ROOT / "docs" / "course"
SOLUTIONS = COURSE / "solutions"
CHAPTERS = sorted(COURSE.glob("[0-9]_*.md"))

PREDICTIONS = [name for name in exercise_names() if isinstance(load_exercise(name), Predict)]
BUGS = [name for name in exercise_names() if isinstance(load_exercise(name), FindBug)]
GUARDS = [name for name in exercise_names() if name not in PREDICTIONS + BUGS]


def ran(*args: str | Path) -> tuple[int, str]:
    """Run a command; return its exit code, and what it prints."""
    result = CliRunner().invoke(cli, [str(arg) for arg in args], standalone_mode=False)
    if result.exception is not None:
        raise result.exception
    return result.return_value or 0, result.stdout


def solution(name: str) -> Path:
    """Return the file of our own answers."""
    exercise = load_exercise(name)
    return SOLUTIONS / (exercise.file if isinstance(exercise, WriteGuard) else f"{name}.toml")


def template(name: str) -> Path:
    """Return the file that a student fills in."""
    return course_dir() / name / load_exercise(name).file


def graded_exercise(name: str) -> Predict | FindBug:
    """Return an exercise whose questions stand in an answer.toml."""
    exercise = load_exercise(name)
    assert not isinstance(exercise, WriteGuard)
    return exercise


def right_fields(name: str) -> dict[str, str]:
    """Return our answers as a student types them into a form: a word without quotes."""
    values = tomllib.loads(solution(name).read_text(encoding="utf-8"))
    return {question: value if isinstance(value, str) else toml(value) for question, value in values.items()}


def toml(value: Any) -> str:
    """Return a value as TOML writes it."""
    if isinstance(value, list):
        return f"[{', '.join(map(toml, value))}]"
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {toml(each)}' for key, each in value.items())} }}"
    return str(value).lower() if isinstance(value, bool) else str(value) if isinstance(value, int) else f'"{value}"'
