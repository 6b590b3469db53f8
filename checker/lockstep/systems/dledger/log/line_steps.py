"""What each kind of line tells: the step it is, or what its node shows, and hidden steps that may come before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from lockstep.systems.dledger.log.hidden import Hidden, awaited, compare_index, new_answers
from lockstep.systems.dledger.log.lines import RESTART, LogLine
from lockstep.systems.dledger.log.runs import Run
from lockstep.systems.dledger.log.sightings import Ahead, Goal


@dataclass(frozen=True, slots=True)
class At:
    """One line, a run that explains the lines before, and what is seen ahead."""

    line: LogLine
    run: Run
    nodes: tuple[str, ...]
    ahead: Ahead

    @property
    def hidden(self) -> Hidden:
        """What proposes hidden steps before this line."""
        return Hidden(self.line.label)

    def take(self, run: Run | None, action: str, shows: dict[str, Any], **args: Any) -> Iterator[Run]:
        """Yield the run after the step that the line tells of, if the spec allows it and the node shows this."""
        after = run and run.take(action, self.line.node, shows=shows, **args)
        if after:
            yield after

    def observe(self, run: Run, shows: dict[str, Any]) -> Iterator[Run]:
        """Yield the run, if the node shows what the line says."""
        after = run.observe(self.line.node, shows)
        if after:
            yield after

    def advanced(self, marks: dict[str, int] | None = None) -> Iterator[Run]:
        """Yield the run, gone on under the node's leader to all that will be shown, and to what is sure to be.

        Of who shows nothing for long it is tried that it got as far as the others.
        `marks`: watermarks of the leader that this line shows.
        """
        run, node = self.run, self.line.node
        leader = run.leader_of(node)
        if leader is None:
            return
        goals = {n: self.ahead.goal(n) for n in self.nodes}
        shown = self.ahead.marks(leader, run.of(leader, "currTerm"), self.line, goals)
        limit = goals[node].end
        if limit is None and node != leader:
            committed = goals[node].committed
            limit = run.end(leader) if committed is None else max(run.end(leader), committed)
        even = max([run.end(leader), *(goal.end for goal in goals.values() if goal.end is not None)])
        if limit is not None:  # the others come no further than goes with what this node will show
            end = goals[leader].end
            goals = {n: goal if n == node else goal.within(limit, end) for n, goal in goals.items()}
            shown = {n: min(mark, limit) for n, mark in shown.items()}
            even = min(even, limit)
        if node != leader:  # what the leader will show can wait
            goals[leader], shown = Goal(), {}
        seen = {run.state}
        sure = {n: goal.only_sure() for n, goal in goals.items()}
        all_even = {n: goal if n == leader else goal.or_end(even) for n, goal in goals.items()}
        for chosen in (goals, *([sure] if sure != goals else []), *([all_even] if all_even != goals else [])):
            after = self.hidden.advance(run, leader, chosen, shown | (marks or {}))
            if after.state not in seen:
                seen.add(after.state)
                yield after

    def observe_in_time(self, shows: dict[str, Any]) -> Iterator[Run]:
        """Observe, at once, or after the leader went on."""
        found = list(self.observe(self.run, shows))
        yield from found
        if not found:
            for run in self.advanced():
                yield from self.observe(run, shows)


# ---- Elections ----


def _candidate(at: At) -> Iterator[Run]:
    yield from at.take(at.run, "ChangeToCandidate", {"role": "CANDIDATE", "currTerm": at.line.numbers["term"]})


def _next_term(at: At) -> Iterator[Run]:
    if at.run.of(at.line.node, "currTerm") == at.line.numbers["old"]:
        term = at.line.numbers["term"]
        yield from at.take(at.run, "NextTerm", {"currTerm": term}, term=term)


def _leader(at: At) -> Iterator[Run]:
    """SetCurrVoteFor of a quorum, in every choice, and of no more; then ChangeToLeader."""
    node, pending = at.line.node, [at.run]
    for _vote in range(len(at.nodes) + 1):
        further: dict[Any, Run] = {}
        for run in pending:
            led = list(at.take(run, "ChangeToLeader", {"role": "LEADER", "currTerm": at.line.numbers["term"]}))
            yield from led
            for voter in at.nodes if not led else ():
                if voter not in run.of(node, "votes"):
                    after = run.hide("SetCurrVoteFor", voter, candidate=node)
                    if after:
                        further.setdefault(after.state, after)
        pending = list(further.values())


def _follower(at: At) -> Iterator[Run]:
    leader = at.line.words["leader"]
    if leader in at.nodes:
        shows = {"role": "FOLLOWER", "currTerm": at.line.numbers["term"], "leaderId": leader}
        yield from at.take(at.run, "ChangeToFollower", shows, leader=leader)


def _heartbeat_timeout(at: At) -> Iterator[Run]:
    leader = at.line.words["leader"]
    yield from at.observe(at.run, {"role": "FOLLOWER", "leaderId": None if leader == "null" else leader})


# ---- The leader's dispatchers ----


def _do_compare(at: At) -> Iterator[Run]:
    """DoCompare from the end of the log, which is where later lines say that it was."""
    node, peer = at.line.node, at.line.words["peer"]
    if not at.run.leads(node) or compare_index(at.run, node, peer) != -1:
        return
    ends = at.ahead.compared(node, peer, at.line)
    now = at.run.end(node)
    for end in dict.fromkeys([*(e for e in ends if e > now), now, max(now, 0)]):
        appended = at.hidden.append(at.run, node, end)
        yield from at.take(appended, "DoCompare", {}, peer=peer)


def _change_state(at: At) -> Iterator[Run]:
    peer, old, new = at.line.words["peer"], at.line.words["was"], at.line.words["is"]
    node, index = at.line.node, at.line.numbers["index"]
    if at.run.dispatcher(node, peer, "type") != old:
        return
    if new == "COMPARE":
        yield from _begin_again(at, peer)
        return
    shows = {
        "dispatchers": {
            peer: {"type": new, **({"writeIndex": index + 1} if new == "APPEND" else {"truncateIndex": index})}
        }
    }
    if old == "COMPARE":
        for run in at.hidden.compares(at.run, node, peer):
            for m in run.messages(peer, node, "response", "COMPARE"):
                yield from at.take(run, "HandleCompareResponse", shows, m=m)
    else:
        for m in at.run.messages(peer, node, "response", "TRUNCATE"):
            yield from at.take(at.run, "HandleTruncateResponse", shows, m=m)


def _begin_again(at: At, peer: str) -> Iterator[Run]:
    """To COMPARE: for a new term, which the spec has as part of DoCompare; or without an answer, or after a bad one."""
    node, old = at.line.node, at.line.words["was"]
    shows = {"dispatchers": {peer: {"type": "COMPARE"}}}
    if at.run.leads(node) and at.run.dispatcher(node, peer, "term") != at.run.of(node, "currTerm"):
        yield from at.observe(at.run, {"dispatchers": {peer: {"type": old}}})
        return
    for run in at.hidden.compares(at.run, node, peer):
        yield from at.take(run, "PushTimeOut", shows, peer=peer)
    found = list(_inconsistent(at, at.run, peer, shows))
    if not found and at.run.leads(node):  # an entry that no line tells of
        shown = at.ahead.goal(node).end
        next_ = at.run.dispatcher(node, peer, "writeIndex")
        appended = at.hidden.append(at.run, node, next_ if shown is None else max(shown, next_))
        pushed = appended and at.hidden.push(appended, node, peer, appended.end(node))
        found = list(_inconsistent(at, pushed, peer, shows)) if pushed else []
    yield from found


def _inconsistent(at: At, run: Run, peer: str, shows: dict[str, Any]) -> Iterator[Run]:
    """The peer finds an entry that was pushed to be another, or out of its place, and says so."""
    for m in run.messages(at.line.node, peer, "request", "APPEND"):
        checked = run.hide("CheckAppendFuture", peer, m=m)
        for answer in new_answers(run, checked, peer, at.line.node, "APPEND") if checked else ():
            if answer.d["code"] == "INCONSISTENT_STATE":
                yield from at.take(checked, "HandleAppendResponse", shows, m=answer)


def _dispatcher_error(at: At) -> Iterator[Run]:
    node, peer = at.line.node, at.line.words["peer"]
    told = {"writeIndex": at.line.numbers["write"], "compareIndex": at.line.numbers["compare"]}
    for run in at.hidden.compares(at.run, node, peer):
        yield from at.observe(run, {"dispatchers": {peer: told}})


def _do_truncate(at: At) -> Iterator[Run]:
    node, peer = at.line.node, at.line.words["peer"]
    if at.run.dispatcher(node, peer, "truncateIndex") == at.line.numbers["index"]:
        yield from at.take(at.run, "DoTruncate", {}, peer=peer)


def _retry(at: At) -> Iterator[Run]:
    """DoCheckAppendResponse of the entry behind the peer's watermark."""
    node, peer, index = at.line.node, at.line.words["peer"], at.line.numbers["index"]
    if not at.run.leads(node):
        return
    for run in (at.run, *at.advanced({peer: index - 1})):
        appended = at.hidden.append(run, node, index)
        pushed = appended and at.hidden.push(appended, node, peer, appended.end(node))
        if pushed and pushed.mark(node, peer) == index - 1:
            yield from at.take(pushed, "DoCheckAppendResponse", {}, peer=peer)


