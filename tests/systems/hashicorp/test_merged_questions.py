"""VerifyLeader and the commit index that a log store keeps, in recordings of a group, checked against the spec."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.file_check import check
from raftref.hashicorp.choices import DEFAULT_FEATURES, IN_V173, Feature
from raftref.hashicorp.runtime.client_calls import VerifyLeaderRequest
from raftref.runtime.virtual import KILLED
from tests.support.systems.running_groups import Answers, ask
from tests.support.systems.running_raft import RaftGroup, command, without_snapshots
from tests.systems.hashicorp.test_merged_calls import HEADER, Line, merged, mixed, step_line, write

Lines = list[Line]


def recording(folder: Path, run: RaftGroup, **header: Any) -> Lines:
    """Return the recording of a group that has run."""
    steps = [step_line(step) for step in run.group.steps if step.action != KILLED]
    return merged(mixed(folder, json.loads(json.dumps(steps)), HEADER | header))


def checked(folder: Path, lines: Lines) -> TraceVerdict:
    for number, each in enumerate(lines):
        each["seq"] = number
    lines[-1]["events"] = len(lines)
    return check(write(folder / "group.ndjson", lines))


def places(lines: Lines, is_wanted: Callable[[Line], bool]) -> list[int]:
    return [place for place, each in enumerate(lines) if is_wanted(each)]


# ---- VerifyLeader ----


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A leader confirms three times that it leads, between commands."""
    run = RaftGroup(1, flaws=IN_V173)
    leader = run.elect()
    for count in range(3):
        ask(run.group, leader, command(count))
        assert ask(run.group, leader, VerifyLeaderRequest()).error is None
    return recording(tmp_path_factory.mktemp("verified"), run)


def test_a_leader_that_a_quorum_confirms_holds(tmp_path: Path, verified: Lines) -> None:
    found = checked(tmp_path, verified)
    assert found.verdict is Verdict.HOLDS, found
    assert [each["ok"] for each in verified if each["kind"] == "verify_resp"] == [True] * 3


def test_a_confirmation_before_any_peer_has_answered_is_refused(tmp_path: Path, verified: Lines) -> None:
    (elected,) = places(verified, lambda each: each.get("state") == "Leader")
    noop = elected + places(verified[elected:], lambda each: each["kind"] == "store_logs")[0]
    line = {name: verified[noop][name] for name in ("node", "inc", "t_ms", "obs")}
    question = [{**line, "kind": "verify_req", "k": 99}, {**line, "kind": "verify_resp", "k": 99, "ok": True}]
    found = checked(tmp_path, [*verified[: noop + 1], *question, *verified[noop + 1 :]])
    assert found.verdict is Verdict.VIOLATED
    assert found.deviation is not None
    assert found.deviation.action == "HandleVerify"


@pytest.mark.nightly
def test_questions_that_overlap_or_that_nobody_answers_are_left_out(tmp_path: Path, verified: Lines) -> None:
    lines = [dict(each) for each in verified]
    for place in reversed(places(lines, lambda each: each["kind"] == "verify_req")):
        lines.insert(place + 1, lines[place] | {"k": 50 + place})
    assert checked(tmp_path, lines).verdict is Verdict.HOLDS
    lines = [each for each in verified if each["kind"] != "verify_resp"]
    assert checked(tmp_path, lines).verdict is Verdict.HOLDS


def asked_while_a_follower_returns(seed: int) -> RaftGroup:
    """A follower that was alone comes back in a higher term, and its leader is asked all the while whether it leads."""
    run = RaftGroup(seed, flaws=IN_V173, features=DEFAULT_FEATURES - {Feature.PRE_VOTE})
    leader, answers = run.elect(), Answers()
    run.group.partition([run.followers[0]])
    run.group.run_until(run.group.now + 3)
    run.group.heal()
    for _ in range(20):
        answers.ask(run.group, leader, VerifyLeaderRequest())
        run.group.run_until(run.group.now + 0.02)
    run.group.run_until(run.group.now + 3)
    assert {answer.error for _, answer in answers.given} >= {None}
    return run


@pytest.mark.nightly
def test_a_leader_that_a_peer_denies_follows(tmp_path: Path) -> None:
    lines = recording(tmp_path, asked_while_a_follower_returns(7), prevote=False)
    found = checked(tmp_path, lines)
    assert found.verdict is Verdict.HOLDS, found
    (place,) = places(lines, lambda each: each.get("text") == "new leader elected, stepping down")
    lines[place]["text"] = "something else"
    assert checked(tmp_path, lines).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("verify_req", "nobody has asked n. question 1"),  # the line is left out
        ("verify_resp", "question 1 was answered before"),  # the line is there twice
    ],
)
def test_an_answer_belongs_to_one_question(kind: str, said: str, tmp_path: Path, verified: Lines) -> None:
    place = places(verified, lambda each: each["kind"] == kind)[0]
    lines = [dict(each) for each in verified]
    if kind == "verify_req":
        del lines[place]
    else:
        lines.insert(place, dict(lines[place]))
    found = checked(tmp_path, lines)
    assert found.verdict is Verdict.MALFORMED
    assert re.search(rf"field `k`: {said}", found.reason)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(1, 41))
def test_whatever_ends_a_leadership_that_is_asked_for_holds(tmp_path: Path, seed: int) -> None:
    found = checked(tmp_path, recording(tmp_path, asked_while_a_follower_returns(seed), prevote=False))
    assert found.deviation is None, found


# ---- RestoreCommittedLogs ----


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> Lines:
    """A follower dies, comes back, and applies what its store knows to be committed."""
    run = RaftGroup(
        1, flaws=IN_V173, features=DEFAULT_FEATURES | {Feature.RESTORE_COMMITTED_LOGS}, settings=without_snapshots()
    )
    leader = run.elect()
    for count in range(4):
        ask(run.group, leader, command(count))
    follower = run.followers[0]
    run.group.kill(follower)
    ask(run.group, leader, command(4))
    run.group.start(follower)
    run.group.run_until(run.group.now + 3)
    return recording(tmp_path_factory.mktemp("restored"), run, library_version="v1.8.0", restore_committed_logs=True)


def test_a_start_that_applies_what_the_store_knows_to_be_committed_holds(tmp_path: Path, restored: Lines) -> None:
    found = checked(tmp_path, restored)
    assert found.verdict is Verdict.HOLDS, found
    (start,) = places(restored, lambda each: each["kind"] == "start" and each["inc"] == 2)
    assert restored[start]["persisted"]["commit"] > 1
    after = [each for each in restored[start:] if each.get("node") == restored[start]["node"]]
    kinds = [each["kind"] for each in after]
    assert kinds.index("fsm_apply") < kinds.index("recv")


@pytest.mark.parametrize("kind", ["start", "store_logs"])
def test_another_commit_index_in_the_store_is_refused(kind: str, tmp_path: Path, restored: Lines) -> None:
    lines: Lines = json.loads(json.dumps(restored))
    place = places(lines, lambda each: each["kind"] == kind and (each["inc"] == 2 or kind != "start"))[-1]
    keeps = lines[place]["persisted"] if kind == "start" else lines[place]
    keeps["commit"] -= 1
    found = checked(tmp_path, lines)
    assert found.verdict is Verdict.VIOLATED
    assert found.deviation is not None
    assert found.deviation.name == "storedCommit"
