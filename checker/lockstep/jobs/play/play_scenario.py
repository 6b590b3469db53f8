"""Scenarios: the steps of a session as a file of JSON lines that a person can read, write, and play again.

The first line names the spec that is played, each further line a step: its action, and its arguments as in a trace.

    {"kind":"scenario","format":"lockstep-scenario/1","spec":"LockService"}
    {"kind":"step","action":"Lock","args":{"c":"a"}}
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import msgspec

from lockstep.base.errors import BadInputError
from lockstep.base.spelling import did_you_mean
from lockstep.conformance.json_values import to_tree, to_value
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Session, StepRefusedError, Visit
from lockstep.tla.values.kinds import ArgumentError, TlaError, Value, format_value
from lockstep.trace.json_lines import (
    MIN_INTEGER,
    TraceError,
    convert_line,
    file_lines,
    plain_object,
    source_name,
    unreasonable,
)
from lockstep.trace.trace_format import Header

__all__ = ["FORMAT", "Scenario", "ScenarioRefusedError", "ScenarioStart", "play", "read_scenario", "scenario_lines"]

FORMAT = "lockstep-scenario/1"

_encoder = msgspec.json.Encoder()

_Count = Annotated[int, msgspec.Meta(ge=0)]


class ScenarioStart(
    msgspec.Struct, tag="scenario", tag_field="kind", forbid_unknown_fields=True, frozen=True, omit_defaults=True
):
    """The first line: a `model` of a manifest, a `spec` of the user's own by its name, or the header of a `trace`.

    `initial` chooses among several initial states, from 0 on.
    """

    format: str
    model: str = ""
    spec: str = ""
    trace: Header | None = None
    initial: _Count = 0


class ScenarioStep(
    msgspec.Struct, tag="step", tag_field="kind", forbid_unknown_fields=True, frozen=True, omit_defaults=True
):
    """A step; `choice` is its place among several with the same action and arguments, from 0 on."""

    action: str
    args: dict[str, Any] = {}
    choice: _Count = 0


@dataclass(frozen=True, slots=True)
class Scenario:
    """A scenario that was read: its file, its first line, and its steps with the numbers of their lines."""

    source: str
    start: ScenarioStart
    steps: tuple[tuple[int, ScenarioStep], ...]


class ScenarioRefusedError(Exception):
    """The spec does not allow a step of a scenario; the message names file and line, `lines` say why."""

    def __init__(self, source: str, line: int, refused: StepRefusedError) -> None:
        """Name the file, the line and the step."""
        super().__init__(f"{source}:{line}: {refused}")
        self.lines = refused.lines


def scenario_lines(game: Game, at: int) -> Iterator[bytes]:
    """Yield the lines of the scenario that leads to a state.

    Raises BadInputError where JSON cannot represent an argument, NoSuchStateError where there is no such state.
    """
    if game.guard:
        raise BadInputError(f"{game.name} leaves a rule open, which no scenario can say: it has no scenarios")
    path = game.session.path(at)
    own = game.system.spec if game.is_own else ""
    yield _encoder.encode(ScenarioStart(FORMAT, game.model, own, game.header, path[0].choice)) + b"\n"
    for visit in path[1:]:
        args = {name: _tree(game, value) for name, value in visit.args.items()}
        yield _encoder.encode(ScenarioStep(visit.action, args, visit.choice)) + b"\n"


def _tree(game: Game, value: Value) -> Any:
    words = game.interface.words
    tree = to_tree(value, words)
    if to_value(tree, words) != value:
        raise BadInputError(f"{format_value(value)} cannot be written in a scenario: it would be read as another value")
    return tree


def read_scenario(path: Path) -> Scenario:
    """Read a scenario.

    Raises TraceError, naming file, line and field, where it is malformed, UnreadableError where it cannot be read.
    """
    source = source_name(path)
    start: ScenarioStart | None = None
    steps: list[tuple[int, ScenarioStep]] = []
    for number, text in enumerate(file_lines(path), start=1):
        line = _line(text, source, number)
        if start is None:
            if not isinstance(line, ScenarioStart):
                raise TraceError(source, number, "field `kind`: the first line must be that of the scenario")
            _refuse_start(line, source)
            start = line
        elif isinstance(line, ScenarioStart):
            raise TraceError(source, number, "field `kind`: a second first line")
        else:
            steps.append((number, line))
    if start is None:
        raise TraceError(source, 1, "the file is empty: a scenario starts with a line that names what is played")
    return Scenario(source, start, tuple(steps))


def _line(text: bytes, source: str, number: int) -> ScenarioStart | ScenarioStep:
    tree, plain = plain_object(text, source, number, "scenario", MIN_INTEGER)
    line: ScenarioStart | ScenarioStep = convert_line(tree, ScenarioStart | ScenarioStep, source, number)
    if isinstance(line, ScenarioStep) and not plain:
        problem = unreasonable(line.args, "args", MIN_INTEGER)
        if problem:
            raise TraceError(source, number, problem)
    return line


def _refuse_start(start: ScenarioStart, source: str) -> None:
    if start.format != FORMAT:
        raise TraceError(source, 1, f"field `format`: {start.format!r} is not {FORMAT!r}")
    if sum(bool(getattr(start, name)) for name in ("model", "spec", "trace")) != 1:
        raise TraceError(source, 1, "it needs one of the fields `model`, `spec` and `trace`, to say what is played")


def play(game: Game, scenario: Scenario) -> Visit:
    """Take the steps of a scenario, and return the last state.

    Raises TraceError where it is of another spec, names no action of it, or other arguments than the action takes;
    ScenarioRefusedError where the spec does not allow a step. All name the file and the line.
    """
    _refuse_other_game(game, scenario)
    session, start = game.session, scenario.start
    if start.initial >= len(session.initial):
        problem = f"field `initial`: {start.initial} is none of the {len(session.initial)} initial states, from 0 on"
        raise TraceError(scenario.source, 1, problem)
    visit = session.begin(start.initial)
    for line, step in scenario.steps:
        args = _arguments(game, session, scenario.source, line, step)
        try:
            visit = session.take(visit.number, session.step(visit.number, step.action, args, step.choice))
        except ArgumentError as error:
            raise TraceError(scenario.source, line, f"field `args.{error.name}`: {error}") from error
        except StepRefusedError as error:
            raise ScenarioRefusedError(scenario.source, line, error) from error
    return visit


def _refuse_other_game(game: Game, scenario: Scenario) -> None:
    start = scenario.start
    own = game.system.spec if game.is_own else ""
    for field, wanted, here in (("model", start.model, game.model), ("spec", start.spec, own)):
        if wanted != here:
            subject = repr(wanted) if wanted else "something else"
            problem = f"field `{field}`: the scenario is of {subject}, and {game.name} is played"
            raise TraceError(scenario.source, 1, problem)
    if start.trace != game.header:
        raise TraceError(scenario.source, 1, "field `trace`: the scenario is of another trace than the one played")


def _arguments(game: Game, session: Session, source: str, line: int, step: ScenarioStep) -> dict[str, Value]:
    action = session.spec.actions.get(step.action)
    if action is None:
        near = did_you_mean(step.action, session.spec.actions)
        raise TraceError(source, line, f"field `action`: the spec has no action {step.action!r}{near}")
    for name in action.params:
        if name not in step.args:
            raise TraceError(source, line, f"field `args.{name}`: {step.action} needs it")
    for name in step.args:
        if name not in action.params:
            near = did_you_mean(name, action.params)
            raise TraceError(source, line, f"field `args.{name}`: {step.action} has no such parameter{near}")
    found = {}
    for name in action.params:
        try:
            found[name] = to_value(step.args[name], game.interface.words)
        except (ValueError, TlaError) as error:
            raise TraceError(source, line, f"field `args.{name}`: {error}") from error
    return found
