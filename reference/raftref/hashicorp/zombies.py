"""Routines of a leadership that is over: they may still send, and nobody awaits the answers.

Source: replicate, which looks at stopCh between two calls alone.
"""

from __future__ import annotations

from dataclasses import replace

from raftref.hashicorp.choices import Feature
from raftref.hashicorp.messages import HeartbeatRequest, InstallSnapshotRequest
from raftref.hashicorp.replication import append_entries_request, can_append, must_send_snapshot
from raftref.hashicorp.server import Server
from raftref.hashicorp.steps import step
from raftref.hashicorp.values import Index, Zombie


def can_zombie_replicate_to(server: Server, zombie: Zombie, count: int) -> bool:
    """There is such a routine, and the entries are there, as many as a request can have."""
    return zombie in server.zombies and can_append(server, zombie.next_index, count)


@step(when=can_zombie_replicate_to)
def zombie_replicate_to(server: Server, zombie: Zombie, count: int) -> None:
    """Send entries of the log as it is now, in the term of a leadership that is over.

    Source: replicateTo, before the routine looks at stopCh.
    """
    request = append_entries_request(server, zombie.peer, zombie.term, zombie.next_index, count)
    server.send(replace(request, awaited=False))
    if server.has(Feature.PIPELINE):  # it may send more behind that
        server.zombies |= {replace(zombie, next_index=Index(zombie.next_index + count))}


def can_zombie_send_snapshot(server: Server, zombie: Zombie) -> bool:
    """There is such a routine, and it must send a snapshot."""
    return zombie in server.zombies and must_send_snapshot(server, zombie.next_index)


@step(when=can_zombie_send_snapshot)
def zombie_send_snapshot(server: Server, zombie: Zombie) -> None:
    """Send the latest snapshot in the term of a leadership that is over.

    Source: sendLatestSnapshot, likewise.
    """
    snapshot = server.stores.snapshots[0]
    server.send(InstallSnapshotRequest(server.node_id, zombie.peer, zombie.term, snapshot, awaited=False))


def can_zombie_heartbeat(server: Server, zombie: Zombie) -> bool:
    """Return whether such a routine runs, where heartbeats are messages of their own."""
    return server.has(Feature.HEARTBEATS) and zombie in server.zombies


@step(when=can_zombie_heartbeat)
def zombie_heartbeat(server: Server, zombie: Zombie) -> None:
    """Send a heartbeat in the term of a leadership that is over.

    Source: heartbeat, which goes on until replicate closes stopHeartbeat; that may wait for an answer.
    """
    server.send(HeartbeatRequest(server.node_id, zombie.peer, zombie.term, awaited=False))
