"""Steps of nodes of the reference as lines of one recording, beside those of nodes of Java."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.file_check import check
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.node_recorder import MergeOptions
from lockstep.trace.json_lines import TraceError
from raftref.dledger.choices import IN_0_2_7
from raftref.dledger.client_messages import AppendEntryRequest
from raftref.runtime.node import StepFile
from raftref.runtime.virtual import KILLED
from tests.support.systems.running_dledger import DLedgerGroup
from tests.support.systems.running_groups import NODES, ask

RELEASED = MergeOptions(version="0.2.7")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """The steps of a group that elects a leader, stores two entries, loses a follower, and gets it back."""
    run = DLedgerGroup(1, flaws=IN_0_2_7)
    leader = run.elect()
    ask(run.group, leader, AppendEntryRequest("", "v1"))
    follower = run.followers[0]
    run.group.kill(follower)
    ask(run.group, leader, AppendEntryRequest("", "v2"))
    run.group.start(follower)
    run.group.run_until(run.group.now + 3)
    paths = {node: tmp_path / f"{node}.steps.ndjson" for node in NODES}
    for step in (each for each in run.group.steps if each.action != KILLED):
        file = StepFile(paths[step.node])
        file.write(step)
        file.close()
    return list(paths.values())


def merged(files: list[Path], options: MergeOptions = RELEASED) -> Path:
    out = files[0].parent / "group.ndjson"
    out.write_bytes(b"".join(MergedFiles(files, options, lambda _: None).lines(is_over=True)))
    return out


def test_steps_of_nodes_of_the_reference_stand_for_lines_that_hold_in_the_spec(files: list[Path]) -> None:
    path = merged(files)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    found = check(path)
    assert found.verdict is Verdict.HOLDS, found
    assert found.events > 60
    kinds = [line["kind"] for line in lines]
    assert (kinds.count("start"), kinds.count("crash")) == (4, 1)
    assert {"send_push", "recv_push", "handler", "resp_push", "recv_resp_push", "watermark"} <= set(kinds)
    assert len({line["mid"] for line in lines if line["kind"] == "send_push"}) == kinds.count("send_push")


def test_the_last_entry_changed_where_it_is_stored_does_not_hold(files: list[Path]) -> None:
    path = merged(files)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    stored = next(line for line in lines if line.get("op") == "appendAsLeader" and line["val"] == "v2")
    stored["val"] = "v9"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert check(path).verdict is Verdict.VIOLATED


def test_a_group_without_a_node_of_java_needs_its_version_from_the_command(files: list[Path]) -> None:
    with pytest.raises(TraceError, match=r"n1.steps.ndjson:1: field `version`: missing, and --recorded-version"):
        merged(files, MergeOptions())
    with pytest.raises(TraceError, match=r"field `version`: '0\.4\.0' is none of 0\.2\.7, 0\.3\.1\.2, 0\.3\.2"):
        merged(files, MergeOptions(version="0.4.0"))


def test_steps_have_no_wall_clock_by_which_several_hosts_could_be_compared(files: list[Path]) -> None:
    with pytest.raises(TraceError, match=r"n1.steps.ndjson:1: field `wall_ms`: missing"):
        merged(files, MergeOptions(version="0.2.7", skew=5_000_000))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda step: step["shows"].update(committedIndex=7), "taken once more, the node shows something else"),
        (lambda step: step.update(action="Sleep"), "Sleep: no such action, or an argument is missing"),
        (lambda step: step.update(node="n1"), "field `node`: 'n1', and the lines above are of 'n2'"),
        (lambda step: step.pop("args"), "this is no step: field `args`: missing"),
        (lambda step: step.pop("at"), "field `at`: missing"),
    ],
    ids=["another state", "no action", "another node", "no arguments", "no time"],
)
def test_a_step_that_the_core_does_not_take_is_named(
    change: Callable[[dict[str, Any]], Any], said: str, files: list[Path]
) -> None:
    lines = files[1].read_text().splitlines(keepends=True)
    step = json.loads(lines[5])
    change(step)
    files[1].write_text("".join([*lines[:5], json.dumps(step) + "\n", *lines[6:]]))
    with pytest.raises(TraceError) as refused:
        merged(files)
    assert str(refused.value).startswith(f"{files[1]}:6: ")
    assert said in str(refused.value)


def test_a_start_that_does_not_show_the_files_of_the_node_is_named(files: list[Path]) -> None:
    lines = files[1].read_text().splitlines(keepends=True)
    step = json.loads(lines[0])
    del step["shows"]["checkPoint"]
    files[1].write_text("".join([json.dumps(step) + "\n", *lines[1:]]))
    with pytest.raises(TraceError, match=r"n2.steps.ndjson:1: Start: field `shows.checkPoint`: missing"):
        merged(files)


def test_a_file_goes_on_behind_a_line_that_a_process_did_not_finish(tmp_path: Path) -> None:
    path = tmp_path / "n1.steps.ndjson"
    path.write_text('{"at":1.0,"no')
    StepFile(path).close()
    assert path.read_text() == '{"at":1.0,"no\n'
    StepFile(path).close()
    assert path.read_text() == '{"at":1.0,"no\n'
