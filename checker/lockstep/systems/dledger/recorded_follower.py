"""Lines of a follower: its queues, and its EntryHandler, a thread that takes one request after another.

The handling of one request is several lines (take, store, answer, committed index) and one step, which
takes effect at the store's line; one that changes no log takes effect where it is answered.
"""

from math import inf

from lockstep.systems.dledger.recorded_group import (
    LOG_FIELDS,
    Handling,
    RecordedGroup,
    RecordedNode,
    shown_by_thread,
    shown_of_log,
    write_committed,
)
from lockstep.systems.dledger.recorded_pushes import Message, RecordedPush, answer_record, request_body
from lockstep.systems.dledger.recording_lines import QueueLine, RecvPush, RespPush, StoreLine
from lockstep.systems.dledger.step_placement import PlacedStep
from lockstep.systems.recording_file import RecordingLine
from lockstep.trace.trace_format import OBSERVE

THREAD = "EntryHandler"


def recv_push(group: RecordedGroup, line: RecvPush) -> None:
    """A request arrives: it must be what was sent. It takes effect when it is handled."""
    rpc = group.push(line, line.mid, follower=line.node)
    for name, value in request_body(line).items():
        if rpc.body[name] != value:
            raise group.problem(line, "mid", f"push {line.mid} was sent with {name} {rpc.body[name]!r}")


def handler(group: RecordedGroup, line: QueueLine) -> None:
    """Requests enter the follower's queues and leave them, handled or not."""
    if line.op == "clear":
        for index, mid in line.lost or ():
            rpc = group.push(line, mid, follower=line.node, type="APPEND", index=index)
            group.lose_request(line, rpc, queued=True)
            rpc.queued = False
        return
    rpc = group.push(line, line.mid, follower=line.node, type=line.type, index=line.index, term=line.reqTerm)
    if line.op == "enqueue":
        rpc.queued = True
    elif line.op == "repeated":
        group.lose_request(line, rpc)
    else:
        _take(group, line, rpc)


def _take(group: RecordedGroup, line: QueueLine, rpc: RecordedPush) -> None:
    node = group.node(line)
    assert line.st
    was_queued, rpc.queued = rpc.queued, False
    if rpc.type == "APPEND" and line.done and not was_queued:
        group.observe(line)  # CheckAppendFuture, at the answer
    elif rpc.type == "APPEND" and line.done and rpc.last_index <= line.st.end:
        _handle(group, line, node, rpc, "CheckAppendFuture")
    elif rpc.type == "APPEND" and rpc.index is not None and rpc.index > line.st.end + 1:
        group.observe(line)  # CheckAppendFuture of 0.3.2, at the answer
        rpc.queued = rpc.leaves = True
    else:
        group.observe(line)
        followed = node.role.last(lambda now: now.role == "FOLLOWER")
        node.handling = Handling(rpc, followed=inf if followed is None else followed.term)


def _handle(
    group: RecordedGroup, line: RecordingLine, node: RecordedNode, rpc: RecordedPush, action: str
) -> tuple[PlacedStep, Message | None]:
    """Begin the step in which the follower handles `rpc`, and its answer if the spec sends one."""
    step, answer = _begin(group, line, node, rpc, action)
    node.role.read(step, lambda now: now.role == "FOLLOWER")
    return step, answer


def _begin(
    group: RecordedGroup, line: RecordingLine, node: RecordedNode, rpc: RecordedPush, action: str
) -> tuple[PlacedStep, Message | None]:
    """Begin the step in which the EntryHandler deals with `rpc`, and its answer if the spec sends one."""
    request = rpc.request(queued=True)
    step = group.step(line, node, action, thread=THREAD, m=request)
    group.take(rpc, step)
    answer: Message | None = {} if request["awaited"] else None
    if answer is not None:
        rpc.answers.append(answer)
    rpc.answered_early = False
    return step, answer


def store(group: RecordedGroup, line: StoreLine) -> None:
    """The EntryHandler writes to the log, or moves the committed index."""
    node = group.node(line)
    handling = node.handling
    if handling is None:
        raise group.problem(line, "op", "no request was taken that could lead to this")
    if line.op == "updateCommittedIndex":
        _commit(group, line, node, handling)
    elif not handling.rpc.holds(line):
        raise group.problem(line, "index", f"this is not the entry of push {handling.rpc.mid}")
    elif line.ok:
        _write(group, line, node, handling)
    else:
        handling.failed_at, handling.failed_as = line, node.role.now.role


def _write(group: RecordedGroup, line: StoreLine, node: RecordedNode, handling: Handling) -> None:
    """An entry is written; those of a batch are one step, which the line of its last one settles."""
    if handling.step is None:
        append = "HandleDoBatchAppend" if handling.rpc.is_batch else "HandleDoAppend"
        action = "HandleDoTruncate" if line.op == "truncate" else append
        handling.step, handling.answer = _handle(group, line, node, handling.rpc, action)
    else:
        group.observe(line)
    step = handling.step
    node.end.write(step, line.st.end)
    step.changes |= LOG_FIELDS
    step.shows = shown_of_log(line.st)
    step.shows |= {"role": "FOLLOWER", "currTerm": line.leaderTerm, "leaderId": line.leaderId}
    if line.st.committed == line.pre.committed:
        del step.shows["committedIndex"]  # may change with the next lines
    write_committed(node, step, line)
    if handling.rpc.is_batch:
        step.late |= LOG_FIELDS
        step.settled = line.number


