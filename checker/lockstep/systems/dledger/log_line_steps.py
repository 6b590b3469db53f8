"""The steps of each kind of line: its own step or observation, and the hidden ones that may come before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lockstep.systems.dledger.log_chains import Chain
from lockstep.systems.dledger.log_hidden_steps import compare_index, new_answers
from lockstep.systems.dledger.log_line_context import LineContext
from lockstep.systems.dledger.log_lines import NO_LEADER, RESTART

# ---- Elections ----


def _candidate(at: LineContext) -> Iterator[Chain]:
    yield from at.take(at.chain, "ChangeToCandidate", {"role": "CANDIDATE", "currTerm": at.line.numbers["term"]})


def _next_term(at: LineContext) -> Iterator[Chain]:
    if at.chain.field(at.line.node, "currTerm") == at.line.numbers["old"]:
        term = at.line.numbers["term"]
        for chain in at.voted():
            yield from at.take(chain, "NextTerm", {"currTerm": term}, term=term)


def _leader(at: LineContext) -> Iterator[Chain]:
    """SetCurrVoteFor of a quorum, in every choice, and of no more; then ChangeToLeader."""
    node, pending = at.line.node, [at.chain]
    for _vote in range(len(at.nodes) + 1):
        further: dict[Any, Chain] = {}
        for chain in pending:
            led = list(at.take(chain, "ChangeToLeader", {"role": "LEADER", "currTerm": at.line.numbers["term"]}))
            yield from led
            for voter in at.nodes if not led else ():
                if voter not in chain.field(node, "votes"):
                    after = chain.hide("SetCurrVoteFor", voter, candidate=node)
                    if after:
                        further.setdefault(after.state, after)
        pending = list(further.values())


def _follower(at: LineContext) -> Iterator[Chain]:
    leader = at.line.words["leader"]
    if leader in at.nodes:
        shows = {"role": "FOLLOWER", "currTerm": at.line.numbers["term"], "leaderId": leader}
        yield from at.take(at.chain, "ChangeToFollower", shows, leader=leader)


def _heartbeat_timeout(at: LineContext) -> Iterator[Chain]:
    leader = at.line.words["leader"]
    yield from at.observe(at.chain, {"role": "FOLLOWER", "leaderId": None if leader == NO_LEADER else leader})


# ---- The leader's dispatchers ----


def _do_compare(at: LineContext) -> Iterator[Chain]:
    """DoCompare from the end of the log, which later lines show."""
    node, peer = at.line.node, at.line.words["peer"]
    if not at.chain.leads(node) or compare_index(at.chain, node, peer) != -1:
        return
    ends = at.lookahead.may_compare(node, peer, at.line)
    now = at.chain.end(node)
    for end in dict.fromkeys([*(e for e in ends if e > now), now, max(now, 0)]):
        appended = at.hidden.append(at.chain, node, end)
        yield from at.take(appended, "DoCompare", {}, peer=peer)


def _change_state(at: LineContext) -> Iterator[Chain]:
    peer, old, new = at.line.words["peer"], at.line.words["was"], at.line.words["is"]
    node, index = at.line.node, at.line.numbers["index"]
    if at.chain.dispatcher(node, peer, "type") != old:
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
        for chain in at.hidden.compares(at.chain, node, peer):
            for m in chain.messages(peer, node, "response", "COMPARE"):
                yield from at.take(chain, "HandleCompareResponse", shows, m=m)
    else:
        for m in at.chain.messages(peer, node, "response", "TRUNCATE"):
            yield from at.take(at.chain, "HandleTruncateResponse", shows, m=m)


def _begin_again(at: LineContext, peer: str) -> Iterator[Chain]:
    """Go to COMPARE: in a new term, which the spec has as part of DoCompare; without an answer; or after a refusal."""
    node, old = at.line.node, at.line.words["was"]
    shows = {"dispatchers": {peer: {"type": "COMPARE"}}}
    if at.chain.leads(node) and at.chain.dispatcher(node, peer, "term") != at.chain.field(node, "currTerm"):
        yield from at.observe(at.chain, {"dispatchers": {peer: {"type": old}}})
        if at.chain.dispatcher(node, peer, "awaiting") == "NOTHING":
            return  # or the call of the old term has ended
    for chain in at.hidden.compares(at.chain, node, peer):
        yield from at.take(chain, "PushTimeOut", shows, peer=peer)
    found = list(_inconsistent(at, at.chain, peer, shows))
    yield from found
    if at.chain.leads(node) and (old == "APPEND" or not found):
        for chain in (at.chain, *at.advanced()):
            yield from _refused(at, chain, peer, shows)


def _refused(at: LineContext, chain: Chain, peer: str, shows: dict[str, Any]) -> Iterator[Chain]:
    """Push all entries, and one that no line shows if need be; the peer refuses some."""
    node = at.line.node
    shown_index = at.lookahead.write_index(node, peer)
    begun = chain if shown_index is None else at.hidden.append(chain, node, shown_index - 1) or chain
    pushed = at.hidden.push(begun, node, peer, begun.end(node)) or begun
    found = list(_inconsistent(at, pushed, peer, shows))
    if not found:
        shown = at.lookahead.goal(node).end
        next_ = chain.dispatcher(node, peer, "writeIndex")
        appended = at.hidden.append(chain, node, next_ if shown is None else max(shown, next_))
        pushed_too = appended and at.hidden.push(appended, node, peer, appended.end(node))
        found = list(_inconsistent(at, pushed_too, peer, shows)) if pushed_too else []
    yield from found


def _inconsistent(at: LineContext, chain: Chain, peer: str, shows: dict[str, Any]) -> Iterator[Chain]:
    """The peer finds an entry that was pushed to be another, or out of its place, and says so."""
    for m in chain.messages(at.line.node, peer, "request", "APPEND"):
        checked = chain.hide("CheckAppendFuture", peer, m=m)
        for answer in new_answers(chain, checked, peer, at.line.node, "APPEND") if checked else ():
            if answer.d["code"] == "INCONSISTENT_STATE":
                yield from at.take(checked, "HandleAppendResponse", shows, m=answer)


def _dispatcher_error(at: LineContext) -> Iterator[Chain]:
    node, peer = at.line.node, at.line.words["peer"]
    indexes = {"writeIndex": at.line.numbers["write"], "compareIndex": at.line.numbers["compare"]}
    for chain in at.hidden.compares(at.chain, node, peer):
        yield from at.observe(chain, {"dispatchers": {peer: indexes}})


def _do_truncate(at: LineContext) -> Iterator[Chain]:
    """DoTruncate, which carries the committed index; the steps that led to that may be hidden."""
    node, peer = at.line.node, at.line.words["peer"]
    if at.chain.dispatcher(node, peer, "truncateIndex") == at.line.numbers["index"]:
        for chain in (at.chain, *at.committed(peer)):
            yield from at.take(chain, "DoTruncate", {}, peer=peer)


def _retry(at: LineContext) -> Iterator[Chain]:
    """DoCheckAppendResponse of the entry behind the peer's watermark."""
    node, peer, index = at.line.node, at.line.words["peer"], at.line.numbers["index"]
    if not at.chain.leads(node):
        return
    for chain in (at.chain, *at.advanced({peer: index - 1})):
        appended = at.hidden.append(chain, node, index)
        pushed = appended and at.hidden.push(appended, node, peer, appended.end(node))
        if pushed and pushed.mark(node, peer) == index - 1:
            yield from at.take(pushed, "DoCheckAppendResponse", {}, peer=peer)


