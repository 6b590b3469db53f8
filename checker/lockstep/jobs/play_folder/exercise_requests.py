"""Grades the answers of a page's form, as `lockstep course check` grades the same answer.toml."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.package_data import course_dir
from lockstep.base.text_files import text_of
from lockstep.jobs.course.answer_form import filled
from lockstep.jobs.course.course_exercises import ANSWER, FindBug, Predict
from lockstep.jobs.course.grade_answers import answer_names, grade_answers
from lockstep.jobs.course.shown_exercise import shown_prediction
from lockstep.jobs.course.student_answers import parse_answers
from lockstep.jobs.play.page_requests import RefusedError, decoded
from lockstep.report.page.page_content import Tree

__all__ = ["ExerciseRequests"]

_Field: TypeAlias = Annotated[str, msgspec.Meta(max_length=2_000)]


class GradeForm(msgspec.Struct, tag="grade", forbid_unknown_fields=True, frozen=True):
    """Grade the fields of the form, by the names of the questions; `solution`, also show the solution."""

    fields: Annotated[dict[_Field, _Field], msgspec.Meta(max_length=50)]
    solution: bool = False


class ExerciseRequests:
    """Handles the requests of the page of an exercise whose questions stand in an answer.toml."""

    def __init__(self, name: str, exercise: Predict | FindBug) -> None:
        """Grade the answers to the exercise of this name."""
        self._name, self._exercise = name, exercise
        self._template = text_of(course_dir() / name / ANSWER)

    def handle(self, body: bytes) -> Tree:
        """Return the grade of a form: whether the exercise is `solved`, the `lines` of the grade, and then its `steps`.

        The steps with the states after them are those that were to be predicted; None before, and where there are none.
        Raises BadRequestError where the request is malformed, RefusedError where an answer cannot be graded.
        """
        request: GradeForm = decoded(body, GradeForm)
        text, problems = filled(self._template, request.fields, as_text=isinstance(self._exercise, FindBug))
        try:
            answers = parse_answers(None, text, answer_names(self._exercise))
            grade = grade_answers(self._name, self._exercise, answers, request.solution)
        except BadInputError as error:
            raise RefusedError(str(error)) from error
        steps = None
        if grade.solved and isinstance(self._exercise, Predict):
            steps = shown_prediction(self._name, self._exercise)
        return {"solved": grade.solved, "lines": [*problems, *grade.lines], "steps": steps}
