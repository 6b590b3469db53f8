"""Levels: a model of each flaw, in which a player is to violate the property that the flaw breaks.

The fewest steps are those that a breadth-first search finds when the page is written, and the hints name them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from lockstep.base.errors import BadInputError
from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Visit
from lockstep.models.counterexample import behaviour_of_violation
from lockstep.models.model_manifest import ModelEntry
from lockstep.report.page.flaw_stories import flaw_stories
from lockstep.report.page.page_content import Tree
from lockstep.report.page.source_lines import spec_lines
from lockstep.systems.registry import manifests
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables.compiled_search import explore_compiled

__all__ = ["NoLevelError", "PlayLevel", "level_models", "level_of", "level_tree", "shortest_level"]


class NoLevelError(BadInputError):
    """A search does not find the property violated that the manifest names."""


@dataclass(frozen=True, slots=True)
class PlayLevel:
    """A level: the flaw of a model, the property that it violates, and the fewest steps that do.

    `way` are the states of one of the shortest ways in a session of its own, the initial one included, and `offers` the
    numbers of its steps among those that are offered. `story` has the paragraphs of what the flaw is.
    """

    flaw: str
    violated: str
    game: Game
    way: tuple[Visit, ...]
    offers: tuple[int, ...]
    story: tuple[str, ...] = ()

    @property
    def par(self) -> int:
        """The fewest steps."""
        return len(self.offers)


def level_models() -> Iterator[ModelEntry]:
    """Yield the models of single flaws, of all systems."""
    for manifest in manifests():
        for entry in manifest.models:
            if entry.is_of_flaw:
                yield entry


def level_of(game: Game, entry: ModelEntry) -> PlayLevel | None:
    """Return the level of a model that is played; None where no finite way violates its property.

    Raises NoLevelError where a search finds another property violated, or none.
    """
    spec, violated = game.session.spec, entry.violates or ""
    if violated not in {*spec.invariants, *spec.action_properties}:
        return None
    flaw = entry.switch or ""
    level = shortest_level(game, flaw, violated, has_deadlock=entry.deadlock)
    known = flaw_stories(game.system.root.parts[0]).get(flaw)
    note = f"{entry.note[:1].upper()}{entry.note[1:]}."
    return replace(level, story=(note,) if known is None else tuple(known.text.split("\n\n")))


def shortest_level(game: Game, flaw: str, violated: str, *, has_deadlock: bool = False) -> PlayLevel:
    """Return the level whose goal is to violate a property, with one of the shortest ways.

    Arguments: `has_deadlock`, whether a state without a successor ends the search.
    Raises NoLevelError where a search finds another property violated, or none.
    """
    spec = game.session.spec
    found = explore_compiled(spec, SearchOptions(check_deadlock=has_deadlock)).violation
    if found is None or found.label != violated:
        raise NoLevelError(f"{game.name}: a search does not find that {violated} is violated")
    own = replace(game, session=game.session.copy())
    at, offers = own.session.visit(0), []
    for step in behaviour_of_violation(spec, found).steps[1:]:
        listed = own.session.offers(at.number).steps
        offer = next(
            number
            for number, each in enumerate(listed)
            if (each.action, each.args) == (step.action, step.args) and each.after.as_dict() == step.state
        )
        offers.append(offer)
        at = own.session.take(at.number, listed[offer])
    return PlayLevel(flaw, violated, own, own.session.path(at.number), tuple(offers))


def level_tree(level: PlayLevel) -> Tree:
    """Return what the page of a level has besides that of its game: the goal, and the hints.

    Each step of `way` has its offer, its label, and how the page shows it once it is taken.
    """
    spec, context = level.game.session.spec, level.game.context
    shown = RequestHandler(level.game, level.way[-1].number).page()
    steps = [
        {"offer": offer, "action": before.action, "shown": as_shown(shown, place)}
        for place, (offer, before) in enumerate(zip(level.offers, level.way[1:], strict=True), start=1)
    ]
    return {
        "name": level.game.name,
        "flaw": level.flaw,
        "property": level.violated,
        "formula": spec_lines(context.texts, spec.property_places[level.violated]),
        "par": level.par,
        "story": list(level.story),
        "way": steps,
    }


def as_shown(tree: Tree, place: int) -> Tree:
    """Return a step as a page shows it, by which the page finds out whether the player has taken it."""
    step = tree["steps"][place]
    action = tree["actions"][step["action"]]["name"]
    return {"action": action, **{name: step[name] for name in ("node", "args", "changed")}}
