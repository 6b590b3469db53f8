"""The state graph of a small model, and the shortest path to a violation in it, drawn as SVG."""

from __future__ import annotations

import itertools
from pathlib import Path

import networkx as nx
from jinja2 import Environment

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.models.manifest import Manifest, ModelEntry
from lockstep.tla.explore import Exploration, explore
from lockstep.tla.spec import load_spec
from lockstep.tla.values.kinds import Value

_STEP, _LEFT, _WIDTH = 46, 60, 900


class NothingToDrawError(BadInputError):
    """The model has no violation; the message names it."""


class StateLimitError(GaveUpError):
    """The search came to its limit of states before it found a violation or had seen them all."""


def state_graph(found: Exploration) -> nx.MultiDiGraph:
    """Make the graph of a search: a node a state with its depth, an edge a step with its label."""
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(len(found.states)))
    for edge in found.edges:
        graph.add_edge(edge.source, edge.target, label=_label(edge.action, edge.args))
    nx.set_node_attributes(graph, nx.single_source_shortest_path_length(graph, 0), "depth")
    return graph


def _label(action: str, args: dict[str, Value]) -> str:
    node = next(iter(args.values()), "")
    return f"{action}({getattr(node, 'name', node)})"


def draw(manifest: Manifest, model: ModelEntry, output: Path, limit: int) -> str:
    """Draw the shortest path to a violation of a model into the SVG file `output`; return a line about it.

    Each row is one depth of the search: the bar shows how many states it has, the path runs down the middle.
    Raises NothingToDrawError where there is no violation, StateLimitError where `limit` states show none.
    """
    name = model.name
    module, cfg = manifest.files(model)
    found = explore(
        load_spec(module, cfg, search_path=manifest.library), keep_edges=True, check_deadlock=False, max_states=limit
    )
    if found.violation is None and not found.complete:
        raise StateLimitError(f"{name}: gave up after {limit:,} states; give a larger --limit")
    if found.violation is None:
        raise NothingToDrawError(f"the model {name} has no violation to draw")
    graph = state_graph(found)
    last = found.states.index(found.violation.trace[-1].state)
    path: list[int] = nx.shortest_path(graph, 0, last)
    labels = ["Init"] + [next(iter(graph.get_edge_data(a, b).values()))["label"] for a, b in itertools.pairwise(path)]
    output.write_text(_svg(name, found.violation.name, graph, labels), encoding="utf-8")
    return f"{output}: {found.violation.name} is violated after {len(path) - 1} steps, {len(graph)} states explored"


def _svg(name: str, violated: str, graph: nx.MultiDiGraph, labels: list[str]) -> str:
    sizes = [0] * (len(labels) + 1)
    for _, depth in graph.nodes(data="depth"):
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
        name=name, property=violated, rows=rows, width=_WIDTH, left=_LEFT, height=90 + len(rows) * _STEP, step=_STEP
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
