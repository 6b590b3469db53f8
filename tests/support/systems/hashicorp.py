"""Servers of hashicorp/raft as the tests begin with them, and what is said to them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from raftref.hashicorp.choices import DEFAULT_FEATURES, Config, Feature, Flaw
from raftref.hashicorp.elections import elect_self, heartbeat_timeout, pre_elect_self
from raftref.hashicorp.failures import start
from raftref.hashicorp.hashicorp_raft import observe
from raftref.hashicorp.leader import dispatch_logs, dispatch_noop
from raftref.hashicorp.messages import (
    AppendEntriesRequest,
    AppendEntriesResponse,
    HeartbeatResponse,
    InstallSnapshotRequest,
    RequestPreVoteRequest,
    RequestPreVoteResponse,
    RequestVoteRequest,
    RequestVoteResponse,
)
from raftref.hashicorp.replication import handle_append_entries_response, most_entries, replicate_to
from raftref.hashicorp.server import Server
from raftref.hashicorp.state import Loop, Role
from raftref.hashicorp.steps import DONE, Effects, Outcome, Result
from raftref.hashicorp.stores import bootstrap_cluster
from raftref.hashicorp.values import ClientLog, Configuration, Entry, EntryType, Index, Log, Snapshot, Term
from raftref.hashicorp.votes import handle_request_pre_vote_response, handle_request_vote_response

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


def server(
    *terms: int,
    node: str = "n1",
    term: int = 0,
    flaws: Collection[Flaw] = (),
    without: Collection[Feature] = (),
    beside: Collection[Feature] = (),
    configuration: Configuration = THREE,
    **bounds: Any,
) -> Server:
    """A follower whose log has the bootstrap's entry, and behind it a command of each of these terms."""
    logs = [Log(Index(index), command(each, f"v{index}")) for index, each in enumerate(terms, start=2)]
    stores = bootstrap_cluster(configuration).store_logs(logs).set(current_term=Term(term or max((1, *terms))))
    given = {"trailing_logs": 2, **bounds}
    config = Config((DEFAULT_FEATURES | set(beside)) - set(without), frozenset(flaws), **given)
    nodes = sorted({*configuration.servers, "n4"})
    made = Server(node, nodes, config, stores)
    start(made)
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


def vote(term: int, src: str = "n2", granted: bool = True) -> RequestVoteResponse:
    return RequestVoteResponse(src, "n1", Term(term), granted)


def pre_vote(term: int, src: str = "n2", granted: bool = True) -> RequestPreVoteResponse:
    return RequestPreVoteResponse(src, "n1", Term(term), granted)


def stored(term: int, src: str = "n2", last_log: int = 0, success: bool = True) -> AppendEntriesResponse:
    return AppendEntriesResponse(src, "n1", Term(term), Index(last_log), success, False)


def beaten(term: int, src: str = "n2", success: bool = True) -> HeartbeatResponse:
    return HeartbeatResponse(src, "n1", Term(term), success)


def only(effects: Effects) -> Any:
    """The one message that a step sent."""
    (m,) = effects.sent
    return m


def stand(node: Server) -> Server:
    """A candidate that may elect itself."""
    heartbeat_timeout(node)
    if node.has(Feature.PRE_VOTE):
        pre_elect_self(node)
        term = node.current_term + 1
        for peer in sorted(node.other_voters):
            if node.loop is not Loop.CAMPAIGN:
                handle_request_pre_vote_response(node, pre_vote(term, peer), DONE)
    return node


def lead(node: Server) -> Server:
    """A leader, elected by everybody, that has appended its no-op."""
    elect_self(stand(node), node.other_voters, DONE)
    for peer in sorted(node.other_voters):
        if node.role is Role.CANDIDATE:
            handle_request_vote_response(node, vote(node.current_term, peer), DONE)
    dispatch_noop(node, DONE)
    return node


def leader(*terms: int, **given: Any) -> Server:
    return lead(server(*terms, **given))


def replicate(node: Server, peer: str) -> AppendEntriesRequest:
    """Send a peer all there is, and let it store that."""
    count = most_entries(node, node.replication(peer).next_index)
    request: AppendEntriesRequest = only(replicate_to(node, peer, count))
    handle_append_entries_response(node, stored(node.current_term, peer))
    return request


def ask_for(node: Server, *values: str) -> Effects:
    """Clients append commands."""
    return dispatch_logs(node, tuple(ClientLog(EntryType.COMMAND, value) for value in values), DONE)


def values(node: Server) -> list[str | None]:
    """The entries that the FSM has applied."""
    return [each.entry.value for each in node.fsm.applied]


def terms(node: Server) -> dict[int, int]:
    """The terms in the log, by index."""
    return {int(index): int(entry.term) for index, entry in sorted(node.log.items())}


def durable(node: Server) -> dict[str, Any]:
    """The durable part of what a server shows."""
    shown = observe(node)
    return {name: shown[name] for name in ("currentTerm", "lastVoteTerm", "lastVoteCand", "log", "snapshots")}