# ---- The follower ----


def _handle_compare(at: At) -> Iterator[Run]:
    """HandleDoCompare that finds the logs different; only these are logged."""
    node, index = at.line.node, at.line.numbers["index"]
    shows = {"ledgerEndIndex": at.line.numbers["end"]} if "end" in at.line.numbers else {}
    for leader in at.nodes:
        if leader == node:
            continue
        for run in at.hidden.compares(at.run, leader, node):
            for m in awaited(run, leader, node, "COMPARE"):
                if m.d["index"] == index:
                    for after in at.take(run, "HandleDoCompare", shows, m=m):
                        if any(a.d["code"] != "SUCCESS" for a in new_answers(run, after, node, leader)):
                            yield after


def _handle_truncate(at: At) -> Iterator[Run]:
    node = at.line.node
    for leader in at.nodes:
        for m in at.run.messages(leader, node, "request", "TRUNCATE") if leader != node else ():
            if m.d["index"] == at.line.numbers["index"]:
                yield from at.take(at.run, "HandleDoTruncate", {}, m=m)


# ---- What a node shows ----


def _status(at: At) -> Iterator[Run]:
    numbers = at.line.numbers
    shows: dict[str, Any] = {
        "role": at.line.words["role"],
        "currTerm": numbers["term"],
        "ledgerBeginIndex": numbers["begin"],
        "ledgerEndIndex": numbers["end"],
        "committedIndex": numbers["committed"],
    }
    marks = at.line.marks.get(numbers["term"])  # of other terms the spec knows none
    if not marks:
        yield from at.observe_in_time(shows)
        return
    found = list(at.observe_in_time({**shows, "peerWaterMarks": marks}))
    yield from found
    if not found:  # the leader marks what it stored a moment later, which the spec has in one step
        others = {name: mark for name, mark in marks.items() if name != at.line.node}
        yield from at.observe_in_time({**shows, "peerWaterMarks": others})


