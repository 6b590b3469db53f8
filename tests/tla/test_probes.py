"""Probes: a step with another outcome of one expression, and none where nobody asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.conformance.trace_check import check_trace
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.trace_specs import trace_spec
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value
from lockstep.tla.values.probed_values import LikeEvaluation, OtherOutcome
from lockstep.trace.trace_reader import read_trace
from tests.scripts.counterexamples.tool import counterexamples
from tests.support.sampling import sampled

MODULE = r"""
---- MODULE Probed ----
EXTENDS Integers
VARIABLES n, r
Small(k) == k < 3
Init == n = 0 /\ r = [last |-> 0, odd |-> {}]
Kept(before, k) == [before EXCEPT !.last = k]
Up == /\ n' = IF Small(n) /\ ~(n = 2) THEN n + 1 ELSE 0
      /\ LET first == Kept(r, 7)
             last  == Kept(first, n)
         IN  r' = [last EXCEPT !.last = @, !.odd = {k \in 0..n : k % 2 = 1}]
Next == Up
====
"""
CFG = "INIT Init\nNEXT Next\n"


@pytest.fixture(scope="module")
def specs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Spec, Spec]:
    """The spec without probes, and with them."""
    folder = tmp_path_factory.mktemp("probed")
    (folder / "Probed.tla").write_text(MODULE)
    (folder / "Probed.cfg").write_text(CFG)
    files = folder / "Probed.tla", folder / "Probed.cfg"
    return load_spec(*files), load_spec(*files, has_probes=True)


def number_of(spec: Spec, kind: str, text: str) -> int:
    (found,) = (n for n, each in enumerate(spec.probed) if (each.kind, each.text) == (kind, text))
    return found


def taken(spec: Spec, count: int, *outcomes: OtherOutcome) -> dict[str, Value]:
    """Take some steps, the last with other outcomes; return the state after it."""
    (state,) = spec.initial_states()
    after: State | None = state
    for nth in range(count):
        assert after is not None
        assert spec.probes is not None
        if nth == count - 1:
            spec.probes.begin(range(len(spec.probed)), *outcomes)
        after = spec.step(after, "Up", {})
        spec.probes.end()
    assert after is not None
    return after.as_dict()


def test_a_spec_without_probes_has_none_in_its_code(specs: tuple[Spec, Spec]) -> None:
    plain, probed = specs
    assert plain.probes is None
    assert plain.probed == ()
    assert "_probe(" not in plain.source
    assert "_probe(" in probed.source


def test_the_probes_say_what_each_expression_came_to(specs: tuple[Spec, Spec]) -> None:
    _, spec = specs
    taken(spec, 2)
    assert spec.probes is not None
    seen = spec.probes.seen
    assert seen[number_of(spec, "formula", "Small(n)")] == [True]
    assert seen[number_of(spec, "formula", "k % 2 = 1")] == [False, True]
    assert seen[number_of(spec, "number", "n + 1")] == [2]
    comparison = spec.probed[number_of(spec, "formula", "n = 2")]
    assert [seen[side] for side in comparison.sides] == [[1], [2]]
    total = spec.probed[number_of(spec, "number", "n + 1")]
    assert [seen[side] for side in total.sides] == [[1], [1]]


@pytest.mark.parametrize(
    ("kind", "text", "by", "nth", "n", "last", "odd"),
    [
        ("formula", "Small(n)", 0, 0, 0, 1, {1}),
        ("formula", "n = 2", 0, 0, 0, 1, {1}),
        ("number", "n + 1", 4, 0, 6, 1, {1}),
        ("number", "3", -2, 0, 0, 1, {1}),
        ("update", "!.last = @", 0, 0, 2, 1, {1}),
        ("updates", "[last EXCEPT !.last = @, !.odd = {k \\in 0..n : k % 2 = 1}]", 0, 0, 2, 1, set()),
        ("update", "!.last = k", 0, 2, 2, 7, {1}),
        ("use", "Kept(first, n)", 0, 0, 2, 7, {1}),
        ("formula", "k % 2 = 1", 0, 0, 2, 1, {0}),
        ("formula", "k % 2 = 1", 0, 1, 2, 1, {0, 1}),
    ],
)
def test_a_step_with_another_outcome_differs_in_that_alone(
    specs: tuple[Spec, Spec], kind: str, text: str, by: int, nth: int, n: int, last: int, odd: set[int]
) -> None:
    _, spec = specs
    after = taken(spec, 2, OtherOutcome(number_of(spec, kind, text), by, nth))
    record = after["r"].d
    assert (after["n"], record["last"], set(record["odd"])) == (n, last, odd)
    usual = taken(spec, 2)
    assert (usual["n"], usual["r"].d["last"], set(usual["r"].d["odd"])) == (2, 1, {1})


def test_a_rule_may_be_another_one_only_where_two_numbers_are_in_the_same_order(specs: tuple[Spec, Spec]) -> None:
    """`k < 3` is TRUE in each of the first three steps, with 0, 1 and 2 on the left."""
    _, spec = specs
    number = number_of(spec, "formula", "k < 3")
    sides = spec.probed[number].sides
    for order, n in ((-1, 0), (0, 2), (1, 2)):
        rule = OtherOutcome(number, like=LikeEvaluation(True, sides, order))
        assert taken(spec, 2, rule)["n"] == n
    assert taken(spec, 2, OtherOutcome(number, like=LikeEvaluation(False)))["n"] == 2


@pytest.mark.parametrize("switch", sampled(["LateTruncate", "TruncatedTail"], ["LateTruncate"]))
def test_a_spec_with_probes_takes_the_steps_of_the_one_without(switch: str) -> None:
    (row,) = (each for each in counterexamples() if each.switch == switch)
    verdicts = []
    for has_probes in (False, True):
        trace = read_trace(row.path)
        spec = trace_spec(trace.header, "t", has_probes=has_probes)
        found = check_trace(trace, spec, DLEDGER.interface(spec))
        verdicts.append((found.verdict, found.reason, found.steps, found.observed, found.findings))
    assert verdicts[0] == verdicts[1]
    assert verdicts[0][2] > 10


def test_a_spec_is_compiled_apart_with_probes_and_without(tmp_path: Path) -> None:
    """Else the cache would give one for the other."""
    (tmp_path / "Probed.tla").write_text(MODULE)
    (tmp_path / "Probed.cfg").write_text(CFG)
    files = tmp_path / "Probed.tla", tmp_path / "Probed.cfg"
    loaded = [load_spec(*files, has_probes=has, cache_dir=tmp_path / "cache") for has in (True, False, True)]
    assert [each.probes is not None for each in loaded] == [True, False, True]
