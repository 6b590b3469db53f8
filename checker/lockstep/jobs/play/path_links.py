"""Links to a path: the numbers of its steps, as short as an address can hold, and a digest of where they lead.

    0.3.1.0~9f2ac4        from the first initial state, the steps that were offered there as 3, 1 and 0
    @12.5~9f2ac4          from state 12 of the trace that is played
    0.%5B%22Refuel...     a step with arguments that a person wrote: a list in JSON

The same spec offers the same steps in the same order in every process. Of another spec the numbers are other steps:
the digest of the last state shows it.
"""

from __future__ import annotations

import hashlib
import json
import re
from urllib.parse import quote, unquote

from lockstep.base.errors import BadInputError
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import StepRefusedError, Visit
from lockstep.jobs.play.written_values import written_values
from lockstep.tla.values.kinds import TlaError, format_value

__all__ = ["BadLinkError", "follow_link", "link_to"]

#: The parts of a link: where it begins, its steps, and the digest.
_LINK = re.compile(r"(?P<begin>@?\d{1,9})(?P<steps>(?:\.[^.~]{1,9000})*)(?:~(?P<digest>[0-9a-f]{6}))?", re.ASCII)

_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


class BadLinkError(BadInputError):
    """A link is malformed, or of another spec; the message says which."""


def link_to(game: Game, at: int) -> str:
    """Return the link to the path that leads to a state; raises NoSuchStateError where there is none."""
    path = game.session.path(at)
    followed = max((place for place, visit in enumerate(path) if visit.number <= game.followed), default=0)
    begin = f"@{path[followed].number}" if followed else str(path[0].choice)
    steps = [_step(game, visit) for visit in path[followed + 1 :]]
    return f"{'.'.join([begin, *steps])}~{_digest(path[-1])}"


def _step(game: Game, visit: Visit) -> str:
    assert visit.parent is not None
    for number, offer in enumerate(game.session.offers(visit.parent).steps):
        if (offer.action, offer.choice) == (visit.action, visit.choice) and offer.args == visit.args:
            return str(number)
    args = {name: format_value(value) for name, value in visit.args.items()}
    written = json.dumps([visit.action, args, visit.choice], separators=(",", ":"))
    return quote(written, safe="").replace(".", "%2E").replace("~", "%7E")


def _digest(visit: Visit) -> str:
    state = "\n".join(f"{name} = {format_value(value)}" for name, value in sorted(visit.state.as_dict().items()))
    return hashlib.sha256(state.encode()).hexdigest()[:6]


def follow_link(game: Game, link: str) -> Visit:
    """Take the steps of a link, and return the state that they lead to.

    Raises BadLinkError where it is malformed, or the spec does not allow a step, or the steps lead elsewhere.
    """
    found = _LINK.fullmatch(link)
    if found is None:
        raise BadLinkError("the address has no path of steps: its part after #play= is malformed")
    begin = found["begin"]
    if begin[0] != "@":
        visit = game.session.begin(int(begin))
    elif int(begin[1:]) <= game.followed:
        visit = game.session.visit(int(begin[1:]))
    else:
        raise BadLinkError(f"the address begins in state {begin[1:]} of a trace, and {game.name} has no such state")
    for place, text in enumerate(found["steps"].split(".")[1:], start=1):
        visit = _taken(game, visit, text, place)
    if found["digest"] is not None and _digest(visit) != found["digest"]:
        problem = "its steps lead to another state here"
        raise BadLinkError(f"the address is of another spec than {game.name}, or of another version of it: {problem}")
    return visit


def _taken(game: Game, before: Visit, text: str, place: int) -> Visit:
    session = game.session
    if not _NUMBER.fullmatch(text):
        return _written(game, before, text, place)
    offers = session.offers(before.number).steps
    if int(text) >= len(offers):
        problem = f"no step {text} is offered there; there are {len(offers)}"
        raise BadLinkError(f"step {place} of the address is not allowed by {game.name}: {problem}")
    return session.take(before.number, offers[int(text)])


def _written(game: Game, before: Visit, text: str, place: int) -> Visit:
    session = game.session
    try:
        action, args, choice = json.loads(unquote(text))
        values = written_values(session.spec, action, args)
        return session.take(before.number, session.step(before.number, action, values, choice))
    except StepRefusedError as error:
        reason = "; ".join([str(error), *error.lines[:1]])
        raise BadLinkError(f"step {place} of the address is not allowed by {game.name}: {reason}") from error
    except (ValueError, TypeError, AttributeError, TlaError, RecursionError, BadInputError) as error:
        raise BadLinkError(f"step {place} of the address is malformed: {error}") from error
