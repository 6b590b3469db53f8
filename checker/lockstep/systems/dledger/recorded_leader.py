"""The lines of a leader: its dispatchers, its watermarks, its QuorumAckChecker.

The threads: each EntryDispatcher sends and, for COMPARE and TRUNCATE, waits; the delivery thread or the
dispatcher's own runs the callback of an APPEND's answer; QuorumAckChecker commits.
"""

from collections.abc import Callable
from typing import Any

from lockstep.systems.dledger.recorded_group import (
    OF_LOG,
    Answer,
    Dispatcher,
    MarksNow,
    Node,
    RoleNow,
    World,
    shown_by_thread,
    shown_of_dispatcher,
    shown_of_log,
    write_committed,
)
from lockstep.systems.dledger.recorded_pushes import Rpc
from lockstep.systems.dledger.recording_lines import (
    DispatcherLine,
    Line,
    RecvRespPush,
    SendPush,
    Store,
    Watermark,
)
from lockstep.systems.dledger.step_placement import PlacedStep
from raftref.dledger.messages import Index
from raftref.dledger.quorum import quorum_index_by_sorting

CHECKER = "QuorumAckChecker"


def append_as_leader(world: World, line: Store) -> None:
    """AppendAsLeader: the store's line; the watermark that the spec sets with it is put a little later."""
    if not line.ok:
        return
    node = world.node(line)
    assert line.index is not None
    if line.entryTerm != node.role.now.term:
        raise world.problem(line, "entryTerm", f"the term of the leader is {node.role.now.term}")
    step = world.step(line, node, "AppendAsLeader", value=line.val)
    step.shows = shown_of_log(line.st)
    step.late = {f"peerWaterMarks.{node.name}"}
    step.changes = OF_LOG | step.late
    write_committed(node, step, line)
    node.role.read(step, lambda now: now.role == "LEADER")
    node.end.write(step, line.st.end)
    term = node.role.now.term
    if node.marks_by_term.get(term, node.no_marks)[node.name] < line.index:
        node.unmarked[line.index] = step
    _write_mark(node, step, term, node.name, line.index)


def quorum_ack_checker(world: World, line: Store) -> None:
    """QuorumAckChecker, hidden, where the watermarks had the index of the line; ActOnQuorumIndex, which is the line."""
    if line.noop == "stale_term":
        return  # in a later term the pass does nothing
    node = world.node(line)
    assert line.argTerm is not None
    term, index = line.argTerm, line.argIndex
    read = world.step(line, node, "QuorumAckChecker", thread=CHECKER)
    read.hidden = True
    node.role.read(read, lambda now: now == RoleNow("LEADER", term))
    node.marks.read(
        read,
        lambda now: now.term == term and quorum_index_by_sorting([Index(mark) for mark in now.marks.values()]) == index,
    )
    step = world.step(line, node, "ActOnQuorumIndex", thread=CHECKER)
    step.shows = shown_of_log(line.st)
    write_committed(node, step, line)


def send_push(world: World, line: SendPush) -> None:
    """DoCompare, DoTruncate, DoAppend, DoCheckAppendResponse, their like for batches, DoCommit.

    What they read they read shortly before the line.
    """
    node = world.node(line)
    dispatcher = node.dispatchers[world.peer(line, "remoteId", line.remoteId)]
    if line.leaderId != node.name:
        raise world.problem(line, "leaderId", f"{node.name!r} sends a push of {line.leaderId!r}")
    if world.wire.get(line.mid):
        raise world.problem(line, "mid", f"a push {line.mid} was sent before")
    _take_silent_answer(world, node, line.remoteId)
    if line.type == "APPEND" and world.batches is (line.entries is None):
        told = "batches" if world.batches else "no batches"
        raise world.problem(line, "entries", f"by its config this recording has {told}")
    action = _action(world, line, dispatcher)
    pushes_next = action in ("DoAppend", "DoBatchAppend")
    if pushes_next:
        _check_leak(world, node, dispatcher, line)
    step = world.step(line, node, action, thread=line.remoteId, peer=line.remoteId)
    step.shows = shown_by_thread(node, line.st) | _shown_after_push(line, step, batches=world.batches)
    if step.action == "DoBatchAppend" and line.last_index is not None:
        step.args["count"] = line.count
        dispatcher.write_index = line.last_index + 1
    step.changes = {f"dispatchers.{line.remoteId}"}
    _reads_of_a_push(world, node, dispatcher, line, step)
    if pushes_next:
        _push_next(world, node, dispatcher, line, step)
    rpc = world.wire.send(line, step)
    step.sent = [rpc.request()]
    if line.type in ("COMPARE", "TRUNCATE"):
        dispatcher.awaited = rpc
    if line.type == "COMPARE":
        dispatcher.compares(step)
        dispatcher.starts_at_end = False


