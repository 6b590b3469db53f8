"""Hidden steps, which no line of a log shows, chosen so that the nodes come to show what later lines say.

They are proposals, and the spec decides: each step is one of the spec's, taken only where it is enabled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lockstep.systems.dledger.log_chains import Chain
from lockstep.systems.dledger.log_lookahead import Goal
from lockstep.tla.values.kinds import Fcn

#: The number of entries that may be appended before one line.
MAX_APPENDED = 2_000

#: The number of hidden steps that one COMPARE may take, from one line to the next.
MAX_COMPARE_STEPS = 12


@dataclass(frozen=True, slots=True)
class StepProposals:
    """Proposals of hidden steps that explain a line.

    `write_index` returns the write index that a leader reaches for a peer, if a later line shows it.
    """

    write_index: Callable[[str, str], int | None] = lambda _leader, _peer: None

    # ---- One entry ----

    def append(self, chain: Chain, leader: str, upto: int) -> Chain | None:
        """AppendAsLeader, until the leader's log ends at an index; the values of clients are not known.

        An entry has the same value before whatever line it is appended, so that equal states are one.
        """
        if upto - chain.end(leader) > MAX_APPENDED:
            return None
        found: Chain | None = chain
        while found is not None and found.end(leader) < upto:
            value = f"?{leader}.{found.field(leader, 'currTerm')}.{found.end(leader) + 1}"
            found = found.hide("AppendAsLeader", leader, value=value)
        return found

    def push(self, chain: Chain, leader: str, peer: str, upto: int) -> Chain | None:
        """DoAppend, until the entry at an index is pushed, or all before the write index that a later line shows."""
        found: Chain | None = chain
        most = self.write_index(leader, peer)
        upto = upto if most is None else min(upto, most - 1)
        while found is not None and found.dispatcher(leader, peer, "writeIndex") <= upto:
            found = found.hide("DoAppend", leader, peer=peer)
        return found

    def store(self, chain: Chain, leader: str, peer: str, upto: int, most: int | None = None) -> Chain | None:
        """HandleDoAppend, until the peer's log ends at an index; of several pushes of one entry the latest.

        `most`: the highest committed index that they may carry.
        """
        found: Chain | None = chain
        while found is not None and found.end(peer) < upto:
            index = found.end(peer) + 1
            found = self.push(found, leader, peer, index)
            found = None if found is None else self._handle_append(found, leader, peer, index, most)
        return found

    def store_pushed(self, chain: Chain, leader: str, peer: str, upto: int) -> Chain:
        """HandleDoAppend of pushes under way, until the peer's log ends at an index, or as far as they go."""
        found: Chain | None = chain
        while found is not None and found.end(peer) < upto:
            chain, found = found, self._handle_append(found, leader, peer, found.end(peer) + 1, None)
        return chain if found is None else found

    def _handle_append(self, chain: Chain, leader: str, peer: str, index: int, most: int | None) -> Chain | None:
        for m in reversed(chain.messages(leader, peer, "request", "APPEND", index)):
            if most is None or m.d["commitIndex"] <= most:
                after = chain.hide("HandleDoAppend", peer, m=m)
                if after is not None and after.end(peer) == index:
                    return after
        return None

    def respond(self, chain: Chain, leader: str, peer: str, upto: int) -> Chain:
        """HandleAppendResponse of stored entries, up to an index."""
        for m in chain.messages(peer, leader, "response", "APPEND"):
            if m.d["code"] == "SUCCESS" and chain.mark(leader, peer) < m.d["index"] <= upto:
                chain = chain.hide("HandleAppendResponse", leader, m=m) or chain
        return chain

    def commit_at(self, chain: Chain, leader: str, peer: str) -> Chain | None:
        """DoCommit, once all entries are pushed, and HandleDoCommit."""
        pushed = self.push(chain, leader, peer, chain.end(leader))
        sent = pushed and pushed.hide("DoCommit", leader, peer=peer)
        if not sent:
            return None
        committed = chain.field(leader, "committedIndex")
        for m in sent.messages(leader, peer, "request", "COMMIT"):
            if m.d["commitIndex"] == committed:
                return sent.hide("HandleDoCommit", peer, m=m)
        return None

    # ---- Under one leader ----

    def advance(self, chain: Chain, leader: str, goals: Mapping[str, Goal], marks: Mapping[str, int]) -> Chain:
        """Return the chain that goes on under a leader, as near to the goals as this leader leads.

        Arguments: `goals` by node; `marks`, the watermarks that the leader will show, by node.
        """
        return _Advance(self, leader, goals, marks).go(chain)

    # ---- Comparing ----

    def compare_on(self, chain: Chain, leader: str, peer: str) -> Iterator[Chain]:
        """Yield the chains with one more hidden step of a COMPARE: sent, found equal, or answered without a change.

        A COMPARE that was sent goes on after its sender leads no more.
        """
        if chain.dispatcher(leader, peer, "awaiting") != "COMPARE":
            if (
                chain.leads(leader) and compare_index(chain, leader, peer) != -1
            ):  # from the end of the log there is a line
                yield from _some(chain.hide("DoCompare", leader, peer=peer))
            return
        for m in awaited(chain, leader, peer, "COMPARE"):
            after = chain.hide("HandleDoCompare", peer, m=m)
            if after is not None and any(a.d["code"] == "SUCCESS" for a in new_answers(chain, after, peer, leader)):
                yield after
        for m in chain.messages(peer, leader, "response", "COMPARE"):
            after = chain.hide("HandleCompareResponse", leader, m=m)
            if after is not None and after.dispatcher(leader, peer, "type") == "COMPARE":
                yield after

    def compares(self, chain: Chain, leader: str, peer: str) -> Iterator[Chain]:
        """Yield the chain, and those that hidden steps of the COMPARE under way lead to, the nearest first."""
        nearest, seen = [chain], {chain.state}
        for _step in range(MAX_COMPARE_STEPS + 1):
            yield from nearest
            further = [after for each in nearest for after in self.compare_on(each, leader, peer)]
            nearest = []
            for after in further:
                if after.state not in seen:
                    seen.add(after.state)
                    nearest.append(after)


