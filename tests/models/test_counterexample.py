"""A counterexample shows each step with its arguments and what it changed, by every engine and for every spec."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockstep.cli.command_line import cli
from lockstep.models.search_result import Engine, SearchResult, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.report.counterexample_steps import itf, steps_text
from lockstep.systems.registry import manifest
from lockstep.tla.behaviour import Behaviour, changes
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.itf_values import from_itf
from lockstep.tla.values.kinds import Fcn, ModelValue
from tests.support.places import ROOT, SPECS
from tests.support.sampling import sampled

LOCK_SERVICE = ROOT / "docs" / "lock_service" / "LockService.tla"
ENGINES = ("tlc", "compiled")

#: Systems of all kinds with a cfg in which something is violated.
VIOLATED = {
    "AlternatingBit": "AlternatingBitArrives",
    "BagQueue": "BagQueueFull",
    "Bakery": "BakeryTies",
    "PaxosVoting": "PaxosVotingTrusting",
    "Philosophers": "PhilosophersGreedy",
    "SearchTree": "SearchTreeList",
    "TwoPhaseCommit": "TwoPhaseCommitHasty",
}
SAMPLE = ("Philosophers",)


def run(*words: object) -> str:
    """Return what a command prints."""
    done = CliRunner().invoke(cli, [str(word) for word in words], standalone_mode=False)
    assert done.exception is None
    return done.stdout


def found_by(engine: str, module: Path, cfg: Path) -> tuple[SearchResult, Behaviour]:
    found = explore_spec(SpecFiles(module, cfg), Engine(engine))
    assert found.counterexample is not None
    return found, found.counterexample


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """The lock service of the docs, whose token does not rise."""
    spec = tmp_path / "LockService.tla"
    spec.write_text(LOCK_SERVICE.read_text().replace("token + 1", "token"))
    spec.with_suffix(".cfg").write_text(LOCK_SERVICE.with_suffix(".cfg").read_text())
    return spec


SHOWN = """
The counterexample, step by step:

    1  Init
         queue = <<>>
         token = 0
    2  Lock(c = a)  LockService.tla:24:1
         queue: <<>> -> <<a>>
