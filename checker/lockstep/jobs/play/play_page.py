"""The page of a session: the behaviour up to a state, as `lockstep view` shows one, and the steps that can be taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lockstep.base.verdict import Verdict
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Offer, Visit
from lockstep.jobs.view.counterexample_view import acting_node
from lockstep.jobs.view.remarks import property_remark
from lockstep.report.page.page_content import MAX_TEXT, Tree, ValuePrinter, argument_text, page_content
from lockstep.report.page.shown_behaviour import ShownBehaviour, ShownStep
from lockstep.systems.node_picture import shown
from lockstep.tla.explain import Explanation
from lockstep.tla.values.kinds import Fcn, Value, format_value

__all__ = ["behaviour", "explanation_tree", "page_tree", "panel"]

#: Number of steps of a path, and of branches, to show; the last ones.
MAX_STEPS, MAX_BRANCHES = 400, 100


def page_tree(game: Game, at: int) -> Tree:
    """Return the content of the page for the path to a state; raises NoSuchStateError where there is none."""
    path = game.session.path(at)[-MAX_STEPS:]
    tree = page_content(behaviour(game, path), game.context)
    return {**tree, "play": {"path": [visit.number for visit in path], **panel(game, at)}}


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


def panel(game: Game, at: int) -> Tree:
    """Return the steps that can be taken in a state, and the other branches; raises NoSuchStateError."""
    session, visit = game.session, game.session.visit(at)
    offers = session.offers(at)
    disabled = [name for name in session.spec.actions if name not in offers.enabled]
    groups: dict[str, list[Tree]] = {"Actions": [], "Faults": []}
    for name in session.spec.actions:
        numbers = [number for number, each in enumerate(offers.steps) if each.action == name]
        if numbers:
            labels = _labels(game, [offers.steps[number].args for number in numbers])
            steps = [
                {"offer": number, "label": f"{label}{_way(offers.steps[number])}"}
                for number, label in zip(numbers, labels, strict=True)
            ]
            groups["Faults" if name in game.system.faults else "Actions"].append({"name": name, "steps": steps})
    notes = [*offers.notes, *game.notes]
    if not offers.steps and not offers.notes:
        notes.insert(0, "no action is enabled: the behaviour ends here, in a deadlock")
    return {
        "at": at,
        "parent": visit.parent,
        "groups": [{"title": title, "actions": actions} for title, actions in groups.items() if actions],
        "disabled": [name for name in disabled if name not in session.spec.never],
        "never": [name for name in disabled if name in session.spec.never],
        "notes": notes,
        "branches": [_branch(end) for end in session.ends()[-MAX_BRANCHES:]],
        "initial": {"count": len(session.initial), "chosen": session.path(at)[0].choice},
    }


def _way(offer: Offer) -> str:
    return f", way {offer.choice + 1}" if offer.choice else ""


def _labels(game: Game, listed: Sequence[Mapping[str, Value]]) -> list[str]:
    """Return a short label for each of several arguments of an action, different from those of the others."""
    called = [_label(game, args) for args in listed]
    alike: dict[str, list[Mapping[str, Value]]] = {}
    for label, args in zip(called, listed, strict=True):
        alike.setdefault(label, []).append(args)
    return [
        ", ".join(filter(None, [label, *_differing(args, alike[label])]))
        for label, args in zip(called, listed, strict=True)
    ]


def _differing(args: Mapping[str, Value], others: Sequence[Mapping[str, Value]]) -> Iterator[str]:
    """Yield the parts of arguments in which others with the same label differ from them."""
    for name, value in args.items():
        fields = value.d if isinstance(value, Fcn) else {}
        if fields and all(isinstance(each[name], Fcn) and each[name].d.keys() == fields.keys() for each in others):
            for key, value_here in fields.items():
                if any(each[name].d[key] != value_here for each in others):
                    yield f"{key} = {format_value(value_here)}"
        elif any(each[name] != value for each in others):
            yield f"{name} = {format_value(value)}"


def _label(game: Game, args: Mapping[str, Value]) -> str:
    """Return a short label of arguments: the node by its name alone, a message by its label."""
    node = acting_node(args, game.session.visit(0).state, game.system)
    parts = [
        shown(value) if node and shown(value) == node and place == 0 else f"{name} = {_short(game, value)}"
        for place, (name, value) in enumerate(args.items())
    ]
    return ", ".join(parts)


def _short(game: Game, value: Value) -> str:
    text = argument_text(value, game.context.picture, ValuePrinter(MAX_TEXT))
    return text if len(text) <= 80 else f"{text[:79]}…"


def _branch(end: Visit) -> Tree:
    failed = f", {', '.join(sorted(end.failed))} violated" if end.failed else ""
    return {"at": end.number, "label": f"state {end.number}: {end.depth} steps, the last {end.action}{failed}"}


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
            for label, each in zip(_labels(game, [each.args for each in explanations]), explanations, strict=True)
        ],
    }
