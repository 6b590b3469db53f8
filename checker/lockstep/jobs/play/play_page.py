"""The page of a session: the behaviour up to a state, as `lockstep view` shows one, and the steps that can be taken."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lockstep.base.verdict import Verdict
from lockstep.jobs.play.offered_steps import panel
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Visit
from lockstep.jobs.play.step_labels import step_labels
from lockstep.jobs.view.counterexample_view import acting_node
from lockstep.jobs.view.remarks import property_remark
from lockstep.report.page.page_content import Tree, page_content
from lockstep.report.page.shown_behaviour import ShownBehaviour, ShownStep
from lockstep.tla.explain import Explanation
from lockstep.tla.values.kinds import format_value

__all__ = ["behaviour", "explanation_tree", "page_tree"]

#: Number of steps of a path to show; the last ones.
MAX_STEPS = 400


def page_tree(game: Game, at: int) -> Tree:
    """Return the content of the page for the path to a state; raises NoSuchStateError where there is none."""
    path = game.session.path(at)[-MAX_STEPS:]
    tree = page_content(behaviour(game, path), game.context)
    return {**tree, "play": {"path": [visit.number for visit in path], **panel(game, at, path[0].number)}}


def behaviour(game: Game, path: Sequence[Visit]) -> ShownBehaviour:
    """Return a path as a behaviour to show, with a remark on each property where it fails first."""
    steps = [_step(game, visit) for visit in path]
    properties = tuple(dict.fromkeys([*game.context.properties, *_failing_initially(game)]))
    failing: dict[str, int] = {}
    for place, step in enumerate(steps):
        for name in sorted(step.failed):
            failing.setdefault(name, place)
    remarks = tuple(
        property_remark(name, f"{name} is violated", steps[: place + 1], game.context)
        for name, place in failing.items()
    )
    count = path[-1].depth
    holds = (
        f"every property holds in {'the step' if count == 1 else f'the {count:,} steps'} so far"
        if properties
        else "the cfg names no property"
    )
    return ShownBehaviour(
        title=game.title,
        verdict=str(Verdict.VIOLATED if failing else Verdict.HOLDS),
        reason=", ".join(f"{name} fails after step {steps[at].number}" for name, at in failing.items()) or holds,
        steps=tuple(steps),
        count=count,
        properties=properties,
        remarks=remarks,
    )


def _failing_initially(game: Game) -> Iterator[str]:
    """Yield the properties that fail in an initial state, also those that are about the first state alone."""
    yield from (name for visit in game.session.visits if visit.parent is None for name in sorted(visit.failed))


def _step(game: Game, visit: Visit) -> ShownStep:
    node = acting_node(visit.args, visit.state, game.system)
    return ShownStep(visit.depth, visit.action, visit.args, node, visit.state.as_dict(), visit.line, visit.failed)


def explanation_tree(game: Game, action: str, explanations: Sequence[Explanation], more: bool) -> Tree:
    """Return why an action is not enabled, for each of several arguments; `more`: there are others."""
    return {
        "action": action,
        "params": list(game.session.spec.actions[action].params),
        "place": str(game.session.spec.actions[action].loc),
        "more": more,
        "explanations": [
            {
                "label": label,
                "args": {name: format_value(value) for name, value in each.args.items()},
                "enabled": each.enabled,
                "branches": [str(branch).split("\n") for branch in each.branches],
            }
            for label, each in zip(step_labels(game, [each.args for each in explanations]), explanations, strict=True)
        ],
    }
