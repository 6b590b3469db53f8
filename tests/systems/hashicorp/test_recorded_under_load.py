"""Recordings of servers under load, in which the parts of two steps are interleaved.

Some are beginnings of those of real servers, made by tests.scripts.loaded_hashicorp and cut behind the place. In others
the lines of simulated servers are put in an order that real ones were seen to have.
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
from lockstep.systems.hashicorp.recorded_servers import RecordedServer
from lockstep.systems.hashicorp.recording_lines import LeaderLine, StateLine, StoreLogs
from lockstep.systems.hashicorp.recording_lookahead import LookaheadReader
from lockstep.systems.hashicorp.recording_reader import RECORDING
from tests.support.places import ROOT
from tests.support.systems.hashicorp_recordings import simulated, written
from tests.support.systems.recording_lies import renumbered

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


@pytest.mark.parametrize("name", ["compaction", pytest.param("compaction_over_a_gap", marks=pytest.mark.nightly)])
def test_entries_are_deleted_by_the_end_of_the_log_that_was_read_before_another_entry_was_stored(
    name: str, tmp_path: Path
) -> None:
    """Source: compactLogsWithTrailing, which reads the last index, and then deletes.

    A log has a gap where a snapshot was installed over it.
    """
    lines = recorded(name)
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
    assert (len(deleted["gone"]) < deleted["max"] + 1 - deleted["min"]) is (name == "compaction_over_a_gap")
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    deleted["max"] -= 1
    deleted["gone"].pop()
    assert checked(lines, tmp_path).verdict is Verdict.VIOLATED


def voted_at_once(lines: Lines) -> Lines:
    """Return a recording in which n2 has written all of its vote before it replicates, and answers after that."""
    vote = [line for line in lines if line.get("by") == "requestVote<processRPC" and line["node"] == "n2"]
    first, rest = vote[-3], vote[-2:]
    assert [line["key"] for line in (first, *rest)] == ["CurrentTerm", "LastVoteTerm", "LastVoteCand"]
    others = [line for line in lines if line not in rest]
    at = others.index(first) + 1
    return renumbered([*others[:at], *({**line, "t_ms": first["t_ms"]} for line in rest), *others[at:]])


@pytest.mark.nightly
@pytest.mark.parametrize("at_once", [False, True])
def test_a_leader_that_votes_replicates_until_the_handler_returns(tmp_path: Path, *, at_once: bool) -> None:
    """Source: runLeader, which closes the stop channels of its routines behind leaderLoop."""
    lines = recorded("replicated_within_a_vote")
    lines = voted_at_once(lines) if at_once else lines
    vote = last(lines, kind="stable_set", node="n2", key="LastVoteCand")
    answer = last(lines, kind="respond", node="n2", msg="RequestVote")
    term = last(lines, kind="stable_set", node="n2", key="CurrentTerm")
    sent = last(lines, kind="send", node="n2", msg="AppendEntries")
    assert term["seq"] < sent["seq"] < answer["seq"]
    assert (vote["seq"] < sent["seq"]) is at_once
    assert sent["body"]["term"] < term["value"]
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    for line in lines:
        if line["kind"] in ("send", "recv") and line["rpc"] == sent["rpc"]:
            line["body"]["term"] = term["value"]  # a routine does not hear of the new term
    assert checked(lines, tmp_path).verdict is Verdict.VIOLATED


@pytest.mark.nightly
def test_a_process_may_apply_what_a_request_commits_and_die_before_it_answers(tmp_path: Path) -> None:
    """Source: appendEntries, which gives the commands to the FSM and then returns."""
    lines = recorded("applied_before_the_answer")
    applied = last(lines, kind="fsm_apply", node="n5")
    received = last(lines, kind="recv", node="n5")
    assert received["obs"]["commit"] < applied["i"]
    assert not any(line["kind"] == "respond" and line["rpc"] == received["rpc"] for line in lines)
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    for line in lines:
        if line["kind"] in ("send", "recv") and line["rpc"] == received["rpc"]:
            line["body"]["commit"] = received["obs"]["commit"]  # the request commits nothing
    assert checked(lines, tmp_path).verdict is Verdict.VIOLATED


@pytest.mark.nightly
@pytest.mark.parametrize("name", ["heartbeat_within_append", "heartbeat_within_installation"])
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


@pytest.mark.nightly
def test_a_main_loop_counts_a_pre_vote_after_a_heartbeat_and_campaigns(tmp_path: Path) -> None:
    """Source: runCandidate, which looks at its role only once an event is handled."""
    lines = recorded("prevote_counted_as_follower")
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    campaign = last(lines, kind="stable_set", by="electSelf<runCandidate", key="CurrentTerm")
    follows = last(lines[: campaign["seq"]], kind="state", node=campaign["node"])
    assert follows["by"] == "appendEntries<processHeartbeat"
    applied = last(lines[: campaign["seq"]], kind="fsm_apply", node=campaign["node"])
    stored = [entry for line in lines if line["kind"] == "store_logs" for entry in line["entries"]]
    entry = next(each for each in stored if each["i"] == applied["i"] + 1)
    lie = applied | {name: entry[name] for name in ("i", "t", "v")}
    lie |= {"t_ms": campaign["t_ms"], "count": applied["count"] + 1}
    lied = renumbered([*lines[: campaign["seq"]], lie, *lines[campaign["seq"] :]])
    assert checked(lied, tmp_path).verdict is Verdict.VIOLATED  # an entry that is not committed is applied


def test_a_heartbeat_is_answered_by_a_leader_that_has_not_written_yet_that_it_knows_itself(tmp_path: Path) -> None:
    """Source: runCandidate, which sets its state, and then its leader."""
    lines = recorded("heartbeat_within_win")
    won = last(lines, kind="state", state="Leader", by="runCandidate<run")
    knows = last(lines, kind="leader_obs", leader=won["node"], by="runCandidate<run")
    answer = last(lines[: knows["seq"]], kind="respond", node=won["node"], beside=True)
    assert won["seq"] < answer["seq"] < knows["seq"]
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    lied = json.loads(json.dumps(lines))
    for line in lied:
        if line["kind"] in ("respond", "reply_recv") and line["rpc"] == answer["rpc"]:
            line["body"]["success"] = True
    assert checked(lied, tmp_path).verdict is Verdict.VIOLATED


def test_a_leader_that_has_stored_its_first_entry_shows_whom_it_knows(tmp_path: Path) -> None:
    """Source: runCandidate, which sets its state, then its leader; runLeader, whose first entry comes after both."""
    path = tmp_path / "group.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in recorded("heartbeat_within_win")))
    _, lines = RECORDING.read(path, lambda _: None)
    server = RecordedServer("n1")
    knows = [line for line in lines if isinstance(line, LeaderLine | StateLine | StoreLogs) and line.node == "n1"]
    won = next(place for place, line in enumerate(knows) if isinstance(line, StateLine) and line.state == "Leader")
    stored = next(place for place in range(won, len(knows)) if isinstance(knows[place], StoreLogs))
    shown = []
    for line in (each for each in knows[: stored + 1] if not isinstance(each, LeaderLine) or not each.leader):
        server.write(line)
        shown.append(server.shown().get("leader", "not shown"))
    assert shown[-2:] == ["not shown", None]


def test_a_heartbeat_of_the_old_leader_is_handled_while_a_voter_enters_a_term(tmp_path: Path) -> None:
    """Source: requestVote, which forgets the leader before it writes the term."""
    lines = recorded("heartbeat_within_vote")
    known = last(lines, kind="leader_obs", by="appendEntries<processHeartbeat")
    asked = last(lines[: known["seq"]], kind="recv", node=known["node"], msg="RequestVote")
    entered = last(lines, kind="stable_set", node=known["node"], key="CurrentTerm")
    assert asked["seq"] < known["seq"] < entered["seq"]
    assert asked["body"]["term"] == entered["value"] == known["obs"]["term"] + 1
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    cut = [*lines[: entered["seq"] + 1], lines[-1] | {"seq": entered["seq"] + 1, "events": entered["seq"] + 2}]
    assert checked(cut, tmp_path).verdict is Verdict.HOLDS  # while the vote is still to be answered
    known["leader"] = asked["body"]["cand"]
    assert checked(lines, tmp_path).verdict is Verdict.VIOLATED


@pytest.mark.parametrize("name", ["heartbeat_within_vote", "heartbeat_before_the_term"])
def test_a_request_whose_step_was_taken_stays_as_it_is_when_the_main_loop_answers_another(name: str) -> None:
    """While a recording grows: the main loop takes longer than is waited for it."""
    lines = recorded(name)
    known = last(lines, kind="leader_obs", by="appendEntries<processHeartbeat")
    own = [line for line in lines[: known["seq"]] if line.get("node") == known["node"]]
    begun = last([line for line in own if "beside" not in line], kind="recv")
    rest = list(RECORDING.parse(written(lines), "r")[1])
    found = {}
    for is_taken in (False, True):
        reader = LookaheadReader("r")
        for line in rest:
            reader.add(line)
            if is_taken and line.seq == known["seq"] + 1:  # the heartbeat is answered
                assert reader.lookahead.steps.pop(known["seq"]).recv.beside
        handler = reader.lookahead.handlers[begun["seq"]]
        found[is_taken] = handler.heartbeat is None, sum(part.kind in ("state", "stable_set") for part in handler.parts)
    written_by = [line for line in lines[begun["seq"] :] if line.get("by", "").endswith("<processRPC")]
    whole = sum(line["kind"] in ("state", "stable_set") for line in written_by if line["node"] == begun["node"])
    assert found[True] == (True, whole)
    assert found[False] != found[True]


def test_a_request_that_is_waited_for_in_vain_leaves_the_steps_of_others_where_they_are() -> None:
    """While a recording grows: n2's vote is open still when n3's handler is taken as it is."""
    lines = recorded("replicated_within_a_vote")
    answer = last(lines, kind="respond", node="n2", msg="RequestVote")
    vote = last(lines[: answer["seq"]], kind="recv", node="n2", msg="RequestVote")
    stuck = last(lines[: answer["seq"]], kind="recv", node="n3")
    reader = LookaheadReader("r")
    for line in RECORDING.parse(written(lines), "r")[1]:
        reader.add(line)
        if line.seq == stuck["seq"]:
            assert reader.handles(reader.lookahead.handlers[vote["seq"]])
            reader.give_up(reader.lookahead.handlers[stuck["seq"]])
            assert stuck["seq"] in reader.lookahead.steps
    found = reader.lookahead.handlers[vote["seq"]]
    assert [seq for seq, handler in reader.lookahead.steps.items() if handler is found] == [answer["seq"]]


def test_a_step_that_was_taken_is_not_taken_again_where_its_request_ends() -> None:
    """While a recording grows: n2's vote was waited for in vain, and taken at its first write."""
    lines = recorded("replicated_within_a_vote")
    term = last(lines, kind="stable_set", node="n2", key="CurrentTerm")
    vote = last(lines, kind="recv", node="n2", msg="RequestVote")
    reader = LookaheadReader("r")
    for line in RECORDING.parse(written(lines), "r")[1]:
        reader.add(line)
        if line.seq == term["seq"]:
            reader.give_up(reader.lookahead.handlers[vote["seq"]])
            assert reader.lookahead.steps.pop(term["seq"]).recv.rpc == vote["rpc"]
    assert all(handler.recv.rpc != vote["rpc"] for handler in reader.lookahead.steps.values())


