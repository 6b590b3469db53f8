"""Many clusters: each is judged, what they reach is counted, and a cluster that does not conform is named."""

from __future__ import annotations

from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.jobs.coverage import Coverage
from lockstep.jobs.fleet import Fleet
from lockstep.systems.dledger.reached import ELECTIONS, FAULTS, reached
from lockstep.trace.format import Event
from raftref.dledger.storage.ledger_store import LedgerStore


def event(action: str, node: str = "n1", sent: tuple[dict[str, Any], ...] | None = None, **shows: Any) -> Event:
    return Event(seq=0, node=node, action=action, shows=shows, sent=sent)


def dispatcher(kind: str) -> dict[str, Any]:
    return {"n2": {"type": kind}}


# ---- Coverage ----


def test_actions_and_faults_are_told_apart() -> None:
    assert list(reached([event("DoAppend"), event("Lose")])) == [("action", "DoAppend"), ("fault", "Lose")]


def test_an_answer_is_told_by_its_type_and_code() -> None:
    sent = ({"kind": "request", "type": "COMPARE"}, {"kind": "response", "type": "APPEND", "code": "SUCCESS"})
    assert ("answer", "APPEND SUCCESS") in list(reached([event("HandleDoAppend", sent=sent)]))


def test_a_dispatcher_s_change_of_state_is_told_once() -> None:
    shown = [event("X", dispatchers=dispatcher(kind)) for kind in ("COMPARE", "TRUNCATE", "TRUNCATE")]
    other = event("X", node="n3", dispatchers=dispatcher("APPEND"))
    found = [name for kind, name in reached([*shown[:1], other, *shown[1:]]) if kind == "dispatcher"]
    assert found == ["COMPARE -> TRUNCATE"]


def test_a_log_that_truncate_shortens_was_cut_and_one_it_lengthens_was_not() -> None:
    grows = [event("HandleDoTruncate", ledgerEndIndex=0), event("HandleDoTruncate", ledgerEndIndex=2)]
    assert "entries cut" not in [name for _, name in reached(grows)]
    falls = [
        *grows,
        event("HandleDoTruncate", node="n2", ledgerEndIndex=1),
        event("HandleDoTruncate", ledgerEndIndex=1),
    ]
    assert [name for _, name in reached(falls)].count("entries cut") == 1


def test_a_run_with_a_leader_change_and_a_cut_is_told_whichever_comes_first() -> None:
    leaders = [event("ChangeToLeader"), event("ChangeToLeader", node="n2")]
    cut = [event("HandleDoTruncate", ledgerEndIndex=2), event("HandleDoTruncate", ledgerEndIndex=1)]
    both = ("log", "leader change and cut")
    assert both in list(reached([*leaders, *cut]))
    assert both in list(reached([*cut, *leaders]))
    assert both not in list(reached(leaders))
    assert both not in list(reached([*cut, *leaders[:1]]))


def test_a_restart_that_lengthens_a_log_brings_cut_entries_back() -> None:
    events = [event("HandleDoTruncate", ledgerEndIndex=1), event("Crash"), event("Restart", ledgerEndIndex=2)]
    assert ("log", "cut entries back") in list(reached(events))
    assert ("log", "cut entries back") not in list(reached([*events[:2], event("Restart", ledgerEndIndex=1)]))


def test_the_first_leader_is_no_other_leader() -> None:
    assert ("log", "another leader") not in list(reached([event("ChangeToLeader")]))
    assert ("log", "another leader") in list(reached([event("ChangeToLeader"), event("ChangeToLeader", node="n2")]))


def test_a_share_counts_traces_and_not_times() -> None:
    coverage = Coverage()
    coverage.add(reached([event("Lose"), event("Lose"), event("DoAppend")]), 3)
    coverage.add(reached([event("DoAppend")]), 1)
    assert (coverage.share(("fault", "Lose")), coverage.times["fault", "Lose"], coverage.median_events) == (0.5, 2, 2)
    assert coverage.missing(["Lose", "DoAppend", "Crash"]) == ["Crash"]


# ---- The fleet ----


def fleet(*plans: str, seeds: int) -> tuple[Fleet, list[str]]:
    said: list[str] = []
    return Fleet(plans, range(1, seeds + 1), 300, said.append, lambda _: None, master="local[2]"), said


def test_every_cluster_is_a_behaviour_of_the_spec_and_every_action_is_taken() -> None:
    plans = ("five", "published", "fine_published", "batches_published", "applied", "not_follower", "votes")
    job, said = fleet(*plans, seeds=5)
    assert job.run() is Verdict.HOLDS
    assert len(job.verdicts) == 35
    # Votes come step by step in these plans, so an election in one step is not for them.
    assert job.missing == ["ElectLeader"]
    # What coverage asks for by name is what the spec calls it.
    assert {*FAULTS, *ELECTIONS, "HandleDoTruncate", "Restart"} <= job.actions
    assert said[-1].startswith("fleet: holds (35 clusters, median 300 events")


def test_a_cluster_that_does_not_conform_is_named_with_the_command_that_writes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LedgerStore, "persist_check_point", lambda self: setattr(self, "check_point", 7))
    job, said = fleet("ordered", seeds=1)
    assert job.run() is Verdict.VIOLATED
    text = "\n".join(said)
    assert "checkPoint: the trace shows 7" in text
    assert "lockstep simulate --plan ordered --seed 1 --events 300" in text
