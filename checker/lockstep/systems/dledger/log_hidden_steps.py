"""Steps that no line of a log tells of, chosen so that the nodes come to show what later lines say.

Everything here proposes, and the spec decides: each step is one of the spec's, taken only where it is enabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lockstep.systems.dledger.log_lookahead import Goal
from lockstep.systems.dledger.log_runs import Run
from lockstep.tla.values.kinds import Fcn

#: How many entries are appended at most before one line.
MOST_APPENDED = 2_000

#: How many hidden steps one COMPARE may need, from one line to the next.
COMPARE_STEPS = 12


@dataclass(frozen=True, slots=True)
class Hidden:
    """Proposes hidden steps that explain a line.

    `write_index` tells where the pushing from a leader to a peer comes to, if a later line does.
    """

    write_index: Callable[[str, str], int | None] = lambda _leader, _peer: None

    # ---- One entry ----

    def append(self, run: Run, leader: str, upto: int) -> Run | None:
        """AppendAsLeader, until the leader's log ends at an index; what clients sent is not known.

        An entry has the same name before whatever line it is appended, so that what leads to one state is one.
        """
        if upto - run.end(leader) > MOST_APPENDED:
            return None
        found: Run | None = run
        while found is not None and found.end(leader) < upto:
            value = f"?{leader}.{found.of(leader, 'currTerm')}.{found.end(leader) + 1}"
            found = found.hide("AppendAsLeader", leader, value=value)
        return found

    def push(self, run: Run, leader: str, peer: str, upto: int) -> Run | None:
        """DoAppend, until the entry at an index is pushed, or as far as a later line says that it went."""
        found: Run | None = run
        most = self.write_index(leader, peer)
        upto = upto if most is None else min(upto, most - 1)
        while found is not None and found.dispatcher(leader, peer, "writeIndex") <= upto:
            found = found.hide("DoAppend", leader, peer=peer)
        return found

    def store(self, run: Run, leader: str, peer: str, upto: int, most: int | None = None) -> Run | None:
        """HandleDoAppend, until the peer's log ends at an index; of several pushes of one entry the latest.

        `most`: the committed index that they may tell at most.
        """
        found: Run | None = run
        while found is not None and found.end(peer) < upto:
            index = found.end(peer) + 1
            found = self.push(found, leader, peer, index)
            found = None if found is None else self._handle_append(found, leader, peer, index, most)
        return found

    def store_pushed(self, run: Run, leader: str, peer: str, upto: int) -> Run:
        """HandleDoAppend of what is under way already, until the peer's log ends at an index, or as far as it goes."""
        found: Run | None = run
        while found is not None and found.end(peer) < upto:
            run, found = found, self._handle_append(found, leader, peer, found.end(peer) + 1, None)
        return run if found is None else found

    def _handle_append(self, run: Run, leader: str, peer: str, index: int, most: int | None) -> Run | None:
        for m in reversed(run.messages(leader, peer, "request", "APPEND", index)):
            if most is None or m.d["commitIndex"] <= most:
                after = run.hide("HandleDoAppend", peer, m=m)
                if after is not None and after.end(peer) == index:
                    return after
        return None

    def respond(self, run: Run, leader: str, peer: str, upto: int) -> Run:
        """HandleAppendResponse of what the peer stored, up to an index."""
        for m in run.messages(peer, leader, "response", "APPEND"):
            if m.d["code"] == "SUCCESS" and run.mark(leader, peer) < m.d["index"] <= upto:
                run = run.hide("HandleAppendResponse", leader, m=m) or run
        return run

    def commit_at(self, run: Run, leader: str, peer: str) -> Run | None:
        """DoCommit, with all pushed that there is, and HandleDoCommit."""
        pushed = self.push(run, leader, peer, run.end(leader))
        sent = pushed and pushed.hide("DoCommit", leader, peer=peer)
        if not sent:
            return None
        committed = run.of(leader, "committedIndex")
        for m in sent.messages(leader, peer, "request", "COMMIT"):
            if m.d["commitIndex"] == committed:
                return sent.hide("HandleDoCommit", peer, m=m)
        return None

    # ---- Under one leader ----

    def advance(self, run: Run, leader: str, goals: Mapping[str, Goal], marks: Mapping[str, int]) -> Run:
        """Go on under a leader, towards what its node and its followers will show.

        Arguments: `goals` by node; `marks`, the watermarks that the leader will show, by node.
        Returns a run that is as near to the goals as this leader leads.
        """
        return _Advance(self, leader, goals, marks).go(run)

    # ---- Comparing ----

    def compare_on(self, run: Run, leader: str, peer: str) -> Iterator[Run]:
        """Yield the run after one more hidden step of a COMPARE: sent, found equal, or answered without a change.

        What was sent goes on after its sender leads no more.
        """
        if run.dispatcher(leader, peer, "awaiting") != "COMPARE":
            if run.leads(leader) and compare_index(run, leader, peer) != -1:  # from the end of the log there is a line
                yield from _some(run.hide("DoCompare", leader, peer=peer))
            return
        for m in awaited(run, leader, peer, "COMPARE"):
            after = run.hide("HandleDoCompare", peer, m=m)
            if after is not None and any(a.d["code"] == "SUCCESS" for a in new_answers(run, after, peer, leader)):
                yield after
        for m in run.messages(peer, leader, "response", "COMPARE"):
            after = run.hide("HandleCompareResponse", leader, m=m)
            if after is not None and after.dispatcher(leader, peer, "type") == "COMPARE":
                yield after

    def compares(self, run: Run, leader: str, peer: str) -> Iterator[Run]:
        """Yield the run, and each that hidden steps of the COMPARE under way lead to, the nearest first."""
        nearest, seen = [run], {run.state}
        for _step in range(COMPARE_STEPS + 1):
            yield from nearest
            further = [after for each in nearest for after in self.compare_on(each, leader, peer)]
            nearest = []
            for after in further:
                if after.state not in seen:
                    seen.add(after.state)
                    nearest.append(after)


