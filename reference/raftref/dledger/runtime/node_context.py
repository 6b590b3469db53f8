"""The parts of a DLedger node that its threads share: server, disk, time, and the way in which steps are taken."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from raftref.disks.disk import Disk
from raftref.dledger.messages import NodeId, Term
from raftref.dledger.runtime.settings import Settings
from raftref.dledger.server import ACTIONS, Server
from raftref.dledger.state import Role
from raftref.dledger.steps import Effects
from raftref.dledger.storage import FileLedgerStore, TermFile
from raftref.runtime.driver import START, Driver, Output, Seconds, Timers


class RunningServer(Server):
    """A server whose store is files."""

    ledger_store: FileLedgerStore


class NodeContext:
    """One node as its threads see it. None of them changes the server but by `take`."""

    def __init__(
        self,
        driver: Driver,
        server: RunningServer,
        disk: Disk,
        random: Random,
        settings: Settings,
        after_step: Callable[[Role, Effects], None],
    ) -> None:
        """Make the context of a node whose process has not come up yet.

        Args:
            driver: Has the time, records steps, and passes on what is to leave the node.
            server: The node.
            disk: The disk with its files.
            random: Draws the intervals between votes.
            settings: Its times and bounds.
            after_step: Called after each step with the role before it and its effects.
        """
        self.server = server
        self.random = random
        self.settings = settings
        self.timers = Timers()
        self.term_file = TermFile(disk, server.config)
        self._driver = driver
        self._after_step = after_step
        self._durable: tuple[Term, NodeId | None] = (Term(0), None)

    @property
    def node_id(self) -> NodeId:
        """The node."""
        return self._driver.node_id

    @property
    def now(self) -> Seconds:
        """The moment of the event that is being handled."""
        return self._driver.now

    def put(self, output: Output) -> None:
        """Let something leave the node."""
        self._driver.put(output)

    def next_number(self) -> int:
        """Return a number that no call has had."""
        return self._driver.next_number()

    def start(self) -> None:
        """Come up as a candidate, with term, vote, log and committed index from the disk.

        Source: DLedgerServer.startup, MemberState.loadTerm, DLedgerMmapFileStore.startup.
        """
        server = self.server
        server.crash()
        self._durable = self.term_file.load()
        server.member_state.curr_term, server.member_state.curr_vote_for = self._durable
        server.restart(server.ledger_store.resurrectable_count())
        self._driver.record_step(START, {}, server.observe())

    def record(self, event: str) -> None:
        """Record an event of the node that is no action of the spec."""
        self._driver.record_step(event, {}, self.server.observe(with_log=False))

    def take(self, action: str, *args: Any) -> bool:
        """Take a step if the node may: its term and vote are in their file, and it is recorded, before anything leaves.

        Returns whether it was taken.
        """
        known = ACTIONS[action]
        if not known.enabled(self.server, *args):
            return False
        role = self.server.member_state.role
        effects: Effects = known.perform(self.server, *args)
        self._persist_term()
        shows = self.server.observe(with_log=False)
        self._driver.record_step(action, dict(zip(known.parameters, args, strict=True)), shows)
        self._after_step(role, effects)
        return True

    def _persist_term(self) -> None:
        state = self.server.member_state
        now = state.curr_term, state.curr_vote_for
        if now != self._durable:
            self.term_file.persist(*now)
            self._durable = now