def _skip_commit(at: At) -> Iterator[Run]:
    yield from at.observe_in_time({"committedIndex": at.line.numbers["committed"]})


def _restart(at: At) -> Iterator[Run]:
    """Crash, which no line tells of; then Restart.

    The process may have died while it wrote its term or its checkpoint, or between NextTerm and the line of that.
    """
    yield from _started(at, at.run)
    node = at.line.node
    term = at.ahead.term(node, at.line.incarnation)
    if term is not None and term > at.run.of(node, "currTerm"):
        raised = at.run.hide("NextTerm", node, term=term)
        if raised:
            yield from _started(at, raised)


def _started(at: At, before: Run) -> Iterator[Run]:
    node = at.line.node
    end, committed = at.ahead.recovered(node, at.line.incarnation)
    shows = {"role": "CANDIDATE"} | ({} if end is None else {"ledgerEndIndex": end})
    saved = before
    if committed is not None:
        shows["checkPoint"] = committed
        if before.of(node, "committedIndex") == committed != before.of(node, "checkPoint"):
            saved = before.hide("PersistCheckPoint", node) or before
    for run, action in ((saved, "Crash"), (saved, "CrashInPersistTerm"), (before, "CrashInPersistCheckPoint")):
        down = run.hide(action, node)
        if down:
            resurrected = 0 if end is None else max(0, end - down.end(node))
            yield from at.take(down, "Restart", shows, resurrected=resurrected)


def _seen_at_restart(at: At) -> Iterator[Run]:
    yield at.run


Reader = Callable[["At"], Iterator[Run]]

READERS: dict[str, Reader] = {
    "candidate": _candidate,
    "next_term": _next_term,
    "leader": _leader,
    "follower": _follower,
    "heartbeat_timeout": _heartbeat_timeout,
    "do_compare": _do_compare,
    "change_state": _change_state,
    "dispatcher_error": _dispatcher_error,
    "do_truncate": _do_truncate,
    "retry": _retry,
    "handle_compare": _handle_compare,
    "handle_truncate": _handle_truncate,
    "status": _status,
    "skip_commit": _skip_commit,
    RESTART: _restart,
    "recovered_end": _seen_at_restart,
    "recovered_committed": _seen_at_restart,
}

#: Before these the node's leader may have done what the node shows only afterwards.
CHANGES_OF_ROLE = ("candidate", "follower", "leader", RESTART)
