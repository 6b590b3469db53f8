"""The requests that a page makes of a session: each has a type and a few fields, and gets a tree of JSON."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypeAlias

import msgspec

from lockstep.base.characters import counted
from lockstep.base.errors import BadInputError
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_page import explanation_tree, page_tree, panel
from lockstep.jobs.play.play_scenario import scenario_lines
from lockstep.jobs.play.play_session import Session, StepRefusedError
from lockstep.jobs.play.play_trace import save_trace
from lockstep.report.page.page_content import Tree
from lockstep.tla.values.kinds import ModelValue, TlaError, Value
from lockstep.tla.values.printed_values import parse_value
from lockstep.trace.json_lines import rephrase_error

__all__ = ["BadRequestError", "RefusedError", "RequestHandler"]

_Place = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
_Text = Annotated[str, msgspec.Meta(max_length=10_000)]
_Args: TypeAlias = Annotated[dict[_Text, _Text], msgspec.Meta(max_length=50)]


class BadRequestError(Exception):
    """A request is malformed; the message names the field."""


class RefusedError(Exception):
    """A well-formed request cannot be fulfilled; the message and `lines` say why."""

    def __init__(self, problem: str, lines: tuple[str, ...] = ()) -> None:
        """Name the problem, and its reasons."""
        super().__init__(problem)
        self.lines = lines


class ShowPath(msgspec.Struct, tag="show", forbid_unknown_fields=True, frozen=True):
    """Show the path to a state."""

    at: _Place


class ListSteps(msgspec.Struct, tag="list", forbid_unknown_fields=True, frozen=True):
    """List the steps that can be taken in a state."""

    at: _Place


class TakeOffer(msgspec.Struct, tag="take", forbid_unknown_fields=True, frozen=True):
    """Take the step that is offered in a state under this number."""

    at: _Place
    offer: _Place


class TakeStep(msgspec.Struct, tag="step", forbid_unknown_fields=True, frozen=True):
    """Take a step with arguments that the player has written, as TLA+ writes values."""

    at: _Place
    action: _Text
    args: _Args


class ExplainAction(msgspec.Struct, tag="why", forbid_unknown_fields=True, frozen=True):
    """Explain why an action is not enabled: with these arguments, or with each that its quantifiers bind."""

    at: _Place
    action: _Text
    args: _Args | None = None


class StartOver(msgspec.Struct, tag="begin", forbid_unknown_fields=True, frozen=True):
    """Go to an initial state, by its place among them."""

    initial: _Place


class SavePath(msgspec.Struct, tag="save", forbid_unknown_fields=True, frozen=True):
    """Return the path to a state as a trace, or as a scenario."""

    at: _Place
    form: Annotated[str, msgspec.Meta(pattern="^(trace|scenario)$")]


#: A string of TLA+.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

_REQUESTS = ShowPath | ListSteps | TakeOffer | TakeStep | ExplainAction | StartOver | SavePath


class RequestHandler:
    """Handles the requests of a page, one at a time."""

    def __init__(self, game: Game, at: int = 0) -> None:
        """Play a game; `at` is the state that the page shows first."""
        self._game, self._at = game, at
        self._turn = threading.Lock()
        self._by_type: dict[type, Callable[[Any], Tree]] = {
            ShowPath: lambda request: self._show(request.at),
            ListSteps: lambda request: panel(game, request.at),
            TakeOffer: self._take_offer,
            TakeStep: self._take_step,
            ExplainAction: self._explain,
            StartOver: lambda request: self._show(self._session.begin(request.initial).number),
            SavePath: self._save,
        }

    @property
    def _session(self) -> Session:
        return self._game.session

    def page(self) -> Tree:
        """Return the content of the page when it is opened: the path that was shown last."""
        with self._turn:
            return page_tree(self._game, self._at)

    def handle(self, body: bytes) -> Tree:
        """Return the answer to a request.

        Arguments: `body`, JSON with a `type` and the fields of that.
        Raises BadRequestError where it is malformed, and RefusedError where it cannot be fulfilled.
        """
        try:
            request = msgspec.json.decode(body, type=_REQUESTS)
        except msgspec.ValidationError as error:
            # Without a field in its message, msgspec refers to the request as a whole.
            raise BadRequestError(rephrase_error(error, {}).removeprefix("field `kind`: ")) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequestError(f"this is no JSON: {error}") from error
        try:
            with self._turn:
                return self._by_type[type(request)](request)
        except StepRefusedError as error:
            raise RefusedError(str(error), error.lines) from error
        except (BadInputError, RecursionError) as error:
            raise RefusedError(str(error)) from error

    def _show(self, at: int) -> Tree:
        tree = page_tree(self._game, at)
        self._at = at
        return tree

    def _take_offer(self, request: TakeOffer) -> Tree:
        offers = self._session.offers(request.at).steps
        if request.offer >= len(offers):
            raise RefusedError(f"no step {request.offer} is offered in state {request.at}; there are {len(offers)}")
        return self._show(self._session.take(request.at, offers[request.offer]).number)

    def _take_step(self, request: TakeStep) -> Tree:
        offer = self._session.step(request.at, request.action, self._values(request.action, request.args))
        return self._show(self._session.take(request.at, offer).number)

    def _explain(self, request: ExplainAction) -> Tree:
        name, session = request.action, self._session
        if request.args is None:
            listed, more = session.arguments(request.at, name)
        else:
            listed, more = [self._values(name, request.args)], False
        return explanation_tree(self._game, name, [session.why_not(request.at, name, args) for args in listed], more)

    def _save(self, request: SavePath) -> Tree:
        if request.form == "scenario":
            text = b"".join(scenario_lines(self._game, request.at)).decode()
            name = f"{self._game.name}.scenario.ndjson"
            return {"name": name, "text": text, "notes": [f"{name}: {counted(text.count(chr(10)) - 1, 'step')}"]}
        saved = save_trace(self._game, request.at)
        name = f"{self._game.name}.trace.ndjson"
        notes = [f"{name}: lockstep check says: {saved.verdict.verdict}: {saved.verdict.reason}", *saved.notes]
        return {"name": name, "text": saved.text.decode(), "notes": notes}

    def _values(self, action: str, args: dict[str, str]) -> dict[str, Value]:
        """Parse arguments as TLA+ writes them, in the order of the action's parameters."""
        info = self._session.spec.actions.get(action)
        names = info.params if info is not None and set(info.params) == set(args) else args
        return {name: self._value(name, args[name]) for name in names}

    def _value(self, name: str, text: str) -> Value:
        if ".." in _STRING.sub("", text):  # a set of any size in a few letters
            raise RefusedError(f"{name}: write the elements out, without `..`")
        try:
            return parse_value(text, self._known_model_values)
        except (ValueError, TlaError, IndexError, RecursionError) as error:
            raise RefusedError(f"{name} = {text[:80]}: {error}") from error

    @property
    def _known_model_values(self) -> list[str]:
        constants = self._session.spec.constants.values()
        return [*self._session.spec.model_values, *(each.name for each in constants if isinstance(each, ModelValue))]
