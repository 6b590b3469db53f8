"""Recordings of the real DLedger become traces of the spec."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.jobs.recordings_manifest import load_recordings
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.dledger.constants import DEFAULTS
from lockstep.systems.dledger.recording_import import import_lines, import_recording
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.imported_trace import Imported
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event, trace_lines, write_trace
from lockstep.trace.trace_reader import Trace, read_trace
from tests.support.sampling import sampled
from tests.support.systems.dledger import check_dledger
from tests.support.systems.dledger_lines import (
    CAPTURED,
    FAULT_FREE,
    FIGURE8,
    QUIET,
    Continued,
    encoded,
    ended,
    lines_of,
)

ACTION, OBSERVATION, NOISE = "action", "observation", "noise"


@pytest.fixture(scope="module")
def fault_free() -> Imported:
    return import_recording(FAULT_FREE)


@pytest.fixture(scope="module")
def figure8() -> Imported:
    return import_recording(FIGURE8)


def checked(imported: Imported) -> TraceVerdict:
    trace = Trace(trace_lines(imported.header, imported), "imported")
    return check_dledger(trace, trace_spec(trace.header, trace.source))


def after_the_quiet(imported: Imported) -> list[tuple[str, int | None]]:
    """The actions that the lines added to the quiet beginning led to, and their lines."""
    return [(event.action, event.line) for event in imported if (event.line or 0) > QUIET]


def test_the_fault_free_recording_is_a_behaviour_of_the_spec_in_which_every_property_holds(
    fault_free: Imported,
) -> None:
    assert checked(fault_free).verdict == Verdict.HOLDS


def test_the_figure_8_recording_is_a_behaviour_of_the_spec_that_breaks_its_properties(
    figure8: Imported,
) -> None:
    verdict = checked(figure8)
    assert verdict.deviation is None
    assert "StateMachineSafety" in verdict.violations


def test_a_violation_names_the_line_that_defines_its_property(figure8: Imported) -> None:
    """An invariant and a property of steps alike."""
    found = checked(figure8).violations
    assert {"IndexOrder", "CommittedMonotonicProp"} <= found.keys()
    for name, each in found.items():
        module, line, _ = each.spec_line.split(":")
        assert (
            (DLEDGER.module.parent / module)
            .read_text(encoding="utf-8")
            .splitlines()[int(line) - 1]
            .startswith(f"{name} ==")
        )


ALL_SHIPPED = {each.file for each in load_recordings(traces_dir() / "manifest.toml")}
SHIPPED = sorted(each for each in ALL_SHIPPED if each.startswith("captured/dledger/") and ".ndjson" in each)


@pytest.mark.parametrize("file", SHIPPED)
def test_no_step_of_a_recording_that_ships_is_forced(file: str) -> None:
    assert import_recording(traces_dir() / file).summary.forced == ()


@pytest.mark.parametrize("file", SHIPPED)
def test_an_event_says_what_was_sent_where_the_recording_shows_the_sending_and_nowhere_else(file: str) -> None:
    recorded: dict[str, set[int | None]] = {}
    for event in import_recording(traces_dir() / file):
        recorded.setdefault(event.action, set()).add(None if event.sent is None else len(event.sent))
    requests = {"DoCompare", "DoTruncate", "DoAppend", "DoCheckAppendResponse", "DoCommit"}
    requests |= {"DoBatchAppend", "DoCheckBatchAppendResponse"}
    answers = {"HandleDoCompare", "HandleDoTruncate", "HandleDoAppend", "HandleDoBatchAppend", "CheckAppendFuture"}
    answers |= {"ClearCompareOrTruncateRequests"}
    for action, counts in recorded.items():
        allowed = {1} if action in requests else {None, 1} if action in answers else {None}
        assert counts <= allowed, action
        assert action not in answers or 1 in counts


def test_the_header_names_the_system_its_features_and_the_published_flaws(figure8: Imported) -> None:
    header = figure8.header
    assert (header.system, header.version, header.spec) == ("dledger", "0.2.7", "DLedger")
    assert header.nodes == ("n0", "n1", "n2")
    assert header.constants == {
        **DEFAULTS,
        "StepwiseElections": True,
        "Fifo": False,
        "SplitQuorumCheck": True,
        "LateRole": True,
        "PendingMap": True,
        "LateResend": True,
    }
    assert "figure8" in header.origin


def test_each_action_of_the_fault_free_recording_is_found_as_often_as_its_lines_say(
    fault_free: Imported,
) -> None:
    assert fault_free.summary.actions == {
        "ActOnQuorumIndex": 34,
        "AppendAsLeader": 34,
        "ChangeToFollower": 2,
        "ChangeToLeader": 1,
        "DoAppend": 66,
        "DoCommit": 2,
        "DoCompare": 2,
        "DoTruncate": 2,
        "HandleAppendResponse": 66,
        "HandleCompareResponse": 2,
        "HandleDoAppend": 66,
        "HandleDoCommit": 2,
        "HandleDoCompare": 2,
        "HandleDoTruncate": 2,
        "HandleTruncateResponse": 2,
        "Observe": 6,
        "PersistCheckPoint": 24,
        "QuorumAckChecker": 34,
        "SetCurrVoteFor": 3,
    }
    assert fault_free.summary.hidden == {"QuorumAckChecker": 34}


def test_the_figure_8_recording_has_its_crashes_restarts_losses_and_time_outs(figure8: Imported) -> None:
    found = figure8.summary.actions
    assert {name: found[name] for name in ("Crash", "Restart", "PushTimeOut", "Lose")} == {
        "Crash": 3,
        "Restart": 3,
        "PushTimeOut": 4,
        "Lose": 8,
    }
    assert len(figure8.events) == sum(found.values()) == 283


def test_every_line_has_one_use(fault_free: Imported, figure8: Imported) -> None:
    for path, imported in ((FAULT_FREE, fault_free), (FIGURE8, figure8)):
        assert sum(imported.summary.lines.values()) == len(lines_of(path))


USES = {
    "checkpoint": {ACTION},
    "client_ack": {NOISE},
    "client_append": {NOISE},
    "crash": {ACTION},
    "dispatcher.changeState": {ACTION, OBSERVATION, NOISE},  # noise: checkAndFreshState
    "dropped": {ACTION, NOISE},  # noise: no push
    "end": {NOISE},
    "fault": {NOISE},
    "final": {OBSERVATION},
    "handler.enqueue": {NOISE},
    "handler.take": {OBSERVATION},
    "header": {NOISE},
    "net_error": {NOISE},
    "net_error.COMPARE": {ACTION},  # of a dead node; after a time-out: observation
    "note": {NOISE},
    "quiesced": {NOISE},
    "recovered": {ACTION, OBSERVATION},  # observation: at the first start
    "recv_append": {NOISE},
    "recv_heartbeat": {NOISE},
    "recv_push.APPEND": {NOISE},
    "recv_push.COMMIT": {NOISE},
    "recv_push.COMPARE": {NOISE},
    "recv_push.TRUNCATE": {NOISE},
    "recv_resp_heartbeat": {NOISE},
    "recv_resp_push.APPEND": {OBSERVATION},
    "recv_resp_push.COMMIT": {NOISE},
    "recv_resp_push.COMPARE": {ACTION, OBSERVATION},  # action: compares further down, no other line
    "recv_resp_push.TRUNCATE": {OBSERVATION},
    "recv_resp_vote": {NOISE},
    "recv_vote": {NOISE},
    "resp_append": {NOISE},
    "resp_heartbeat": {NOISE},
    "resp_push.APPEND": {OBSERVATION},
    "resp_push.COMMIT": {OBSERVATION},  # action where there is nothing new to commit
    "resp_push.COMPARE": {ACTION},
    "resp_push.TRUNCATE": {OBSERVATION},
    "resp_vote": {NOISE},
    "role.changeToCandidate": {ACTION},
    "role.changeToFollower": {ACTION},
    "role.changeToLeader": {ACTION},
    "role.nextTerm": {ACTION},
    "role.setCurrVoteFor": {ACTION},
    "send_heartbeat": {NOISE},
    "send_push.APPEND": {ACTION},
    "send_push.COMMIT": {ACTION},
    "send_push.COMPARE": {ACTION},
    "send_push.TRUNCATE": {ACTION},
    "send_vote": {NOISE},
    "start": {NOISE},
    "store.appendAsFollower": {ACTION},
    "store.appendAsLeader": {ACTION},
    "store.truncate": {ACTION},
    "store.updateCommittedIndex": {ACTION, OBSERVATION},  # observation: the follower's, or recovery's
    "vote_parse": {NOISE},
    "watermark.init": {NOISE},
    "watermark.put": {ACTION, OBSERVATION},  # observation: the leader's own, after its append
}


def test_each_kind_of_line_has_the_use_of_the_table(fault_free: Imported, figure8: Imported) -> None:
    found: dict[str, set[str]] = {}
    for imported in (fault_free, figure8):
        for label, uses in imported.summary.uses.items():
            found.setdefault(label, set()).update(uses)
    assert found == USES


def test_an_action_carries_its_arguments_its_messages_and_what_was_seen(fault_free: Imported) -> None:
    event = next(event for event in fault_free if event.line == 131)
    assert (event.node, event.action, event.args) == ("n0", "DoAppend", {"peer": "n1"})
    assert event.sent == (
        {
            "kind": "request",
            "type": "APPEND",
            "src": "n0",
            "dst": "n1",
            "term": 0,
            "commitIndex": 0,
            "index": 1,
            "entry": {"term": 0, "value": "v0002"},
            "awaited": True,
        },
    )
    assert event.shows["dispatchers"] == {
        "n1": {"type": "APPEND", "term": 0, "compareIndex": -1, "writeIndex": 2, "awaiting": "NOTHING"}
    }
    assert event.shows["committedIndex"] == 0


def test_what_a_follower_does_with_one_request_is_one_event(fault_free: Imported) -> None:
    event = next(event for event in fault_free if event.action == "HandleDoAppend")
    assert event.line == 137
    assert event.args["m"]["index"] == 1
    assert (event.shows["ledgerEndIndex"], event.shows["committedIndex"]) == (1, 0)
    assert [message["code"] for message in event.sent] == ["SUCCESS"]


def test_the_end_term_of_an_empty_log_is_not_shown(fault_free: Imported) -> None:
    empty = [event for event in fault_free if event.shows.get("ledgerEndIndex") == -1]
    assert empty
    assert not any("ledgerEndTerm" in event.shows for event in empty)


def test_an_imported_recording_can_be_written_and_read_as_a_trace(figure8: Imported, tmp_path: Path) -> None:
    path = tmp_path / "figure8.trace.ndjson"
    assert write_trace(path, figure8.header, figure8) == len(figure8.events)
    trace = read_trace(path)
    assert trace.header == figure8.header
    assert [event.line for _, event in trace] == [event.line for event in figure8.events]


def test_a_request_that_is_delivered_twice_is_handled_twice_and_its_second_answer_is_lost() -> None:
    recorded = Continued()
    recorded.append()
    push = recorded.send("APPEND", 3)
    twice = recorded.add("duplicated", "n0", mid=push["mid"], rpc="push", src="n0", dst="n1", delayMs=9)
    recorded.receive(push)
    recorded.handler("enqueue", push)
    recorded.handler("take", push, done=False)
    stored = recorded.store_entry(push)
    answer = recorded.answer(push, "SUCCESS")
    recorded.commit("n1", 2)
    recorded.arrive(answer)
    marked = recorded.mark("n1", 3)
    recorded.receive(push, copy=2)
    recorded.handler("enqueue", push)
    again = recorded.answer(push, "SUCCESS")
    checked_at = len(recorded.lines)
    recorded.handler("take", push, done=True)
    ignored = recorded.arrive(again, ignored=True)
    imported = import_lines(recorded.recording(), "recorded")
    assert after_the_quiet(imported)[2:] == [
        ("Duplicate", twice),
        ("HandleDoAppend", stored),
        ("HandleAppendResponse", marked),
        ("CheckAppendFuture", checked_at),
        ("Lose", ignored),
    ]
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_duplicate_recorded_after_the_first_copy_was_handled_was_made_when_that_was_sent() -> None:
    recorded = Continued()
    recorded.append()
    push = recorded.send("APPEND", 3)
    sent = len(recorded.lines)
    recorded.receive(push)
    recorded.handler("enqueue", push)
    recorded.handler("take", push, done=False)
    stored = recorded.store_entry(push)
    recorded.answer(push, "SUCCESS")
    recorded.commit("n1", 2)
    recorded.add("duplicated", "n0", mid=push["mid"], rpc="push")
    imported = import_lines(recorded.recording(), "recorded")
    assert after_the_quiet(imported)[1:] == [
        ("DoAppend", sent),
        ("Duplicate", sent),
        ("HandleDoAppend", stored),
    ]
    assert checked(imported).verdict == Verdict.HOLDS


@pytest.mark.parametrize("copied", [False, True], ids=["compare", "compare and a copy that stays under way"])
def test_an_entry_after_a_gap_is_answered_in_the_queue_and_lost_when_a_compare_clears_it(copied: bool) -> None:
    recorded = Continued()
    recorded.append()
    recorded.append()
    lost = recorded.send("APPEND", 3)
    drop = {"mid": lost["mid"], "rpc": "push", "dir": "req", "src": "n0", "dst": "n1", "reason": "loss"}
    recorded.lines.append({"kind": "dropped", "node": "n0", **drop})
    dropped = len(recorded.lines)
    early = recorded.send("APPEND", 4)
    recorded.receive(early)
    recorded.handler("enqueue", early)
    recorded.arrive(recorded.answer(early, "INCONSISTENT_STATE"))
    changed = recorded.change("APPEND", "COMPARE", -1, by="net")
    compare = recorded.send("COMPARE", 4, compare=4)
    if copied:
        recorded.add("duplicated", "n0", mid=compare["mid"], rpc="push", src="n0", dst="n1", delayMs=9)
    recorded.receive(compare)
    cleared = recorded.add("handler", "n1", op="clear", q="write", lost=[[4, early["mid"]]])
    recorded.handler("enqueue", compare)
    recorded.handler("take", compare)
    down = recorded.arrive(recorded.answer(compare, "INCONSISTENT_STATE"))
    compare = recorded.send("COMPARE", 2, compare=2)
    recorded.receive(compare)
    recorded.handler("enqueue", compare)
    recorded.handler("take", compare)
    recorded.arrive(recorded.answer(compare, "SUCCESS"))
    again = recorded.change("COMPARE", "APPEND", 2, by="EntryDispatcher", compare=2)
    imported = import_lines(recorded.recording(), "recorded")
    found = after_the_quiet(imported)
    assert ("Lose", dropped) in found
    assert [action for action, _ in found].count("CheckAppendFuture") == 1
    assert ("HandleAppendResponse", changed) in found
    assert ("Lose", cleared) in found
    assert ("HandleCompareResponse", down) in found
    assert found[-1] == ("HandleCompareResponse", again)
    assert [action for action, _ in found].count("Duplicate") == copied
    assert checked(imported).verdict is Verdict.HOLDS
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_request_at_an_occupied_index_is_lost_and_its_refusal_is_noise() -> None:
    recorded = Continued()
    recorded.append()
    recorded.append()
    recorded.send("APPEND", 3)
    first = recorded.send("APPEND", 4)
    recorded.receive(first)
    recorded.handler("enqueue", first)
    second = recorded.send("APPEND", 3)  # a resend of 3
    recorded.receive(second)
    repeated = recorded.handler("repeated", second)
    recorded.arrive(recorded.answer(second, "REPEATED_PUSH", by="net"))
    imported = import_lines(recorded.recording(), "recorded")
    found = after_the_quiet(imported)
    assert "DoCheckAppendResponse" in dict(found)
    assert found[-1] == ("Lose", repeated)
    assert checked(imported).verdict == Verdict.HOLDS


def test_an_answer_overtaken_by_a_higher_one_takes_effect_with_it() -> None:
    recorded = Continued()
    recorded.append()
    recorded.append()
    recorded.replicate(3)
    recorded.replicate(4)
    marked = recorded.mark("n1", 4)
    imported = import_lines(recorded.recording(), "recorded")
    found = after_the_quiet(imported)
    assert found[-2:] == [("HandleAppendResponse", marked)] * 2
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_pass_that_read_the_watermarks_before_they_rose_again_stands_before_that() -> None:
    recorded = Continued()
    recorded.append()
    recorded.append()
    recorded.replicate(3)
    first = recorded.mark("n1", 3)
    recorded.replicate(4)
    second = recorded.mark("n1", 4)
    passed = recorded.commit("n0", 3, by="QuorumAckChecker")
    imported = import_lines(recorded.recording(), "recorded")
    found = after_the_quiet(imported)
    marked = [found.index(("HandleAppendResponse", line)) for line in (first, second)]
    assert marked[0] < found.index(("QuorumAckChecker", passed)) < marked[1] < found.index(("ActOnQuorumIndex", passed))
    assert (imported.summary.moved, imported.summary.forced) == ((), ())
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_push_that_carries_an_older_committed_index_stands_before_it_rose() -> None:
    recorded = Continued()
    recorded.append()
    recorded.append()
    recorded.replicate(3)
    recorded.mark("n1", 3)
    passed = recorded.commit("n0", 3, by="QuorumAckChecker")
    recorded.send("APPEND", 4, commit=2)
    sent = len(recorded.lines)
    imported = import_lines(recorded.recording(), "recorded")
    found = [line for action, line in after_the_quiet(imported) if action != "QuorumAckChecker"]
    assert found.index(sent) == found.index(passed) - 1
    moved = next(event for event in imported if event.line == sent)
    assert "committedIndex" not in moved.shows
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_checkpoint_of_an_older_committed_index_stands_before_it_rose() -> None:
    recorded = Continued()
    recorded.append()
    recorded.replicate(3)
    recorded.mark("n1", 3)
    passed = recorded.commit("n0", 3, by="QuorumAckChecker")
    written = recorded.add("checkpoint", "n0", endIndex=3, committedIndex=2)
    imported = import_lines(recorded.recording(), "recorded")
    found = after_the_quiet(imported)
    assert found.index(("PersistCheckPoint", written)) < found.index(("ActOnQuorumIndex", passed))
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_pass_whose_index_no_watermarks_give_is_reported_and_refused_by_the_spec() -> None:
    recorded = Continued()
    recorded.append()
    passed = recorded.commit("n0", 3, by="QuorumAckChecker")
    imported = import_lines(recorded.recording(), "recorded")
    assert imported.summary.forced == (passed,)
    verdict = checked(imported)
    assert verdict.deviation is not None
    assert (verdict.deviation.recorded_line, verdict.deviation.name) == (passed, "committedIndex")


def test_an_append_that_commits_is_the_spec_s_to_refuse() -> None:
    lines = lines_of(FAULT_FREE)
    appended = next(line for line in lines if line.get("op") == "appendAsLeader" and line["index"] == 5)
    committed = next(
        line for line in lines[appended["seq"] + 1 :] if line["kind"] == "store" and line["node"] == appended["node"]
    )
    assert (committed["op"], committed["st"]["committed"]) == ("updateCommittedIndex", 5)
    appended["st"]["committed"] = committed["pre"]["committed"] = 5
    found = checked(import_lines(encoded(lines), "recorded")).deviation
    assert found is not None
    assert (found.action, found.name, found.recorded_line) == ("AppendAsLeader", "committedIndex", appended["seq"] + 1)


def test_a_pass_that_says_another_index_than_the_watermarks_leaves_no_verdict() -> None:
    """The lines after it agree with the spec, so nothing else shows it."""
    lines = lines_of(FAULT_FREE)
    passes = [line for line in lines if line.get("by") == "QuorumAckChecker" and "argIndex" in line]
    for line in passes:
        line["argIndex"] = 77
    imported = import_lines(encoded(lines), "recorded")
    found = checked(imported)
    assert (found.verdict, found.deviation) == (Verdict.INCONCLUSIVE, None)
    assert "the recording contradicts them" in found.reason
    assert len(found.forced) == len(imported.summary.forced) == len(passes) > 0


def test_the_header_of_a_later_version_names_what_is_otherwise_in_it() -> None:
    header = import_recording(CAPTURED / "dledger-0.3.1.2-leader_partition.ndjson").header
    assert header.version == "0.3.1.2"
    assert (header.constants["NotFollower"], header.constants["ApplyUnclamped"]) == (True, "repaired")


def test_a_version_that_the_spec_does_not_know_is_malformed() -> None:
    lines = lines_of(FIGURE8)
    lines[0]["version"] = "0.4.0"
    with pytest.raises(TraceError, match=re.escape("recorded:1: field `version`: '0.4.0' is none of 0.2.7, 0.3.1.2")):
        import_lines(encoded(lines), "recorded")


def test_a_candidate_of_a_later_version_refuses_a_push_in_a_step_of_its_own() -> None:
    imported = import_recording(CAPTURED / "dledger-0.3.1.2-leader_partition.ndjson")
    refused = [event for event in imported if event.action == "ClearCompareOrTruncateRequests"]
    assert [(event.args["m"]["type"], event.sent[0]["code"]) for event in refused if event.sent] == [
        ("COMPARE", "NOT_FOLLOWER")
    ] * 3
    assert checked(imported).verdict == Verdict.HOLDS


def test_an_orderly_stop_is_a_crash_after_its_checkpoint() -> None:
    recorded = Continued()
    recorded.add("stopping", "n1", st=recorded.state("n1"))
    saved = recorded.add("checkpoint", "n1", endIndex=2, committedIndex=1)
    stopped = recorded.add("stop", "n1", st=recorded.state("n1"))
    imported = import_lines(recorded.recording(), "recorded")
    found = after_the_quiet(imported)
    assert found == [("PersistCheckPoint", saved), ("Crash", stopped)]
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_follower_that_dies_before_it_moves_its_committed_index_does_not_show_it() -> None:
    recorded = Continued()
    recorded.append()
    push = recorded.send("APPEND", 3)
    recorded.receive(push)
    recorded.handler("enqueue", push)
    recorded.handler("take", push, done=False)
    recorded.store_entry(push)
    recorded.answer(push, "SUCCESS")
    recorded.add("crash", "n1", st=recorded.state("n1"))
    imported = import_lines(recorded.recording(), "recorded")
    assert checked(imported).verdict == Verdict.HOLDS


def test_a_process_that_is_stopped_before_it_has_recovered_takes_no_step() -> None:
    """The recorder's shutdown hook reads what MemberState has loaded so far."""
    recorded = Continued()
    recorded.add("stop", "n1", st=recorded.state("n1"))
    recorded.add("start", "n1", why="restart", inc=2)
    loaded = {"role": "CANDIDATE", "term": 0, "leader": None, "begin": -1, "end": -1, "endTerm": 0, "committed": -1}
    stopping = recorded.add("stopping", "n1", st=loaded, inc=2)
    stopped = recorded.add("stop", "n1", st=loaded, inc=2)
    imported = import_lines(recorded.recording(), "recorded")
    assert [event.action for event in imported if event.line in (stopping, stopped)] == []
    assert checked(imported).verdict == Verdict.HOLDS


