"""One server: its stores, its state, and the changes from which the actions are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager

from raftref.hashicorp.choices import Config, Feature, Flaw
from raftref.hashicorp.messages import OF_ELECTIONS, OF_LEADERS, Message, Request, Response
from raftref.hashicorp.state import (
    NO_REPLICATION,
    Campaign,
    CampaignPhase,
    Commitment,
    Configurations,
    FollowerReplication,
    Fsm,
    Loop,
    Role,
    Snapshotting,
    Transfer,
    Verification,
)
from raftref.hashicorp.steps import DONE, CrashError, Effects, PanicError, Result, StoreError
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.values import NO_PLACE, Entry, Index, Log, NodeId, Place, Snapshot, Term, Zombie


class Server:
    """One server: `stores` is what outlasts it, all else is lost when it goes down.

    All of its parts are values that never change, so a copy of a server is another server.

    Source: Raft, raftState.
    """

    def __init__(self, node_id: NodeId, nodes: Sequence[NodeId], config: Config, stores: Stores) -> None:
        """Make a server that has not been started.

        Args:
            node_id: Its name.
            nodes: All servers that there may be.
            config: Its features, its flaws, its bounds.
            stores: Its durable part.
        """
        self.node_id = node_id
        self.nodes = tuple(nodes)
        self.config = config
        self.stores = stores
        self.outcome, self.write_count, self.effects = DONE, 0, Effects()
        self.written: tuple[Stores, ...] = ()
        self.forget()

    def forget(self) -> None:
        """Take all that is volatile for what it is before the start."""
        self.role, self.loop = Role.FOLLOWER, Loop.SELECT
        self.leader: NodeId | None = None
        self.last_log = self.last_snapshot = NO_PLACE
        self.commit_index = self.last_applied = self.staged_commit_index = Index(0)
        self.configurations = Configurations()
        self.campaign = Campaign()
        self.zombies: frozenset[Zombie] = frozenset()
        self.fsm = Fsm()
        self.snapshotting = Snapshotting()
        self.transfer = Transfer()
        self._forget_leadership()

    def _forget_leadership(self) -> None:
        self.commitment = Commitment()
        self.repl_state: Mapping[NodeId, FollowerReplication] = {}
        #: Whether a peer answered with a higher term.
        self.must_step_down = False
        self.verification = Verification()

    def has(self, choice: Feature | Flaw) -> bool:
        """Return whether a feature, or a flaw, is there."""
        return self.config.has(choice)

    # ---- Durable state -------------------------------------------------------------------------------

    @contextmanager
    def write(self) -> Iterator[None]:
        """Count a durable write: raise StoreError before it where it fails, CrashError after it where the process dies.

        So a simulation decides where a write fails and where a process dies; the server itself knows neither.
        """
        self.write_count += 1
        result = self.outcome.result if self.write_count == self.outcome.write else Result.DONE
        if result is Result.FAIL:
            raise StoreError("the write failed")
        yield
        self.written = (*self.written, self.stores)
        if result is Result.CRASH:
            raise CrashError

    @property
    def current_term(self) -> Term:
        """The term; in memory it is never another than on disk. Source: getCurrentTerm."""
        return self.stores.current_term

    @property
    def log(self) -> Mapping[Index, Entry]:
        """The log as it is stored."""
        return self.stores.logs

    def term_at(self, index: Index) -> Term:
        """Return the term of the entry at an index, as GetLog does; raise LogNotFoundError."""
        return self.stores.get_log(index).term

    def set_current_term(self, term: Term) -> None:
        """Enter a term, on disk first; panic where it cannot be written.

        Source: setCurrentTerm.
        """
        try:
            with self.write():
                self.stores = self.stores.set(current_term=term)
        except StoreError as error:
            raise PanicError from error

    def persist_vote(self, term: Term, candidate: NodeId) -> None:
        """Write a vote: its term, then its candidate (TornVote); raise StoreError where one cannot be written.

        Source: persistVote.
        """
        if self.has(Flaw.TORN_VOTE):
            with self.write():
                self.stores = self.stores.set(last_vote_term=term)
            with self.write():
                self.stores = self.stores.set(last_vote_cand=candidate)
        else:
            with self.write():
                self.stores = self.stores.set(last_vote_term=term, last_vote_cand=candidate)

    def store_logs(self, logs: Sequence[Log]) -> None:
        """Store entries at their indexes, and with them the commit index that was staged; raise StoreError."""
        with self.write():
            self.stores = self.stores.store_logs(logs)
            if self.has(Feature.RESTORE_COMMITTED_LOGS):
                self.stores = self.stores.set(commit_index=self.staged_commit_index)

    def stage_commit_index(self, index: Index) -> None:
        """Let the log store keep a commit index with the next entries.

        Source: tryStageCommitIndex.
        """
        self.staged_commit_index = index

    def delete_range(self, least: Index, greatest: Index) -> None:
        """Delete the entries from one index to another, both included; raise StoreError."""
        with self.write():
            self.stores = self.stores.delete_range(least, greatest)

    def save_snapshot(self, snapshot: Snapshot) -> None:
        """Save a snapshot; raise StoreError."""
        with self.write():
            self.stores = self.stores.save_snapshot(snapshot, self.config.retain_snapshots)

    # ---- Where its log ends --------------------------------------------------------------------------

    @property
    def last_entry(self) -> Place:
        """The end of the log, or the snapshot if that is further. Source: getLastEntry."""
        return self.last_log if self.last_log.index >= self.last_snapshot.index else self.last_snapshot

    @property
    def last_index(self) -> Index:
        """The index of that. Source: getLastIndex."""
        return self.last_entry.index

    # ---- Its role ------------------------------------------------------------------------------------

    @property
    def is_up(self) -> bool:
        """Whether the process runs."""
        return self.role is not Role.SHUTDOWN

    @property
    def selects(self) -> bool:
        """Whether the main loop takes an event."""
        return self.is_up and self.loop is Loop.SELECT

    @property
    def leads(self) -> bool:
        """Whether the main loop of a leader takes an event."""
        return self.selects and self.role is Role.LEADER

    @property
    def is_overtaken(self) -> bool:
        """Whether the main loop takes an event as what the server was before a heartbeat beside it (HeartbeatRace)."""
        return self.is_up and self.loop is Loop.OVERTAKEN

    @property
    def is_in_leader_loop(self) -> bool:
        """Whether the main loop is that of a leader, though a heartbeat beside it may have ended the leadership."""
        return self.role is Role.LEADER or (self.is_overtaken and self.campaign.phase is CampaignPhase.NONE)

    @property
    def is_voter(self) -> bool:
        """Whether it has a vote itself, by the latest configuration."""
        return self.configurations.latest.has_vote(self.node_id)

    @property
    def other_voters(self) -> frozenset[NodeId]:
        """The voters besides itself, by the latest configuration."""
        return self.configurations.latest.voters - {self.node_id}

    def set_state(self, role: Role) -> None:
        """Change the role: no leader is known then, and a campaign, or a leadership, is over.

        Source: setState; runCandidate and runLeader, as they return.
        """
        if role is not Role.LEADER:
            self.leave_loop()
        self.end_campaign()
        self.role, self.leader = role, None

    def leave_loop(self) -> None:
        """End a leadership, and the count of votes by a candidate that is one no more.

        Source: runCandidate and runLeader, as they return.
        """
        if self.is_in_leader_loop:
            self.stop_leading()
        if self.is_overtaken:
            self.end_campaign()
            self.loop = Loop.SELECT

    def overtake(self, term: Term) -> None:
        """Follow in a term, by a heartbeat beside a main loop that does not notice yet (HeartbeatRace).

        One that has won a pre-vote campaigns before it looks.
        """
        self.role, self.leader = Role.FOLLOWER, None
        if self.loop is not Loop.CAMPAIGN:
            self.loop = Loop.OVERTAKEN
        self.set_current_term(term)

    def end_campaign(self) -> None:
        """Count no votes any more."""
        if self.campaign.phase is not CampaignPhase.NONE:
            self.effects.abandon(OF_ELECTIONS)
        self.campaign = Campaign()

    def replication(self, peer: NodeId) -> FollowerReplication:
        """Return what a leader keeps for a peer; one that does not run, where there are no routines for it."""
        return self.repl_state.get(peer, NO_REPLICATION)

    def set_replication(self, peer: NodeId, replication: FollowerReplication) -> None:
        """Keep something else for a peer."""
        self.repl_state = {**self.repl_state, peer: replication}

    def stop_routines(self, peers: Set[NodeId]) -> None:
        """End the routines for some peers; one that is about to send still sends."""
        stopped = {peer: self.repl_state[peer] for peer in peers if self.repl_state[peer].running}
        if self.has(Feature.ZOMBIES):
            self.zombies |= {zombie for peer, each in stopped.items() for zombie in each.zombies(peer)}
        self.repl_state = {peer: each for peer, each in self.repl_state.items() if peer not in peers}

    def stop_leading(self) -> None:
        """Forget what a leader keeps.

        Source: runLeader, the deferred part.
        """
        self.stop_routines(self.repl_state.keys())
        self.effects.abandon(OF_LEADERS)
        self._forget_leadership()
        if not self.has(Flaw.TRANSFER_FLAG_LEFT):
            self.transfer = Transfer()

    def go_down(self) -> None:
        """Lose all that is not durable."""
        self.effects.abandon(OF_ELECTIONS | OF_LEADERS)
        self.forget()
        self.role = Role.SHUTDOWN

    # ---- Messages ------------------------------------------------------------------------------------

    def send(self, m: Message) -> None:
        """Send a message."""
        self.effects.sent.append(m)

    def respond(self, m: Request, response: Response) -> None:
        """Answer a request, if its caller still waits."""
        if m.awaited:
            self.send(response)

    def take_answer(self, m: Response) -> None:
        """Take the answer to a call, and no other to it."""
        self.effects.abandon({m.type}, m.src)


def runs(server: Server, *_: object) -> bool:
    """The process runs."""
    return server.is_up


def takes_event(server: Server, *_: object) -> bool:
    """The main loop takes an event."""
    return server.selects
