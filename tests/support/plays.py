"""Sessions for tests: those of a flawed model, of a spec with many ways, and of the lock service of the docs."""

from __future__ import annotations

import functools
from pathlib import Path

from lockstep.jobs.play.game import Game, of_model, of_own
from lockstep.jobs.play.session import Visit
from lockstep.systems.models import model_named
from lockstep.tla.explore import Step, explore
from lockstep.tla.loading.load import load_spec
from places import ROOT, SPECS

#: A model of a flaw, and what it violates in its last step.
FLAWED, VIOLATED, STEPS = "late_truncate_bug", "CommittedEntriesStayProp", 15

LOCK_SERVICE = ROOT / "docs" / "lock_service" / "LockService.tla"


@functools.cache
def counterexample(name: str = FLAWED) -> tuple[Step, ...]:
    """The steps of the counterexample that a search finds, without the initial state."""
    manifest, model = model_named(name)
    found = explore(load_spec(*manifest.files(model), search_path=manifest.library), check_deadlock=model.deadlock)
    assert found.violation is not None
    return tuple(found.violation.trace[1:])


def walked(game: Game, steps: tuple[Step, ...]) -> Visit:
    """The last state after some steps of a search were taken in a session, one by one."""
    at = game.session.visit(0)
    for step in steps:
        assert step.action is not None
        at = game.session.take(at.number, game.session.asked(at.number, step.action, step.args))
    return at


def flawed() -> Game:
    return of_model(FLAWED)


def ways() -> Game:
    return of_own(SPECS / "play" / "Ways.tla", SPECS / "play" / "Ways.cfg")


def lock_service() -> Game:
    return of_own(LOCK_SERVICE, LOCK_SERVICE.with_suffix(".cfg"))


def scenario_file(folder: Path, text: str) -> Path:
    """A scenario with this text."""
    file = folder / "mine.scenario.ndjson"
    file.write_text(text, encoding="utf-8")
    return file
