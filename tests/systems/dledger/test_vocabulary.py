"""docs/traces/actions.md says what the spec says."""

from __future__ import annotations

import re

import pytest

from lockstep.base.paths import traces_dir
from lockstep.systems.dledger.plans import PLANS, fault_plan
from raftref.dledger.simulation import simulate
from simulated_traces import header
from vocabulary import about, actions, page, spec


def test_the_page_says_what_the_spec_says() -> None:
    """Rewrite it with `python tests/support/vocabulary.py > docs/traces/actions.md`."""
    assert (traces_dir().parent / "docs" / "traces" / "actions.md").read_text(encoding="utf-8") == page()


def test_the_spec_says_of_every_action_what_happens() -> None:
    assert about().keys() == spec().actions.keys()


@pytest.mark.parametrize("plan", sorted(PLANS))
def test_an_action_is_taken_in_the_grain_that_the_page_says(plan: str) -> None:
    made = fault_plan(plan, 200)
    constants = header(made).constants
    needs = {name.strip("`"): dict(re.findall(r"`(\w+)`: `(\w+)`", grain)) for name, _args, grain, _said in actions()}
    for event in simulate(5, made):
        for constant, value in needs[event["action"]].items():
            assert constants[constant] is (value == "true"), event["action"]
