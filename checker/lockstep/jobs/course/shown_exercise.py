"""The steps of an exercise as a page shows them: all of them with their states, or the state before them alone."""

from __future__ import annotations

from dataclasses import replace

from lockstep.base.package_data import course_dir
from lockstep.base.scratch import scratch
from lockstep.base.verdict import Verdict
from lockstep.jobs.course.course_exercises import TRACE, FindBug, Predict, exercise_title
from lockstep.jobs.course.find_bug import write_flawed_trace
from lockstep.jobs.view.trace_view import view_trace
from lockstep.report.page.page_content import PageContext, Tree, page_content
from lockstep.report.page.shown_behaviour import ShownBehaviour

__all__ = ["shown_bug", "shown_prediction", "shown_state_before", "steps_of_prediction"]


def shown_prediction(name: str, exercise: Predict) -> Tree:
    """Return what a page shows of the steps that a student has predicted, with the state after each."""
    return page_content(*steps_of_prediction(name, exercise))


def shown_state_before(name: str, exercise: Predict) -> Tree:
    """Return what a page shows before the student has predicted: the initial state, and no step."""
    behaviour, context = steps_of_prediction(name, exercise)
    begin = replace(behaviour, steps=behaviour.steps[:1], count=0, remarks=())
    # The verdict on all steps would answer a question.
    return page_content(replace(begin, verdict=Verdict.HOLDS.value, reason="no step is taken yet"), context)


def steps_of_prediction(name: str, exercise: Predict) -> tuple[ShownBehaviour, PageContext]:
    """Return the steps of an exercise's trace, taken on the compiled spec."""
    behaviour, context = view_trace(course_dir() / name / TRACE, {}, whole=True)
    return replace(behaviour, title=exercise_title(name, exercise)), context


def shown_bug(name: str, exercise: FindBug) -> Tree:
    """Return what a page shows of the trace with the bug: all steps, up to the one that leaves the spec."""
    with scratch("bug-") as folder:
        behaviour, context = view_trace(write_flawed_trace(exercise, folder), {}, whole=True)
    return page_content(replace(behaviour, title=exercise_title(name, exercise)), context)
