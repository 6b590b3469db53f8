"""Known flaws as scripts: each is one run that ends in the loss where the flaw is there.

Without the flaw the same script runs as well, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from raftref.dledger.choices import PUBLISHED, Config
from raftref.dledger.messages import Message, NodeId
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.simulation.fault_plan import FaultPlan
from raftref.dledger.state import Role
from raftref.simulation.group import Event

A, B, C = "n1", "n2", "n3"

#: What a dispatcher pushes to bring a peer in line; at most one of them is enabled.
PUSHES = ("DoCompare", "DoTruncate", "DoAppend")


def scenario_plan(config: Config = PUBLISHED) -> FaultPlan:
    """Return the plan of scenarios: three nodes, ordered channels."""
    return FaultPlan(nodes=3, fifo=True, features=config.features, flaws=config.flaws)


class Script:
    """A cluster on which a scenario is played, and the events so far."""

    def __init__(self, config: Config) -> None:
        """Begin with three nodes that were never started before."""
        self.cluster = Cluster(scenario_plan(config))
        self.events: list[Event] = []

    def take(self, node: NodeId, action: str, *args: Any) -> None:
        """Take an action; raises NotEnabled where it may not be taken."""
        self.events.append(self.cluster.take(node, action, *args))

    def next_message(self, src: NodeId, dst: NodeId) -> Message:
        """Return the next message from one node to another; raises IndexError where there is none."""
        return self.cluster.network.channels[src, dst].deliverable()[0]

    def deliver(self, src: NodeId, dst: NodeId) -> None:
        """Let the next message from one node to another be handled."""
        m = self.next_message(src, dst)
        handler = self.cluster.handler_of(m)
        if handler is None:
            raise LookupError(f"{dst} takes {m} by no action now")
        self.take(dst, handler, m)

    def lose(self, src: NodeId, dst: NodeId) -> None:
        """Lose the next message from one node to another."""
        self.take(dst, "Lose", self.next_message(src, dst))

    def ask(self, leader: NodeId, action: str, peer: NodeId) -> None:
        """Let a dispatcher push, the peer handle it, and the answer arrive."""
        self.take(leader, action, peer)
        self.deliver(leader, peer)
        self.deliver(peer, leader)

    def bring_in_line(self, leader: NodeId, peer: NodeId) -> None:
        """Let a dispatcher compare, truncate and append until the peer holds what the leader holds."""
        while to_do := [each for each in PUSHES if self.cluster.enabled(leader, each, peer)]:
            self.ask(leader, to_do[0], peer)

    def commit_at(self, leader: NodeId, peer: NodeId) -> None:
        """Let the peer learn the committed index."""
        self.take(leader, "DoCommit", peer)
        self.deliver(leader, peer)

    def elect(self, leader: NodeId, term: int, voters: Sequence[NodeId]) -> None:
        """Let a node win this term with these votes, its own besides; the voters follow it."""
        members = (leader, *voters)
        for node in members:
            self.stand(node, term)
        for node in members:
            self.take(node, "SetCurrVoteFor", leader)
        self.take(leader, "ChangeToLeader")
        for node in voters:
            self.take(node, "ChangeToFollower", leader)

    def follow(self, node: NodeId, leader: NodeId) -> None:
        """Let a node that hears of the leader's term go to it, and follow."""
        term = self.cluster.servers[leader].member_state.curr_term
        if self.cluster.servers[node].member_state.curr_term < term:
            self.stand(node, term)
        self.take(node, "ChangeToFollower", leader)

    def stand(self, node: NodeId, term: int) -> None:
        """Let a node be a candidate and raise its term up to this one, one by one."""
        state = self.cluster.servers[node].member_state
        if state.role is not Role.CANDIDATE:
            self.take(node, "ChangeToCandidate")
        while state.curr_term < term:
            self.take(node, "NextTerm", state.curr_term + 1)

    def restart(self, node: NodeId) -> None:
        """Let a node come back with all that the scan of its file can find."""
        count = self.cluster.servers[node].ledger_store.resurrectable_count()
        self.take(node, "Restart", count)


def figure8_to_the_third_term(play: Script) -> None:
    """Play Figure 8 up to the point where A, leader of term 3, has its entry of term 1 on a quorum."""
    play.elect(A, 1, [B])
    play.take(A, "AppendAsLeader", "a")
    play.take(A, "Crash")
    play.elect(B, 2, [C])
    play.take(B, "AppendAsLeader", "b")
    play.take(B, "Crash")
    play.restart(A)
    play.elect(A, 3, [C])
    play.ask(A, "DoCompare", C)
    play.ask(A, "DoTruncate", C)
    play.take(A, "RefreshOwnWaterMark")
    play.take(A, "QuorumAckChecker")


def figure8(config: Config = PUBLISHED, *, restart_before_loss: bool = False) -> list[Event]:
    """Play PriorTermCommit: an entry of an earlier term is committed by counting watermarks, and then lost.

    In term 1 A appends a and crashes; in term 2 B appends b and crashes. In term 3 A brings a to C, so that a
    quorum stores it; as published it is now committed. In term 4 B, whose log ends in a later term, wins the
    vote of C and makes C replace a by b.

    Args:
        config: With PriorTermCommit the loss happens.
        restart_before_loss: Let A restart before B wins, so that no node that runs remembers the commit: A
            has it in no checkpoint, and C did not hear of it.
    """
    play = Script(config)
    figure8_to_the_third_term(play)
    if not restart_before_loss:
        play.commit_at(A, C)
    play.take(A, "Crash")
    if restart_before_loss:
        play.restart(A)
    play.restart(B)
    play.elect(B, 4, [C])
    play.ask(B, "DoCompare", C)
    play.take(B, "DoTruncate", C)
    play.deliver(B, C)
    return play.events


def truncated_tail(config: Config = PUBLISHED) -> list[Event]:
    """Play TruncatedTail: what TRUNCATE had cut comes back after a restart, and is then taken for committed.

    In term 1 A stores x with B and C, and y alone. In term 2 B leads and cuts y at A, which then restarts: as
    published y is in its log again. B appends z and commits it with C, the APPEND to A is lost, and the next
    COMMIT makes A take y for the committed entry.

    Args:
        config: With TruncatedTail the loss happens.
    """
    play = Script(config)
    play.elect(A, 1, [B, C])
    play.take(A, "AppendAsLeader", "x")
    for peer in (B, C):
        play.ask(A, "DoCompare", peer)
        play.ask(A, "DoTruncate", peer)
    play.take(A, "QuorumAckChecker")
    play.take(A, "AppendAsLeader", "y")
    play.elect(B, 2, [C])
    play.stand(A, 2)
    play.take(A, "ChangeToFollower", B)
    play.ask(B, "DoCompare", A)
    play.ask(B, "DoTruncate", A)
    play.take(A, "Crash")
    play.restart(A)
    play.take(A, "ChangeToFollower", B)
    play.ask(B, "DoCompare", C)
    play.take(B, "AppendAsLeader", "z")
    play.take(B, "DoAppend", A)
    play.lose(B, A)
    play.ask(B, "DoAppend", C)
    play.take(B, "QuorumAckChecker")
    play.commit_at(B, A)
    return play.events


#: Every scenario by its name.
SCENARIOS: dict[str, Callable[[Config], list[Event]]] = {
    "figure8": figure8,
    "truncated_tail": truncated_tail,
}
