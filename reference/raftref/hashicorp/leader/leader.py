"""The main loop of a leader: it appends, commits, and steps down."""

from __future__ import annotations

from collections.abc import Sequence

from raftref.hashicorp.core.member import Member
from raftref.hashicorp.core.outcome import Outcome
from raftref.hashicorp.core.state import LeaderState, Loop, Role
from raftref.hashicorp.core.step import step
from raftref.hashicorp.leader.commitment import Commitment
from raftref.hashicorp.leader.follower_replication import FollowerReplication
from raftref.hashicorp.stores import StoreError
from raftref.hashicorp.switches import Feature, Flaw
from raftref.hashicorp.values import ClientLog, Entry, EntryType, Index, Log, Place


class Leader(Member):
    """A server that leads.

    Source: runLeader, leaderLoop.
    """

    # ---- A leadership begins -------------------------------------------------------------------------

    def can_dispatch_noop(self, outcome: Outcome) -> bool:
        """The main loop is at the beginning of a leadership."""
        return self.is_up and self.loop is Loop.LEAD

    @step(when=can_dispatch_noop)
    def dispatch_noop(self, outcome: Outcome) -> None:
        """Set up what a leader keeps, start the routines for the peers, and append a no-op.

        If a heartbeat of a newer leader came in between (HeartbeatRace), the server does not lead any more. It begins
        all the same, in that term, and ends at once.

        Args:
            outcome: Of the write of the no-op; if that fails, the server follows.

        Source: runLeader, setupLeaderState.
        """
        self.loop = Loop.SELECT
        latest, start = self.configurations.latest, Index(self.last_index + 1)
        self.leader_state = LeaderState(Commitment(start, latest.voters, self.has(Flaw.EVEN_QUORUM)))
        self.start_stop_replication()
        self.append([Entry(self.current_term, EntryType.NOOP)])
        if self.role is not Role.LEADER:
            self.stop_leading()

    def start_stop_replication(self) -> None:
        """Start routines for new peers; those for peers that are gone stop, but may send once more.

        Source: startStopReplication.
        """
        peers = self.configurations.latest.servers - {self.node_id}
        repl_state = self.leader_state.repl_state
        for peer in peers - repl_state.keys():
            repl_state[peer] = FollowerReplication(self.current_term, Index(self.last_index + 1), running=True)
        for peer in repl_state.keys() - peers:
            stopped = repl_state.pop(peer)
            if stopped.running and self.has(Feature.ZOMBIES):
                self.zombies |= {stopped.zombie(peer)}

    # ---- Appending -----------------------------------------------------------------------------------

    def append(self, entries: Sequence[Entry]) -> None:
        """Store entries behind the log and count them as stored here; follow if they cannot be stored.

        Source: dispatchLogs.
        """
        first = self.last_index + 1
        logs = [Log(Index(index), entry) for index, entry in enumerate(entries, start=first)]
        try:
            self.stores.logs.store_logs(logs)
        except StoreError:
            self.set_state(Role.FOLLOWER)
            return
        last = logs[-1].index
        commitment = self.leader_state.commitment
        if self.has(Flaw.MATCH_WITHOUT_RECALCULATE):
            commitment.match_indexes[self.node_id] = last
        else:
            commitment.match(self.node_id, last)
        self.last_log = Place(last, self.current_term)

    def can_dispatch_logs(self, logs: tuple[ClientLog, ...], outcome: Outcome) -> bool:
        """A leader's main loop takes an event, clients ask for something, and no transfer is in progress."""
        return self.leads and bool(logs) and not self.transfer.in_progress

    @step(when=can_dispatch_logs)
    def dispatch_logs(self, logs: tuple[ClientLog, ...], outcome: Outcome) -> None:
        """Append what clients ask for.

        Args:
            logs: Commands and barriers.
            outcome: Of the write of the entries; if that fails, the leader follows.

        Source: leaderLoop, applyCh; dispatchLogs.
        """
        self.append([Entry(self.current_term, each.type, each.value) for each in logs])

    # ---- Committing ----------------------------------------------------------------------------------

    def can_process_logs(self) -> bool:
        """A leader's main loop takes an event, and a quorum stores more than is committed."""
        return self.leads and self.leader_state.commitment.commit_index > self.commit_index

    @step(when=can_process_logs)
    def process_logs(self) -> None:
        """Commit what a quorum stores, and hand it to the FSM.

        With the latest configuration it is committed, and who is no voter of it leads no more.

        Source: leaderLoop, commitCh; processLogs.
        """
        before, self.commit_index = self.commit_index, self.leader_state.commitment.commit_index
        configurations, removed = self.configurations, False
        if before < configurations.latest_index <= self.commit_index:
            configurations.set_committed()
            removed = not configurations.committed.has_vote(self.node_id)
        self.hand_to_fsm(self.commit_index)
        if removed and self.has(Feature.SHUTDOWN_ON_REMOVE):
            self.go_down()
        elif removed:
            self.set_state(Role.FOLLOWER)

    # ---- A leadership ends ---------------------------------------------------------------------------

    def can_step_down(self) -> bool:
        """A leader's main loop takes an event, and a peer told of a higher term."""
        return self.leads and self.leader_state.step_down

    @step(when=can_step_down)
    def step_down(self) -> None:
        """Follow, since a peer is in a higher term. That term is not entered.

        Source: leaderLoop, stepDown; handleStaleTerm.
        """
        self.set_state(Role.FOLLOWER)

    def can_check_leader_lease(self) -> bool:
        """A leader's main loop takes an event, and its own vote is no quorum."""
        alone = self.is_voter and self.configurations.latest.quorum_size() == 1
        return self.leads and not alone

    @step(when=can_check_leader_lease)
    def check_leader_lease(self) -> None:
        """Follow, since a quorum of the voters was not heard of in time.

        Source: checkLeaderLease.
        """
        self.set_state(Role.FOLLOWER)
