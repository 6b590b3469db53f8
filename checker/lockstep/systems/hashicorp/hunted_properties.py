"""The properties of hashicorp/raft's spec, said of the servers of the reference.

spec/hashicorp/Properties.tla has them in TLA+. After a step only what it can have changed is looked at: the server that
took it, and, where a leader has committed something, the others for that. What held before the step, and is about
entries that the step left alone, still holds. So a property that is about all entries is asked of what has changed
alone, until it has been violated once: from then on it is asked of all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass

from lockstep.systems.hashicorp.hunted_situations import situations
from lockstep.systems.hunted_group import Move, Violation
from raftref.hashicorp.server import Server
from raftref.hashicorp.simulation import Cluster
from raftref.hashicorp.state import Role
from raftref.hashicorp.stores import Stores
from raftref.hashicorp.values import Entry, EntryType, Index, Log, NodeId, Place, Term

#: The properties that are watched, in the order in which they are asked.
PROPERTIES = (
    "IndexOrder",
    "ElectionSafety",
    "LogMatching",
    "LeaderCompleteness",
    "StateMachineSafety",
    "AppliedIsCommitted",
    "LastLogIsEnd",
    "LogAgreesWithSnapshot",
    "OneChangeAtATime",
    "VerifiedLeads",
    "TransferIsOwn",
    "VoteOncePerTermProp",
    "TermsRiseProp",
    "LeaderAppendOnlyProp",
    "CommittedEntriesStayProp",
    "FsmNeverGoesBackProp",
    "SnapshotsRiseProp",
    "CommitMonotonicProp",
)


@dataclass(frozen=True, slots=True)
class _Before:
    """A server before its step."""

    node_id: NodeId
    role: Role
    stores: Stores
    last_snapshot: Place
    commit_index: Index
    fsm_index: Index
    applied: tuple[Log, ...]
    verifying: bool


def _holds(stores: Stores, index: Index, entry: Entry) -> bool:
    return stores.logs.get(index) == entry or any(index <= each.index for each in stores.snapshots)


def _keeps_all(old: Stores, stores: Stores) -> bool:
    """Return whether stores have every entry that they had, and the same snapshots."""
    same_logs = stores.logs is old.logs or old.logs.items() <= stores.logs.items()
    return same_logs and stores.snapshots == old.snapshots


def _said(entry: Entry | None) -> str:
    if entry is None:
        return "nothing"
    what = repr(entry.value) if entry.type is EntryType.COMMAND else entry.type.value
    return f"{what} of term {entry.term}"


class HashicorpWatch:
    """Watches the steps of a group."""

    def __init__(self, cluster: Cluster) -> None:
        """Watch a group from its start."""
        self._cluster = cluster
        #: What leaders have committed, with the term in which the first of them did; the spec's `committed` has every
        #: term in which one did.
        self._committed: dict[tuple[Index, Entry], Term] = {}
        self._elected: dict[Term, NodeId] = {}
        #: The servers that a client has asked whether they lead, when a newer leader had been elected already.
        self._superseded: dict[NodeId, bool] = {}
        #: The indexes of the configurations in the log of each leader, with the log.
        self._configurations: dict[NodeId, tuple[Mapping[Index, Entry], list[Index]]] = {}
        #: The properties that were violated, and are asked of all entries since.
        self._violated: set[str] = set()
        self._before: _Before | None = None

    def before(self, move: Move) -> None:
        """Remember the server that is about to take a step."""
        server = self._cluster.servers[move[0]]
        self._before = _Before(
            server.node_id,
            server.role,
            server.stores,
            server.last_snapshot,
            server.commit_index,
            server.fsm.last.index,
            server.fsm.applied,
            server.verification.active and server.verification.is_verified,
        )

    def after(self, move: Move) -> Iterator[Violation]:
        """Yield what the step has violated."""
        for violation in self._after(move):
            self._violated.add(violation[0])
            yield violation

    def _after(self, move: Move) -> Iterator[Violation]:
        node, action, _ = move
        server, before = self._cluster.servers[node], self._before
        if before is None:
            return
        yield from self._step_properties(server, before)
        yield from self._elections(server, before)
        if action == "VerifyLeader":
            self._superseded[node] = any(term > server.current_term for term in self._elected)
        elif action == "HandleVerify" and before.verifying and self._superseded.get(node, False):
            yield "VerifiedLeads", f"{node} was confirmed as leader of term {server.current_term}, which was over"
        new = list(self._remember_committed(server, before)) if action == "ProcessLogs" else []
        logs_changed = server.stores.logs is not before.stores.logs
        if logs_changed or server.last_snapshot != before.last_snapshot or "LogMatching" in self._violated:
            yield from self._log_matching(server)
        for each in self._cluster.servers.values() if new else (server,):
            yield from self._leader_completeness(each, before, new)
        yield from self._applied(server, before)
        if server.is_up:
            yield from _order(server)
            yield from _ends(server)
        if server.role is Role.LEADER:
            yield from self._leaders(server)

    def _remember_committed(self, server: Server, before: _Before) -> Iterator[tuple[Index, Entry]]:
        """Yield what a leader has committed in its step, and was not committed before."""
        for index in range(before.commit_index + 1, max(server.commit_index, before.commit_index) + 1):
            entry = before.stores.logs.get(Index(index))
            if entry is not None and (Index(index), entry) not in self._committed:
                self._committed[Index(index), entry] = before.stores.current_term
                yield Index(index), entry

    # ---- Properties of steps ----

    def _step_properties(self, server: Server, before: _Before) -> Iterator[Violation]:
        node, stores, old = server.node_id, server.stores, before.stores
        if stores is not old:
            if stores.current_term < old.current_term:
                yield "TermsRiseProp", f"the term of {node} falls from {old.current_term} to {stores.current_term}"
            same_term = stores.last_vote_term == old.last_vote_term and old.last_vote_cand is not None
            if same_term and stores.last_vote_cand != old.last_vote_cand:
                yield (
                    "VoteOncePerTermProp",
                    f"{node} voted for {old.last_vote_cand} in term {old.last_vote_term}, and now for "
                    f"{stores.last_vote_cand}",
                )
            if stores.logs is not old.logs or stores.snapshots is not old.snapshots:
                yield from self._stays(server, before)
        if before.role is Role.SHUTDOWN or not server.is_up:
            return
        if server.fsm.last.index < before.fsm_index:
            yield "FsmNeverGoesBackProp", f"FSM of {node} goes from {before.fsm_index} to {server.fsm.last.index}"
        if server.last_snapshot.index < before.last_snapshot.index:
            yield (
                "SnapshotsRiseProp",
                f"last snapshot of {node} goes from {before.last_snapshot.index} to {server.last_snapshot.index}",
            )
        if server.commit_index < before.commit_index:
            yield (
                "CommitMonotonicProp",
                f"commitIndex of {node} falls to {server.commit_index}",
            )

    def _stays(self, server: Server, before: _Before) -> Iterator[Violation]:
        node, stores, old = server.node_id, server.stores, before.stores
        lost = {} if _keeps_all(old, stores) else self._committed
        for (index, entry), term in lost.items():
            if _holds(old, index, entry) and not _holds(stores, index, entry):
                yield (
                    "CommittedEntriesStayProp",
                    f"{node} held {_said(entry)} at index {index}, committed in term {term}, and has "
                    f"{_said(stores.logs.get(index))} there now",
                )
                break
        leads = before.role is Role.LEADER and server.role is Role.LEADER
        if leads and not old.logs.items() <= stores.logs.items():
            for index, entry in old.logs.items():
                if index > server.last_snapshot.index and stores.logs.get(index) != entry:
                    yield (
                        "LeaderAppendOnlyProp",
                        f"leader {node} had {_said(entry)} at index {index}, and has {_said(stores.logs.get(index))}",
                    )
                    break

    def _elections(self, server: Server, before: _Before) -> Iterator[Violation]:
        if server.role is not Role.LEADER or before.role is Role.LEADER:
            return
        term, node = server.current_term, server.node_id
        first = self._elected.setdefault(term, node)
        if first != node:
            yield "ElectionSafety", f"{first} and {node} were both elected in term {term}"

    # ---- Invariants ----

    def _log_matching(self, server: Server) -> Iterator[Violation]:
        mine = server.log
        for other in self._cluster.servers.values():
            theirs = other.log
            if other is server or theirs is mine:
                continue
            behind = max(server.last_snapshot.index, other.last_snapshot.index)
            both = [index for index in mine.keys() & theirs.keys() if index > behind]
            last = max((index for index in both if mine[index].term == theirs[index].term), default=0)
            for index in sorted(both):
                if index <= last and mine[index] != theirs[index]:
                    yield (
                        "LogMatching",
                        f"{server.node_id} and {other.node_id} have an entry of one term at index {last}, and at "
                        f"{index} {_said(mine[index])} and {_said(theirs[index])}",
                    )
                    break

    def _leader_completeness(
        self, server: Server, before: _Before, new: list[tuple[Index, Entry]]
    ) -> Iterator[Violation]:
        """Ask whether a leader has what is committed: one that goes on, and has lost nothing, what is new alone."""
        if server.role is not Role.LEADER:
            return
        goes_on = before.role is Role.LEADER and before.stores.current_term == server.current_term
        lost_nothing = goes_on and _keeps_all(before.stores, server.stores)
        is_same = server.node_id != before.node_id or lost_nothing
        asked = new if is_same and "LeaderCompleteness" not in self._violated else list(self._committed)
        for index, entry in asked:
            term = self._committed[index, entry]
            if term <= server.current_term and not _holds(server.stores, index, entry):
                yield (
                    "LeaderCompleteness",
                    f"{server.node_id} leads term {server.current_term} and has {_said(server.log.get(index))} at "
                    f"index {index}, where term {term} committed {_said(entry)}",
                )
                return

    def _applied(self, server: Server, before: _Before) -> Iterator[Violation]:
        """Ask whether all that a server applied is committed: of one that has applied more, that alone."""
        applied, known = server.fsm.applied, len(before.applied)
        goes_on = applied is before.applied or applied[:known] == before.applied
        first = known if goes_on and self._violated.isdisjoint(("AppliedIsCommitted", "StateMachineSafety")) else 0
        last = applied[first - 1].index if first else Index(0)
        for log in applied[first:]:
            if log.index <= last:
                yield "AppliedIsCommitted", f"{server.node_id} applies index {log.index} after {last}"
                return
            last = log.index
            if (log.index, log.entry) in self._committed:
                continue
            others = [entry for (index, entry) in self._committed if index == log.index]
            if others:
                yield (
                    "StateMachineSafety",
                    f"{server.node_id} applied {_said(log.entry)} at index {log.index}, where {_said(others[0])} was "
                    "committed",
                )
            yield (
                "AppliedIsCommitted",
                f"{server.node_id} applied {_said(log.entry)} at index {log.index}, which no leader has committed",
            )
            return

    def _leaders(self, server: Server) -> Iterator[Violation]:
        if server.transfer.in_progress and server.transfer.term != server.current_term:
            yield (
                "TransferIsOwn",
                f"{server.node_id} leads term {server.current_term}, and refuses entries for a transfer of term "
                f"{server.transfer.term}",
            )
        first = max(server.last_snapshot.index, 1)
        changes = [
            index
            for index in self._configurations_of(server)
            if index > first and (index, server.log[index]) not in self._committed
        ]
        if len(changes) > 1:
            yield (
                "OneChangeAtATime",
                f"leader {server.node_id} has configurations at {changes} that are not committed",
            )

    def _configurations_of(self, server: Server) -> list[Index]:
        """Return the indexes of the configurations in a server's log."""
        log, found = self._configurations.get(server.node_id, (None, []))
        if log is not server.log:
            found = [index for index, entry in server.log.items() if entry.type is EntryType.CONFIGURATION]
            self._configurations[server.node_id] = server.log, found
        return found

    # ---- Distances ----

    def milestones(self) -> tuple[int, int]:
        """Return how many elections were won so far, and how many entries were committed."""
        return len(self._elected), len(self._committed)

    def situations(self) -> Iterator[Hashable]:
        """Yield the situations of the group."""
        return situations(self._cluster, self._committed)

    def distances(self) -> Mapping[str, float]:
        """Return the measures of how far the group is from calm."""
        servers = list(self._cluster.servers.values())
        order = max(
            (
                max(
                    each.last_snapshot.index - each.last_applied,
                    each.last_applied - each.last_index,
                    each.commit_index - each.last_index,
                )
                for each in servers
                if each.is_up
            ),
            default=0,
        )
        logs = [each.log for each in servers]
        indexes = {index for log in logs for index in log}
        disagreement = sum(len({log[index] for log in logs if index in log}) > 1 for index in indexes)
        lacking = sum(
            2 * sum(_holds(each.stores, index, entry) for each in servers) <= len(servers)
            for index, entry in self._committed
        )
        return {
            "index order": float(order),
            "disagreement of logs": float(disagreement),
            "elections": float(self.milestones()[0]),
            "leaders alive": float(sum(each.role is Role.LEADER for each in servers)),
            "committed": float(len(self._committed)),
            "behind a commit": float(lacking),
        }


