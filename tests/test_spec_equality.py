"""The compiled spec has the state graph that TLC finds: state for state, edge for edge, action for action."""

from __future__ import annotations

import functools
from collections import Counter
from pathlib import Path

import pytest

from lockstep.models import manifest
from lockstep.paths import spec_dir
from lockstep.tla.explore import Exploration, explore
from lockstep.tla.spec import Spec, load_spec
from lockstep.tla.text import parse_value
from lockstep.tlc import TlcGraph, dump_state_graph

#: Models of the manifest whose whole graph is compared: no SYMMETRY, no violation, few states.
COMPARED = ("ordered", "unordered", "votes_small", "crash")


def files(name: str) -> tuple[Path, Path]:
    pinned = manifest()
    return pinned.files(pinned.model(name))


@functools.cache
def compiled(name: str) -> tuple[Spec, Exploration]:
    spec = load_spec(*files(name))
    return spec, explore(spec, keep_edges=True, check_deadlock=False)


@functools.cache
def dumped(name: str) -> TlcGraph:
    return dump_state_graph(*files(name))


def canonical(spec: Spec, graph: TlcGraph) -> dict[int, tuple[object, ...]]:
    """TLC's printed states as values."""
    names = tuple(spec.model_values)
    return {
        node: tuple(parse_value(variables[name], names) for name in spec.variables)
        for node, variables in graph.nodes.items()
    }


@pytest.mark.parametrize("name", COMPARED)
def test_the_compiled_spec_has_exactly_the_states_that_tlc_finds(name: str) -> None:
    spec, found = compiled(name)
    graph = dumped(name)
    states = canonical(spec, graph)
    assert found.complete
    assert {tuple(state) for state in found.states} == set(states.values())
    assert len(found.states) == len(states)


@pytest.mark.parametrize("name", COMPARED)
def test_the_compiled_spec_has_exactly_the_edges_that_tlc_finds_with_their_actions(name: str) -> None:
    spec, found = compiled(name)
    graph = dumped(name)
    states = canonical(spec, graph)
    ours = Counter(
        (tuple(found.states[edge.source]), edge.action, tuple(found.states[edge.target])) for edge in found.edges
    )
    theirs = Counter((states[edge.source], edge.action, states[edge.target]) for edge in graph.edges)
    assert ours == theirs


@pytest.mark.parametrize("name", [*COMPARED, "quorum"])
def test_the_compiled_spec_has_the_counts_that_the_manifest_pins(name: str) -> None:
    _, found = compiled(name)
    entry = manifest().model(name)
    assert (found.distinct, found.generated, found.depth) == (entry.distinct, entry.generated, entry.depth)


def test_the_compiled_spec_finds_the_violation_of_late_truncate_at_the_pinned_depth() -> None:
    _, found = compiled("late_truncate_bug")
    entry = manifest().model("late_truncate_bug")
    assert found.violation is not None
    assert found.violation.name == entry.violates
    assert len(found.violation.trace) == entry.depth


def test_every_action_of_the_spec_has_an_edge_in_a_compared_graph() -> None:
    taken = {edge.action for name in COMPARED for edge in compiled(name)[1].edges}
    assert taken == set(compiled("ordered")[0].actions)


@pytest.mark.parametrize("name", COMPARED)
def test_given_state_action_and_parameters_there_is_at_most_one_successor(name: str) -> None:
    _, found = compiled(name)
    targets: dict[tuple[object, ...], int] = {}
    for edge in found.edges:
        key = (edge.source, edge.action, tuple(sorted(edge.args.items(), key=lambda item: item[0])))
        assert targets.setdefault(key, edge.target) == edge.target, key


@pytest.mark.parametrize("name", ["ordered", "votes_small"])
def test_a_named_step_leads_where_the_search_went(name: str) -> None:
    spec, found = compiled(name)
    for edge in found.edges[::7]:
        assert spec.step(found.states[edge.source], edge.action, edge.args) == found.states[edge.target]


def test_a_second_load_needs_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, cfg = files("ordered")
    first = load_spec(module, cfg, cache_dir=tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("JAVA_HOME", "")
    assert load_spec(module, cfg, cache_dir=tmp_path).source == first.source


def test_every_disjunct_of_next_is_an_action_of_one_node() -> None:
    text = (spec_dir() / "DLedger.tla").read_text(encoding="utf-8")
    _, _, rest = text.partition("Next ==\n")
    disjuncts = rest.partition("\n\n")[0].splitlines()
    names = [line.removeprefix("    \\/ \\E n \\in Node : ").removesuffix("(n)") for line in disjuncts]
    assert set(names) == set(compiled("ordered")[0].actions)
    for name in names:
        assert f"\n\\* ACTION {name}: " in text, f"{name} has no banner"
