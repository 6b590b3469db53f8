"""One run of the reference of hashicorp/raft for each flaw of it, up to where the flaw shows.

Each runs a cluster with that flaw, and with no other unless the flaw needs one. What a run can do without is taken out
of it afterwards, on the spec (`counterexamples.tool`); so these state only the order in which things happen.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.hashicorp_raft import ACTIONS
from raftref.hashicorp.membership import ChangeCommand
from raftref.hashicorp.messages import Message, Response, RpcType
from raftref.hashicorp.simulation import Cluster, FaultPlan
from raftref.hashicorp.simulation.cluster import HANDLERS
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE, Outcome, Result
from raftref.hashicorp.values import ClientLog, EntryType
from raftref.simulation.group import Event

A, B, C, D, E = "n1", "n2", "n3", "n4", "n5"


class Play:
    """A cluster to which things happen in a chosen order; `events` is what happened so far."""

    def __init__(self, plan: FaultPlan) -> None:
        """Begin with the servers of a plan, just started."""
        self.cluster = Cluster(plan)
        self.events: list[Event] = []

    def take(self, node: str, action: str, *args: Any) -> None:
        """Take an action; its writes, if it has any, are done unless `args` says otherwise."""
        wants = len(ACTIONS[action].parameters) if action in ACTIONS else len(args)
        self.events.append(self.cluster.take(node, action, *args, *([DONE] * (wants - len(args)))))

    def under_way(self, src: str, dst: str, type_: str) -> Message:
        """Return the message of a type that was sent last from one server to another."""
        return [m for m in self.cluster.network.channels[src, dst] if m.type.value == type_][-1]

    def deliver(self, src: str, dst: str, type_: str, *outcome: Outcome) -> None:
        """Let the message of a type that was sent last be handled."""
        m = self.under_way(src, dst, type_)
        self.take(dst, HANDLERS[type(m)], m, *outcome)

    def answer(self, src: str, dst: str) -> None:
        """Let the answer that was given last arrive."""
        answers = [m for m in self.cluster.network.channels[src, dst] if isinstance(m, Response)]
        self.take(dst, HANDLERS[type(answers[-1])], answers[-1])

    def campaign(self, node: str, term: int) -> None:
        """Let a server stand for election, again and again, until it asks for votes in a term."""
        server = self.cluster.servers[node]
        if server.role is Role.LEADER:
            self.take(node, "CheckLeaderLease")
        while server.current_term < term:
            self.take(node, "HeartbeatTimeout" if server.role is Role.FOLLOWER else "ElectionTimeout")
            self.take(node, "ElectSelf", server.other_voters)

    def ask_first(self, node: str, voter: str) -> None:
        """Let a candidate ask for pre-votes, and handle the answer of one voter."""
        self.take(node, "PreElectSelf")
        self.deliver(node, voter, "RequestPreVote")
        self.answer(voter, node)

    def win(self, node: str, term: int, *voters: str) -> None:
        """Let a server win a term with these votes and its own; it does not act as a leader yet."""
        self.campaign(node, term)
        for voter in voters:
            self.deliver(node, voter, "RequestVote")
            self.answer(voter, node)

    def elect(self, node: str, term: int, *voters: str) -> None:
        """Let a server win a term with these votes, and append its no-op."""
        self.win(node, term, *voters)
        self.take(node, "DispatchNoop")

    def append(self, node: str, *values: str) -> None:
        """Let clients append commands, all at once."""
        self.take(node, "DispatchLogs", tuple(ClientLog(EntryType.COMMAND, value) for value in values))

    def replicate(self, src: str, dst: str, count: int) -> None:
        """Send a peer `count` entries, and handle its answer."""
        self.take(src, "ReplicateTo", dst, count)
        self.deliver(src, dst, "AppendEntries")
        self.answer(dst, src)

    def snapshot(self, node: str) -> None:
        """Let a server take a snapshot, and delete what is behind it."""
        for action in ("TakeSnapshot", "PersistSnapshot", "CompactLogs"):
            self.take(node, action)


def torn_vote(play: Play) -> None:
    """C voted for B in term 2, dies between the writes of its vote for A in term 4, and votes for B again."""
    play.elect(B, 2, C)
    play.replicate(B, A, 1)
    play.take(B, "CheckLeaderLease")
    play.elect(A, 3, B)
    play.replicate(A, C, 0)
    play.replicate(A, C, 2)
    play.take(A, "ProcessLogs")
    play.campaign(A, 4)
    play.deliver(A, C, "RequestVote", Outcome(Result.CRASH, 2))
    play.take(C, "Restart")
    play.win(B, 4, C)


def commit_unverified(play: Play) -> None:
    """B holds an entry of term 2 alone, and learns from A, of term 3, how far A has committed."""
    play.elect(B, 2, C)
    play.append(B, "x")
    play.elect(A, 3, C)
    play.append(A, "y")
    play.replicate(A, C, 2)
    play.take(A, "ProcessLogs")
    play.take(A, "ReplicateTo", B, 0)
    play.deliver(A, B, "AppendEntries")


def delete_then_store(play: Play) -> None:
    """B deletes two entries of C for one of A, cannot store that, and is then counted as if it had the two."""
    play.elect(C, 2, B, D)
    play.append(C, "x")
    play.replicate(C, B, 2)
    play.elect(A, 3, D, E)
    play.take(A, "ReplicateTo", B, 1)
    play.deliver(A, B, "AppendEntries", Outcome(Result.FAIL, 3))
    play.take(A, "CheckLeaderLease")
    play.campaign(B, 4)
    play.elect(C, 5, B, D)
    play.replicate(C, B, 1)
    play.replicate(C, D, 0)
    play.replicate(C, D, 3)
    play.take(C, "ProcessLogs")
    play.win(B, 6, A, E)


def conflict_at_snapshot(play: Play) -> None:
    """B holds an entry of term 2 alone, and is sent a snapshot that ends at the same index in term 3."""
    play.elect(B, 2, C)
    play.append(B, "x")
    play.elect(A, 3, C)
    play.append(A, "y")
    play.replicate(A, C, 2)
    play.take(A, "ProcessLogs")
    play.snapshot(A)
    play.take(A, "SendLatestSnapshot", B)
    play.deliver(A, B, "InstallSnapshot")


def stale_install(play: Play) -> None:
    """A snapshot reaches B a second time, after B has applied what comes behind it."""
    play.elect(A, 2, C)
    play.append(A, "x")
    play.replicate(A, C, 2)
    play.take(A, "ProcessLogs")
    play.snapshot(A)
    play.append(A, "y")
    play.replicate(A, C, 1)
    play.take(A, "ProcessLogs")
    play.take(A, "SendLatestSnapshot", B)
    play.take(B, "Duplicate", play.under_way(A, B, "InstallSnapshot"))
    play.deliver(A, B, "InstallSnapshot")
    play.answer(B, A)
    play.replicate(A, B, 1)
    play.deliver(A, B, "InstallSnapshot")


def reaped_install(play: Play) -> None:
    """B keeps two snapshots of index 4, and is sent one of index 3: its store reaps that, and A sends it again."""
    play.elect(A, 2, C)
    play.append(A, "x")
    play.replicate(A, C, 2)
    play.take(A, "ProcessLogs")
    play.take(A, "TakeSnapshot")
    play.take(A, "PersistSnapshot")
    play.append(A, "y")
    play.replicate(A, C, 1)
    play.take(A, "ProcessLogs")
    play.take(A, "ReplicateTo", B, 3)
    play.deliver(A, B, "AppendEntries")
    play.take(A, "RPCError", B, RpcType.APPEND_ENTRIES)
    play.snapshot(B)
    play.snapshot(B)
    play.append(A, "z")
    play.take(A, "CompactLogs")
    for _ in range(2):
        play.take(A, "SendLatestSnapshot", B)
        play.deliver(A, B, "InstallSnapshot")
        play.take(A, "RPCError", B, RpcType.INSTALL_SNAPSHOT)


def compacted_prev_rejected(play: Play) -> None:
    """B has installed a snapshot and stored the entry behind it; A sends it that entry again, and B refuses it."""
    play.elect(A, 2, C)
    play.append(A, "x")
    play.replicate(A, C, 2)
    play.take(A, "ProcessLogs")
    play.snapshot(A)
    play.append(A, "y")
    play.take(A, "SendLatestSnapshot", B)
    play.deliver(A, B, "InstallSnapshot")
    play.answer(B, A)
    play.take(A, "ReplicateTo", B, 1)
    play.deliver(A, B, "AppendEntries")
    play.take(A, "RPCError", B, RpcType.APPEND_ENTRIES)
    for _ in range(2):
        play.replicate(A, B, 1)
        play.take(A, "SendLatestSnapshot", B)
        play.deliver(A, B, "InstallSnapshot")
        play.answer(B, A)


def snapshot_regress(play: Play) -> None:
    """B reads its FSM, is sent a newer snapshot, and then saves what it read."""
    play.elect(A, 2, B)
    play.append(A, "x")
    play.replicate(A, B, 2)
    play.take(A, "ProcessLogs")
    play.replicate(A, B, 0)
    play.take(B, "TakeSnapshot")
    play.append(A, "y")
    play.replicate(A, C, 3)
    play.take(A, "ProcessLogs")
    play.snapshot(A)
    play.take(A, "SendLatestSnapshot", B)
    play.deliver(A, B, "InstallSnapshot")
    play.take(B, "PersistSnapshot")


def heartbeat_race(play: Play) -> None:
    """A wins term 3; before it acts, a heartbeat of B, which leads term 4, takes it to that term."""
    play.elect(A, 2, C)
    play.win(A, 3, C)
    play.elect(B, 4, C)
    play.append(B, "x")
    play.take(B, "Heartbeat", A)
    play.deliver(B, A, "Heartbeat")
    play.take(A, "DispatchNoop")


def verify_counts_nonvoters(play: Play) -> None:
    """A asks whether it leads when C does, and D, which has no vote, says yes."""
    play.elect(A, 2, B)
    play.elect(C, 3, B)
    play.take(A, "VerifyLeader")
    play.take(A, "Heartbeat", D)
    play.deliver(A, D, "Heartbeat")
    play.answer(D, A)
    play.take(A, "HandleVerify")


def verify_counts_old_acks(play: Play) -> None:
    """B answers a heartbeat of A and then votes for C; A asks whether it leads, and the answer arrives."""
    play.elect(A, 2, B)
    play.take(A, "Heartbeat", B)
    play.deliver(A, B, "Heartbeat")
    play.take(B, "HeartbeatTimeout")
    play.take(B, "ElectSelf", frozenset({A, C}))
    play.elect(C, 4, B)
    play.take(A, "VerifyLeader")
    play.answer(B, A)
    play.take(A, "HandleVerify")


def transfer_flag_left(play: Play) -> None:
    """A is asked to hand over, loses its leadership before it has, and leads again."""
    play.elect(A, 2, C)
    play.take(A, "LeadershipTransfer", B)
    play.win(A, 3, C)


def truncate_without_conflict(play: Play) -> None:
    """A copy of A's first request reaches B after B has stored, and A committed, the next entry."""
    play.elect(A, 2, C)
    play.take(A, "ReplicateTo", B, 1)
    play.take(B, "Duplicate", play.under_way(A, B, "AppendEntries"))
    play.deliver(A, B, "AppendEntries")
    play.answer(B, A)
    play.append(A, "x")
    play.replicate(A, B, 1)
    play.take(A, "ProcessLogs")
    play.deliver(A, B, "AppendEntries")


