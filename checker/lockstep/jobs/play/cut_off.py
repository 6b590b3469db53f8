"""Cutting a node off: the steps by which the network loses every message to and from it that is under way.

No action of a spec cuts a node off. The steps are those of the actions by which the network loses one message each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Offer, StepRefusedError
from lockstep.report.page.message_flights import channels
from lockstep.systems.node_picture import is_message, shown
from lockstep.tla.state import State
from lockstep.tla.values.kinds import TlaError, Value

__all__ = ["can_be_cut_off", "losing_steps"]


def can_be_cut_off(game: Game, at: int) -> list[str]:
    """Return the nodes that can be cut off in a state; none where a spec has no network, or one that loses nothing."""
    found = []
    for node in map(shown, game.context.nodes(game.session.visit(at).state.as_dict())):
        try:
            losing_steps(game, at, node)
        except StepRefusedError:
            continue
        found.append(node)
    return found


def losing_steps(game: Game, at: int, node: str) -> list[Offer]:
    """Return the steps, one after the other, by which every message to and from a node that is under way is lost.

    Raises StepRefusedError where no message is under way, or the spec or a bound of the model does not let one be lost.
    """
    state = game.session.visit(at).state
    count = _under_way(game, state, node)
    if not count:
        raise StepRefusedError(f"no message to or from {node} is under way")
    steps: list[Offer] = []
    while len(steps) < count:
        step = next(_losses(game, state, node), None)
        if step is None:
            left = f"{count - len(steps)} of the {count} messages" if count > 1 else "the message"
            raise StepRefusedError(f"{left} to and from {node} cannot be lost", _reason(game, state, node))
        steps.append(step)
        state = step.after
    return steps


def _under_way(game: Game, state: State, node: str) -> int:
    """Return the number of messages to and from a node that are under way, copies included."""
    network = game.context.network
    if network is None:
        return 0
    names = {shown(each) for each in game.context.nodes(state.as_dict())}
    return sum(channel.total() for ends, channel in channels(state[network]) if node in ends and names.issuperset(ends))


def _losses(game: Game, state: State, node: str) -> Iterator[Offer]:
    """Yield the steps of a state by which a message to or from a node is lost."""
    for action, args in _candidates(game, state, node):
        try:
            yield game.session.step_from(state, action, args)
        except StepRefusedError:
            continue


def _candidates(game: Game, state: State, node: str) -> Iterator[tuple[str, Mapping[str, Value]]]:
    """Yield the actions by which a message is lost, with each message to or from a node, enabled or not."""
    spec, picture = game.session.spec, game.context.picture
    loses = frozenset() if picture is None else picture.loses
    for action in spec.actions:
        if action in loses:
            try:
                for args in spec.arguments(state, action):
                    if any(_is_of(value, node) for value in args.values()):
                        yield action, args
            except TlaError:
                continue


def _is_of(value: Value, node: str) -> bool:
    return is_message(value) and node in (shown(value.d["src"]), shown(value.d["dst"]))


def _reason(game: Game, state: State, node: str) -> list[str]:
    """Return why the first message of those that are left cannot be lost."""
    for action, args in _candidates(game, state, node):
        try:
            game.session.step_from(state, action, args)
        except StepRefusedError as error:
            return list(error.lines) or [str(error)]
    return ["no action of the spec loses it"]
