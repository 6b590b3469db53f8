"""Hypothesis drives the reference of hashicorp/raft alone, and Raft's properties are asked of its servers.

Each rule is a part of the protocol, and draws one of its actions that may be taken now. No spec is asked here:
what must hold is said once more in Python, of what the servers show and what the run remembers. So spec and reference
cannot be wrong in the same way. With one flaw turned on, the search finds the property that it breaks.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.hashicorp_raft import ACTIONS
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster, FaultPlan
from raftref.hashicorp.simulation.cluster import HANDLERS
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE, Outcome, Result
from raftref.hashicorp.values import ClientLog, Entry, EntryType, Index, Log, Snapshot, Term
from raftref.simulation.group import NETWORK_ACTIONS
from tests.support.systems.machines import search

Move = tuple[str, str, tuple[Any, ...]]

#: The bounds of the search.
TERMS, ENTRIES, MESSAGES = 5, 8, 6

FAILURES = tuple(Outcome(result, write) for result in (Result.FAIL, Result.CRASH) for write in (1, 2, 3))

STANDING = ("HeartbeatTimeout", "ElectionTimeout", "PreElectSelf", "ElectSelf")
VOTING = ("RequestVote", "RequestPreVote", "HandleRequestVoteResponse", "HandleRequestPreVoteResponse")
LEADING = ("DispatchNoop", "DispatchLogs", "ProcessLogs", "StepDown", "CheckLeaderLease", "ApplyFsm")
SENDING = ("ReplicateTo", "SendLatestSnapshot", "Heartbeat", "ZombieReplicateTo", "ZombieSendSnapshot")
STORING = ("AppendEntries", "InstallSnapshot")
HEARING = ("HandleAppendEntriesResponse", "HandleInstallSnapshotResponse", "HandleHeartbeatResponse")
SNAPSHOTS = ("TakeSnapshot", "PersistSnapshot", "CompactLogs")
FAULTS = ("Crash", "Restart", "RPCError", "Lose", "Duplicate")


class RaftAlone(RuleBasedStateMachine):
    """Servers of the reference, whatever happens to them."""

    flaws: ClassVar[frozenset[Flaw]] = frozenset()
    voters: ClassVar[int] = 3
    #: The outcomes of writes that fail or are the last.
    failures: ClassVar[tuple[Outcome, ...]] = ()
    terms: ClassVar[int] = TERMS
    #: Whether the first server leads already.
    led: ClassVar[bool] = False
    #: The actions that are taken; all, if none are named.
    taken: ClassVar[tuple[str, ...]] = ()

    @initialize()
    def start(self) -> None:
        features = frozenset(Feature) - {Feature.PRE_VOTE, Feature.TRANSFERS, Feature.VERIFY}
        plan = FaultPlan(voters=self.voters, features=features, flaws=self.flaws, trailing_logs=0)
        self.cluster = Cluster(plan)
        self.leaders: dict[Term, str] = {}
        self.committed: dict[Index, tuple[Term, Entry]] = {}
        self.votes: dict[tuple[str, Term], str] = {}
        self.kept: dict[str, dict[Index, Entry]] = {}
        self.prepare()

    def prepare(self) -> None:
        """Go to where the examples begin."""
        if self.led:
            self.elect("n1", *self.server("n1").other_voters)

    def elect(self, leader: str, *voters: str) -> None:
        """Let a server lead with the votes of some, and store the first entry of its term; the others hear nothing."""
        self.take(leader, "HeartbeatTimeout")
        self.take(leader, "ElectSelf", self.server(leader).other_voters, DONE)
        for peer in sorted(self.server(leader).other_voters):
            self.take(peer, *(("RequestVote", self.arriving(peer)[0], DONE) if peer in voters else self.lost(peer)))
            if self.server(leader).role is Role.CANDIDATE and peer in voters:
                self.take(leader, "HandleRequestVoteResponse", self.arriving(leader)[0], DONE)
        self.take(leader, "DispatchNoop", DONE)

    def lost(self, node: str) -> tuple[str, Any]:
        return "Lose", self.arriving(node)[0]

    def let(self, node: str, *actions: str) -> None:
        """Let a server take actions one after the other, each with the last of the arguments with which none fails."""
        for action in actions:
            well = [args for each, _, args in self.possible(action) if each == node and not {*args} & {*self.failures}]
            self.take(node, action, *well[-1])

    def replicate(self, leader: str, peer: str) -> None:
        """Let a follower store what it lacks of its leader's log, and hear what is committed."""
        (args,) = [args for node, _, args in self.possible("ReplicateTo") if (node, args[0]) == (leader, peer)][-1:]
        self.take(leader, "ReplicateTo", *args)
        self.let(peer, "AppendEntries")
        self.let(leader, "HandleAppendEntriesResponse")

    # ---- Taking a step -------------------------------------------------------------------------------

    def server(self, node: str) -> Server:
        return self.cluster.servers[node]

    def arriving(self, node: str) -> list[Any]:
        channels = self.cluster.network.channels
        return [m for (_, dst), channel in channels.items() if dst == node for m in channel.deliverable()]

    def take(self, node: str, action: str, *args: Any) -> None:
        """Take a step, and remember what must not change, or never be said twice."""
        server = self.server(node)
        before = {name: (one.role, dict(one.log)) for name, one in self.cluster.servers.items()}
        known, committed = server.commit_index, server.log
        self.cluster.take(node, action, *args)
        if action == "ProcessLogs":
            for index in range(known + 1, server.commit_index + 1):
                entry = committed[Index(index)]
                self.committed.setdefault(Index(index), (server.current_term, entry))
        self.remember(node, before)

    def remember(self, node: str, before: dict[str, tuple[Role, dict[Index, Entry]]]) -> None:
        server, (role, log) = self.server(node), before[node]
        if server.role is Role.LEADER:
            assert self.leaders.setdefault(server.current_term, node) == node, "ElectionSafety"
        if server.stores.last_vote_cand is not None:
            vote, candidate = (node, server.stores.last_vote_term), server.stores.last_vote_cand
            assert self.votes.setdefault(vote, candidate) == candidate, "VoteOncePerTerm"
        if role is Role.LEADER and server.role is Role.LEADER:
            stays = {index: entry for index, entry in log.items() if index > server.last_snapshot.index}
            assert stays.items() <= server.log.items(), "LeaderAppendOnly"

    def moves(self, actions: Iterable[str]) -> list[Move]:
        """The actions that may be taken now, within the bounds."""
        return [move for action in actions if action in (self.taken or actions) for move in self.possible(action)]

    def possible(self, action: str) -> list[Move]:
        return [
            (node, action, args)
            for node in self.cluster.node_ids
            for args in self.arguments(node, action)
            if self.cluster.enabled(node, action, *args)
        ]

    def arguments(self, node: str, action: str) -> Iterator[tuple[Any, ...]]:
        """The candidates for an action's parameters; what is not enabled is dropped later."""
        server = self.server(node)
        under_way = sum(len(channel) for channel in self.cluster.network.channels.values())
        if action in ("HeartbeatTimeout", "ElectSelf") and server.current_term >= self.terms:
            return
        if action in (*SENDING, "Duplicate") and under_way >= MESSAGES:
            return
        if action in NETWORK_ACTIONS:
            yield from ((m,) for m in self.arriving(node))
            return
        others = [each for each in self.cluster.node_ids if each != node]
        arriving = [m for m in self.arriving(node) if HANDLERS[type(m)] == action]
        log = (ClientLog(EntryType.COMMAND, f"v{server.last_index}"),)
        choices: dict[str, list[Any]] = {
            "m": arriving,
            "peer": others,
            "count": [0, 1, 2],
            "type": sorted({m.type for peer in others for m in (*self.arriving(peer), *self.arriving(node))}),
            "logs": [log] if server.last_index < ENTRIES else [],
            "zombie": sorted(server.zombies),
            "asked": [server.other_voters],
            "outcome": [DONE, *self.failures],
        }
        yield from itertools.product(*(choices[name] for name in ACTIONS[action].parameters))

    def play(self, actions: tuple[str, ...], data: st.DataObject) -> None:
        node, action, args = data.draw(st.sampled_from(self.moves(actions)))
        self.take(node, action, *args)

    def can(self, actions: tuple[str, ...]) -> bool:
        return hasattr(self, "cluster") and bool(self.moves(actions))

    @precondition(lambda self: self.can(STANDING))
    @rule(data=st.data())
    def stand(self, data: st.DataObject) -> None:
        self.play(STANDING, data)

    @precondition(lambda self: self.can(VOTING))
    @rule(data=st.data())
    def vote(self, data: st.DataObject) -> None:
        self.play(VOTING, data)

    @precondition(lambda self: self.can(LEADING))
    @rule(data=st.data())
    def lead(self, data: st.DataObject) -> None:
        self.play(LEADING, data)

    @precondition(lambda self: self.can(SENDING))
    @rule(data=st.data())
    def send(self, data: st.DataObject) -> None:
        self.play(SENDING, data)

    @precondition(lambda self: self.can(STORING))
    @rule(data=st.data())
    def store(self, data: st.DataObject) -> None:
        self.play(STORING, data)

    @precondition(lambda self: self.can(HEARING))
    @rule(data=st.data())
    def hear(self, data: st.DataObject) -> None:
        self.play(HEARING, data)

    @precondition(lambda self: self.can(SNAPSHOTS))
    @rule(data=st.data())
    def snapshot(self, data: st.DataObject) -> None:
        self.play(SNAPSHOTS, data)

    @precondition(lambda self: self.can(FAULTS))
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        self.play(FAULTS, data)

    # ---- What must hold ------------------------------------------------------------------------------

    def running(self) -> list[Server]:
        servers = self.cluster.servers.values() if hasattr(self, "cluster") else []
        return [each for each in servers if each.role is not Role.SHUTDOWN]

    @invariant()
    def logs_with_an_equal_entry_are_equal_before_it(self) -> None:
        for one, other in itertools.combinations(self.running(), 2):
            behind = max(one.last_snapshot.index, other.last_snapshot.index)
            both = sorted(index for index in one.log.keys() & other.log.keys() if index > behind)
            equal = [index for index in both if one.log[index].term == other.log[index].term]
            for index in both if equal else ():
                assert index > equal[-1] or one.log[index] == other.log[index], "LogMatching"

    @invariant()
    def a_leader_holds_what_was_committed_in_earlier_terms(self) -> None:
        for leader in (each for each in self.running() if each.role is Role.LEADER):
            for index, (term, entry) in self.committed.items():
                if term <= leader.current_term:
                    assert holds(leader, index, entry), "LeaderCompleteness"

    @invariant()
    def what_was_committed_is_stored_by_a_majority(self) -> None:
        servers = self.cluster.servers.values() if hasattr(self, "cluster") else []
        for index, (_, entry) in self.committed.items() if servers else ():
            count = sum(holds(each, index, entry) for each in servers)
            assert 2 * count > len(servers), "CommittedIsStored"

    @invariant()
    def what_is_applied_is_committed_in_the_order_of_the_log(self) -> None:
        for server in self.running():
            applied = server.fsm.applied
            indexes = [log.index for log in applied]
            assert indexes == sorted(set(indexes)), "AppliedIsCommitted: the order"
            for log in applied:
                assert self.is_committed(log), "AppliedIsCommitted"

    def is_committed(self, log: Log) -> bool:
        return log.index in self.committed and self.committed[log.index][1] == log.entry

    @invariant()
    def no_two_servers_apply_different_entries_at_one_index(self) -> None:
        applied: dict[Index, Entry] = {}
        for server in self.running():
            for log in server.fsm.applied:
                assert applied.setdefault(log.index, log.entry) == log.entry, "StateMachineSafety"

    @invariant()
    def last_snapshot_up_to_last_applied_up_to_the_end_of_the_log(self) -> None:
        for server in self.running():
            assert server.last_snapshot.index <= server.last_applied <= server.last_index, "IndexOrder"
            assert server.commit_index <= server.last_index, "IndexOrder"


