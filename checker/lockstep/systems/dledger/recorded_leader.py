"""Lines of a leader: its dispatchers, its watermarks, its QuorumAckChecker.

The threads: each EntryDispatcher sends and, for COMPARE and TRUNCATE, waits; the delivery thread or the
dispatcher's own runs the callback of an APPEND's answer; QuorumAckChecker commits.
"""

from collections.abc import Callable
from typing import Any

from lockstep.systems.dledger.recorded_group import (
    LOG_FIELDS,
    ArrivedAnswer,
    MarksInTerm,
    RecordedDispatcher,
    RecordedGroup,
    RecordedNode,
    RoleInTerm,
    shown_by_thread,
    shown_of_dispatcher,
    shown_of_log,
    write_committed,
)
from lockstep.systems.dledger.recorded_pushes import RecordedPush
from lockstep.systems.dledger.recording_lines import (
    DispatcherLine,
    RecvRespPush,
    SendPush,
    StoreLine,
    WatermarkLine,
)
from lockstep.systems.dledger.step_placement import PlacedStep
from lockstep.systems.recording_file import RecordingLine
from raftref.dledger.messages import Index
from raftref.dledger.quorum import quorum_index_by_sorting

CHECKER = "QuorumAckChecker"


def append_as_leader(group: RecordedGroup, line: StoreLine) -> None:
    """AppendAsLeader: the store's line; the watermark that the spec sets with it is put a little later."""
    if not line.ok:
        return
    node = group.node(line)
    assert line.index is not None
    if line.entryTerm != node.role.now.term:
        raise group.problem(line, "entryTerm", f"the term of the leader is {node.role.now.term}")
    step = group.step(line, node, "AppendAsLeader", value=line.val)
    step.shows = shown_of_log(line.st)
    step.late = {f"peerWaterMarks.{node.name}"}
    step.changes = LOG_FIELDS | step.late
    write_committed(node, step, line)
    node.role.read(step, lambda now: now.role == "LEADER")
    node.end.write(step, line.st.end)
    term = node.role.now.term
    if node.marks_by_term.get(term, node.no_marks)[node.name] < line.index:
        node.unmarked[line.index] = step
    _write_mark(node, step, term, node.name, line.index)


def quorum_ack_checker(group: RecordedGroup, line: StoreLine) -> None:
    """QuorumAckChecker, hidden, where the watermarks had the index of the line; ActOnQuorumIndex, which is the line."""
    if line.noop == "stale_term":
        return  # in a later term the pass does nothing
    node = group.node(line)
    assert line.argTerm is not None
    term, index = line.argTerm, line.argIndex
    read = group.step(line, node, "QuorumAckChecker", thread=CHECKER)
    read.hidden = True
    node.role.read(read, lambda now: now == RoleInTerm("LEADER", term))

    def is_read(now: MarksInTerm) -> bool:
        return now.term == term and quorum_index_by_sorting([Index(mark) for mark in now.marks.values()]) == index

    if group.batches and node.marks.last(is_read) is None:
        _mark_later(node, term, is_read)
    node.marks.read(read, is_read)
    step = group.step(line, node, "ActOnQuorumIndex", thread=CHECKER)
    step.shows = shown_of_log(line.st)
    write_committed(node, step, line)


def _mark_later(node: RecordedNode, term: int, is_read: Callable[[MarksInTerm], bool]) -> None:
    """Let entries that are not marked yet be appended as in a client's batch, where a pass has read the mark so far.

    A thread that appends marks its entry once it has left the store, and a pass may come between. The mark's line is
    RefreshOwnWaterMark then. Source: DLedgerServer.handleAppend, DLedgerEntryPusher.waitAck.
    """
    own = node.marks_by_term.get(term, node.no_marks)[node.name]
    unmarked = [step for index, step in node.unmarked.items() if index > own]

    def as_marked(now: MarksInTerm) -> MarksInTerm:
        return now._replace(marks={**now.marks, node.name: own}) if now.term == term else now

    if unmarked and is_read(as_marked(node.marks.now)):
        node.marks.change(unmarked[0], as_marked)
        for step in unmarked:
            step.action, step.late = "AppendInBatch", set()
            step.changes = step.changes - {f"peerWaterMarks.{node.name}"}