@pytest.mark.nightly
def test_an_append_is_handled_while_a_heartbeat_is(tmp_path: Path) -> None:
    lines = recorded("append_within_heartbeat")
    answer = last(lines, kind="respond", beside=True)
    begun = last(lines, kind="recv", beside=True, rpc=answer["rpc"])
    between = [line["kind"] for line in lines[begun["seq"] : answer["seq"]] if line.get("node") == answer["node"]]
    assert {"store_logs", "respond"} <= {*between}
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS


@pytest.mark.nightly
def test_a_request_that_comes_before_the_recorder_observes_a_server_says_nothing_of_its_leader(tmp_path: Path) -> None:
    """Source: NewRaft, which starts the main loop before anyone can register an observer."""
    lines = recorded("request_before_observer")
    started = last(lines, kind="started")
    begun = [
        line
        for line in lines[: started["seq"]]
        if line.get("node") == started["node"] and line["inc"] == started["inc"]
    ]
    assert "recv" in [line["kind"] for line in begun]
    assert not [
        line
        for line in lines
        if line["kind"] == "leader_obs" and line["inc"] == started["inc"] and line["node"] == started["node"]
    ]
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS


@pytest.mark.nightly
def test_a_heartbeat_comes_once_the_main_loop_follows_and_before_it_has_written_the_term(tmp_path: Path) -> None:
    """Source: appendEntries, whose setState and setCurrentTerm another thread may come between."""
    lines = recorded("heartbeat_before_the_term")
    known = last(lines, kind="leader_obs", by="appendEntries<processHeartbeat")
    own = [line for line in lines if line.get("node") == known["node"]]
    follows = last(own, kind="state", by="appendEntries<processRPC")
    entered = last(own, kind="stable_set", by="appendEntries<processRPC")
    assert follows["seq"] < known["seq"] < entered["seq"]
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    entered["value"] += 1
    assert checked(lines, tmp_path).verdict is Verdict.VIOLATED


