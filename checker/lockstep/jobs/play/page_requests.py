"""What a page may ask of a session: each request is a name with a few fields, and is answered with a tree of JSON."""

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
from lockstep.jobs.play.play_trace import as_trace
from lockstep.report.page.page_content import Tree
from lockstep.tla.values.kinds import ModelValue, TlaError, Value
from lockstep.tla.values.printed_values import parse_value
from lockstep.trace.json_lines import explained

__all__ = ["Answers", "BadRequestError", "RefusedError"]

_Place = Annotated[int, msgspec.Meta(ge=0, le=2**31)]
_Text = Annotated[str, msgspec.Meta(max_length=10_000)]
_Args: TypeAlias = Annotated[dict[_Text, _Text], msgspec.Meta(max_length=50)]


class BadRequestError(Exception):
    """A request is none: the message names the field."""


class RefusedError(Exception):
    """A request that is one and cannot be fulfilled; the message and `lines` say why."""

    def __init__(self, problem: str, lines: tuple[str, ...] = ()) -> None:
        """Say what, and why."""
        super().__init__(problem)
        self.lines = lines


class Show(msgspec.Struct, tag="show", forbid_unknown_fields=True, frozen=True):
    """Show the path to a state."""

    at: _Place


class Look(msgspec.Struct, tag="look", forbid_unknown_fields=True, frozen=True):
    """Tell what can be done in a state."""

    at: _Place


class Take(msgspec.Struct, tag="take", forbid_unknown_fields=True, frozen=True):
    """Take the step that is offered in a state under this number."""

    at: _Place
    offer: _Place


class Ask(msgspec.Struct, tag="ask", forbid_unknown_fields=True, frozen=True):
    """Take a step with arguments that a person has written, as TLA+ writes values."""

    at: _Place
    action: _Text
    args: _Args


class Why(msgspec.Struct, tag="why", forbid_unknown_fields=True, frozen=True):
    """Say why an action is not enabled: with these arguments, or with each that its quantifiers bind."""

    at: _Place
    action: _Text
    args: _Args | None = None


class Begin(msgspec.Struct, tag="begin", forbid_unknown_fields=True, frozen=True):
    """Go to an initial state, by its place among them."""

    initial: _Place


class Save(msgspec.Struct, tag="save", forbid_unknown_fields=True, frozen=True):
    """Hand out the path to a state as a trace, or as a scenario."""

    at: _Place
    form: Annotated[str, msgspec.Meta(pattern="^(trace|scenario)$")]


#: A string of TLA+.
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')

_REQUESTS = Show | Look | Take | Ask | Why | Begin | Save


class Answers:
    """Answers requests, one at a time."""

    def __init__(self, game: Game, at: int = 0) -> None:
        """Answer what is asked of a session; `at` is the state that the page shows first."""
        self._game, self._at = game, at
        self._turn = threading.Lock()
        self._by_type: dict[type, Callable[[Any], Tree]] = {
            Show: self._show,
            Look: self._look,
            Take: self._take,
            Ask: self._ask,
            Why: self._why,
            Begin: self._begin,
            Save: self._save,
        }

    @property
    def _session(self) -> Session:
        return self._game.session

    def page(self) -> Tree:
        """Return what the page shows when it is opened: the path that was shown last."""
        with self._turn:
            return page_tree(self._game, self._at)

    def answer(self, body: bytes) -> Tree:
        """Answer a request.

        Arguments: `body`, JSON with a `type` and the fields of that.
        Raises BadRequestError where it is none, and RefusedError where what it asks cannot be done.
        """
        try:
            request = msgspec.json.decode(body, type=_REQUESTS)
        except msgspec.ValidationError as error:
            # Where msgspec names no field, the request as a whole is meant.
            raise BadRequestError(explained(error, {}).removeprefix("field `kind`: ")) from error
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise BadRequestError(f"this is no JSON: {error}") from error
        try:
            with self._turn:
                return self._by_type[type(request)](request)
        except StepRefusedError as error:
            raise RefusedError(str(error), error.lines) from error
        except (BadInputError, RecursionError) as error:
            raise RefusedError(str(error)) from error

    def _show(self, request: Show) -> Tree:
        return self._gone(request.at)

    def _gone(self, at: int) -> Tree:
        tree = page_tree(self._game, at)
        self._at = at
        return tree

    def _look(self, request: Look) -> Tree:
        return panel(self._game, request.at)

    def _take(self, request: Take) -> Tree:
        offers = self._session.offers(request.at).steps
        if request.offer >= len(offers):
            raise RefusedError(f"no step {request.offer} is offered in state {request.at}; there are {len(offers)}")
        return self._gone(self._session.take(request.at, offers[request.offer]).number)

    def _ask(self, request: Ask) -> Tree:
        offer = self._session.asked(request.at, request.action, self._values(request.action, request.args))
        return self._gone(self._session.take(request.at, offer).number)

    def _why(self, request: Why) -> Tree:
        name, session = request.action, self._session
        if request.args is None:
            listed, more = session.arguments(request.at, name)
        else:
            listed, more = [self._values(name, request.args)], False
        asked = [session.why_not(request.at, name, args) for args in listed]
        return explanation_tree(self._game, name, asked, more)

    def _begin(self, request: Begin) -> Tree:
        return self._gone(self._session.begin(request.initial).number)

    def _save(self, request: Save) -> Tree:
        if request.form == "scenario":
            text = b"".join(scenario_lines(self._game, request.at)).decode()
            name = f"{self._game.name}.scenario.ndjson"
            return {"name": name, "text": text, "said": [f"{name}: {counted(text.count(chr(10)) - 1, 'step')}"]}
        saved = as_trace(self._game, request.at)
        name = f"{self._game.name}.trace.ndjson"
        said = [f"{name}: lockstep check says: {saved.verdict.verdict}: {saved.verdict.reason}", *saved.notes]
        return {"name": name, "text": saved.text.decode(), "said": said}

    def _values(self, action: str, args: dict[str, str]) -> dict[str, Value]:
        """Read arguments as TLA+ writes them, in the order of the action's parameters."""
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
