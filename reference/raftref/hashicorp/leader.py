"""The main loop of a leader: it appends, commits, and steps down."""

from __future__ import annotations

from collections.abc import Sequence

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.logs import hand_to_fsm
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import Commitment, FollowerReplication, Loop, Role
from raftref.hashicorp.steps import Outcome, StoreError, step
from raftref.hashicorp.values import ClientLog, Entry, EntryType, Index, Log, Place

# ---- A leadership begins ---------------------------------------------------------------------------------


def can_dispatch_noop(server: Server, _outcome: Outcome) -> bool:
    """The main loop is at the beginning of a leadership."""
    return server.is_up and server.loop is Loop.LEAD


@step(when=can_dispatch_noop)
def dispatch_noop(server: Server, outcome: Outcome) -> None:
    """Set up what a leader keeps, start the routines for the peers, and append a no-op.

    If a heartbeat of a newer leader came in between (HeartbeatRace), the server does not lead any more. It begins all
    the same, in that term, and ends at once.

    Args:
        server: The leader.
        outcome: Of the write of the no-op; if that fails, the server follows.

    Source: runLeader, setupLeaderState.
    """
    server.loop = Loop.SELECT
    start, voters = Index(server.last_index + 1), server.configurations.latest.voters
    server.commitment = Commitment(start, voters, server.has(Flaw.EVEN_QUORUM))
    start_stop_replication(server)
    append(server, [Entry(server.current_term, EntryType.NOOP)])
    if server.role is not Role.LEADER:
        server.stop_leading()


def start_stop_replication(server: Server) -> None:
    """Start routines for new peers, and stop those for peers that are gone.

    Source: startStopReplication.
    """
    peers = server.configurations.latest.servers - {server.node_id}
    begins = FollowerReplication(True, server.current_term, Index(server.last_index + 1))
    server.repl_state = {**dict.fromkeys(peers, begins), **server.repl_state}
    server.stop_routines(server.repl_state.keys() - peers)


# ---- Appending -------------------------------------------------------------------------------------------


def append(server: Server, entries: Sequence[Entry]) -> None:
    """Store entries behind the log and count them as stored here; follow if they cannot be stored.

    Source: dispatchLogs.
    """
    first = server.last_index + 1
    logs = [Log(Index(index), entry) for index, entry in enumerate(entries, start=first)]
    server.stage_commit_index(server.commit_index)
    try:
        server.store_logs(logs)
    except StoreError:
        server.set_state(Role.FOLLOWER)
        return
    last = logs[-1].index
    if server.has(Flaw.MATCH_WITHOUT_RECALCULATE):
        server.commitment = server.commitment.mark(server.node_id, last)
    else:
        server.commitment = server.commitment.match(server.node_id, last)
    server.last_log = Place(last, server.current_term)


def can_dispatch_logs(server: Server, logs: tuple[ClientLog, ...], _outcome: Outcome) -> bool:
    """A leader's main loop takes an event, clients ask for something, and no transfer is in progress.

    It may be one that a heartbeat beside it has overtaken (HeartbeatRace).
    """
    selects = server.selects or server.is_overtaken
    return selects and server.is_in_leader_loop and bool(logs) and not server.transfer.in_progress


@step(when=can_dispatch_logs)
def dispatch_logs(server: Server, logs: tuple[ClientLog, ...], outcome: Outcome) -> None:
    """Append what clients ask for.

    A leader that a heartbeat beside its main loop has brought to a later term appends in that term, which it does not
    lead, and notices then (HeartbeatRace).

    Args:
        server: The leader.
        logs: Commands and barriers.
        outcome: Of the write of the entries; if that fails, the leader follows.

    Source: leaderLoop, applyCh; dispatchLogs.
    """
    append(server, [Entry(server.current_term, each.type, each.value) for each in logs])
    if server.is_overtaken:
        server.leave_loop()


# ---- Committing ------------------------------------------------------------------------------------------


def can_process_logs(server: Server) -> bool:
    """A leader's main loop takes an event, and a quorum stores more than is committed."""
    return server.leads and server.commitment.commit_index > server.commit_index


@step(when=can_process_logs)
def process_logs(server: Server) -> None:
    """Commit what a quorum stores, and hand it to the FSM.

    With the latest configuration it is committed, and a server that is no voter of it leads no more.

    Source: leaderLoop, commitCh; processLogs.
    """
    before, server.commit_index = server.commit_index, server.commitment.commit_index
    removed = False
    if before < server.configurations.latest_index <= server.commit_index:
        server.configurations = server.configurations.set_committed()
        removed = not server.is_voter
    hand_to_fsm(server, server.commit_index)
    if removed and server.has(Feature.SHUTDOWN_ON_REMOVE):
        server.go_down()
    elif removed:
        server.set_state(Role.FOLLOWER)


# ---- A leadership ends -----------------------------------------------------------------------------------


def can_step_down(server: Server) -> bool:
    """A leader's main loop takes an event, and a peer answered with a higher term."""
    return server.leads and server.must_step_down


@step(when=can_step_down)
def step_down(server: Server) -> None:
    """Follow, since a peer is in a higher term. That term is not entered.

    Source: leaderLoop, stepDown; handleStaleTerm.
    """
    server.set_state(Role.FOLLOWER)


def can_check_leader_lease(server: Server) -> bool:
    """A leader's main loop takes an event, and its own vote is no quorum."""
    alone = server.is_voter and server.configurations.latest.quorum_size() == 1
    return server.leads and not alone


@step(when=can_check_leader_lease)
def check_leader_lease(server: Server) -> None:
    """Follow, since a quorum of the voters was not heard of in time.

    Source: checkLeaderLease.
    """
    server.set_state(Role.FOLLOWER)
