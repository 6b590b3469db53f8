"""How a server takes what a leader sends: appendEntries, in the library's order."""

from __future__ import annotations

from collections.abc import Sequence

from raftref.hashicorp.core.member import Member
from raftref.hashicorp.core.outcome import Outcome
from raftref.hashicorp.core.state import Loop, Role
from raftref.hashicorp.core.step import step
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from raftref.hashicorp.stores import LogNotFoundError, StoreError
from raftref.hashicorp.switches import Flaw
from raftref.hashicorp.values import Index, Log, Place


class _Refused(Exception):  # noqa: N818 - an answer, not an error.
    """The request is not taken; `no_retry_backoff` tells the leader that this is what it has to expect."""

    def __init__(self, *, no_retry_backoff: bool) -> None:
        super().__init__()
        self.no_retry_backoff = no_retry_backoff


class Follower(Member):
    """A server that takes entries and heartbeats.

    Source: appendEntries, processHeartbeat.
    """

    def can_append_entries(self, m: AppendEntriesRequest | HeartbeatRequest, outcome: Outcome) -> bool:
        """The main loop takes an event; a heartbeat is also taken while it goes on to lead (HeartbeatRace)."""
        races = isinstance(m, HeartbeatRequest) and self.has(Flaw.HEARTBEAT_RACE)
        takes = self.selects or (races and self.is_up and self.loop is Loop.LEAD)
        return takes and self.is_addressed(m)

    @step(when=can_append_entries)
    def append_entries(self, m: AppendEntriesRequest | HeartbeatRequest, outcome: Outcome) -> None:
        """Take entries, or a heartbeat, and learn who leads and what is committed.

        Args:
            m: The request.
            outcome: Of the writes: CurrentTerm if it is entered, the deletion of what conflicts, the new entries.

        Source: appendEntries.
        """
        last_log = self.last_index
        no_retry_backoff, success = False, True
        try:
            self._append(m.as_append_entries if isinstance(m, HeartbeatRequest) else m)
        except _Refused as refused:
            no_retry_backoff, success = refused.no_retry_backoff, False
        term = self.current_term
        if isinstance(m, HeartbeatRequest):
            self.respond(m, HeartbeatResponse(self.node_id, m.src, term, success))
        else:
            self.respond(m, AppendEntriesResponse(self.node_id, m.src, term, last_log, success, no_retry_backoff))

    def _append(self, m: AppendEntriesRequest) -> None:
        if m.term < self.current_term:
            raise _Refused(no_retry_backoff=False)
        if m.term > self.current_term or (self.role is not Role.FOLLOWER and not self.campaign.transfer):
            self.set_state(Role.FOLLOWER)
            self.set_current_term(m.term)
        self.leader = m.src
        if m.prev_log_entry > 0:
            self._verify_previous(m)
        self._store_new(m)
        if m.leader_commit_index > self.commit_index:
            self._commit(m)

    def _verify_previous(self, m: AppendEntriesRequest) -> None:
        """Refuse unless the entry before the new ones is there with its term."""
        last = self.last_entry
        try:
            term = last.term if m.prev_log_entry == last.index else self.term_at(m.prev_log_entry)
        except LogNotFoundError as error:
            raise _Refused(no_retry_backoff=True) from error
        if term != m.prev_log_term:
            raise _Refused(no_retry_backoff=True)

    def _store_new(self, m: AppendEntriesRequest) -> None:
        """Skip what is there, delete from the first entry on that differs, store the rest."""
        last_log = self.last_log
        entries = enumerate(m.entries, start=m.prev_log_entry + 1)
        new = self._new_entries([Log(Index(index), entry) for index, entry in entries], last_log)
        if not new:
            return
        try:
            self.stores.logs.store_logs(new)
        except StoreError as error:
            raise _Refused(no_retry_backoff=False) from error
        for log in new:
            self.process_configuration_log_entry(log)
        end = Place(new[-1].index, new[-1].entry.term)
        keeps = self.has(Flaw.LAST_LOG_NOT_LOWERED) and last_log.index > end.index
        self.last_log = last_log if keeps else end

    def _new_entries(self, logs: Sequence[Log], last_log: Place) -> Sequence[Log]:
        """Return the entries from the first on that is not in the log; what conflicts with that is deleted."""
        for number, log in enumerate(logs):
            if log.index > last_log.index:
                return logs[number:]
            try:
                differs = self.term_at(log.index) != log.entry.term
            except LogNotFoundError as error:
                raise _Refused(no_retry_backoff=False) from error
            if differs or self.has(Flaw.TRUNCATE_WITHOUT_CONFLICT):
                self._truncate(log.index, last_log)
                return logs[number:]
        return ()

    def _truncate(self, index: Index, last_log: Place) -> None:
        """Delete the log from an index on; the end that is kept in memory stays (DeleteThenStore)."""
        try:
            self.stores.logs.delete_range(index, last_log.index)
        except StoreError as error:
            raise _Refused(no_retry_backoff=False) from error
        if index <= self.configurations.latest_index:
            self.configurations.fall_back()
        if not self.has(Flaw.DELETE_THEN_STORE):
            self.last_log = self.end_of_log()

    def _commit(self, m: AppendEntriesRequest) -> None:
        """Commit what the leader has, as far as the log goes (CommitUnverified), or as far as the request told."""
        if self.has(Flaw.COMMIT_UNVERIFIED):
            index = min(m.leader_commit_index, self.last_index)
        else:
            index = min(m.leader_commit_index, Index(m.prev_log_entry + len(m.entries)))
            if index <= self.commit_index:
                return
        self.commit_index = index
        if self.configurations.latest_index <= index:
            self.configurations.set_committed()
        self.hand_to_fsm(index)