def compare_index(chain: Chain, leader: str, peer: str) -> int:
    """Return the index where DoCompare starts, by the spec's CheckAndFreshState; -1: at the end of the log."""
    fresh = chain.spec.evaluate("CheckAndFreshState", chain.state, chain.state["node"].d[leader], peer)
    index: int = fresh.d["dispatchers"].d[peer].d["compareIndex"]
    return index


def awaited(chain: Chain, leader: str, peer: str, type_: str) -> list[Fcn]:
    """Return the requests under way whose answer the leader waits for."""
    return [m for m in chain.messages(leader, peer, "request", type_) if m.d["awaited"]]


def new_answers(before: Chain, after: Chain, source: str, target: str, type_: str = "COMPARE") -> list[Fcn]:
    """Return the answers that a step sent."""
    old = before.messages(source, target, "response", type_)
    return [m for m in after.messages(source, target, "response", type_) if m not in old]


def _some(chain: Chain | None) -> Iterator[Chain]:
    if chain is not None:
        yield chain


class _Advance:
    """The advance of one leader and its followers towards their goals."""

    def __init__(self, hidden: StepProposals, leader: str, goals: Mapping[str, Goal], marks: Mapping[str, int]) -> None:
        self.hidden, self.leader, self.goals, self.marks = hidden, leader, goals, marks

    def go(self, chain: Chain) -> Chain:
        """Commit one index after the other, and let each follower learn the one that it will show."""
        wanted = [index for goal in self.goals.values() for index in (goal.end, goal.committed) if index is not None]
        if max([*wanted, *self.marks.values()], default=-1) - chain.end(self.leader) > MAX_APPENDED:
            return chain
        peers = [p for p in sorted(self.goals) if p != self.leader and chain.leader_of(p) == self.leader]
        while True:
            committed = chain.field(self.leader, "committedIndex")
            for peer in peers:
                chain = self._let_learn(chain, peer, committed)
            if committed >= self._last_committed(chain, peers):
                break
            raised = self._raise(chain, peers, committed + 1)
            if raised is None:
                break
            chain = raised
        return self._finish(chain, peers)

    def _end(self, chain: Chain, peer: str) -> int:
        """Return the index where the peer's log is to end: its end, watermark and committed index in later lines."""
        goal, mark = self.goals[peer], self.marks.get(peer, -1)
        least = max(mark, -1 if goal.committed is None else goal.committed) if goal.end is None else max(goal.end, mark)
        return max(chain.end(peer), least)

    def _last_committed(self, chain: Chain, peers: list[str]) -> int:
        own = self.goals[self.leader].most_committed
        wanted = [g for p in (*peers, self.leader) if (g := self.goals[p].committed) is not None]
        now: int = chain.field(self.leader, "committedIndex")
        return max([now, *wanted] if own is None else [now, own])

    def _let_learn(self, chain: Chain, peer: str, committed: int) -> Chain:
        """Push all that the peer will store, or COMMIT, while the committed index is the one that it will show."""
        own = self.goals[self.leader].end
        if own is not None and committed in (then := dict(self.goals[peer].then)):
            chain = self._pushed(chain, peer, min(then[committed], own))
        if self.goals[peer].committed != committed:
            return chain
        reach = max(self._end(chain, peer), self.goals[peer].reach)
        if chain.end(peer) < reach:
            chain = self._pushed(chain, peer, reach)
        if chain.field(peer, "committedIndex") < committed <= chain.end(peer) == self._end(chain, peer):
            chain = self.hidden.commit_at(chain, self.leader, peer) or chain
        return chain

    def _pushed(self, chain: Chain, peer: str, upto: int) -> Chain:
        appended = self.hidden.append(chain, self.leader, upto)
        return (appended and self.hidden.push(appended, self.leader, peer, upto)) or chain

    def _raise(self, chain: Chain, peers: list[str], index: int) -> Chain | None:
        """Bring an index to a quorum, and commit it."""
        leader, hidden = self.leader, self.hidden
        appended = hidden.append(chain, leader, index)
        if appended is None:
            return None
        chain = appended
        if chain.mark(leader, leader) < index:
            chain = chain.hide("RefreshOwnWaterMark", leader) or chain
        for known in (True, False):
            for peer in peers:
                if (self._end(chain, peer) >= index) is known and (known or self.goals[peer].end is None):
                    chain = self._stored(chain, peer, index)
            for peer in self.goals:
                if peer != leader:
                    chain = hidden.respond(chain, leader, peer, min(index, self.marks.get(peer, index)))
            after = chain.hide("QuorumAckChecker", leader)
            if after is not None and after.field(leader, "committedIndex") >= index:
                return after
        return None

    def _stored(self, chain: Chain, peer: str, index: int) -> Chain:
        most = self.goals[peer].most_committed
        return self.hidden.store(chain, self.leader, peer, index, most) or chain

    def _finish(self, chain: Chain, peers: list[str]) -> Chain:
        leader, hidden = self.leader, self.hidden
        own = self.goals[leader].end
        ends = [end for p in peers if (end := self._end(chain, p)) > chain.end(p)]
        chain = hidden.append(chain, leader, max([chain.end(leader) if own is None else own, *ends])) or chain
        if chain.mark(leader, leader) < self.marks.get(leader, -1):
            chain = chain.hide("RefreshOwnWaterMark", leader) or chain
        committed = chain.field(leader, "committedIndex")
        for peer in peers:
            chain = self._stored(chain, peer, self._end(chain, peer))
            if self.goals[peer].committed == committed > chain.field(peer, "committedIndex"):
                chain = hidden.commit_at(chain, leader, peer) or chain
            chain = hidden.push(chain, leader, peer, chain.end(leader)) or chain
        for peer, mark in self.marks.items():
            if peer in self.goals and peer != leader:
                chain = hidden.respond(chain, leader, peer, mark)
        return chain
