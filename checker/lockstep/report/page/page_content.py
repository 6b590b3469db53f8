"""The content of a page: all that it shows, as one tree that JSON can hold."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from lockstep.base.characters import beginning, visible_tree
from lockstep.base.errors import BadInputError
from lockstep.report.page.answer_tree import diagnosis_tree, shortened
from lockstep.report.page.change_rows import MAX_CHANGES, ChangeRows
from lockstep.report.page.message_flights import Flight, flights
from lockstep.report.page.named_places import sources_tree, texts_in
from lockstep.report.page.shown_behaviour import Remark, ShownBehaviour, ShownStep
from lockstep.report.page.source_lines import reference_lines, spec_lines
from lockstep.systems.node_picture import Picture, is_message, shown
from lockstep.systems.system import System
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Fcn, Value, format_beginning, format_value
from lockstep.trace.trace_format import Header

Tree: TypeAlias = dict[str, Any]

#: A text longer than this is cut; the page says so with an ellipsis.
MAX_TEXT = 2_000

#: Number of entries of a log to show below the least last index that the log has in the steps that are shown.
ENTRIES_BELOW = 100

#: The greatest number of lines of a remark.
MAX_LINES = 400

#: The size of a page in bytes, and the share of its tree as JSON, to which scripts and styles are added.
MAX_PAGE_BYTES = 8_000_000
_MAX_TREE_BYTES = MAX_PAGE_BYTES - 500_000


class TooLargeError(BadInputError):
    """One state is too large for a page."""


def fit_to_page(behaviour: ShownBehaviour, context: PageContext) -> tuple[ShownBehaviour, Tree]:
    """Return the part of a behaviour that fits into a page of MAX_PAGE_BYTES, and what the page shows of it.

    It is the part around what is wrong first, or the end where nothing is. If only a few steps are left and do not fit,
    texts are cut shorter.
    Raises TooLargeError where one state does not fit.
    """
    longest = MAX_TEXT
    while True:
        tree = page_content(behaviour, context, longest)
        size, count = len(json_for_html(tree)), len(behaviour.steps)
        if size <= _MAX_TREE_BYTES:
            return behaviour, tree
        if count > _STEPS_TO_KEEP or (longest <= _MIN_TEXT and count > 1):
            behaviour = _narrowed(behaviour, max(1, int(count * 0.9 * _MAX_TREE_BYTES / size)))
        elif longest > _MIN_TEXT:
            longest //= 4
        else:
            raise TooLargeError(f"a page has at most {MAX_PAGE_BYTES:,} bytes, and one state of {behaviour.title} more")


#: Up to this many steps, texts are cut shorter, down to about this length, before more steps are left out.
_STEPS_TO_KEEP, _MIN_TEXT = 20, 40


def _narrowed(behaviour: ShownBehaviour, count: int) -> ShownBehaviour:
    """Return a behaviour with `count` of its steps, three in four of them up to what is wrong first."""
    steps = behaviour.steps
    numbers = [remark.number for remark in behaviour.remarks]
    wrong = min(numbers, default=steps[-1].number) - steps[0].number
    end = min(len(steps), max(wrong + 1 + count // 4, count))
    return replace(behaviour, steps=steps[max(0, end - count) : end])


@dataclass(frozen=True, slots=True)
class PageContext:
    """The system and the compiled spec that a behaviour belongs to, and the text of the spec's modules by name.

    `header` is that of the trace, where the behaviour is one of a system that lockstep knows.
    """

    system: System
    spec: Spec
    texts: dict[str, str]
    header: Header | None = None

    @property
    def picture(self) -> Picture | None:
        """The picture of states; None where the spec is a part of the system without nodes, or the user's own."""
        picture = self.system.picture
        return picture if picture is not None and picture.nodes in self.spec.variables else None

    @property
    def network(self) -> str | None:
        """The variable that holds the messages under way, if there are nodes to draw them between."""
        return None if self.picture is None or self.system.outbox is None else self.system.outbox.network

    @property
    def properties(self) -> tuple[str, ...]:
        """The names of what is evaluated in each state and in each step."""
        return tuple(dict.fromkeys([*self.spec.invariants, *self.spec.action_properties]))

    def nodes(self, state: Mapping[str, Value]) -> list[Value]:
        """Return the nodes of a state in the order in which they are drawn; none without a picture."""
        table = None if self.picture is None else state[self.picture.nodes]
        return sorted(table.d, key=format_value) if isinstance(table, Fcn) else []


