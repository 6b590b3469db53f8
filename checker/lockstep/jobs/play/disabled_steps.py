"""The steps that are not enabled in a state and match some words, a node or a message, with the reason for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from lockstep.base.characters import beginning, visible
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.step_labels import step_labels
from lockstep.jobs.view.counterexample_view import acting_node
from lockstep.report.page.page_content import Tree
from lockstep.tla.explain import Explanation
from lockstep.tla.values.kinds import Value, format_value

__all__ = ["Wanted", "disabled_steps"]

#: The greatest number of steps that are found, and of characters of a reason.
MAX_FOUND, MAX_REASON = 40, 400

#: The greatest number of steps for which a search asks why they are not enabled.
MAX_EXPLAINED = 600


@dataclass(frozen=True, slots=True)
class Wanted:
    """A search: words, each a part of the action's name or of an argument; a node that acts; a message it is about."""

    words: tuple[str, ...] = ()
    node: str = ""
    message: Value | None = None


def disabled_steps(game: Game, at: int, wanted: Wanted) -> Tree:
    """Return the steps that are not enabled in a state, those with the most true conjuncts first.

    Faults and the writes of clients come before all others. Of those of a node with the same reason there is one.
    """
    session, found = game.session, dict[tuple[str, ...], _Found]()
    for name, args, label in islice(_matching(game, at, wanted), MAX_EXPLAINED):
        explained = session.why_not(at, name, args)
        if explained.enabled:
            continue
        reason = str(explained.branches[0]).split("\n") if explained.branches else []
        node = acting_node(args, session.visit(at).state, game.system)
        key = (name, node, *reason[:1])
        if key in found:
            found[key].others += 1
        else:
            found[key] = _Found(_rank(game, explained), explained, label, reason)
    listed = sorted(found.values(), key=lambda each: each.rank)
    return {"at": at, "found": [each.tree() for each in listed[:MAX_FOUND]], "more": max(0, len(listed) - MAX_FOUND)}


@dataclass(slots=True)
class _Found:
    """A step that is not enabled; `others` counts those of its node with the same reason."""

    rank: tuple[bool, int]
    explained: Explanation
    label: str
    reason: list[str]
    others: int = 0

    def tree(self) -> Tree:
        return {
            "action": self.explained.action,
            "label": self.label,
            "args": {name: format_value(value) for name, value in self.explained.args.items()},
            "reason": [beginning(visible(line), MAX_REASON) for line in self.reason],
            "others": self.others,
        }


def _matching(game: Game, at: int, wanted: Wanted) -> Iterator[tuple[str, Mapping[str, Value], str]]:
    session, state = game.session, game.session.visit(at).state
    offered = {(each.action, tuple(each.args.values())) for each in session.offers(at).steps}
    for name in session.spec.actions:
        listed, _ = session.arguments(at, name)
        for args, label in zip(listed, step_labels(game, listed), strict=True):
            if (name, tuple(args.values())) in offered:
                continue
            if wanted.node and acting_node(args, state, game.system) != wanted.node:
                continue
            if wanted.message is not None and wanted.message not in args.values():
                continue
            text = f"{name} {label}".lower()
            if all(word.lower() in text for word in wanted.words):
                yield name, args, label


def _rank(game: Game, explained: Explanation) -> tuple[bool, int]:
    system, held = game.system, max((len(branch.held) for branch in explained.branches), default=0)
    return explained.action not in system.faults and explained.action not in system.client_writes, -held