# ---- In another order ------------------------------------------------------------------------------------


def cut(lines: Lines) -> Lines:
    """The lines and an end, with a moment for each."""
    end = {"kind": "end", "events": 0}
    return [{**line, "t_ms": float(number)} for number, line in enumerate(renumbered([*lines, end]))]


def handled_at_once() -> tuple[Lines, Lines, Lines]:
    """The lines of a heartbeat that makes a candidate follow, those of the append after it, and all before these."""
    lines = simulated("heartbeats beside", 8, 160)
    by_heartbeat = {"kind": "state", "by": "appendEntries<processHeartbeat"}
    follows = next(k for k, line in enumerate(lines) if by_heartbeat.items() <= line.items())
    node = lines[follows]["node"]
    own = [(k, line) for k, line in enumerate(lines) if line.get("node") == node and k >= follows - 1]
    heartbeat, append = [line for _, line in own[:5]], [line for _, line in own[5:8]]
    assert [line["kind"] for line in heartbeat] == ["recv", "state", "stable_set", "leader_obs", "respond"]
    assert [line["kind"] for line in append] == ["recv", "store_logs", "respond"]
    append[0] = append[0] | {"obs": heartbeat[0]["obs"]}  # a candidate still
    return heartbeat, append, [line for line in lines[: own[5][0]] if line not in heartbeat]


