"""Expressions that a player watches: what they are worth in a state, and how every other text is refused."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lockstep.jobs.play import watched_expressions
from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_game import play_trace
from lockstep.jobs.play.watched_expressions import WatchedExpressions
from tests.support.places import ROOT
from tests.support.programs.plays import flawed, lock_service

RAFT = ROOT / "traces" / "counterexamples" / "hashicorp" / "log" / "truncate_without_conflict.trace.ndjson"


@pytest.fixture(scope="module")
def locks() -> Iterator[RequestHandler]:
    handler = RequestHandler(lock_service())
    handler.handle(b'{"type": "take", "at": 0, "offer": 1}')
    return handler


def watched(handler: RequestHandler, at: int, *texts: str) -> list[Any]:
    request = {"type": "watch", "at": at, "texts": texts}
    return [each["error"] or each["value"] for each in handler.handle(json.dumps(request).encode())["values"]]


def test_an_expression_has_its_value_in_each_state(locks: RequestHandler) -> None:
    assert watched(locks, 0, "Len(queue) + 1", "token") == ["1", "0"]
    assert watched(locks, 1, "Len(queue) + 1", "token") == ["2", "1"]
    assert watched(locks, 1, "queue") == ["<<b>>"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("1 +", "Encountered"),
        ("nothing", "column 1: Unknown operator: `nothing'"),
        ("1 )\nOther == ( 2", "write one expression, in one line"),
        ("1 ) Other == ( 2", "write one expression, in one line"),
        ("   ", "write one expression, in one line"),
        ("Head(<<>>)", "it has no value here: "),
        ("queue'", "it has no value here: "),
        ("__import__('os').system('touch hacked')", "column"),
        ("INSTANCE Naturals", "Encountered"),
    ],
)
def test_what_is_no_expression_or_has_no_value_is_refused_with_the_reason(
    text: str, problem: str, locks: RequestHandler
) -> None:
    (said,) = watched(locks, 0, text)
    assert problem in said
    assert "/" not in said.partition(problem)[0]
    assert watched(locks, 0, "token") == ["0"]


@pytest.mark.nightly
def test_an_evaluation_that_takes_too_long_is_ended(locks: RequestHandler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watched_expressions, "MAX_SECONDS", 1)
    begin = time.monotonic()
    (said,) = watched(locks, 0, "{x \\in SUBSET (1..40) : 41 \\in x}")
    assert said == "its evaluation takes longer than 1 seconds"
    assert time.monotonic() - begin < 40
    assert watched(locks, 0, "token + 5") == ["5"]


@pytest.mark.nightly
def test_the_constants_and_the_states_of_models_and_traces_are_those_that_are_played() -> None:
    raft = play_trace(RAFT)
    leaders = WatchedExpressions(raft)
    assert leaders.value('{n \\in Node : node[n].role = "Leader"}', raft.begin) == '{"n1"}'
    assert leaders.value('{n \\in Node : node[n].role = "Leader"}', 0) == "{}"
    model = flawed()
    assert WatchedExpressions(model).value("[n \\in Node |-> Len(node[n].log)]", 0) == "(n1 :> 0 @@ n2 :> 0)"


def test_without_the_files_of_the_spec_nothing_is_watched() -> None:
    handler = RequestHandler(replace(lock_service(), source=None))
    (refused,) = watched(handler, 0, "token")
    assert refused == (
        "expressions cannot be watched here: Java must parse them; `lockstep play` without --static watches them"
    )
