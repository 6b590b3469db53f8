"""What a page shows of a session: the behaviour up to a state, as `lockstep view` shows one, and what can be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lockstep.base.verdict import Verdict
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.play.play_session import Offer, Visit
from lockstep.jobs.view.trace_view import node_of, why
from lockstep.report.page.page_content import LONG, Cut, Tree, argument_text, content
from lockstep.report.page.shown_behaviour import Said, Shown, Step
from lockstep.systems.node_picture import shown
from lockstep.tla.explain import Explanation
from lockstep.tla.values.kinds import Fcn, Value, format_value

__all__ = ["behaviour", "explanation_tree", "page_tree", "panel"]

#: Of a longer path the last so many steps are shown; of the branches, the last so many.
MOST_STEPS, MOST_BRANCHES = 400, 100


def page_tree(game: Game, at: int) -> Tree:
    """Return all that the page shows of the path to a state; raises NoSuchStateError where there is none."""
    path = game.session.path(at)[-MOST_STEPS:]
    tree = content(behaviour(game, path), game.subject)
    return {**tree, "play": {"path": [visit.number for visit in path], **panel(game, at)}}


def behaviour(game: Game, path: Sequence[Visit]) -> Shown:
    """Return a path as a behaviour to show, with what is said of each property where it fails first."""
    steps = [_step(game, visit) for visit in path]
    properties = tuple(
        dict.fromkeys([*game.session.spec.invariants, *game.session.spec.action_properties, *_of_first(game)])
    )
    failing: dict[str, int] = {}
    for place, step in enumerate(steps):
        for name in sorted(step.failed):
            failing.setdefault(name, place)
    said = tuple(_said(game, name, steps[: place + 1]) for name, place in failing.items())
    count = path[-1].depth
    holds = (
        f"every property holds in {'the step' if count == 1 else f'the {count:,} steps'} so far"
        if properties
        else "the cfg names no property"
    )
    return Shown(
        title=game.title,
        verdict=str(Verdict.VIOLATED if failing else Verdict.HOLDS),
        reason=", ".join(f"{name} fails after step {steps[at].number}" for name, at in failing.items()) or holds,
        steps=tuple(steps),
        count=count,
        properties=properties,
        said=said,
    )


def _of_first(game: Game) -> Iterator[str]:
    """Yield the properties that ask something of the first state alone, and fail there."""
    yield from (name for visit in game.session.visits if visit.parent is None for name in sorted(visit.failed))


def _step(game: Game, visit: Visit) -> Step:
    node = node_of(visit.args, visit.state, game.system) if game.subject.picture is not None else ""
    others = {name: value for name, value in visit.args.items() if not node or shown(value) != node}
    return Step(visit.depth, visit.action, others, node, visit.state.as_dict(), visit.line, visit.failed)


def _said(game: Game, name: str, steps: Sequence[Step]) -> Said:
    place = game.session.spec.property_places.get(name)
    lines = (*(() if place is None else (str(place),)), *why(name, steps, game.subject))
    return Said(steps[-1].number, f"{name} is violated", lines)


def panel(game: Game, at: int) -> Tree:
    """Return what can be done in a state, and where else one can go; raises NoSuchStateError where there is none."""
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
        "branches": [_branch(end) for end in session.ends()[-MOST_BRANCHES:]],
        "initial": {"count": len(session.initial), "chosen": session.path(at)[0].choice},
    }


def _way(offer: Offer) -> str:
    return f", way {offer.choice + 1}" if offer.choice else ""


def _labels(game: Game, listed: Sequence[Mapping[str, Value]]) -> list[str]:
    """Return the arguments that an action may have, each in a few words that tell it from the others."""
    called = [_called(game, args) for args in listed]
    alike: dict[str, list[Mapping[str, Value]]] = {}
    for label, args in zip(called, listed, strict=True):
        alike.setdefault(label, []).append(args)
    return [
        ", ".join(filter(None, [label, *_differing(args, alike[label])]))
        for label, args in zip(called, listed, strict=True)
    ]


def _differing(args: Mapping[str, Value], others: Sequence[Mapping[str, Value]]) -> Iterator[str]:
    """Yield the parts of arguments in which others, which are called alike, differ from them."""
    for name, value in args.items():
        fields = value.d if isinstance(value, Fcn) else {}
        if fields and all(isinstance(each[name], Fcn) and each[name].d.keys() == fields.keys() for each in others):
            told = [(key, [each[name].d[key] for each in others]) for key in fields]
            yield from (
                f"{key} = {format_value(fields[key])}"
                for key, values in told
                if any(each != values[0] for each in values)
            )
        elif any(each[name] != value for each in others):
            yield f"{name} = {format_value(value)}"


def _called(game: Game, args: Mapping[str, Value]) -> str:
    """Return arguments in a few words: the node by its name alone, a message by what it is called."""
    node = node_of(args, game.session.visit(0).state, game.system) if game.subject.picture is not None else ""
    told = [
        shown(value) if node and shown(value) == node and place == 0 else f"{name} = {_short(game, value)}"
        for place, (name, value) in enumerate(args.items())
    ]
    return ", ".join(told)


def _short(game: Game, value: Value) -> str:
    text = argument_text(value, game.subject.picture, Cut(LONG))
    return text if len(text) <= 80 else f"{text[:79]}…"


def _branch(end: Visit) -> Tree:
    failed = f", {', '.join(sorted(end.failed))} violated" if end.failed else ""
    return {"at": end.number, "label": f"state {end.number}: {end.depth} steps, the last {end.action}{failed}"}


def explanation_tree(game: Game, action: str, asked: Sequence[Explanation], more: bool) -> Tree:
    """Return why an action is not enabled, for each arguments that it was asked with; `more`: there are others."""
    return {
        "action": action,
        "params": list(game.session.spec.actions[action].params),
        "place": str(game.session.spec.actions[action].loc),
        "more": more,
        "asked": [
            {
                "label": label,
                "args": {name: format_value(value) for name, value in each.args.items()},
                "enabled": each.enabled,
                "branches": [str(branch).split("\n") for branch in each.branches],
            }
            for label, each in zip(_labels(game, [each.args for each in asked]), asked, strict=True)
        ],
    }
