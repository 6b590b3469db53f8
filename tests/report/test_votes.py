"""The votes of an election without messages: which a step grants, and that they are drawn like those of messages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from lockstep.jobs.play.play_game import play_model
from lockstep.jobs.play.play_page import page_tree
from lockstep.systems.node_picture import shown
from tests.support.places import ROOT
from tests.support.programs.browsers import CHROMIUM, NO_CHROMIUM, quiet_tab
from tests.support.programs.pages import page_of, tree_of
from tests.support.programs.played_pages import opened, stands_at

COUNTEREXAMPLES = ROOT / "traces" / "counterexamples"
#: Elections of DLedger step by step, and of hashicorp/raft message by message.
BY_STEPS = COUNTEREXAMPLES / "dledger" / "commit" / "prior_term_commit.trace.ndjson"
BY_MESSAGES = COUNTEREXAMPLES / "hashicorp" / "elections" / "heartbeat_race.trace.ndjson"


def votes_of(tree: dict[str, Any]) -> list[tuple[str, list[list[str]]]]:
    """The action and the votes of each step that grants some, by the names of the nodes."""
    names = tree["nodes"]
    return [
        (tree["actions"][step["action"]]["name"], [[names[each] for each in vote] for vote in step["votes"]])
        for step in tree["steps"]
        if "votes" in step
    ]


def test_an_election_in_one_step_grants_the_vote_of_every_voter_but_the_candidate() -> None:
    game = play_model("prior_term_commit_bug")
    session, seen = game.session, set()
    for offer in session.offers(0).steps:
        if offer.action == "ElectLeader":
            taken = session.take(0, offer)
            candidate, voters = shown(offer.args["n"]), {shown(each) for each in offer.args["voters"]}
            ((_, votes),) = votes_of(page_tree(game, taken.number))
            assert votes == [[voter, candidate] for voter in sorted(voters - {candidate})]
            seen.add(len(votes))
    assert seen == {1, 2}


def test_a_vote_that_is_a_step_of_its_own_goes_to_the_candidate_that_the_voter_remembers() -> None:
    tree, count = tree_of(BY_STEPS), 0
    for step in tree["steps"]:
        for voter, candidate in step.get("votes", ()):
            assert step["node"] == voter != candidate
            facts = dict(map(tuple, step["looks"][str(voter)]["facts"]))
            assert facts["currVoteFor"] == tree["nodes"][candidate]
            count += 1
    assert {action for action, _ in votes_of(tree)} == {"SetCurrVoteFor"}
    assert count == 4


def test_a_vote_in_a_message_is_that_message_and_no_vote_of_a_step() -> None:
    tree = tree_of(BY_MESSAGES)
    assert votes_of(tree) == []
    assert any(message["vote"] for message in tree["messages"])


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_a_vote_of_a_step_is_drawn_as_that_of_a_message_and_named(browser: Browser, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of(BY_STEPS), encoding="utf-8")
    with quiet_tab(browser, file) as tab:
        tab.keyboard.press("Home")
        vote = tab.locator("#canvas g:has(.vote)").first
        assert vote.locator("title").text_content() == "vote of n3 for n1, granted at line 5"
        assert vote.locator(".granted").text_content() == "✓"
        assert vote.locator(".head").count() == 1


@pytest.mark.skipif(CHROMIUM is None, reason=NO_CHROMIUM)
def test_an_election_in_one_step_that_is_played_has_an_arrow_for_each_vote(browser: Browser) -> None:
    with opened(browser, play_model("prior_term_commit_bug")) as (tab, _):
        stands_at(tab, 0)
        assert tab.locator("#canvas .vote").count() == 0
        whole = tab.locator('#offers [data-offer][aria-label^="ElectLeader n2"]', has_text="n1, n2, n3")
        whole.click()
        stands_at(tab, 1)
        expect(tab.locator("#canvas .vote")).to_have_count(2)
        titles = tab.locator("#canvas g:has(.vote) title").all_text_contents()
        assert titles == [f"vote of {voter} for n2, granted by step 1" for voter in ("n1", "n3")]
        ends = tab.evaluate("""() => [...document.querySelectorAll("#canvas g .vote")].map((line) =>
          [line.getAttribute("y1"), line.getAttribute("x1")])""")
        assert len({tuple(each) for each in ends}) == 2