def _check_leak(world: World, node: Node, dispatcher: Dispatcher, line: SendPush) -> None:
    """CheckLeak, hidden, where the pendingMap has no place for the push of `line` otherwise."""
    peer, now = line.remoteId, node.marks.now
    mark = now.marks[peer] if now.term == line.term else -1
    leaked = list(dispatcher.pendings.leaked(mark, batches=world.batches)) if dispatcher.pendings.excess > 0 else []
    if leaked:
        step = world.step(line, node, "CheckLeak", thread=peer, peer=peer)
        step.hidden = True
        node.marks.read(step, lambda now: now.term == line.term and now.marks[peer] >= mark, ends=False)
        for index in leaked:
            dispatcher.pendings.remove(index, step)


def _push_next(world: World, node: Node, dispatcher: Dispatcher, line: SendPush, step: PlacedStep) -> None:
    """Put a push into the pendingMap; if that would be more than full, answers that have arrived have made room."""
    pendings, index = dispatcher.pendings, line.index
    assert index is not None and line.last_index is not None
    for answer in node.append_answers if pendings.excess > 0 else ():
        arrived = answer.line.index
        is_success = answer.rpc.follower == line.remoteId and answer.line.code == "SUCCESS"
        if is_success and arrived is not None and arrived in pendings and pendings.excess > 0:
            answer.removal = pendings.remove(arrived)
            world.early.append(answer.removal)
    pendings.push(step, index, line.last_index)


def _action(world: World, line: SendPush, dispatcher: Dispatcher) -> str:
    if line.type != "APPEND":
        return f"Do{line.type.capitalize()}"
    assert line.index is not None
    if world.batches:  # disp has the writeIndex of what is gathered
        return "DoBatchAppend" if line.index >= dispatcher.write_index else "DoCheckBatchAppendResponse"
    if line.index > line.disp.writeIndex:
        raise world.problem(line, "index", f"an entry beyond writeIndex {line.disp.writeIndex} is pushed")
    return "DoAppend" if line.index == line.disp.writeIndex else "DoCheckAppendResponse"


def _shown_after_push(line: SendPush, step: PlacedStep, *, batches: bool) -> dict[str, Any]:
    """Return what `disp` shows: it is from before the push, and its type may have changed since it began."""
    after: dict[str, Any] = {"awaiting": line.type if line.type in ("COMPARE", "TRUNCATE") else "NOTHING"}
    after["type"] = "APPEND" if line.type == "COMMIT" else line.type
    full_batch = step.action == "DoBatchAppend" and line.disp.writeIndex == line.last_index  # not yet moved
    if step.action == "DoAppend" or full_batch:
        after["writeIndex"] = line.disp.writeIndex + 1
    gathers = batches and line.type in ("COMPARE", "TRUNCATE")
    return shown_of_dispatcher(line.disp, line.remoteId, gathers=gathers, **after)


