"""Many clusters: each is judged, what they reach is counted, and a cluster that does not conform is named."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.jobs.fleet import Fleet
from lockstep.jobs.fleet_coverage import Coverage
from lockstep.systems.dledger.reached import ELECTIONS, FAULTS, reached
from lockstep.trace.trace_format import Event
from raftref.dledger.store import LedgerStore
from tests.support.systems.dledger_mutants import REFERENCE
from tests.support.systems.mutants import planted


def event(action: str, node: str = "n1", sent: tuple[dict[str, Any], ...] | None = None, **shows: Any) -> Event:
    return Event(seq=0, node=node, action=action, shows=shows, sent=sent)


ENTRY, OTHER = {"term": 1, "value": "v"}, {"term": 0, "value": "w"}


def truncates(end: int, node: str = "n1", index: int = 0, term: int = 0, **shows: Any) -> Event:
    """A TRUNCATE of n3 in term 1 to ENTRY at `index`; then the log ends at `end` with an entry of `term`."""
    m = {"index": index, "entry": ENTRY, "src": "n3", "term": 1}
    log = [OTHER] * (end + 1)
    shown = {"ledgerEndIndex": end, "ledgerEndTerm": term, "log": log, **shows}
    return Event(seq=0, node=node, action="HandleDoTruncate", args={"m": m}, shows=shown)


def dispatcher(kind: str) -> dict[str, Any]:
    return {"n2": {"type": kind}}


# ---- Coverage ----


def test_actions_and_faults_are_counted_apart() -> None:
    assert list(reached([event("DoAppend"), event("Lose")])) == [("action", "DoAppend"), ("fault", "Lose")]


def test_an_answer_is_counted_by_its_type_and_code() -> None:
    sent = ({"kind": "request", "type": "COMPARE"}, {"kind": "response", "type": "APPEND", "code": "SUCCESS"})
    assert ("answer", "APPEND SUCCESS") in list(reached([event("HandleDoAppend", sent=sent)]))


def test_a_dispatchers_change_of_state_is_counted_once() -> None:
    shown = [event("X", dispatchers=dispatcher(kind)) for kind in ("COMPARE", "TRUNCATE", "TRUNCATE")]
    other = event("X", node="n3", dispatchers=dispatcher("APPEND"))
    found = [name for kind, name in reached([*shown[:1], other, *shown[1:]]) if kind == "dispatcher"]
    assert found == ["COMPARE -> TRUNCATE"]


def test_a_log_that_truncate_shortens_was_cut_and_one_it_lengthens_was_not() -> None:
    grows = [truncates(0), truncates(2)]
    assert "entries cut" not in [name for _, name in reached(grows)]
    falls = [*grows, truncates(1, node="n2"), truncates(1)]
    assert [name for _, name in reached(falls)].count("entries cut") == 1


def test_a_run_with_a_leader_change_and_a_cut_is_counted_whichever_comes_first() -> None:
    leaders = [event("ChangeToLeader"), event("ChangeToLeader", node="n2")]
    cut = [truncates(2), truncates(1)]
    both = ("log", "leader change and cut")
    assert both in list(reached([*leaders, *cut]))
    assert both in list(reached([*cut, *leaders]))
    assert both not in list(reached(leaders))
    assert both not in list(reached([*cut, *leaders[:1]]))


def test_a_restart_that_lengthens_a_log_brings_cut_entries_back() -> None:
    events = [truncates(1), event("Crash"), event("Restart", ledgerEndIndex=2)]
    assert ("log", "cut entries back") in list(reached(events))
    assert ("log", "cut entries back") not in list(reached([*events[:2], event("Restart", ledgerEndIndex=1)]))


@pytest.mark.parametrize(("end", "names"), [(0, ["entries cut", "late TRUNCATE cuts"]), (2, ["late TRUNCATE passes"])])
def test_a_truncate_behind_whose_entry_its_leader_appended_comes_late(end: int, names: list[str]) -> None:
    held = {"ledgerEndIndex": 2, "ledgerEndTerm": 1, "log": [ENTRY] * 3}
    late = truncates(end, leaderId="n3", currTerm=1)
    assert [name for kind, name in reached([event("X", **held), late]) if kind == "log"] == names
    of_another = truncates(end, leaderId="n2", currTerm=1)
    assert "late" not in str([name for kind, name in reached([event("X", **held), of_another]) if kind == "log"])


def test_commits_are_counted_by_who_commits_and_where_the_log_ends() -> None:
    events = [
        event("QuorumAckChecker", ledgerEndIndex=1, committedIndex=0),
        event("HandleDoCommit", node="n2", ledgerEndIndex=1, committedIndex=1),
        event("HandleDoCommit", node="n2", ledgerEndIndex=1, committedIndex=1),
        event("Y", node="n2", ledgerEndIndex=0, committedIndex=1),
    ]
    found = [name for kind, name in reached(events) if kind == "log"]
    assert found == ["entries committed", "commit learnt", "commit past the end"]


def test_the_answer_to_a_client_is_read_off_the_futures_that_are_gone() -> None:
    waits = {"#set": [{"index": 0, "entry": ENTRY}]}
    last = event("ActOnQuorumIndex", currTerm=1, futures={"#set": []}, acknowledged=waits)
    changed = event("QuorumAckChecker", currTerm=2, futures={"#set": []})
    first = event("AppendAsLeader", currTerm=1, futures=waits)
    assert [name for kind, name in reached([first, last]) if kind == "client"] == ["SUCCESS"]
    assert [name for kind, name in reached([first, changed]) if kind == "client"] == ["TERM_CHANGED"]


def test_the_first_leader_is_no_other_leader() -> None:
    assert ("log", "another leader") not in list(reached([event("ChangeToLeader")]))
    assert ("log", "another leader") in list(reached([event("ChangeToLeader"), event("ChangeToLeader", node="n2")]))


def test_a_share_counts_traces_and_not_times() -> None:
    coverage = Coverage()
    coverage.add(Counter(reached([event("Lose"), event("Lose"), event("DoAppend")])), 3)
    coverage.add(Counter(reached([event("DoAppend")])), 1)
    assert (coverage.share(("fault", "Lose")), coverage.times["fault", "Lose"], coverage.median_events) == (0.5, 2, 2)
    assert coverage.missing(["Lose", "DoAppend", "Crash"]) == ["Crash"]


# ---- The fleet ----


def fleet(*plans: str, seeds: int, both_ways: int = 0) -> tuple[Fleet, list[str]]:
    printed: list[str] = []
    return Fleet(
        plans, range(1, seeds + 1), 400, printed.append, lambda _: None, master="local[2]", both_ways_steps=both_ways
    ), printed


@pytest.mark.nightly
def test_every_cluster_is_a_behaviour_of_the_spec_and_every_action_is_taken() -> None:
    plans = ("fine_published", "batches_published", "applied", "not_follower", "votes")
    job, printed = fleet(*plans, seeds=5)
    assert job.run() is Verdict.HOLDS
    assert len(job.verdicts) == 25
    assert [(floor.plan, floor.result) for floor in job.floors] == [(plan, "holds") for plan in plans]
    # Votes come step by step in these plans, so an election in one step is not for them.
    assert job.missing == ["ElectLeader"]
    # What coverage asks for by name is what the spec calls it.
    assert {*FAULTS, *ELECTIONS, "HandleDoTruncate", "Restart"} <= job.actions
    assert printed[-1].startswith("fleet: holds (25 clusters, median 400 events")


@pytest.mark.nightly
def test_a_cluster_that_does_not_conform_is_named_with_the_command_that_writes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LedgerStore, "persist_check_point", lambda self: setattr(self, "check_point", 7))
    job, printed = fleet("ordered", seeds=1)
    assert job.run() is Verdict.VIOLATED
    text = "\n".join(printed)
    assert "checkPoint: the trace shows 7" in text
    assert "lockstep simulate --plan ordered --seed 1 --events 400" in text


def test_a_fleet_in_which_no_leader_ever_pushes_is_below_its_floor() -> None:
    mutant = next(m for m in REFERENCE.mutants() if m.function == "has_entry" and m.after.startswith("0 < index"))
    job, printed = fleet("four", seeds=5)
    with planted(mutant):
        assert job.run() is Verdict.VIOLATED
    assert set(job.verdicts) == {Verdict.HOLDS}
    assert {"DoAppend", "entries committed"} <= {name for _, name in job.floors[0].missing}
    assert any("missing " in text and "HandleDoAppend" in text for text in printed)


@pytest.mark.nightly
def test_a_fleet_is_checked_both_ways_on_request() -> None:
    job, printed = fleet("four", seeds=5, both_ways=1)
    assert job.run() is Verdict.HOLDS
    (plan,) = job.both_ways
    assert (plan.plan, plan.verdict, plan.steps) == ("four", Verdict.HOLDS, 5)
    assert any(text.startswith("  plan") and "refused" in text for text in printed)
