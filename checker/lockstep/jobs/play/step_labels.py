"""Short labels of steps: a node by its name alone, a message by its label, a small record by its values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from lockstep.base.characters import beginning, visible
from lockstep.jobs.play.play_game import Game
from lockstep.jobs.view.counterexample_view import acting_node
from lockstep.report.page.page_content import MAX_TEXT, ValuePrinter, argument_text
from lockstep.systems.node_picture import is_message, shown
from lockstep.tla.values.kinds import Fcn, Value, format_value

#: The greatest number of parts of a value that its label lists, and the greatest length of a label.
_MAX_PARTS, _MAX_LABEL = 3, 80


def step_labels(game: Game, listed: Sequence[Mapping[str, Value]]) -> list[str]:
    """Return a short label for each of several arguments of an action, different from those of the others."""
    called = [visible(_label(game, args)) for args in listed]
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
    """Return a short label of arguments."""
    node = acting_node(args, game.session.visit(0).state, game.system)
    return ", ".join(_argument(game, name, value, node) for name, value in args.items())


def _argument(game: Game, name: str, value: Value, node: str) -> str:
    """Return an argument in a few letters: the node that acts and a message need no name."""
    if node and shown(value) == node:
        return node
    if game.context.picture is not None and is_message(value):
        return argument_text(value, game.context.picture, ValuePrinter(MAX_TEXT))
    return f"{name} = {beginning(_compact(value), _MAX_LABEL)}"


def _compact(value: Value) -> str:
    """Return a value in short: a small record by the values of its fields, a short sequence by its elements."""
    if isinstance(value, Fcn) and _is_small(list(value.d.values())) and all(isinstance(key, str) for key in value.d):
        return " ".join(shown(each) for each in value.d.values())
    if isinstance(value, tuple) and 0 < len(value) <= _MAX_PARTS:
        return f"<<{', '.join(map(_compact, value))}>>"
    return value if isinstance(value, str) else ValuePrinter(MAX_TEXT)(value)


def _is_small(values: Sequence[Value]) -> bool:
    return 0 < len(values) <= _MAX_PARTS and not any(isinstance(each, Fcn | tuple | frozenset) for each in values)