def even_quorum(play: Play) -> None:
    """A adds D, the fourth voter, and commits that with D alone; B and C do not know D, and elect C."""
    play.elect(A, 2, C)
    play.replicate(A, C, 1)
    play.take(A, "ProcessLogs")
    play.take(A, "AppendConfigurationEntry", ChangeCommand.ADD_VOTER, D)
    play.replicate(A, D, 0)
    play.replicate(A, D, 3)
    play.take(A, "ProcessLogs")
    play.win(C, 3, B)


def last_log_not_lowered(play: Play) -> None:
    """B replaces two entries by one, compares the log that it had, and votes for C, which lacks the one."""
    play.elect(C, 2, B, D)
    play.append(C, "x")
    play.replicate(C, B, 2)
    play.elect(A, 3, D, E)
    play.replicate(A, B, 1)
    play.replicate(A, D, 1)
    play.take(A, "ProcessLogs")
    play.campaign(B, 4)
    play.win(C, 5, B, E)


def replay_uncommitted(play: Play) -> None:
    """A starts again with an entry that nobody else has."""
    play.elect(A, 2, C)
    play.append(A, "x")
    play.take(A, "Crash")
    play.take(A, "Restart")


def longer_log_older_term(play: Play) -> None:
    """With C down, A refuses B, whose log ends in an older term, and B refuses A, whose log is shorter."""
    play.elect(B, 2, C)
    play.append(B, "x")
    play.elect(A, 3, C)
    play.take(C, "Crash")
    play.take(B, "CheckLeaderLease")
    play.win(A, 4, B)
    play.win(B, 5, A)
    play.win(A, 6, B)


