"""The situations of a group of hashicorp/raft: small parts of its state, by which a search notices what is new.

Each is a tuple without terms, indexes and names of servers, which would make every state a new one: only which of two
is the larger counts, and who holds what.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator

from lockstep.systems.hunted_group import sign
from raftref.hashicorp.messages import Message
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster
from raftref.hashicorp.state import Role
from raftref.hashicorp.values import Entry, Index

#: The most entries behind another log that a situation distinguishes.
FAR = 2


def situations(cluster: Cluster, committed: Collection[tuple[Index, Entry]]) -> Iterator[Hashable]:
    """Yield the situations of a group.

    Arguments: `cluster`; `committed`, the entries that leaders have committed, with their indexes.
    """
    servers = list(cluster.servers.values())
    terms = sorted({each.current_term for each in servers})
    ranks = [terms.index(each.current_term) for each in servers]
    lacks = [
        sum(index > each.last_snapshot.index and each.log.get(index) != entry for index, entry in committed)
        for each in servers
    ]
    yield "roles", tuple(sorted((each.role, rank) for each, rank in zip(servers, ranks, strict=True)))
    yield "logs", _logs(servers, lacks)
    for each, lacking, rank in zip(servers, lacks, ranks, strict=True):
        yield _server(each, min(FAR, lacking), min(FAR, len(terms) - 1 - rank))
        for peer in each.repl_state:
            yield _replication(each, cluster.servers[peer])
    for m in cluster.messages():
        yield _message(cluster, m)


def _logs(servers: list[Server], lacks: list[int]) -> Hashable:
    """Return who leads with which log: its end beside the longest one, its last term, and what it lacks."""
    longest = max(each.last_index for each in servers)
    ends = sorted({each.last_entry.term for each in servers})
    return tuple(
        sorted(
            (each.role, min(FAR, longest - each.last_index), ends.index(each.last_entry.term), min(FAR, lacking))
            for each, lacking in zip(servers, lacks, strict=True)
        )
    )


def _server(server: Server, lacking: int, behind: int) -> Hashable:
    stores, end = server.stores, server.stores.end_of_log()
    return (
        "server",
        server.role,
        behind,
        lacking,
        sign(server.commit_index - server.last_index),
        sign(server.last_applied - server.commit_index),
        sign(server.last_snapshot.index - server.last_applied),
        sign(server.last_log.index - server.last_snapshot.index),
        sign(end.index - server.last_log.index),
        sign(end.index - server.last_snapshot.index),
        sign(server.last_log.term - server.last_snapshot.term),
        sign(stores.last_vote_term - stores.current_term),
        stores.last_vote_cand in (None, server.node_id),
        server.snapshotting.phase,
        server.configurations.is_stable,
        (server.transfer.in_progress, sign(server.transfer.term - server.current_term)),
        (server.verification.active, server.verification.is_decided, server.must_step_down),
        (server.campaign.phase, server.campaign.transfer),
        sign(len(server.zombies)),
        sign(len(server.fsm.queue)),
    )


def _replication(server: Server, peer: Server) -> Hashable:
    """Return how far a leader's replication to a peer is from what the peer holds."""
    state = server.repl_state[peer.node_id]
    same = max((at for at, entry in server.log.items() if peer.log.get(at) == entry), default=0)
    return (
        "replication",
        state.running,
        state.awaiting,
        (state.beating, state.old, state.old_call),
        sign(server.current_term - peer.current_term),
        peer.role,
        sign(state.next_index - 1 - peer.last_index),
        sign(server.commitment.match_indexes.get(peer.node_id, 0) - same),
        same == peer.last_index,
        sign(server.last_snapshot.index - peer.last_index),
        peer.node_id in server.configurations.latest.voters,
    )


def _message(cluster: Cluster, m: Message) -> Hashable:
    """Return a message under way as its receiver finds it."""
    src, dst = cluster.servers[m.src], cluster.servers[m.dst]
    term, prev, snapshot = getattr(m, "term", None), getattr(m, "prev_log_entry", None), getattr(m, "snapshot", None)
    return (
        "message",
        m.type,
        m.kind,
        None if term is None else (sign(term - dst.current_term), sign(term - src.current_term)),
        dst.role,
        src.role is Role.LEADER,
        None if prev is None else (sign(prev - dst.last_index), sign(prev - dst.last_snapshot.index)),
        None if prev is None else _agrees(dst, prev, getattr(m, "entries", ())),
        None if snapshot is None else sign(snapshot.index - dst.last_index),
        getattr(m, "success", getattr(m, "granted", None)),
        getattr(m, "awaited", False),
    )


def _agrees(server: Server, prev: Index, entries: tuple[Entry, ...]) -> int | None:
    """Return 1 where a server holds entries behind an index, -1 where it holds another one, None where neither."""
    found = [server.log.get(Index(prev + place)) for place in range(1, len(entries) + 1)]
    if any(mine is not None and mine != its for mine, its in zip(found, entries, strict=True)):
        return -1
    return 1 if None not in found else None