def holds(server: Server, index: Index, entry: Entry) -> bool:
    snapshots: Iterable[Snapshot] = server.stores.snapshots
    return server.log.get(index) == entry or any(index <= each.index for each in snapshots)


class Failing(RaftAlone):
    """Writes fail, too, or are the last of their process."""

    failures = FAILURES


class Led(Failing):
    """The same, from a leader on."""

    led = True


class FourVoters(RaftAlone):
    """An even number of voters, from a leader on."""

    voters = 4
    led = True


class Electing(RaftAlone):
    """Elections alone, where processes die at their second write, with as many terms as it takes.

    In term 2 n3 voted for n2, and in term 3 it stored an entry with n1 that n2 does not have.
    """

    failures = (Outcome(Result.CRASH, 2),)
    terms = 99
    taken = (*STANDING, "RequestVote", "HandleRequestVoteResponse", "Restart")

    def prepare(self) -> None:
        self.elect("n2", "n1", "n3")
        self.replicate("n2", "n1")
        self.replicate("n2", "n3")
        self.take("n2", "Crash")
        self.take("n2", "Restart")
        self.elect("n1", "n2")
        self.replicate("n1", "n3")
        self.take("n1", "ProcessLogs")


class Replicating(RaftAlone):
    """A leader's log alone, and requests that arrive twice and late."""

    led = True
    taken = (
        *("DispatchLogs", "ProcessLogs", "ReplicateTo", "AppendEntries", "HandleAppendEntriesResponse"),
        *("Heartbeat", "HandleHeartbeatResponse", "Duplicate"),
    )


