"""Requests of clients besides storing entries: that a leader hands over, and says whether it still leads."""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Feature, Flaw
from raftref.hashicorp.messages import RpcType, TimeoutNowRequest, TimeoutNowResponse
from raftref.hashicorp.server import Server, runs
from raftref.hashicorp.state import Role, Transfer, Verification
from raftref.hashicorp.steps import step
from raftref.hashicorp.values import NodeId

# ---- Handing over: the leader takes no entries, brings its target up to date, and asks it to campaign ----


def can_leadership_transfer(server: Server, peer: NodeId) -> bool:
    """A leader's main loop takes an event, no transfer is in progress, and the peer is in the configuration."""
    known = peer != server.node_id and peer in server.configurations.latest.servers
    return server.has(Feature.TRANSFERS) and server.leads and not server.transfer.in_progress and known


@step(when=can_leadership_transfer)
def leadership_transfer(server: Server, peer: NodeId) -> None:
    """Begin to hand over to a peer; while that lasts, no entry is taken.

    Args:
        server: The leader.
        peer: The one named, or the voter that is furthest.

    Source: leaderLoop, leadershipTransferCh; pickServer.
    """
    server.transfer = Transfer(True, peer, server.current_term)


def can_send_timeout_now(server: Server) -> bool:
    """It hands over in this term, its target has all entries, and was not asked yet."""
    transfer = server.transfer
    waits = transfer.in_progress and not transfer.asked and transfer.term == server.current_term
    if not (server.is_up and server.role is Role.LEADER and waits and transfer.to is not None):
        return False
    return server.replication(transfer.to).next_index > server.last_index


@step(when=can_send_timeout_now)
def send_timeout_now(server: Server) -> None:
    """Ask the target to campaign at once.

    Source: leadershipTransfer.
    """
    to = server.transfer.to
    assert to is not None
    server.transfer = replace(server.transfer, asked=True)
    server.send(TimeoutNowRequest(server.node_id, to))


@step(when=runs)
def handle_timeout_now_response(server: Server, m: TimeoutNowResponse) -> None:
    """Learn that the target campaigns, and wait for what comes of it.

    Source: leadershipTransfer, doneCh.
    """
    server.take_answer(m)


def can_end_transfer(server: Server) -> bool:
    """The flag that a transfer is in progress is set."""
    return server.is_up and server.transfer.in_progress


@step(when=can_end_transfer)
def end_transfer(server: Server) -> None:
    """Clear the flag: time is up, or the leadership is over. A routine of its own does that, whenever it runs.

    Source: leaderLoop, the routine beside leadershipTransfer.
    """
    server.effects.abandon({RpcType.TIMEOUT_NOW})
    server.transfer = Transfer()


# ---- Verifying: a quorum answers what the leader sends ---------------------------------------------------


def can_verify_leader(server: Server) -> bool:
    """A leader's main loop takes an event, and no client has asked."""
    return server.has(Feature.VERIFY) and server.leads and not server.verification.active


@step(when=can_verify_leader)
def verify_leader(server: Server) -> None:
    """Ask all peers, also those without a vote (VerifyCountsNonvoters), and let their next answers count.

    Source: verifyLeader.
    """
    running = frozenset(peer for peer, each in server.repl_state.items() if each.running)
    latest = server.configurations.latest
    waiting = running if server.has(Flaw.VERIFY_COUNTS_NONVOTERS) else running & latest.voters
    server.verification = Verification(True, waiting=waiting, quorum_size=latest.quorum_size())
    server.repl_state = {peer: each.verify() for peer, each in server.repl_state.items()}


def can_handle_verify(server: Server) -> bool:
    """A leader's main loop takes an event: a quorum has answered, or one has said no."""
    return server.leads and server.verification.active and server.verification.is_decided


@step(when=can_handle_verify)
def handle_verify(server: Server) -> None:
    """Answer the client that it leads, or follow, since a peer said no.

    Source: leaderLoop, verifyCh.
    """
    if server.verification.is_verified:
        server.verification = Verification()
    else:
        server.set_state(Role.FOLLOWER)
