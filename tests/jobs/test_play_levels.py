"""Levels: the goal, the fewest steps, and what the hints know."""

from __future__ import annotations

import json
import tomllib

import msgspec
import pytest

from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_game import play_model
from lockstep.jobs.play_folder.levels import NoLevelError, PlayLevel, as_shown, level_models, level_of, level_tree
from lockstep.models.model_manifest import ModelEntry
from tests.support.places import ROOT
from tests.support.sampling import sampled

ENTRIES = {entry.name: entry for entry in level_models()}

#: Models that a search finishes in a second, of both systems; one violates a property of steps.
SAMPLE = ["stale_install_bug", "vote_file_bug", "repeated_push_bug"]


def level(name: str) -> PlayLevel | None:
    return level_of(play_model(name), ENTRIES[name])


@pytest.mark.parametrize("name", sampled(ENTRIES, SAMPLE))
def test_the_fewest_steps_are_those_of_the_manifest_and_the_way_violates_the_property_at_its_end(name: str) -> None:
    """The manifest's depth is TLC's: the states of a shortest counterexample."""
    found = level(name)
    if found is None:
        assert ENTRIES[name].violates in play_model(name).session.spec.temporal
        return
    assert found.par == (ENTRIES[name].depth or 0) - 1
    *before, last = found.way
    assert found.violated in last.failed
    assert [visit.number for visit in before if found.violated in visit.failed] == []


def test_every_flaw_with_a_counterexample_has_a_model_that_may_be_a_level() -> None:
    text = (ROOT / "traces" / "counterexamples" / "manifest.toml").read_text(encoding="utf-8")
    flaws = {each["switch"] for each in tomllib.loads(text)["counterexample"]}
    assert len(flaws) == 35
    assert flaws <= {entry.switch for entry in ENTRIES.values()}


def test_the_hints_name_offers_that_lead_to_the_violation_as_a_page_shows_it() -> None:
    found = level("vote_file_bug")
    assert found is not None
    tree = level_tree(found)
    handler = RequestHandler(play_model("vote_file_bug"))
    page, at = handler.page(), 0
    for step in tree["way"]:
        page = handler.handle(json.dumps({"type": "take", "at": at, "offer": step["offer"]}).encode())
        at = page["play"]["at"]
        assert as_shown(page, -1) == step["shown"]
    assert page["verdict"] == "violated"
    assert tree["property"] in page["reason"]
    assert tree["par"] == len(tree["way"]) == 8


def test_a_level_has_the_text_of_its_property_and_the_story_of_its_flaw() -> None:
    found = level("vote_file_bug")
    assert found is not None
    tree = level_tree(found)
    assert "ElectionSafety ==" in tree["formula"]
    assert "term" in tree["story"][0]
    assert not any("](" in paragraph for paragraph in tree["story"])


def test_a_flaw_without_a_story_is_described_by_the_note_of_its_model() -> None:
    found = level("wire_votes_twice_bug")
    assert found is not None
    assert level_tree(found)["story"] == ["A voter grants its vote to a second candidate."]


def test_a_model_whose_search_finds_something_else_is_refused() -> None:
    entry: ModelEntry = msgspec.structs.replace(ENTRIES["vote_file_bug"], violates="TypeOK")
    with pytest.raises(NoLevelError, match="vote_file_bug: a search does not find that TypeOK is violated"):
        level_of(play_model("vote_file_bug"), entry)