class Snapshotting(Replicating):
    """The same, with snapshots: n2 has applied what the leader has in its snapshot, but for the last entry."""

    taken = (
        *Replicating.taken,
        *("ApplyFsm", *SNAPSHOTS, "SendLatestSnapshot", "InstallSnapshot", "HandleInstallSnapshotResponse", "RPCError"),
    )

    def prepare(self) -> None:
        self.elect("n1", "n2", "n3")
        self.let("n1", "DispatchLogs")
        self.replicate("n1", "n2")
        self.let("n1", "ProcessLogs")
        self.replicate("n1", "n2")
        self.let("n2", "ApplyFsm")
        self.let("n1", "DispatchLogs")
        self.replicate("n1", "n3")
        self.replicate("n1", "n3")
        self.let("n1", "ProcessLogs", "ApplyFsm", "ApplyFsm", *SNAPSHOTS)


NIGHTLY = (RaftAlone, Failing, Led, FourVoters, Electing, Replicating, Snapshotting)


@pytest.mark.parametrize(
    ("machine", "examples"),
    [
        (RaftAlone, 6),
        (Led, 6),
        *(pytest.param(each, 400, marks=pytest.mark.nightly) for each in NIGHTLY),
    ],
)
def test_a_repaired_reference_keeps_the_properties_of_raft(machine: type[RaftAlone], examples: int) -> None:
    search(machine, examples=examples, steps=40)


