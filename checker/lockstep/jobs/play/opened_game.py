"""Opening a game: a model, an open guard of the course, a trace, the user's own spec, or a scenario of one of these."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lockstep.base.progress import Say, silent
from lockstep.jobs.play.play_game import Game, play_guard, play_header, play_model, play_own_spec, play_trace
from lockstep.jobs.play.play_scenario import Scenario, play
from lockstep.models.search_result import SpecFiles

__all__ = ["GameFiles", "first_state", "open_game"]


@dataclass(frozen=True, slots=True)
class GameFiles:
    """The files that a game is opened from, and the scenario whose steps it starts with.

    `guard` is the exercise whose guard is left open. With none of `model`, `trace`, `own` and `guard`, the scenario
    names what is played: a model, or the header of a trace. `jar` is the tla2tools.
    """

    model: str = ""
    guard: str = ""
    trace: Path | None = None
    own: SpecFiles | None = None
    scenario: Scenario | None = None
    jar: Path | None = None


def open_game(files: GameFiles, say: Say = silent) -> Game:
    """Open a game; the steps of its scenario are not taken yet.

    Arguments: `say`, called with the number of events of a trace that were taken.
    Raises as play_model, play_guard, play_trace, play_own_spec and play_header do.
    """
    if files.own is not None:
        return play_own_spec(files.own)
    if files.trace is not None:
        return play_trace(files.trace, files.jar, say)
    if files.guard:
        return play_guard(files.guard, files.jar)
    if files.model:
        return play_model(files.model, files.jar)
    assert files.scenario is not None
    start, source = files.scenario.start, files.scenario.source
    if start.trace is not None:
        return play_header(start.trace, source, Path(source).name.partition(".")[0], files.jar)
    return play_model(start.model, files.jar)


def first_state(game: Game, scenario: Scenario | None) -> int:
    """Return the number of the state that the page shows first: the last of the trace, or of the scenario's steps.

    Raises as :func:`lockstep.jobs.play.play_scenario.play` does.
    """
    return game.begin if scenario is None else play(game, scenario).number
