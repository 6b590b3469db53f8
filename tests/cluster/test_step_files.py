"""Step files of several nodes as one sequence, and the check of a group while it runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.errors import BadInputError
from lockstep.base.verdict import Verdict
from lockstep.cluster.live_check import LiveCheck
from lockstep.cluster.step_files import SETTLED, merged_steps
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeKind
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import StepFile
from tests.support.systems.running_dledger import DLedgerGroup, entry
from tests.support.systems.running_groups import NODES, ask

DLEDGER = SYSTEMS["DLedger"]


def step(at: float, node: str = "n1", action: str = "PersistCheckPoint") -> NodeStep:
    return NodeStep(at, node, action, {}, {})


def written(folder: Path, steps: list[NodeStep]) -> list[Path]:
    """Write each node's steps into a file of its own."""
    paths = {each.node: folder / f"{each.node}.steps.ndjson" for each in steps}
    for node, path in paths.items():
        file = StepFile(path)
        for each in steps:
            if each.node == node:
                file.write(each)
        file.close()
    return list(paths.values())


def test_steps_come_in_the_order_of_time_and_those_of_a_node_in_its_own(tmp_path: Path) -> None:
    steps = [step(1.0), step(1.0, action="Crash"), step(2.0, "n2"), step(3.0), step(3.5, "n2")]
    paths = written(tmp_path, steps)
    assert list(merged_steps(paths, lambda: True)) == steps


def test_a_step_waits_until_no_other_node_can_have_taken_an_earlier_one(tmp_path: Path) -> None:
    paths = written(tmp_path, [step(1.0), step(2.0, "n2")])
    now = [1.0 + SETTLED + 0.1]
    found = merged_steps(paths, lambda: now[0] > 5, lambda: now[0])
    assert next(found).at == 1.0
    now[0] = 6.0
    assert next(found).at == 2.0


def test_a_line_that_is_not_complete_is_waited_for(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [step(1.0), step(2.0)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    over = [False]

    def ends() -> bool:
        if over[0]:
            path.write_bytes(whole)
        return over[0]

    found = merged_steps([path], ends, lambda: 10.0)
    assert next(found).at == 1.0
    over[0] = True
    assert next(found).at == 2.0


def test_a_line_that_is_no_step_is_named(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [step(1.0)])
    with path.open("a") as file:
        file.write('{"at": "soon"}\n')
    with pytest.raises(BadInputError, match=r"n1\.steps\.ndjson:2: this is no step"):
        list(merged_steps([path], lambda: True))


def test_a_step_of_a_process_that_was_stopped_is_waited_for(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [step(5.0)])
    late = tmp_path / "n2.steps.ndjson"
    over, stopped_since = [False], [4.0]

    def ends() -> bool:
        if stopped_since[0] == 4.0:  # it goes on, and writes what it was about to write
            file = StepFile(late)
            file.write(step(4.0, "n2"))
            file.close()
            stopped_since[0] = float("inf")
        return over[0]

    found = merged_steps([path, late], ends, lambda: 10.0, lambda: stopped_since[0])
    assert [next(found).at, next(found).at] == [4.0, 5.0]


def test_a_step_that_comes_too_late_is_refused(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [step(5.0)])
    late = tmp_path / "n2.steps.ndjson"
    over = [False]
    found = merged_steps([path, late], lambda: over[0], lambda: 10.0)
    assert next(found).at == 5.0
    file = StepFile(late)
    file.write(step(4.0, "n2"))
    file.close()
    over[0] = True
    with pytest.raises(BadInputError, match=r"a step of 4\.0+ s came after one of 5\.0+ s was taken"):
        next(found)


def live(folder: Path, steps: list[Any]) -> LiveCheck:
    """The check of a group whose steps are there already."""
    assert DLEDGER.running is not None
    check = LiveCheck(DLEDGER, DLEDGER.running(), NODES, NodeKind(), written(folder, steps), folder / "group.ndjson")
    check.start()
    return check


def group() -> list[NodeStep]:
    run = DLedgerGroup(1)
    leader = run.elect()
    ask(run.group, leader, entry(1))
    run.group.run_until(run.group.now + 2)
    return run.group.steps


def test_what_a_group_recorded_is_checked_and_each_nodes_last_step_is_known(tmp_path: Path) -> None:
    steps = group()
    check = live(tmp_path, steps)
    verdict = check.finish()
    assert verdict.verdict is Verdict.HOLDS
    assert verdict.events == check.events == check.checked > 60
    assert {node: each.at for node, each in check.last.items()} == {each.node: each.at for each in steps}
    assert len((tmp_path / "group.ndjson").read_text().splitlines()) == check.events + 2


def test_a_step_that_the_group_cannot_take_is_no_pass(tmp_path: Path) -> None:
    steps = group()
    number = next(number for number, each in enumerate(steps) if each.action == "HandlePush")
    check = live(tmp_path, steps[:number] + steps[number + 1 :])
    verdict = check.finish()
    assert verdict.verdict not in (Verdict.HOLDS, Verdict.VIOLATED)
    assert (
        "HandleAppendResponse" in verdict.reason or "is not enabled" in verdict.reason or "under way" in verdict.reason
    )


def test_a_node_that_shows_something_else_than_the_group_is_no_pass(tmp_path: Path) -> None:
    steps = group()
    number = max(number for number, each in enumerate(steps) if each.action == "QuorumAckChecker")
    lie = steps[number]
    shows = json.loads(json.dumps({**lie.shows, "committedIndex": 7}))
    steps[number] = NodeStep(lie.at, lie.node, lie.action, lie.args, shows)
    verdict = live(tmp_path, steps).finish()
    assert verdict.verdict is not Verdict.HOLDS
    assert "committedIndex is 7, and 0 in the group" in verdict.reason