def send_push(group: RecordedGroup, line: SendPush) -> None:
    """DoCompare, DoTruncate, DoAppend, DoCheckAppendResponse, their like for batches, PushAnsweredAgain, DoCommit.

    What they read they read shortly before the line.
    """
    node = group.node(line)
    dispatcher = node.dispatchers[group.peer(line, "remoteId", line.remoteId)]
    if line.leaderId != node.name:
        raise group.problem(line, "leaderId", f"{node.name!r} sends a push of {line.leaderId!r}")
    if group.pushes.get(line.mid):
        raise group.problem(line, "mid", f"a push {line.mid} was sent before")
    _take_silent_answer(group, node, line.remoteId)
    if line.type == "APPEND" and group.batches is (line.entries is None):
        batches = "batches" if group.batches else "no batches"
        raise group.problem(line, "entries", f"by its config this recording has {batches}")
    action = _action(group, node, line, dispatcher)
    pushes_next = action in ("DoAppend", "DoBatchAppend")
    if pushes_next:
        _check_leak(group, node, dispatcher, line)
    step = group.step(line, node, action, thread=line.remoteId, peer=line.remoteId)
    step.shows = shown_by_thread(node, line.st) | _shown_after_push(line, step, batches=group.batches)
    if step.action == "PushAnsweredAgain":
        assert line.index is not None and line.last_index is not None
        step.args |= {"index": line.index, "count": line.last_index - line.index + 1}
    if step.action == "DoBatchAppend" and line.last_index is not None:
        step.args["count"] = line.count
        dispatcher.write_index = line.last_index + 1
    step.changes = {f"dispatchers.{line.remoteId}"}
    _reads_of_a_push(group, node, dispatcher, line, step)
    if pushes_next:
        _push_next(group, node, dispatcher, line, step)
    rpc = group.pushes.send(line, step)
    step.sent = [rpc.request()]
    if line.type in ("COMPARE", "TRUNCATE"):
        dispatcher.awaited = rpc
    if line.type == "COMPARE":
        dispatcher.compares(step)
        dispatcher.starts_at_end = False


def _check_leak(group: RecordedGroup, node: RecordedNode, dispatcher: RecordedDispatcher, line: SendPush) -> None:
    """CheckLeak, hidden, where the pendingMap has no place for the push of `line` otherwise."""
    peer, now = line.remoteId, node.marks.now
    mark = now.marks[peer] if now.term == line.term else -1
    leaked = list(dispatcher.pendings.leaked(mark, batches=group.batches)) if dispatcher.pendings.excess > 0 else []
    if leaked:
        step = group.step(line, node, "CheckLeak", thread=peer, peer=peer)
        step.hidden = True
        node.marks.read(step, lambda now: now.term == line.term and now.marks[peer] >= mark, ends=False)
        for index in leaked:
            dispatcher.pendings.remove(index, step)


def _push_next(
    group: RecordedGroup, node: RecordedNode, dispatcher: RecordedDispatcher, line: SendPush, step: PlacedStep
) -> None:
    """Put a push into the pendingMap; where that is full, answers that have arrived have left before."""
    pendings, index = dispatcher.pendings, line.index
    assert index is not None and line.last_index is not None
    for answer in node.append_answers if pendings.excess > 0 else ():
        arrived = answer.line.index
        is_success = answer.rpc.follower == line.remoteId and answer.line.code == "SUCCESS"
        if is_success and arrived is not None and arrived in pendings and pendings.excess > 0:
            answer.removal = pendings.remove(arrived)
            group.early.append(answer.removal)
    pendings.push(step, index, line.last_index)


def _action(group: RecordedGroup, node: RecordedNode, line: SendPush, dispatcher: RecordedDispatcher) -> str:
    action = _kind_of_push(group, line, dispatcher)
    return "PushAnsweredAgain" if action in _REPEATED and _was_answered(node, line) else action


#: A push is repeated.
_REPEATED = ("DoCheckAppendResponse", "DoCheckBatchAppendResponse")


def _was_answered(node: RecordedNode, line: SendPush) -> bool:
    """Return whether the peer's watermark had passed the entry when committedIndex became what the request has."""
    assert line.index is not None
    before = line.index - 1
    last = node.marks.last_held(lambda now: now.term == line.term and now.marks[line.remoteId] == before)
    return -1 < last < node.committed.taken_at(line.commitIndex)


def _kind_of_push(group: RecordedGroup, line: SendPush, dispatcher: RecordedDispatcher) -> str:
    if line.type != "APPEND":
        return f"Do{line.type.capitalize()}"
    assert line.index is not None
    if group.batches:  # disp has the writeIndex of what is gathered
        return "DoBatchAppend" if line.index >= dispatcher.write_index else "DoCheckBatchAppendResponse"
    if line.index > line.disp.writeIndex:
        raise group.problem(line, "index", f"an entry beyond writeIndex {line.disp.writeIndex} is pushed")
    return "DoAppend" if line.index == line.disp.writeIndex else "DoCheckAppendResponse"


