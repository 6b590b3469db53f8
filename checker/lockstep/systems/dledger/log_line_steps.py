"""What each kind of line tells: the step it is, or what its node shows, and hidden steps that may come before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lockstep.systems.dledger.log_hidden_steps import compare_index, new_answers
from lockstep.systems.dledger.log_line_context import At
from lockstep.systems.dledger.log_lines import RESTART
from lockstep.systems.dledger.log_runs import Run

# ---- Elections ----


def _candidate(at: At) -> Iterator[Run]:
    yield from at.take(at.run, "ChangeToCandidate", {"role": "CANDIDATE", "currTerm": at.line.numbers["term"]})


def _next_term(at: At) -> Iterator[Run]:
    if at.run.of(at.line.node, "currTerm") == at.line.numbers["old"]:
        term = at.line.numbers["term"]
        for run in at.voted():
            yield from at.take(run, "NextTerm", {"currTerm": term}, term=term)


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
    ends = at.ahead.may_compare(node, peer, at.line)
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
        if at.run.dispatcher(node, peer, "awaiting") == "NOTHING":
            return  # or the call of the old term has ended
    for run in at.hidden.compares(at.run, node, peer):
        yield from at.take(run, "PushTimeOut", shows, peer=peer)
    found = list(_inconsistent(at, at.run, peer, shows))
    yield from found
    if at.run.leads(node) and (old == "APPEND" or not found):
        for run in (at.run, *at.advanced()):
            yield from _refused(at, run, peer, shows)


def _refused(at: At, run: Run, peer: str, shows: dict[str, Any]) -> Iterator[Run]:
    """All that there is is pushed, and one entry that no line tells of, if need be, and the peer refuses some of it."""
    node = at.line.node
    told = at.ahead.write_index(node, peer)
    begun = run if told is None else at.hidden.append(run, node, told - 1) or run
    pushed = at.hidden.push(begun, node, peer, begun.end(node)) or begun
    found = list(_inconsistent(at, pushed, peer, shows))
    if not found:
        shown = at.ahead.goal(node).end
        next_ = run.dispatcher(node, peer, "writeIndex")
        appended = at.hidden.append(run, node, next_ if shown is None else max(shown, next_))
        pushed_too = appended and at.hidden.push(appended, node, peer, appended.end(node))
        found = list(_inconsistent(at, pushed_too, peer, shows)) if pushed_too else []
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
    """DoTruncate, which tells the committed index; what led to that may be hidden."""
    node, peer = at.line.node, at.line.words["peer"]
    if at.run.dispatcher(node, peer, "truncateIndex") == at.line.numbers["index"]:
        for run in (at.run, *at.committed(peer)):
            yield from at.take(run, "DoTruncate", {}, peer=peer)


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
        stored = at.hidden.store_pushed(at.run, leader, node, at.line.numbers.get("end", -1))
        for run in at.hidden.compares(stored, leader, node):
            for m in run.messages(leader, node, "request", "COMPARE", index):
                if not run.spec.evaluate("HoldsEntryOf", run.state, run.state["node"].d[node], m):
                    yield from at.take(run, "HandleDoCompare", shows, m=m)


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
    for run in at.voted():
        yield from _started(at, run)
    node = at.line.node
    term = at.ahead.term(node, at.line.incarnation)
    if term is not None and term > at.run.of(node, "currTerm"):
        raised = at.run.hide("NextTerm", node, term=term)
        if raised:
            yield from _started(at, raised)


def _started(at: At, before: Run) -> Iterator[Run]:
    node = at.line.node
    end, committed = at.ahead.recovered(node, at.line.incarnation)
    term = at.ahead.term(node, at.line.incarnation)
    shows = {"role": "CANDIDATE"} | ({} if end is None else {"ledgerEndIndex": end})
    if term is not None:
        shows["currTerm"] = term
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
