"""Simulated runs: reproducible, lively, and in the trace format."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.trace.trace_format import Event as TraceEvent
from lockstep.trace.trace_format import Header, write_trace
from lockstep.trace.trace_reader import read_trace
from raftref.action import NotEnabled
from raftref.dledger.choices import FINE, VOTES, Feature
from raftref.dledger.server import ACTIONS
from raftref.dledger.simulation import Cluster, FaultPlan, Schedule, simulate
from raftref.dledger.state import Role
from raftref.records import record
from tests.support.sampling import sampled

SEEDS = range(20)
#: What the code does between two of its lines, and the requests that it refuses while it does not follow.
REFUSING = FINE | {Feature.NOT_FOLLOWER, Feature.LATE_RESEND, Feature.LATE_ROLE}
PLANS = {
    "bag": FaultPlan(crash_in_persist=0.001),
    "fifo": FaultPlan(fifo=True, crash_in_persist=0.001),
    "five": FaultPlan(nodes=5, max_down=2, crash_in_persist=0.001),
    "repaired": FaultPlan(flaws=frozenset(), crash_in_persist=0.001),
    "batches": FaultPlan(crash_in_persist=0.001, features=FINE | {Feature.BATCHES}, events=3000),
    "fine": FaultPlan(crash_in_persist=0.001, features=FINE, events=3000),
    "applied": FaultPlan(crash_in_persist=0.001, features=FINE | {Feature.APPLIES}, events=3000),
    "not_follower": FaultPlan(crash_in_persist=0.001, features=REFUSING, events=3000),
    "votes": FaultPlan(fifo=True, transfer=0.004, crash_in_persist=0.001, features=VOTES),
    "votes_bag": FaultPlan(transfer=0.004, crash_in_persist=0.001, features=VOTES),
}

#: The actions of elections role by role; with votes as messages there are others.
ROLES = {"ChangeToCandidate", "NextTerm", "SetCurrVoteFor", "ChangeToLeader", "ChangeToFollower"}
MESSAGES = {
    "IncreaseTerm",
    "VoteForQuorumResponses",
    "HandleVote",
    "HandleOwnVote",
    "HandleVoteResponse",
    "ParseVoteResponses",
    "SendHeartbeats",
    "HandleHeartBeat",
    "HandleHeartBeatResponse",
    "ParseHeartBeatResponses",
    "HeartBeatTimeOut",
    "HandleLeadershipTransfer",
    "WaitToTakeLeadership",
    "HandleTakeLeadership",
    "TakeLeadershipTimeOut",
    "HandleTransferResponse",
    "TransferTimeOut",
}


def digest(seed: int, plan: FaultPlan) -> str:
    text = "\n".join(json.dumps(event) for event in simulate(seed, plan))
    return hashlib.sha256(text.encode()).hexdigest()


def happened(seed: int, plan: FaultPlan) -> Counter[str]:
    """Count the actions of a run, and what they did, from its events alone."""
    counts: Counter[str] = Counter()
    logs: dict[str, list[Any]] = {node: [] for node in plan.node_ids}
    leaders = set()
    for event in simulate(seed, plan):
        action, node, shows = event["action"], event["node"], event["shows"]
        counts[action] += 1
        log = shows.get("log", logs[node])
        if action == "CheckAppendFuture":
            m = event["args"]["m"]
            behind = m["index"] + len(m.get("entries", "m")) - 1 <= shows["ledgerEndIndex"]
            counts["fall behind" if behind else "fast forward"] += 1
        if action == "HandleDoTruncate" and log[: len(logs[node])] != logs[node]:
            counts["removing truncation"] += 1
        if action == "ChangeToLeader" or (action == "ParseVoteResponses" and shows["role"] == "LEADER"):
            leaders.add((shows["currTerm"], node))
        if action == "Restart" and event["args"]["resurrected"]:
            counts["resurrected"] += 1
        counts["committed"] = max(counts["committed"], shows["committedIndex"] + 1)
        logs[node] = log
    counts["elections"] = len(leaders)
    return counts


#: The actions that only queues, clients, and a checker's pass in two parts bring.
FINE_ACTIONS = {"HandlePush", "ActOnQuorumIndex", "CheckLeak", "RefuseAppend", "CheckResponseFuturesTimeout"}
#: The actions that batches bring, and those that they replace.
BATCHES = {"AppendInBatch", "DoBatchAppend", "DoCheckBatchAppendResponse", "HandleDoBatchAppend"}
SINGLES = {"DoAppend", "DoCheckAppendResponse", "HandleDoAppend"}


#: Plans that every run of the tests takes; the others are for `make nightly`.
SAMPLE = ("votes",)


@pytest.fixture(
    scope="module",
    params=sampled(PLANS, SAMPLE),
)
def plan(request: pytest.FixtureRequest) -> FaultPlan:
    return PLANS[request.param]


@pytest.fixture(scope="module")
def runs(plan: FaultPlan) -> list[Counter[str]]:
    return [happened(seed, plan) for seed in SEEDS]


def test_every_action_happens_that_a_repair_leaves(runs: list[Counter[str]], plan: FaultPlan) -> None:
    total = sum(runs, Counter[str]())
    left_out = {"CrashInPersistTerm", "CrashInPersistCheckPoint"} if not plan.flaws else set()
    left_out |= FINE_ACTIONS if plan.features <= VOTES else set()
    left_out |= ROLES if plan.has(Feature.VOTE_MESSAGES) else MESSAGES
    left_out |= set() if plan.has(Feature.APPLIES) else {"DoCommitted"}
    left_out |= set() if plan.has(Feature.NOT_FOLLOWER) else {"ClearCompareOrTruncateRequests"}
    left_out |= set() if plan.has(Feature.LATE_RESEND) else {"PushAnsweredAgain"}
    left_out |= set() if plan.has(Feature.LATE_ROLE) else {"FailStore", "SkipCommit"}
    left_out |= SINGLES if plan.has(Feature.BATCHES) else BATCHES
    assert set(total) >= (set(ACTIONS) - left_out) | {"Lose", "Duplicate", "fall behind", "fast forward"}
    assert not left_out & set(total)


def test_in_most_runs_leaders_change_and_entries_commit_and_in_many_logs_diverge(runs: list[Counter[str]]) -> None:
    assert sum(run["elections"] >= 2 for run in runs) >= len(runs) / 2
    assert sum(run["committed"] >= 15 for run in runs) >= len(runs) / 2
    assert sum(run["removing truncation"] >= 1 for run in runs) >= len(runs) / 4
    assert sum(run["Restart"] >= 1 for run in runs) >= len(runs) / 2


def test_what_truncate_cut_comes_back_in_some_runs_unless_repaired() -> None:
    seeds = SEEDS[:12]
    assert any(happened(seed, PLANS["bag"])["resurrected"] for seed in seeds)
    assert not any(happened(seed, PLANS["repaired"])["resurrected"] for seed in seeds)


def test_a_seed_gives_one_run_whatever_the_process() -> None:
    plan = FaultPlan(events=400)
    code = (
        "import sys; sys.path[:] = sys.argv[1:]\n"
        "from test_simulated_runs import digest; from raftref.dledger.simulation import FaultPlan\n"
        "print(digest(11, FaultPlan(events=400)))"
    )
    for hash_seed in ("1", "2"):
        ran = subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent), *sys.path],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
        assert ran.stdout.strip() == digest(11, plan)
    assert digest(12, plan) != digest(11, plan)


def test_a_longer_run_begins_with_the_shorter_one() -> None:
    short = list(simulate(5, FaultPlan(events=100)))
    assert list(simulate(5, FaultPlan(events=200)))[:100] == short


def test_a_node_shows_everything_and_its_log_whenever_that_changed() -> None:
    schedule = Schedule(3, FaultPlan())
    logs: dict[str, list[Any]] = {node: [] for node in schedule.cluster.node_ids}
    for _ in range(1500):
        event = schedule.next_event()
        assert event is not None
        node, shows = event["node"], event["shows"]
        full = schedule.cluster.servers[node].observe()
        assert shows == full or shows == {name: part for name, part in full.items() if name != "log"}
        logs[node] = shows.get("log", logs[node])
        assert logs[node] == full["log"]


def test_what_is_sent_is_under_way_and_what_is_handled_was() -> None:
    plan = FaultPlan(events=800, duplicate=0.0)
    schedule = Schedule(4, plan)
    for _ in range(plan.events):
        before = {link: [record(m) for m in c] for link, c in schedule.cluster.network.channels.items()}
        event = schedule.next_event()
        assert event is not None
        after = {link: [record(m) for m in c] for link, c in schedule.cluster.network.channels.items()}
        for m in event["sent"]:
            assert m in after[m["src"], m["dst"]]
        if "m" in event["args"]:
            m = event["args"]["m"]
            assert m["dst"] == event["node"]
            assert m in before[m["src"], m["dst"]]


def test_a_run_is_a_trace(tmp_path: Path) -> None:
    plan = FaultPlan(events=300)
    events = list(simulate(2, plan))
    header = Header("lockstep-trace/1", "raftref", "0.1", "DLedger", plan.node_ids, plan.constants())
    written = [TraceEvent(**{**event, "sent": tuple(event["sent"])}) for event in events]
    assert write_trace(tmp_path / "run.ndjson", header, written) == 300
    assert [event for _, event in read_trace(tmp_path / "run.ndjson")] == written


def test_without_faults_nobody_crashes_and_nothing_is_lost_on_the_way() -> None:
    """A request that is cleared from a queue is a Lose as well."""
    calm = dict.fromkeys(("loss", "duplicate", "delay", "crash", "partition", "step_down", "push_timeout"), 0.0)
    counts = Counter(e["action"] for e in simulate(1, replace(FaultPlan(fifo=True), **calm)))  # type: ignore[arg-type]
    assert counts["Crash"] == counts["Duplicate"] == 0
    assert counts["HandleAppendResponse"] > counts["Lose"]


def test_an_action_that_is_not_enabled_is_not_taken() -> None:
    cluster = Cluster(FaultPlan())
    assert not cluster.enabled("n1", "ChangeToLeader")
    assert not cluster.enabled("n1", "ChangeToFollower", "n2")
    assert not cluster.enabled("n1", "NextTerm", 2)
    for action, args in [("ChangeToLeader", ()), ("ChangeToFollower", ("n2",)), ("NextTerm", (2,))]:
        with pytest.raises(NotEnabled):
            cluster.take("n1", action, *args)
    assert cluster.seq == 0


def test_a_vote_reaches_its_candidate_in_the_same_step() -> None:
    cluster = Cluster(FaultPlan())
    cluster.take("n2", "SetCurrVoteFor", "n1")
    assert cluster.servers["n1"].member_state.votes == {"n2"}
    cluster.take("n1", "SetCurrVoteFor", "n1")
    cluster.take("n1", "ChangeToLeader")
    cluster.take("n3", "ChangeToFollower", "n1")
    assert cluster.servers["n3"].member_state.role is Role.FOLLOWER


def test_a_message_must_come_next_to_be_handled() -> None:
    cluster = Cluster(FaultPlan(fifo=True))
    for node in ("n1", "n2"):
        cluster.take(node, "SetCurrVoteFor", "n1")
    cluster.take("n1", "ChangeToLeader")
    cluster.take("n2", "ChangeToFollower", "n1")
    cluster.take("n1", "AppendAsLeader", "v")
    cluster.take("n1", "DoCompare", "n2")
    (m,) = cluster.network.channels["n1", "n2"].deliverable()
    cluster.take("n2", "Lose", m)
    before = cluster.servers["n2"].observe()
    with pytest.raises(LookupError):
        cluster.take("n2", "HandleDoCompare", m)
    assert cluster.servers["n2"].observe() == before
