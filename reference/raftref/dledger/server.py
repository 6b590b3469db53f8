"""A whole node: elector, dispatchers, handler and quorum checker on one state, and its life as a process."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from raftref.action import Action, action, actions_of
from raftref.dledger.effects import NO_EFFECTS, Abandoned, Effects
from raftref.dledger.election.leader_elector import LeaderElector
from raftref.dledger.member_state import Role
from raftref.dledger.messages import NO_TERM, Term, VoteMessage
from raftref.dledger.replication.append_handler import AppendHandler
from raftref.dledger.replication.entry_dispatcher import EntryDispatcher
from raftref.dledger.replication.entry_handler import EntryHandler
from raftref.dledger.replication.quorum_ack_checker import QuorumAckChecker
from raftref.dledger.replication.state_machine_caller import StateMachineCaller
from raftref.dledger.switches import Variant

#: How the spec writes an index of a log that cannot be read.
HOLE_RECORD = {"term": NO_TERM, "value": None}


class Server(LeaderElector, AppendHandler, EntryDispatcher, EntryHandler, QuorumAckChecker, StateMachineCaller):
    """One member of a group. Every action of the protocol is a method of it.

    Source: DLedgerServer.
    """

    def can_persist_check_point(self) -> bool:
        """The process is running."""
        return self.is_up

    @action(when=can_persist_check_point)
    def persist_check_point(self) -> Effects:
        """Write the committed index to the checkpoint file.

        Raises:
            NotEnabled: The node is down.

        Source: DLedgerMmapFileStore.persistCheckPoint.
        """
        self.ledger_store.persist_check_point()
        return NO_EFFECTS

    def can_crash(self) -> bool:
        """The process is running."""
        return self.is_up

    @action(when=can_crash)
    def crash(self) -> Effects:
        """Die as by kill -9: what was written survives, forced to the disk or not.

        The committed index shows its last value while the node is down: it is what it told others.

        Returns:
            What is abandoned: no answer to this node is waited for any more.

        Raises:
            NotEnabled: The node is down already.
        """
        return self._die()

    def _die(self) -> Effects:
        self.member_state.go_down()
        self.forget()
        return Effects(abandoned=Abandoned())

    @action(when=can_persist_check_point)
    def flush_data_service(self) -> Effects:
        """Force the data file to the disk.

        Raises:
            NotEnabled: The node is down.

        Source: DLedgerMmapFileStore.FlushDataService.doWork.
        """
        self.ledger_store.force()
        return NO_EFFECTS

    @action(when=can_crash)
    def shutdown(self) -> Effects:
        """Stop in good order: the data file is forced and the checkpoint written.

        Returns:
            What is abandoned, as in a crash.

        Raises:
            NotEnabled: The node is down already.

        Source: DLedgerMmapFileStore.shutdown.
        """
        self.ledger_store.force()
        self.ledger_store.persist_check_point()
        return self._die()

    def can_lose_power(self, kept: int) -> bool:
        """The process is running, and its file has so many entries."""
        return self.is_up and 0 <= kept <= len(self.ledger_store.file)

    @action(when=can_lose_power)
    def lose_power(self, kept: int) -> Effects:
        """Die with the machine: what was not forced to the disk is lost.

        Args:
            kept: Of the entries in the file the first so many had reached the disk all the same.

        Returns:
            What is abandoned, as in a crash.

        Raises:
            NotEnabled: The node is down already, or its file has not so many entries.
        """
        self.ledger_store.lose_power(kept)
        return self._die()

    def can_crash_in_persist_term(self, *, requests: Collection[VoteMessage]) -> bool:
        """The node may be writing its term, as a candidate, or a vote it gives to one of those who ask."""
        writes = self.member_state.role is Role.CANDIDATE or any(self.would_accept(m) for m in requests)
        return self.switches.vote_file is Variant.PUBLISHED and writes

    @action(when=can_crash_in_persist_term)
    def crash_in_persist_term(self, *, requests: Collection[VoteMessage]) -> Effects:
        """Die while term and vote are written: the old file is removed, the new one has not got its name (D8).

        Args:
            requests: The requests for votes that may come next.

        Returns:
            What is abandoned, as in a crash.

        Raises:
            NotEnabled: The node has neither term nor vote to write, or the file is replaced in one step.

        Source: MemberState.persistTerm, called by nextTerm and setCurrVoteFor; IOUtils.string2File.
        """
        self.member_state.enter_term(Term(0))
        return self._die()

    def can_crash_in_persist_check_point(self) -> bool:
        """The process is running, and its checkpoint file is not replaced in one step."""
        return self.is_up and self.switches.vote_file is Variant.PUBLISHED

    @action(when=can_crash_in_persist_check_point)
    def crash_in_persist_check_point(self) -> Effects:
        """Die while the checkpoint is written: the old file is removed, the new one has not got its name (D8).

        Returns:
            What is abandoned, as in a crash.

        Raises:
            NotEnabled: The node is down already, or the file is replaced in one step.

        Source: DLedgerMmapFileStore.persistCheckPoint; IOUtils.string2File.
        """
        self.ledger_store.lose_check_point()
        return self._die()

    def can_restart(self, resurrected: int) -> bool:
        """The process is down, and the scan of the file can find so many entries behind the end."""
        return not self.is_up and self.ledger_store.can_recover(resurrected)

    @action(when=can_restart)
    def restart(self, resurrected: int) -> Effects:
        """Come back as a candidate with the durable term and vote, and recover the store.

        Args:
            resurrected: How many entries that TRUNCATE had cut the scan of the file takes for the log's.

        Raises:
            NotEnabled: The node is running, or the scan cannot go that far.

        Source: DLedgerMmapFileStore.recover.
        """
        self.member_state.role = Role.CANDIDATE
        self.ledger_store.recover(resurrected, curr_term=self.member_state.curr_term)
        return NO_EFFECTS

    def observe(self, *, with_log: bool = True) -> dict[str, Any]:
        """Return what a trace may show of this node: the spec's Observe, as JSON.

        What the grain has not is left out: an election without messages, queues where nothing waits.

        Args:
            with_log: Whether to show the log as well, which may be long.
        """
        omitted = set() if with_log else {"log"}
        omitted |= set() if self.vote_messages else {"election"}
        omitted |= {"writeRequestMap", "compareOrTruncateRequests"} if self.grain.atomic_receipt else set()
        return {name: show(self) for name, show in SHOWN.items() if name not in omitted}


#: What a trace may show of a node, by the names of the spec's Observe; what clients were told is the group's.
SHOWN: Mapping[str, Callable[[Server], Any]] = {
    "role": lambda node: node.member_state.role.value,
    "currTerm": lambda node: node.member_state.curr_term,
    "currVoteFor": lambda node: node.member_state.curr_vote_for,
    "leaderId": lambda node: node.member_state.leader_id,
    "ledgerBeginIndex": lambda node: node.ledger_store.begin_index,
    "ledgerEndIndex": lambda node: node.ledger_store.end_index,
    "ledgerEndTerm": lambda node: node.ledger_store.end_term,
    "committedIndex": lambda node: node.ledger_store.committed_index,
    "checkPoint": lambda node: node.ledger_store.check_point,
    "lastQuorumIndex": lambda node: node.last_quorum_index,
    "lastAppliedIndex": lambda node: node.last_applied_index,
    "futures": lambda node: node.client_futures.record(),
    "log": lambda node: [HOLE_RECORD if each is None else each.record() for each in node.ledger_store.log],
    "peerWaterMarks": lambda node: dict(node.peer_water_marks),
    "dispatchers": lambda node: {peer: each.record() for peer, each in node.dispatchers.items()},
    "writeRequestMap": lambda node: {"#set": [m.record() for m in node.write_request_map.values()]},
    "compareOrTruncateRequests": lambda node: [m.record() for m in node.compare_or_truncate_requests],
    "election": lambda node: node.election.record(),
}

#: Every action of a node by its trace name, which is the spec's.
ACTIONS: dict[str, Action] = actions_of(Server)
