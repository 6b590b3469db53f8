"""The life of a node's process: what a crash leaves of it, and what a restart finds."""

from __future__ import annotations

from collections.abc import Collection

from raftref.action import action
from raftref.dledger.choices import Flaw
from raftref.dledger.messages import Term, VoteMessage
from raftref.dledger.state import Role
from raftref.dledger.steps import NO_EFFECTS, Abandoned, Effects
from raftref.dledger.transfer import LeadershipTransfer


class Process(LeadershipTransfer):
    """The process of a node, and its files.

    While the node is down, the committed index shows its last value: it is what the node said to others. No answer
    to a node that went down is awaited any more.

    Source: DLedgerServer, DLedgerMmapFileStore.
    """

    # ---- The disk ----

    def can_persist_check_point(self) -> bool:
        """The process is running."""
        return self.is_up

    @action(when=can_persist_check_point)
    def persist_check_point(self) -> Effects:
        """Write the committed index to the checkpoint file.

        Source: DLedgerMmapFileStore.persistCheckPoint.
        """
        self.ledger_store.persist_check_point()
        return NO_EFFECTS

    @action(when=can_persist_check_point)
    def flush_data_service(self) -> Effects:
        """Force the data file to the disk.

        Source: DLedgerMmapFileStore.FlushDataService.doWork.
        """
        self.ledger_store.force()
        return NO_EFFECTS

    # ---- Going down ----

    def _die(self) -> Effects:
        self.member_state.go_down()
        self.forget()
        return Effects(abandoned=Abandoned())

    def can_crash(self) -> bool:
        """The process is running."""
        return self.is_up

    @action(when=can_crash)
    def crash(self) -> Effects:
        """Die as by kill -9: what was written survives, forced to the disk or not."""
        return self._die()

    @action(when=can_crash)
    def shutdown(self) -> Effects:
        """Stop in good order: the data file is forced and the checkpoint written.

        Source: DLedgerMmapFileStore.shutdown.
        """
        self.ledger_store.force()
        self.ledger_store.persist_check_point()
        return self._die()

    def can_lose_power(self, kept: int) -> bool:
        """The process is running, and its file has `kept` entries at least."""
        return self.is_up and self.ledger_store.can_lose_power(kept)

    @action(when=can_lose_power)
    def lose_power(self, kept: int) -> Effects:
        """Die with the machine: what was not forced is lost, but for the first `kept` entries of the file."""
        self.ledger_store.lose_power(kept)
        return self._die()

    def can_crash_in_persist_term(self, *, requests: Collection[VoteMessage]) -> bool:
        """The node may be writing its term, as a candidate, or a vote that it gives on one of the requests."""
        writes = self.member_state.role is Role.CANDIDATE or any(self.would_accept(m) for m in requests)
        return self.has(Flaw.VOTE_FILE) and writes

    @action(when=can_crash_in_persist_term)
    def crash_in_persist_term(self, *, requests: Collection[VoteMessage]) -> Effects:
        """Die while term and vote are written: the old file is removed, the new one has not got its name.

        Args:
            requests: The requests for votes that may come next.

        Source: MemberState.persistTerm, called by nextTerm and setCurrVoteFor; IOUtils.string2File.
        """
        self.member_state.enter_term(Term(0))
        return self._die()

    def can_crash_in_persist_check_point(self) -> bool:
        """The process is running, and its checkpoint file is not replaced in one step."""
        return self.is_up and self.has(Flaw.VOTE_FILE)

    @action(when=can_crash_in_persist_check_point)
    def crash_in_persist_check_point(self) -> Effects:
        """Die while the checkpoint is written: the old file is removed, the new one has not got its name.

        Source: DLedgerMmapFileStore.persistCheckPoint; IOUtils.string2File.
        """
        self.ledger_store.lose_check_point()
        return self._die()

    # ---- Coming back ----

    def can_restart(self, resurrected: int) -> bool:
        """The process is down, and the scan of the file can find `resurrected` entries behind the end."""
        return not self.is_up and self.ledger_store.can_recover(resurrected)

    @action(when=can_restart)
    def restart(self, resurrected: int) -> Effects:
        """Come back as a candidate with the durable term and vote, and recover the store.

        Args:
            resurrected: The number of entries that TRUNCATE had cut and the scan takes for the log's.

        Source: DLedgerMmapFileStore.recover.
        """
        self.member_state.role = Role.CANDIDATE
        self.ledger_store.recover(resurrected, curr_term=self.member_state.curr_term)
        return NO_EFFECTS
