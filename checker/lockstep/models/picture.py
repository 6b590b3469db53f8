"""The shortest path to a violation in the state graph of a small spec, drawn as SVG."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.extras import extra
from lockstep.tla.explore import Exploration, Step, explore
from lockstep.tla.spec import Spec

_STEP, _LEFT, _WIDTH = 46, 60, 900


class NothingToDrawError(BadInputError):
    """The model has no violation; the message names it."""


class StateLimitError(GaveUpError):
    """The search came to its limit of states before it found a violation or had seen them all."""


def draw(spec: Spec, output: str | Path, *, title: str | None = None, limit: int = 20_000) -> str:
    """Draw the shortest path to a violation of a spec into the SVG file `output`; return a line about it.

    Each row is one depth of the search: the bar shows how many states it has, the path runs down the left side.
    A deadlock is no violation here.
    Arguments: `title`, the picture's, or else the name of the spec; `limit`, the most states to explore.
    Raises NothingToDrawError where there is no violation, StateLimitError where `limit` states show none.
    """
    name = title or spec.name
    found = explore(spec, keep_edges=True, check_deadlock=False, max_states=limit)
    if found.violation is None and not found.complete:
        raise StateLimitError(f"{name}: gave up after {limit:,} states; give a larger limit (--limit)")
    if found.violation is None:
        raise NothingToDrawError(f"{name} has no violation to draw")
    path = found.violation.trace
    Path(output).write_text(_svg(name, found.violation.name, _sizes(spec, found), path), encoding="utf-8")
    return f"{output}: {found.violation.name} is violated after {len(path) - 1} steps, {found.distinct} states explored"


def _sizes(spec: Spec, found: Exploration) -> Counter[int]:
    """Count the states at each depth; the search goes level by level, so the first edge to a state tells its depth."""
    initial = set(spec.initial_states())
    depths = {number: 0 for number, state in enumerate(found.states) if state in initial}
    for edge in found.edges:
        depths.setdefault(edge.target, depths[edge.source] + 1)
    return Counter(depths.values())


def _label(step: Step) -> str:
    if step.action is None:
        return "Init"
    node = next(iter(step.args.values()), "")
    return f"{step.action}({getattr(node, 'name', node)})"


def _svg(name: str, violated: str, sizes: Counter[int], path: Sequence[Step]) -> str:
    with extra("draw"):
        from jinja2 import Environment
    widest = max(sizes.values())
    rows = [
        {
            "y": 70 + index * _STEP,
            "label": _label(step),
            "count": sizes[index],
            "bar": round(380 * sizes[index] / widest, 1),
            "last": index == len(path) - 1,
        }
        for index, step in enumerate(path)
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
