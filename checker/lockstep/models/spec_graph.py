"""The states that a small spec can reach and the steps between them, as a graph of networkx, and its file formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lockstep.base.errors import BadInputError
from lockstep.models.counterexample_picture import StateLimitError
from lockstep.tla.exploration import SearchStep
from lockstep.tla.explore import LiteralSearch, run_search
from lockstep.tla.search_options import ReportProgress, SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import ModelValue, Value, format_call, format_value

if TYPE_CHECKING:
    import networkx as nx

#: The number of states of a graph, unless the caller gives another limit.
MAX_GRAPH_STATES = 20_000

#: The attributes of a written node that are no variables; a variable's name does not begin like them.
INITIAL, VIOLATES = "#initial", "#violates"


class NoGraphError(BadInputError):
    """The spec has no graph: it has no states, or one of its steps fails an Assert; the message says why."""


def graph(
    spec: Spec, *, limit: int = MAX_GRAPH_STATES, on_progress: ReportProgress | None = None
) -> nx.MultiDiGraph[int]:
    """Return all states that a spec can reach, and the steps between them, as a `networkx.MultiDiGraph`.

    The nodes are numbers, in the order in which the states are found, and have the variables as attributes. An edge has
    its `action`, its arguments as `args`, and both as the text `label`. The graph itself has the attributes `name`,
    `initial` (the initial states) and `violates` (the names of the invariants and properties of steps that are false in
    a state, or of a step to it, by state). A violation does not end the search. SYMMETRY, VIEW and constraints leave
    out the states that `lockstep.explore` leaves out. Temporal properties and deadlocks are not looked for.

    Arguments: `limit`, the most states; `on_progress`, called with the progress of the search.
    Raises StateLimitError where there are more states, NoGraphError where there is none, or a step fails an Assert,
    FalseAssumptionError where an ASSUME is false, and SpecFault where a formula has no value.
    """
    import networkx as nx  # here, since loading it takes a while

    search = _GraphSearch(spec, limit, on_progress)
    found = run_search(search)
    if found.distinct > limit:
        raise StateLimitError(f"{spec.name}: it has more than {limit:,} states; give a larger limit")
    if not found.states:
        raise NoGraphError(
            f"{spec.name} has no states: {'none is initial' if spec.has_behaviour else 'it has no Init'}"
        )
    made = nx.MultiDiGraph(name=spec.name, initial=list(range(found.levels[0])), violates=search.violates)
    for number, state in enumerate(found.states):
        made.add_node(number)
        made.nodes[number].update(state.as_dict())
    known: set[tuple[int, int, str]] = set()  # TLC generates some steps several times
    for edge in found.edges:
        label = format_call(edge.action, edge.args)
        if (edge.source, edge.target, label) not in known:
            known.add((edge.source, edge.target, label))
            made.add_edge(edge.source, edge.target, action=edge.action, args=edge.args, label=label)
    return made


class _GraphSearch(LiteralSearch):
    """A search that goes on where something is violated, and records where."""

    def __init__(self, spec: Spec, limit: int, on_progress: ReportProgress | None) -> None:
        options = SearchOptions(check_deadlock=False, max_states=limit + 1, keep_edges=True, on_progress=on_progress)
        super().__init__(spec, options)
        self.successors = None  # no temporal property is checked
        self.violates: dict[int, list[str]] = {}

    def violated(self, kind: str, name: str, trace: list[SearchStep], message: str = "") -> None:
        """Record what is false in the last state of a path, if the constraints leave that in the graph."""
        if kind == "assertion":
            raise NoGraphError(
                f"{self.spec.name}: a step fails an Assert: {message}; `lockstep model` shows the way there"
            )
        state = trace[-1].state
        number = self.known(state)
        if number is None:
            return
        invariants = self.spec.invariants if kind == "invariant" else {}  # the search names the first of them
        names = [each for each, holds in invariants.items() if not holds(state)] or [name]
        known = self.violates.setdefault(number, [])
        known += [each for each in names if each not in known]


# ---- Files ----


def graph_bytes(made: nx.MultiDiGraph[int], form: str) -> bytes:
    """Return a graph in one of GRAPH_FORMATS. A value that is no number, boolean or string is the text of TLA+."""
    return GRAPH_FORMATS[form](_plain(made))


def _plain(made: nx.MultiDiGraph[int]) -> nx.MultiDiGraph[int]:
    """Return the graph with attributes that every format has: numbers, booleans and strings."""
    import networkx as nx

    plain = nx.MultiDiGraph(name=made.graph["name"])
    initial, violates = set(made.graph["initial"]), made.graph["violates"]
    for number, variables in made.nodes(data=True):
        plain.add_node(number)
        plain.nodes[number].update({name: _scalar(value) for name, value in variables.items()})
        plain.nodes[number].update({INITIAL: number in initial, VIOLATES: ", ".join(violates.get(number, []))})
    for source, target, attributes in made.edges(data=True):
        plain.add_edge(source, target, action=attributes["action"], label=attributes["label"])
    return plain


def _scalar(value: Value) -> int | str:
    """Return a value as it is if it is a number, a boolean or a string, a model value's name, or the text of TLA+."""
    if isinstance(value, ModelValue):
        return value.name
    return value if isinstance(value, bool | int | str) else format_value(value)


def _graphml(plain: Any) -> bytes:
    import networkx as nx

    return "\n".join([*nx.generate_graphml(plain), ""]).encode()


def _node_link(plain: Any) -> bytes:
    import networkx as nx

    for _, variables in plain.nodes(data=True):
        if "id" in variables:  # which is the node's number here
            variables["#id"] = variables.pop("id")
    return json.dumps(nx.node_link_data(plain, edges="edges")).encode() + b"\n"


def _dot(plain: Any) -> bytes:
    """Write DOT, of Graphviz; what networkx has for it needs another package."""
    lines = [f"digraph {_quoted(plain.graph['name'])} {{"]
    for number, attributes in plain.nodes(data=True):
        shown = {name: value for name, value in attributes.items() if name not in (INITIAL, VIOLATES)}
        label = "".join(f"{name} = {value}\n" for name, value in shown.items()).rstrip("\n")
        outline = ", peripheries=2" if attributes[INITIAL] else ""
        colour = ", color=red" if attributes[VIOLATES] else ""
        lines.append(f"  {number} [label={_quoted(label)}{outline}{colour}];")
    lines += [f"  {one} -> {other} [label={_quoted(data['label'])}];" for one, other, data in plain.edges(data=True)]
    return "\n".join([*lines, "}", ""]).encode()


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


#: The formats of a written graph, by their names.
GRAPH_FORMATS: Mapping[str, Callable[[Any], bytes]] = {
    "graphml": _graphml,
    "node-link": _node_link,
    "dot": _dot,
}
