"""The states and steps of a spec as a graph of networkx, and in the formats that other programs read."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path
from typing import Any

import networkx as nx
import pytest
from click.testing import CliRunner, Result

import lockstep
from lockstep.base.errors import GaveUpError
from lockstep.cli.command_line import cli
from lockstep.cli.graph_command import GRAPH_FORMATS
from lockstep.models import spec_graph
from lockstep.models.spec_graph import NoGraphError, graph_bytes
from lockstep.tla.exploration import Exploration
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from tests.support.places import ROOT

SERVICE = ROOT / "docs" / "lock_service"
DIE_HARD = ROOT / "tests" / "specs" / "systems"

COUNTER = """
EXTENDS Integers, TLC
VARIABLES x, id
Init == x = 0 /\\ id = {}
Up(n) == x < 4 /\\ (n > 0 \\/ n < 9) /\\ x' = x + n /\\ id' = id \\cup {n}
Next == \\E n \\in 1..2 : Up(n)
Few == x < 3
NotThree == x # 3
Rises == [][x' # 4]_x
Sound == Assert(x < 2, "too high")
"""


def counter(folder: Path, *lines: str) -> Spec:
    module = folder / "Counter.tla"
    module.write_text(f"---- MODULE Counter ----{COUNTER}====\n")
    module.with_suffix(".cfg").write_text("\n".join(["INIT Init", "NEXT Next", "CHECK_DEADLOCK FALSE", *lines, ""]))
    return lockstep.load_spec(module, module.with_suffix(".cfg"))


@pytest.fixture(scope="module")
def service() -> Spec:
    return lockstep.load_spec(SERVICE / "LockService.tla", SERVICE / "LockService.cfg")


# ---- In Python ----


@pytest.mark.parametrize(("folder", "name"), [(SERVICE, "LockService"), (DIE_HARD, "Bakery"), (DIE_HARD, "BagQueue")])
def test_the_graph_has_the_states_and_the_steps_that_a_search_finds(folder: Path, name: str) -> None:
    spec = lockstep.load_spec(folder / f"{name}.tla", folder / f"{name}.cfg")
    found: Exploration = lockstep.explore(spec, SearchOptions(keep_edges=True, check_deadlock=False))
    made = lockstep.graph(spec)
    assert found.violation is None
    assert [dict(made.nodes[number]) for number in made] == [state.as_dict() for state in found.states]
    steps = {(edge.source, edge.target, edge.action, tuple(edge.args.items())) for edge in found.edges}
    assert len(steps) > 20
    listed = [(one, other, data["action"], tuple(data["args"].items())) for one, other, data in made.edges(data=True)]
    assert sorted(listed, key=str) == sorted(steps, key=str)
    assert made.graph["initial"] == list(range(found.levels[0]))


def test_a_violation_does_not_end_the_graph_and_is_noted_at_its_state(tmp_path: Path) -> None:
    made = lockstep.graph(counter(tmp_path, "INVARIANTS Few NotThree", "PROPERTY Rises"))
    at = {number: (variables["x"], len(variables["id"])) for number, variables in made.nodes(data=True)}
    violates = {at[number]: names for number, names in made.graph["violates"].items()}
    assert {x for x, _ in at.values()} == {0, 1, 2, 3, 4, 5}
    assert {x for x, _ in violates} == {3, 4, 5}
    assert all(names == ["Few", "NotThree"] for (x, _), names in violates.items() if x == 3)
    assert all(names == ["Few", "Rises"] for (x, _), names in violates.items() if x == 4)


def test_steps_that_are_generated_twice_are_one_edge_and_other_arguments_another_one(tmp_path: Path) -> None:
    spec = counter(tmp_path)
    made = lockstep.graph(spec)
    assert len(list(spec.successors(next(spec.initial_states())))) == 4
    assert [label for _, _, label in made.edges(0, data="label")] == ["Up(n = 1)", "Up(n = 2)"]
    assert [made.nodes[other]["x"] for _, other in made.edges(0)] == [1, 2]


def test_too_many_states_are_an_error_that_names_the_limit(service: Spec) -> None:
    assert lockstep.graph(service, limit=49).number_of_nodes() == 49
    with pytest.raises(GaveUpError, match="LockService: it has more than 48 states; give a larger limit"):
        lockstep.graph(service, limit=48)


def test_a_spec_without_states_has_no_graph_and_neither_has_one_whose_step_fails_an_assert(tmp_path: Path) -> None:
    with pytest.raises(NoGraphError, match=r"Counter: a step fails an Assert: .*too high"):
        lockstep.graph(counter(tmp_path, "INVARIANT Sound"))
    module = tmp_path / "Empty.tla"
    module.write_text("---- MODULE Empty ----\nVARIABLE x\nInit == x \\in {}\nNext == x' = x\n====\n")
    module.with_suffix(".cfg").write_text("INIT Init\nNEXT Next\n")
    with pytest.raises(NoGraphError, match="Empty has no states: none is initial"):
        lockstep.graph(lockstep.load_spec(module, module.with_suffix(".cfg")))


# ---- As files ----


def read(data: bytes, form: str) -> Any:
    if form == "graphml":
        return nx.read_graphml(BytesIO(data), node_type=int, force_multigraph=True)
    return nx.node_link_graph(json.loads(data), edges="edges")


@pytest.mark.parametrize("form", ["graphml", "node-link"])
def test_networkx_reads_the_same_graph_back(form: str, tmp_path: Path) -> None:
    made = lockstep.graph(counter(tmp_path, "INVARIANT Few"))
    back = read(graph_bytes(made, form), form)
    renamed = "#id" if form == "node-link" else "id"
    assert (back.number_of_nodes(), back.number_of_edges()) == (made.number_of_nodes(), made.number_of_edges())
    assert [back.nodes[number]["x"] for number in made] == [made.nodes[number]["x"] for number in made]
    assert (back.nodes[0][renamed], back.nodes[0]["#initial"]) == ("{}", True)
    assert {back.nodes[number]["#violates"] for number in made.graph["violates"]} == {"Few"}
    assert sorted(action for _, _, action in back.edges(data="action")) == sorted(
        action for _, _, action in made.edges(data="action")
    )


def test_dot_names_every_state_and_step_and_escapes_what_it_must(tmp_path: Path) -> None:
    made = lockstep.graph(counter(tmp_path, "INVARIANT Few"))
    made.nodes[0]["id"] = 'a "quoted" \\ text'
    lines = graph_bytes(made, "dot").decode().splitlines()
    assert lines[0] == 'digraph "Counter" {'
    assert lines[1] == '  0 [label="x = 0\\nid = a \\"quoted\\" \\\\ text", peripheries=2];'
    assert lines[-1] == "}"
    assert sum(" -> " in line for line in lines) == made.number_of_edges()
    assert sum("color=red" in line for line in lines) == len(made.graph["violates"])


# ---- The command ----


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, ["graph", *words], standalone_mode=False)


def test_the_command_offers_the_formats_that_there_are() -> None:
    assert tuple(spec_graph.GRAPH_FORMATS) == GRAPH_FORMATS
    assert re.search(r"\[text\|json\|graphml\|node-link\|dot\]", run("--help").stdout)


@pytest.mark.parametrize("form", GRAPH_FORMATS)
def test_the_command_writes_the_graph_of_a_spec_of_ones_own(form: str, tmp_path: Path) -> None:
    file = tmp_path / "states"
    ran = run("--spec", str(SERVICE / "LockService.tla"), "--format", form, "-o", str(file))
    assert (ran.return_value, ran.exception) == (0, None)
    assert ran.stdout == f"{file}: LockService, 49 states, 165 steps\n"
    spec = lockstep.load_spec(SERVICE / "LockService.tla", SERVICE / "LockService.cfg")
    assert file.read_bytes() == graph_bytes(lockstep.graph(spec), form)


def test_the_command_counts_the_states_of_a_model_that_violate_something(tmp_path: Path) -> None:
    counter(tmp_path, "INVARIANT Few")
    ran = run("--spec", str(tmp_path / "Counter.tla"), "--format", "dot", "-o", str(tmp_path / "g.dot"))
    count = (tmp_path / "g.dot").read_text().count("color=red")
    assert count > 1
    assert ran.stdout.endswith(f"Few is violated in {count} states\n")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--format", "graphml", "--full"), "--itf and --full go with a path, and --format graphml writes the whole"),
        (("--format", "dot", "--limit", "5"), "LockService: it has more than 5 states; give a larger limit"),
    ],
)
def test_what_no_graph_can_be_written_with_is_an_error_and_leaves_no_file(
    words: tuple[str, ...], problem: str, tmp_path: Path
) -> None:
    file = tmp_path / "states"
    ran = run("--spec", str(SERVICE / "LockService.tla"), "-o", str(file), *words)
    assert ran.exception is not None
    assert problem in str(ran.exception)
    assert not file.exists()
