"""Step files of several nodes as one sequence, and the check of a group while it runs."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.cluster import step_files
from lockstep.cluster.live_check import LiveCheck
from lockstep.cluster.step_files import growing_steps, newest_step, whole_steps
from lockstep.systems import merged_order
from lockstep.systems.merged_order import SETTLED, LateLineError
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeKind
from lockstep.trace.json_lines import TraceError
from raftref.dledger.client_messages import AppendEntryRequest
from raftref.runtime.driver import NodeStep
from raftref.runtime.node import StepFile
from tests.support.programs.processes import wait_until
from tests.support.systems.running_dledger import DLedgerGroup
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
    assert list(growing_steps(paths, lambda: True)) == steps


def added(path: Path, *steps: NodeStep) -> None:
    file = StepFile(path)
    for each in steps:
        file.write(each)
    file.close()


def test_a_step_waits_until_no_other_node_can_have_taken_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """n2 has a step that is earlier than the last ones of n1, and writes it a little later."""
    monkeypatch.setattr(step_files, "POLL", 0.0)
    (first,), second, now = written(tmp_path, [step(1.0)]), tmp_path / "n2.steps.ndjson", [0.0]

    def looks() -> bool:
        now[0] += SETTLED / 4
        if now[0] == SETTLED:
            added(first, step(3.0), step(4.0))
        if now[0] == 1.5 * SETTLED:
            added(second, step(2.0, "n2"))
        return now[0] > 10 * SETTLED

    assert [each.at for each in growing_steps([first, second], looks, lambda: now[0])] == [1.0, 2.0, 3.0, 4.0]


def test_steps_of_a_node_whose_peer_is_silent_wait_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand steps that come at once wait once, and not one after the other."""
    monkeypatch.setattr(step_files, "POLL", 0.0)
    (path,), now, count = written(tmp_path, [step(1.0)]), [0.0], 1000

    def looks() -> bool:
        now[0] += SETTLED / 4
        if now[0] == SETTLED:
            added(path, *(step(2.0 + number) for number in range(count)))
        return False

    found = growing_steps([path, tmp_path / "silent"], looks, lambda: now[0])
    assert next(found).at == 1.0
    assert now[0] < SETTLED
    assert next(found).at == 2.0
    begin = now[0]
    assert SETTLED < begin <= 2.25 * SETTLED
    assert [next(found).at for _ in range(count - 1)][-1] == 2.0 + count - 1
    assert now[0] == begin


def test_a_line_that_is_not_complete_is_waited_for(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [step(1.0), step(2.0)])
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    over = [False]

    def ends() -> bool:
        if over[0]:
            path.write_bytes(whole)
        return over[0]

    found = growing_steps([path], ends, lambda: 10.0)
    assert next(found).at == 1.0
    over[0] = True
    assert next(found).at == 2.0


def test_a_line_that_is_no_step_is_named(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [step(1.0)])
    with path.open("a") as file:
        file.write('{"at": "soon"}\n')
    for steps in (growing_steps([path], lambda: True), whole_steps([path])):
        with pytest.raises(TraceError, match=r"n1\.steps\.ndjson:2: this is no step"):
            list(steps)


def test_a_step_that_comes_too_late_is_refused(tmp_path: Path) -> None:
    (path,) = written(tmp_path, [step(5.0)])
    late = tmp_path / "n2.steps.ndjson"
    over = [False]
    found = growing_steps([path, late], lambda: over[0], lambda: 10.0)
    assert next(found).at == 5.0
    file = StepFile(late)
    file.write(step(4.0, "n2"))
    file.close()
    over[0] = True
    with pytest.raises(LateLineError, match=r"a line of n2 was written 1\.000 s or more after it began"):
        next(found)
    assert [each.at for each in whole_steps([path, late])] == [4.0, 5.0]