def _reads_of_a_push(world: World, node: Node, dispatcher: Dispatcher, line: SendPush, step: PlacedStep) -> None:
    index, last, write_index = line.index, line.last_index, line.disp.writeIndex
    repeats = step.action in ("DoCheckAppendResponse", "DoCheckBatchAppendResponse")
    node.committed.read(step, lambda committed: committed == line.commitIndex)
    if line.type != "TRUNCATE":
        node.role.read(step, lambda now: now == RoleNow("LEADER", line.term))
    if line.type != "COMPARE":
        kind = "APPEND" if line.type == "COMMIT" else line.type
        dispatcher.type.read(step, lambda now: now == kind)
    if repeats and dispatcher.pendings.last_full > node.end.last_held(lambda end: end < write_index):
        dispatcher.pendings.repeat_while_full(step)  # no more may be pushed
        world.pending_map = True
    elif index is None or repeats:
        node.end.read(step, lambda end: end < write_index)  # nothing to push
    if index is not None and last is not None:
        node.end.read(step, lambda end: end >= last, ends=False)
        if line.type == "COMPARE" and dispatcher.starts_at_end:
            node.end.read(step, lambda end: end == index)
        if repeats:
            node.marks.read(step, lambda now: now.term == line.term and now.marks[line.remoteId] == index - 1)


def recv_resp_push(world: World, line: RecvRespPush) -> None:
    """An answer arrives: it waits for the line that tells its effect, unless it has none."""
    told = {"type": line.type, "index": line.index, "term": line.term}
    rpc = world.rpc(line, line.mid, caller=line.node, follower=line.source, **told)
    if not rpc.was_answered_by(line):
        raise world.problem(line, "code", f"this is not what {line.source} answered")
    node = world.node(line)
    if line.ignored or line.type == "COMMIT":
        world.lose_answer(line, rpc, rpc.answer_like(line))
        return
    dispatcher = node.dispatchers[rpc.follower]
    answer = Answer(rpc, line, rpc.answer_like(line))
    if line.type != "APPEND":
        if dispatcher.awaited is rpc:
            dispatcher.answer = answer
            world.observe(line)
    elif answer.message is None:
        return
    elif line.code == "SUCCESS":
        marks = node.marks_by_term.get(line.term, node.no_marks)
        if line.last_index is not None and marks[rpc.follower] >= line.last_index:
            _handle_append(world, node, answer, line)
        else:
            node.append_answers.append(answer)
            world.observe(line)
    elif line.code == "INCONSISTENT_STATE":
        node.append_answers.append(answer)
        world.observe(line)
    else:
        world.lose_answer(line, rpc, answer.message)


def _handle_append(world: World, node: Node, answer: Answer, line: Line) -> PlacedStep:
    step = world.step(line, node, "HandleAppendResponse", m=answer.message)
    answer.rpc.remove(answer.message, step)
    pendings, index = node.dispatchers[answer.rpc.follower].pendings, answer.line.index
    if answer.removal is not None:
        answer.removal.happens_in(step)
    elif answer.line.code == "SUCCESS" and index is not None and index in pendings:
        pendings.remove(index, step)
    if answer in node.append_answers:
        node.append_answers.remove(answer)
    return step


def _handle_awaited(world: World, node: Node, answer: Answer, line: Line) -> PlacedStep:
    """HandleCompareResponse, HandleTruncateResponse; for a refusal that the spec never sends, PushTimeOut."""
    peer = answer.rpc.follower
    dispatcher = node.dispatchers[peer]
    dispatcher.answer = dispatcher.awaited = None
    if answer.message is None:
        return _push_time_out(world, node, answer.rpc, line)
    action = f"Handle{answer.rpc.type.capitalize()}Response"
    step = world.step(line, node, action, thread=peer, m=answer.message)
    step.changes = {f"dispatchers.{peer}"}
    answer.rpc.remove(answer.message, step)
    world.wire.abandon(step, node.name, peer, answer.rpc.type)
    return step


