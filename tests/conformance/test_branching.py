"""What fails by a step of many behaviours is worked out from what stands before it, and is what the formulas say."""

from __future__ import annotations

from collections import Counter

import pytest

from lockstep.conformance import property_evaluation as incremental
from lockstep.conformance.property_evaluation import Branching, Standing
from lockstep.tla.loading.load import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State

#: Properties that come and go, of states and of steps; Ticks forbids that anything else moves while x stands still.
CLOCKS = """---- MODULE Clocks ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\\ y = [n \\in {1, 2} |-> 0]
Tick == x' = (x + 1) % 4 /\\ UNCHANGED y
Skip == x' = (x + 2) % 4 /\\ UNCHANGED y
Turn(n) == y' = [y EXCEPT ![n] = (@ + 1) % 3] /\\ UNCHANGED x
Same(n) == y' = [y EXCEPT ![n] = @ + 0] /\\ x' = x + 0
Next == Tick \\/ Skip \\/ \\E n \\in {1, 2} : Turn(n) \\/ Same(n)
Low == x < 3
Apart == \\A n \\in {1, 2} : y[n] # x
Ticks == [][x' = (x + 1) % 4 /\\ \\A n \\in {1, 2} : y'[n] >= y[n]]_<<x, y>>
Both == []Low /\\ [][y[1] # 2]_y
====
"""
CFG = "INIT Init\nNEXT Next\nINVARIANTS Low Apart\nPROPERTIES Ticks Both\n"


@pytest.fixture(scope="module")
def clocks(tmp_path_factory: pytest.TempPathFactory) -> Spec:
    folder = tmp_path_factory.mktemp("clocks")
    (folder / "Clocks.tla").write_text(CLOCKS)
    (folder / "Clocks.cfg").write_text(CFG)
    return load_spec(folder / "Clocks.tla", folder / "Clocks.cfg", cache_dir=folder / "cache")


def differing(spec: Spec) -> tuple[Counter[str], list[tuple[State, State]]]:
    """Go along every edge of the graph; count what fails as the formulas say, and list where Branching says else."""
    properties = Branching(spec)
    failing: Counter[str] = Counter()
    wrong = []
    start = next(spec.initial_states())
    standing: dict[State, Standing] = {start: properties.standing(start)}
    pending = [start]
    while pending:
        state = pending.pop()
        for _, _, after in spec.successors(state):
            there = {name for name, holds in spec.invariants.items() if not holds(after)}
            by_step = {name for name, holds in spec.action_properties.items() if not holds(state, after)}
            failing.update(there | by_step)
            found, known = properties.step(state, standing[state], after)
            if found != there | by_step or known != properties.standing(after):
                wrong.append((state, after))
            if after not in standing:
                standing[after] = known
                pending.append(after)
    assert len(standing) == 4 * 3 * 3
    return failing, wrong


def test_what_fails_by_each_step_of_a_graph_is_what_the_formulas_say(clocks: Spec) -> None:
    failing, wrong = differing(clocks)
    assert wrong == []
    assert set(failing) == {"Low", "Apart", "Ticks", "Both"}


def test_a_footprint_that_is_too_small_would_be_found_out(clocks: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(incremental.Footprints, "met_by", lambda _self, _change: [])
    _, wrong = differing(clocks)
    assert wrong
