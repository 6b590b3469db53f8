"""The routines that a leader runs for each peer: one sends the log, the other heartbeats.

Source: replicate, replicateTo, sendLatestSnapshot, heartbeat.
"""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    InstallSnapshotRequest,
    InstallSnapshotResponse,
    Response,
    RpcType,
)
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import CampaignPhase, Loop, PipelinePhase
from raftref.hashicorp.steps import step
from raftref.hashicorp.stores import LogNotFoundError
from raftref.hashicorp.values import NO_PLACE, Index, NodeId, Place, Term

# ---- The parts of a request ------------------------------------------------------------------------------


def _previous(server: Server, next_index: Index) -> Place:
    """Return what comes before the next entry; raise LogNotFoundError.

    Source: setPreviousLog.
    """
    if next_index == 1:
        return NO_PLACE
    previous = Index(next_index - 1)
    if previous == server.last_snapshot.index:
        return server.last_snapshot
    return Place(previous, server.term_at(previous))


def most_entries(server: Server, next_index: Index) -> int:
    """Return how many entries a request can have.

    Source: setNewLogs.
    """
    return max(0, min(server.config.max_append_entries, server.last_log.index - next_index + 1))


def has_entries(server: Server, next_index: Index, count: int) -> bool:
    """Return whether `count` entries from an index on are in the log, and what comes before them is known."""
    try:
        _previous(server, next_index)
    except LogNotFoundError:
        return False
    return server.stores.has_range(next_index, Index(next_index + count - 1))


def can_append(server: Server, next_index: Index, count: int) -> bool:
    """Return whether a request may have `count` entries, and they are there."""
    return 0 <= count <= most_entries(server, next_index) and has_entries(server, next_index, count)


def must_send_snapshot(server: Server, next_index: Index) -> bool:
    """Return whether an entry that should be sent is gone, and there is a snapshot."""
    most = most_entries(server, next_index)
    return not has_entries(server, next_index, most) and bool(server.stores.snapshots)


def append_entries_request(
    server: Server, peer: NodeId, term: Term, next_index: Index, count: int
) -> AppendEntriesRequest:
    """Return the request with `count` entries from an index on.

    Source: setupAppendEntries.
    """
    previous = _previous(server, next_index)
    entries = tuple(server.log[Index(index)] for index in range(next_index, next_index + count))
    place = (previous.index, previous.term)
    return AppendEntriesRequest(server.node_id, peer, term, *place, entries, server.commit_index)


# ---- Sending ---------------------------------------------------------------------------------------------


def _is_idle(server: Server, peer: NodeId) -> bool:
    """Return whether the routine for a peer runs, waits for nothing, and has no pipeline."""
    replication = server.replication(peer)
    waits = replication.awaiting is not None or replication.has_pipeline
    return server.is_up and replication.running and not waits


def can_replicate_to(server: Server, peer: NodeId, count: int) -> bool:
    """The routine waits for nothing and has no pipeline, and the entries are there, as many as a request can have."""
    return _is_idle(server, peer) and can_append(server, server.replication(peer).next_index, count)


@step(when=can_replicate_to)
def replicate_to(server: Server, peer: NodeId, count: int) -> None:
    """Send a peer entries from nextIndex on.

    Args:
        server: The leader.
        peer: The receiver.
        count: How many: the routine read the end of the log when it was woken, and there may be more by now.

    Source: replicateTo, setupAppendEntries.
    """
    replication = server.replication(peer)
    m = append_entries_request(server, peer, replication.term, replication.next_index, count)
    server.send(m)
    server.set_replication(peer, replication.send(RpcType.APPEND_ENTRIES, m.sent_index))


def can_send_latest_snapshot(server: Server, peer: NodeId) -> bool:
    """The routine runs and waits for nothing, and must send a snapshot."""
    return _is_idle(server, peer) and must_send_snapshot(server, server.replication(peer).next_index)


@step(when=can_send_latest_snapshot)
def send_latest_snapshot(server: Server, peer: NodeId) -> None:
    """Send a peer the latest snapshot, since an entry that it needs is gone.

    Source: sendLatestSnapshot.
    """
    replication, snapshot = server.replication(peer), server.stores.snapshots[0]
    server.send(InstallSnapshotRequest(server.node_id, peer, replication.term, snapshot))
    server.set_replication(peer, replication.send(RpcType.INSTALL_SNAPSHOT, snapshot.index))


def can_heartbeat(server: Server, peer: NodeId) -> bool:
    """The routine runs, and its last heartbeat was answered or given up."""
    replication = server.replication(peer)
    return server.has(Feature.HEARTBEATS) and server.is_up and replication.running and not replication.beating


@step(when=can_heartbeat)
def heartbeat(server: Server, peer: NodeId) -> None:
    """Send a peer a heartbeat.

    Source: heartbeat.
    """
    replication = server.replication(peer)
    server.send(HeartbeatRequest(server.node_id, peer, replication.term))
    server.set_replication(peer, replace(replication, beating=True))


# ---- Answers ---------------------------------------------------------------------------------------------


def _notify_all(server: Server, peer: NodeId, leader: bool, *, old: bool = False) -> None:
    """Count an answer for a client that asked VerifyLeader; one to a call that was made before proves nothing.

    Source: followerReplication.notifyAll.
    """
    if not old or server.has(Flaw.VERIFY_COUNTS_OLD_ACKS):
        server.verification = server.verification.vote(peer, leader)


