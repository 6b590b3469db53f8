"""The state graph of a specification twice, by TLC and by the compiled specification, and where the two differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from lockstep.tla.explore import explore
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.printed_values import parse_value
from lockstep.tlc import TlcOptions, dump_state_graph

State = tuple[Value, ...]


@dataclass(frozen=True)
class StateGraph:
    """A state graph: states as values, edges as (state, action, state) with their multiplicity, TLC's counts.

    The graph of a model that is violated is a part only, and has the name of what is violated.
    """

    states: frozenset[State]
    initial: frozenset[State]
    edges: Counter[tuple[State, str, State]]
    distinct: int
    generated: int | None
    depth: int | None
    violated: str | None = None


def graph_by_tlc(module: Path, cfg: Path, spec: Spec, *, deadlock: bool = False) -> StateGraph:
    """Have TLC explore a model, and read the graph that it dumps."""
    graph = dump_state_graph(module, cfg, TlcOptions(deadlock_check=deadlock, is_short=True))
    assert graph.result is not None
    names = tuple(spec.model_values)
    states = {
        node: tuple(parse_value(variables[name], names) for name in spec.variables)
        for node, variables in graph.nodes.items()
    }
    return StateGraph(
        states=frozenset(states.values()),
        initial=frozenset(states[node] for node in graph.initial),
        edges=Counter((states[edge.source], edge.action, states[edge.target]) for edge in graph.edges),
        distinct=len(states),
        generated=graph.result.generated,
        depth=graph.result.depth,
    )


def graph_by_search(spec: Spec, *, deadlock: bool = False) -> StateGraph:
    """Explore a model with the compiled specification."""
    found = explore(spec, SearchOptions(keep_edges=True, check_deadlock=deadlock))
    states = [tuple(state) for state in found.states]
    return StateGraph(
        states=frozenset(states),
        initial=frozenset(tuple(state) for state in spec.initial_states()),
        edges=Counter((states[edge.source], label(spec, edge.action), states[edge.target]) for edge in found.edges),
        distinct=len(states),
        generated=found.generated,
        depth=found.depth,
        violated=found.violation and found.violation.name,
    )


def label(spec: Spec, action: str) -> str:
    """The name that TLC gives the edges of an action."""
    (name,) = spec.actions[action].labels
    return name


def differences(ours: StateGraph, theirs: StateGraph) -> list[str]:
    """List the differences of two graphs; the list is empty if they are equal."""
    found = [
        f"{what}: {mine} here, {others} by TLC"
        for what, mine, others in (
            ("violated", ours.violated, theirs.violated),
            ("distinct states", ours.distinct, theirs.distinct),
            ("generated states", ours.generated, theirs.generated),
            ("depth", ours.depth, theirs.depth),
        )
        if mine != others
    ]
    found += _sided("state", ours.states, theirs.states)
    found += _sided("initial state", ours.initial, theirs.initial)
    found += _sided("edge", (ours.edges - theirs.edges).elements(), (theirs.edges - ours.edges).elements())
    return found


def _sided(what: str, mine: Iterable[object], others: Iterable[object]) -> list[str]:
    mine, others = list(mine), list(others)
    shared = set(mine) & set(others)
    only = [(item, "here") for item in mine if item not in shared]
    only += [(item, "by TLC") for item in others if item not in shared]
    return [f"{what} only {side}: {item}" for item, side in only[:10]]
