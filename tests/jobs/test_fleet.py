"""Many clusters: each is judged, what they reach is counted, and a cluster that does not conform is named."""

from __future__ import annotations

import pytest

from lockstep.base.verdict import Verdict
from lockstep.jobs.fleet import Fleet
from lockstep.jobs.fleet_coverage import Coverage
from raftref.dledger.store import LedgerStore
from tests.support.systems.dledger_mutants import REFERENCE
from tests.support.systems.mutants import planted

# ---- Coverage ----


def test_a_share_counts_traces_and_not_steps() -> None:
    coverage = Coverage()
    coverage.add({("fault", "Lose"): 2, ("action", "DoAppend"): 1}, 3)
    coverage.add({("action", "DoAppend"): 1}, 1)
    assert (coverage.share(("fault", "Lose")), coverage.times["fault", "Lose"], coverage.median_events) == (0.5, 2, 2)
    assert coverage.missing(["Lose", "DoAppend", "Crash"]) == ["Crash"]


def test_what_is_never_reached_is_named_by_its_kind() -> None:
    coverage = Coverage()
    coverage.add({("action", "DoAppend"): 1}, 1)
    parts = frozenset({("action", "DoAppend"), ("fault", "Lose"), ("fault", "Crash"), ("log", "entries cut")})
    assert coverage.never_text(parts).splitlines() == [
        "never reached, of kind fault: Crash, Lose",
        "never reached, of kind log: entries cut",
    ]


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


@pytest.mark.nightly
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
