"""A behaviour as it is drawn: nodes side by side, the steps that they take, and the messages between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from lockstep.report.page.behaviour import Step
from lockstep.report.page.content import Subject
from lockstep.report.page.messages import flights
from lockstep.systems.node_picture import Picture, shown
from lockstep.tla.values.kinds import Fcn, Value, format_value

#: An argument that is longer is cut, with an ellipsis.
_LONG = 60

_NOTHING: Mapping[int, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Move:
    """A step: its number in the whole behaviour, the node that takes it, what it is, and the trace's line.

    `node` is empty where none of the nodes takes it; `wrong` says what is wrong there.
    """

    number: int
    node: str
    text: str
    line: int | None = None
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Message:
    """A message between two nodes.

    `sent` is the number of the step that sent it, None where that is not among the steps; `ended` that of the step that
    received or lost it, None where it is under way to the end; `fate` says which.
    """

    label: str
    src: str
    dst: str
    sent: int | None
    ended: int | None
    fate: str


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is drawn: a title, the verdict in a line, the nodes, their steps, and the messages."""

    title: str
    said: str
    nodes: tuple[str, ...]
    moves: tuple[Move, ...]
    messages: tuple[Message, ...]


def drawn(
    title: str,
    said: str,
    steps: Sequence[Step],
    subject: Subject,
    nodes: Sequence[str] = (),
    wrong_lines: Mapping[int, str] = _NOTHING,
    wrong_steps: Mapping[int, str] = _NOTHING,
) -> Drawn:
    """Return steps as they are drawn; the first is where they begin, and is not drawn itself.

    Arguments: `nodes`, by name, where the spec is the reader's own and no state is known to hold them; `wrong_lines`
    and `wrong_steps`, what is wrong, by the line of the trace and by the number of the step.
    """
    picture, network = subject.picture, subject.network
    names = tuple(nodes) if picture is None else _nodes(steps[0].state, picture)
    moves = tuple(
        Move(
            number=step.number,
            node=step.node if step.node in names else "",
            text=_text(step, picture),
            line=step.line,
            wrong=wrong_steps.get(step.number, "") or wrong_lines.get(step.line or 0, ""),
        )
        for step in steps[1:]
    )
    messages = (
        ()
        if picture is None or network is None
        else tuple(
            Message(picture.label(each.message), each.src, each.dst, each.sent, each.ended, each.fate)
            for each in flights(steps, network, picture)
            if each.src in names and each.dst in names
        )
    )
    return Drawn(title, said, names, moves, messages)


def _nodes(state: Mapping[str, Value], picture: Picture) -> tuple[str, ...]:
    table = state[picture.nodes]
    return tuple(shown(node) for node in sorted(table.d, key=format_value)) if isinstance(table, Fcn) else ()


def _text(step: Step, picture: Picture | None) -> str:
    args = ", ".join(f"{name} = {_argument(value, picture)}" for name, value in step.args.items())
    return f"{step.action}({args})" if args else step.action


def _argument(value: Value, picture: Picture | None) -> str:
    """Return an argument; of a message what it is called."""
    if picture is not None and isinstance(value, Fcn) and value.d.keys() >= {"kind", "src", "dst"}:
        return f"{picture.label(value)} from {shown(value.d['src'])}"
    text = format_value(value)
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"
