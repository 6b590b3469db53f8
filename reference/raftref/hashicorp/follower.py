"""The follower: appendEntries, in the library's order."""

from __future__ import annotations

from collections.abc import Sequence

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.logs import hand_to_fsm, process_configuration_log_entry
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
)
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import CampaignPhase, Loop, Role
from raftref.hashicorp.steps import Outcome, StoreError, step
from raftref.hashicorp.stores import LogNotFoundError
from raftref.hashicorp.values import Index, Log, Place


class _Refused(Exception):  # noqa: N818 - an answer, not an error.
    """The request is not taken; `no_retry_backoff`: the leader has to expect this."""

    def __init__(self, *, no_retry_backoff: bool) -> None:
        super().__init__()
        self.no_retry_backoff = no_retry_backoff


def can_append_entries(server: Server, m: AppendEntriesRequest | HeartbeatRequest, _outcome: Outcome) -> bool:
    """The main loop takes an event; a heartbeat is also taken while it goes on to campaign or lead (HeartbeatRace)."""
    races = isinstance(m, HeartbeatRequest) and server.has(Flaw.HEARTBEAT_RACE)
    return server.selects or (races and server.is_up)


@step(when=can_append_entries)
def append_entries(server: Server, m: AppendEntriesRequest | HeartbeatRequest, outcome: Outcome) -> None:
    """Take entries, or a heartbeat, and learn who leads and what is committed.

    Args:
        server: The follower.
        m: The request.
        outcome: Of the writes: CurrentTerm if it is entered, the deletion of what conflicts, the new entries.

    Source: appendEntries, processHeartbeat.
    """
    last_log = server.last_index
    no_retry_backoff, success = False, True
    try:
        if isinstance(m, HeartbeatRequest):
            _append(server, m.as_append_entries, is_beside=server.has(Flaw.HEARTBEAT_RACE))
        else:
            _append(server, m)
    except _Refused as refused:
        no_retry_backoff, success = refused.no_retry_backoff, False
    term = server.current_term
    if isinstance(m, HeartbeatRequest):
        server.respond(m, HeartbeatResponse(server.node_id, m.src, term, success))
    else:
        sent_index = m.sent_index if server.has(Feature.PIPELINE) else None
        answer = (term, last_log, success, no_retry_backoff, sent_index)
        server.respond(m, AppendEntriesResponse(server.node_id, m.src, *answer))


def _overtakes(server: Server) -> bool:
    """Return whether a heartbeat is handled beside a main loop that waits as a candidate, or as a leader.

    Or it has just won a pre-vote, and is about to campaign.
    """
    counts_or_leads = server.role is Role.LEADER or server.campaign.phase is not CampaignPhase.NONE
    has_won_pre_vote = server.loop is Loop.CAMPAIGN and server.campaign.phase is CampaignPhase.VOTE
    return server.is_overtaken or (server.selects and counts_or_leads) or has_won_pre_vote


def _append(server: Server, m: AppendEntriesRequest, *, is_beside: bool = False) -> None:
    if m.term < server.current_term:
        raise _Refused(no_retry_backoff=False)
    if m.term > server.current_term or (server.role is not Role.FOLLOWER and not server.campaign.transfer):
        if is_beside and _overtakes(server):
            server.overtake(m.term)
        else:
            server.set_state(Role.FOLLOWER)
            server.set_current_term(m.term)
    server.leader = m.src
    if m.prev_log_entry > 0:
        _verify_previous(server, m)
    _store_new(server, m)
    if m.leader_commit_index > server.commit_index:
        _commit(server, m)


def _is_compacted(server: Server, index: Index) -> bool:
    """Return whether the snapshot has taken the place of an entry, and may answer for it (CompactedPrevRejected)."""
    if server.has(Flaw.COMPACTED_PREV_REJECTED):
        return False
    return index <= server.last_snapshot.index and index not in server.log


def _verify_previous(server: Server, m: AppendEntriesRequest) -> None:
    """Refuse unless the entry before the new ones is there with its term."""
    index, last = m.prev_log_entry, server.last_entry
    is_compacted = _is_compacted(server, index)
    if is_compacted and index < server.last_snapshot.index:
        return  # It is committed, so the leader has it, too, whatever its term.
    try:
        term = last.term if index == last.index else server.term_at(index)
    except LogNotFoundError as error:
        if not is_compacted:
            raise _Refused(no_retry_backoff=True) from error
        term = server.last_snapshot.term
    if term != m.prev_log_term:
        raise _Refused(no_retry_backoff=True)


def _store_new(server: Server, m: AppendEntriesRequest) -> None:
    """Skip what is there, delete from the first entry on that differs, store the rest."""
    last_log = server.last_log
    entries = enumerate(m.entries, start=m.prev_log_entry + 1)
    new = _new_entries(server, [Log(Index(index), entry) for index, entry in entries], last_log)
    if not new:
        return
    server.stage_commit_index(min(m.leader_commit_index, new[-1].index))
    try:
        server.store_logs(new)
    except StoreError as error:
        raise _Refused(no_retry_backoff=False) from error
    for log in new:
        process_configuration_log_entry(server, log)
    end = Place(new[-1].index, new[-1].entry.term)
    stays = server.has(Flaw.LAST_LOG_NOT_LOWERED) and last_log.index > end.index
    server.last_log = last_log if stays else end


def _new_entries(server: Server, logs: Sequence[Log], last_log: Place) -> Sequence[Log]:
    """Return the entries from the first on that is not in the log, once what conflicts with that is deleted."""
    for number, log in enumerate(logs):
        if _is_compacted(server, log.index):
            continue
        if log.index > last_log.index:
            return logs[number:]
        try:
            differs = server.term_at(log.index) != log.entry.term
        except LogNotFoundError as error:
            raise _Refused(no_retry_backoff=False) from error
        if differs or server.has(Flaw.TRUNCATE_WITHOUT_CONFLICT):
            _truncate(server, log.index, last_log)
            return logs[number:]
    return ()


def _truncate(server: Server, index: Index, last_log: Place) -> None:
    """Delete the log from an index on; the end that is kept in memory stays (DeleteThenStore)."""
    try:
        server.delete_range(index, last_log.index)
    except StoreError as error:
        raise _Refused(no_retry_backoff=False) from error
    if index <= server.configurations.latest_index:
        server.configurations = server.configurations.fall_back()
    if not server.has(Flaw.DELETE_THEN_STORE):
        server.last_log = server.stores.end_of_log()


def _commit(server: Server, m: AppendEntriesRequest) -> None:
    """Commit what the leader has, up to the end of the log (CommitUnverified) or the last entry of the request."""
    if server.has(Flaw.COMMIT_UNVERIFIED):
        index = min(m.leader_commit_index, server.last_index)
    else:
        index = min(m.leader_commit_index, Index(m.prev_log_entry + len(m.entries)))
        if index <= server.commit_index:
            return
    server.commit_index = index
    if server.configurations.latest_index <= index:
        server.configurations = server.configurations.set_committed()
    hand_to_fsm(server, index)
