"""The exercises of the course, as their folders describe them.

Each folder has an `exercise.toml` for the grader, and beside it the files that a student gets.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.package_data import course_dir
from lockstep.base.spelling import did_you_mean

#: The description for the grader; students do not get it.
DESCRIPTION = "exercise.toml"

#: The trace of an exercise, and the file that its answers go into.
TRACE, ANSWER = "steps.trace.ndjson", "answer.toml"


class UnknownExerciseError(BadInputError):
    """There is no exercise of that name; the message lists the names."""


class Mistake(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A common wrong answer, and what it overlooks."""

    answer: Any
    says: str


class TraceQuestion(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A question about the steps of a trace.

    After the event `after` (-1: at the beginning) it asks for `field`, which `node` shows, or whether `node` may take
    `action` with `args`. Or it asks for the first event of all that violates `property` ("never": none).
    """

    name: str
    hint: str
    after: int = -1
    node: str = ""
    field: str = ""
    action: str = ""
    args: dict[str, Any] = {}
    property: str = ""
    mistakes: tuple[Mistake, ...] = ()


class _Described(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    title: str
    page: str


class Predict(_Described, frozen=True, tag="predict"):
    """Predict what nodes show after some of the steps of a trace."""

    questions: tuple[TraceQuestion, ...] = msgspec.field(name="question")

    @property
    def file(self) -> str:
        """The file that the student fills in."""
        return ANSWER


class ExerciseCluster(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The plan and the seed of a simulated cluster."""

    plan: str
    seed: int

    def __str__(self) -> str:
        """Return both as a grade names them."""
        return f"{self.plan}, seed {self.seed}"


class FindBug(_Described, frozen=True, tag="find", kw_only=True):
    """Find the expression of a reference that was changed, and mend it.

    In `method` of `module` the expression `changed` stands in place of `expression`. The student gets the trace of the
    first of the `clusters`, which have `events` events each; all of them must conform to the spec once it is mended.
    `hints` are for wrong methods, by name, and `hint` is for any other.
    """

    module: str
    method: str
    expression: str
    changed: str
    clusters: tuple[ExerciseCluster, ...]
    events: int
    hint: str
    hints: dict[str, str] = {}

    @property
    def file(self) -> str:
        """The file that the student fills in."""
        return ANSWER


class WriteGuard(_Described, frozen=True, tag="guard", kw_only=True):
    """Write the guard that a module leaves open.

    `module` names the file, and its cfg beside it; it may extend modules below `library`, a folder of spec/. In some
    state `witness` must be true: the hint for a guard that forbids too much is `too_strict`, for one that forbids too
    little `hint`. `rule` is the intended guard. Both are compared in all states of this model, and of another one whose
    cfg has the lines of `other_model` in place of those that begin with the same word. Where they differ, the fields
    `shows` of each node are printed.
    """

    module: str
    library: str
    witness: str
    hint: str
    too_strict: str
    rule: str
    other_model: tuple[str, ...]
    shows: tuple[str, ...]

    @property
    def file(self) -> str:
        """The file that the student fills in."""
        return f"{self.module}.tla"


Exercise: TypeAlias = Predict | FindBug | WriteGuard


def exercise_names() -> list[str]:
    """Return the names of the exercises in the order of the course."""
    return sorted((each.parent.name for each in course_dir().glob(f"*/{DESCRIPTION}")), key=_place)


def _place(name: str) -> tuple[int, str]:
    number = re.match(r"\d+", name)
    return (int(number[0]) if number else 0, name)


def exercise_title(name: str, exercise: Exercise) -> str:
    """Return the heading of an exercise's page."""
    return f"Exercise {name}: {exercise.title}"


def load_exercise(name: str) -> Exercise:
    """Return the exercise of a name; raises UnknownExerciseError where there is none."""
    known = exercise_names()
    if name not in known:
        near = did_you_mean(name, known)
        raise UnknownExerciseError(f"there is no exercise {name!r}{near}; there are {', '.join(known)}")
    text = (course_dir() / name / DESCRIPTION).read_bytes()
    found: Exercise = msgspec.toml.decode(text, type=Exercise)
    return found


def student_files(name: str) -> Iterator[Path]:
    """Yield the files that a student gets."""
    for path in sorted((course_dir() / name).iterdir()):
        if path.is_file() and path.name != DESCRIPTION:
            yield path


def copy_files(name: str, folder: Path) -> list[Path]:
    """Copy the files of an exercise into a folder, which is created if missing; return the copies.

    Raises BadInputError, and copies nothing, if one of them exists already.
    """
    targets = [folder / each.name for each in student_files(name)]
    refuse_overwriting(targets)
    folder.mkdir(parents=True, exist_ok=True)
    for source, target in zip(student_files(name), targets, strict=True):
        shutil.copyfile(source, target)
    return targets


def refuse_overwriting(targets: list[Path]) -> None:
    """Raise BadInputError if one of the files exists."""
    for target in targets:
        if target.exists():
            raise BadInputError(f"{target} is there already: remove it, or start the exercise in another folder")
