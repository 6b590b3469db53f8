"""The panel of a state: each action at its place, each step with its node and messages, and links to paths."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import Any

import pytest

from lockstep.jobs.play import play_page
from lockstep.jobs.play.disabled_steps import Wanted, disabled_steps
from lockstep.jobs.play.offered_steps import MessagesUnderWay, panel
from lockstep.jobs.play.page_requests import RefusedError, RequestHandler
from lockstep.jobs.play.path_links import BadLinkError, follow_link, link_to
from lockstep.jobs.play.play_game import Game, play_model, play_trace
from lockstep.jobs.play.play_page import page_tree
from lockstep.systems.node_picture import is_message
from lockstep.tla.values.kinds import format_value
from tests.support.places import ROOT
from tests.support.programs.plays import RAFT, SCENARIO, STEPS, flawed, lock_service, played, ways

#: One of DLedger whose leader has sent what waits.
DLEDGER = ROOT / "traces" / "counterexamples" / "dledger" / "push" / "late_truncate.trace.ndjson"


@pytest.fixture(scope="module")
def game() -> Game:
    """A session of DLedger at the end of the scenario of the docs."""
    return played()[0]


@pytest.fixture(scope="module")
def raft() -> Game:
    return play_trace(RAFT)


def steps_of(tree: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """The group, the action and each of its steps, as the panel has them."""
    return [
        (group["title"], action["name"], step)
        for group in tree["groups"]
        for action in group["actions"]
        for step in action["steps"]
    ]


def test_actions_keep_their_places_from_state_to_state_in_the_order_of_the_spec(game: Game, raft: Game) -> None:
    for each, last in ((game, STEPS), (raft, raft.begin)):
        named = [
            [(group["title"], action["name"]) for group in panel(each, at)["groups"] for action in group["actions"]]
            for at in range(last)
        ]
        assert all(names == named[0] for names in named)
        in_order = [name for name in each.session.spec.actions if name not in each.session.spec.never]
        for title in ("Writes", "Actions", "Faults"):
            mine = [name for group, name in named[0] if group == title]
            assert mine == [name for name in in_order if name in mine]
            assert mine
        assert sorted(name for _, name in named[0]) == sorted(in_order)


def test_a_step_of_nodes_alone_has_a_place_where_it_is_not_enabled_too(game: Game) -> None:
    places = [
        [step["label"] for _, name, step in steps_of(panel(game, at)) if name == "QuorumAckChecker"]
        for at in range(STEPS)
    ]
    assert places == [["n1", "n2"]] * STEPS
    first = [step["offer"] for _, name, step in steps_of(panel(game, 0)) if name == "QuorumAckChecker"]
    assert first == [None, None]


def test_the_panel_offers_each_step_once(game: Game, raft: Game) -> None:
    for each, last in ((game, STEPS), (raft, raft.begin), (ways(), 0)):
        for at in range(last + 1):
            numbers = [step["offer"] for _, _, step in steps_of(panel(each, at)) if step["offer"] is not None]
            assert sorted(numbers) == list(range(len(each.session.offers(at).steps)))


def test_a_step_about_a_message_names_the_one_that_the_page_draws(game: Game, raft: Game) -> None:
    """In DLedger's model a channel is a bag, in the trace of hashicorp/raft a sequence."""
    for each, last in ((game, STEPS), (raft, raft.begin)):
        seen = 0
        for at in range(last + 1):
            tree = page_tree(each, at)
            drawn, nodes, shown = tree["messages"], tree["nodes"], tree["play"]
            assert shown["underWay"] == [number for number, one in enumerate(drawn) if one["ended"] is None]
            for _, _, step in steps_of(shown):
                if step["offer"] is None:
                    continue
                args = each.session.offers(at).steps[step["offer"]].args.values()
                sent = [{name: format_value(value) for name, value in one.d.items()} for one in args if is_message(one)]
                assert bool(step["messages"]) == bool(sent)
                for number in step["messages"]:
                    assert dict(drawn[number]["fields"]) in sent
                    assert nodes[drawn[number]["dst"]] == step["node"]
                    seen += 1
        assert seen > 20