def _shown_after_push(line: SendPush, step: PlacedStep, *, batches: bool) -> dict[str, Any]:
    """Return the dispatcher after the push: `disp` is from before, and its type may have changed since."""
    after: dict[str, Any] = {"awaiting": line.type if line.type in ("COMPARE", "TRUNCATE") else "NOTHING"}
    after["type"] = "APPEND" if line.type == "COMMIT" else line.type
    full_batch = step.action == "DoBatchAppend" and line.disp.writeIndex == line.last_index  # not yet moved
    if step.action == "DoAppend" or full_batch:
        after["writeIndex"] = line.disp.writeIndex + 1
    gathers = batches and line.type in ("COMPARE", "TRUNCATE")
    return shown_of_dispatcher(line.disp, line.remoteId, gathers=gathers, **after)


def _reads_of_a_push(
    group: RecordedGroup, node: RecordedNode, dispatcher: RecordedDispatcher, line: SendPush, step: PlacedStep
) -> None:
    index, last, write_index = line.index, line.last_index, line.disp.writeIndex
    node.committed.read(step, lambda committed: committed == line.commitIndex)
    if line.type != "TRUNCATE":
        node.role.read(step, lambda now: now == RoleInTerm("LEADER", line.term))
    if line.type != "COMPARE":
        kind = "APPEND" if line.type == "COMMIT" else line.type
        dispatcher.type.read(step, lambda now: now == kind)
    if index is None:
        node.end.read(step, lambda end: end < write_index)  # nothing to push
    if index is not None and last is not None:
        node.end.read(step, lambda end: end >= last, ends=False)
        if line.type == "COMPARE" and dispatcher.starts_at_end:
            node.end.read(step, lambda end: end == index)
        if step.action in _REPEATED:
            group.pending_map = True
            node.marks.read(step, lambda now: now.term == line.term and now.marks[line.remoteId] == index - 1)
        if step.action == "PushAnsweredAgain":
            group.pending_map = True
            node.marks.read(step, lambda now: now.term == line.term and now.marks[line.remoteId] >= last)


def recv_resp_push(group: RecordedGroup, line: RecvRespPush) -> None:
    """An answer arrives: it waits for the line that shows its effect, unless it has none."""
    rpc = group.push(
        line, line.mid, caller=line.node, follower=line.source, type=line.type, index=line.index, term=line.term
    )
    if not rpc.was_answered_by(line):
        raise group.problem(line, "code", f"this is not what {line.source} answered")
    node = group.node(line)
    if line.ignored or line.type == "COMMIT":
        group.lose_answer(line, rpc, rpc.answer_like(line))
        return
    dispatcher = node.dispatchers[rpc.follower]
    answer = ArrivedAnswer(rpc, line, rpc.answer_like(line))
    if line.type != "APPEND":
        if dispatcher.awaited is rpc:
            dispatcher.answer = answer
            group.observe(line)
    elif answer.message is None:
        return
    elif line.code == "SUCCESS":
        marks = node.marks_by_term.get(line.term, node.no_marks)
        if line.last_index is not None and marks[rpc.follower] >= line.last_index:
            _handle_append(group, node, answer, line)
        else:
            node.append_answers.append(answer)
            group.observe(line)
    elif line.code == "INCONSISTENT_STATE":
        node.append_answers.append(answer)
        group.observe(line)
    else:
        group.lose_answer(line, rpc, answer.message)


def _handle_append(group: RecordedGroup, node: RecordedNode, answer: ArrivedAnswer, line: RecordingLine) -> PlacedStep:
    step = group.step(line, node, "HandleAppendResponse", m=answer.message)
    answer.rpc.remove(answer.message, step)
    pendings, index = node.dispatchers[answer.rpc.follower].pendings, answer.line.index
    if answer.removal is not None:
        answer.removal.happens_in(step)
    elif answer.line.code == "SUCCESS" and index is not None and index in pendings:
        pendings.remove(index, step)
    if answer in node.append_answers:
        node.append_answers.remove(answer)
    return step