def compare_index(run: Run, leader: str, peer: str) -> int:
    """Return where DoCompare starts, by the spec's CheckAndFreshState; -1: at the end of the log."""
    fresh = run.spec.evaluate("CheckAndFreshState", run.state, run.state["node"].d[leader], peer)
    index: int = fresh.d["dispatchers"].d[peer].d["compareIndex"]
    return index


def awaited(run: Run, leader: str, peer: str, type_: str) -> list[Fcn]:
    """Return the requests under way whose answer the leader waits for."""
    return [m for m in run.messages(leader, peer, "request", type_) if m.d["awaited"]]


def new_answers(before: Run, after: Run, source: str, target: str, type_: str = "COMPARE") -> list[Fcn]:
    """Return the answers that a step sent."""
    old = before.messages(source, target, "response", type_)
    return [m for m in after.messages(source, target, "response", type_) if m not in old]


def _some(run: Run | None) -> Iterator[Run]:
    if run is not None:
        yield run


class _Advance:
    """One leader, its followers, and where they are to come."""

    def __init__(self, hidden: Hidden, leader: str, goals: Mapping[str, Goal], marks: Mapping[str, int]) -> None:
        self.hidden, self.leader, self.goals, self.marks = hidden, leader, goals, marks

    def go(self, run: Run) -> Run:
        """Commit one index after the other, and tell each follower when it is at the one that it will show."""
        wanted = [index for goal in self.goals.values() for index in (goal.end, goal.committed) if index is not None]
        if max([*wanted, *self.marks.values()], default=-1) - run.end(self.leader) > MOST_APPENDED:
            return run
        peers = [p for p in sorted(self.goals) if p != self.leader and run.leader_of(p) == self.leader]
        while True:
            committed = run.of(self.leader, "committedIndex")
            for peer in peers:
                run = self._tell(run, peer, committed)
            if committed >= self._last_committed(run, peers):
                break
            raised = self._raise(run, peers, committed + 1)
            if raised is None:
                break
            run = raised
        return self._finish(run, peers)

    def _end(self, run: Run, peer: str) -> int:
        """Where the peer's log is to end: where it will, and where its watermark and its committed index will be."""
        goal, mark = self.goals[peer], self.marks.get(peer, -1)
        least = max(mark, -1 if goal.committed is None else goal.committed) if goal.end is None else max(goal.end, mark)
        return max(run.end(peer), least)

    def _last_committed(self, run: Run, peers: list[str]) -> int:
        own = self.goals[self.leader].most_committed
        wanted = [g for p in (*peers, self.leader) if (g := self.goals[p].committed) is not None]
        now: int = run.of(self.leader, "committedIndex")
        return max([now, *wanted] if own is None else [now, own])

    def _tell(self, run: Run, peer: str, committed: int) -> Run:
        """While the committed index is what the peer will show: push all that it will store, or COMMIT."""
        own = self.goals[self.leader].end
        if own is not None and committed in (then := dict(self.goals[peer].then)):
            run = self._pushed(run, peer, min(then[committed], own))
        if self.goals[peer].committed != committed:
            return run
        reach = max(self._end(run, peer), self.goals[peer].reach)
        if run.end(peer) < reach:
            run = self._pushed(run, peer, reach)
        if run.of(peer, "committedIndex") < committed <= run.end(peer) == self._end(run, peer):
            run = self.hidden.commit_at(run, self.leader, peer) or run
        return run

    def _pushed(self, run: Run, peer: str, upto: int) -> Run:
        appended = self.hidden.append(run, self.leader, upto)
        return (appended and self.hidden.push(appended, self.leader, peer, upto)) or run

    def _raise(self, run: Run, peers: list[str], index: int) -> Run | None:
        """Bring an index to a quorum, and commit it."""
        leader, hidden = self.leader, self.hidden
        appended = hidden.append(run, leader, index)
        if appended is None:
            return None
        run = appended
        if run.mark(leader, leader) < index:
            run = run.hide("RefreshOwnWaterMark", leader) or run
        for known in (True, False):
            for peer in peers:
                if (self._end(run, peer) >= index) is known and (known or self.goals[peer].end is None):
                    run = self._stored(run, peer, index)
            for peer in self.goals:
                if peer != leader:
                    run = hidden.respond(run, leader, peer, min(index, self.marks.get(peer, index)))
            after = run.hide("QuorumAckChecker", leader)
            if after is not None and after.of(leader, "committedIndex") >= index:
                return after
        return None

    def _stored(self, run: Run, peer: str, index: int) -> Run:
        most = self.goals[peer].most_committed
        return self.hidden.store(run, self.leader, peer, index, most) or run

    def _finish(self, run: Run, peers: list[str]) -> Run:
        leader, hidden = self.leader, self.hidden
        own = self.goals[leader].end
        ends = [end for p in peers if (end := self._end(run, p)) > run.end(p)]
        run = hidden.append(run, leader, max([run.end(leader) if own is None else own, *ends])) or run
        if run.mark(leader, leader) < self.marks.get(leader, -1):
            run = run.hide("RefreshOwnWaterMark", leader) or run
        committed = run.of(leader, "committedIndex")
        for peer in peers:
            run = self._stored(run, peer, self._end(run, peer))
            if self.goals[peer].committed == committed > run.of(peer, "committedIndex"):
                run = hidden.commit_at(run, leader, peer) or run
            run = hidden.push(run, leader, peer, run.end(leader)) or run
        for peer, mark in self.marks.items():
            if peer in self.goals and peer != leader:
                run = hidden.respond(run, leader, peer, mark)
        return run