def test_a_heartbeat_makes_a_server_follow_while_its_main_loop_handles_an_append(tmp_path: Path) -> None:
    """Source: appendEntries, which looks at the role once the heartbeat has set it, and before that writes the term."""
    (begun, follows, enters, knows, answers), (asked, stores, answered), before = handled_at_once()
    lines = cut([*before, asked, begun, follows, stores, answered, enters, knows, answers])
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    late = cut([*before, asked, begun, stores, answered, follows, enters, knows, answers])
    assert checked(late, tmp_path).verdict is Verdict.VIOLATED  # a candidate stores what it is sent


@pytest.mark.parametrize(
    "order",
    [
        ("asked", "follows", "begun", "knows", "answers", "enters", "stores"),
        ("asked", "begun", "follows", "knows", "answers", "enters", "stores"),
        ("asked", "follows", "begun", "enters", "knows", "answers", "stores"),
        ("asked", "follows", "enters", "begun", "knows", "answers", "stores"),
        ("begun", "asked", "follows", "enters", "knows", "answers", "stores"),
        ("asked", "follows", "begun", "enters", "stores", "knows", "answers"),
    ],
    ids=" ".join,
)
def test_a_main_loop_makes_a_server_follow_while_a_heartbeat_is_handled(order: tuple[str, ...], tmp_path: Path) -> None:
    """Source: appendEntries, which looks at role and term once the main loop has set the one or both."""
    (begun, follows, enters, knows, answers), (asked, stores, answered), before = handled_at_once()
    follows, enters = (line | {"by": "appendEntries<processRPC"} for line in (follows, enters))
    parts = {"asked": asked, "begun": begun, "follows": follows, "enters": enters, "stores": stores}
    parts |= {"knows": knows, "answers": answers}
    lines = [*before, *(parts[each] for each in order), answered]
    assert checked(cut(lines), tmp_path).verdict is Verdict.HOLDS
    lines.remove(enters)
    assert checked(cut(lines), tmp_path).verdict is Verdict.VIOLATED  # nobody has entered the term


def test_a_heartbeat_and_an_append_make_a_server_follow_and_enter_the_term_both(tmp_path: Path) -> None:
    """Source: appendEntries, in two threads that have read the role before either has set it."""
    (begun, *wrote, knows, answers), (asked, stores, answered), before = handled_at_once()
    again = [line | {"by": "appendEntries<processRPC"} for line in wrote]
    both = [line for pair in zip(wrote, again, strict=True) for line in pair]
    lines = cut([*before, asked, begun, *both, knows, answers, stores, answered])
    assert checked(lines, tmp_path).verdict is Verdict.HOLDS
    in_turn = cut([*before, begun, *wrote, knows, answers, asked, *again, stores, answered])
    assert checked(in_turn, tmp_path).verdict is Verdict.VIOLATED  # a follower is in the term


