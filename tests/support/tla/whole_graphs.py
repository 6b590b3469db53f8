"""State graphs of up to a million states, as numbers: those that TLC dumps, and those that a search by tables keeps.

A state is a row with the number of the value of each part, as tables have it. TLC lists its states and steps in an
order of its own, so the rows are sorted, and the steps after them.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from lockstep.tla.spec import Spec
from lockstep.tla.tables.decision_trees import Ints
from lockstep.tla.tables.state_layout import Rows
from lockstep.tla.tables.table_search import TableExploration
from lockstep.tla.values.kinds import Value, as_fcn
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc import TlcEdge, TlcNode

_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class Numbered:
    """A state graph as numbers.

    Attributes:
        states: a row for each state, with the number of the value of each part.
        initial: whether each is an initial one.
        steps: a row for each step: its source, its action, its target.
    """

    states: Rows
    initial: npt.NDArray[np.bool_]
    steps: Ints


# ---- By tables ----


def of_tables(found: TableExploration, spec: Spec, actions: dict[str, int]) -> Numbered:
    """Number the graph of a search by tables; `actions` are the numbers of actions, by TLC's names of them."""
    assert found.graph is not None
    states = found.graph.states
    sources, targets = found.graph.successors.edges()
    labels = {
        name: actions.setdefault(action.labels[0], len(actions))
        for name, action in spec.actions.items()
        if len(action.labels) == 1
    }
    taken = np.array([labels[name] for name in found.graph.actions], np.int64)
    return Numbered(
        states.rows,
        np.arange(len(states)) < found.levels[0],
        np.stack([sources.astype(np.int64), taken, targets.astype(np.int64)], axis=1),
    )


# ---- By TLC ----


def of_tlc(
    dumped: Iterable[TlcNode | TlcEdge], found: TableExploration, spec: Spec, actions: dict[str, int]
) -> Numbered:
    """Number the graph that TLC dumped, with the numbers of the search by tables."""
    assert found.graph is not None
    nodes, initial, steps = array("q"), array("b"), array("q")
    read, waiting, parts = Values(tuple(spec.model_values)), [], []
    for each in dumped:
        if isinstance(each, TlcEdge):
            steps.extend((each.source, actions.setdefault(each.action, len(actions)), each.target))
            continue
        nodes.append(each.id)
        initial.append(each.is_initial)
        waiting.append(spec.state({name: read.value(text) for name, text in each.variables.items()}))
        if len(waiting) == _AT_ONCE:
            parts.append(found.graph.states.rows_of(waiting))
            waiting = []
    parts.append(found.graph.states.rows_of(waiting))
    places = _places(np.frombuffer(nodes, np.int64), np.frombuffer(steps, np.int64).reshape(-1, 3))
    return Numbered(np.concatenate(parts), np.frombuffer(initial, np.int8).astype(np.bool_), places)


def _places(nodes: Ints, steps: Ints) -> Ints:
    """Return the steps with the places of their ends among the nodes."""
    order, edges = np.argsort(nodes), steps.copy()
    ids = nodes[order]
    for end in (0, 2):
        at = np.minimum(np.searchsorted(ids, edges[:, end]), len(ids) - 1)
        assert (ids[at] == edges[:, end]).all(), "a step of the dump joins no state of it"
        edges[:, end] = order[at]
    return edges


_SIGNS = re.compile(r'"(?:[^"\\]|\\.)*"|<<|>>|[(\[{]|[)\]}]|@@|:>')
_OPEN, _CLOSED = {"(", "[", "{", "<<"}, {")", "]", "}", ">>"}


class Values:
    """Values by their text; functions are read element by element, since most elements have been read before."""

    def __init__(self, model_values: tuple[str, ...]) -> None:
        self._model_values, self._known = model_values, dict[str, Value]()

    def value(self, text: str) -> Value:
        known = self._known.get(text)
        if known is None:
            known = self._known[text] = self._read(text)
        return known

    def _read(self, text: str) -> Value:
        if not text.startswith("("):
            return parse_value(text, self._model_values)
        return as_fcn({self.value(key): self.value(value) for key, value in _elements(text[1:-1])})


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """List the elements of a function, `key :> value @@ key :> value`, as texts."""
    depth, begin, middle = 0, 0, 0
    for sign in _SIGNS.finditer(text):
        found = sign[0]
        if found in _OPEN:
            depth += 1
        elif found in _CLOSED:
            depth -= 1
        elif depth == 0 and found == ":>":
            middle = sign.start()
        elif depth == 0 and found == "@@":
            yield text[begin:middle].strip(), text[middle + 2 : sign.start()].strip()
            begin = sign.end()
    yield text[begin:middle].strip(), text[middle + 2 :].strip()


# ---- Beside one another ----


def graph_differences(one: Numbered, other: Numbered) -> list[str]:
    """List the differences of two state graphs."""
    sizes = [(len(each.states), len(each.steps)) for each in (one, other)]
    if sizes[0] != sizes[1]:
        return [f"{sizes[0]} states and steps, and {sizes[1]}"]
    (states, initial, steps), (others, first, follows) = map(_sorted, (one, other))
    if twice := int((states[1:] == states[:-1]).all(axis=1).sum()):
        return [f"states that are there twice: {twice:,}"]
    if (differing := (states != others).any(axis=1)).any():
        return [f"states: {differing.sum():,} in the order of all"]
    found = [f"initial states: {np.flatnonzero(initial != first)[:5].tolist()}"] * bool((initial != first).any())
    if (differing := (steps != follows).any(axis=1)).any():
        mine, theirs = steps[differing][0].tolist(), follows[differing][0].tolist()
        found.append(f"steps: {differing.sum():,} in the order of all, the first {mine} and {theirs}")
    return found


def _sorted(graph: Numbered) -> tuple[Rows, npt.NDArray[np.bool_], Ints]:
    """Put states into the order of their values, and steps into that of their ends."""
    order = np.lexsort(graph.states.T[::-1])
    places = np.empty(len(order), np.int64)
    places[order] = np.arange(len(order))
    steps = graph.steps.copy()
    for end in (0, 2):
        steps[:, end] = places[steps[:, end]]
    return graph.states[order], graph.initial[order], steps[np.lexsort(steps.T[::-1])]
