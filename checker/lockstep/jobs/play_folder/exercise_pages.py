"""The pages of the course's exercises: a form that is graded in the page, or a guard that is left open and played."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

from lockstep.base.package_data import course_dir
from lockstep.base.text_files import text_of
from lockstep.jobs.course.answer_form import asked
from lockstep.jobs.course.course_exercises import (
    ANSWER,
    Exercise,
    FindBug,
    Predict,
    WriteGuard,
    exercise_title,
    load_exercise,
)
from lockstep.jobs.course.find_bug import cluster_specs
from lockstep.jobs.course.predict_steps import answer_kind, run_exercise
from lockstep.jobs.course.shown_exercise import shown_bug, shown_state_before, steps_of_prediction
from lockstep.jobs.course.write_guard import guard_files
from lockstep.jobs.play.opened_game import GameFiles, open_game
from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play_folder.carried_game import carry_exercise
from lockstep.jobs.play_folder.chapter_pages import chapter_link, chapter_title, exercise_link
from lockstep.jobs.play_folder.levels import level_tree, shortest_level
from lockstep.jobs.play_folder.write_folder import CoursePage, Page, engine_tree, game_engine
from lockstep.report.page.build_page import build_folder_page
from lockstep.report.page.page_content import Tree
from lockstep.tla.values.kinds import format_value

__all__ = ["exercise_page"]

#: An argument whose text is longer stands in a line of its own.
_MAX_SHORT = 60

_PREDICT = (
    "These steps are taken, one after the other. Predict what comes of them: each question is about the state after "
    "one of the events, or about all of them. The states are shown once all your answers are right."
)
_FIND = (
    "A cluster ran with a wrong expression in one method of this module. Its trace is below, up to the step that "
    "leaves the spec, with what `lockstep check` finds there. The module as it stands here is the right one: which of "
    "its methods, with one expression changed, would do this?"
)
_GUARD = (
    "The module leaves a rule open, and is played here as it stands. Take steps until the promise is broken: which "
    "step should the rule have forbidden? Then write that rule in place of TRUE. It is TLA+, which only a program in "
    "Java parses, so no page can grade it. With lockstep installed, the first command writes the files, and the second "
    "grades them."
)


def exercise_page(name: str, scripts: Sequence[str]) -> Page:
    """Return the page of an exercise.

    Arguments: the names of the folder's `scripts`.
    Raises UnknownExerciseError where there is no such exercise, and as page_of does.
    """
    exercise = load_exercise(name)
    if isinstance(exercise, WriteGuard):
        return _guard_page(name, exercise, scripts)
    if isinstance(exercise, Predict):
        shown = shown_state_before(name, exercise)
        specs, tree = [run_exercise(name).spec], _prediction(name, exercise)
    else:
        shown = shown_bug(name, exercise)
        specs, tree = list(cluster_specs(exercise)), _bug(name, exercise)
    engine = engine_tree(lambda folder: carry_exercise(name, specs, folder), {}, scripts)
    return _page(name, exercise, build_folder_page(shown, engine, exercise=tree))


def _page(name: str, exercise: Exercise, text: str, par: int = 0) -> Page:
    listed = CoursePage(name, exercise.title, chapter_title(exercise.page), chapter_link(exercise.page), par)
    return Page(exercise_link(name), exercise_title(name, exercise), exercise=listed, text=text)


def _tree(name: str, exercise: Exercise, about: str, commands: Sequence[str] = ()) -> Tree:
    """Return what `exercise.js` reads, without questions, steps and files."""
    return {
        "name": name,
        "about": [about],
        "commands": list(commands),
        "chapter": {"title": chapter_title(exercise.page), "file": chapter_link(exercise.page)},
        "questions": [],
        "events": [],
        "files": [],
        "showsBefore": True,
    }


# ---- Predictions ----


def _prediction(name: str, exercise: Predict) -> Tree:
    run, texts = run_exercise(name), asked(text_of(course_dir() / name / ANSWER))
    return {
        **_tree(name, exercise, _PREDICT),
        "questions": [
            {"name": each.name, "text": texts[each.name], "kind": answer_kind(run, each)} for each in exercise.questions
        ],
        "events": list(_events(name, exercise)),
        # A picture of the beginning would answer a question on it.
        "showsBefore": not any(each.after < 0 and each.field for each in exercise.questions),
    }


def _events(name: str, exercise: Predict) -> Iterator[Tree]:
    """Yield the steps of the trace with their arguments, and without what they lead to."""
    behaviour, context = steps_of_prediction(name, exercise)
    for event, step in enumerate(behaviour.steps[1:]):
        who = context.spec.actions[step.action].params[0]
        texts = [(arg, format_value(value)) for arg, value in step.args.items() if arg != who]
        yield {
            "event": event,
            "line": step.line,
            "node": step.node,
            "action": step.action,
            "args": [[arg, text, len(text) > _MAX_SHORT] for arg, text in texts],
        }


# ---- Bugs ----


def _bug(name: str, exercise: FindBug) -> Tree:
    texts = asked(text_of(course_dir() / name / ANSWER))
    return {
        **_tree(name, exercise, _FIND),
        "questions": [{"name": each, "text": text, "kind": ""} for each, text in texts.items()],
        "files": [[f"reference/{exercise.module.replace('.', '/')}.py", _source(exercise.module)]],
    }


def _source(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return text_of(Path(spec.origin))


# ---- Guards ----


def _guard_page(name: str, exercise: WriteGuard, scripts: Sequence[str]) -> Page:
    """Return the page on which the model of a guard that is left open is played, with a level's goal."""
    files = GameFiles(guard=name)
    game = open_game(files)
    (promise,) = game.session.spec.invariants
    level = shortest_level(game, exercise.title, promise)
    module, cfg, _ = guard_files(name, exercise)
    commands = (f"lockstep course start {name} mine", f"lockstep course check {name} mine")
    tree = {
        **_tree(name, exercise, _GUARD, commands),
        "files": [[path.name, text_of(path)] for path in (module, cfg)],
    }
    shown = RequestHandler(game, game.begin).page()
    text = build_folder_page(shown, game_engine(files, game, game.begin, scripts), level_tree(level), tree)
    return _page(name, exercise, text, level.par)
