"""An action has the same steps in states that agree on what it reads, and leaves alone what it does not read."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from lockstep.tla.compile import footprints
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.values.kinds import Value

#: Each action leaves something alone in another way; Swap also has a condition on what it leaves alone.
MODULE = """---- MODULE Leaves ----
EXTENDS Naturals
VARIABLES x, y, z
rest == <<y, z>>
Init == x \\in 0..2 /\\ y \\in 0..2 /\\ z \\in 0..2
Plain == x' = (x + 1) % 3 /\\ UNCHANGED <<y, z>>
Named == x' = (x + 1) % 3 /\\ UNCHANGED rest
Guarded == z > 0 /\\ x' = 0 /\\ UNCHANGED <<y, z>>
Either == IF y = 1 THEN x' = 0 /\\ UNCHANGED rest ELSE y' = 1 /\\ UNCHANGED <<x, z>>
Swap == x' \\in 0..2 /\\ y' \\in 0..2 /\\ UNCHANGED z /\\ UNCHANGED (x * z + y)
Bound(n) == x' = n /\\ UNCHANGED rest
Passed(Op(_)) == x' = Op(x) % 3 /\\ UNCHANGED rest
Higher == Passed(LAMBDA v : v + z)
Next == \\/ Plain \\/ Named \\/ Guarded \\/ Either \\/ Swap \\/ Higher
        \\/ \\E n \\in 0..y : Bound(n)
====
"""


def leaves(folder: Path) -> Spec:
    (folder / "Leaves.tla").write_text(MODULE)
    return load_spec(folder / "Leaves.tla", None, cache_dir=folder / "cache")


def differing(spec: Spec) -> set[str]:
    """The actions with different steps in two states that are alike in what they read."""
    found = set()
    for name, action in spec.actions.items():
        steps: dict[tuple[Value, ...], object] = {}
        for values in product(range(3), repeat=3):
            state = spec.state(dict(zip("xyz", values, strict=True)))
            written = {
                (*sorted(args.items()), *(after[each] for each in sorted(action.reads)))
                for args in spec.arguments(state, name)
                for after in spec.steps(state, name, args)
                if all(after[each] == state[each] for each in "xyz" if each not in action.reads) or found.add(name)
            }
            if steps.setdefault(tuple(state[each] for each in sorted(action.reads)), written) != written:
                found.add(name)
    return found


def test_states_alike_in_what_an_action_reads_have_the_same_steps(tmp_path: Path) -> None:
    spec = leaves(tmp_path)
    assert {name: "".join(sorted(action.reads)) for name, action in spec.actions.items()} == {
        "Plain": "x",
        "Named": "x",
        "Guarded": "xz",
        "Either": "xy",
        "Swap": "xyz",
        "Bound": "xy",
        "Higher": "xz",
    }
    assert differing(spec) == set()


def test_an_action_that_reads_more_than_its_footprint_would_be_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(footprints._ActionReader, "_are_variables", lambda *_: True)
    assert differing(leaves(tmp_path)) == {"Swap"}


def test_a_definition_that_many_ways_lead_to_is_read_once(tmp_path: Path) -> None:
    """Each of 40 definitions names the one before twice: there are more ways to the first than could be followed."""
    chain = [f"D{n} == D{n - 1} \\/ D{n - 1}" for n in range(1, 41)]
    text = "\n".join(["D0 == x = 0", *chain, "Next == x' = (IF D40 THEN 1 ELSE 0)"])
    (tmp_path / "Chain.tla").write_text(
        f"---- MODULE Chain ----\nEXTENDS Naturals\nVARIABLE x\nInit == x = 0\n{text}\n====\n"
    )
    spec = load_spec(tmp_path / "Chain.tla", None, cache_dir=tmp_path / "cache")
    assert {name: set(action.reads) for name, action in spec.actions.items()} == {"Next": {"x"}}