"""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_counterexample_of_a_user_s_spec_shows_arguments_and_changes(engine: str, broken: Path) -> None:
    assert run("model", "--spec", broken, "--engine", engine).endswith(SHOWN)
    whole = run("model", "--spec", broken, "--engine", engine, "--full")
    assert whole.endswith(SHOWN + "         queue = <<a>>\n         token = 0\n")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_counterexample_in_json_has_arguments_and_changes(engine: str, broken: Path) -> None:
    printed = json.loads(run("model", "--spec", broken, "--engine", engine, "--format", "json"))
    first, second = printed["counterexample"]
    place = {"place": "LockService.tla:24:1"}
    change = {"path": "queue", "old": [], "new": ["a"]}
    state = {"queue": [], "token": 0}
    assert first == {"step": 1, "action": "Init", "args": {}, "place": "", "changed": [], "state": state}
    assert second == {"step": 2, "action": "Lock", "args": {"c": "a"}, "changed": [change], **place}
    assert printed["back_to"] is None


@pytest.mark.parametrize("command", ["model", "graph"])
def test_a_behaviour_is_written_as_itf(command: str, broken: Path, tmp_path: Path) -> None:
    path = tmp_path / "found.itf.json"
    run(command, "--spec", broken, "--itf", path, *(["-o", tmp_path / "g.svg"] if command == "graph" else []))
    tree = json.loads(path.read_text())
    assert (tree["#meta"]["format"], tree["#meta"]["source"]) == ("ITF", "LockService.tla")
    assert (tree["#meta"]["violates"], tree["vars"], "loop" in tree) == ("TokenRisesProp", ["queue", "token"], False)
    assert tree["states"] == [
        {"#meta": {"index": 0, "action": "Init", "args": {}}, "queue": [], "token": 0},
        {"#meta": {"index": 1, "action": "Lock", "args": {"c": "a"}}, "queue": ["a"], "token": 0},
    ]


@pytest.mark.nightly
def test_no_itf_is_written_where_nothing_is_violated(tmp_path: Path) -> None:
    path = tmp_path / "none.itf.json"
    done = CliRunner().invoke(cli, ["model", "--spec", str(LOCK_SERVICE), "--itf", str(path)], standalone_mode=False)
    assert (done.return_value, path.exists()) == (0, False)
    assert f"there is no counterexample, so {path} is not written" in done.stderr


def test_a_graph_prints_the_steps_that_it_draws(broken: Path, tmp_path: Path) -> None:
    picture = tmp_path / "g.svg"
    assert run("graph", "--spec", broken, "-o", picture).endswith(SHOWN)
    printed = json.loads(run("graph", "--spec", broken, "-o", picture, "--format", "json"))
    assert (printed["property"], printed["counterexample"][1]["args"]) == ("TokenRisesProp", {"c": "a"})


@pytest.mark.nightly
def test_a_counterexample_of_a_model_of_the_manifest_shows_the_fields_that_changed() -> None:
    said = run("model", "witness_leader")
    assert "    2  ElectLeader(n = n1, voters = {n1, n2})  RoleElections.tla:" in said
    assert '\n         node[n1].role: "CANDIDATE" -> "LEADER"\n' in said
    (printed,) = json.loads(run("model", "witness_leader", "--format", "json"))
    assert printed["counterexample"][1]["args"] == {"n": "n1", "voters": {"#set": ["n1", "n2"]}}


def taken_again(spec: Spec, behaviour: Behaviour) -> list[bool]:
    """Return for each step after the first whether the spec takes it with its arguments and its changes."""
    states = [spec.state(step.state) for step in behaviour.steps]
    assert states[0] in list(spec.initial_states())
    found = []
    for index, step in enumerate(behaviour.steps[1:], start=1):
        assert step.action is not None
        assert step.args is not None
        before, after = states[index - 1], states[index]
        reached = [to for action, args, to in spec.successors(before) if (action, args) == (step.action, step.args)]
        changed = {name for name in spec.variables if before[name] != after[name]}
        roots = {change.path.partition("[")[0].partition(".")[0] for change in behaviour.changed(index)}
        found.append(after in reached and roots == changed)
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("module", sampled(VIOLATED, SAMPLE))
def test_the_spec_takes_every_step_of_a_counterexample_with_its_arguments(module: str, engine: str) -> None:
    files = SPECS / "systems" / f"{module}.tla", SPECS / "systems" / f"{VIOLATED[module]}.cfg"
    _, behaviour = found_by(engine, *files)
    again = taken_again(load_spec(*files), behaviour)
    assert again
    assert all(again)


@pytest.mark.nightly
def test_the_spec_takes_every_step_that_tlc_prints_under_symmetry() -> None:
    module, cfg = manifest().files(manifest().model("witness_append"))
    spec = load_spec(module, cfg, search_path=manifest().library)
    steps = json.loads(run("model", "witness_append", "--format", "json", "--full"))[0]["counterexample"]
    assert len(steps) > 2
    for before, step in itertools.pairwise(steps):
        names = set(spec.model_values)
        state = spec.state({name: from_itf(value, names) for name, value in before["state"].items()})
        after = spec.step(state, step["action"], {name: from_itf(each, names) for name, each in step["args"].items()})
        assert after is not None
        assert after.as_dict() == {name: from_itf(value, names) for name, value in step["state"].items()}


def test_a_behaviour_without_end_shows_where_it_goes_back_to() -> None:
    folder = SPECS / "tlc"
    _, round_and_round = found_by("tlc", folder / "Lasso.tla", folder / "Lasso.cfg")
    assert steps_text(round_and_round).endswith("place: 1 -> 2\n       and back to step 2 by Back, for ever")
    assert itf(round_and_round, "Lasso.tla", "Arrives")["loop"] == 1
    _, stopped = found_by("tlc", folder / "Lasso.tla", folder / "LassoStuttering.cfg")
    assert steps_text(stopped).endswith("place: 0 -> 1\n       and stays in this state for ever")
    assert itf(stopped, "Lasso.tla", "Arrives")["loop"] == 1


def test_steps_of_a_spec_that_cannot_be_compiled_have_no_arguments(broken: Path) -> None:
    """JavaTime is no function of the spec: TLC alone explores this one."""
    text = broken.read_text().replace("Init == ", "Init == {JavaTime} # {} /\\ ")
    broken.write_text(text.replace("EXTENDS ", "EXTENDS TLC, "))
    _, behaviour = found_by("tlc", broken, broken.with_suffix(".cfg"))
    lock = behaviour.steps[1]
    assert (lock.action, lock.args, lock.place.partition(":")[0]) == ("Lock", None, "LockService.tla")
    assert [change.path for change in behaviour.changed(1)] == ["queue"]
    assert "\n    2  Lock  LockService.tla:" in steps_text(behaviour)


STOPS = """---- MODULE Stop ----
EXTENDS Integers
VARIABLE x
Init == x = 0
Up(by) == x < 2 /\\ x' = x + by
Next == \\E by \\in {2} : Up(by)
====
"""


def test_the_counterexample_of_a_deadlock_ends_in_the_deadlocked_state(tmp_path: Path) -> None:
    """A step that changes nothing says so."""
    spec = tmp_path / "Stop.tla"
    spec.write_text(STOPS)
    spec.with_suffix(".cfg").write_text("INIT Init\nNEXT Next\n")
    found, behaviour = found_by("compiled", spec, spec.with_suffix(".cfg"))
    assert (found.property, found.reason) == ("deadlock", "deadlock: a reachable state has no successor")
    assert steps_text(behaviour) == "    1  Init\n         x = 0\n    2  Up(by = 2)  Stop.tla:5:1\n         x: 0 -> 2"
    again = Behaviour((*behaviour.steps, behaviour.steps[-1]))
    assert steps_text(again).endswith("    3  Up(by = 2)  Stop.tla:5:1\n         no variable changes")


A, B = ModelValue("a"), ModelValue("b")


@pytest.mark.parametrize(
    ("old", "new", "listed"),
    [
        (Fcn({A: Fcn({"n": 1, "m": 2}), B: 3}), Fcn({A: Fcn({"n": 5, "m": 2}), B: 3}), [("x[a].n", 1, 5)]),
        ((1, 2, 3), (1, 7, 8), [("x[2]", 2, 7), ("x[3]", 3, 8)]),
        ((1, 2), (1, 2, 3), [("x", (1, 2), (1, 2, 3))]),
        (Fcn({A: 1}), Fcn({B: 1}), [("x", Fcn({A: 1}), Fcn({B: 1}))]),
        (Fcn({"a b": 1}), Fcn({"a b": 2}), [('x["a b"]', 1, 2)]),
        (1, True, [("x", 1, True)]),
        (frozenset({1}), frozenset({1, 2}), [("x", frozenset({1}), frozenset({1, 2}))]),
        (frozenset({1}), frozenset({1}), []),
    ],
)
def test_a_change_is_reported_at_the_place_of_the_value(old: Any, new: Any, listed: list[tuple[str, Any, Any]]) -> None:
    found = [(each.path, each.old, each.new) for each in changes({"x": old, "y": 0}, {"x": new, "y": 0})]
    assert found == listed
    assert [type(new) for _, _, new in found] == [type(new) for _, _, new in listed]