@pytest.mark.parametrize("field", ["committed", "end"])
def test_a_recording_whose_last_state_is_forged_leaves_the_spec_there(field: str) -> None:
    lines = lines_of(FAULT_FREE)
    final = next(line for line in lines if line["kind"] == "final")
    final["st"][field] -= 1
    verdict = checked(import_lines(encoded(ended(lines[:-1])), "forged"))
    assert verdict.deviation is not None
    assert verdict.deviation.recorded_line == final["seq"] + 1


BATCH_PUSH = traces_dir() / "captured" / "dledger" / "dledger-0.2.7-batch_push.ndjson"


def batches() -> Iterator[Event]:
    return iter(import_recording(BATCH_PUSH))


def test_entries_that_were_pushed_in_one_append_are_stored_in_one_step() -> None:
    counts = [event.args["count"] for event in batches() if event.action == "DoBatchAppend"]
    assert max(counts) >= 5
    stored = [event for event in batches() if event.action == "HandleDoBatchAppend"]
    for event in stored:
        first, entries = event.args["m"]["index"], event.args["m"]["entries"]
        assert event.shows.get("ledgerEndIndex", first + len(entries) - 1) == first + len(entries) - 1
    assert max(len(event.args["m"]["entries"]) for event in stored) >= 5


def test_a_recording_says_by_its_config_whether_there_are_batches(figure8: Imported) -> None:
    batch_push = import_recording(BATCH_PUSH)
    assert (batch_push.header.constants["Batches"], batch_push.header.constants["PendingMap"]) == (True, True)
    assert figure8.header.constants["Batches"] is False