def _handle_awaited(group: RecordedGroup, node: RecordedNode, answer: ArrivedAnswer, line: RecordingLine) -> PlacedStep:
    """HandleCompareResponse, HandleTruncateResponse; for a refusal that the spec never sends, PushTimeOut."""
    peer = answer.rpc.follower
    dispatcher = node.dispatchers[peer]
    dispatcher.answer = dispatcher.awaited = None
    if answer.message is None:
        return _push_time_out(group, node, answer.rpc, line)
    action = f"Handle{answer.rpc.type.capitalize()}Response"
    step = group.step(line, node, action, thread=peer, m=answer.message)
    step.changes = {f"dispatchers.{peer}"}
    answer.rpc.remove(answer.message, step)
    group.pushes.abandon(step, node.name, peer, answer.rpc.type)
    return step


def _push_time_out(group: RecordedGroup, node: RecordedNode, rpc: RecordedPush, line: RecordingLine) -> PlacedStep:
    peer = rpc.follower
    step = group.step(line, node, "PushTimeOut", thread=peer, peer=peer)
    group.pushes.abandon(step, node.name, peer, rpc.type)
    node.dispatchers[peer].awaited = None
    return step


def _take_silent_answer(group: RecordedGroup, node: RecordedNode, peer: str) -> None:
    """Handle the answer to a COMPARE that failed and leads to the next COMPARE: its arrival alone is recorded."""
    dispatcher = node.dispatchers[peer]
    answer = dispatcher.answer
    if answer and answer.rpc.type == "COMPARE" and answer.line.code == "INCONSISTENT_STATE":
        assert isinstance(answer.line, RecvRespPush)
        _handle_awaited(group, node, answer, answer.line)


def change_state(group: RecordedGroup, line: DispatcherLine) -> None:
    """A dispatcher changes its type: after an answer, after none, or at the start of a leadership."""
    node = group.node(line)
    dispatcher = node.dispatchers[group.peer(line, "peer", line.peer)]
    change: dict[str, Callable[[RecordedGroup, RecordedNode, RecordedDispatcher, DispatcherLine], None]]
    change = {"COMPARE": _to_compare, "TRUNCATE": _to_truncate, "APPEND": _to_append}
    if line.to not in change:
        raise group.problem(line, "to", "a dispatcher is never in state COMMIT")
    change[line.to](group, node, dispatcher, line)


def _to_compare(group: RecordedGroup, node: RecordedNode, dispatcher: RecordedDispatcher, line: DispatcherLine) -> None:
    own = line.by == "EntryDispatcher"
    if own and line.disp.term != dispatcher.term:  # checkAndFreshState: part of the next DoCompare
        _take_silent_answer(group, node, line.peer)
        dispatcher.term = line.disp.term
        dispatcher.starts_at_end |= line.source == "APPEND"
        return
    inconsistent = [a for a in node.append_answers if a.rpc.follower == line.peer and a.line.code != "SUCCESS"]
    if own and dispatcher.awaited:
        if dispatcher.answer:
            step = _handle_awaited(group, node, dispatcher.answer, line)
        else:
            step = _push_time_out(group, node, dispatcher.awaited, line)
    elif inconsistent:
        step = _handle_append(group, node, inconsistent[0], line)
    elif own and line.source == "COMPARE":
        return  # an error while nothing is awaited: begins again where it was
    else:
        raise group.problem(line, "to", "neither an answer nor a time-out leads to COMPARE here")
    compare_index = -1 if line.source == "APPEND" else line.disp.compareIndex
    dispatcher.starts_at_end = compare_index == -1
    dispatcher.compares(step)
    step.changes = {f"dispatchers.{line.peer}"}
    step.shows = {"dispatchers": {line.peer: {"type": "COMPARE", "compareIndex": compare_index}}}


def _to_truncate(
    group: RecordedGroup, node: RecordedNode, dispatcher: RecordedDispatcher, line: DispatcherLine
) -> None:
    if not dispatcher.answer or dispatcher.answer.rpc.type != "COMPARE":
        raise group.problem(line, "to", "no answer to a COMPARE leads to TRUNCATE here")
    step = _handle_awaited(group, node, dispatcher.answer, line)
    dispatcher.starts_at_end = True
    dispatcher.type.write(step, "TRUNCATE")
    after: dict[str, Any] = {"type": "TRUNCATE", "compareIndex": -1, "truncateIndex": line.at, "awaiting": "NOTHING"}
    step.shows = shown_of_dispatcher(line.disp, line.peer, gathers=group.batches, **after)


def _to_append(group: RecordedGroup, node: RecordedNode, dispatcher: RecordedDispatcher, line: DispatcherLine) -> None:
    if not dispatcher.answer:
        raise group.problem(line, "to", "no answer leads to APPEND here")
    if node.marks_by_term.get(line.disp.term, node.no_marks)[line.peer] < line.at:
        dispatcher.entering = line  # takes effect at the watermark's line
        group.observe(line)
    else:
        _enter_append(group, node, line, line)


