"""The manifest of models: strict, and compared with what TLC finds."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from lockstep.models.model_manifest import ManifestError, ModelEntry, load_manifest, run_model
from lockstep.models.pinned_models import compare, files_of
from lockstep.models.search_result import SearchResult
from lockstep.models.tlc_search import result_of_tlc
from tests.support.places import SPECS

MODULES = SPECS / "tlc"
HOLDS = """[[model]]
name = "Holds"
module = "Holds"
mode = "check"
tier = "quick"
result = "holds"
distinct = 16
generated = 26
depth = 7
budget_seconds = 60
"""
BROKEN = """[[model]]
name = "LassoStuttering"
module = "Lasso"
mode = "check"
tier = "deep"
result = "violated"
property = "Arrives"
depth = 2
budget_seconds = 60
witness = true
note = "the lead-in is short"
"""
SIMULATED = """[[model]]
name = "Holds"
module = "Holds"
mode = "simulate"
tier = "quick"
result = "unrefuted"
budget_seconds = 60
[model.simulation]
behaviours = 5
depth = 10
"""


def written(folder: Path, text: str) -> Path:
    """A manifest in a folder which holds the specs as well, and below it the cfgs of its models."""
    for module in MODULES.glob("*.tla"):
        (folder / module.name).write_bytes(module.read_bytes())
    for name in re.findall(r'^name = "(\w+)"$', text, re.M):
        below = folder / ("witnesses" if name == "LassoStuttering" else "green")
        below.mkdir(exist_ok=True)
        (below / f"{name}.cfg").write_bytes((MODULES / f"{name}.cfg").read_bytes())
    path = folder / "manifest.toml"
    path.write_text(text)
    return path


def ran(folder: Path, text: str) -> tuple[ModelEntry, SearchResult]:
    manifest = load_manifest(written(folder, text))
    entry = manifest.models[0]
    return entry, result_of_tlc(files_of(manifest, entry), run_model(manifest, entry))


def test_the_models_of_a_manifest_are_read_in_order_and_by_tier(tmp_path: Path) -> None:
    manifest = load_manifest(written(tmp_path, HOLDS + BROKEN))
    assert [entry.name for entry in manifest.models] == ["Holds", "LassoStuttering"]
    assert [entry.name for entry in manifest.tier("deep")] == ["LassoStuttering"]
    assert manifest.model("Holds").distinct == 16
    assert manifest.model("LassoStuttering").violates == "Arrives"
    with pytest.raises(KeyError, match="no model 'Nobody'; there are: Holds, LassoStuttering"):
        manifest.model("Nobody")


@pytest.mark.parametrize("text", [HOLDS, BROKEN, SIMULATED])
def test_a_result_that_is_as_pinned_has_no_mismatch(tmp_path: Path, text: str) -> None:
    entry, result = ran(tmp_path, text)
    assert compare(entry, result) == []


def test_each_changed_count_is_a_mismatch(tmp_path: Path) -> None:
    entry, result = ran(tmp_path, HOLDS.replace("16", "17").replace("26", "27").replace("= 7", "= 8"))
    assert compare(entry, result) == [
        "Holds: distinct: pinned 17, found 16",
        "Holds: generated: pinned 27, found 26",
        "Holds: depth: pinned 8, found 7",
    ]


def test_another_property_and_another_length_are_mismatches(tmp_path: Path) -> None:
    entry, result = ran(tmp_path, BROKEN.replace("Arrives", "Returns").replace("depth = 2", "depth = 3"))
    assert compare(entry, result) == [
        "LassoStuttering: property: pinned Returns, found Arrives",
        "LassoStuttering: depth: pinned 3, found 2",
    ]


def test_another_outcome_is_the_only_mismatch_and_gives_its_reason(tmp_path: Path) -> None:
    entry, result = ran(tmp_path, HOLDS.replace('"Holds"', '"InvariantBroken"'))
    assert compare(entry, result) == [
        "InvariantBroken: result: pinned holds, found violated (invariant BelowThree is violated)"
    ]


def test_a_run_that_was_cut_short_is_never_the_pinned_result(tmp_path: Path) -> None:
    entry, result = ran(tmp_path, HOLDS.replace("budget_seconds = 60", "budget_seconds = 0.01"))
    assert compare(entry, result)[0].startswith("Holds: result: pinned holds, found inconclusive (the budget of")
    unrefuted = load_manifest(written(tmp_path, SIMULATED)).models[0]
    assert compare(unrefuted, result)
    assert compare(unrefuted, replace(result, cause=None))


@pytest.mark.parametrize(
    ("before", "after", "field", "problem"),
    [
        ('mode = "check"', 'mode = "chekc"', "mode", "Invalid enum value 'chekc'"),
        ("distinct = 16", 'distinct = "16"', "distinct", "Expected `int | null`, got `str`"),
        ("distinct = 16", "distinct = -1", "distinct", ">= 1"),
        ("depth = 7", "depht = 7", "depht", "unknown field"),
        ('tier = "quick"\n', "", "tier", "missing required field"),
        ("distinct = 16\n", "", "distinct", "pins its counts"),
        ('result = "holds"', 'result = "unrefuted"', "result", "only a simulation"),
        ('mode = "check"', 'mode = "simulate"', "result", "a simulation proves nothing"),
        ("depth = 7", "depth = 7\nwitness = true", "witness", "a witness is a violated property"),
        (
            "depth = 7",
            'depth = 7\nproperty = "P"',
            "property",
            "for result violated|belongs to result violated",
        ),
        ('result = "holds"', 'result = "violated"\nproperty = "P"', "distinct", "is not pinned"),
        ("depth = 7", "depth = 7\nsymmetry = true", "symmetry", "does not use SYMMETRY"),
        ('module = "Holds"', 'module = "Nowhere"', "module", "Nowhere.tla does not exist"),
        ("depth = 7", 'depth = 7\ncfg = "Nowhere.cfg"', "cfg", "Nowhere.cfg does not exist"),
    ],
)
def test_a_malformed_entry_is_refused_with_file_model_and_field(
    tmp_path: Path, before: str, after: str, field: str, problem: str
) -> None:
    text = HOLDS.replace(before, after)
    assert text != HOLDS
    path = written(tmp_path, text)
    with pytest.raises(ManifestError, match=problem) as raised:
        load_manifest(path)
    assert (raised.value.path, raised.value.model, raised.value.field) == (path, "Holds", field)
    assert str(raised.value).startswith(f"{path}: model Holds: field {field}: ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "there is no"),
        ("[[model]\n", "Expected"),
        ("version = 1\n" + HOLDS, "field version: unknown field at the top"),
        (HOLDS + HOLDS, "two models have this name"),
    ],
)
def test_a_malformed_manifest_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(ManifestError, match=problem):
        load_manifest(written(tmp_path, text))


def test_a_cfg_without_an_entry_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, HOLDS + BROKEN)
    assert len(load_manifest(path).models) == 2
    path.write_text(HOLDS)
    with pytest.raises(ManifestError, match=r"witnesses/LassoStuttering\.cfg: a cfg without an entry"):
        load_manifest(path)


def test_a_missing_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ManifestError, match="No such file"):
        load_manifest(tmp_path / "manifest.toml")