def test_bytes_that_are_no_utf8_stay_apart_from_all_texts(tmp_path: Path) -> None:
    texts = ["\udcff", "\udcfe", "bytes:ff", "bytes:", "a", "\U0001f600"]
    paths = written(tmp_path, [step(1.0)])
    file = StepFile(paths[0])
    for text in texts:
        file.write(NodeStep(2.0, "n1", "Append", {"value": text}, {"log": [{"value": text}]}))
    file.close()
    steps = [*whole_steps(paths)][1:]
    assert steps == [*growing_steps(paths, lambda: True)][1:]
    found = [each.args["value"] for each in steps]
    assert len(set(found)) == len(texts)
    assert found[4:] == texts[4:]
    assert [each.shows["log"][0]["value"] for each in steps] == found
    assert "".join(found).encode()


def test_the_newest_step_is_that_of_the_last_complete_line(tmp_path: Path) -> None:
    assert newest_step(tmp_path / "missing") is None
    long = NodeStep(2.0, "n1", "Start", {"value": "x" * 100_000}, {})
    (path,) = written(tmp_path, [step(1.0), long])
    assert newest_step(path) == long
    with path.open("ab") as file:
        file.write(b'{"at":')
    assert newest_step(path) == long
    path.write_bytes(b'{"at":')
    assert newest_step(path) is None


def unstarted(folder: Path, paths: list[Path]) -> LiveCheck:
    assert DLEDGER.running is not None
    return LiveCheck(DLEDGER, DLEDGER.running(), NODES, NodeKind(), paths, folder / "group.ndjson")


def live(folder: Path, steps: list[Any]) -> LiveCheck:
    """The check of a group whose steps are there already."""
    check = unstarted(folder, written(folder, steps))
    check.start()
    return check


def group(value: str = "v1") -> list[NodeStep]:
    run = DLedgerGroup(1)
    leader = run.elect()
    ask(run.group, leader, AppendEntryRequest("", value))
    run.group.run_until(run.group.now + 2)
    return run.group.steps


def test_what_a_group_recorded_is_checked(tmp_path: Path) -> None:
    steps = group()
    check = live(tmp_path, steps)
    verdict = check.finish()
    assert verdict.verdict is Verdict.HOLDS
    assert verdict.events == check.checked > 60
    assert len((tmp_path / "group.ndjson").read_text().splitlines()) == check.checked + 2


def test_a_group_with_a_paused_node_is_checked_once_it_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last step of a node is written when another has gone past, as by a process that SIGSTOP has stopped."""
    monkeypatch.setattr(step_files, "POLL", 0.01)
    steps = group()
    number = max(
        number
        for number, (each, after) in enumerate(pairwise(steps))
        if each.action == "PersistCheckPoint" and after.node != each.node and after.at > each.at
    )
    paths = written(tmp_path, steps[: number + 2])
    path = next(path for path in paths if path.name.startswith(steps[number].node))
    whole = path.read_bytes()
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:-1]))
    check = unstarted(tmp_path, paths)
    monkeypatch.setattr(merged_order, "SETTLED", 0.01)
    check.start()
    assert wait_until(lambda: check.checked >= number - 2 or check.is_done)
    path.write_bytes(whole)
    assert wait_until(lambda: check.late or check.is_done)
    assert check.status().startswith(f"a line of {steps[number].node} was written "), check.verdict
    verdict = check.finish()
    assert verdict.verdict is Verdict.HOLDS, verdict
    assert verdict.events == check.checked == number - 1  # every step but the first start of each node


def test_a_file_that_is_none_of_steps_is_malformed_input(tmp_path: Path) -> None:
    paths = written(tmp_path, group())
    paths[2].write_text("no step\n")
    check = unstarted(tmp_path, paths)
    check.start()
    verdict = check.finish()
    assert verdict.verdict is Verdict.MALFORMED
    assert "n3.steps.ndjson:1: the line is not of the form" in verdict.reason


def test_an_entry_of_bytes_that_are_no_utf8_is_checked_as_any_other(tmp_path: Path) -> None:
    steps = group("\udcff")
    verdict = live(tmp_path, steps).finish()
    assert verdict.verdict is Verdict.HOLDS, verdict
    assert '"value":"bytes:' in (tmp_path / "group.ndjson").read_text()


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