def _commit(group: RecordedGroup, line: StoreLine, node: RecordedNode, handling: Handling) -> None:
    if (line.argTerm, line.argIndex) != (handling.rpc.term, handling.rpc.body["commitIndex"]):
        raise group.problem(line, "argIndex", f"push {handling.rpc.mid} carried another commitIndex or term")
    handling.commits = True
    is_past = handling.followed <= handling.rpc.term < node.role.now.term
    if handling.step is None:
        action = "SkipCommit" if is_past else "HandleDoCommit"
        handling.step, handling.answer = _handle(group, line, node, handling.rpc, action)
    else:
        group.observe(line)
    step = handling.step
    if is_past:
        step.action = "SkipCommit"
    if is_past and line.st.committed == line.pre.committed:
        return
    step.shows |= shown_of_log(line.st)
    step.settled = line.number
    if line.st.committed != line.pre.committed:
        step.late.add("committedIndex")
    write_committed(node, step, line)


def resp_push(group: RecordedGroup, line: RespPush) -> None:
    """The answer to the request taken last, or to one that still waits in the queue, or a refusal."""
    rpc = group.push(
        line, line.mid, follower=line.node, caller=line.to, type=line.type, index=line.index, term=line.term
    )
    node = group.node(line)
    if _is_unheard(line, rpc):
        step = group.step(line, node, OBSERVE, thread=THREAD)
        step.shows = shown_by_thread(node, line.st)
        _leave_if_gone(group, line, rpc)
        return
    rpc.replies.append((line.code, line.beginIndex, line.endIndex))
    handling = node.handling
    if handling and handling.rpc is rpc and not handling.answered and line.by == THREAD:
        _answer_taken(group, line, node, handling)
    elif rpc.type == "APPEND" and rpc.queued and line.by == THREAD:
        _answer_queued(group, line, node, rpc)
    elif line.code == "NOT_FOLLOWER" and rpc.copies and group.not_follower:
        _refuse(group, line, node, rpc)
    elif line.code != "REPEATED_PUSH":
        group.lose_request(line, rpc)  # refused before it was queued, which the spec does not know


def _is_unheard(line: RespPush, rpc: RecordedPush) -> bool:
    """Return whether an APPEND after a gap is answered though nobody waits: it was answered, or its caller has died.

    The EntryHandler gives the lowest of those that wait an answer each second. Only the first completes the future.
    """
    waits = rpc.type == "APPEND" and rpc.queued and line.by == THREAD and rpc.last_index > line.st.end
    return waits and line.code == "INCONSISTENT_STATE" and not rpc.request(queued=True)["awaited"]


def _answer_taken(group: RecordedGroup, line: RespPush, node: RecordedNode, handling: Handling) -> None:
    handling.answered = True
    if handling.step is None:
        handling.step, handling.answer = _fail(group, line, node, handling)
        handling.step.shows = shown_by_thread(node, line.st)
    else:
        group.observe(line)
        handling.step.shows.setdefault("committedIndex", line.st.committed)
    _send(handling.step, handling.answer, handling.rpc, line)


def _fail(
    group: RecordedGroup, line: RespPush, node: RecordedNode, handling: Handling
) -> tuple[PlacedStep, Message | None]:
    """A request has no effect but its answer; FailStore, where the node ceased to follow meanwhile."""
    rpc = handling.rpc
    if rpc.type in ("APPEND", "TRUNCATE") and handling.failed_at and handling.failed_as != "FOLLOWER":
        step, answer = _begin(group, handling.failed_at, node, rpc, "FailStore")
        node.role.read(step, lambda now: now.role not in ("FOLLOWER", "DOWN"))
        return step, answer
    batch = "Batch" if rpc.is_batch else ""
    action = f"HandleDo{batch}{rpc.type.capitalize()}"
    return _handle(group, handling.failed_at or line, node, rpc, action)


def _refuse(group: RecordedGroup, line: RespPush, node: RecordedNode, rpc: RecordedPush) -> None:
    """ClearCompareOrTruncateRequests."""
    step, answer = _begin(group, line, node, rpc, "ClearCompareOrTruncateRequests")
    node.role.read(step, lambda now: now.role not in ("FOLLOWER", "DOWN"))
    step.shows = shown_by_thread(node, line.st)
    _send(step, answer, rpc, line)


def _answer_queued(group: RecordedGroup, line: RespPush, node: RecordedNode, rpc: RecordedPush) -> None:
    """CheckAppendFuture: falls behind and leaves the queue, or lies after a gap and stays in it.

    In 0.3.2 it leaves in both cases: what stays in the spec is lost.
    """
    stays = rpc.last_index > line.st.end
    step, answer = _handle(group, line, node, rpc, "CheckAppendFuture")
    step.shows = shown_by_thread(node, line.st)
    _send(step, answer, rpc, line)
    rpc.queued = stays
    if stays:
        rpc.copies += 1
        rpc.answered_early = True
    _leave_if_gone(group, line, rpc)


def _leave_if_gone(group: RecordedGroup, line: RespPush, rpc: RecordedPush) -> None:
    if rpc.leaves:
        group.lose_request(line, rpc, queued=True)
        rpc.queued = False


def _send(step: PlacedStep, answer: Message | None, rpc: RecordedPush, line: RespPush) -> None:
    if answer is not None:
        answer.update(answer_record(rpc, line))
        step.sent = [dict(answer)]