def page_content(behaviour: ShownBehaviour, context: PageContext, longest: int = MAX_TEXT) -> Tree:
    """Return what a page shows of a behaviour; `longest` is the length at which texts are cut."""
    picture, steps = context.picture, behaviour.steps
    names = [shown(node) for node in context.nodes(steps[0].state)]
    drawing = None if picture is None else _NodeDrawing(context, picture, steps)
    printer = ValuePrinter(longest)
    actions = list(dict.fromkeys(step.action for step in steps))
    tree: Tree = {
        "title": behaviour.title,
        "verdict": behaviour.verdict,
        "reason": behaviour.reason,
        "count": behaviour.count,
        "lines": [step.line or 0 for step in steps] if behaviour.by_line else None,
        "names": behaviour.names if behaviour.by_log else None,
        "nodes": names,
        "properties": list(behaviour.properties),
        "actions": [_action(name, context) for name in actions],
        "lowest": 0 if drawing is None else drawing.lowest_shown,
        "steps": [*_steps(steps, names, actions, behaviour.properties, drawing, printer, context.network)],
        "messages": [] if picture is None else [*_messages(steps, names, context.network, picture, printer)],
        "remarks": [_remark(remark, longest) for remark in behaviour.remarks],
        "diagnosis": None if behaviour.diagnosis is None else diagnosis_tree(behaviour.diagnosis, steps, longest),
        "origins": [[each.name, each.short, each.full] for each in behaviour.origins],
        "initial": [[name, printer(value)] for name, value in steps[0].state.items()],
        "backTo": behaviour.back_to,
        "backBy": behaviour.back_by,
    }
    naming = [tree["remarks"], (tree["diagnosis"] or {}).get("rows", [])]
    tree["sources"] = sources_tree(texts_in(naming), context.texts)
    shown_tree: Tree = visible_tree(tree)
    return shown_tree


class ValuePrinter:
    """Printer of values, with long ones cut; each is printed once, since a step leaves most values as they are."""

    def __init__(self, longest: int) -> None:
        self.longest = longest
        self._texts: dict[int, tuple[Value, str]] = {}

    def __call__(self, value: Value) -> str:
        """Return the text of a value."""
        found = self._texts.get(id(value))
        if found is None:  # the value is kept, so that no other has its id
            found = self._texts[id(value)] = value, format_beginning(value, self.longest)
        return found[1]


def _remark(remark: Remark, longest: int) -> Tree:
    tables = [
        {
            "title": table.title,
            "heads": list(table.heads),
            "rows": [[beginning(cell, longest) for cell in row] for row in table.rows[:MAX_CHANGES]],
            "marked": sorted(table.marked),
        }
        for table in remark.tables
    ]
    lines = [beginning(line, longest) for line in remark.lines[:MAX_LINES]]
    if len(remark.lines) > MAX_LINES:
        lines.append(f"… and {len(remark.lines) - MAX_LINES:,} more")
    return {
        "number": remark.number,
        "title": beginning(remark.title, longest),
        "lines": lines,
        "tables": tables,
        "short": shortened(remark.short, longest),
    }


def _action(name: str, context: PageContext) -> Tree:
    known = context.spec.actions.get(name)
    place = context.spec.init_place if name == "Init" else known.loc if known is not None else None
    location = context.system.locate(name)
    return {
        "name": name,
        "place": "" if place is None else str(place),
        "tla": "" if place is None else spec_lines(context.texts, place),
        "location": location,
        "python": reference_lines(location),
    }


def _steps(
    steps: Sequence[ShownStep],
    names: Sequence[str],
    actions: Sequence[str],
    properties: Sequence[str],
    drawing: _NodeDrawing | None,
    printer: ValuePrinter,
    network: str | None,
) -> Iterator[Tree]:
    before: ShownStep | None = None
    picture = None if drawing is None else drawing.picture
    changes = ChangeRows(picture, network, printer)
    for step in steps:
        tree: Tree = {
            "number": step.number,
            "action": actions.index(step.action),
            "node": names.index(step.node) if step.node in names else -1,
            "args": [[name, argument_text(value, picture, printer)] for name, value in step.other_args.items()],
            "changed": [] if before is None else [*changes.rows(before.state, step.state)],
            "failed": [properties.index(name) for name in properties if name in step.failed],
            "looks": {} if drawing is None else drawing.looks(before, step),
            "values": _values(before, step, printer) if picture is None else {},
        }
        if step.line is not None:
            tree["line"] = f"{step.source}:{step.line}" if step.source else f"line {step.line}"
        elif step.is_hidden:
            tree["line"] = "in no line"
        if picture is not None and (votes := [*_votes(step, names, picture)]):
            tree["votes"] = votes
        if step.is_refused:
            tree["refused"] = True
        yield tree
        before = step


