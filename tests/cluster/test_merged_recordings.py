"""Recordings made of the files of several servers: how calls are numbered, and what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.systems.go_programs import SOURCES

Line = dict[str, Any]

HEADER = {
    "kind": "header",
    "library_version": "v1.7.3",
    "go": "go1.26",
    "prevote": True,
    "config": {"max_append_entries": 64, "trailing_logs": 10240, "heartbeat_timeout_ms": 1000},
}
BEAT = {"term": 2, "leader": "n1", "prev_index": 0, "prev_term": 0, "commit": 0, "entries": []}


@pytest.fixture
def merging(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SOURCES))
    import merge_recordings

    yield merge_recordings
    for name in ("merge_recordings", "lost_writes", "step_lines"):
        sys.modules.pop(name, None)


def write(path: Path, lines: list[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(node: str, at: float, kind: str, **fields: Any) -> Line:
    return {"node": node, "at": at, "kind": kind, **fields}


def start(node: str, at: float) -> list[Line]:
    return [{**HEADER, "node": node, "at": at}, line(node, at, "start", persisted={"CurrentTerm": 1, "log": []})]


def test_a_request_belongs_to_the_call_that_says_the_same_and_is_under_way(merging: Any, tmp_path: Path) -> None:
    """The first of two heartbeats that say the same came to nothing before n2 was there."""
    sent = {"msg": "AppendEntries", "body": BEAT}
    first = [
        *start("n1", 1.0),
        line("n1", 2.0, "send", rpc=1, to="n2", **sent),
        line("n1", 2.1, "rpc_error", rpc=1, peer="n2", msg="AppendEntries", err="refused"),
        line("n1", 4.0, "send", rpc=2, to="n2", **sent),
        line("n1", 4.3, "reply_recv", rpc=2, msg="AppendEntries", body={}, **{"from": "n2"}),
    ]
    second = [
        *start("n2", 3.0),
        line("n2", 4.1, "recv", rpc=0, copy=0, **sent, **{"from": "n1"}),
        line("n2", 4.2, "respond", rpc=0, copy=0, to="n1", msg="AppendEntries", body={}),
    ]
    files = [write(tmp_path / "n1", first), write(tmp_path / "n2", second)]
    calls = [(each["kind"], each["rpc"]) for each in merging.merged(files) if "rpc" in each]
    assert calls == [("send", 1), ("rpc_error", 1), ("send", 2), ("recv", 2), ("respond", 2), ("reply_recv", 2)]


def test_a_server_that_was_killed_stopped_with_what_its_next_start_finds(merging: Any, tmp_path: Path) -> None:
    files = [write(tmp_path / "n1", [*start("n1", 1.0), *start("n1", 5.0)]), write(tmp_path / "n2", start("n2", 2.0))]
    own = [each for each in merging.merged(files) if each.get("node") == "n1"]
    assert [(each["kind"], each["inc"]) for each in own] == [("start", 1), ("stopped", 1), ("start", 2)]
    assert own[1]["persisted"] == own[2]["persisted"]


ENTRIES = [{"i": 1, "t": 1, "type": "Command", "v": "a"}, {"i": 2, "t": 1, "type": "Command", "v": "b"}]


@pytest.mark.parametrize(
    ("under_way", "found", "lost"),
    [
        ("AppendEntries", {"log": ENTRIES}, ("store_logs", "appendEntries<processRPC")),
        ("AppendEntries", {"log": []}, ("delete_range", "appendEntries<processRPC")),
        ("RequestVote", {"LastVoteTerm": 2}, ("stable_set", "requestVote<processRPC")),
        (None, {"CurrentTerm": 2}, ("stable_set", "electSelf<runCandidate")),
        (None, {"log": ENTRIES}, ("store_logs", "dispatchLogs<leaderLoop")),
        (None, {"snapshot": {"last_index": 1, "last_term": 1}}, ("snapshot_saved", "takeSnapshot<runSnapshots")),
        (None, {}, None),
    ],
)
def test_a_write_whose_line_a_killed_process_did_not_write_is_added(
    merging: Any, tmp_path: Path, under_way: str | None, found: Line, lost: tuple[str, str] | None
) -> None:
    before = {"CurrentTerm": 1, "LastVoteTerm": 1, "LastVoteCand": "n1", "log": ENTRIES[:1]}
    first = [line("n1", 1.0, "start", persisted=before)]
    if under_way is not None:
        first.append(line("n1", 2.0, "recv", msg=under_way, body={}))
    added = merging.lost_writes(first, before | found)
    assert [(each["kind"], each["by"]) for each in added] == ([] if lost is None else [lost])
    assert merging.lost_writes([*first, *added], before | found) == []


def test_what_a_dying_process_has_not_finished_is_no_line(merging: Any, tmp_path: Path) -> None:
    files = [write(tmp_path / "n1", start("n1", 1.0)), write(tmp_path / "n2", start("n2", 2.0))]
    before = merging.merged(files)
    with files[0].open("a") as file:
        file.write('{"node": "n1", "at": 3')
    assert merging.merged(files) == before


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([], "has no line"),
        ([*start("n2", 3.0), []], f"other:{len(start('n2', 3.0)) + 1}: no object of JSON"),
        ([{"at": 3.0, "kind": "liblog"}], "other: no line names a server"),
        (start("n1", 3.0), "two files are of the same server"),
        ([*start("n2", 3.0), line("n2", 4.0, "rpc_error", rpc=7, msg="TimeoutNow")], "an answer to no call"),
        (
            [*start("n2", 3.0), line("n2", 4.0, "recv", msg="AppendEntries", body=BEAT, **{"from": "n1"})],
            "a request that nobody has sent",
        ),
        (
            [{"at": 3.0, "node": "n2", "action": "VerifyLeader", "args": {}, "shows": {}}],
            "VerifyLeader: recordings do not have this step",
        ),
        (
            [
                *start("n2", 3.0)[:1],
                line("n2", 3.0, "start", persisted={"log": [{"i": 1, "t": 1, "type": "Configuration", "v": "n2"}]}),
            ],
            "n2 vote at first: their names must come first in order",
        ),
        ([{"at": 3.0, "node": "n2", "action": "Sleep", "args": {}, "shows": {}}], "Sleep cannot be taken"),
    ],
)
def test_files_that_are_no_recording_are_refused(
    merging: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], lines: list[Line], said: str
) -> None:
    files = [write(tmp_path / "n1", start("n1", 1.0)), write(tmp_path / "other", lines)]
    assert merging.main([str(tmp_path / "out"), *map(str, files)]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_files_of_servers_of_the_reference_alone_are_refused(
    merging: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    step = {"at": 3.0, "node": "n2", "action": "Start", "args": {}, "shows": {}}
    files = [write(tmp_path / "n1", [step]), write(tmp_path / "n2", [step])]
    assert merging.main([str(tmp_path / "out"), *map(str, files)]) == 2
    assert "no file is one of the Go recorder" in capsys.readouterr().err