def test_a_snapshot_is_sent_for_entries_whose_deletion_has_no_line_yet(tmp_path: Path) -> None:
    """Source: compactLogs, whose deletion a routine that replicates may notice before it is recorded."""
    lines = simulated("snapshots", 9, 160)
    deleted = next(k for k, line in enumerate(lines) if line.get("why") == "compact")
    sent = next(k for k, line in enumerate(lines) if k > deleted and line.get("msg") == "InstallSnapshot")
    assert (lines[sent]["kind"], lines[sent]["node"]) == ("send", lines[deleted]["node"])
    before = [*lines[:deleted], *lines[deleted + 1 : sent + 1]]
    assert checked(cut([*before, lines[deleted]]), tmp_path).verdict is Verdict.HOLDS
    assert checked(cut(before), tmp_path).verdict is Verdict.VIOLATED  # nothing is ever deleted


def test_a_heartbeat_is_refused_once_the_main_loop_has_entered_a_later_term(tmp_path: Path) -> None:
    """Source: appendEntries, which reads the term when it begins; the vote is a step of its own before that."""
    lines = recorded("heartbeat_within_vote")[:-1]
    known = last(lines, kind="leader_obs", by="appendEntries<processHeartbeat")
    entered = last(lines, kind="stable_set", node=known["node"], key="CurrentTerm")
    answer = lines[known["seq"] + 1]
    for line in (answer, last(lines, kind="reply_recv", rpc=answer["rpc"])):
        line["body"] |= {"success": False, "term": entered["value"]}
    lines.remove(known)
    assert checked(cut(lines), tmp_path).verdict is Verdict.VIOLATED  # it is in the old term still
    lines.remove(answer)
    lines.insert(lines.index(entered) + 1, answer)
    assert checked(cut(lines), tmp_path).verdict is Verdict.HOLDS


def test_a_line_of_several_heartbeats_is_one_of_that_whose_term_or_leader_it_has() -> None:
    """One of neither is of the latest term. Source: processHeartbeat, which several threads may be in."""
    (begun, *parts, answers), _, before = handled_at_once()
    later = begun | {"rpc": 999, "from": "n1", "body": begun["body"] | {"leader": "n1", "term": 3}}
    reader = LookaheadReader("r")
    _, lines = RECORDING.parse(written(cut([*before, later, begun, *parts, answers])), "r")
    for line in lines:
        reader.add(line)
    found = [handler for handler in reader.lookahead.handlers.values() if handler.recv.rpc in (999, begun["rpc"])]
    kinds = [[part.kind for part in handler.parts] for handler in found]
    assert kinds == [["state"], ["stable_set", "leader_obs"]]


@pytest.mark.parametrize(
    ("order", "is_one"),
    [
        (("asked", "forgets", "begun", "knows", "answers", "enters", "votes"), True),
        (("asked", "begun", "knows", "answers", "forgets", "enters", "votes"), False),
        (("asked", "forgets", "begun", "enters", "knows", "answers", "votes"), False),
        (("asked", "forgets", "begun", "knows", "answers", "enters", "fails"), False),
    ],
    ids=["as it is", "before the leader is forgotten", "after the term is written", "and no vote is given"],
)
def test_a_vote_and_a_heartbeat_are_one_step_if_the_leader_is_known_in_the_new_term_by_that(
    order: tuple[str, ...], is_one: bool
) -> None:
    """Source: requestVote, which forgets the leader before it writes the term."""
    lines = recorded("heartbeat_within_vote")
    known = last(lines, kind="leader_obs", by="appendEntries<processHeartbeat")
    own = [line for line in lines[known["seq"] - 20 :] if line.get("node") == known["node"]]
    vote = [line for line in own if line.get("by") == "requestVote<processRPC"]
    parts = dict(zip(("forgets", "enters", "votes"), vote, strict=False))
    parts |= {"fails": parts["votes"] | {"kind": "stable_fail", "err": "no space"}}
    parts |= {"asked": last(own, kind="recv", msg="RequestVote"), "begun": last(own, kind="recv", beside=True)}
    parts |= {"knows": known, "answers": lines[known["seq"] + 1]}
    before = lines[: parts["asked"]["seq"]]
    reader = LookaheadReader("r")
    _, read = RECORDING.parse(written(cut([*before, *(parts[each] for each in order), own[-1]])), "r")
    for line in read:
        reader.add(line)
    assert (reader.lookahead.handlers[parts["asked"]["seq"]].heartbeat is not None) is is_one