def _enter_append(group: RecordedGroup, node: RecordedNode, change: DispatcherLine, line: RecordingLine) -> PlacedStep:
    dispatcher = node.dispatchers[change.peer]
    assert dispatcher.answer
    step = _handle_awaited(group, node, dispatcher.answer, line)
    dispatcher.entering = None
    dispatcher.starts_at_end = True
    dispatcher.write_index = change.at + 1
    dispatcher.type.write(step, "APPEND")
    after: dict[str, Any] = {"type": "APPEND", "compareIndex": -1, "writeIndex": change.at + 1, "awaiting": "NOTHING"}
    step.shows = shown_of_dispatcher(change.disp, change.peer, **after)
    return step


def watermark(group: RecordedGroup, line: WatermarkLine) -> None:
    """A watermark rises: where an answer takes effect, or the leader's own mark follows its log."""
    node = group.node(line)
    if line.op == "clear":
        node.marks_by_term.pop(line.term, None)
        return
    if line.marks.keys() != node.no_marks.keys():
        raise group.problem(line, "marks", "these are not the marks of all nodes")
    before = node.marks_by_term.get(line.term, node.no_marks)
    node.marks_by_term[line.term] = dict(line.marks)
    if line.op == "init":
        return
    assert line.index is not None
    if line.prev != before.get(str(line.peer), line.prev):
        raise group.problem(line, "prev", f"{line.prev}: the lines before lead to {before[str(line.peer)]}")
    if line.peer not in line.marks or line.marks[line.peer] != line.index:
        raise group.problem(line, "marks", "these are not the marks after the change")
    if line.peer == node.name:
        _own_mark(group, node, line, line.index)
    else:
        _mark_of_peer(group, node, line, line.peer, line.index)


def _own_mark(group: RecordedGroup, node: RecordedNode, line: WatermarkLine, index: int) -> None:
    if line.by == CHECKER or (index in node.unmarked and node.unmarked[index].action == "AppendInBatch"):
        thread = CHECKER if line.by == CHECKER else ""
        step = group.step(line, node, "RefreshOwnWaterMark", thread=thread)
        node.role.read(step, lambda now: now == RoleInTerm("LEADER", line.term))
        node.end.read(step, lambda end: end == index)
        _write_mark(node, step, line.term, node.name, index)
        _show_mark(node, step, line, node.name)
    elif index in node.unmarked:
        group.observe(line)
        node.unmarked[index].shows["peerWaterMarks"] = {node.name: index}
    else:
        raise group.problem(line, "index", "no entry of this index was appended just before")
    for marked in [marked for marked in node.unmarked if marked <= index]:
        node.unmarked.pop(marked).settled = line.number


def _mark_of_peer(group: RecordedGroup, node: RecordedNode, line: WatermarkLine, peer: str, index: int) -> None:
    entering = node.dispatchers[peer].entering
    answers = [a for a in node.append_answers if a.rpc.follower == peer and a.line.code == "SUCCESS"]
    answers = [a for a in answers if a.line.term == line.term and a.line.last_index is not None]
    if entering and entering.at == index and entering.disp.term == line.term:
        step = _enter_append(group, node, entering, line)
    else:
        raising = next((a for a in answers if a.line.last_index == index), None)
        if raising is None:
            raise group.problem(line, "index", "no answer raises this watermark")
        step = _handle_append(group, node, raising, line)
    _write_mark(node, step, line.term, peer, index)
    _show_mark(node, step, line, peer)
    for answer in answers:
        last = answer.line.last_index
        if answer in node.append_answers and last is not None and last <= index:
            _handle_append(group, node, answer, line)  # raises nothing any more


def _write_mark(node: RecordedNode, step: PlacedStep, term: int, peer: str, index: int) -> None:
    now = node.marks.now
    if term == now.term and now.marks[peer] < index:
        node.marks.write(step, MarksInTerm(term, {**now.marks, peer: index}))
    step.changes = step.changes | {f"peerWaterMarks.{peer}"}


def _show_mark(node: RecordedNode, step: PlacedStep, line: WatermarkLine, peer: str) -> None:
    if line.term == node.marks.now.term:
        unsure = {node.name} if node.unmarked else set()
        shown = {name: mark for name, mark in line.marks.items() if name == peer or name not in unsure}
        step.shows["peerWaterMarks"] = shown
