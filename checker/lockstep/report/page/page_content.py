"""All that a page shows, as one tree that JSON can hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import is_
from typing import Any, TypeAlias

from lockstep.base.characters import beginning, visible_tree
from lockstep.base.errors import BadInputError
from lockstep.report.page.message_flights import Flight, flights
from lockstep.report.page.shown_behaviour import Said, Shown, Step
from lockstep.report.page.source_lines import of_reference, of_spec
from lockstep.systems.node_picture import Picture, shown
from lockstep.tla.behaviour import changes
from lockstep.tla.spec import Spec
from lockstep.tla.values.growing_values import GrowingSeq
from lockstep.tla.values.kinds import Fcn, Value, format_beginning, format_value

Tree: TypeAlias = dict[str, Any]

#: A text longer than this is cut; the page says so with an ellipsis.
LONG = 2_000

#: How many entries of a log are shown below the least last index that the log has in the steps that are shown.
ENTRIES_BELOW = 100

#: How many of the places that one step changes are listed, and how many lines of what is wrong.
MAX_CHANGES, MAX_LINES = 200, 400

#: The bytes of a page at most. They bound what its tree may take as JSON, to which scripts and styles come.
MAX_PAGE_BYTES = 8_000_000
_MAX_TREE_BYTES = MAX_PAGE_BYTES - 500_000


class TooLargeError(BadInputError):
    """One state is too large for a page."""


def fitting(behaviour: Shown, subject: Subject) -> tuple[Shown, Tree]:
    """Return the part of a behaviour that fits into a page of MAX_PAGE_BYTES, and what the page shows of it.

    It is the part around what is wrong first, or the end where nothing is. Where a few steps are too large, texts are
    cut shorter.
    Raises TooLargeError where one state does not fit.
    """
    longest = LONG
    while True:
        tree = content(behaviour, subject, longest)
        size, count = len(as_json(tree)), len(behaviour.steps)
        if size <= _MAX_TREE_BYTES:
            return behaviour, tree
        if count > _FEW_STEPS or (longest <= _SHORTEST and count > 1):
            behaviour = _narrowed(behaviour, max(1, int(count * 0.9 * _MAX_TREE_BYTES / size)))
        elif longest > _SHORTEST:
            longest //= 4
        else:
            raise TooLargeError(f"a page has at most {MAX_PAGE_BYTES:,} bytes, and one state of {behaviour.title} more")


#: Where so few steps do not fit, their texts are cut shorter, down to about this length, before steps are left out.
_FEW_STEPS, _SHORTEST = 20, 40


def _narrowed(behaviour: Shown, count: int) -> Shown:
    """Return a behaviour with `count` of its steps, three in four of them up to what is wrong first."""
    steps = behaviour.steps
    numbers = [said.number for said in behaviour.said]
    wrong = min(numbers, default=steps[-1].number) - steps[0].number
    end = min(len(steps), max(wrong + 1 + count // 4, count))
    return replace(behaviour, steps=steps[max(0, end - count) : end])


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


def content(behaviour: Shown, subject: Subject, longest: int = LONG) -> Tree:
    """Return what a page shows of a behaviour; `longest` is the length at which texts are cut."""
    picture, steps = subject.picture, behaviour.steps
    names = [] if picture is None else [shown(node) for node in _nodes(behaviour.steps[0].state, picture)]
    drawing = None if picture is None else _Drawing(picture, steps)
    cut = Cut(longest)
    actions = list(dict.fromkeys(step.action for step in steps))
    tree: Tree = {
        "title": behaviour.title,
        "verdict": behaviour.verdict,
        "reason": behaviour.reason,
        "count": behaviour.count,
        "nodes": names,
        "properties": list(behaviour.properties),
        "actions": [_action(name, subject) for name in actions],
        "lowest": 0 if drawing is None else drawing.lowest_shown,
        "steps": [*_steps(steps, names, actions, behaviour.properties, drawing, cut)],
        "messages": [] if picture is None else [*_messages(steps, names, subject.network, picture, cut)],
        "said": [_said(said, longest) for said in behaviour.said],
        "initial": [[name, cut(value)] for name, value in steps[0].state.items()],
        "backTo": behaviour.back_to,
    }
    shown_tree: Tree = visible_tree(tree)
    return shown_tree


class Cut:
    """Prints values, long ones cut: each once, for a step has the value that the one before left behind."""

    def __init__(self, longest: int) -> None:
        """Cut at so many code points."""
        self.longest = longest
        self._texts: dict[int, tuple[Value, str]] = {}

    def __call__(self, value: Value) -> str:
        """Return the text of a value."""
        found = self._texts.get(id(value))
        if found is None:  # the value is kept, so that no other has its id
            found = self._texts[id(value)] = value, format_beginning(value, self.longest)
        return found[1]


def _said(said: Said, longest: int) -> Tree:
    tables = [
        {
            "title": table.title,
            "heads": list(table.heads),
            "rows": [[beginning(cell, longest) for cell in row] for row in table.rows[:MAX_CHANGES]],
            "marked": sorted(table.marked),
        }
        for table in said.tables
    ]
    lines = [beginning(line, longest) for line in said.lines[:MAX_LINES]]
    if len(said.lines) > MAX_LINES:
        lines.append(f"… and {len(said.lines) - MAX_LINES:,} more")
    return {"number": said.number, "title": beginning(said.title, longest), "lines": lines, "tables": tables}


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
    drawing: _Drawing | None,
    cut: Cut,
) -> Iterator[Tree]:
    before: Step | None = None
    picture = None if drawing is None else drawing.picture
    for step in steps:
        tree: Tree = {
            "number": step.number,
            "action": actions.index(step.action),
            "node": names.index(step.node) if step.node in names else -1,
            "args": [[name, argument_text(value, picture, cut)] for name, value in step.args.items()],
            "changed": [*_changed(before, step, cut)],
            "failed": [properties.index(name) for name in properties if name in step.failed],
            "looks": {} if drawing is None else drawing.looks(before, step),
            "values": _values(before, step, cut) if picture is None else {},
        }
        if step.line is not None:
            tree["line"] = f"{step.source}:{step.line}" if step.source else f"line {step.line}"
        elif step.is_hidden:
            tree["line"] = "told by no line"
        if step.is_refused:
            tree["refused"] = True
        yield tree
        before = step


def argument_text(value: Value, picture: Picture | None, cut: Cut) -> str:
    """Return an argument; of a message what it is called, for its fields are shown where it is drawn."""
    if picture is not None and isinstance(value, Fcn) and value.d.keys() >= {"kind", "src", "dst"}:
        return f"{picture.label(value)} from {shown(value.d['src'])}"
    return cut(value)


def _changed(before: Step | None, step: Step, cut: Cut) -> Iterator[list[str]]:
    if before is None:
        return
    for count, change in enumerate(changes(before.state, step.state)):
        if count == MAX_CHANGES:
            yield ["… and more", "", ""]
            return
        yield [change.path, *_both(change.old, change.new, cut)]


def _both(old: Value, new: Value, cut: Cut) -> tuple[str, str]:
    """Return two values that differ; of sequences that are too long to print, what follows their common beginning."""
    if not _is_sequence(old) or not _is_sequence(new):
        return cut(old), cut(new)
    is_long = max(len(old), len(new)) * _LEAST_ELEMENT > cut.longest
    if not is_long and not any(text.endswith("…") for text in (cut(old), cut(new))):
        return cut(old), cut(new)
    alike = min(len(old), len(new))
    if not all(map(is_, old, new)):
        alike = next((at for at, (one, other) in enumerate(zip(old, new, strict=False)) if one != other), alike)
    rest_of_old, rest_of_new = (
        f"the first {alike:,}, then {format_beginning(tuple(each[alike:]), cut.longest)}" for each in (old, new)
    )
    return rest_of_old, rest_of_new


#: An element of a sequence is at least a digit, a comma and a space.
_LEAST_ELEMENT = 3


def _is_sequence(value: Value) -> bool:
    return isinstance(value, tuple | GrowingSeq)


def _values(before: Step | None, step: Step, cut: Cut) -> dict[str, str]:
    """Return the variables that a step changes, with their values after it: of the first state all."""
    old = {} if before is None else before.state
    return {name: cut(value) for name, value in step.state.items() if old.get(name) is not value}


class _Drawing:
    """Draws the nodes, step by step; of a log only what differs from the one that was drawn last."""

    def __init__(self, picture: Picture, steps: Sequence[Step]) -> None:
        """Find the entries that are shown: a long log is not, but for what the steps change and a little below."""
        self.picture = picture
        nodes = _nodes(steps[0].state, picture)
        ends = {node: min(picture.end(step.state, node) for step in steps) for node in nodes}
        self._lowest = {node: max(0, end - ENTRIES_BELOW) for node, end in ends.items()}
        self._logs: dict[Value, list[list[Any]]] = {}
        self.lowest_shown = max(self._lowest.values(), default=0)

    def looks(self, before: Step | None, step: Step) -> Tree:
        """Return how the nodes are drawn of which anything changed, by their places in the list of nodes."""
        found: Tree = {}
        for place, node in enumerate(_nodes(step.state, self.picture)):
            now = step.state[self.picture.nodes].d[node]
            if before is None or before.state[self.picture.nodes].d[node] is not now:
                found[str(place)] = self._look(step, node)
        return found

    def _look(self, step: Step, node: Value) -> Tree:
        look = self.picture.look(step.state, node, self._lowest[node])
        log = [[entry.index, entry.term, beginning(entry.text, LONG), entry.is_committed] for entry in look.log]
        old = self._logs.get(node, [])
        self._logs[node] = log
        return {
            "role": look.role,
            "up": look.is_up,
            "facts": [list(fact) for fact in look.facts],
            "log": _spliced(old, log),
            "marks": [[mark.name, mark.index] for mark in look.marks],
            "snapshot": look.snapshot,
        }


def _spliced(old: Sequence[Any], new: Sequence[Any]) -> list[Any]:
    """Return what makes one list of another: where, how many elements of the old one go, and those that come."""
    shorter = min(len(old), len(new))
    begin = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - begin) if old[-1 - at] != new[-1 - at]), shorter - begin)
    return [begin, len(old) - begin - end, new[begin : len(new) - end]]


def _messages(
    steps: Sequence[Step], names: Sequence[str], network: str | None, picture: Picture, cut: Cut
) -> Iterator[Tree]:
    if network is None:
        return
    for flight in flights(steps, network, picture):
        if flight.src in names and flight.dst in names:
            yield _message(flight, names, picture, cut)


def _message(flight: Flight, names: Sequence[str], picture: Picture, cut: Cut) -> Tree:
    return {
        "label": picture.label(flight.message),
        "src": names.index(flight.src),
        "dst": names.index(flight.dst),
        "sent": flight.sent,
        "ended": flight.ended,
        "fate": flight.fate,
        "copy": flight.is_copy,
        "fields": [[str(name), cut(value)] for name, value in flight.message.d.items()],
    }


def as_json(tree: Tree) -> str:
    """Write JSON that can stand within an element: what could end it or begin another is escaped."""
    text = json.dumps(tree, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
