"""Recordings of groups of nodes of the reference and of the real DLedger, checked against the spec.

Sources: DLedger 0.2.7 and 0.3.2, unmodified but for what the agent in traces/recorders/dledger writes into methods as
they are loaded.
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.step_lines import shown
from lockstep.systems.file_check import check
from raftref.dledger.choices import IN_0_2_7, Flaw
from tests.support.programs.java_programs import NO_MAVEN
from tests.support.systems.mixed_dledger import JAVA, NODES, PYTHON, GroupSetting, MixedGroup

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(NO_MAVEN is not None, reason=str(NO_MAVEN)),
]

#: The nodes of the reference have the flaws of the real ones: to the spec a group has one set of them.
PUBLISHED = tuple(map(str, IN_0_2_7))
#: Of 0.3.2 the spec is asked as of 0.3.1.2, the last version whose recordings it knows.
LIKE_0_3 = tuple(map(str, IN_0_2_7 - {Flaw.APPLY_UNCLAMPED}))
SETTINGS = {
    "0.2.7": GroupSetting("0.2.7", flaws=PUBLISHED, is_recorded=True),
    "0.2.7-batches": GroupSetting("0.2.7", batches=True, flaws=PUBLISHED, is_recorded=True),
    "0.3.2": GroupSetting("0.3.2", flaws=LIKE_0_3, features=("NotFollower",), is_recorded=True),
}


def lead_in_turn(group: MixedGroup) -> None:
    for node in NODES:
        group.hand_over(node)
        group.append(*(f"{node}-{number}" for number in range(8)), f"{node} is long: {'é' * 50}")


def kill_in_turn(group: MixedGroup) -> None:
    for node in NODES:
        kind = group.kinds[node]
        group.hand_over(node)
        group.append(*(f"{node}-{number}" for number in range(4)))
        group.kill(node)
        group.await_leader()
        group.append(*(f"after {node}-{number}" for number in range(4)))
        group.start(**{node: kind})


def replace_in_turn(group: MixedGroup) -> None:
    """Let the other kind go on with the files of each node."""
    for node in NODES:
        other = JAVA if group.kinds[node] == PYTHON else PYTHON
        group.await_leader()
        group.append(*(f"{node}-{number}" for number in range(4)))
        group.stop(node)
        group.await_leader()
        group.append(*(f"without {node}-{number}" for number in range(4)))
        group.start(**{node: other})


def cut_in_turn(group: MixedGroup) -> None:
    """Let leaders of both kinds store what nobody else does, and the others cut it."""
    for alone in ("n1", "n0"):
        others = [node for node in NODES if node != alone]
        group.hand_over(alone)
        group.append(*(f"all {alone}-{number}" for number in range(3)))
        for node in others:
            group.kill(node)
        group.append_in_vain(alone, *(f"alone {alone}-{number}" for number in range(3)))
        group.kill(alone)
        group.start(**{node: group.kinds[node] for node in others})
        group.await_leader(*others)
        group.append(*(f"others {alone}-{number}" for number in range(5)))
        group.start(**{alone: group.kinds[alone]})
        group.await_committed(group.append(f"last {alone}")[0].index)


SCENARIOS = {"lead": lead_in_turn, "kill": kill_in_turn, "replace": replace_in_turn, "cut": cut_in_turn}


@pytest.mark.parametrize("scenario", SCENARIOS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_what_a_mixed_group_did_holds_in_the_spec(setting: str, scenario: str, tmp_path: Path) -> None:
    with MixedGroup(tmp_path, SETTINGS[setting]) as group:
        group.start(n0=JAVA, n1=PYTHON, n2=JAVA)
        SCENARIOS[scenario](group)
        time.sleep(1.5)  # a COMMIT brings the last committed index to all
        group.stop(*NODES)
        recording = group.merged()
    verdict = check(recording)
    assert verdict.verdict is Verdict.HOLDS, (verdict.verdict, verdict.reason, verdict.findings)
    assert verdict.events > 200
    if scenario == "cut":
        assert {line["node"] for line in truncates(recording)} >= {"n0", "n1"}


def truncates(recording: Path) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    return [line for line in lines if line["kind"] == "store" and line["op"] == "truncate" and line["ok"]]


def test_a_recording_in_which_a_leader_pushes_something_else_than_it_has_stored_leaves_the_spec_there(
    tmp_path: Path,
) -> None:
    """The planted mistake: of one entry the Python leader has stored another value."""
    with MixedGroup(tmp_path, SETTINGS["0.2.7"]) as group:
        group.start(n0=JAVA, n1=PYTHON, n2=JAVA)
        group.hand_over("n1")
        group.append("a", "b", "c", "d")
        time.sleep(1.5)
        group.stop(*NODES)
        recording = group.merged()
    assert check(recording).verdict is Verdict.HOLDS
    lines = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    (stored, *_) = (line for line in lines if line.get("op") == "appendAsLeader" and line["val"] == "c")
    stored["val"] = "x"
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    planted = check(recording)
    assert planted.verdict is Verdict.VIOLATED
    assert planted.events > 20


@pytest.mark.parametrize("batches", [False, True])
def test_what_a_hook_of_the_store_makes_of_a_body_is_recorded(tmp_path: Path, batches: bool) -> None:
    """As in RocketMQ's broker, which writes the place of a message into it as its leader stores it."""
    stamped = {node: {"stamps": 1} for node in NODES}
    with MixedGroup(tmp_path, GroupSetting("0.3.2", batches, java=stamped, is_recorded=True)) as group:
        group.start(**dict.fromkeys(NODES, JAVA))
        group.await_leader()
        group.await_committed(group.append("?", "?" * 100)[-1].index)
        group.stop(*NODES)
        recording = group.merged()
    lines = [json.loads(line) for line in recording.read_text(encoding="utf-8").splitlines()]
    stored = ["a", shown("b" + "?" * 99)]
    assert [line["val"] for line in lines if line.get("op") == "appendAsLeader"] == stored
    verdict = check(recording)
    assert verdict.verdict is Verdict.HOLDS, (verdict.verdict, verdict.reason, verdict.findings)