def _order(server: Server) -> Iterator[Violation]:
    node, last = server.node_id, server.last_index
    if server.last_snapshot.index > server.last_applied:
        yield "IndexOrder", f"lastSnapshot {server.last_snapshot.index} > lastApplied {server.last_applied} at {node}"
    if server.last_applied > last:
        yield "IndexOrder", f"lastApplied {server.last_applied} > last index {last} at {node}"
    if server.commit_index > last:
        yield "IndexOrder", f"commitIndex {server.commit_index} > last index {last} at {node}"


def _ends(server: Server) -> Iterator[Violation]:
    node, end, place = server.node_id, server.stores.end_of_log(), server.last_snapshot
    if max(server.last_log.index, end.index) > place.index and server.last_log != end:
        yield "LastLogIsEnd", f"lastLog of {node} is {server.last_log.index}, and its log ends at {end.index}"
    entry = server.log.get(place.index)
    if entry is not None and entry.term != place.term:
        yield (
            "LogAgreesWithSnapshot",
            f"{node} has an entry of term {entry.term} at index {place.index}, its snapshot of {place.term}",
        )
    elif server.last_log.index == place.index and server.last_log != place:
        yield (
            "LogAgreesWithSnapshot",
            f"lastLog of {node} is of term {server.last_log.term} at index {place.index}, its snapshot of {place.term}",
        )
