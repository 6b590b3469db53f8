"""The properties of DLedger's spec, said of the servers of the reference: spec/dledger/Properties.tla has them in TLA+.

After a step only what it can have changed is looked at. The node that took it is the only one whose log, indexes or
role have changed; what leaders have committed and what clients were answered for is about all nodes. What held before
the step, and is about entries that the step left alone, still holds. So a property that is about all entries is asked
of the entries behind the first change alone, until it has been violated once: from then on it is asked of all.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from lockstep.systems.dledger.hunted_situations import situations
from lockstep.systems.hunted_group import Move, Violation, common_length
from raftref.dledger.messages import Entry, Index, NodeId, Term
from raftref.dledger.quorum import is_quorum
from raftref.dledger.server import Server
from raftref.dledger.simulation import Cluster
from raftref.dledger.state import QuorumPass, Role
from raftref.dledger.store import Log

#: The first index of a log.
FROM_THE_START = 0

#: The properties that are watched, in the order in which they are asked.
PROPERTIES = (
    "IndexOrder",
    "ElectionSafety",
    "LogMatching",
    "NoHoles",
    "LeaderCompleteness",
    "StateMachineSafety",
    "AcknowledgedIsDurable",
    "AppliedIsCommitted",
    "CommittedEntriesStayProp",
    "CommittedMonotonicProp",
    "WatermarkMonotonicWithinTermProp",
    "LeaderAppendOnlyProp",
    "VoteOncePerTermProp",
    "RecoveryKeepsLogProp",
)

#: The steps by which a leader commits.
_COMMITTING = ("QuorumAckChecker", "ActOnQuorumIndex")


@dataclass(frozen=True, slots=True)
class _Before:
    """A node before its step."""

    node_id: NodeId
    role: Role
    term: Term
    vote: NodeId | None
    log: Log
    committed_index: Index
    water_marks: Mapping[NodeId, Index]
    checking: QuorumPass | None


@dataclass(frozen=True, slots=True)
class _Committed:
    """An entry that a leader of a term has committed at an index."""

    term: Term
    index: Index
    entry: Entry | None


def _holds(log: Log, index: Index, entry: Entry | None) -> bool:
    return entry is not None and 0 <= index < len(log) and log[index] == entry


def _at(log: Log, index: int) -> str:
    if not 0 <= index < len(log):
        return "nothing"
    entry = log[index]
    return "a hole" if entry is None else f"{entry.value!r} of term {entry.term}"


class DLedgerWatch:
    """Watches the steps of a group."""

    def __init__(self, cluster: Cluster) -> None:
        """Watch a group from its start."""
        self._cluster = cluster
        #: What leaders have committed, in the order in which they did; the spec's `committed`.
        self._committed: dict[_Committed, None] = {}
        #: The same by their indexes.
        self._committed_at: dict[int, list[_Committed]] = {}
        #: What clients were answered for, by its indexes.
        self._acknowledged: dict[int, list[Entry]] = {}
        self._acknowledged_count = 0
        #: The properties that were violated, and are asked of all entries since.
        self._violated: set[str] = set()
        self._before: _Before | None = None

    def before(self, move: Move) -> None:
        """Remember the node that is about to take a step."""
        server = self._cluster.servers[move[0]]
        state, store = server.member_state, server.ledger_store
        self._before = _Before(
            server.node_id,
            state.role,
            state.curr_term,
            state.curr_vote_for,
            store.log,
            store.committed_index,
            dict(server.peer_water_marks),
            server.checking,
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
        log = server.ledger_store.log
        first = common_length(before.log, log)
        yield from self._step_properties(server, before, first)
        new = list(self._remember_committed(server, before, action)) if action in _COMMITTING else []
        log_changed = log is not before.log
        yield from _index_order(server)
        yield from self._election_safety(server, before)
        if log_changed:
            yield from self._log_matching(server, first)
            yield from _no_holes(server, self._first("NoHoles", first))
        for each in self._cluster.servers.values() if new else (server,):
            yield from self._leader_completeness(each, before, new, first)
            yield from self._state_machine_safety(each, before, new, first)
        if len(self._cluster.acknowledged) > self._acknowledged_count:
            first = min(first, self._remember_acknowledged())
            log_changed = True
        if log_changed:
            yield from self._acknowledged_is_durable(first)
        if server.last_applied_index > server.ledger_store.committed_index:
            yield (
                "AppliedIsCommitted",
                f"lastAppliedIndex {server.last_applied_index} > committedIndex "
                f"{server.ledger_store.committed_index} at {node}",
            )

    def _first(self, name: str, changed: int) -> int:
        """Return the first index that a property is asked about, given the first that has changed."""
        return FROM_THE_START if name in self._violated else changed

    def _remember_committed(self, server: Server, before: _Before, action: str) -> Iterator[_Committed]:
        """Yield what a leader has committed in its step, and was not committed before."""
        term = before.term
        if action == "ActOnQuorumIndex" and before.checking is not None:
            term = before.checking.term
        for index in range(before.committed_index + 1, server.ledger_store.committed_index + 1):
            entry = before.log[index] if index < len(before.log) else None
            found = _Committed(term, Index(index), entry)
            if found not in self._committed:
                self._committed[found] = None
                self._committed_at.setdefault(index, []).append(found)
                yield found

    def _committed_from(self, first: int) -> Iterable[_Committed]:
        """Return what leaders have committed at an index and behind it."""
        if first == FROM_THE_START:
            return self._committed
        last = max(self._committed_at, default=-1)
        return [each for index in range(first, last + 1) for each in self._committed_at.get(index, ())]

    def _remember_acknowledged(self) -> int:
        """Note what clients were newly answered for; return its first index."""
        self._acknowledged_count = len(self._cluster.acknowledged)
        known = self._acknowledged
        new = [each for each in self._cluster.acknowledged if each[1] not in known.get(each[0], ())]
        for index, entry in new:
            known.setdefault(index, []).append(entry)
        return min((index for index, _ in new), default=FROM_THE_START)

    # ---- Properties of steps ----

    def _step_properties(self, server: Server, before: _Before, first: int) -> Iterator[Violation]:
        node, store, state = server.node_id, server.ledger_store, server.member_state
        runs = before.role is not Role.DOWN and server.is_up
        if store.log is not before.log and not first == len(before.log) == len(store.log):
            for each in self._committed_from(first):
                if _holds(before.log, each.index, each.entry) and not _holds(store.log, each.index, each.entry):
                    was = _at(before.log, each.index)
                    yield (
                        "CommittedEntriesStayProp",
                        f"{node} held {was} at index {each.index}, committed in term {each.term}, and has "
                        f"{_at(store.log, each.index)} there now",
                    )
                    break
            if before.role is Role.LEADER and server.is_leader and first < len(before.log):
                yield "LeaderAppendOnlyProp", f"leader {node} no longer has a log that begins with the one it had"
            if before.role is Role.DOWN and server.is_up:
                yield (
                    "RecoveryKeepsLogProp",
                    f"{node} went down with {len(before.log)} entries, and comes back with {len(store.log)}"
                    if len(before.log) != len(store.log)
                    else f"{node} comes back with another log than it went down with",
                )
        if runs and store.committed_index < before.committed_index:
            yield (
                "CommittedMonotonicProp",
                f"committedIndex of {node} falls from {before.committed_index} to {store.committed_index}",
            )
        if state.curr_term != before.term:
            return
        if runs:
            for peer, mark in before.water_marks.items():
                if server.peer_water_marks[peer] < mark:
                    yield (
                        "WatermarkMonotonicWithinTermProp",
                        f"watermark of {peer} at {node} falls from {mark} to {server.peer_water_marks[peer]}",
                    )
        if before.vote is not None and state.curr_vote_for != before.vote:
            yield (
                "VoteOncePerTermProp",
                f"{node} voted for {before.vote} in term {before.term}, and now for {state.curr_vote_for}",
            )

    # ---- Invariants ----

    def _election_safety(self, server: Server, before: _Before) -> Iterator[Violation]:
        if not server.is_leader or before.role is Role.LEADER:
            return
        term = server.member_state.curr_term
        led = {each.leader for each in self._cluster.elected if each.term == term} | {server.node_id}
        if len(led) > 1:
            yield "ElectionSafety", f"{' and '.join(sorted(led))} were both elected in term {term}"

    def _log_matching(self, server: Server, first: int) -> Iterator[Violation]:
        log, start = server.ledger_store.log, max(self._first("LogMatching", first) - 1, 0)
        for other in self._cluster.servers.values():
            theirs = other.ledger_store.log
            if other is server or log is theirs:
                continue
            equal_before = True
            for index, (mine, its) in enumerate(zip(log[start:], theirs[start:], strict=False), start=start):
                equal = mine is not None and mine == its
                if equal and not equal_before:
                    yield (
                        "LogMatching",
                        f"{server.node_id} and {other.node_id} both hold {_at(log, index)} at index {index}, and at "
                        f"{index - 1} {_at(log, index - 1)} and {_at(theirs, index - 1)}",
                    )
                    break
                equal_before = equal

    def _leader_completeness(
        self, server: Server, before: _Before, new: list[_Committed], first: int
    ) -> Iterator[Violation]:
        """Ask whether a leader has what is committed: a new one all of it, one that goes on what has changed."""
        if not server.is_leader:
            return
        term, log = server.member_state.curr_term, server.ledger_store.log
        asked: Iterable[_Committed] = new
        if server.node_id == before.node_id:
            goes_on = before.role is Role.LEADER and before.term == term
            asked = [*self._committed_from(first), *new] if goes_on and first else self._committed
        if "LeaderCompleteness" in self._violated:
            asked = self._committed
        for each in asked:
            if each.term <= term and not _holds(log, each.index, each.entry):
                value = "a hole" if each.entry is None else repr(each.entry.value)
                yield (
                    "LeaderCompleteness",
                    f"{server.node_id} leads term {term} and has {_at(log, each.index)} at index {each.index}, where "
                    f"term {each.term} committed {value}",
                )
                return

    def _state_machine_safety(
        self, server: Server, before: _Before, new: list[_Committed], first: int
    ) -> Iterator[Violation]:
        log = server.ledger_store.log
        last = min(server.ledger_store.committed_index, len(log) - 1)
        asked: Iterable[_Committed] = new
        if server.node_id == before.node_id:
            asked = [*self._committed_from(min(first, before.committed_index + 1)), *new]
        if "StateMachineSafety" in self._violated:
            asked = self._committed
        for each in asked:
            if each.index <= last and log[each.index] != each.entry:
                value = "a hole" if each.entry is None else f"{each.entry.value!r} of term {each.entry.term}"
                yield (
                    "StateMachineSafety",
                    f"{server.node_id} regards {_at(log, each.index)} as committed at index {each.index}, where term "
                    f"{each.term} committed {value}",
                )
                return

    def _acknowledged_is_durable(self, first: int) -> Iterator[Violation]:
        logs = [each.ledger_store.log for each in self._cluster.servers.values()]
        first = self._first("AcknowledgedIsDurable", first)
        for index in range(first, max(self._acknowledged, default=-1) + 1):
            for entry in self._acknowledged.get(index, ()):
                count = sum(_holds(log, Index(index), entry) for log in logs)
                if not is_quorum(count, len(logs)):
                    yield (
                        "AcknowledgedIsDurable",
                        f"a client was answered for {entry.value!r} at index {index}, which {count} of {len(logs)} "
                        "nodes store",
                    )
                    return

    # ---- Distances ----

    def milestones(self) -> tuple[int, int]:
        """Return how many elections were won so far, and how many entries were committed."""
        return len(self._cluster.elected), len(self._committed)

    def situations(self) -> Iterator[Hashable]:
        """Yield the situations of the group."""
        return situations(self._cluster, {(each.index, each.entry): None for each in self._committed})

    def distances(self) -> Mapping[str, float]:
        """Return the measures of how far the group is from calm."""
        servers = list(self._cluster.servers.values())
        logs = [each.ledger_store.log for each in servers]
        order = max(
            (
                max(
                    each.last_quorum_index - each.ledger_store.committed_index,
                    each.ledger_store.committed_index - each.ledger_store.end_index,
                )
                for each in servers
            ),
            default=0,
        )
        return {
            "index order": float(order),
            "disagreement of logs": float(_disagreement(logs)),
            "elections": float(self.milestones()[0]),
            "leaders alive": float(sum(each.is_leader for each in servers)),
            "committed": float(len(self._committed)),
            "behind a commit": float(self._lacking()),
        }

    def _lacking(self) -> int:
        """Count the committed entries that a quorum does not hold."""
        logs = [each.ledger_store.log for each in self._cluster.servers.values()]
        count = 0
        for each in self._committed:
            holding = sum(_holds(log, each.index, each.entry) for log in logs)
            count += not is_quorum(holding, len(logs))
        return count


def _index_order(server: Server) -> Iterator[Violation]:
    store, node = server.ledger_store, server.node_id
    if server.last_quorum_index > store.committed_index:
        values = f"lastQuorumIndex {server.last_quorum_index} > committedIndex {store.committed_index}"
        yield "IndexOrder", f"{values} at {node}"
    if store.committed_index > store.end_index:
        yield "IndexOrder", f"committedIndex {store.committed_index} > ledgerEndIndex {store.end_index} at {node}"


def _no_holes(server: Server, first: int) -> Iterator[Violation]:
    if any(each is None for each in server.ledger_store.log[first:]):
        yield "NoHoles", f"{server.node_id} has a hole at index {server.ledger_store.log.index(None)}"


def _disagreement(logs: list[Log]) -> int:
    """Return the number of indexes at which two logs hold different entries."""
    most = max(map(len, logs), default=0)
    return sum(len({log[index] for log in logs if index < len(log)}) > 1 for index in range(most))
