"""The state graph of a small model, and the shortest path to a violation in it, drawn as SVG."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
from jinja2 import Environment

from lockstep.models import manifest
from lockstep.tla.spec import Spec, load_spec
from lockstep.tla.state import State

_STEP, _LEFT, _WIDTH = 46, 60, 900


class NothingToDrawError(Exception):
    """The model has no violation within the limit; the message says which it is."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A state that violates a property, in the graph explored up to there."""

    name: str
    state: State
    graph: nx.MultiDiGraph
    initial: State


def find_violation(spec: Spec, limit: int) -> Violation | None:
    """Search breadth first for a state in which an invariant is false.

    Arguments: `spec`, with its invariants; `limit`, the most states to explore.
    Returns the first one found with the graph up to there, or None when the whole graph has none. Raises
    NothingToDrawError when the limit is reached first.
    """
    graph = nx.MultiDiGraph()
    initial = next(iter(spec.initial_states()))
    graph.add_node(initial, depth=0)
    frontier = [initial]
    while frontier:
        following: list[State] = []
        for state in frontier:
            for action, args, after in spec.successors(state):
                if after not in graph:
                    graph.add_node(after, depth=graph.nodes[state]["depth"] + 1)
                    following.append(after)
                graph.add_edge(state, after, label=_label(action, args))
                failed = next((name for name, holds in spec.invariants.items() if not holds(after)), None)
                if failed is not None:
                    return Violation(failed, after, graph, initial)
                if graph.number_of_nodes() > limit:
                    raise NothingToDrawError(f"no violation in the first {limit} states: give a larger --limit")
        frontier = following
    return None


def _label(action: str, args: dict[str, object]) -> str:
    node = next(iter(args.values()), "")
    return f"{action}({getattr(node, 'name', node)})"


def draw(name: str, output: Path, limit: int) -> str:
    """Draw the shortest path to a violation of a model into the SVG file `output`; return a line about it.

    Each row is one depth of the search: the bar shows how many states it has, the path runs down the middle.
    Raises NothingToDrawError when there is no violation.
    """
    pinned = manifest()
    try:
        module, cfg = pinned.files(pinned.model(name))
    except KeyError as error:
        raise NothingToDrawError(str(error.args[0])) from error
    found = find_violation(load_spec(module, cfg), limit)
    if found is None:
        raise NothingToDrawError(f"the model {name} has no violation: there is no path to draw")
    path: list[State] = nx.shortest_path(found.graph, found.initial, found.state)
    labels = ["Init"] + [
        next(iter(found.graph.get_edge_data(a, b).values()))["label"] for a, b in itertools.pairwise(path)
    ]
    output.write_text(_svg(name, found, labels), encoding="utf-8")
    count = found.graph.number_of_nodes()
    return f"{output}: {found.name} is violated after {len(path) - 1} steps, {count} states explored"


def _svg(name: str, found: Violation, labels: list[str]) -> str:
    sizes = [0] * (len(labels) + 1)
    for _, depth in found.graph.nodes(data="depth"):
        if depth < len(sizes):
            sizes[depth] += 1
    widest = max(sizes)
    rows = [
        {
            "y": 70 + index * _STEP,
            "label": label,
            "count": sizes[index],
            "bar": round(380 * sizes[index] / widest, 1),
            "last": index == len(labels) - 1,
        }
        for index, label in enumerate(labels)
    ]
    template = Environment(autoescape=True).from_string(_TEMPLATE)
    return template.render(
        name=name, property=found.name, rows=rows, width=_WIDTH, left=_LEFT, height=90 + len(rows) * _STEP, step=_STEP
    )


_TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{{ width }}" height="{{ height }}" \
viewBox="0 0 {{ width }} {{ height }}" font-family="monospace" font-size="14">
<rect width="100%" height="100%" fill="#fff"/>
<text x="20" y="30" font-size="17">{{ name }}: the shortest way to violate {{ property }}</text>
<text x="480" y="52" fill="#667">states found at this depth</text>
{% for row in rows -%}
{% if not row.last %}<line x1="{{ left }}" y1="{{ row.y }}" x2="{{ left }}" y2="{{ row.y + step }}" stroke="#345" \
stroke-width="2"/>
{% endif -%}
<rect x="480" y="{{ row.y - 9 }}" width="{{ row.bar }}" height="18" fill="#cfd8e6"/>
<text x="486" y="{{ row.y + 5 }}" fill="#334">{{ row.count }}</text>
<circle cx="{{ left }}" cy="{{ row.y }}" r="8" fill="{{ '#c0392b' if row.last else '#345' }}"/>
<text x="{{ left + 20 }}" y="{{ row.y + 5 }}">{{ loop.index0 }}  {{ row.label }}</text>
{% endfor -%}
</svg>
"""
