"""Compiled specifications of well-known systems equal TLC: states, edges with their actions, depth, violations."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

import pytest

from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.syntax.cfg import read_cfg
from lockstep.tlc import PropertyKind, TlcOptions, TlcResult, run_tlc
from tests.support.places import SPECS
from tests.support.sampling import sampled
from tests.support.tla.tla_compare import StateGraph, differences, graph_by_search, graph_by_tlc, label

SYSTEMS = SPECS / "systems"

#: Models that hold: their whole graphs are compared. Philosophers alone are checked for deadlock, too.
HOLDING = (
    "AlternatingBit",
    "BagQueue",
    "Bakery",
    "DieHard",
    "PaxosVoting",
    "Philosophers",
    "ReadersWriters",
    "RingElection",
    "SearchTree",
    "Sorting",
    "TerminationDetection",
    "TwoPhaseCommit",
)
#: Variants that are violated, by the names of the module and the variant, with the violated property.
VIOLATED = {
    ("AlternatingBit", "Arrives"): "NotAllArrive",
    ("BagQueue", "Full"): "NeverFull",
    ("Bakery", "Ties"): "OneIsServed",
    ("DieHard", "Solved"): "NotSolved",
    ("PaxosVoting", "Trusting"): "Refines",
    ("Philosophers", "Greedy"): "",
    ("ReadersWriters", "Crowd"): "NoLongQueue",
    ("RingElection", "Ends"): "NobodyLeads",
    ("SearchTree", "List"): "Low",
    ("Sorting", "Steps"): "FewSteps",
    ("TerminationDetection", "Rash"): "Rash",
    ("TwoPhaseCommit", "Hasty"): "Agreement",
}
#: A deadlock and an invariant in every run.
SAMPLE = (("Philosophers", "Greedy"),)
#: The system whose whole graph is compared in every run.
COMPARED = ("ReadersWriters",)
LARGEST = 20_000


def looks_for_deadlock(module: str) -> bool:
    return module == "Philosophers"


def files(module: str, variant: str = "") -> tuple[Path, Path]:
    return SYSTEMS / f"{module}.tla", SYSTEMS / f"{module}{variant}.cfg"


@functools.cache
def compiled(module: str, variant: str = "") -> Spec:
    return load_spec(*files(module, variant))


@functools.cache
def searched(module: str) -> StateGraph:
    return graph_by_search(compiled(module), deadlock=looks_for_deadlock(module))


@functools.cache
def dumped(module: str) -> StateGraph:
    return graph_by_tlc(*files(module), compiled(module), deadlock=looks_for_deadlock(module))


@functools.cache
def checked(module: str, variant: str) -> tuple[Exploration, TlcResult]:
    deadlock = looks_for_deadlock(module)
    found = explore(compiled(module, variant), SearchOptions(check_deadlock=deadlock))
    return found, run_tlc(*files(module, variant), TlcOptions(deadlock_check=deadlock, is_short=True))


@pytest.mark.parametrize("module", sampled(HOLDING, COMPARED))
def test_the_whole_graph_is_the_one_that_tlc_finds(module: str) -> None:
    assert differences(searched(module), dumped(module)) == []


@pytest.mark.parametrize("module", sampled(HOLDING, COMPARED))
def test_a_compared_model_has_enough_states_and_not_too_many(module: str) -> None:
    graph = dumped(module)
    assert 100 < graph.distinct < LARGEST
    assert graph.depth is not None
    assert graph.depth > 5


@pytest.mark.parametrize("module", sampled(HOLDING, COMPARED))
def test_every_action_has_an_edge_in_a_compared_graph(module: str) -> None:
    spec = compiled(module)
    taken = {action for _, action, _ in dumped(module).edges}
    assert taken == {label(spec, action) for action in spec.actions}


@pytest.mark.parametrize("module", sampled(HOLDING, COMPARED))
def test_every_system_has_a_type_invariant_and_another_invariant(module: str) -> None:
    assert "TypeOK" in compiled(module).invariants
    assert len(compiled(module).invariants) > 1


@pytest.mark.parametrize(("module", "variant"), sampled(VIOLATED, SAMPLE))
def test_a_violation_has_the_name_that_tlc_gives_and_the_length_of_its_shortest_counterexample(
    module: str, variant: str
) -> None:
    found, result = checked(module, variant)
    assert found.violation is not None
    assert result.violation is not None
    assert result.counterexample is not None
    assert (found.violation.kind, found.violation.name) == kind_and_name(result, files(module, variant)[1])
    assert len(found.violation.trace) == len(result.counterexample.steps)
    assert found.depth == result.depth


def kind_and_name(result: TlcResult, cfg: Path) -> tuple[str, str]:
    """Return the kind and name of TLC's violation; it names an action property of an INSTANCE by its line alone."""
    violation = result.violation
    assert violation is not None
    if violation.kind is PropertyKind.ACTION and violation.name is None:
        (name,) = read_cfg(cfg).properties
        return violation.kind.value, name
    return violation.kind.value, violation.name or ""


@pytest.mark.parametrize(("module", "variant"), sampled(VIOLATED, SAMPLE))
def test_a_counterexample_is_a_behaviour_that_ends_in_the_violation(module: str, variant: str) -> None:
    found, _ = checked(module, variant)
    spec = compiled(module, variant)
    assert found.violation is not None
    trace = found.violation.trace
    assert trace[0].state in set(spec.initial_states())
    for before, step in itertools.pairwise(trace):
        assert step.action is not None
        assert spec.step(before.state, step.action, step.args) == step.state


@pytest.mark.parametrize(("module", "variant"), sampled(VIOLATED, SAMPLE))
def test_the_violated_property_is_the_one_that_the_table_names(module: str, variant: str) -> None:
    found, _ = checked(module, variant)
    assert found.violation is not None
    assert found.violation.name == VIOLATED[module, variant]


def test_every_spec_of_the_folder_is_compared() -> None:
    cfgs = {path.stem for path in SYSTEMS.glob("*.cfg")}
    assert cfgs == {*HOLDING, *(module + variant for module, variant in VIOLATED)}
