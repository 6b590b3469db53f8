"""State graphs as TLC dumps them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lockstep.tlc import GraphError, dump_state_graph, parse_dot
from tests.support.places import SPECS

MODULES = SPECS / "tlc"
DOT = (
    "strict digraph DiskGraph {\nnodesep=0.35;\nsubgraph cluster_graph {\n"
    'color="white";\n'
    '-1 [label="count = 0",style = filled]\n'
    '-1 -> 2 [label="Step",color="black",fontcolor="black"];\n'
    '2 [label="count = 1"];\n'
    "{rank = same; -1;}\n}\n}"
)


def test_two_actions_that_join_the_same_states_are_two_edges() -> None:
    graph = dump_state_graph(MODULES / "Parallel.tla", MODULES / "Parallel.cfg")
    start = next(name for name in graph.initial if graph.nodes[name]["place"] == "0")
    leaving = Counter(edge.action for edge in graph.edges if edge.source == start)
    assert leaving == {"Walk": 1, "Ride": 1, "Rest": 1}
    assert len({edge.target for edge in graph.edges if edge.action in ("Walk", "Ride")}) == 1


def test_two_choices_of_one_action_are_two_edges_with_one_label() -> None:
    graph = dump_state_graph(MODULES / "Twins.tla", MODULES / "Twins.cfg")
    assert len(graph.edges) == 2 and len(set(graph.edges)) == 1


def test_the_escapes_of_a_label_are_undone() -> None:
    graph = dump_state_graph(MODULES / "Parallel.tla", MODULES / "Parallel.cfg")
    notes = {state["note"] for state in graph.nodes.values()}
    assert notes == {'"start"', r'"a \"b\" \\ c /\\ d = e"'}


def test_a_graph_has_every_state_and_every_successor_that_tlc_counts() -> None:
    graph = dump_state_graph(MODULES / "Holds.tla", MODULES / "Holds.cfg")
    assert graph.result is not None
    assert len(graph.nodes) == graph.result.distinct == 16
    assert len(graph.initial) + len(graph.edges) == graph.result.generated == 26


def test_a_value_over_many_lines_becomes_one_line(tmp_path: Path) -> None:
    cfg = tmp_path / "NoInvariant.cfg"
    cfg.write_text("SPECIFICATION Spec\nCONSTANTS alpha = alpha beta = beta gamma = gamma\n")
    graph = dump_state_graph(MODULES / "LongValues.tla", cfg)
    assert all(set(state) == {"table", "count"} for state in graph.nodes.values())
    assert any("<< [term |-> 0, value" in state["table"] for state in graph.nodes.values())


def test_the_graph_of_a_violated_model_is_refused_as_a_part() -> None:
    with pytest.raises(GraphError, match="no whole state graph: violated: invariant BelowThree"):
        dump_state_graph(MODULES / "InvariantBroken.tla", MODULES / "InvariantBroken.cfg")


def test_the_stuttering_steps_that_tlc_adds_for_liveness_are_no_edges() -> None:
    graph = dump_state_graph(MODULES / "Lasso.tla", MODULES / "LassoHolds.cfg")
    assert sorted(edge.action for edge in graph.edges) == ["Back", "Enter", "Forth", "Leave", "Stay"]


def test_a_small_dump_is_read() -> None:
    graph = parse_dot(DOT.splitlines())
    assert graph.nodes == {-1: {"count": "0"}, 2: {"count": "1"}}
    assert graph.initial == {-1}
    assert [(edge.source, edge.action, edge.target) for edge in graph.edges] == [(-1, "Step", 2)]


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("\n}\n}", "\n}", "truncated"),
        (DOT, "", "truncated or empty"),
        ('2 [label="count = 1"];\n', "", "an edge of Step joins a state"),
        ('2 [label="count = 1"];', '2 [label="count = 1', "line 7: not a line"),
        ('"count = 1"', '"1"', "line 7: not a line of a state"),
        ("{rank", "node [shape=box]\n{rank", "line 8: not a line"),
    ],
)
def test_a_damaged_dump_is_an_error(before: str, after: str, problem: str) -> None:
    damaged = DOT.replace(before, after)
    assert damaged != DOT
    with pytest.raises(GraphError, match=problem):
        parse_dot(damaged.splitlines())
