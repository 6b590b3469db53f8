"""All that a page shows, as one tree that JSON can hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from lockstep.report.page.behaviour import Said, Shown, Step
from lockstep.report.page.messages import Flight, flights
from lockstep.report.page.sources import of_reference, of_spec
from lockstep.systems.picture import Look, Picture, shown
from lockstep.tla.behaviour import changes
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Fcn, Value, format_value

Tree: TypeAlias = dict[str, Any]

#: A text longer than this is cut; the page says so with an ellipsis.
LONG = 2_000


@dataclass(frozen=True, slots=True)
class Subject:
    """What a behaviour is of: the compiled spec, the text of its modules by name, and what is known of the system.

    `locate` tells where the reference implements an action. Without `picture` there are no lanes and no logs;
    `network` is the variable that holds the messages under way.
    """

    spec: Spec
    texts: dict[str, str]
    locate: Callable[[str], str]
    picture: Picture | None = None
    network: str | None = None


def content(behaviour: Shown, subject: Subject) -> Tree:
    """Return what a page shows of a behaviour."""
    picture, steps = subject.picture, behaviour.steps
    names = [] if picture is None else [shown(node) for node in _nodes(behaviour.steps[0].state, picture)]
    actions = list(dict.fromkeys(step.action for step in steps))
    return {
        "title": behaviour.title,
        "verdict": behaviour.verdict,
        "reason": behaviour.reason,
        "count": behaviour.count,
        "nodes": names,
        "properties": list(behaviour.properties),
        "actions": [_action(name, subject) for name in actions],
        "steps": [*_steps(steps, names, actions, behaviour.properties, picture)],
        "messages": [] if picture is None else [*_messages(steps, names, subject.network, picture)],
        "said": [_said(said) for said in behaviour.said],
        "initial": [[name, _cut(format_value(value))] for name, value in steps[0].state.items()],
        "backTo": behaviour.back_to,
    }


def _said(said: Said) -> Tree:
    tables = [
        {
            "title": table.title,
            "heads": list(table.heads),
            "rows": [[_cut(cell) for cell in row] for row in table.rows],
            "marked": sorted(table.marked),
        }
        for table in said.tables
    ]
    return {"number": said.number, "title": said.title, "lines": list(said.lines), "tables": tables}


def _action(name: str, subject: Subject) -> Tree:
    known = subject.spec.actions.get(name)
    place = subject.spec.init_place if name == "Init" else known.loc if known is not None else None
    location = subject.locate(name)
    return {
        "name": name,
        "place": "" if place is None else str(place),
        "tla": "" if place is None else of_spec(subject.texts, place),
        "location": location,
        "python": of_reference(location),
    }


def _nodes(state: Mapping[str, Value], picture: Picture) -> list[Value]:
    table = state[picture.nodes]
    return sorted(table.d, key=format_value) if isinstance(table, Fcn) else []


def _steps(
    steps: Sequence[Step],
    names: Sequence[str],
    actions: Sequence[str],
    properties: Sequence[str],
    picture: Picture | None,
) -> Iterator[Tree]:
    before: Step | None = None
    for step in steps:
        tree: Tree = {
            "number": step.number,
            "action": actions.index(step.action),
            "node": names.index(step.node) if step.node in names else -1,
            "args": [[name, argument_text(value, picture)] for name, value in step.args.items()],
            "changed": [*_changed(before, step)],
            "failed": [properties.index(name) for name in properties if name in step.failed],
            "looks": {} if picture is None else _looks(before, step, picture),
            "values": _values(before, step) if picture is None else {},
        }
        if step.line is not None:
            tree["line"] = f"{step.source}:{step.line}" if step.source else f"line {step.line}"
        elif step.is_hidden:
            tree["line"] = "told by no line"
        if step.is_refused:
            tree["refused"] = True
        yield tree
        before = step


def argument_text(value: Value, picture: Picture | None) -> str:
    """Return an argument; of a message what it is called, for its fields are shown where it is drawn."""
    if picture is not None and isinstance(value, Fcn) and value.d.keys() >= {"kind", "src", "dst"}:
        return f"{picture.label(value)} from {shown(value.d['src'])}"
    return _cut(format_value(value))


def _changed(before: Step | None, step: Step) -> Iterator[list[str]]:
    if before is not None:
        for change in changes(before.state, step.state):
            yield [change.path, _cut(format_value(change.old)), _cut(format_value(change.new))]


def _values(before: Step | None, step: Step) -> dict[str, str]:
    """Return the variables that a step changes, with their values after it: of the first state all."""
    old = {} if before is None else before.state
    return {name: _cut(format_value(value)) for name, value in step.state.items() if old.get(name) is not value}


def _looks(before: Step | None, step: Step, picture: Picture) -> Tree:
    """Return how the nodes are drawn of which anything changed, by their places in the list of nodes."""
    found: Tree = {}
    for place, node in enumerate(_nodes(step.state, picture)):
        now = step.state[picture.nodes].d[node]
        if before is None or before.state[picture.nodes].d[node] is not now:
            found[str(place)] = _look(picture.look(step.state, node))
    return found


def _look(look: Look) -> Tree:
    return {
        "role": look.role,
        "up": look.is_up,
        "facts": [list(fact) for fact in look.facts],
        "log": [[entry.index, entry.term, entry.text, entry.is_committed] for entry in look.log],
        "marks": [[mark.name, mark.index] for mark in look.marks],
        "snapshot": look.snapshot,
    }


def _messages(steps: Sequence[Step], names: Sequence[str], network: str | None, picture: Picture) -> Iterator[Tree]:
    if network is None:
        return
    for flight in flights(steps, network, picture):
        if flight.src in names and flight.dst in names:
            yield _message(flight, names, picture)


def _message(flight: Flight, names: Sequence[str], picture: Picture) -> Tree:
    return {
        "label": picture.label(flight.message),
        "src": names.index(flight.src),
        "dst": names.index(flight.dst),
        "sent": flight.sent,
        "ended": flight.ended,
        "fate": flight.fate,
        "copy": flight.is_copy,
        "fields": [[str(name), _cut(format_value(value))] for name, value in flight.message.d.items()],
    }


def _cut(text: str) -> str:
    return text if len(text) <= LONG else f"{text[: LONG - 1]}…"
