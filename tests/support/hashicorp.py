"""Servers of hashicorp/raft as the tests begin with them, and what is said to them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from raftref.disks.disk import Disk
from raftref.hashicorp.core.effects import Effects
from raftref.hashicorp.core.outcome import DONE, Outcome, Result
from raftref.hashicorp.core.state import Loop, Role
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatResponse,
    InstallSnapshotRequest,
    RequestPreVoteRequest,
    RequestVoteRequest,
    RpcType,
    VoteResponse,
)
from raftref.hashicorp.raft import Raft, bootstrap_cluster
from raftref.hashicorp.stores import (
    CURRENT_TERM,
    FileLogStore,
    FileSnapshotStore,
    FileStableStore,
    InmemLogStore,
    InmemSnapshotStore,
    InmemStableStore,
    Stores,
)
from raftref.hashicorp.switches import ALL_FEATURES, Config, Feature, Flaw
from raftref.hashicorp.values import ClientLog, Configuration, Entry, EntryType, Index, Log, Snapshot, Term

THREE = Configuration(frozenset({"n1", "n2", "n3"}))


def fails(write: int) -> Outcome:
    return Outcome(Result.FAIL, write)


def dies(write: int) -> Outcome:
    return Outcome(Result.CRASH, write)


def command(term: int, value: str = "v") -> Entry:
    return Entry(Term(term), EntryType.COMMAND, value)


def noop(term: int) -> Entry:
    return Entry(Term(term), EntryType.NOOP)


def change(term: int, configuration: Configuration) -> Entry:
    return Entry(Term(term), EntryType.CONFIGURATION, None, configuration)


def inmem() -> Stores:
    return Stores(InmemLogStore(), InmemStableStore(), InmemSnapshotStore(2))


def on_files(disk: Disk) -> Stores:
    return Stores(FileLogStore(disk), FileStableStore(disk), FileSnapshotStore(disk, 2))


def server(
    *terms: int,
    node: str = "n1",
    term: int = 0,
    flaws: Collection[Flaw] = (),
    without: Collection[Feature] = (),
    configuration: Configuration = THREE,
    stores: Stores | None = None,
    **bounds: Any,
) -> Raft:
    """A follower whose log has the bootstrap's entry, and behind it a command of each of these terms."""
    stores = stores or inmem()
    bootstrap_cluster(stores, configuration)
    for index, each in enumerate(terms, start=2):
        stores.logs.store_logs([Log(Index(index), command(each, f"v{index}"))])
    stores.stable.set(CURRENT_TERM, term or max((1, *terms)))
    given = {"trailing_logs": 2, **bounds}
    config = Config(ALL_FEATURES - set(without), frozenset(flaws), **given)
    nodes = sorted({*configuration.servers, "n4"})
    made = Raft(node, nodes, config, stores)
    made.start()
    return made


def append(
    *entries: Entry, term: int, prev: tuple[int, int] = (0, 0), commit: int = 0, src: str = "n2", dst: str = "n1"
) -> AppendEntriesRequest:
    """A leader's request."""
    return AppendEntriesRequest(src, dst, Term(term), Index(prev[0]), Term(prev[1]), entries, Index(commit))


def install(snapshot: Snapshot, term: int, src: str = "n2", dst: str = "n1") -> InstallSnapshotRequest:
    return InstallSnapshotRequest(src, dst, Term(term), snapshot)


def snapshot(index: int, term: int, *applied: Log) -> Snapshot:
    return Snapshot(Index(index), Term(term), THREE, Index(1), applied)


def ask(term: int, last: tuple[int, int], src: str = "n2", transfer: bool = False) -> RequestVoteRequest:
    """A candidate's request, of a log that ends at (index, term)."""
    return RequestVoteRequest(src, "n1", Term(term), Index(last[0]), Term(last[1]), transfer)


def ask_before(term: int, last: tuple[int, int], src: str = "n2") -> RequestPreVoteRequest:
    return RequestPreVoteRequest(src, "n1", Term(term), Index(last[0]), Term(last[1]))


def vote(term: int, src: str = "n2", granted: bool = True, of: RpcType = RpcType.REQUEST_VOTE) -> VoteResponse:
    return VoteResponse(of, src, "n1", Term(term), granted)


def stored(term: int, src: str = "n2", last_log: int = 0, success: bool = True) -> AppendEntriesResponse:
    return AppendEntriesResponse(src, "n1", Term(term), Index(last_log), success, False)


def beaten(term: int, src: str = "n2", success: bool = True) -> HeartbeatResponse:
    return HeartbeatResponse(src, "n1", Term(term), success)


def only(effects: Effects) -> Any:
    """The one message that a step sent."""
    (m,) = effects.sent
    return m


def stand(node: Raft) -> Raft:
    """A candidate that may elect itself."""
    node.heartbeat_timeout()
    if node.has(Feature.PRE_VOTE):
        node.pre_elect_self()
        term = node.current_term + 1
        for peer in sorted(node.other_voters):
            if node.loop is not Loop.CAMPAIGN:
                node.handle_request_pre_vote_response(vote(term, peer, of=RpcType.REQUEST_PRE_VOTE), DONE)
    return node


def lead(node: Raft) -> Raft:
    """A leader, elected by everybody, that has appended its no-op."""
    stand(node).elect_self(node.other_voters, DONE)
    for peer in sorted(node.other_voters):
        if node.role is Role.CANDIDATE:
            node.handle_request_vote_response(vote(node.current_term, peer), DONE)
    node.dispatch_noop(DONE)
    return node


def leader(*terms: int, **given: Any) -> Raft:
    return lead(server(*terms, **given))


def replicate(node: Raft, peer: str) -> AppendEntriesRequest:
    """Send a peer all there is, and let it store that."""
    request: AppendEntriesRequest = only(node.replicate_to(peer, node.most(node.replication(peer).next_index)))
    node.handle_append_entries_response(stored(node.current_term, peer))
    return request


def ask_for(node: Raft, *values: str) -> Effects:
    """Clients append commands."""
    return node.dispatch_logs(tuple(ClientLog(EntryType.COMMAND, value) for value in values), DONE)


def values(node: Raft) -> list[str | None]:
    """What the FSM has applied."""
    return [each.entry.value for each in node.fsm_routine.fsm.snapshot()]


def terms(node: Raft) -> dict[int, int]:
    """The terms in the log, by index."""
    return {int(index): int(entry.term) for index, entry in sorted(node.log.items())}


def durable(node: Raft) -> dict[str, Any]:
    """What a server shows that outlasts it."""
    shown = node.observe()
    return {name: shown[name] for name in ("currentTerm", "lastVoteTerm", "lastVoteCand", "log", "snapshots")}