# ---- The follower ----


def _handle_compare(at: LineContext) -> Iterator[Chain]:
    """HandleDoCompare that finds the logs different; only these are logged."""
    node, index = at.line.node, at.line.numbers["index"]
    shows = {"ledgerEndIndex": at.line.numbers["end"]} if "end" in at.line.numbers else {}
    for leader in at.nodes:
        if leader == node:
            continue
        stored = at.hidden.store_pushed(at.chain, leader, node, at.line.numbers.get("end", -1))
        for chain in at.hidden.compares(stored, leader, node):
            for m in chain.messages(leader, node, "request", "COMPARE", index):
                if not chain.spec.evaluate("HoldsEntryOf", chain.state, chain.state["node"].d[node], m):
                    yield from at.take(chain, "HandleDoCompare", shows, m=m)


def _handle_truncate(at: LineContext) -> Iterator[Chain]:
    node = at.line.node
    for leader in at.nodes:
        for m in at.chain.messages(leader, node, "request", "TRUNCATE") if leader != node else ():
            if m.d["index"] == at.line.numbers["index"]:
                yield from at.take(at.chain, "HandleDoTruncate", {}, m=m)


# ---- Observations ----


def _status(at: LineContext) -> Iterator[Chain]:
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


def _skip_commit(at: LineContext) -> Iterator[Chain]:
    yield from at.observe_in_time({"committedIndex": at.line.numbers["committed"]})


def _restart(at: LineContext) -> Iterator[Chain]:
    """Crash, which has no line; then Restart.

    The process may have died while it wrote its term or its checkpoint, or between NextTerm and the line of that.
    """
    for chain in at.voted():
        yield from _started(at, chain)
    node = at.line.node
    term = at.lookahead.term(node, at.line.incarnation)
    if term is not None and term > at.chain.field(node, "currTerm"):
        raised = at.chain.hide("NextTerm", node, term=term)
        if raised:
            yield from _started(at, raised)


def _started(at: LineContext, before: Chain) -> Iterator[Chain]:
    node = at.line.node
    end, committed = at.lookahead.recovered(node, at.line.incarnation)
    term = at.lookahead.term(node, at.line.incarnation)
    shows = {"role": "CANDIDATE"} | ({} if end is None else {"ledgerEndIndex": end})
    if term is not None:
        shows["currTerm"] = term
    saved = before
    if committed is not None:
        shows["checkPoint"] = committed
        if before.field(node, "committedIndex") == committed != before.field(node, "checkPoint"):
            saved = before.hide("PersistCheckPoint", node) or before
    for chain, action in ((saved, "Crash"), (saved, "CrashInPersistTerm"), (before, "CrashInPersistCheckPoint")):
        down = chain.hide(action, node)
        if down:
            resurrected = 0 if end is None else max(0, end - down.end(node))
            yield from at.take(down, "Restart", shows, resurrected=resurrected)


def _seen_at_restart(at: LineContext) -> Iterator[Chain]:
    yield at.chain


Reader = Callable[["LineContext"], Iterator[Chain]]

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

#: The kinds of lines before which the node's leader may have gone on, and show it only afterwards.
CHANGES_OF_ROLE = ("candidate", "follower", "leader", RESTART)
