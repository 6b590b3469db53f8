"""The beginnings of recordings of real servers under load, in which the parts of two steps are interleaved.

Made by tests.scripts.loaded_servers and cut behind the place.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.systems.file_check import check
from tests.support.places import ROOT

Lines = list[dict[str, Any]]


def recorded(name: str) -> Lines:
    text = lzma.decompress((ROOT / "tests" / "recorded" / f"raft-{name}.ndjson.xz").read_bytes()).decode()
    return [json.loads(line) for line in text.splitlines()]


def checked(lines: Lines, folder: Path) -> TraceVerdict:
    path = folder / "group.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return check(path)


def last(lines: Lines, **fields: Any) -> dict[str, Any]:
    return [line for line in lines if fields.items() <= line.items()][-1]


def test_entries_are_deleted_by_the_end_of_the_log_that_was_read_before_another_entry_was_stored(
    tmp_path: Path,
) -> None:
    """Source: compactLogsWithTrailing, which reads the last index, and then deletes."""
    lines = recorded("compaction")
    deleted = last(lines, kind="delete_range")
    stored = max(
        entry["i"]
        for line in lines[: deleted["seq"]]
        if line["kind"] == "store_logs"
        for entry in line["entries"]
        if line["node"] == deleted["node"]
    )
    trailing = lines[0]["config"]["trailing_logs"]
    assert deleted["max"] < stored - trailing
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    deleted["max"] -= 1
    deleted["gone"].pop()
    assert checked(lines, tmp_path).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    "name", [pytest.param("heartbeat_within_append", marks=pytest.mark.nightly), "heartbeat_within_installation"]
)
def test_a_heartbeat_is_answered_while_the_main_loop_handles_another_request(name: str, tmp_path: Path) -> None:
    """Source: processHeartbeat, which a goroutine of the transport calls."""
    lines = recorded(name)
    answer = last(lines, kind="respond", beside=True)
    begun = last(lines[: answer["seq"]], kind="recv", node=answer["node"])
    assert begun["beside"]
    others = [line for line in lines[: answer["seq"]] if line.get("node") == answer["node"] and "beside" not in line]
    assert [line["kind"] for line in others if line["kind"] in ("recv", "respond")][-1] == "recv"
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    for line in lines:
        if (
            line["kind"] in ("respond", "reply_recv")
            and line["rpc"] == answer["rpc"]
            and line["msg"] == "AppendEntries"
        ):
            line["body"]["term"] += 1
    assert checked(lines, tmp_path).verdict is Verdict.VIOLATED
