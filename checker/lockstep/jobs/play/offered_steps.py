"""The panel of a state: every action of the spec at its place, with the steps that the spec allows of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lockstep.jobs.play.cut_off import can_be_cut_off
from lockstep.jobs.play.path_links import link_to
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Offer, Visit
from lockstep.jobs.play.step_labels import step_labels
from lockstep.jobs.view.counterexample_view import acting_node
from lockstep.report.page.message_flights import UNDER_WAY, flights
from lockstep.report.page.page_content import Tree
from lockstep.report.page.shown_behaviour import ShownStep
from lockstep.systems.node_picture import is_message, shown
from lockstep.tla.values.kinds import ModelValue, Value, format_value

__all__ = ["MessagesUnderWay", "panel"]

#: Number of branches to show; the last ones.
MAX_BRANCHES = 100

#: An action of nodes alone always shows all of its arguments; where there are no nodes, one with up to this many does.
MAX_PLACES = 6


def panel(game: Game, at: int, since: int = 0) -> Tree:
    """Return the steps that can be taken in a state, and the other branches; raises NoSuchStateError.

    Arguments: `since`, the state with which the shown path begins; messages are numbered from there on.
    """
    session, visit = game.session, game.session.visit(at)
    offers, here = session.offers(at), MessagesUnderWay(game, at, since)
    groups: dict[str, list[Tree]] = {"Writes": [], "Actions": [], "Faults": []}
    for name in session.spec.actions:
        if name not in session.spec.never:
            listed = [(number, each) for number, each in enumerate(offers.steps) if each.action == name]
            action = {"name": name, "steps": [*_steps(game, at, name, listed, here)]}
            groups[_group(game, name)].append(action)
    notes = [*offers.notes, *game.notes]
    if not offers.steps and not offers.notes:
        notes.insert(0, "no action is enabled: the behaviour ends here, in a deadlock")
    return {
        "at": at,
        "parent": visit.parent,
        "groups": [{"title": title, "actions": actions} for title, actions in groups.items() if actions],
        "never": [name for name in session.spec.actions if name in session.spec.never],
        "underWay": here.numbers,
        "canBeCutOff": can_be_cut_off(game, at),
        "notes": notes,
        "branches": [_branch(end) for end in session.ends()[-MAX_BRANCHES:]],
        "initial": {"count": len(session.initial), "chosen": session.path(at)[0].choice},
        "link": link_to(game, at),
    }


def _group(game: Game, name: str) -> str:
    return "Faults" if name in game.system.faults else "Writes" if name in game.system.client_writes else "Actions"


def _steps(
    game: Game, at: int, name: str, offered: Sequence[tuple[int, Offer]], here: MessagesUnderWay
) -> Iterator[Tree]:
    """Yield the steps of an action, each at its place: also those that are not enabled, where these are few."""
    numbers: dict[tuple[Value, ...], list[tuple[int, Offer]]] = {}
    for number, offer in offered:
        numbers.setdefault(tuple(offer.args.values()), []).append((number, offer))
    places = [each for each in _places(game, at, name) if tuple(each.values()) not in numbers]
    listed = _in_order(numbers, places, game, at, name)
    labels = step_labels(game, [args for args, _ in listed])
    for (args, found), label in zip(listed, labels, strict=True):
        way = f", way {found[1].choice + 1}" if found is not None and found[1].choice else ""
        tree: Tree = {
            "offer": None if found is None else found[0],
            "label": f"{label}{way}",
            "node": acting_node(args, game.session.visit(at).state, game.system),
            "messages": here.carrying(args),
        }
        if found is None:
            tree["args"] = {key: format_value(value) for key, value in args.items()}
        yield tree


_Listed = tuple[Mapping[str, Value], "tuple[int, Offer] | None"]


def _in_order(
    numbers: Mapping[tuple[Value, ...], list[tuple[int, Offer]]],
    places: Sequence[Mapping[str, Value]],
    game: Game,
    at: int,
    name: str,
) -> list[_Listed]:
    """Return the arguments in the order of the quantifiers, with the steps that are offered for them."""
    if not places:
        return [(offer.args, (number, offer)) for listed in numbers.values() for number, offer in listed]
    found: list[_Listed] = []
    rest = dict(numbers)
    for args in _places(game, at, name):
        key = tuple(args.values())
        found.extend((offer.args, (number, offer)) for number, offer in rest.pop(key, ()))
        if key not in numbers:
            found.append((args, None))
    found.extend((offer.args, (number, offer)) for listed in rest.values() for number, offer in listed)
    return found


def _places(game: Game, at: int, name: str) -> list[dict[str, Value]]:
    """Return the arguments of an action, enabled or not, that always have a place: nodes, or the few that there are."""
    if not game.session.spec.actions[name].params:
        return []
    listed, more = game.session.arguments(at, name)
    nodes = game.context.nodes(game.session.visit(at).state.as_dict())
    if nodes:
        return listed if all(value in nodes for args in listed for value in args.values()) else []
    is_missing = any(value == ModelValue(key) for args in listed for key, value in args.items())
    return [] if more or is_missing or len(listed) > MAX_PLACES else listed


def _branch(end: Visit) -> Tree:
    failed = f", {', '.join(sorted(end.failed))} violated" if end.failed else ""
    return {"at": end.number, "label": f"state {end.number}: {end.depth} steps, the last {end.action}{failed}"}


@dataclass(slots=True)
class MessagesUnderWay:
    """The messages under way in a state, with the numbers that the page of its path gives them.

    `numbers` are those of the messages under way.
    """

    numbers: list[int]
    _found: list[tuple[int, Value]]

    def __init__(self, game: Game, at: int, since: int) -> None:
        """Follow the messages of the path to a state, from the state `since` on if the path has it."""
        self._found = []
        network, picture = game.context.network, game.context.picture
        if network is not None and picture is not None:
            path = game.session.path(at)
            begin = next((place for place, visit in enumerate(path) if visit.number == since), 0)
            steps = [_moved(game, visit) for visit in path[begin:]]
            names = {shown(node) for node in game.context.nodes(steps[0].state)}
            flying = [each for each in flights(steps, network, picture) if {each.src, each.dst} <= names]
            self._found = [(number, each.message) for number, each in enumerate(flying) if each.fate == UNDER_WAY]
        self.numbers = [number for number, _ in self._found]

    def carrying(self, args: Mapping[str, Value]) -> list[int]:
        """Return the numbers of the messages that are among some arguments; equal copies are all of them."""
        values = [value for value in args.values() if is_message(value)]
        return [number for number, message in self._found if message in values]

    def message(self, number: int) -> Value | None:
        """Return a message under way by its number, None where there is none."""
        return next((message for each, message in self._found if each == number), None)


def _moved(game: Game, visit: Visit) -> ShownStep:
    node = acting_node(visit.args, visit.state, game.system)
    return ShownStep(visit.depth, visit.action, visit.args, node, visit.state.as_dict())
