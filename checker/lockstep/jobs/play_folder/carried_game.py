"""A game in a folder of its own, from which it is opened again where there is no Java: in a browser.

The folder has `game.json`, the trace, the scenario or the modules and the cfg of the user's own spec, and in `lockstep`
the compiled specs, where the loader finds them if the folder is `$XDG_CACHE_HOME`. So the browser opens the game by the
same functions as the command, of the same files.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import msgspec

from lockstep.jobs.play.opened_game import GameFiles
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_scenario import read_scenario
from lockstep.jobs.play.play_trace import spec_of_saved_traces
from lockstep.models.search_result import SpecFiles
from lockstep.tla.loading.load_spec import store_compiled
from lockstep.tla.loading.spec_project import module_texts
from lockstep.tla.spec import Spec

__all__ = ["carried_exercise", "carried_files", "carry_exercise", "carry_game"]


class _CarriedGame(msgspec.Struct, frozen=True, omit_defaults=True):
    """The files of a game by their names in its folder; or the name of an exercise whose answers are graded."""

    model: str = ""
    guard: str = ""
    exercise: str = ""
    trace: str = ""
    module: str = ""
    cfg: str = ""
    scenario: str = ""


#: The folders within that of a game, and its file.
_SPEC, _SCENARIO, _TRACE, _CACHE, _FILE = "spec", "scenario", "trace", "lockstep", "game.json"


def carry_game(files: GameFiles, game: Game, folder: Path) -> None:
    """Write a game into an empty folder.

    Arguments: `files` that it was opened from.
    Raises OSError where a file cannot be read or written.
    """
    carried = _CarriedGame(
        model=files.model,
        guard=files.guard,
        trace="" if files.trace is None else _copied(files.trace, folder / _TRACE),
        scenario="" if files.scenario is None else _copied(Path(files.scenario.source), folder / _SCENARIO),
    )
    if files.own is not None:
        carried = _with_own_spec(carried, files.own, folder / _SPEC)
    (folder / _FILE).write_bytes(msgspec.json.encode(carried))
    store_compiled(game.session.spec, folder / _CACHE)
    traced = spec_of_saved_traces(game)
    if traced is not None and traced is not game.session.spec:
        store_compiled(traced, folder / _CACHE)


def _copied(file: Path, folder: Path) -> str:
    """Copy a file into a folder, and return its name."""
    folder.mkdir()
    shutil.copyfile(file, folder / file.name)
    return file.name


def _with_own_spec(carried: _CarriedGame, own: SpecFiles, folder: Path) -> _CarriedGame:
    """Write the modules and the cfg of a spec into a folder, all side by side."""
    folder.mkdir()
    for name, text in module_texts(own.module, own.library).items():
        (folder / f"{name}.tla").write_text(text, encoding="utf-8", newline="")
    shutil.copyfile(own.cfg, folder / own.cfg.name)
    return msgspec.structs.replace(carried, module=own.module.name, cfg=own.cfg.name)


def carry_exercise(name: str, specs: Iterable[Spec], folder: Path) -> None:
    """Write the name of an exercise, and the specs that it is graded by, into an empty folder; raises OSError."""
    (folder / _FILE).write_bytes(msgspec.json.encode(_CarriedGame(exercise=name)))
    for spec in specs:
        store_compiled(spec, folder / _CACHE)


def carried_exercise(folder: Path) -> str:
    """Return the name of the exercise that carry_exercise wrote; "" where the folder has a game."""
    return _carried(folder).exercise


def _carried(folder: Path) -> _CarriedGame:
    return msgspec.json.decode((folder / _FILE).read_bytes(), type=_CarriedGame)


def carried_files(folder: Path) -> GameFiles:
    """Return what a game that carry_game wrote is opened from."""
    carried = _carried(folder)
    files = GameFiles(model=carried.model, guard=carried.guard)
    if carried.trace:
        files = replace(files, trace=folder / _TRACE / carried.trace)
    if carried.module:
        own = SpecFiles(folder / _SPEC / carried.module, folder / _SPEC / carried.cfg)
        files = replace(files, own=own)
    if carried.scenario:
        files = replace(files, scenario=read_scenario(folder / _SCENARIO / carried.scenario))
    return files
