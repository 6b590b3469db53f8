"""What the guide to the spec and the header of a trace say of DLedger's book."""

from __future__ import annotations

import re

import pytest

from lockstep.base.package_data import common_dir
from lockstep.systems.dledger.constants import CONSTANTS, SET_CONSTANTS
from lockstep.systems.dledger.plans import fault_plan
from lockstep.systems.registry import manifest
from lockstep.systems.trace_specs import trace_spec
from simulated_traces import header


def test_the_guide_runs_tlc_on_the_module_that_goes_with_the_cfg() -> None:
    guide = (common_dir().parent / "README.md").read_text(encoding="utf-8")
    ((folder, name, module),) = re.findall(r"-config (\w+)/(\w+)\.cfg (\w+)\.tla$", guide, re.MULTILINE)
    entry = manifest().model(name)
    assert (entry.module, entry.cfg_name) == (module, f"{folder}/{name}.cfg")


@pytest.mark.parametrize(("name", "names"), [("Features", "FeatureNames"), ("Published", "FlawNames")])
def test_every_feature_and_every_flaw_is_a_choice_of_the_header(name: str, names: str) -> None:
    assert {*SET_CONSTANTS, "Fifo"} == set(CONSTANTS.allowed)
    spec = trace_spec(header(fault_plan("whole", 1)), "t")
    assert spec.evaluate(names) == {member for of, member, _ in SET_CONSTANTS.values() if of == name}
