"""The models of hashicorp/raft: the manifest is true of them, and a flaw and its twin differ in nothing else."""

from __future__ import annotations

import re

import pytest

from lockstep.models.model_manifest import ModelEntry
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.constants import CHOICES, CONSTANTS, IN_V173
from lockstep.systems.registry import manifest, manifests
from lockstep.tla.loading.load_spec import load_spec

MODELS = manifest(HASHICORP.spec)
SENSITIVE = [each for each in MODELS.models if each.switch is not None]


def cfg_text(name: str) -> str:
    return MODELS.files(MODELS.model(name))[1].read_text(encoding="utf-8")


def flaws(name: str) -> set[str]:
    return set(re.findall(r'"(\w+)"', "".join(re.findall(r"^  Flaws = (.*)$", cfg_text(name), re.MULTILINE))))


def settings(name: str) -> set[str]:
    return {line for line in cfg_text(name).splitlines() if not line.startswith(("\\*", "  Flaws = "))}


@pytest.mark.parametrize("entry", MODELS.models, ids=lambda each: each.name)
def test_the_header_of_a_cfg_says_how_to_run_it_and_what_to_expect(entry: ModelEntry) -> None:
    text = cfg_text(entry.name)
    assert f"lockstep model {entry.name}\n" in text
    assert ("Green." in text) == (entry.result == "holds")
    if entry.violates is not None:
        assert re.search(rf"^\\\* .*\b{entry.violates}\b", text, re.MULTILINE)


@pytest.mark.parametrize("entry", SENSITIVE, ids=lambda each: each.name)
def test_a_flaw_and_its_green_twin_differ_in_the_switch_alone(entry: ModelEntry) -> None:
    assert entry.twin is not None
    assert flaws(entry.name) - flaws(entry.twin) == {entry.switch}
    assert settings(entry.name) == settings(entry.twin)
    assert entry.violates in settings(entry.twin) | {line.strip() for line in settings(entry.twin)}


def test_every_flaw_has_a_green_model_that_it_alone_makes_fail() -> None:
    assert {each.switch for each in SENSITIVE} == set(CHOICES.flaws)


def test_the_readme_tells_the_sensitivity_of_every_flaw() -> None:
    text = (HASHICORP.module.parent / "README.md").read_text(encoding="utf-8")
    for each in SENSITIVE:
        assert f"| `{each.switch}` | `{each.twin}` | `{each.name}` | `{each.violates}` | {each.depth} |" in text


def test_every_feature_and_every_flaw_is_a_choice_of_the_header() -> None:
    values = CONSTANTS.values(["n1"], CONSTANTS.defaults)
    spec = load_spec(HASHICORP.module, HASHICORP.trace_cfg, constants=values, footprints=HASHICORP.footprints)
    assert spec.evaluate("FeatureNames") == set(CHOICES.features)
    assert spec.evaluate("FlawNames") == set(CHOICES.flaws)
    assert spec.evaluate("InV173") == set(IN_V173) == set(spec.constants["Flaws"])


def test_no_two_models_of_all_systems_have_one_name() -> None:
    names = [each.name for of_one in manifests() for each in of_one.models]
    assert len(names) == len(set(names))