#: The property that a flaw breaks, the machine, and the examples and steps within which it is found.
FOUND = {
    Flaw.TORN_VOTE: (Electing, "LeaderCompleteness", 12_000, 15),
    Flaw.EVEN_QUORUM: (FourVoters, "CommittedIsStored|LeaderCompleteness", 6000, 40),
    Flaw.REPLAY_UNCOMMITTED: (Led, "AppliedIsCommitted", 300, 40),
    Flaw.TRUNCATE_WITHOUT_CONFLICT: (Replicating, "CommittedIsStored|IndexOrder", 3000, 40),
    Flaw.SNAPSHOT_REGRESS: (Snapshotting, "IndexOrder", 3000, 20),
}
#: Found so soon that every run looks.
SOON = (Flaw.REPLAY_UNCOMMITTED,)


@pytest.mark.parametrize(
    "flaw", [each if each in SOON else pytest.param(each, marks=pytest.mark.nightly) for each in FOUND], ids=str
)
def test_with_a_flaw_the_same_search_finds_what_it_breaks(flaw: Flaw) -> None:
    machine, broken, examples, steps = FOUND[flaw]
    flawed = type(f"{machine.__name__}With{flaw}", (machine,), {"flaws": frozenset({flaw})})
    with pytest.raises(AssertionError, match=broken):
        search(flawed, examples, steps)