def _votes(step: ShownStep, names: Sequence[str], picture: Picture) -> Iterator[list[int]]:
    """Yield the votes that a step grants without a message: the places of the node that votes, and of its candidate."""
    for each in () if step.is_refused else picture.votes(step.action, step.args):
        voter, candidate = map(shown, each)
        if voter in names and candidate in names:
            yield [names.index(voter), names.index(candidate)]


def argument_text(value: Value, picture: Picture | None, printer: ValuePrinter) -> str:
    """Return an argument as text; a message only as its label, since its fields are shown where it is drawn."""
    if picture is not None and is_message(value):
        return f"{picture.label(value)} from {shown(value.d['src'])}"
    return printer(value)


def _values(before: ShownStep | None, step: ShownStep, printer: ValuePrinter) -> dict[str, str]:
    """Return the variables that a step changes, with their values after it; all variables of the first state."""
    old = {} if before is None else before.state
    return {name: printer(value) for name, value in step.state.items() if old.get(name) is not value}


class _NodeDrawing:
    """Drawing of the nodes, step by step; a log is its difference from the log that was drawn last."""

    def __init__(self, context: PageContext, picture: Picture, steps: Sequence[ShownStep]) -> None:
        """Find the lowest entry to show of each log: a long log is cut a little below what the steps change."""
        self.context, self.picture = context, picture
        nodes = context.nodes(steps[0].state)
        ends = {node: min(picture.end(step.state, node) for step in steps) for node in nodes}
        self._lowest = {node: max(0, end - ENTRIES_BELOW) for node, end in ends.items()}
        self._logs: dict[Value, list[list[Any]]] = {}
        self.lowest_shown = max(self._lowest.values(), default=0)

    def looks(self, before: ShownStep | None, step: ShownStep) -> Tree:
        """Return how each node is drawn that a step changed, by its place in the list of nodes."""
        found: Tree = {}
        for place, node in enumerate(self.context.nodes(step.state)):
            now = step.state[self.picture.nodes].d[node]
            if before is None or before.state[self.picture.nodes].d[node] is not now:
                found[str(place)] = self._look(step, node)
        return found

    def _look(self, step: ShownStep, node: Value) -> Tree:
        look = self.picture.draw(step.state, node, self._lowest[node])
        log = [[entry.index, entry.term, beginning(entry.text, MAX_TEXT), entry.is_committed] for entry in look.log]
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
    """Return the difference of two lists: a place, the number of old elements to remove there, and the new ones."""
    shorter = min(len(old), len(new))
    begin = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    end = next((at for at in range(shorter - begin) if old[-1 - at] != new[-1 - at]), shorter - begin)
    return [begin, len(old) - begin - end, new[begin : len(new) - end]]


def _messages(
    steps: Sequence[ShownStep], names: Sequence[str], network: str | None, picture: Picture, printer: ValuePrinter
) -> Iterator[Tree]:
    if network is None:
        return
    for flight in flights(steps, network, picture):
        if flight.src in names and flight.dst in names:
            yield _message(flight, names, picture, printer)


def _message(flight: Flight, names: Sequence[str], picture: Picture, printer: ValuePrinter) -> Tree:
    return {
        "label": picture.label(flight.message),
        "src": names.index(flight.src),
        "dst": names.index(flight.dst),
        "sent": flight.sent,
        "ended": flight.ended,
        "fate": flight.fate,
        "copy": flight.is_copy,
        "vote": picture.grants(flight.message),
        "fields": [[str(name), printer(value)] for name, value in flight.message.d.items()],
    }


def json_for_html(tree: Tree) -> str:
    """Write JSON that can stand within an element: what could end it or begin another is escaped."""
    text = json.dumps(tree, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
