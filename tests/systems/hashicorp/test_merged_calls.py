"""Calls, lives and steps of servers of hashicorp/raft in one recording of their files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.file_check import check
from lockstep.systems.hashicorp.lost_writes import FollowedStores
from lockstep.systems.hashicorp.step_lines import StepLines
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.merged_order import LateLineError, NodeClock
from lockstep.systems.node_files import FileRecord
from lockstep.systems.node_recorder import MergeOptions
from lockstep.trace.json_lines import TraceError
from raftref.hashicorp.choices import IN_V173
from raftref.runtime.driver import NodeStep
from raftref.runtime.virtual import KILLED
from tests.support.systems.running_groups import ask
from tests.support.systems.running_raft import SETTINGS, RaftGroup, command

Line = dict[str, Any]

CONFIG = {
    "heartbeat_timeout_ms": 1000,
    "election_timeout_ms": 1000,
    "leader_lease_ms": 500,
    "commit_timeout_ms": 50,
    "max_append_entries": SETTINGS.max_append_entries,
    "snapshot_interval_ms": 2000,
    "snapshot_threshold": 5,
    "trailing_logs": SETTINGS.trailing_logs,
}
HEADER = {"kind": "header", "library_version": "v1.7.3", "go": "go1.26", "prevote": True, "config": CONFIG}
EMPTY = {"CurrentTerm": 1, "LastVoteTerm": 0, "LastVoteCand": "", "first": 0, "last": 0, "log": []}
BEAT = {"term": 2, "leader": "n1", "prev_index": 0, "prev_term": 0, "commit": 0, "entries": []}
ANSWER = {"term": 2, "success": True, "last_log": 1, "no_retry_backoff": False}


def write(path: Path, lines: Sequence[Line]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def line(node: str, at: float, kind: str, **fields: Any) -> Line:
    return {"node": node, "at": at, "kind": kind, **fields}


def start(node: str, at: float, persisted: Line = EMPTY) -> list[Line]:
    return [{**HEADER, "node": node, "at": at}, line(node, at, "start", persisted=persisted, heartbeat_timeout_ms=1000)]


def merged(paths: Sequence[Path]) -> list[Line]:
    found = b"".join(MergedFiles(paths, MergeOptions(), lambda _: None).lines(is_over=True))
    return [json.loads(line) for line in found.splitlines()]


# ---- Calls ----


def test_a_request_belongs_to_the_call_that_says_the_same_and_is_under_way(tmp_path: Path) -> None:
    """The first of two heartbeats that say the same came to nothing before n2 was there."""
    sent = {"msg": "AppendEntries", "body": BEAT}
    first = [
        *start("n1", 1.0),
        line("n1", 2.0, "send", rpc=1, to="n2", **sent),
        line("n1", 2.1, "rpc_error", rpc=1, peer="n2", msg="AppendEntries", err="refused"),
        line("n1", 4.0, "send", rpc=2, to="n2", **sent),
        line("n1", 4.3, "reply_recv", rpc=2, msg="AppendEntries", body=ANSWER, **{"from": "n2"}),
    ]
    second = [
        *start("n2", 3.0),
        line("n2", 4.1, "recv", rpc=0, copy=0, **sent, **{"from": "n1"}),
        line("n2", 4.2, "respond", rpc=0, copy=0, to="n1", msg="AppendEntries", body=ANSWER),
    ]
    files = [write(tmp_path / "n1", first), write(tmp_path / "n2", second)]
    calls = [(each["kind"], each["rpc"]) for each in merged(files) if "rpc" in each]
    assert calls == [("send", 1), ("rpc_error", 1), ("send", 2), ("recv", 2), ("respond", 2), ("reply_recv", 2)]


def test_a_request_that_comes_when_none_is_under_way_is_that_of_a_call_that_has_failed(tmp_path: Path) -> None:
    sent = {"msg": "AppendEntries", "body": BEAT}
    first = [
        *start("n1", 1.0),
        line("n1", 2.0, "send", rpc=1, to="n2", **sent),
        line("n1", 3.0, "rpc_error", rpc=1, peer="n2", msg="AppendEntries", err="timeout"),
    ]
    second = [*start("n2", 1.0), line("n2", 4.1, "recv", rpc=0, copy=0, **sent, **{"from": "n1"})]
    files = [write(tmp_path / "n1", first), write(tmp_path / "n2", second)]
    assert [each["rpc"] for each in merged(files) if each["kind"] == "recv"] == [1]


def test_a_call_of_a_dead_process_is_not_taken_for_the_one_that_its_next_life_makes(tmp_path: Path) -> None:
    """A pre-vote says the same in both lives: no term has been written."""
    body = {"term": 2, "cand": "n1", "last_index": 0, "last_term": 0}
    sent = {"msg": "RequestPreVote", "body": body}
    first = [
        *start("n1", 1.0),
        line("n1", 2.0, "send", rpc=1, to="n2", **sent),
        *start("n1", 3.0),
        line("n1", 4.0, "send", rpc=1, to="n2", **sent),
    ]
    second = [*start("n2", 1.0), line("n2", 4.1, "recv", rpc=0, copy=0, **sent, **{"from": "n1"})]
    files = [write(tmp_path / "n1", first), write(tmp_path / "n2", second)]
    assert [each["rpc"] for each in merged(files) if each["kind"] in ("send", "recv")] == [1, 2, 2]


def test_heartbeats_of_one_leader_that_are_handled_at_once_beside_the_main_loop_keep_their_calls(
    tmp_path: Path,
) -> None:
    """The caller of the first one has given up, and the second one is answered before it."""
    sent = {"msg": "AppendEntries", "body": BEAT}
    first = [
        *start("n1", 1.0),
        line("n1", 2.0, "send", rpc=1, to="n2", **sent),
        line("n1", 3.0, "rpc_error", rpc=1, peer="n2", msg="AppendEntries", err="timeout"),
        line("n1", 3.1, "send", rpc=2, to="n2", **sent),
        line("n1", 3.4, "reply_recv", rpc=2, msg="AppendEntries", body=ANSWER, **{"from": "n2"}),
    ]
    answer = {"copy": 0, "to": "n1", "msg": "AppendEntries", "body": ANSWER, "beside": True}
    second = [
        *start("n2", 1.0),
        line("n2", 2.1, "recv", rpc=1, copy=0, beside=True, **sent, **{"from": "n1"}),
        line("n2", 3.2, "recv", rpc=2, copy=0, beside=True, **sent, **{"from": "n1"}),
        line("n2", 3.3, "respond", rpc=2, **answer),
        line("n2", 3.5, "respond", rpc=1, **answer),
    ]
    found = merged([write(tmp_path / "n1", first), write(tmp_path / "n2", second)])
    assert [each["rpc"] for each in found if each["kind"] == "recv"] == [1, 2]
    assert [each["rpc"] for each in found if each["kind"] in ("respond", "reply_recv")] == [2, 2, 1]


def test_heartbeats_beside_the_main_loop_without_a_number_are_those_of_their_leaders(tmp_path: Path) -> None:
    """As older recorders wrote them; the main loop handles another request of the same leader meanwhile."""
    heartbeat, other = {"msg": "AppendEntries", "body": BEAT}, {"msg": "TimeoutNow", "body": {"leader": "n1"}}
    beside = {"rpc": 0, "copy": 0, "beside": True}
    files = [
        [
            *start("n1", 1.0),
            line("n1", 2.0, "send", rpc=1, to="n2", **heartbeat),
            line("n1", 2.0, "send", rpc=2, to="n2", **other),
        ],
        [
            *start("n2", 1.0),
            line("n2", 2.3, "recv", **beside, **heartbeat, **{"from": "n1"}),
            line("n2", 2.4, "recv", rpc=0, copy=0, **other, **{"from": "n1"}),
            line("n2", 2.5, "recv", **beside, **heartbeat, **{"from": "n3"}),
            line("n2", 2.6, "respond", **beside, to="n1", msg="AppendEntries", body=ANSWER),
            line("n2", 2.7, "respond", **beside, to="n3", msg="AppendEntries", body=ANSWER),
            line("n2", 2.8, "respond", rpc=0, copy=0, to="n1", msg="TimeoutNow", body={}),
        ],
        [*start("n3", 1.0), line("n3", 2.0, "send", rpc=1, to="n2", **heartbeat)],
    ]
    found = merged([write(tmp_path / f"n{number}", lines) for number, lines in enumerate(files, start=1)])
    calls = {each["rpc"]: (each["node"], each["msg"]) for each in found if each["kind"] == "send"}
    for kind, end in (("recv", "from"), ("respond", "to")):
        of = [(each[end], each["msg"]) for each in found if each["kind"] == kind]
        assert [calls[each["rpc"]] for each in found if each["kind"] == kind] == of
        assert len(set(of)) == 3


# ---- Calls that say the same ----

PRE_VOTE = {"msg": "RequestPreVote", "body": {"term": 3, "cand": "n1", "last_index": 1, "last_term": 1}}
#: n1 asks twice, and a server handles both requests, one after the other.
ASKED = [line("n1", 2.0, "send", rpc=1, to="n2", **PRE_VOTE), line("n1", 3.0, "send", rpc=2, to="n2", **PRE_VOTE)]
GRANTED, DENIED = {"term": 2, "granted": True}, {"term": 5, "granted": False}


def handled(at: float, body: Line) -> list[Line]:
    answer = line("n2", at + 0.1, "respond", rpc=0, copy=0, to="n1", msg="RequestPreVote", body=body)
    return [line("n2", at, "recv", rpc=0, copy=0, **PRE_VOTE, **{"from": "n1"}), answer]


def answered(at: float, rpc: int, body: Line) -> Line:
    return line("n1", at, "reply_recv", rpc=rpc, msg="RequestPreVote", body=body, **{"from": "n2"})


def calls_of(found: list[Line]) -> list[tuple[str, int]]:
    return [(each["kind"], each["rpc"]) for each in found if each["kind"] in ("recv", "respond", "reply_recv")]


def test_of_requests_that_say_the_same_the_one_whose_answer_comes_first_has_overtaken_the_other(
    tmp_path: Path,
) -> None:
    first = [*start("n1", 1.0), *ASKED, answered(3.4, 2, GRANTED), answered(4.4, 1, GRANTED)]
    second = [*start("n2", 1.0), *handled(3.1, GRANTED), *handled(4.1, GRANTED)]
    found = calls_of(merged([write(tmp_path / "n1", first), write(tmp_path / "n2", second)]))
    assert found == [(kind, rpc) for rpc in (2, 1) for kind in ("recv", "respond", "reply_recv")]


def test_of_requests_that_say_the_same_each_has_the_answer_that_its_caller_gets(tmp_path: Path) -> None:
    first = [*start("n1", 1.0), *ASKED, answered(4.3, 1, DENIED), answered(4.4, 2, GRANTED)]
    second = [*start("n2", 1.0), *handled(3.1, GRANTED), *handled(4.1, DENIED)]
    found = calls_of(merged([write(tmp_path / "n1", first), write(tmp_path / "n2", second)]))
    assert [rpc for kind, rpc in found if kind == "recv"] == [2, 1]


def test_of_appends_that_say_the_same_the_one_that_found_the_entry_stored_came_second(tmp_path: Path) -> None:
    """The caller of the first, by a pipeline, follows by then, and never hears of it."""
    body = {**BEAT, "prev_index": 1, "prev_term": 1, "entries": [{"i": 2, "t": 2, "type": "Noop"}]}
    asks = {"msg": "AppendEntries", "body": body}
    got, gets = ({"msg": "AppendEntries", "body": {**ANSWER, "last_log": end}} for end in (1, 2))
    first = [
        *start("n1", 1.0),
        *(line("n1", 2.0 + rpc, "send", rpc=rpc, to="n2", pipelined=rpc == 1, **asks) for rpc in (1, 2)),
        line("n1", 6.0, "reply_recv", rpc=2, **gets, **{"from": "n2"}),
    ]
    second = [
        *start("n2", 1.0),
        *(
            each
            for at, answer in ((4.2, got), (5.2, gets))
            for each in (
                line("n2", at, "recv", rpc=0, copy=0, **asks, **{"from": "n1"}),
                line("n2", at + 0.1, "respond", rpc=0, copy=0, to="n1", **answer),
            )
        ),
    ]
    found = calls_of(merged([write(tmp_path / "n1", first), write(tmp_path / "n2", second)]))
    assert [rpc for kind, rpc in found if kind == "recv"] == [1, 2]


def test_of_requests_that_say_the_same_one_that_fails_is_not_the_one_that_is_answered(tmp_path: Path) -> None:
    failed = line("n1", 4.5, "rpc_error", rpc=1, peer="n2", msg="RequestPreVote", err="timeout")
    first = [*start("n1", 1.0), *ASKED, answered(3.4, 2, GRANTED), failed]
    second = [*start("n2", 1.0), *handled(3.1, GRANTED)]
    found = calls_of(merged([write(tmp_path / "n1", first), write(tmp_path / "n2", second)]))
    assert found == [(kind, 2) for kind in ("recv", "respond", "reply_recv")]


def test_a_third_receipt_of_two_requests_that_say_the_same_is_refused(tmp_path: Path) -> None:
    first = [*start("n1", 1.0), *ASKED, answered(3.4, 2, GRANTED), answered(4.4, 1, GRANTED)]
    second = [*start("n2", 1.0), *(each for at in (3.1, 4.1, 5.1) for each in handled(at, GRANTED))]
    with pytest.raises(TraceError, match="n2:7: n2 receives this RequestPreVote, and n1 has not sent it"):
        merged([write(tmp_path / "n1", first), write(tmp_path / "n2", second)])


def test_a_second_answer_to_the_one_request_that_was_handled_is_refused(tmp_path: Path) -> None:
    first = [*start("n1", 1.0), *ASKED, answered(3.4, 2, GRANTED), answered(4.4, 1, GRANTED)]
    second = [*start("n2", 1.0), *handled(3.1, GRANTED)]
    with pytest.raises(TraceError, match="n1:6: n1 receives this answer to its RequestPreVote, and n2 has not given"):
        merged([write(tmp_path / "n1", first), write(tmp_path / "n2", second)])


def test_while_the_files_grow_a_call_that_was_guessed_wrong_makes_the_merge_begin_again(tmp_path: Path) -> None:
    first = [*start("n1", 1.0), *ASKED, line("n1", 3.15, "started")]
    second = [*start("n2", 1.0), *handled(3.1, GRANTED), line("n2", 3.25, "started")]
    files = [write(tmp_path / "n1", first), write(tmp_path / "n2", second)]
    growing = MergedFiles(files, MergeOptions(), lambda _: None)
    before = [json.loads(each) for each in growing.lines(is_over=False)]
    assert calls_of(before)[:1] == [("recv", 1)]
    later = [answered(3.4, 2, GRANTED), answered(4.4, 1, GRANTED)], handled(4.1, GRANTED)
    for file, lines in zip(files, ([*first, *later[0]], [*second, *later[1]]), strict=True):
        write(file, lines)
    with pytest.raises(LateLineError, match="n1 wrote which of two messages that say the same had come before"):
        list(growing.lines(is_over=False))
    again = MergedFiles(files, MergeOptions(), lambda _: None)
    assert calls_of([json.loads(each) for each in again.lines(is_over=False)])[0] == ("recv", 2)


# ---- Lives ----

ENTRIES = [{"i": 1, "t": 1, "type": "Command", "v": "a"}, {"i": 2, "t": 1, "type": "Command", "v": "b"}]


#: Requests of main loops, and heartbeats beside these: of n2 and n3, and that of n2 answered.
APPEND, VOTE = (line("n1", 2.0, "recv", rpc=1, msg=msg, body={}) for msg in ("AppendEntries", "RequestVote"))
BESIDE = {"msg": "AppendEntries", "beside": True}
BEAT_2, BEAT_3 = (
    line("n1", 2.0, "recv", rpc=rpc, body=BEAT | {"term": term}, **BESIDE, **{"from": f"n{rpc}"})
    for rpc, term in ((2, 2), (3, 3))
)
BEAT_2_ANSWERED = line("n1", 2.1, "respond", rpc=2, to="n2", body=ANSWER, **BESIDE)


@pytest.mark.parametrize(
    ("read", "found", "lost"),
    [
        ([APPEND], {"log": ENTRIES}, ("store_logs", "appendEntries<processRPC")),
        ([APPEND], {"log": []}, ("delete_range", "appendEntries<processRPC")),
        ([VOTE], {"LastVoteTerm": 2}, ("stable_set", "requestVote<processRPC")),
        ([], {"CurrentTerm": 2}, ("stable_set", "electSelf<runCandidate")),
        ([], {"log": ENTRIES}, ("store_logs", "dispatchLogs<leaderLoop")),
        ([], {"snapshot": {"last_index": 1, "last_term": 1}}, ("snapshot_saved", "takeSnapshot<runSnapshots")),
        ([], {}, None),
        ([BEAT_2], {"CurrentTerm": 2}, ("stable_set", "appendEntries<processHeartbeat")),
        ([VOTE, BEAT_2, BEAT_3], {"CurrentTerm": 2}, ("stable_set", "appendEntries<processHeartbeat")),
        ([BEAT_2], {"CurrentTerm": 3}, ("stable_set", "electSelf<runCandidate")),
        ([BEAT_2, BEAT_3, BEAT_2_ANSWERED], {"CurrentTerm": 2}, ("stable_set", "electSelf<runCandidate")),
        ([VOTE, BEAT_2, BEAT_2_ANSWERED], {"CurrentTerm": 2}, ("stable_set", "requestVote<processRPC")),
        ([VOTE, BEAT_2], {"LastVoteTerm": 2}, ("stable_set", "requestVote<processRPC")),
        ([BEAT_2], {"log": ENTRIES}, ("store_logs", "dispatchLogs<leaderLoop")),
        ([BEAT_2], {"log": []}, ("delete_range", "compactLogsWithTrailing<compactLogs")),
    ],
)
def test_a_write_whose_line_a_killed_process_did_not_write_is_added(
    read: Sequence[Line], found: Line, lost: tuple[str, str] | None
) -> None:
    """A heartbeat that is handled beside the main loop writes its term alone, and the main loop goes on meanwhile.

    Source: appendEntries of the library, in which a heartbeat has no entries and no entry before.
    """
    before = {"CurrentTerm": 1, "LastVoteTerm": 1, "LastVoteCand": "n1", "log": ENTRIES[:1]}
    stores = FollowedStores(before)
    for each in read:
        stores.read(each)
    added = list(stores.lost_writes(before | found))
    assert [(each["kind"], each["by"]) for each in added] == ([] if lost is None else [lost])
    for each in added:
        stores.read(each)
    assert list(stores.lost_writes(before | found)) == []


def test_what_a_killed_server_left_stands_before_its_next_start(tmp_path: Path) -> None:
    later = EMPTY | {"CurrentTerm": 2}
    files = [
        write(tmp_path / "n1", [*start("n1", 1.0), *start("n1", 5.0, later)]),
        write(tmp_path / "n2", start("n2", 2.0)),
    ]
    own = [each for each in merged(files) if each.get("node") == "n1"]
    lives = [(each["kind"], each["inc"]) for each in own]
    assert lives == [("start", 1), ("stable_set", 1), ("stopped", 1), ("start", 2)]
    assert own[2]["persisted"] == own[3]["persisted"]


# ---- Files that do not fit ----


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (start("n1", 3.0), "other:1: field `node`: "),
        (
            [*start("n2", 3.0), line("n2", 4.0, "rpc_error", rpc=7, msg="TimeoutNow", peer="n1", err="")],
            "has no call 7",
        ),
        (
            [
                *start("n2", 3.0),
                line("n2", 4.0, "recv", rpc=0, copy=0, msg="AppendEntries", body=BEAT, **{"from": "n1"}),
            ],
            "other:3: n2 receives this AppendEntries, and n1 has not sent it before that",
        ),
        (
            [*start("n2", 3.0), line("n2", 4.0, "respond", rpc=0, copy=0, to="n1", msg="AppendEntries", body=ANSWER)],
            "other:3: field `kind`: n2 answers, and handles no request",
        ),
        (
            start("n2", 3.0, EMPTY | {"log": [{"i": 1, "t": 1, "type": "Configuration", "v": "n2"}]}),
            "other:2: field `persisted.log`: n2 vote at first: their names must come first in order",
        ),
    ],
    ids=["twice the same server", "no call", "no request", "an answer to nothing", "voters"],
)
def test_files_that_are_no_recording_are_refused(tmp_path: Path, lines: list[Line], said: str) -> None:
    files = [write(tmp_path / "n1", start("n1", 1.0)), write(tmp_path / "other", lines)]
    with pytest.raises(TraceError) as refused:
        merged(files)
    assert said in str(refused.value)


# ---- Steps of servers of the reference ----


def step_line(step: NodeStep) -> Line:
    return {name: getattr(step, name) for name in NodeStep.__dataclass_fields__}


@pytest.fixture(scope="module")
def steps() -> list[Line]:
    """The steps of a group that elects a leader, stores commands, takes snapshots, and loses a follower for a while."""
    run = RaftGroup(1, flaws=IN_V173)
    leader = run.elect()
    for count in range(8):
        ask(run.group, leader, command(count))
    follower = run.followers[0]
    run.group.kill(follower)
    ask(run.group, leader, command(8))
    run.group.start(follower)
    run.group.run_until(run.group.now + 3)
    found: list[Line] = json.loads(json.dumps([step_line(step) for step in run.group.steps if step.action != KILLED]))
    return found


def mixed(folder: Path, steps: list[Line], first: Line = HEADER) -> list[Path]:
    """Write the steps of n2 and n3, and what the recorder would have written of n1 in the same run."""
    own = [step for step in steps if step["node"] == "n1"]
    header = {**first, "node": "n1", "at": own[0]["at"]}
    record = FileRecord("header", 1, header)
    reader = StepLines("n1", ("n1", "n2", "n3"), 3, record, NodeClock(is_wall=False, field="at", unit=10**9))
    lines = [each for number, step in enumerate(own) for each in reader.lines(FileRecord("n1", number, step))]
    lines += reader.rest()
    written = [{**each.fields, "at": each.at / 1e9} for each in lines]
    paths = [write(folder / "n1", [header, *written])]
    return paths + [write(folder / node, [each for each in steps if each["node"] == node]) for node in ("n2", "n3")]


def test_steps_of_servers_of_the_reference_stand_for_lines_that_hold_in_the_spec(
    tmp_path: Path, steps: list[Line]
) -> None:
    found = merged(mixed(tmp_path, steps))
    path = write(tmp_path / "group.ndjson", found)
    verdict = check(path)
    assert verdict.verdict is Verdict.HOLDS, verdict
    kinds = [each["kind"] for each in found]
    assert (kinds.count("start"), kinds.count("stopped")) == (4, 1)
    assert {"send", "recv", "respond", "reply_recv", "store_logs", "fsm_apply"} <= set(kinds)
    applied = next(each for each in found if each["kind"] == "fsm_apply" and each["node"] == "n3")
    applied["v"] = "planted"
    assert check(write(path, found)).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"action": "VerifyLeader"}, "VerifyLeader: the step cannot be taken"),
        ({"action": "Sleep"}, "Sleep: the step cannot be taken"),
        ({"action": 7}, "this is no step: field `action`: expected `str`, got `int`"),
        ({"node": "n3"}, "this is a step of n3"),
        ({"shows": {"lastIndex": 99}}, "lastIndex is 99, not 1"),
    ],
    ids=lambda each: str(each)[:20],
)
def test_a_step_that_the_core_does_not_take_is_named(
    change: Line, said: str, tmp_path: Path, steps: list[Line]
) -> None:
    files = mixed(tmp_path, steps)
    own = [each for each in steps if each["node"] == "n2"]
    write(files[1], [*own[:1], own[1] | change, *own[2:]])
    with pytest.raises(TraceError) as refused:
        merged(files)
    assert str(refused.value).startswith(f"{files[1]}:2: ")
    assert said in str(refused.value)


def test_servers_of_the_reference_alone_have_no_header(tmp_path: Path, steps: list[Line]) -> None:
    with pytest.raises(TraceError, match="n2:1: no file is one of the Go recorder"):
        merged(mixed(tmp_path, steps)[1:])
