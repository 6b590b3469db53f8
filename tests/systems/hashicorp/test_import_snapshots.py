"""Recordings that say which snapshot a server keeps, installs and starts from: true ones hold, false ones deviate.

They are cut from recordings of the real library and edited. In raft-1.7.3-snapshot_loop.ndjson n1 has applied up to 10
and taken a snapshot of that, and n2 sends it one of 7, which it installs. Edited, n1 takes two snapshots of 10, which
is all that its store keeps (the harness retained two), so that the one of 7 is reaped as its sink is closed. Source:
FileSnapshotSink.Close, ReapSnapshots, and installSnapshot, which cannot restore it: "no such file or directory".
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.hashicorp import HASHICORP
from lockstep.systems.hashicorp.recording_import import import_lines
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.trace_format import trace_lines
from lockstep.trace.trace_reader import Trace
from tests.support.systems.hashicorp_recordings import written
from tests.support.systems.recording_lies import renumbered

Lines = list[dict[str, Any]]

RECORDING = traces_dir() / "captured" / "hashicorp" / "raft-1.7.3-snapshot_loop.ndjson"
#: By `seq`: n1 reads its FSM for its snapshot, saves it, and is done; n2 sends its own, and gets the answer.
READS, SAVES, COMPLETE = 319, 323, 326
SENDS, SAVED, RESTORES, INSTALLED, RESPONDS, REPLY = 494, 497, 499, 502, 503, 504
#: The last index that n1 has applied before the snapshot is installed.
APPLIED = 10
ERROR = "open snapshots/2-7-1795230077685/meta.json: no such file or directory"


def recorded() -> Lines:
    return [json.loads(line) for line in RECORDING.read_text(encoding="utf-8").splitlines()]


def own_snapshots(count: int) -> Lines:
    """The recording up to where n2 sends its snapshot; n1 takes its own `count` times, and compacts its log once."""
    lines = recorded()
    again = [{**lines[seq], "t_ms": lines[COMPLETE]["t_ms"]} for seq in (READS, SAVES, COMPLETE)]
    return lines[: COMPLETE + 1] + again * (count - 1) + lines[COMPLETE + 1 : SENDS]


def installed() -> Lines:
    """The lines, as they were recorded, of a snapshot that is sent and installed."""
    return recorded()[SENDS : REPLY + 1]


def failed(turn: int = 0) -> Lines:
    """The same lines, edited: the snapshot is saved, the FSM cannot open it, and the call fails."""
    lines, end = recorded(), recorded()[REPLY]["t_ms"]
    kept = [each for each in lines[SENDS : REPLY + 1] if not RESTORES <= each["seq"] <= INSTALLED]
    for each in kept:
        each["t_ms"] = end if turn else each["t_ms"]
        each["rpc"] = each["rpc"] + turn if "rpc" in each else None
        if each["seq"] in (RESPONDS, REPLY):
            each["body"] = {"success": False, "term": 3, "err": ERROR}
        if each["seq"] == RESPONDS:
            each["obs"]["applied"] = APPLIED
    return [{name: value for name, value in each.items() if value is not None} for each in kept]


def imported(lines: Lines) -> Imported:
    end = {**recorded()[-1], "t_ms": lines[-1]["t_ms"]}
    return import_lines(written(renumbered([*lines, end])), "r", trace_spec)


def checked(lines: Lines, switches: dict[str, str] | None = None) -> TraceVerdict:
    found = imported(lines)
    trace = Trace(trace_lines(found.header, found.events), "r")
    spec = trace_spec(trace.header, "r", switches)
    return check_trace(trace, spec, HASHICORP.interface(spec))


@pytest.mark.parametrize("turns", [1, 3])
def test_a_snapshot_that_is_reaped_fails_and_is_sent_again(turns: int) -> None:
    lines = [*own_snapshots(2), *(line for turn in range(turns) for line in failed(turn))]
    found = checked(lines)
    assert (found.verdict, found.deviation, found.forced) == (Verdict.HOLDS, None, [])
    events = [each for each in imported(lines).events if each.action in ("InstallSnapshot", "RPCError")]
    assert [each.action for each in events[-2 * turns :]] == ["InstallSnapshot", "RPCError"] * turns
    assert [each.sent for each in events if each.action == "InstallSnapshot"] == [()] * turns


def test_a_repaired_server_would_answer_the_snapshot() -> None:
    found = checked([*own_snapshots(2), *failed()], {"ReapedInstall": "repaired"}).deviation
    assert found is not None
    assert (found.action, found.name) == ("InstallSnapshot", "sent")


def test_a_snapshot_that_is_said_to_be_installed_though_it_was_reaped_is_refused() -> None:
    found = checked([*own_snapshots(2), *installed()]).deviation
    assert found is not None
    assert (found.action, found.code) == ("InstallSnapshot", "LS202")
    assert found.name in ("lastApplied", "lastSnapshot", "fsm.index")


def test_with_one_snapshot_of_its_own_the_server_installs_what_it_is_sent() -> None:
    """As it was recorded: the store keeps two, so that one more has a place."""
    assert checked([*own_snapshots(1), *installed()]).deviation is None
    found = checked([*own_snapshots(1), *failed()]).deviation
    assert found is not None
    assert found.action == "InstallSnapshot"


@pytest.mark.nightly
def test_a_start_from_another_snapshot_than_the_newest_is_refused() -> None:
    """As recorded, n1 starts from the snapshot of 55; edited, from that of 31, which it installed before."""
    path = RECORDING.with_name("raft-1.7.3-snapshots.ndjson")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    first, second = (line for line in lines if line["kind"] == "fsm_restore" and line["node"] == "n1")
    start = next(line for line in lines if line["kind"] == "start" and (line["node"], line["inc"]) == ("n1", 3))
    cut = lines[: second["seq"] + 1]
    assert checked(cut).deviation is None
    assert (start["persisted"]["snapshot"]["last_index"], first["state"]["last_index"]) == (55, 31)
    start["persisted"]["snapshot"], second["state"] = {"last_index": 31, "last_term": 2}, first["state"]
    found = checked(cut).deviation
    assert found is not None
    assert (found.action, found.name) == ("Restart", "lastSnapshot.index")
