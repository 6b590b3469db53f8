"""Cutting a node off: every message to and from it is lost, by ordinary steps, or none is and the reason is given."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from lockstep.jobs.play.cut_off import can_be_cut_off, losing_steps
from lockstep.jobs.play.offered_steps import panel
from lockstep.jobs.play.page_requests import RefusedError, RequestHandler
from lockstep.jobs.play.path_links import follow_link
from lockstep.jobs.play.play_game import Game, play_model, play_trace
from lockstep.jobs.play.play_page import page_tree
from lockstep.jobs.play.play_session import Offer, Session, StepRefusedError
from lockstep.tla.state import State
from lockstep.tla.values.kinds import Value
from tests.support.programs.plays import RAFT, flawed, lock_service, played, ways


def in_dledger() -> tuple[Game, int]:
    """After DoTruncate and Duplicate: a request on its way once more, and the answer to the first."""
    return played()[0], 9


def in_hashicorp() -> tuple[Game, int]:
    """A vote is on its way to n1, and a request of n1 to n2."""
    return play_trace(RAFT), 3


def asked(handler: RequestHandler, **request: Any) -> dict[str, Any]:
    return handler.handle(json.dumps(request).encode())


def under_way(tree: dict[str, Any], node: str) -> list[int]:
    """The numbers of the messages of a page to and from a node that are under way in its last state."""
    place = tree["nodes"].index(node)
    return [number for number in tree["play"]["underWay"] if place in ends(tree["messages"][number])]


def ends(message: dict[str, Any]) -> tuple[int, int]:
    return message["src"], message["dst"]


@pytest.mark.parametrize("begin", [in_dledger, in_hashicorp])
def test_a_node_that_is_cut_off_loses_every_message_to_and_from_it_and_no_other(
    begin: Callable[[], tuple[Game, int]],
) -> None:
    game, at = begin()
    before = page_tree(game, at)
    for node in before["nodes"]:
        lost = under_way(before, node)
        if not lost:
            assert node not in before["play"]["canBeCutOff"]
            continue
        assert node in before["play"]["canBeCutOff"]
        after = asked(RequestHandler(game, at), type="cut", at=at, node=node)
        assert under_way(after, node) == []
        assert set(after["play"]["underWay"]) == {*before["play"]["underWay"]} - {*lost}
        # The path goes on by one step for each message, all of them steps of the spec.
        assert after["play"]["path"][: -len(lost)] == before["play"]["path"]
        taken = game.session.path(after["play"]["at"])[-len(lost) :]
        assert {visit.action for visit in taken} == {"Lose"}
        assert [after["messages"][number]["fate"] for number in lost] == ["lost"] * len(lost)


def test_several_messages_are_lost_one_after_the_other_and_undone_one_by_one() -> None:
    game, at = in_dledger()
    steps = losing_steps(game, at, "n1")
    assert [step.action for step in steps] == ["Lose", "Lose"]
    assert can_be_cut_off(game, at) == ["n1", "n2"]
    tree = asked(RequestHandler(game, at), type="cut", at=at, node="n1")
    first = tree["play"]["parent"]
    assert len(panel(game, first)["underWay"]) == 1
    assert panel(game, first)["parent"] == at


def test_the_address_has_the_steps_of_a_cut_and_another_session_takes_them() -> None:
    game, at = in_dledger()
    tree = asked(RequestHandler(game, at), type="cut", at=at, node="n2")
    reached = follow_link(flawed(), tree["play"]["link"])
    assert reached.depth == at + 2
    assert reached.state == game.session.visit(tree["play"]["at"]).state


def test_a_node_without_messages_under_way_is_not_cut_off() -> None:
    game, _ = in_dledger()
    assert can_be_cut_off(game, 0) == []
    with pytest.raises(RefusedError, match=r"^no message to or from n1 is under way$"):
        asked(RequestHandler(game), type="cut", at=0, node="n1")
    with pytest.raises(RefusedError, match="no message to or from nobody is under way"):
        asked(RequestHandler(game), type="cut", at=9, node="nobody")


def test_a_model_that_loses_nothing_says_which_bound_forbids_it() -> None:
    game = play_model("commit_unverified_bug")
    session = game.session
    sent = session.take(0, next(each for each in session.offers(0).steps if each.action == "ReplicateTo"))
    found = asked(RequestHandler(game), type="find", at=sent.number, node="n1")
    assert found["notCutOff"][0] == "the message to and from n1 cannot be lost"
    assert '"Loss" \\in Environment' in found["notCutOff"][1]
    assert can_be_cut_off(game, sent.number) == []
    with pytest.raises(RefusedError, match="cannot be lost") as caught:
        asked(RequestHandler(game), type="cut", at=sent.number, node="n1")
    assert ".tla:" in caught.value.lines[0]
    assert len(session.visits) == 2


def test_no_message_is_lost_where_one_of_several_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    game, at = in_dledger()
    allowed = Session.step_from

    def bounded(session: Session, state: State, action: str, args: Mapping[str, Value], choice: int = 0) -> Offer:
        if action == "Lose" and str(args["n"]) == str(game.session.spec.model_values["n2"]):
            raise StepRefusedError("Lose is not enabled with these arguments", ["Bounds.tla:1:1: FALSE"])
        return allowed(session, state, action, args, choice)

    monkeypatch.setattr(Session, "step_from", bounded)
    count = len(game.session.visits)
    with pytest.raises(RefusedError, match=r"^1 of the 2 messages to and from n1 cannot be lost$") as caught:
        asked(RequestHandler(game), type="cut", at=at, node="n1")
    assert caught.value.lines == ("Bounds.tla:1:1: FALSE",)
    assert len(game.session.visits) == count


def test_what_can_be_cut_off_is_found_with_the_steps_of_a_node_alone() -> None:
    game, at = in_dledger()
    handler = RequestHandler(game, at)
    assert asked(handler, type="find", at=at, node="n1")["notCutOff"] == []
    assert asked(handler, type="find", at=0, node="n1")["notCutOff"] == ["no message to or from n1 is under way"]
    assert "notCutOff" not in asked(handler, type="find", at=at, words="Lose")


def test_a_spec_without_a_picture_of_nodes_cuts_nothing_off() -> None:
    for game in (lock_service(), ways()):
        assert can_be_cut_off(game, 0) == []
