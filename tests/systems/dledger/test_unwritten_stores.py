"""An entry that a killed process stored without writing its line is added by the merge, and no other entry is.

Two recordings of real groups, cut after the restart: the process was killed in the store's call, between its effect and
its line.
"""

from __future__ import annotations

import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.dledger.unwritten_stores import UnwrittenStores
from lockstep.systems.file_check import check
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.node_recorder import MergeOptions
from tests.support.places import TESTS
from tests.support.sampling import sampled
from tests.support.systems.split_recordings import lines_of, split

KILLED = {"append": "dledger-0.3.2-killed_in_append", "truncate": "dledger-0.2.7-killed_in_truncate"}
#: The node that was killed in the call, and the lines that it did not live to write.
NODE = "n3"
ADDED = {"append": ["recv_push", "enqueue", "take", "appendAsFollower"], "truncate": ["truncate"]}

Line = dict[str, Any]


def unpacked(name: str, folder: Path) -> Path:
    path = folder / "whole.ndjson"
    path.write_bytes(lzma.decompress((TESTS / "recorded" / f"{name}.ndjson.xz").read_bytes()))
    return path


def merged(whole: Path, folder: Path, changed: Callable[[list[Line]], None] = lambda _: None) -> Path:
    files = split(whole, folder, changed=changed)
    out = folder / "group.ndjson"
    out.write_bytes(b"".join(MergedFiles(files, MergeOptions(), [].append).lines(is_over=True)))
    return out


def recovered_again(lines: list[Line]) -> Line:
    return next(line for line in lines if (line["kind"], line.get("node"), line.get("inc")) == ("recovered", NODE, 2))


@pytest.mark.parametrize("call", sampled(KILLED, ["append"]))
def test_an_entry_whose_line_a_killed_node_did_not_write_is_added(call: str, tmp_path: Path) -> None:
    whole = unpacked(KILLED[call], tmp_path)
    assert check(whole).verdict is Verdict.VIOLATED
    path = merged(whole, tmp_path)
    lines = lines_of(path)
    death = next(place for place, line in enumerate(lines) if (line["kind"], line.get("node")) == ("crash", NODE))
    added = lines[death - len(ADDED[call]) : death]
    assert [(line["node"], line.get("op", line["kind"])) for line in added] == [(NODE, each) for each in ADDED[call]]
    assert lines[death]["st"]["end"] == recovered_again(lines)["st"]["end"] == added[-1]["index"]
    assert check(path).verdict is Verdict.HOLDS


@pytest.mark.parametrize("call", KILLED)
def test_an_entry_that_nobody_pushed_to_the_killed_node_is_not_added(call: str, tmp_path: Path) -> None:
    def lie(lines: list[Line]) -> None:
        recovered_again(lines)["log"][-1][2] = "planted"

    path = merged(unpacked(KILLED[call], tmp_path), tmp_path, lie)
    assert not [
        line for line in lines_of(path) if line["kind"] == "store" and line.get("pos") == 0 != line.get("index")
    ]
    assert check(path).verdict is Verdict.VIOLATED


# ---- One line after the other ----

SHOWN = {"role": "LEADER", "term": 2, "leader": "n0", "begin": 0, "end": 0, "endTerm": 1, "committed": 0}


def found_by(shown: Line, log: list[list[Any]], *lines: Line) -> list[Line]:
    """The lines that are added where n0, which begins with one entry, dies after some lines and finds a log."""
    stores = UnwrittenStores()
    stores.begin({"node": "n0", "log": [[0, 1, "a"]]})
    for line in lines:
        stores.follow(line)
    return list(stores.unwritten({"node": "n0", "log": log}, shown))


def push(mid: int, index: int, *entries: list[Any], type: str = "APPEND", term: int = 2) -> Line:
    return {
        "kind": "send_push", "node": "n1", "mid": mid, "type": type, "leaderId": "n1", "remoteId": "n0", "term": term,
        "index": index, "count": len(entries), "entries": list(entries), "commitIndex": 0, "disp": {}, "st": {},
    }  # fmt: skip


FOLLOWS = SHOWN | {"role": "FOLLOWER", "leader": "n1"}


def test_a_leader_that_was_killed_as_it_stored_an_entry_of_its_term_has_stored_it() -> None:
    (line,) = found_by(SHOWN, [[0, 1, "a"], [1, 2, "b"]])
    assert (line["op"], line["index"], line["entryTerm"], line["val"]) == ("appendAsLeader", 1, 2, "b")
    assert (line["pre"]["end"], line["st"]["end"], line["st"]["endTerm"]) == (0, 1, 2)


@pytest.mark.parametrize(
    ("shown", "log"),
    [
        pytest.param(SHOWN, [[0, 1, "a"]], id="nothing more"),
        pytest.param(SHOWN, [[0, 1, "a"], [1, 1, "b"]], id="an entry of another term"),
        pytest.param(SHOWN, [[0, 1, "a"], [1, 2, "b"], [2, 2, "c"]], id="two entries"),
        pytest.param(SHOWN, [[0, 1, "x"], [1, 2, "b"]], id="another log before it"),
        pytest.param(SHOWN | {"role": "CANDIDATE"}, [[0, 1, "a"], [1, 2, "b"]], id="no leader"),
        pytest.param(SHOWN, [], id="less"),
    ],
)
def test_a_leader_has_stored_nothing_else(shown: Line, log: list[list[Any]]) -> None:
    assert found_by(shown, log) == []


