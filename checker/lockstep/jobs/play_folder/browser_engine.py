"""Answers the requests of a page within the browser, where Python runs as WebAssembly."""

from __future__ import annotations

import json
import os
import traceback
from dataclasses import replace
from pathlib import Path

from lockstep.jobs.course.course_exercises import WriteGuard, load_exercise
from lockstep.jobs.play.opened_game import first_state, open_game
from lockstep.jobs.play.page_requests import BadRequestError, RefusedError, RequestHandler, error_tree
from lockstep.jobs.play_folder.carried_game import carried_exercise, carried_files
from lockstep.jobs.play_folder.exercise_requests import ExerciseRequests
from lockstep.report.page.page_content import Tree

__all__ = ["BrowserEngine", "open_engine"]


class BrowserEngine:
    """The session of a page."""

    def __init__(self, requests: RequestHandler | ExerciseRequests) -> None:
        """Answer requests as the server of `lockstep play` does, or grade answers."""
        self._requests = requests

    def ask(self, body: str) -> str:
        """Return the answer to a request as JSON: whether it was fulfilled, and the tree, or that of the reason."""
        is_ok, tree = self._answer(body)
        return json.dumps({"ok": is_ok, "tree": tree}, separators=(",", ":"))

    def _answer(self, body: str) -> tuple[bool, Tree]:
        try:
            return True, self._requests.handle(body.encode())
        except BadRequestError as error:
            return False, error_tree(str(error))
        except RefusedError as error:
            return False, error_tree(str(error), error.lines)
        except Exception:
            traceback.print_exc()
            return False, error_tree("internal error")


def open_engine(folder: str) -> BrowserEngine:
    """Open the game or the exercise that lies in a folder; see :mod:`lockstep.jobs.play_folder.carried_game`."""
    os.environ["XDG_CACHE_HOME"] = folder
    name = carried_exercise(Path(folder))
    if name:
        exercise = load_exercise(name)
        assert not isinstance(exercise, WriteGuard), "a guard is played"
        return BrowserEngine(ExerciseRequests(name, exercise))
    files = carried_files(Path(folder))
    # Without Java and processes no expression can be parsed or evaluated: watching is refused with that reason.
    game = replace(open_game(files), source=None)
    return BrowserEngine(RequestHandler(game, first_state(game, files.scenario)))
