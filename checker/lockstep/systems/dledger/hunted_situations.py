"""The situations of a group of DLedger: small parts of its state, by which a search notices what is new.

Each is a tuple without terms, indexes and names of nodes, which would make every state a new one: only which of two is
the larger counts, and who holds what.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator

from lockstep.systems.hunted_group import common_length, sign
from raftref.dledger.messages import Entry, Index, Message
from raftref.dledger.server import Server
from raftref.dledger.simulation import Cluster
from raftref.dledger.state import Role

#: The most entries behind another log that a situation distinguishes.
FAR = 2


def situations(cluster: Cluster, committed: Collection[tuple[Index, Entry | None]]) -> Iterator[Hashable]:
    """Yield the situations of a group.

    Arguments: `cluster`; `committed`, the entries that leaders have committed, with their indexes.
    """
    servers = list(cluster.servers.values())
    terms = sorted({each.member_state.curr_term for each in servers})
    lacks = [sum(not each.ledger_store.holds(index, entry) for index, entry in committed if entry) for each in servers]
    yield "roles", tuple(sorted((each.member_state.role, terms.index(each.member_state.curr_term)) for each in servers))
    yield "logs", _logs(servers, lacks)
    for each, lacking in zip(servers, lacks, strict=True):
        yield _node(each, lacking, len(terms) - 1 - terms.index(each.member_state.curr_term))
        if each.is_leader:
            for peer in each.peers:
                yield _dispatcher(each, cluster.servers[peer], peer)
    for m in cluster.messages():
        yield _message(cluster, m)


def _logs(servers: list[Server], lacks: list[int]) -> Hashable:
    """Return who leads with which log: its end beside the longest one, its last term, and what it lacks."""
    longest = max(len(each.ledger_store.log) for each in servers)
    ends = sorted({each.ledger_store.term_at(each.ledger_store.end_index) for each in servers})
    return tuple(
        sorted(
            (
                each.member_state.role,
                min(FAR, longest - len(each.ledger_store.log)),
                ends.index(each.ledger_store.term_at(each.ledger_store.end_index)),
                min(FAR, lacking),
            )
            for each, lacking in zip(servers, lacks, strict=True)
        )
    )


def _node(server: Server, lacking: int, behind: int) -> Hashable:
    store, state = server.ledger_store, server.member_state
    checking = server.checking
    return (
        "node",
        state.role,
        min(FAR, behind),
        sign(server.last_quorum_index - store.committed_index),
        sign(store.committed_index - store.end_index),
        sign(server.last_applied_index - store.committed_index),
        sign(store.check_point - store.committed_index),
        sign(store.end_term - store.term_at(store.end_index)),
        min(FAR, len(store.tail)),
        store.is_forced,
        min(FAR, lacking),
        sign(len(server.client_futures)),
        None if checking is None else sign(checking.term - state.curr_term),
        sign(len(server.write_request_map)),
    )


def _dispatcher(server: Server, peer: Server, name: str) -> Hashable:
    """Return how far the dispatcher of a leader is from what its peer holds."""
    state, log = server.dispatchers[name], peer.ledger_store.log
    same = common_length(server.ledger_store.log, log) - 1
    return (
        "dispatcher",
        state.type,
        state.awaiting,
        sign(state.term - server.member_state.curr_term),
        sign(server.member_state.curr_term - peer.member_state.curr_term),
        peer.member_state.role,
        sign(state.compare_index - same),
        sign(state.truncate_index - same),
        sign(state.write_index - len(log)),
        sign(server.peer_water_marks[name] - same),
        same == len(log) - 1,
        sign(len(state.pendings)),
    )


def _message(cluster: Cluster, m: Message) -> Hashable:
    """Return a message under way as its receiver finds it."""
    src, dst = cluster.servers[m.src], cluster.servers[m.dst]
    log, index, entry = dst.ledger_store.log, getattr(m, "index", None), getattr(m, "entry", None)
    return (
        "message",
        m.type,
        m.kind,
        getattr(m, "code", None),
        sign(m.term - dst.member_state.curr_term),
        sign(m.term - src.member_state.curr_term),
        dst.member_state.role,
        src.member_state.role is Role.LEADER,
        None if index is None else sign(index - len(log) + 1),
        None if entry is None or index is None or not 0 <= index < len(log) else log[index] == entry,
        sign(getattr(m, "commit_index", 0) - dst.ledger_store.committed_index),
        getattr(m, "awaited", False),
    )
