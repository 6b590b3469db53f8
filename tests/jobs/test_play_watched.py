"""Expressions that a player watches: what they are worth in a state, and how every other text is refused."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Any

import pytest

from lockstep.jobs.play import watched_expressions
from lockstep.jobs.play.page_requests import RequestHandler
from lockstep.jobs.play.play_game import play_trace
from lockstep.jobs.play.watched_expressions import SlowExpressionError, WatchedExpressions
from tests.support.places import ROOT
from tests.support.programs.plays import flawed, lock_service

RAFT = ROOT / "traces" / "counterexamples" / "hashicorp" / "log" / "truncate_without_conflict.trace.ndjson"


@pytest.fixture(scope="module")
def locks() -> Iterator[RequestHandler]:
    handler = RequestHandler(lock_service())
    handler.handle(b'{"type": "take", "at": 0, "offer": 1}')
    return handler


def watched(handler: RequestHandler, at: int, *texts: str, again: bool = False) -> list[Any]:
    request = {"type": "watch", "at": at, "texts": texts, "again": again}
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


def test_steps_are_answered_while_an_expression_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, ended = threading.Event(), threading.Event()

    def slowly(*_: object) -> str:
        begun.set()
        return "0" if ended.wait(60) else ""

    monkeypatch.setattr(WatchedExpressions, "value", slowly)
    handler = RequestHandler(lock_service())
    watching = threading.Thread(target=watched, args=(handler, 0, "token"))
    stepping = threading.Thread(target=handler.handle, args=(b'{"type": "take", "at": 0, "offer": 1}',), daemon=True)
    watching.start()
    try:
        assert begun.wait(60)
        stepping.start()
        stepping.join(timeout=20)
        assert not stepping.is_alive()
    finally:
        ended.set()
        watching.join()


#: Evaluated for longer than any limit: a set of 2^40 sets.
SLOW = "{x \\in SUBSET (1..40) : 41 \\in x}"


def test_an_evaluation_has_its_limit_from_when_it_begins_also_after_the_process_was_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time that the process takes to start and to compile has a limit of its own."""
    limits: list[float] = []
    poll = Connection.poll

    def noted(connection: Connection, seconds: float = 0.0) -> bool:
        limits.append(seconds)
        return poll(connection, seconds)

    monkeypatch.setattr(Connection, "poll", noted)
    handler = RequestHandler(lock_service())
    start, begin = watched_expressions.MAX_START_SECONDS, time.monotonic()
    with monkeypatch.context() as shorter:
        shorter.setattr(watched_expressions, "MAX_SECONDS", 1)
        assert watched(handler, 0, SLOW) == ["its evaluation takes longer than 1 seconds"]
    assert time.monotonic() - begin < 40
    assert watched(handler, 0, "token + 5") == ["5"]
    assert limits == [start, 1, start, 5]


def test_what_took_too_long_in_a_state_is_evaluated_in_no_other_until_that_is_asked_for(
    locks: RequestHandler, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluated: list[str] = []

    def slowly(_: object, text: str, *__: object) -> str:
        evaluated.append(text)
        if len(evaluated) <= 2:
            raise SlowExpressionError("slow")
        return "7"

    monkeypatch.setattr(watched_expressions._Evaluator, "value", slowly)
    assert watched(locks, 0, "token + 1") == ["slow"]
    refused = ["not evaluated: it took longer than 5 seconds in state 0"]
    assert watched(locks, 1, "token + 1") == watched(locks, 0, "token + 1") == refused
    assert watched(locks, 1, "token + 1", again=True) == ["slow"]
    assert watched(locks, 1, "token + 1") == ["not evaluated: it took longer than 5 seconds in state 1"]
    assert len(evaluated) == 2
    assert watched(locks, 1, "token + 1", again=True) == watched(locks, 0, "token + 1") == ["7"]
    assert len(evaluated) == 4


@pytest.mark.nightly
def test_the_constants_and_the_states_of_models_and_traces_are_those_that_are_played() -> None:
    raft = play_trace(RAFT)
    leaders = WatchedExpressions(raft.source)
    first, begin = (raft.session.visit(at) for at in (0, raft.begin))
    assert leaders.value('{n \\in Node : node[n].role = "Leader"}', begin) == '{"n1"}'
    assert leaders.value('{n \\in Node : node[n].role = "Leader"}', first) == "{}"
    model = flawed()
    lengths = WatchedExpressions(model.source).value("[n \\in Node |-> Len(node[n].log)]", model.session.visit(0))
    assert lengths == "(n1 :> 0 @@ n2 :> 0)"


def test_without_the_files_of_the_spec_nothing_is_watched() -> None:
    handler = RequestHandler(replace(lock_service(), source=None))
    (refused,) = watched(handler, 0, "token")
    assert refused == (
        "expressions cannot be watched here: Java must parse them; `lockstep play` without --static watches them"
    )
