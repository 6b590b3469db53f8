"""One server: all of its parts, how it starts and dies, and what it shows."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from typing import Any

from raftref.action import Action, actions_of
from raftref.hashicorp.core.state import Role
from raftref.hashicorp.core.step import step
from raftref.hashicorp.election.candidate import Candidate
from raftref.hashicorp.follower.follower import Follower
from raftref.hashicorp.leader.follower_replication import NO_REPLICATION
from raftref.hashicorp.leader.verify import Verifier
from raftref.hashicorp.state_machine.snapshots import Snapshots
from raftref.hashicorp.stores import CURRENT_TERM, Stores
from raftref.hashicorp.switches import Flaw
from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, Log, Term


def bootstrap_cluster(stores: Stores, configuration: Configuration) -> None:
    """Write the first configuration into the stores of a new server, in term 1.

    Source: BootstrapCluster.
    """
    stores.stable.set(CURRENT_TERM, 1)
    stores.logs.store_logs([Log(Index(1), Entry(Term(1), EntryType.CONFIGURATION, None, configuration))])


class Raft(Candidate, Follower, Verifier, Snapshots):
    """One server. Every action of the protocol is a method of it.

    Source: Raft.
    """

    def can_crash(self) -> bool:
        """The process runs."""
        return self.is_up

    @step(when=can_crash)
    def crash(self) -> None:
        """Die: what is not durable is lost."""
        self.go_down()

    def can_restart(self) -> bool:
        """The process does not run, and the log behind the newest snapshot has no gap: else NewRaft panics."""
        snapshots = self.stores.snapshots.all_snapshots()
        first = Index(snapshots[0].index + 1 if snapshots else 1)
        return not self.is_up and self.has_range(first, self.stores.logs.last_index())

    @step(when=can_restart)
    def restart(self) -> None:
        """Start on what is durable. As in the sketch the whole log is applied then (ReplayUncommitted).

        Source: NewRaft.
        """
        self.start()
        if self.has(Flaw.REPLAY_UNCOMMITTED):
            self._replay()

    def start(self) -> None:
        """Read the stores: of the log behind the newest snapshot only the configurations count.

        The entries wait for whoever leads to say that they are committed.

        Source: NewRaft, restoreSnapshot.
        """
        self._forget()
        self.last_log = self.end_of_log()
        for snapshot in self.stores.snapshots.all_snapshots()[:1]:
            self.fsm_routine.fsm.restore(snapshot.applied)
            self.adopt(snapshot)
        first, last = self.last_snapshot.index + 1, self.last_log.index
        for index in range(first, last + 1):
            self.process_configuration_log_entry(Log(Index(index), self.log[Index(index)]))

    def _replay(self) -> None:
        """Apply the log at once, committed or not."""
        last = self.last_log.index
        for index in range(self.last_applied + 1, last + 1):
            log = Log(Index(index), self.log[Index(index)])
            if log.entry.type in (EntryType.COMMAND, EntryType.BARRIER):
                self.fsm_routine.apply_single(log)
        self.last_applied = Index(max(self.last_applied, last))

    def observe(self, omitted: Container[str] = ()) -> dict[str, Any]:
        """Return what a trace may show of this server: the spec's Observe, as JSON, but for what is omitted."""
        return {name: show(self) for name, show in SHOWN.items() if name not in omitted}


#: What a trace may show of a server, by the names of the spec's Observe.
SHOWN: Mapping[str, Callable[[Raft], Any]] = {
    "role": lambda node: node.role.value,
    "loop": lambda node: node.loop.value,
    "currentTerm": lambda node: node.current_term,
    "lastVoteTerm": lambda node: node.last_vote_term,
    "lastVoteCand": lambda node: node.last_vote_cand,
    "leader": lambda node: node.leader,
    "log": lambda node: {"#map": [[index, entry.record()] for index, entry in sorted(node.log.items())]},
    "lastLog": lambda node: node.last_log.record(),
    "lastSnapshot": lambda node: node.last_snapshot.record(),
    "lastIndex": lambda node: node.last_index,
    "commitIndex": lambda node: node.commit_index,
    "lastApplied": lambda node: node.last_applied,
    "fsm": lambda node: node.fsm_routine.record(),
    "fsmQueue": lambda node: [each.record() for each in node.fsm_routine.queue],
    "snapshots": lambda node: [each.place.record() for each in node.stores.snapshots.all_snapshots()],
    "configurations": lambda node: node.configurations.record(),
    "campaign": lambda node: node.campaign.record(),
    "leaderState": lambda node: {
        **node.leader_state.commitment.record(node.nodes),
        "stepDown": node.leader_state.step_down,
    },
    "replication": lambda node: {
        peer: node.leader_state.repl_state.get(peer, NO_REPLICATION).record() for peer in node.nodes
    },
    "snapshotting": lambda node: node.snapshotting.phase.value,
    "transfer": lambda node: node.transfer.record(),
    "verify": lambda node: node.verification.record(),
}

#: Every action of a server by its trace name, which is the spec's.
ACTIONS: dict[str, Action] = actions_of(Raft)

__all__ = ["ACTIONS", "SHOWN", "Raft", "Role", "bootstrap_cluster"]