def known_leader_rejected(play: Play) -> None:
    """With C down, A starts again, and B refuses it: B knows a leader, which is A."""
    play.elect(A, 2, C)
    play.replicate(A, B, 1)
    play.take(C, "Crash")
    play.take(A, "Crash")
    play.take(A, "Restart")
    play.win(A, 3, B)
    play.win(A, 4, B)


def unknown_candidate_rejected(play: Play) -> None:
    """B is the only server that could lead, and is refused by C, which knows no change after the one that took B out.

    A took B out and in again, and last itself: it has no vote any more, and the longest log with B.
    """
    play.take(A, "HeartbeatTimeout")
    play.ask_first(A, C)
    play.take(A, "ElectSelf", frozenset({B, C}))
    play.deliver(A, C, "RequestVote")
    play.answer(C, A)
    play.take(A, "DispatchNoop")
    play.replicate(A, C, 1)
    play.take(A, "ProcessLogs")
    play.take(A, "AppendConfigurationEntry", ChangeCommand.REMOVE_SERVER, B)
    play.replicate(A, C, 1)
    play.take(A, "ProcessLogs")
    play.take(A, "AppendConfigurationEntry", ChangeCommand.ADD_VOTER, B)
    play.replicate(A, B, 0)
    play.replicate(A, B, 3)
    play.take(A, "ProcessLogs")
    play.take(A, "AppendConfigurationEntry", ChangeCommand.REMOVE_SERVER, A)
    play.replicate(A, B, 1)
    play.take(A, "CheckLeaderLease")
    for timer in ("HeartbeatTimeout", "ElectionTimeout"):
        for candidate, voter in ((C, A), (B, C)):
            play.take(candidate, timer)
            play.ask_first(candidate, voter)


