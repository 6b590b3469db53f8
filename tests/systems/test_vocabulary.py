"""docs/traces/actions.md and docs/traces/hashicorp.md say what the specs say."""

from __future__ import annotations

import re

import pytest

from lockstep.systems.hashicorp.constants import CHOICES, CONSTANTS, IN_V173
from raftref.hashicorp.messages import RpcType
from tests.scripts.vocabulary import OF_DLEDGER, OF_HASHICORP, VOCABULARIES, Vocabulary
from tests.support.places import ROOT

EACH = pytest.mark.parametrize("of", VOCABULARIES.values(), ids=VOCABULARIES)
PLANS = [
    (each, plan) for each in (OF_DLEDGER, OF_HASHICORP) if each.system.simulator for plan in each.system.simulator.plans
]


@EACH
def test_the_page_says_what_the_spec_says(of: Vocabulary) -> None:
    """Rewrite it with `python -m tests.scripts.vocabulary DLedger > docs/traces/actions.md`, the other likewise."""
    assert (ROOT / "docs" / "traces" / of.page).read_text(encoding="utf-8") == of.text()


@EACH
def test_the_spec_says_of_every_action_what_happens(of: Vocabulary) -> None:
    assert of.about.keys() == of.spec.actions.keys()


@EACH
def test_the_page_lists_the_arguments_of_the_actions_and_no_others(of: Vocabulary) -> None:
    assert of.arguments.keys() == {name.strip("`") for name, _ in of.argument_rows()}


def test_the_page_lists_every_message_of_hashicorp_raft() -> None:
    listed = {name for name, _ in OF_HASHICORP.message_rows()}
    assert listed == {f"`{each.value}`, {kind}" for each in RpcType for kind in ("request", "response")}


def test_the_page_has_the_defaults_of_a_header() -> None:
    """The defaults of the bounds; of features and flaws the page says: all of them, and as in v1.7.3."""
    text = (ROOT / "docs" / "traces" / "format.md").read_text(encoding="utf-8")
    section = text[text.index("## A trace of hashicorp/raft") :]
    bounds = {name: CONSTANTS.defaults[name] for name in ("MaxAppendEntries", "TrailingLogs", "RetainSnapshots")}
    assert [name for name, value in bounds.items() if f"`{name}` ({value})" not in section] == []
    assert {name for name in CHOICES.features if not CONSTANTS.defaults[name]} == {"Pipeline", "RestoreCommittedLogs"}
    assert {str(each) for each in CHOICES.flaws if CONSTANTS.defaults[each] == "published"} == {*IN_V173}
    assert (CONSTANTS.defaults["Fifo"], CONSTANTS.defaults["Voters"]) == (False, 0)


@pytest.mark.parametrize(("of", "plan"), PLANS, ids=lambda each: each if isinstance(each, str) else each.system.spec)
def test_an_action_is_taken_with_the_features_that_the_page_says(of: Vocabulary, plan: str) -> None:
    header, events = of.cluster(plan, 5, 200)
    needs = {name.strip("`"): dict(re.findall(r"`(\w+)`: `(\w+)`", needed)) for name, _, needed, _ in of.actions()}
    assert events
    for event in events:
        for constant, value in needs[event.action].items():
            assert header.constants[constant] is (value == "true"), event.action
