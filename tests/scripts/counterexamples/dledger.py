"""One run of the reference of DLedger for each flaw of it, up to where the flaw shows.

Where a model begins with an empty group, the run is its shortest counterexample, taken again with the reference's
steps: where the model elects a leader in one step, every member raises its term, votes, and follows. Else it is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lockstep.conformance.json_values import Words, to_tree
from lockstep.models.counterexample import behaviour_of_violation
from lockstep.systems.registry import model_named
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.tables.compiled_search import explore_compiled
from lockstep.tla.values.kinds import Value
from raftref.dledger.messages import Message
from raftref.dledger.simulation import FaultPlan
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.state import Role
from raftref.records import record
from raftref.simulation.group import Event

A, B, C, D, E = "n1", "n2", "n3", "n4", "n5"


class Play:
    """A cluster to which things happen in a chosen order; `events` is what happened so far."""

    def __init__(self, plan: FaultPlan) -> None:
        """Begin with the nodes of a plan, never started before."""
        self.cluster = Cluster(plan)
        self.events: list[Event] = []

    def take(self, node: str, action: str, *args: Any) -> None:
        """Take an action."""
        self.events.append(self.cluster.take(node, action, *args))

    def like(self, wanted: Mapping[str, Any]) -> Message:
        """Return the message under way, or waiting at its receiver, that differs in the fewest fields from one."""
        found = [*self.cluster.network.channels[wanted["src"], wanted["dst"]]]
        found += [m for m in self.cluster.servers[wanted["dst"]].requests() if m.src == wanted["src"]]
        alike = [m for m in found if (m.kind, m.type) == (wanted["kind"], wanted["type"])]
        return min(alike, key=lambda m: sum(wanted.get(name) != value for name, value in record(m).items()))

    def deliver(self, src: str, dst: str) -> None:
        """Let the oldest message from one node to another be handled."""
        m = next(iter(self.cluster.network.channels[src, dst]))
        handler = self.cluster.handler_of(m)
        assert handler is not None, f"{dst} takes {m} by no action now"
        self.take(dst, handler, m)

    def ask(self, leader: str, action: str, peer: str) -> None:
        """Let a dispatcher push, the peer handle it, and the answer arrive."""
        self.take(leader, action, peer)
        self.call(leader, peer)

    def call(self, src: str, dst: str) -> None:
        """Let a request be handled, and its answer arrive."""
        self.deliver(src, dst)
        self.deliver(dst, src)

    def work(self, node: str) -> None:
        """Let the EntryHandler of a node handle the first request that waits."""
        action, m = self.cluster.waiting(node)[0]
        self.take(node, action, m)

    def stand(self, node: str, term: int) -> None:
        """Let a node be a candidate in a term, raising its own one by one."""
        state = self.cluster.servers[node].member_state
        if state.role is not Role.CANDIDATE:
            self.take(node, "ChangeToCandidate")
        while state.curr_term < term:
            self.take(node, "NextTerm", state.curr_term + 1)

    def elect(self, leader: str, term: int, *voters: str) -> None:
        """Let a node win a term with these votes and its own; the voters follow it."""
        for node in (leader, *voters):
            self.stand(node, term)
        for node in (leader, *voters):
            self.take(node, "SetCurrVoteFor", leader)
        self.take(leader, "ChangeToLeader")
        for node in voters:
            self.take(node, "ChangeToFollower", leader)

    def model(self, name: str) -> None:
        """Take the shortest counterexample of a model, which begins with an empty group."""
        manifest, entry = model_named(name)
        module, cfg = manifest.files(entry)
        spec = load_spec(module, cfg, search_path=manifest.library)
        violation = explore_compiled(spec, SearchOptions(check_deadlock=entry.deadlock)).violation
        assert violation is not None, f"{name} has no counterexample"
        words = Words(spec.constants["NoNode"], spec.model_values)
        for step in behaviour_of_violation(spec, violation).steps[1:]:
            self._again(step.action, {key: _tree(value, words) for key, value in (step.args or {}).items()}, step.state)

    def _again(self, action: str, args: dict[str, Any], after: Mapping[str, Value]) -> None:
        node = args.pop("n")
        if action == "ElectLeader":
            term = max(each.member_state.curr_term for each in self.cluster.servers.values() if each.is_up) + 1
            self.elect(node, term, *sorted(set(args["voters"]["#set"]) - {node}))
        else:
            self.take(node, action, *(self.like(value) if key == "m" else value for key, value in args.items()))


def _tree(value: Value, words: Words) -> Any:
    return to_tree(value, words)


@dataclass(frozen=True, slots=True)
class Way:
    """How a run is made: what happens, and for which plan, with which other flaws, besides its flaw."""

    play: Callable[[Play], None]
    plan: Mapping[str, Any] = field(default_factory=dict)
    others: tuple[str, ...] = ()


def play_of_model(model: str) -> Callable[[Play], None]:
    return lambda play: play.model(model)


def stale_compare_index(play: Play) -> None:
    """A compares x and is deposed, B commits y with all, and A, which leads again, goes on at x: the others cut y."""
    play.elect(A, 1, B, C)
    play.take(A, "AppendAsLeader", "x")
    play.ask(A, "DoCompare", B)
    play.ask(A, "DoTruncate", B)
    play.elect(A, 2, B, C)
    for peer in (B, C):
        play.take(A, "DoCompare", peer)
        play.take(A, "PushTimeOut", peer)
        play.take(peer, "Lose", next(iter(play.cluster.network.channels[A, peer])))
    play.elect(B, 3, C)
    play.take(B, "AppendAsLeader", "y")
    for action in ("DoCompare", "DoTruncate", "DoAppend"):
        play.ask(B, action, C)
    play.take(B, "QuorumAckChecker")
    play.stand(A, 3)
    play.take(A, "ChangeToFollower", B)
    for action in ("DoCompare", "DoCompare", "DoAppend"):
        play.ask(B, action, A)
    play.elect(A, 4, B, C)
    for peer in (B, C):
        play.ask(A, "DoCompare", peer)
        play.take(A, "DoTruncate", peer)
        play.deliver(A, peer)
    play.elect(B, 5, C)


def append_term_check(play: Play) -> None:
    """E takes an entry from C, of term 3, and answers A, of term 1, for it; B, of term 2, has another one there."""
    play.elect(A, 1, C, E)
    play.stand(B, 1)
    play.take(B, "ChangeToFollower", A)
    play.take(A, "AppendAsLeader", "x")
    for peer in (B, C, E):
        play.ask(A, "DoCompare", peer)
        play.ask(A, "DoTruncate", peer)
    play.take(A, "AppendAsLeader", "y")
    play.ask(A, "DoAppend", C)
    play.take(A, "DoAppend", E)
    play.elect(B, 2, D, E)
    play.take(B, "AppendAsLeader", "z")
    play.elect(C, 3, D, E)
    for action in ("DoCompare", "DoCompare", "DoAppend"):
        play.ask(C, action, E)
    play.call(A, E)
    play.take(A, "QuorumAckChecker")


def deposed_truncate(play: Play) -> None:
    """A, of term 3, is to make B cut what is behind an equal entry; first C, of term 4, replaces A's log."""
    play.elect(B, 1, D, E)
    for value in ("x", "y", "z"):
        play.take(B, "AppendAsLeader", value)
    play.stand(A, 1)
    play.take(A, "ChangeToFollower", B)
    play.ask(B, "DoCompare", A)
    for action in ("DoTruncate", "DoAppend"):
        play.ask(B, action, A)
    play.elect(C, 2, D, E)
    for value in ("u", "w"):
        play.take(C, "AppendAsLeader", value)
    play.elect(A, 3, D, E)
    play.stand(B, 3)
    play.take(B, "ChangeToFollower", A)
    play.ask(A, "DoCompare", B)
    play.elect(C, 4, A, D)
    for action in ("DoCompare", "DoCompare", "DoTruncate", "DoAppend"):
        play.ask(C, action, A)
    play.take(A, "DoTruncate", B)
    play.deliver(A, B)