def match_without_recalculate(play: Play) -> None:
    """A is alone, and stores its no-op."""
    play.elect(A, 2)


def snapshot_loop(play: Play) -> None:
    """B refuses what comes behind the snapshot that it has just installed, and is sent that snapshot again."""
    conflict_at_snapshot(play)
    play.answer(B, A)
    play.append(A, "z")
    for _ in range(2):
        play.replicate(A, B, 1)
        play.take(A, "SendLatestSnapshot", B)
        play.deliver(A, B, "InstallSnapshot")
        play.answer(B, A)


@dataclass(frozen=True, slots=True)
class Way:
    """How a run is made: what happens, for which plan besides its flaw, and which other flaws it takes."""

    play: Callable[[Play], None]
    plan: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[Flaw, ...] = ()


_SNAPSHOTS: Mapping[str, Any] = {"features": [Feature.SNAPSHOTS], "trailing_logs": 0}
WAYS: Mapping[Flaw, Way] = {
    Flaw.TORN_VOTE: Way(torn_vote),
    Flaw.COMMIT_UNVERIFIED: Way(commit_unverified),
    Flaw.DELETE_THEN_STORE: Way(delete_then_store, {"voters": 5}),
    Flaw.CONFLICT_AT_SNAPSHOT: Way(conflict_at_snapshot, _SNAPSHOTS),
    Flaw.STALE_INSTALL: Way(stale_install, _SNAPSHOTS),
    Flaw.REAPED_INSTALL: Way(
        reaped_install, {"features": [Feature.SNAPSHOTS], "trailing_logs": 2}, others=(Flaw.STALE_INSTALL,)
    ),
    Flaw.COMPACTED_PREV_REJECTED: Way(compacted_prev_rejected, _SNAPSHOTS),
    Flaw.SNAPSHOT_REGRESS: Way(snapshot_regress, _SNAPSHOTS),
    Flaw.HEARTBEAT_RACE: Way(heartbeat_race, {"features": [Feature.HEARTBEATS]}),
    Flaw.VERIFY_COUNTS_NONVOTERS: Way(
        verify_counts_nonvoters, {"features": [Feature.HEARTBEATS, Feature.VERIFY], "nonvoters": 1}
    ),
    Flaw.VERIFY_COUNTS_OLD_ACKS: Way(verify_counts_old_acks, {"features": [Feature.HEARTBEATS, Feature.VERIFY]}),
    Flaw.TRANSFER_FLAG_LEFT: Way(transfer_flag_left, {"features": [Feature.TRANSFERS]}),
    Flaw.TRUNCATE_WITHOUT_CONFLICT: Way(truncate_without_conflict),
    Flaw.EVEN_QUORUM: Way(even_quorum, {"features": [Feature.CONFIGURATION_CHANGES], "spares": 1}),
    Flaw.LAST_LOG_NOT_LOWERED: Way(last_log_not_lowered, {"voters": 5}),
    Flaw.REPLAY_UNCOMMITTED: Way(replay_uncommitted),
    Flaw.LONGER_LOG_OLDER_TERM: Way(longer_log_older_term),
    Flaw.KNOWN_LEADER_REJECTED: Way(known_leader_rejected),
    Flaw.UNKNOWN_CANDIDATE_REJECTED: Way(
        unknown_candidate_rejected, {"features": [Feature.PRE_VOTE, Feature.CONFIGURATION_CHANGES]}
    ),
    Flaw.MATCH_WITHOUT_RECALCULATE: Way(match_without_recalculate, {"voters": 1}),
}