def test_a_message_has_the_number_of_the_page_also_in_an_earlier_state_and_where_the_page_begins_late(
    raft: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    for count in (400, 8):
        monkeypatch.setattr(play_page, "MAX_STEPS", count)
        tree = page_tree(raft, raft.begin)
        path, drawn = tree["play"]["path"], tree["messages"]
        assert len(path) == min(count, raft.begin + 1)
        for at in path:
            here = [
                number
                for number, each in enumerate(drawn)
                if (each["sent"] or 0) <= at and (each["ended"] is None or each["ended"] > at)
            ]
            assert panel(raft, at, path[0])["underWay"] == here
            assert here or at < 2


@pytest.mark.parametrize(("trace", "action"), [(RAFT, "DispatchLogs"), (DLEDGER, "AppendAsLeader")])
def test_a_write_of_a_client_is_one_step_that_is_offered(trace: Any, action: str) -> None:
    found = play_trace(trace)
    session = found.session
    writes = [
        (at, number, offer)
        for at in range(found.begin + 1)
        for number, offer in enumerate(session.offers(at).steps)
        if offer.action == action
    ]
    assert writes
    at, number, offer = writes[-1]
    assert f"v{at + 1}" in str(offer.args)
    after = session.take(at, offer)
    assert after.state != session.visit(at).state
    (shown,) = [step for _, _, step in steps_of(panel(found, at)) if step["offer"] == number]
    assert shown["node"] == "n1"


def test_a_suggested_write_that_the_spec_lists_itself_is_not_offered_twice() -> None:
    found = play_model("commit_unverified_bug").session
    for at in range(len(found.visits)):
        keys = [(each.action, *each.args.values(), each.after) for each in found.offers(at).steps]
        assert len(keys) == len(set(keys))


# ---- Why not? ----


def test_words_find_the_steps_that_are_not_enabled_with_the_first_false_conjunct(raft: Game) -> None:
    at = raft.begin - 2
    found = disabled_steps(raft, at, Wanted(("appendentries", "n2")))["found"]
    assert found
    for each in found:
        text = f"{each['action']} {each['label']}".lower()
        assert "appendentries" in text
        assert "n2" in text
        assert ".tla:" in each["reason"][0]
    enabled = {(each.action, *map(str, each.args.values())) for each in raft.session.offers(at).steps}
    assert not {(each["action"], *each["args"].values()) for each in found} & enabled
    assert disabled_steps(raft, at, Wanted(("nosuchaction",)))["found"] == []


def test_what_is_found_of_a_node_or_a_message_is_about_it_alone(raft: Game) -> None:
    at = raft.begin - 2
    of_n2 = disabled_steps(raft, at, Wanted(node="n2"))["found"]
    assert {each["args"]["n"] for each in of_n2} == {'"n2"'}
    assert "Restart" in [each["action"] for each in of_n2[:3]]  # faults come first
    here = MessagesUnderWay(raft, at, 0)
    message = here.message(here.numbers[0])
    about = disabled_steps(raft, at, Wanted(message=message))["found"]
    assert about
    assert all("m" in each["args"] or "request" in each["args"] for each in about)


def test_a_message_that_is_not_under_way_is_refused(raft: Game) -> None:
    handler = RequestHandler(raft)
    with pytest.raises(RefusedError, match="no message 999 is under way in state 3"):
        handler.handle(b'{"type": "find", "at": 3, "message": 999}')


# ---- Links ----


def test_a_link_leads_to_the_same_state_in_a_new_session(game: Game) -> None:
    for at in (0, 3, STEPS):
        other = flawed()
        reached = follow_link(other, link_to(game, at))
        assert (reached.depth, reached.state) == (at, game.session.visit(at).state)


def test_a_link_of_a_trace_begins_in_its_states() -> None:
    first, other = play_trace(RAFT), play_trace(RAFT)
    after = first.session.take(5, first.session.offers(5).steps[-1])
    link = link_to(first, after.number)
    assert link.startswith("@5.")
    assert follow_link(other, link).state == after.state
    assert link_to(first, 7).startswith("@7~")


def test_a_link_has_a_step_with_written_arguments_and_another_initial_state() -> None:
    game = ways()
    session = game.session
    start = session.begin(1)
    written = session.take(0, session.step(0, "Refuel", {"n": 5}))
    link = link_to(game, written.number)
    assert "Refuel" in link
    assert follow_link(ways(), link).state["fuel"] == 5
    assert link_to(game, start.number).startswith("1~")
    assert follow_link(ways(), link_to(game, start.number)).state["at"] == 10


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("", "is malformed"),
        ("0.1.2~xyz", "is malformed"),
        ("0.<b>", "step 1 of the address is malformed"),
        ("0.%5B%5D", "step 1 of the address is malformed"),
        (
            "0.999",
            "step 1 of the address is not allowed by late_truncate_bug: no step 999 is offered there; there are 2",
        ),
        ("0.0.%5B%22Crash%22%2C%7B%22n%22%3A%22n1%22%7D%2C0%5D", "step 2 of the address is not allowed"),
        ("7", "there is no initial state 7"),
        ("@3", "begins in state 3 of a trace, and late_truncate_bug has no such state"),
        ("0.0~000000", "of another spec than late_truncate_bug, or of another version of it"),
    ],
)
def test_a_link_that_the_spec_does_not_allow_is_refused_with_the_reason(link: str, problem: str) -> None:
    handler = RequestHandler(flawed())
    with pytest.raises(RefusedError, match=problem):
        handler.handle(json.dumps({"type": "replay", "link": link}).encode())


def test_a_link_of_another_spec_leads_elsewhere_and_is_refused(game: Game) -> None:
    with pytest.raises(BadLinkError):
        follow_link(lock_service(), link_to(game, 3))


def test_the_address_of_the_docs_leads_along_the_example_of_the_docs(game: Game) -> None:
    (link,) = re.findall(r"#play=([\d.]+~[0-9a-f]+)", SCENARIO.with_name("play.md").read_text(encoding="utf-8"))
    reached = follow_link(flawed(), link)
    assert (reached.depth, reached.state) == (6, game.session.visit(6).state)


#: Prints the link to a state that is reached by the last step that is offered, some steps long.
WALK = """
from lockstep.jobs.play.path_links import link_to
from tests.support.programs.plays import flawed
game, at = flawed(), 0
for _ in range(6):
    at = game.session.take(at, game.session.offers(at).steps[-1]).number
print(link_to(game, at))
"""


def test_every_process_numbers_the_steps_alike() -> None:
    links = {
        subprocess.run(
            [sys.executable, "-c", WALK],
            env={**os.environ, "PYTHONHASHSEED": seed},
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(links) == 1
    assert links.pop().count(".") == 6