def _handle_stale_term(server: Server, peer: NodeId) -> None:
    """End the routine; the main loop will step down.

    Source: handleStaleTerm.
    """
    _notify_all(server, peer, False)
    server.set_replication(peer, replace(server.replication(peer), running=False))
    server.must_step_down = True


def _stores(server: Server, peer: NodeId, index: Index) -> None:
    """Learn that a peer stores the log up to an index."""
    server.set_replication(peer, replace(server.replication(peer), next_index=Index(index + 1)))
    server.commitment = server.commitment.match(peer, index)


def _update_last_appended(server: Server, peer: NodeId, sent_index: Index, *, old: bool) -> None:
    """Learn that a peer stores what it was sent, if there were entries, and still follows.

    Source: updateLastAppended.
    """
    if sent_index:
        _stores(server, peer, sent_index)
    _notify_all(server, peer, True, old=old)


def can_take_answer(server: Server, m: Response) -> bool:
    """The process runs, and has routines for the peer."""
    return server.is_up and m.src in server.repl_state


def can_handle_append_entries_response(server: Server, m: AppendEntriesResponse) -> bool:
    """The process runs, and has routines for the peer; in a pipeline the answer is to the oldest call."""
    if not can_take_answer(server, m):
        return False
    replication = server.replication(m.src)
    return not replication.has_pipeline or m.sent_index in [each.sent_index for each in replication.in_flight[:1]]


@step(when=can_handle_append_entries_response)
def handle_append_entries_response(server: Server, m: AppendEntriesResponse) -> None:
    """Learn what a peer stores, or go back to where it may agree; or do that for the oldest call of a pipeline.

    Source: replicateTo, updateLastAppended, pipelineDecode.
    """
    replication = server.replication(m.src)
    if replication.has_pipeline:
        _decode(server, m)
        return
    server.take_answer(m)
    server.set_replication(m.src, replication.answered())
    if m.term > replication.term:
        _handle_stale_term(server, m.src)
    elif not m.success:
        next_index = Index(max(min(replication.next_index - 1, m.last_log + 1), 1))
        server.set_replication(m.src, replace(replication.answered(), next_index=next_index))
    else:
        if server.has(Feature.PIPELINE):
            server.set_replication(m.src, replace(replication.answered(), pipeline=PipelinePhase.ALLOWED))
        _update_last_appended(server, m.src, replication.sent_index, old=replication.old_call)


def _decode(server: Server, m: AppendEntriesResponse) -> None:
    """Take the answer to the oldest call of a pipeline, which a refusal closes; nextIndex stays then.

    After one of a higher term the main loop will step down, and the routine goes on with single calls all the same.

    Source: pipelineDecode.
    """
    replication = server.replication(m.src)
    if m.success and m.term <= replication.term:
        call = replication.in_flight[0]
        server.set_replication(m.src, replication.decoded())
        _update_last_appended(server, m.src, call.sent_index, old=call.old)
        return
    server.effects.abandon({m.type}, m.src)
    if server.has(Feature.ZOMBIES):  # the routine that sends may not know it yet
        server.zombies |= replication.zombies(m.src)
    server.set_replication(m.src, replication.closed())
    if m.term > replication.term:
        _notify_all(server, m.src, False)
        server.must_step_down = True


@step(when=can_take_answer)
def handle_install_snapshot_response(server: Server, m: InstallSnapshotResponse) -> None:
    """Learn that a peer has the snapshot.

    Source: sendLatestSnapshot.
    """
    server.take_answer(m)
    replication = server.replication(m.src)
    server.set_replication(m.src, replication.answered())
    if m.term > replication.term:
        _handle_stale_term(server, m.src)
    elif m.success:
        _stores(server, m.src, replication.sent_index)
        _notify_all(server, m.src, True, old=replication.old_call)


@step(when=can_take_answer)
def handle_heartbeat_response(server: Server, m: HeartbeatResponse) -> None:
    """Learn whether a peer is still in this term. A higher term alone does not end the leadership.

    Source: heartbeat, notifyAll.
    """
    server.take_answer(m)
    replication = server.replication(m.src)
    server.set_replication(m.src, replication.beaten())
    _notify_all(server, m.src, m.success, old=replication.old)


def can_rpc_error(server: Server, peer: NodeId, type: RpcType) -> bool:
    """A call of this type to the peer waits for its answer."""
    match type:
        case RpcType.REQUEST_VOTE:
            return server.campaign.phase is CampaignPhase.VOTE and server.loop is Loop.SELECT
        case RpcType.REQUEST_PRE_VOTE:
            return server.campaign.phase is CampaignPhase.PREVOTE
        case RpcType.HEARTBEAT:
            return server.replication(peer).beating
        case RpcType.APPEND_ENTRIES if server.replication(peer).has_pipeline:
            return True
        case _:
            return server.replication(peer).awaiting is type


@step(when=can_rpc_error, name="RPCError")
def rpc_error(server: Server, peer: NodeId, type: RpcType) -> None:
    """Give up a call: it got no answer in time, or an error. A pipeline is closed.

    Source: replicateTo, sendLatestSnapshot, heartbeat, electSelf, preElectSelf, pipelineReplicate.
    """
    server.effects.abandon({type}, peer)
    if type is RpcType.HEARTBEAT:
        server.set_replication(peer, server.replication(peer).beaten())
    elif type is RpcType.APPEND_ENTRIES and server.replication(peer).has_pipeline:
        server.set_replication(peer, server.replication(peer).closed())
    elif type in (RpcType.APPEND_ENTRIES, RpcType.INSTALL_SNAPSHOT):
        server.set_replication(peer, server.replication(peer).answered())