def test_pushes_are_remembered_without_batches_where_something_is_pending(figure8: Imported) -> None:
    assert any((line.get("disp") or {}).get("pending") for line in lines_of(FIGURE8))
    assert figure8.header.constants["PendingMap"] is True


@pytest.mark.parametrize(("path", "other"), [(BATCH_PUSH, False), (FIGURE8, True)])
def test_an_append_that_contradicts_the_config_on_batches_is_malformed(path: Path, other: bool) -> None:
    lines = lines_of(path)
    lines[0]["config"]["enableBatchPush"] = other
    batches = "batches" if other else "no batches"
    problem = f"field `entries`: by its config this recording has {batches}"
    with pytest.raises(TraceError, match=rf"recorded:[0-9]+: {problem}"):
        list(import_lines(encoded(lines), "recorded"))


@pytest.mark.parametrize(
    "by", sampled([-2, 1], [1])
)  # at -1 it is that of a full batch, which is pushed before writeIndex rises
def test_a_batch_that_leaves_the_write_index_elsewhere_leaves_the_spec_there(by: int) -> None:
    lines = lines_of(BATCH_PUSH)
    sent = [line for line in lines if line["kind"] == "send_push" and line["type"] == "APPEND"]
    sent[9]["disp"]["writeIndex"] += by
    verdict = checked(import_lines(encoded(lines), "recorded"))
    assert verdict.deviation is not None
    assert (verdict.deviation.recorded_line, verdict.deviation.action) == (sent[9]["seq"] + 1, "DoBatchAppend")
