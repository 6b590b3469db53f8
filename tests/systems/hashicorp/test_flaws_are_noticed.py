"""Each flaw of hashicorp/raft, and some small mistakes in its reference, are noticed by the check of a trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lockstep.base.verdict import Verdict
from lockstep.systems.hashicorp.plans import REFERENCE
from lockstep.systems.simulated_clusters import event_of
from raftref.hashicorp import failures, follower, snapshots, votes
from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.messages import Message, RpcType
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster, FaultPlan, Network
from raftref.hashicorp.simulation.cluster import HANDLERS
from raftref.hashicorp.state import Commitment, FollowerReplication, Verification
from raftref.hashicorp.steps import DONE, Outcome, Result
from raftref.hashicorp.values import ClientLog, EntryType
from tests.scripts.hashicorp_traces import FIRST, check, checked, claiming_repaired, cluster_with, first
from tests.support.sampling import sampled


@pytest.mark.parametrize("flaw", sampled(FIRST, list(FIRST)[:1]), ids=str)
def test_a_server_that_has_a_flaw_is_no_repaired_one(flaw: Flaw) -> None:
    """The same events are a behaviour of the spec with the flaw, and none of the spec without it."""
    header, events = cluster_with(flaw, *FIRST[flaw])
    with_flaw = check(header, events)
    assert [each for each in with_flaw.findings if each.kind != "property"] == []
    assert with_flaw.steps == len(events)
    without_flaw = check(claiming_repaired(header, flaw), events)
    assert without_flaw.verdict is Verdict.VIOLATED
    assert without_flaw.findings[0].kind != "property"


@pytest.mark.nightly
@pytest.mark.parametrize("flaw", FIRST, ids=str)
def test_no_earlier_seed_shows_the_flaw(flaw: Flaw) -> None:
    assert first(flaw) == FIRST[flaw]


def test_every_flaw_is_noticed() -> None:
    assert FIRST.keys() | {Flaw.DELETE_THEN_STORE, Flaw.SNAPSHOT_REGRESS, Flaw.REAPED_INSTALL} == set(Flaw)


class Script:
    """A cluster to which things happen in an order that chance seldom finds."""

    def __init__(self, *flaws: Flaw, trailing_logs: int = 2) -> None:
        features = frozenset(Feature) - {Feature.PRE_VOTE}
        self.plan = FaultPlan(flaws=frozenset(flaws), features=features, trailing_logs=trailing_logs)
        self.cluster = Cluster(self.plan)
        self.events: list[dict[str, Any]] = []

    def take(self, node: str, action: str, *args: Any) -> None:
        self.events.append(self.cluster.take(node, action, *args))

    def deliver(self, src: str, dst: str, *outcome: Outcome) -> None:
        """Let the oldest message from one server to another be handled."""
        m: Message = next(iter(self.cluster.network.channels[src, dst]))
        action = HANDLERS[type(m)]
        writes = action in ("AppendEntries", "RequestVote", "HandleRequestVoteResponse")
        self.take(dst, action, m, *(outcome or ((DONE,) if writes else ())))

    def replicate(self, src: str, dst: str, count: int) -> None:
        """Send `count` entries, and let them be stored; what else is under way waits."""
        self.take(src, "ReplicateTo", dst, count)
        sent = [m for m in self.cluster.network.channels[src, dst] if m.type == "AppendEntries"]
        self.take(dst, "AppendEntries", sent[-1], DONE)
        self.deliver(dst, src)

    def commit(self, node: str) -> None:
        """Let a leader hand to its FSM what a quorum stores."""
        self.take(node, "ProcessLogs")
        self.apply(node)

    def apply(self, node: str) -> None:
        while self.cluster.servers[node].fsm.queue:
            self.take(node, "ApplyFsm")

    def snapshot(self, node: str) -> None:
        """Take a snapshot and save it; the log is not compacted yet."""
        self.take(node, "TakeSnapshot")
        self.take(node, "PersistSnapshot", DONE)

    def elect(self, node: str, voter: str) -> None:
        self.take(node, "HeartbeatTimeout")
        self.take(node, "ElectSelf", self.cluster.servers[node].other_voters, DONE)
        self.deliver(node, voter)
        self.deliver(voter, node)
        self.take(node, "DispatchNoop", DONE)


@pytest.mark.nightly
def test_an_end_of_the_log_that_is_stale_is_no_repaired_one() -> None:
    """n2 deletes what conflicts, and cannot store what comes in its place (DeleteThenStore)."""
    play = Script(Flaw.DELETE_THEN_STORE)
    play.elect("n2", "n3")
    play.take("n2", "DispatchLogs", (ClientLog(EntryType.COMMAND, "lost"),), DONE)
    play.take("n2", "CheckLeaderLease")
    play.take("n1", "HeartbeatTimeout")
    play.take("n1", "ElectSelf", frozenset({"n2", "n3"}), DONE)
    play.take("n1", "ElectionTimeout")
    play.take("n1", "ElectSelf", frozenset({"n2", "n3"}), DONE)
    last = next(m for m in play.cluster.network.channels["n1", "n3"] if m.awaited)
    play.take("n3", "RequestVote", last, DONE)
    play.deliver("n3", "n1")
    play.take("n1", "DispatchNoop", DONE)
    play.take("n1", "ReplicateTo", "n2", 1)
    sent = next(m for m in play.cluster.network.channels["n1", "n2"] if m.type == "AppendEntries")
    play.take("n2", "AppendEntries", sent, Outcome(Result.FAIL, 3))
    events = [event_of(each) for each in play.events]
    header = REFERENCE.header("script", play.plan, 0)
    assert check(header, events).steps == len(events)
    without_flaw = check(claiming_repaired(header, Flaw.DELETE_THEN_STORE), events)
    assert [(each.name, each.action) for each in without_flaw.findings] == [("lastLog.index", "AppendEntries")]


@pytest.mark.nightly
def test_a_snapshot_that_is_saved_late_is_no_repaired_one() -> None:
    """n2 reads its FSM, is sent a newer snapshot, and saves what it read (hashicorp/raft#248)."""
    play = Script(Flaw.SNAPSHOT_REGRESS, trailing_logs=0)
    play.elect("n1", "n2")
    play.take("n1", "DispatchLogs", (ClientLog(EntryType.COMMAND, "a"),), DONE)
    play.replicate("n1", "n2", 2)
    play.commit("n1")
    play.replicate("n1", "n2", 0)
    play.apply("n2")
    play.take("n2", "TakeSnapshot")
    play.take("n1", "DispatchLogs", (ClientLog(EntryType.COMMAND, "b"),), DONE)
    play.replicate("n1", "n3", 2)
    play.replicate("n1", "n3", 1)
    play.commit("n1")
    play.snapshot("n1")
    play.take("n1", "CompactLogs", DONE)
    play.take("n1", "SendLatestSnapshot", "n2")
    play.deliver("n1", "n2", DONE)
    play.take("n2", "PersistSnapshot", DONE)
    events = [event_of(each) for each in play.events]
    header = REFERENCE.header("script", play.plan, 0)
    with_flaw = check(header, events)
    assert with_flaw.steps == len(events)
    assert with_flaw.violations.keys() == {"IndexOrder", "SnapshotsRiseProp"}
    without_flaw = check(claiming_repaired(header, Flaw.SNAPSHOT_REGRESS), events)
    assert [(each.name, each.action) for each in without_flaw.findings] == [("lastSnapshot.index", "PersistSnapshot")]


@pytest.mark.nightly
def test_a_snapshot_that_is_reaped_is_no_repaired_one() -> None:
    """n2 keeps two snapshots of index 4, and is sent one of 3; without StaleInstall it would save no such one."""
    play = Script(Flaw.REAPED_INSTALL, Flaw.STALE_INSTALL)
    play.elect("n1", "n3")
    for value, count in (("a", 2), ("b", 1)):
        play.take("n1", "DispatchLogs", (ClientLog(EntryType.COMMAND, value),), DONE)
        play.replicate("n1", "n3", count)
        play.commit("n1")
        if value == "a":
            play.snapshot("n1")
    play.take("n1", "ReplicateTo", "n2", 3)
    play.deliver("n1", "n2", Outcome(Result.DONE))  # the vote that was asked for
    sent = next(m for m in play.cluster.network.channels["n1", "n2"] if m.type == "AppendEntries")
    play.take("n2", "AppendEntries", sent, DONE)
    play.take("n1", "RPCError", "n2", RpcType.APPEND_ENTRIES)
    play.apply("n2")
    for _ in range(2):
        play.snapshot("n2")
        play.take("n2", "CompactLogs", DONE)
    play.take("n1", "DispatchLogs", (ClientLog(EntryType.COMMAND, "c"),), DONE)
    play.take("n1", "CompactLogs", DONE)
    play.take("n1", "SendLatestSnapshot", "n2")
    play.deliver("n1", "n2", DONE)
    events = [event_of(each) for each in play.events]
    header = REFERENCE.header("script", play.plan, 0)
    with_flaw = check(header, events)
    assert (with_flaw.steps, with_flaw.findings) == (len(events), [])
    without_flaw = check(claiming_repaired(header, Flaw.REAPED_INSTALL), events)
    assert [(each.name, each.action) for each in without_flaw.findings] == [("sent", "InstallSnapshot")]


# ---- Mistakes planted by hand ----


def persist_vote_backwards(server: Server, term: Any, candidate: str) -> None:
    for value in ({"last_vote_cand": candidate}, {"last_vote_term": term}):
        with server.write():
            server.stores = server.stores.set(**value)


def count_a_minority(commitment: Commitment) -> Commitment:
    return replace(commitment, commit_index=max(commitment.match_indexes.values(), default=0))


def does_nothing(*_: Any) -> None:
    """Nothing becomes of it."""


#: A class or a module of the reference, a method or function of it, and what is there instead.
MISTAKES: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "the leader counts a minority": (Commitment, "recalculate", count_a_minority),
    "a vote for a shorter log": (votes, "_has_better_log", lambda server, m: False),
    "a vote is written backwards": (Server, "persist_vote", persist_vote_backwards),
    "the entry before is not looked at": (follower, "_verify_previous", does_nothing),
    "a follower commits nothing": (follower, "_commit", does_nothing),
    "the log is never compacted": (snapshots, "_compact", does_nothing),
    "a start forgets the configuration": (failures, "process_configuration_log_entry", does_nothing),
    "a lost leadership leaves no routine": (Server, "stop_leading", does_nothing),
    "an answer is no answer": (FollowerReplication, "answered", lambda replication: replication),
    "everybody says that it leads": (
        Verification,
        "vote",
        lambda verification, peer, leader: replace(verification, acks=verification.acks | {peer}),
    ),
    "an answer is never given up": (Network, "abandon", does_nothing),
    "a snapshot is not what was applied": (snapshots, "adopt", does_nothing),
}


@pytest.mark.parametrize("mistake", sampled(MISTAKES, list(MISTAKES)[:1]))
def test_a_mistake_in_the_reference_is_noticed(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    owner, name, wrong = MISTAKES[mistake]
    monkeypatch.setattr(owner, name, wrong)
    found = [checked("raft_whole_published", seed, 400) for seed in (1, 2, 3, 4)]
    assert any(each.kind != "property" for verdict in found for each in verdict.findings)


def test_without_a_mistake_nothing_is_found() -> None:
    found = [checked("raft_whole_published", seed, 400) for seed in (1, 2)]
    assert [each for verdict in found for each in verdict.findings if each.kind != "property"] == []
