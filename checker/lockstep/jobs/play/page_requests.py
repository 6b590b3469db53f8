"""The requests that a page makes of a session: each has a type and a few fields, and gets a tree of JSON."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

import msgspec

from lockstep.base.characters import counted, visible
from lockstep.base.errors import BadInputError
from lockstep.jobs.play.cut_off import losing_steps
from lockstep.jobs.play.disabled_steps import Wanted, disabled_steps
from lockstep.jobs.play.offered_steps import MessagesUnderWay, panel
from lockstep.jobs.play.path_links import follow_link
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_page import explanation_tree, page_tree
from lockstep.jobs.play.play_scenario import scenario_lines
from lockstep.jobs.play.play_session import Session, StepRefusedError, Visit
from lockstep.jobs.play.play_trace import save_trace
from lockstep.jobs.play.watched_expressions import MAX_WATCHED, SlowExpressionError, WatchedExpressions
from lockstep.jobs.play.written_values import written_values
from lockstep.report.page.page_content import Tree
from lockstep.tla.values.kinds import Value
from lockstep.trace.json_lines import rephrase_error

__all__ = ["BadRequestError", "RefusedError", "RequestHandler", "decoded", "error_tree"]

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


def error_tree(problem: str, lines: Sequence[str] = ()) -> Tree:
    """Return what a page shows instead of an answer: the problem, and the reasons for it."""
    return {"error": problem, "lines": list(lines)}


def decoded(body: bytes, kinds: Any) -> Any:
    """Return a request; raises BadRequestError where it is none of these kinds, or no JSON."""
    try:
        return msgspec.json.decode(body, type=kinds)
    except msgspec.ValidationError as error:
        # Without a field in its message, msgspec refers to the request as a whole.
        raise BadRequestError(rephrase_error(error, {}).removeprefix("field `kind`: ")) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadRequestError(f"this is no JSON: {error}") from error


class ShowPath(msgspec.Struct, tag="show", forbid_unknown_fields=True, frozen=True):
    """Show the path to a state."""

    at: _Place


class ListSteps(msgspec.Struct, tag="list", forbid_unknown_fields=True, frozen=True):
    """List the steps that can be taken in a state; `since` is the first state of the path that the page shows."""

    at: _Place
    since: _Place = 0


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


class CutOff(msgspec.Struct, tag="cut", forbid_unknown_fields=True, frozen=True):
    """Cut a node off: the network loses every message to and from it that is under way, by one step each."""

    at: _Place
    node: _Text


class StartOver(msgspec.Struct, tag="begin", forbid_unknown_fields=True, frozen=True):
    """Go to an initial state, by its place among them."""

    initial: _Place


class SavePath(msgspec.Struct, tag="save", forbid_unknown_fields=True, frozen=True):
    """Return the path to a state as a trace, or as a scenario."""

    at: _Place
    form: Annotated[str, msgspec.Meta(pattern="^(trace|scenario)$")]


class FindDisabled(msgspec.Struct, tag="find", forbid_unknown_fields=True, frozen=True):
    """Find the steps that are not enabled: by words, by the node that acts, by the number of a message under way."""

    at: _Place
    since: _Place = 0
    words: _Text = ""
    node: _Text = ""
    message: _Place | None = None


class FollowLink(msgspec.Struct, tag="replay", forbid_unknown_fields=True, frozen=True):
    """Take the steps that the page's address has, from where they begin."""

    link: Annotated[str, msgspec.Meta(max_length=60_000)]


class WatchExpressions(msgspec.Struct, tag="watch", forbid_unknown_fields=True, frozen=True):
    """Evaluate expressions in a state; `again`, also those that took too long in another."""

    at: _Place
    texts: Annotated[list[Annotated[str, msgspec.Meta(max_length=500)]], msgspec.Meta(max_length=MAX_WATCHED)]
    again: bool = False