def test_the_last_entry_of_a_batch_is_added_where_those_before_it_have_their_lines() -> None:
    batch = push(7, 1, [1, 2, "b"], [2, 2, "c"])
    log = [[0, 1, "a"], [1, 2, "b"], [2, 2, "c"]]
    stored = {
        "kind": "store",
        "node": "n0",
        "op": "appendAsFollower",
        "ok": True,
        "index": 1,
        "entryTerm": 2,
        "val": "b",
    }
    arrived: list[Line] = [{"kind": "recv_push", "node": "n0", "mid": 7}]
    arrived += [{"kind": "handler", "node": "n0", "mid": 7, "op": op} for op in ("enqueue", "take")]
    (line,) = found_by(FOLLOWS | {"end": 1, "endTerm": 2}, log, batch, *arrived, stored)
    assert (line["op"], line["index"], line["val"], line["leaderId"]) == ("appendAsFollower", 2, "c", "n1")
    assert found_by(FOLLOWS, log, batch, *arrived) == []


def test_a_push_that_has_come_furthest_is_the_one_that_was_stored() -> None:
    pushes = [push(mid, 1, [1, 2, "b"]) for mid in (7, 8, 9)]
    answer = {"kind": "resp_push", "node": "n0", "mid": 9, "type": "APPEND", "code": "SUCCESS"}
    arrived = [{"kind": "recv_push", "node": "n0", "mid": 8}, answer]
    found = found_by(FOLLOWS, [[0, 1, "a"], [1, 2, "b"]], *pushes, *arrived)
    assert [(line.get("op", line["kind"]), line.get("mid")) for line in found] == [
        ("enqueue", 8), ("take", 8), ("appendAsFollower", None),
    ]  # fmt: skip


QUEUED: list[Line] = [
    {"kind": "recv_push", "node": "n0", "mid": 7},
    {"kind": "handler", "node": "n0", "mid": 7, "op": "enqueue"},
]


def test_a_push_that_a_compare_cleared_from_the_queue_is_not_the_one_that_was_stored() -> None:
    clear = {"kind": "handler", "node": "n0", "op": "clear", "lost": [[1, 7]]}
    first, second = push(7, 1, [1, 2, "b"]), push(8, 1, [1, 2, "b"])
    found = found_by(FOLLOWS, [[0, 1, "a"], [1, 2, "b"]], first, *QUEUED, clear, second)
    assert {line["mid"] for line in found if "mid" in line} == {8}


@pytest.mark.parametrize("is_sent_again", [False, True])
def test_a_push_that_was_refused_above_a_gap_may_be_stored_if_no_other_is_the_one(*, is_sent_again: bool) -> None:
    refusal = {"kind": "resp_push", "node": "n0", "mid": 7, "type": "APPEND", "code": "INCONSISTENT_STATE"}
    later = [push(8, 1, [1, 2, "b"])] if is_sent_again else []
    found = found_by(FOLLOWS, [[0, 1, "a"], [1, 2, "b"]], push(7, 1, [1, 2, "b"]), *QUEUED, refusal, *later)
    assert {line["mid"] for line in found if "mid" in line} == {8 if is_sent_again else 7}


@pytest.mark.parametrize(
    ("shown", "sent"),
    [
        pytest.param(FOLLOWS | {"leader": "n2"}, push(7, 1, [1, 2, "b"]), id="of another leader"),
        pytest.param(FOLLOWS | {"term": 3}, push(7, 1, [1, 2, "b"]), id="of another term"),
        pytest.param(FOLLOWS, push(7, 1, [1, 2, "c"]), id="with another entry"),
        pytest.param(FOLLOWS | {"role": "CANDIDATE"}, push(7, 1, [1, 2, "b"]), id="to no follower"),
    ],
)
def test_a_push_that_a_node_would_not_have_stored_is_not_added(shown: Line, sent: Line) -> None:
    assert found_by(shown, [[0, 1, "a"], [1, 2, "b"]], sent) == []


def test_a_truncate_that_cut_the_log_is_added_with_its_entry() -> None:
    stores = UnwrittenStores()
    stores.begin({"node": "n0", "log": [[0, 1, "a"], [1, 1, "x"], [2, 1, "y"]]})
    cut = {name: value for name, value in push(7, 1, type="TRUNCATE").items() if name != "entries"}
    stores.follow(cut | {"entryTerm": 2, "val": "b"})
    found = list(stores.unwritten({"node": "n0", "log": [[0, 1, "a"], [1, 2, "b"]]}, FOLLOWS | {"end": 2}))
    assert [line.get("op", line["kind"]) for line in found] == ["recv_push", "enqueue", "take", "truncate"]
    assert (found[-1]["st"]["end"], found[-1]["leaderTerm"]) == (1, 2)
