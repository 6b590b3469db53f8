"""The answers to the first steps of a game, so that a page can be played before Python has started in it.

They are those of a session that is asked nothing else before: a second step from the first state is not among them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any, TypeAlias

from lockstep.jobs.play.page_requests import RefusedError, RequestHandler
from lockstep.jobs.play.play_game import Game

__all__ = ["MAX_BYTES", "Answers", "first_answers"]

#: The answers by state and offer, as `AT OFFER`: each has its tree, and the answers to what comes `then`.
Answers: TypeAlias = dict[str, Any]

#: The size of all answers, as JSON, from which on no more are added.
MAX_BYTES = 2_000_000

#: Number of steps from the first state.
_LEVELS = 2


def first_answers(game: Game, at: int) -> Answers:
    """Return the answers to the first steps from a state, those to one step before those to two."""
    answers: Answers = {}
    level = [(game, at, answers)]
    size = 0
    for _ in range(_LEVELS):
        following = []
        for here, number, table in level:
            for offer in range(len(here.session.offers(number).steps)):
                if size >= MAX_BYTES:
                    return answers
                other = replace(here, session=here.session.copy())
                request = json.dumps({"type": "take", "at": number, "offer": offer}).encode()
                try:
                    tree = RequestHandler(other, number).handle(request)
                except RefusedError:
                    continue
                size += len(json.dumps(tree))
                then: Answers = {}
                table[f"{number} {offer}"] = {"tree": tree, "then": then}
                following.append((other, tree["play"]["at"], then))
        level = following
    return answers