_TAKEN = TakeOffer | TakeStep | CutOff | StartOver | FollowLink
_REQUESTS = _TAKEN | ShowPath | ListSteps | ExplainAction | FindDisabled | WatchExpressions | SavePath


class RequestHandler:
    """Handles the requests of a page, one at a time; but expressions are evaluated beside the others."""

    def __init__(self, game: Game, at: int = 0) -> None:
        """Play a game; `at` is the state that the page shows first."""
        self._game, self._at = game, at
        self._turn = threading.Lock()
        self._watched = WatchedExpressions(game.source)
        self._by_type: dict[type, Callable[[Any], Tree]] = {
            ShowPath: lambda request: self._show(request.at),
            ListSteps: lambda request: panel(game, request.at, request.since),
            TakeOffer: self._take_offer,
            TakeStep: self._take_step,
            CutOff: self._cut_off,
            ExplainAction: self._explain,
            StartOver: lambda request: self._show(self._session.begin(request.initial).number),
            SavePath: self._save,
            FindDisabled: self._find,
            FollowLink: lambda request: self._show(follow_link(game, request.link).number),
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
        request: Any = decoded(body, _REQUESTS)
        try:
            if isinstance(request, WatchExpressions):
                return self._watch(request)
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

    def _cut_off(self, request: CutOff) -> Tree:
        at = request.at
        for step in losing_steps(self._game, at, request.node):
            at = self._session.take(at, step).number
        return self._show(at)

    def _explain(self, request: ExplainAction) -> Tree:
        name, session = request.action, self._session
        if request.args is None:
            listed, more = session.arguments(request.at, name)
        else:
            listed, more = [self._values(name, request.args)], False
        return explanation_tree(self._game, name, [session.why_not(request.at, name, args) for args in listed], more)

    def _values(self, action: str, args: dict[str, str]) -> dict[str, Value]:
        return written_values(self._session.spec, action, args)

    def _watch(self, request: WatchExpressions) -> Tree:
        with self._turn:
            visit = self._session.visit(request.at)
        values = [self._watched_value(text, visit, request.again) for text in request.texts]
        return {"at": request.at, "values": values}

    def _watched_value(self, text: str, visit: Visit, again: bool) -> Tree:
        try:
            value = visible(self._watched.value(text, visit, again))
        except BadInputError as error:
            slow = isinstance(error, SlowExpressionError)
            return {"text": text, "value": "", "error": visible(str(error)), "slow": slow}
        return {"text": text, "value": value, "error": "", "slow": False}

    def _find(self, request: FindDisabled) -> Tree:
        message = None
        if request.message is not None:
            message = MessagesUnderWay(self._game, request.at, request.since).message(request.message)
            if message is None:
                raise RefusedError(f"no message {request.message} is under way in state {request.at}")
        wanted = Wanted(tuple(request.words.split()), request.node, message)
        found = disabled_steps(self._game, request.at, wanted)
        return {**found, "notCutOff": self._why_not_cut_off(request)} if request.node else found

    def _why_not_cut_off(self, request: FindDisabled) -> list[str]:
        """Return why a node cannot be cut off; nothing where it can."""
        try:
            losing_steps(self._game, request.at, request.node)
        except StepRefusedError as error:
            return [str(error), *error.lines]
        return []

    def _save(self, request: SavePath) -> Tree:
        if request.form == "scenario":
            text = b"".join(scenario_lines(self._game, request.at)).decode()
            name = f"{self._game.name}.scenario.ndjson"
            return {"name": name, "text": text, "notes": [f"{name}: {counted(text.count(chr(10)) - 1, 'step')}"]}
        saved = save_trace(self._game, request.at)
        name = f"{self._game.name}.trace.ndjson"
        notes = [f"{name}: lockstep check says: {saved.verdict.verdict}: {saved.verdict.reason}", *saved.notes]
        return {"name": name, "text": saved.text.decode(), "notes": notes}
