"""What every part of a server builds on: its durable and its volatile state, and how it changes its role."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from raftref.hashicorp.core.effects import Effects
from raftref.hashicorp.core.outcome import Writes
from raftref.hashicorp.core.state import (
    Campaign,
    CampaignPhase,
    Configurations,
    LeaderState,
    Loop,
    Role,
    Snapshotting,
    Transfer,
    Verification,
)
from raftref.hashicorp.core.step import PanicError
from raftref.hashicorp.messages import OF_ELECTIONS, OF_LEADERS, Message, Request, Response
from raftref.hashicorp.state_machine.fsm import Fsm, FsmRoutine, RecordingFsm
from raftref.hashicorp.stores import (
    CURRENT_TERM,
    LAST_VOTE_CAND,
    LAST_VOTE_TERM,
    LogNotFoundError,
    StoreError,
    Stores,
)
from raftref.hashicorp.switches import Config, Feature, Flaw
from raftref.hashicorp.values import NO_PLACE, Entry, EntryType, Index, Log, NodeId, Place, Term, Zombie


class Member:
    """One server: `stores` is what outlasts it, all else is lost when it goes down.

    Source: Raft, raftState.
    """

    def __init__(
        self,
        node_id: NodeId,
        nodes: Sequence[NodeId],
        config: Config,
        stores: Stores,
        new_fsm: Callable[[], Fsm] = RecordingFsm,
    ) -> None:
        """Start a server on what its stores have.

        Args:
            node_id: Its name.
            nodes: All servers that there may be.
            config: Its features, its flaws, its bounds.
            stores: What is durable.
            new_fsm: Makes the state machine at each start.
        """
        self.node_id = node_id
        self.nodes = tuple(nodes)
        self.config = config
        self.writes = Writes()
        self.stores = self.writes.through(stores)
        self.effects = Effects()
        self._new_fsm = new_fsm
        self._forget()

    def _forget(self) -> None:
        """Take all that is volatile for what it is before the start."""
        self.role, self.loop = Role.FOLLOWER, Loop.SELECT
        self.leader: NodeId | None = None
        self.last_log = self.last_snapshot = NO_PLACE
        self.commit_index = self.last_applied = Index(0)
        self.configurations = Configurations()
        self.campaign = Campaign()
        self.leader_state = LeaderState()
        self.zombies: frozenset[Zombie] = frozenset()
        self.fsm_routine = FsmRoutine(self._new_fsm())
        self.snapshotting = Snapshotting()
        self.transfer = Transfer()
        self.verification = Verification()

    def has(self, choice: Feature | Flaw) -> bool:
        """Tell whether a feature, or a flaw, is there."""
        return self.config.has(choice)

    # ---- What is durable -----------------------------------------------------------------------------

    @property
    def current_term(self) -> Term:
        """The term; in memory it is never another than on disk. Source: getCurrentTerm."""
        return Term(cast(int, self.stores.stable.get(CURRENT_TERM) or 0))

    @property
    def last_vote_term(self) -> Term:
        """The term of the vote on disk; 0 without one."""
        return Term(cast(int, self.stores.stable.get(LAST_VOTE_TERM) or 0))

    @property
    def last_vote_cand(self) -> NodeId | None:
        """The candidate of the vote on disk; None without one."""
        return cast("NodeId | None", self.stores.stable.get(LAST_VOTE_CAND))

    @property
    def log(self) -> Mapping[Index, Entry]:
        """The log as it is stored."""
        return self.stores.logs.all_logs()

    def set_current_term(self, term: Term) -> None:
        """Enter a term, on disk first; panic where it cannot be written.

        Source: setCurrentTerm.
        """
        try:
            self.stores.stable.set(CURRENT_TERM, term)
        except StoreError as error:
            raise PanicError from error

    def persist_vote(self, term: Term, candidate: NodeId) -> None:
        """Write a vote: its term, then its candidate (TornVote); raise StoreError where one cannot be written.

        Source: persistVote.
        """
        if not self.has(Flaw.TORN_VOTE):
            self.stores.stable.set_together({LAST_VOTE_TERM: term, LAST_VOTE_CAND: candidate})
            return
        self.stores.stable.set(LAST_VOTE_TERM, term)
        self.stores.stable.set(LAST_VOTE_CAND, candidate)

    def has_range(self, first: Index, last: Index) -> bool:
        """Tell whether the log has every entry from one index to another."""
        return all(index in self.log for index in range(first, last + 1))

    def term_at(self, index: Index) -> Term:
        """Return the term of the entry at an index, as GetLog does; raise LogNotFoundError."""
        return self.stores.logs.get_log(index).term

    # ---- Where its log ends --------------------------------------------------------------------------

    @property
    def last_entry(self) -> Place:
        """The end of the log, or the snapshot if that is further. Source: getLastEntry."""
        return self.last_log if self.last_log.index >= self.last_snapshot.index else self.last_snapshot

    @property
    def last_index(self) -> Index:
        """The index of that. Source: getLastIndex."""
        return self.last_entry.index

    def end_of_log(self) -> Place:
        """Return where the log ends as it is stored."""
        last = self.stores.logs.last_index()
        return NO_PLACE if last == 0 else Place(last, self.term_at(last))

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
    def is_voter(self) -> bool:
        """Whether it has a vote itself, by the latest configuration."""
        return self.configurations.latest.has_vote(self.node_id)

    def set_state(self, role: Role) -> None:
        """Change the role: no leader is known then, and a campaign, or a leadership, is over.

        Source: setState; runCandidate and runLeader, as they return.
        """
        if self.role is Role.LEADER and role is not Role.LEADER:
            self.stop_leading()
        self.end_campaign()
        self.role, self.leader = role, None

    def end_campaign(self) -> None:
        """Count no votes any more."""
        if self.campaign.phase is not CampaignPhase.NONE:
            self.effects.abandon(OF_ELECTIONS)
        self.campaign = Campaign()

    def stop_leading(self) -> None:
        """Forget what a leader keeps; its routines are told to stop, but one that is about to send still sends.

        Source: runLeader, the deferred part.
        """
        running = [(peer, each) for peer, each in self.leader_state.repl_state.items() if each.running]
        if self.has(Feature.ZOMBIES):
            self.zombies |= {each.zombie(peer) for peer, each in running}
        self.effects.abandon(OF_LEADERS)
        self.leader_state, self.verification = LeaderState(), Verification()
        if not self.has(Flaw.TRANSFER_FLAG_LEFT):
            self.transfer = Transfer()

    def go_down(self) -> None:
        """Lose all that is not durable."""
        self.effects.abandon(OF_ELECTIONS | OF_LEADERS)
        self._forget()
        self.role = Role.SHUTDOWN

    # ---- Messages ------------------------------------------------------------------------------------

    def is_addressed(self, m: Message) -> bool:
        """Tell whether a message is for this server."""
        return m.dst == self.node_id

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

    # ---- What is committed ---------------------------------------------------------------------------

    def process_configuration_log_entry(self, log: Log) -> None:
        """Let the configuration of an entry count from when it is stored, and take the one before for committed.

        Source: processConfigurationLogEntry.
        """
        if log.entry.type is EntryType.CONFIGURATION:
            self.configurations.set_committed()
            self.configurations.set_latest(log.entry.configuration, log.index)

    def hand_to_fsm(self, index: Index) -> None:
        """Hand the entries up to an index to the FSM; panic where one is not there.

        Source: processLogs, prepareLog.
        """
        if index <= self.last_applied:
            return
        try:
            logs = [
                Log(Index(each), self.stores.logs.get_log(Index(each)))
                for each in range(self.last_applied + 1, index + 1)
            ]
        except LogNotFoundError as error:
            raise PanicError from error
        for log in logs:
            if log.entry.type in (EntryType.COMMAND, EntryType.BARRIER):
                self._hand(log)
        self.last_applied = index

    def _hand(self, log: Log) -> None:
        if self.has(Feature.FSM_QUEUE):
            self.fsm_routine.queue = (*self.fsm_routine.queue, log)
        else:
            self.fsm_routine.apply_single(log)
