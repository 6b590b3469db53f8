"""The answers of a student: a TOML file with a value for each question, and "?" where there is none yet."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.base.text_files import text_of

#: An answer that is not given yet.
OPEN = "?"

#: The remark on such an answer.
UNANSWERED = "not answered yet"

_AT = re.compile(r" \(at line (\d+), column \d+\)$")


class AnswerError(BadInputError):
    """An answer that cannot be graded; the message names file, line and field."""


@dataclass(frozen=True, slots=True)
class StudentAnswers:
    """The answers in a file, and the line of each; or those of a form, without a `path`."""

    path: Path | None
    values: Mapping[str, Any]
    lines: Mapping[str, int]

    def malformed(self, name: str, problem: str) -> AnswerError:
        """Return the error for a malformed answer."""
        place = self.place(name)
        return AnswerError(f"{place}{': ' if place else ''}field `{name}`: {problem}")

    def place(self, name: str) -> str:
        """Return the file and line of an answer; "" where the answers are those of a form."""
        return "" if self.path is None else f"{self.path}:{self.lines.get(name, 1)}"


def read_answers(path: Path, names: Sequence[str]) -> StudentAnswers:
    """Read the answers to questions of these names.

    Raises AnswerError where the file is not TOML, has other fields, or lacks one; NotUtf8Error and OSError where it
    cannot be read.
    """
    return parse_answers(path, text_of(path), names)


def parse_answers(path: Path | None, text: str, names: Sequence[str]) -> StudentAnswers:
    """Return the answers in a text, that of a file or, without a `path`, of a form; raises as read_answers does."""
    try:
        values = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a ValueError of an integer with thousands of digits, too
        at = _AT.search(str(error))
        line = int(at[1]) if at else len(text.splitlines()) or 1
        raise AnswerError(f"{path}:{line}: no TOML: {toml_problem(error)}") from error
    answers = StudentAnswers(path, values, {name: _line_of(name, text) for name in values})
    for name in values:
        if name not in names:
            near = did_you_mean(name, names) or f"; there are {', '.join(names)}"
            raise answers.malformed(name, f"the exercise has no such question{near}")
    for name in names:
        if name not in values:
            raise answers.malformed(name, 'missing; write "?" if you do not know yet')
    return answers


def toml_problem(error: Exception) -> str:
    """Return what is wrong with a text that is no TOML, without the place."""
    return _AT.sub("", str(error))


def _line_of(name: str, text: str) -> int:
    key = re.compile(rf'\s*\[*\s*(["\']?){re.escape(name)}\1\s*[\].=]')
    return next((number for number, line in enumerate(text.splitlines(), 1) if key.match(line)), 1)


def is_plain(value: Any) -> bool:
    """Return whether a value is one that specs have: integers of 32 bits, texts, true and false, nested."""
    if isinstance(value, list):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return isinstance(value, bool | str) or (isinstance(value, int) and abs(value) < 2**31)


@dataclass(frozen=True, slots=True)
class Grade:
    """The grade of an exercise: whether it is solved, and lines that explain it."""

    solved: bool
    lines: tuple[str, ...]