def _push_time_out(world: World, node: Node, rpc: Rpc, line: Line) -> PlacedStep:
    peer = rpc.follower
    step = world.step(line, node, "PushTimeOut", thread=peer, peer=peer)
    world.wire.abandon(step, node.name, peer, rpc.type)
    node.dispatchers[peer].awaited = None
    return step


def _take_silent_answer(world: World, node: Node, peer: str) -> None:
    """A COMPARE that failed and leads to the next COMPARE tells nothing but its arrival."""
    dispatcher = node.dispatchers[peer]
    answer = dispatcher.answer
    if answer and answer.rpc.type == "COMPARE" and answer.line.code == "INCONSISTENT_STATE":
        assert isinstance(answer.line, RecvRespPush)
        _handle_awaited(world, node, answer, answer.line)


def change_state(world: World, line: DispatcherLine) -> None:
    """A dispatcher changes its type: after an answer, after none, or at the start of a leadership."""
    node = world.node(line)
    dispatcher = node.dispatchers[world.peer(line, "peer", line.peer)]
    change: dict[str, Callable[[World, Node, Dispatcher, DispatcherLine], None]]
    change = {"COMPARE": _to_compare, "TRUNCATE": _to_truncate, "APPEND": _to_append}
    if line.to not in change:
        raise world.problem(line, "to", "a dispatcher is never in state COMMIT")
    change[line.to](world, node, dispatcher, line)


def _to_compare(world: World, node: Node, dispatcher: Dispatcher, line: DispatcherLine) -> None:
    own = line.by == "EntryDispatcher"
    if own and line.disp.term != dispatcher.term:  # checkAndFreshState: part of the next DoCompare
        _take_silent_answer(world, node, line.peer)
        dispatcher.term = line.disp.term
        dispatcher.starts_at_end |= line.source == "APPEND"
        return
    inconsistent = [a for a in node.append_answers if a.rpc.follower == line.peer and a.line.code != "SUCCESS"]
    if own and dispatcher.awaited:
        if dispatcher.answer:
            step = _handle_awaited(world, node, dispatcher.answer, line)
        else:
            step = _push_time_out(world, node, dispatcher.awaited, line)
    elif inconsistent:
        step = _handle_append(world, node, inconsistent[0], line)
    elif own and line.source == "COMPARE":
        return  # an error while nothing is awaited: begins again where it was
    else:
        raise world.problem(line, "to", "neither an answer nor a time-out leads to COMPARE here")
    compare_index = -1 if line.source == "APPEND" else line.disp.compareIndex
    dispatcher.starts_at_end = compare_index == -1
    dispatcher.compares(step)
    step.changes = {f"dispatchers.{line.peer}"}
    step.shows = {"dispatchers": {line.peer: {"type": "COMPARE", "compareIndex": compare_index}}}


def _to_truncate(world: World, node: Node, dispatcher: Dispatcher, line: DispatcherLine) -> None:
    if not dispatcher.answer or dispatcher.answer.rpc.type != "COMPARE":
        raise world.problem(line, "to", "no answer to a COMPARE leads to TRUNCATE here")
    step = _handle_awaited(world, node, dispatcher.answer, line)
    dispatcher.starts_at_end = True
    dispatcher.type.write(step, "TRUNCATE")
    after: dict[str, Any] = {"type": "TRUNCATE", "compareIndex": -1, "truncateIndex": line.at, "awaiting": "NOTHING"}
    step.shows = shown_of_dispatcher(line.disp, line.peer, gathers=world.batches, **after)


def _to_append(world: World, node: Node, dispatcher: Dispatcher, line: DispatcherLine) -> None:
    if not dispatcher.answer:
        raise world.problem(line, "to", "no answer leads to APPEND here")
    if node.marks_by_term.get(line.disp.term, node.no_marks)[line.peer] < line.at:
        dispatcher.entering = line  # takes effect at the watermark's line
        world.observe(line)
    else:
        _enter_append(world, node, line, line)


