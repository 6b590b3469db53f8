"""A shortest path to a violation of a small model, with the other states of the search, drawn as SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lockstep.base.errors import BadInputError, GaveUpError
from lockstep.base.extras import extra
from lockstep.base.verdict import no_state_reason
from lockstep.tla.exploration import Exploration, SearchStep, Violation
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables.compiled_search import explore_compiled

if TYPE_CHECKING:
    from jinja2 import Template

    from lockstep.tla.tables.table_search import TableExploration

_STEP, _LEFT, _WIDTH = 46, 60, 900


class NothingToDrawError(BadInputError):
    """The model has no violation; the message names it."""


class StateLimitError(GaveUpError):
    """The search came to its limit of states before it found a violation or had seen them all."""


class UncheckedError(GaveUpError):
    """Nothing that the search checks is violated, but there is no state, or there are properties it cannot check."""


def draw(
    spec: Spec, output: str | Path, *, title: str | None = None, limit: int = 20_000, check_deadlock: bool | None = None
) -> tuple[Violation, str]:
    """Draw a shortest path to a violation of a spec into the SVG file `output`; return it, and a line about it.

    Each row is one depth of the search: the bar shows how many states it has, the path runs down the middle. In
    a behaviour without end, which violates a temporal property, a dashed line leads from the last state to the next.
    Arguments: `title`, the picture's, or else the name of the spec; `limit`, how many states are explored;
    `check_deadlock`, whether a state without successors is a violation; the configuration decides if None.
    Raises NothingToDrawError where there is no violation, UncheckedError where there is none, but no state either, or a
    property that was not checked; StateLimitError where `limit` states show none, FalseAssumptionError where an ASSUME
    is false.
    """
    template = _template()  # first, since the search may take its time
    name = title or spec.name
    found = explore_compiled(spec, SearchOptions(check_deadlock=check_deadlock, max_states=limit))
    violation = found.violation
    if violation is None and not found.complete:
        raise StateLimitError(f"{name}: gave up after {limit:,} states; give a larger limit (--limit)")
    if violation is None and spec.has_behaviour and not found.distinct:
        raise UncheckedError(f"{name}: {no_state_reason(found.generated)}")
    if violation is None and found.unchecked:
        unchecked = ", ".join(found.unchecked)
        raise UncheckedError(f"{name}: no violation was found, but no search checks {unchecked}")
    if violation is None or not violation.trace:
        raise NothingToDrawError(f"{name} has no violation to draw")
    Path(output).write_text(_svg(template, name, found, violation), encoding="utf-8")
    line = f"{output}: {violation.label} is violated {_where(violation)}, {found.distinct} states explored"
    return violation, line


def _where(violation: Violation) -> str:
    last = len(violation.trace)
    if violation.back_to is None:
        return f"in step {last}"
    if violation.back_to == last - 1:
        return f"by staying in step {last} for ever"
    return f"by going back from step {last} to step {violation.back_to + 1}"


def _template() -> Template:
    with extra("draw"):
        from jinja2 import Environment
    return Environment(autoescape=True).from_string(_TEMPLATE)


def _label(step: SearchStep) -> str:
    if step.action is None:
        return "Init"
    first = next(iter(step.args.values()), "")
    return f"{step.action}({getattr(first, 'name', first)})"


def _svg(template: Template, name: str, found: Exploration | TableExploration, violation: Violation) -> str:
    widest = max(found.levels)
    last = len(violation.trace) - 1
    rows = []
    for index, step in enumerate(violation.trace):
        # The step that violates may lead out of the states that the constraints leave: its level has none then.
        count = found.levels[index] if index < len(found.levels) else 0
        bar = round(380 * count / widest, 1) if widest else 0
        rows.append({"y": 70 + index * _STEP, "label": _label(step), "count": count, "bar": bar, "last": index == last})
    back = violation.back_to
    return template.render(
        name=name,
        property=violation.label,
        rows=rows,
        which="the shortest" if back is None else "a",
        back=None if back is None else {"end": rows[last]["y"], "to": rows[back]["y"], "stays": back == last},
        width=_WIDTH,
        left=_LEFT,
        height=90 + len(rows) * _STEP,
        step=_STEP,
    )


_TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{{ width }}" height="{{ height }}" \
viewBox="0 0 {{ width }} {{ height }}" font-family="monospace" font-size="14">
<rect width="100%" height="100%" fill="#fff"/>
{% if back is not none -%}
<defs><marker id="back" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="6" markerHeight="6" orient="auto">\
<path d="M 0 0 L 8 4 L 0 8 z" fill="#c0392b"/></marker></defs>
{% endif -%}
<text x="20" y="30" font-size="17">{{ name }}: {{ which }} way to violate {{ property }}</text>
<text x="480" y="52" fill="#667">states found at this depth</text>
{% for row in rows -%}
{% if not row.last %}<line x1="{{ left }}" y1="{{ row.y }}" x2="{{ left }}" y2="{{ row.y + step }}" stroke="#345" \
stroke-width="2"/>
{% endif -%}
<rect x="480" y="{{ row.y - 9 }}" width="{{ row.bar }}" height="18" fill="#cfd8e6"/>
<text x="486" y="{{ row.y + 5 }}" fill="#334">{{ row.count }}</text>
<circle cx="{{ left }}" cy="{{ row.y }}" r="8" fill="{{ '#c0392b' if row.last else '#345' }}"/>
<text x="{{ left + 20 }}" y="{{ row.y + 5 }}">{{ loop.index }}  {{ row.label }}</text>
{% endfor -%}
{% if back is not none -%}
<path d="M {{ left - 8 }} {{ back.end }} C 6 {{ back.end + (18 if back.stays else 0) }} \
6 {{ back.to - (18 if back.stays else 0) }} {{ left - 8 }} {{ back.to }}" fill="none" stroke="#c0392b" \
stroke-width="2" stroke-dasharray="6 3" marker-end="url(#back)"/>
{% endif -%}
</svg>
"""
