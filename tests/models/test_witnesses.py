"""Witnesses that share their constants are reached in one run of TLC, each by itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.models.model_manifest import Manifest, load_manifest, run_model
from lockstep.models.pinned_models import ModelOutcome, compare, files_of, run_models
from lockstep.models.tlc_search import result_of_tlc
from lockstep.models.witness_runs import group_witnesses, run_witnesses
from lockstep.systems.registry import manifest
from lockstep.tlc import TLC_DEFAULTS

SPEC = r"""---- MODULE Counter ----
EXTENDS Naturals
CONSTANT Most
VARIABLES x, y
vars == <<x, y>>
Init == x = 0 /\ y = 0
Up == x < Most /\ x' = x + 1 /\ UNCHANGED y
Turn == y' = 1 - y /\ UNCHANGED x
Stay == x = 0 /\ UNCHANGED vars
Next == Up \/ Turn \/ Stay

NeverTwo   == x # 2
NeverThree == x # 3
NeverTurnsAtTwoProp ==
    [][\/ x # 2
       \/ /\ y' = y
          /\ TRUE]_vars
NeverTurnsProp == [][y' = y]_vars
OnlyUpProp == [][x' > x]_x
AlwaysMovesProp == [][x' # x \/ y' # y]_vars
NeverNine  == x # 9
====
"""

PINS = {
    "NeverTwo": ("INVARIANTS", 3),
    "NeverThree": ("INVARIANTS", 4),
    "NeverTurnsAtTwoProp": ("PROPERTIES", 4),
    "NeverTurnsProp": ("PROPERTIES", 2),
}

Write = Callable[..., Manifest]


@pytest.fixture
def witnesses(tmp_path: Path) -> Write:
    """Write a manifest of witnesses, each with the constant `Most` of its cfg."""

    def write(most: dict[str, int], lists: str = "") -> Manifest:
        (tmp_path / "Counter.tla").write_text(SPEC, encoding="utf-8")
        tables = []
        for name, value in most.items():
            word, depth = PINS.get(name, ("INVARIANTS", 10))
            cfg = f"\\* Witness of {name}.\nCONSTANT Most = {value}\nINIT Init\nNEXT Next\n{word}\n  {name}\n{lists}"
            (tmp_path / "witnesses").mkdir(exist_ok=True)
            (tmp_path / "witnesses" / f"{name}.cfg").write_text(cfg, encoding="utf-8")
            tables.append(
                f'[[model]]\nname = "{name}"\nmodule = "Counter"\nmode = "check"\ntier = "quick"\nresult = "violated"\n'
                f'property = "{name}"\ndepth = {depth}\nwitness = true\nbudget_seconds = 60\n'
            )
        (tmp_path / "manifest.toml").write_text("\n".join(tables), encoding="utf-8")
        return load_manifest(tmp_path / "manifest.toml")

    return write


def groups(of: Manifest) -> list[list[str]]:
    return [[entry.name for entry in entries] for _, entries in group_witnesses((of, entry) for entry in of.models)]


@pytest.mark.nightly
def test_each_witness_of_a_group_is_reached_as_deep_as_in_a_run_of_its_own(witnesses: Write) -> None:
    pinned = witnesses(dict.fromkeys(PINS, 4))
    assert groups(pinned) == [list(PINS)]
    for entry, result in zip(pinned.models, run_witnesses(pinned, pinned.models, TLC_DEFAULTS), strict=True):
        assert result.verdict is Verdict.VIOLATED
        files = files_of(pinned, entry)
        alone, shared = result_of_tlc(files, run_model(pinned, entry)), result_of_tlc(files, result)
        assert compare(entry, shared) == compare(entry, alone) == []


def outcomes(pinned: Manifest) -> dict[str, ModelOutcome]:
    models = [(pinned, each) for each in pinned.models]
    return {outcome.entry.name: outcome for outcome in run_models(models, parallel=1, share_runs=True)}


def unreached(of: dict[str, ModelOutcome]) -> set[str]:
    return {name for name, outcome in of.items() if outcome.verdict is not Verdict.HOLDS}


def test_a_witness_that_is_not_reached_is_not_hidden_behind_the_others(witnesses: Write) -> None:
    found = outcomes(witnesses({**dict.fromkeys(PINS, 4), "NeverNine": 4}))
    assert unreached(found) == {"NeverNine"}
    assert "pinned violated, found holds" in found["NeverNine"].found


def test_a_step_that_leaves_the_subscript_as_it_is_reaches_no_witness(
    witnesses: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`[][A]_v` allows it, whatever A says."""
    for name in ("OnlyUpProp", "AlwaysMovesProp"):
        monkeypatch.setitem(PINS, name, ("PROPERTIES", 2))
    pinned = witnesses({"NeverTwo": 4, "OnlyUpProp": 4, "AlwaysMovesProp": 4})
    assert len(groups(pinned)) == 1
    assert unreached(outcomes(pinned)) == {"OnlyUpProp", "AlwaysMovesProp"}


@pytest.mark.parametrize("lists", ["\n  NeverThree", "\n\n  NeverThree", "  NeverThree\nPROPERTIES"])
def test_a_witness_beside_another_property_is_run_by_itself(lists: str, witnesses: Write, tmp_path: Path) -> None:
    pinned = witnesses({"NeverTwo": 4, "NeverThree": 4})
    cfg = tmp_path / "witnesses" / "NeverTwo.cfg"
    cfg.write_text(cfg.read_text().replace("INVARIANTS\n", f"INVARIANTS{lists}\n"))
    assert groups(pinned) == [["NeverTwo"], ["NeverThree"]]


def test_the_counts_of_a_shared_run_are_those_of_none_of_its_witnesses(witnesses: Write) -> None:
    results = run_witnesses(pinned := witnesses({"NeverTwo": 4, "NeverThree": 4}), pinned.models, TLC_DEFAULTS)
    assert [(each.distinct, each.generated) for each in results] == [(None, None)] * 2
    assert results[0].wall_seconds > 0 == results[1].wall_seconds


def test_a_witness_that_lies_elsewhere_than_pinned_is_named(witnesses: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PINS, "NeverTwo", ("INVARIANTS", 5))
    pinned = witnesses({"NeverTwo": 4, "NeverThree": 4})
    runs = run_witnesses(pinned, pinned.models, TLC_DEFAULTS)
    found = [result_of_tlc(files_of(pinned, each), run) for each, run in zip(pinned.models, runs, strict=True)]
    assert compare(pinned.models[0], found[0]) == ["NeverTwo: depth: pinned 5, found 3"]
    assert compare(pinned.models[1], found[1]) == []


def test_witnesses_of_other_constants_are_run_by_themselves(witnesses: Write) -> None:
    assert groups(witnesses({"NeverTwo": 3, "NeverThree": 4, "NeverTurnsProp": 3})) == [
        ["NeverTwo", "NeverTurnsProp"],
        ["NeverThree"],
    ]


def test_a_witness_with_more_than_its_name_in_the_cfg_is_run_by_itself(witnesses: Write) -> None:
    """The run of a group would leave out a constraint, for instance."""
    assert groups(witnesses({"NeverTwo": 4, "NeverThree": 4}, lists="CONSTRAINT NeverNine\n")) == [
        ["NeverTwo"],
        ["NeverThree"],
    ]


def test_an_error_of_the_spec_is_that_of_every_witness_of_the_group(witnesses: Write, tmp_path: Path) -> None:
    pinned = witnesses({"NeverTwo": 4, "NeverThree": 4})
    (tmp_path / "Counter.tla").write_text(SPEC.replace("x # 2\nNeverThree", "x # two\nNeverThree"), encoding="utf-8")
    assert [each.verdict for each in run_witnesses(pinned, pinned.models, TLC_DEFAULTS)] == [Verdict.MALFORMED] * 2


def test_most_witnesses_of_dledger_share_a_run() -> None:
    found = [group for group in groups(manifest()) if len(group) > 1]
    assert sum(map(len, found)) > 40
    assert all(manifest().model(name).witness for group in found for name in group)
