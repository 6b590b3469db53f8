"""The models of the rules for messages: a correct group breaks none, and some mistake breaks each."""

from __future__ import annotations

import re

import pytest

from lockstep.base.package_data import spec_dir
from lockstep.models.model_manifest import ModelEntry, load_manifest
from lockstep.systems.wire_group import WIRE_GROUP
from lockstep.tlc.tlc_output import cfg_section

MODELS = load_manifest(spec_dir() / "wire" / "models" / "manifest.toml")
MODULES = {
    name: (spec_dir() / "wire" / f"{name}.tla").read_text(encoding="utf-8") for name in ("WireGroup", "SmallGroup")
}
WITNESSES = (spec_dir() / "wire" / "models" / "MCSmallGroup.tla").read_text(encoding="utf-8")
RULES = [*cfg_section(WIRE_GROUP.trace_cfg.read_text(encoding="utf-8"), "INVARIANTS", "PROPERTIES")]
SENSITIVE = [each for each in MODELS.models if each.switch is not None]


def cfg_text(name: str) -> str:
    return MODELS.files(MODELS.model(name))[1].read_text(encoding="utf-8")


def settings(name: str) -> set[str]:
    return {line for line in cfg_text(name).splitlines() if not line.startswith(("\\*", "  Flaws = "))}


@pytest.mark.parametrize("entry", MODELS.models, ids=lambda each: each.name)
def test_the_header_of_a_cfg_says_how_to_run_it_and_what_to_expect(entry: ModelEntry) -> None:
    text = cfg_text(entry.name)
    assert f"lockstep model {entry.name}\n" in text
    assert ("Green." in text) == (entry.result == "holds")
    if entry.violates is not None:
        assert re.search(rf"^\\\* Expected: {entry.violates} is violated\.", text, re.MULTILINE)


@pytest.mark.parametrize("entry", SENSITIVE, ids=lambda each: each.name)
def test_a_mistake_and_its_green_twin_differ_in_the_switch_alone(entry: ModelEntry) -> None:
    assert entry.twin is not None
    assert settings(entry.name) == settings(entry.twin)
    assert f'  Flaws = {{"{entry.switch}"}}\n' in cfg_text(entry.name)
    assert "  Flaws = {}\n" in cfg_text(entry.twin)


def test_a_mistake_breaks_each_rule_and_every_mistake_breaks_one() -> None:
    assert sorted(str(each.violates) for each in SENSITIVE) == sorted(RULES)
    assert {each.switch for each in SENSITIVE} == set(re.findall(r'Flawed\("(\w+)"\)', MODULES["SmallGroup"]))


@pytest.mark.parametrize(
    "entry", [each for each in MODELS.models if each.result == "holds"], ids=lambda each: each.name
)
def test_a_green_model_checks_every_rule(entry: ModelEntry) -> None:
    assert sorted(cfg_section(cfg_text(entry.name), "INVARIANTS", "PROPERTIES")) == sorted(RULES)


def test_each_rule_has_a_witness() -> None:
    named = {each.violates for each in MODELS.models if each.witness}
    beside = dict(re.findall(r"^(\w+) +==.*\\\* (\w+)$", WITNESSES, re.MULTILINE))
    assert set(RULES) <= {beside.get(str(each)) for each in named}


def test_the_group_takes_every_action_that_has_messages_as_it_says() -> None:
    """An answer without a term is DLedger's alone, and establishes what one with a term does."""
    actions = set(re.findall(r"\\\* ACTION (\w+):", MODULES["WireGroup"]))
    taken = {
        each
        for each in actions
        if re.search(rf"\b{each}\(", MODULES["SmallGroup"]) or f"/\\ {each}\n" in MODULES["SmallGroup"]
    }
    assert actions - taken == {"Agrees"}
