"""Grading the answers to an exercise whose questions stand in an answer.toml."""

from __future__ import annotations

from lockstep.jobs.course.course_exercises import FindBug, Predict
from lockstep.jobs.course.find_bug import EXPRESSION, METHOD, grade_correction
from lockstep.jobs.course.predict_steps import grade_predictions
from lockstep.jobs.course.student_answers import Grade, StudentAnswers

__all__ = ["answer_names", "grade_answers"]


def answer_names(exercise: Predict | FindBug) -> list[str]:
    """Return the names of the questions of an exercise."""
    if isinstance(exercise, Predict):
        return [each.name for each in exercise.questions]
    return [METHOD, EXPRESSION]


def grade_answers(name: str, exercise: Predict | FindBug, answers: StudentAnswers, show_solution: bool) -> Grade:
    """Grade the answers to an exercise of this name; arguments and errors as of the functions for each kind."""
    if isinstance(exercise, Predict):
        return grade_predictions(name, exercise, answers, show_solution)
    return grade_correction(exercise, answers, show_solution)