def _enter_append(world: World, node: Node, change: DispatcherLine, line: Line) -> PlacedStep:
    dispatcher = node.dispatchers[change.peer]
    assert dispatcher.answer
    step = _handle_awaited(world, node, dispatcher.answer, line)
    dispatcher.entering = None
    dispatcher.starts_at_end = True
    dispatcher.write_index = change.at + 1
    dispatcher.type.write(step, "APPEND")
    after: dict[str, Any] = {"type": "APPEND", "compareIndex": -1, "writeIndex": change.at + 1, "awaiting": "NOTHING"}
    step.shows = shown_of_dispatcher(change.disp, change.peer, **after)
    return step


def watermark(world: World, line: Watermark) -> None:
    """A watermark rises: where an answer takes effect, or the leader's own mark follows its log."""
    node = world.node(line)
    if line.op == "clear":
        node.marks_by_term.pop(line.term, None)
        return
    if line.marks.keys() != node.no_marks.keys():
        raise world.problem(line, "marks", "these are not the marks of all nodes")
    before = node.marks_by_term.get(line.term, node.no_marks)
    node.marks_by_term[line.term] = dict(line.marks)
    if line.op == "init":
        return
    assert line.index is not None
    if line.prev != before.get(str(line.peer), line.prev):
        raise world.problem(line, "prev", f"{line.prev}: the lines before lead to {before[str(line.peer)]}")
    if line.peer not in line.marks or line.marks[line.peer] != line.index:
        raise world.problem(line, "marks", "these are not the marks after the change")
    if line.peer == node.name:
        _own_mark(world, node, line, line.index)
    else:
        _mark_of_peer(world, node, line, line.peer, line.index)


def _own_mark(world: World, node: Node, line: Watermark, index: int) -> None:
    if line.by == CHECKER:
        step = world.step(line, node, "RefreshOwnWaterMark", thread=CHECKER)
        node.role.read(step, lambda now: now == RoleNow("LEADER", line.term))
        node.end.read(step, lambda end: end == index)
        _write_mark(node, step, line.term, node.name, index)
        _show_mark(node, step, line, node.name)
    elif index in node.unmarked:
        world.observe(line)
        node.unmarked[index].shows["peerWaterMarks"] = {node.name: index}
    else:
        raise world.problem(line, "index", "no entry of this index was appended just before")
    for marked in [marked for marked in node.unmarked if marked <= index]:
        node.unmarked.pop(marked).settled = line.number


def _mark_of_peer(world: World, node: Node, line: Watermark, peer: str, index: int) -> None:
    entering = node.dispatchers[peer].entering
    answers = [a for a in node.append_answers if a.rpc.follower == peer and a.line.code == "SUCCESS"]
    answers = [a for a in answers if a.line.term == line.term and a.line.last_index is not None]
    if entering and entering.at == index and entering.disp.term == line.term:
        step = _enter_append(world, node, entering, line)
    else:
        raising = next((a for a in answers if a.line.last_index == index), None)
        if raising is None:
            raise world.problem(line, "index", "no answer raises this watermark")
        step = _handle_append(world, node, raising, line)
    _write_mark(node, step, line.term, peer, index)
    _show_mark(node, step, line, peer)
    for answer in answers:
        last = answer.line.last_index
        if answer in node.append_answers and last is not None and last <= index:
            _handle_append(world, node, answer, line)  # raises nothing any more


def _write_mark(node: Node, step: PlacedStep, term: int, peer: str, index: int) -> None:
    now = node.marks.now
    if term == now.term and now.marks[peer] < index:
        node.marks.write(step, MarksNow(term, {**now.marks, peer: index}))
    step.changes = step.changes | {f"peerWaterMarks.{peer}"}


def _show_mark(node: Node, step: PlacedStep, line: Watermark, peer: str) -> None:
    if line.term == node.marks.now.term:
        unsure = {node.name} if node.unmarked else set()
        shown = {name: mark for name, mark in line.marks.items() if name == peer or name not in unsure}
        step.shows["peerWaterMarks"] = shown