def ledger_end_term(play: Play) -> None:
    """A stores one of its two committed entries at C in term 2; C then stands as if its log ended in term 2."""
    play.elect(A, 1, B)
    play.take(A, "AppendAsLeader", "x")
    play.take(A, "AppendAsLeader", "y")
    play.ask(A, "DoCompare", B)
    play.ask(A, "DoTruncate", B)
    play.ask(A, "DoAppend", B)
    play.take(A, "QuorumAckChecker")
    play.elect(A, 2, C)
    play.ask(A, "DoCompare", C)
    play.take(A, "DoTruncate", C)
    play.deliver(A, C)
    play.elect(C, 3, A)


def truncated_tail(play: Play) -> None:
    """B, of term 2, cuts an entry of A, which starts again and has it back."""
    play.elect(A, 1, B)
    play.take(A, "AppendAsLeader", "x")
    play.ask(A, "DoCompare", B)
    play.ask(A, "DoTruncate", B)
    play.take(A, "AppendAsLeader", "y")
    play.elect(B, 2, C)
    play.stand(A, 2)
    play.take(A, "ChangeToFollower", B)
    play.ask(B, "DoCompare", A)
    play.take(B, "DoTruncate", A)
    play.deliver(B, A)
    play.take(A, "Crash")
    play.take(A, "Restart", 1)


def prior_term_commit(play: Play) -> None:
    """A, leader of term 3, commits an entry of term 1 by counting copies; B, whose entry is of term 2, wins term 4."""
    play.elect(A, 1, C)
    play.take(A, "AppendAsLeader", "x")
    play.elect(B, 2, C)
    play.take(B, "AppendAsLeader", "y")
    play.elect(A, 3, C)
    play.ask(A, "DoCompare", C)
    play.ask(A, "DoTruncate", C)
    play.take(A, "RefreshOwnWaterMark")
    play.take(A, "QuorumAckChecker")
    play.elect(B, 4, C)


