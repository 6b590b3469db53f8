"""Sessions for tests: those of a flawed model, of a spec with many ways, and of the lock service of the docs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import count
from pathlib import Path

from lockstep.jobs.play.play_game import Game, play_model, play_own_spec
from lockstep.jobs.play.play_scenario import play, read_scenario
from lockstep.jobs.play.play_session import Visit
from lockstep.models.search_result import SpecFiles
from lockstep.tla.exploration import SearchStep
from lockstep.tla.values.kinds import Value
from tests.support.places import ROOT, SPECS

#: A model of a flaw, and what it violates in its last step.
FLAWED, VIOLATED, STEPS = "late_truncate_bug", "CommittedEntriesStayProp", 15

LOCK_SERVICE = ROOT / "docs" / "lock_service" / "LockService.tla"

#: A trace of hashicorp/raft in which a leader sends, and a client may write what is from an infinite set.
RAFT = ROOT / "traces" / "counterexamples" / "hashicorp" / "log" / "truncate_without_conflict.trace.ndjson"

#: The steps of the flawed model, as the docs have them.
SCENARIO = ROOT / "docs" / "traces" / "late_truncate.scenario.ndjson"


def played() -> tuple[Game, tuple[Visit, ...]]:
    """A session of the flawed model in which that scenario was played, and the states on its way."""
    game = flawed()
    return game, game.session.path(play(game, read_scenario(SCENARIO)).number)


def walked(game: Game, steps: Iterable[tuple[str, Mapping[str, Value]]]) -> Visit:
    """The last state after some steps were taken in a session, one by one."""
    at = game.session.visit(0)
    for action, args in steps:
        at = game.session.take(at.number, game.session.step(at.number, action, args))
    return at


def replayed(game: Game, trace: Sequence[SearchStep]) -> Visit:
    """The last state of a violation whose steps were taken in a session, each to the state that it has there."""
    session = game.session
    at = session.begin(session.initial.index(trace[0].state))
    for step in trace[1:]:
        choices = (session.step(at.number, step.action or "", step.args, choice) for choice in count())
        at = session.take(at.number, next(offer for offer in choices if offer.after == step.state))
    return at


def flawed() -> Game:
    return play_model(FLAWED)


def ways() -> Game:
    return play_own_spec(SpecFiles(SPECS / "play" / "Ways.tla"))


def lock_service() -> Game:
    return play_own_spec(SpecFiles(LOCK_SERVICE))


def scenario_file(folder: Path, text: str) -> Path:
    """A scenario with this text."""
    file = folder / "mine.scenario.ndjson"
    file.write_text(text, encoding="utf-8")
    return file
