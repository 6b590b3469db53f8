"""The bounded models of the lab's spec: none breaks a property, and each that leaves out a condition does."""

from __future__ import annotations

import re

import pytest

from lockstep.base.package_data import spec_dir
from lockstep.models.model_manifest import ModelEntry, load_manifest
from lockstep.systems.lab_group import LAB_GROUP
from lockstep.tlc.tlc_output import cfg_section

MODELS = load_manifest(spec_dir() / "lab" / "models" / "manifest.toml")
SENSITIVE = [each for each in MODELS.models if each.switch is not None]
SAFETY = ["ElectionSafety", "LeaderCompleteness", "LogMatching", "StateMachineSafety"]
#: The conditions that the spec has twice: no model relies on them.
BACKSTOPS = ["IsAlone", "IsDecided", "Keeps"]


def cfg_text(name: str) -> str:
    return MODELS.files(MODELS.model(name))[1].read_text(encoding="utf-8")


def settings(name: str) -> list[str]:
    return [line for line in cfg_text(name).splitlines() if not line.startswith("\\*")]


@pytest.mark.parametrize("entry", SENSITIVE, ids=lambda each: each.name)
def test_a_model_that_leaves_out_a_condition_differs_from_its_twin_in_that_alone(entry: ModelEntry) -> None:
    assert entry.twin is not None
    # A wrong step breaks this lemma about lost state before it breaks what is to be shown.
    with_it = [line for line in settings(entry.twin) if line != "  NothingMissing"]
    without = settings(entry.name)
    (other,) = [line for line in without if line not in with_it]
    assert [line for line in without if line != other] == with_it
    assert other.startswith(f"  {entry.switch} <- ")


@pytest.mark.parametrize("entry", MODELS.models, ids=lambda each: each.name)
def test_the_header_of_a_cfg_says_how_to_run_it_and_what_to_expect(entry: ModelEntry) -> None:
    text = cfg_text(entry.name)
    assert f"lockstep model {entry.name}\n" in text
    assert ("Green." in text) == (entry.result == "holds")
    assert entry.violates is None or f"Expected: {entry.violates} is violated." in text


def test_every_model_without_a_witness_checks_the_safety_of_raft() -> None:
    checked = [each for each in MODELS.models if not each.witness]
    for each in checked:
        lemma = ["NothingMissing"] if each.result == "holds" else []
        assert sorted(cfg_section(cfg_text(each.name), "INVARIANTS")) == sorted([*SAFETY, *lemma])
    assert {each.violates for each in SENSITIVE} == set(SAFETY)


def test_no_model_relies_on_the_conditions_that_repeat_what_the_others_lead_to() -> None:
    for each in MODELS.models:
        left_out = re.findall(r"^  (\w+) <- Any", cfg_text(each.name), re.MULTILINE)
        assert set(BACKSTOPS) <= set(left_out), each.name


def test_the_two_cfgs_of_logs_differ_in_what_is_refused_alone() -> None:
    safe, literal = (
        (spec_dir() / "lab" / name).read_text(encoding="utf-8").splitlines()[1:]
        for name in ("LabRaft.cfg", "Literal.cfg")
    )
    assert [pair for pair in zip(safe, literal, strict=True) if pair[0] != pair[1]] == [
        ("  Literal = FALSE", "  Literal = TRUE")
    ]
    assert LAB_GROUP.trace_cfg.name == "LabRaft.cfg"