def push_term_check(play: Play) -> None:
    """C follows A in term 1, answers the COMPARE of B, of term 2, and stores what A commits; then it follows B."""
    play.elect(A, 1, B, C)
    play.take(A, "AppendAsLeader", "x")
    play.ask(A, "DoCompare", B)
    play.ask(A, "DoTruncate", B)
    play.take(A, "AppendAsLeader", "y")
    play.ask(A, "DoAppend", B)
    play.elect(B, 2, D, E)
    play.ask(B, "DoCompare", C)
    play.ask(A, "DoCompare", C)
    play.ask(A, "DoTruncate", C)
    play.ask(A, "DoAppend", C)
    play.take(A, "QuorumAckChecker")
    play.stand(C, 2)
    play.take(C, "ChangeToFollower", B)
    play.take(B, "DoTruncate", C)
    play.deliver(B, C)


def repeated_push(play: Play) -> None:
    """C loses its first entry with the power; its answer to the second one, which is behind the gap, is lost."""
    play.elect(A, 1, B, C)
    play.take(A, "AppendAsLeader", "x")
    for action in ("DoCompare", "DoTruncate"):
        play.take(A, action, C)
        play.deliver(A, C)
        play.work(C)
        play.deliver(C, A)
    play.take(C, "LosePower", 0)
    play.take(C, "Restart", 0)
    play.take(C, "ChangeToFollower", A)
    play.take(A, "AppendAsLeader", "y")
    play.take(A, "DoAppend", C)
    play.deliver(A, C)
    play.work(C)
    play.take(A, "Lose", next(iter(play.cluster.network.channels[C, A])))
    for _ in range(2):
        play.ask(A, "DoCheckAppendResponse", C)


def high_term_laggard(play: Play) -> None:
    """B lost the vote of term 0 and goes to term 1; A leads term 0 with C, which holds an entry that B lacks."""
    for node in (A, B):
        play.take(node, "VoteForQuorumResponses")
        play.take(node, "HandleOwnVote")
    for node, voter in ((A, C), (A, B), (B, C), (B, A)):
        play.call(node, voter)
    play.take(B, "ParseVoteResponses")
    play.take(A, "ParseVoteResponses")
    play.take(A, "SendHeartbeats")
    play.take(B, "Lose", next(iter(play.cluster.network.channels[A, B])))
    play.call(A, C)
    play.take(A, "ParseHeartBeatResponses", False)
    play.take(A, "AppendAsLeader", "x")
    play.ask(A, "DoCompare", C)
    play.ask(A, "DoTruncate", C)
    for _ in range(2):
        play.take(B, "VoteForQuorumResponses")
        play.take(B, "HandleOwnVote")
        play.call(B, A)
        play.call(B, C)
        play.take(B, "ParseVoteResponses")
        play.take(A, "SendHeartbeats")
        play.call(A, B)
        play.call(A, C)
        play.take(A, "ParseHeartBeatResponses", False)


WAYS: Mapping[str, Way] = {
    "PriorTermCommit": Way(prior_term_commit, {"fifo": True}),
    "PushTermCheck": Way(push_term_check, {"fifo": True, "nodes": 5}),
    "LateTruncate": Way(play_of_model("late_truncate_bug")),
    "AppendTermCheck": Way(append_term_check, {"fifo": True, "nodes": 5}),
    "DeposedTruncate": Way(deposed_truncate, {"fifo": True, "nodes": 5}),
    "CommitPastEnd": Way(play_of_model("commit_past_end_bug"), {}, ("LateTruncate",)),
    "AsyncFlush": Way(play_of_model("async_flush_bug"), {"fifo": True}),
    "VoteFile": Way(play_of_model("vote_file_bug"), {"fifo": True}),
    "LedgerEndTerm": Way(ledger_end_term, {"fifo": True}),
    "ApplyUnclamped": Way(
        play_of_model("apply_unclamped_bug"), {"fifo": True, "features": ["SplitQuorumCheck", "Applies"]}
    ),
    "AckByQuorumIndex": Way(
        play_of_model("ack_by_quorum_index_bug"), {"fifo": True, "features": ["SplitQuorumCheck", "Clients"]}
    ),
    "StaleCompareIndex": Way(stale_compare_index, {"fifo": True}, ("CommitPastEnd",)),
    "TruncatedTail": Way(truncated_tail, {"fifo": True}),
    "HighTermLaggard": Way(high_term_laggard, {"fifo": True, "features": ["VoteMessages"]}),
    "RepeatedPush": Way(repeated_push, {"fifo": True, "features": ["RequestQueues", "PendingMap"]}, ("AsyncFlush",)),
}
