"""The lines of a follower: its queues, and its EntryHandler, a thread that takes one request after another.

What it does with one request is several lines (take, store, answer, committed index) and one step, which
takes effect at the store's line; one that changes no log takes effect where it is answered.
"""

from lockstep.systems.dledger.recorded_group import (
    OF_LOG,
    Handling,
    Node,
    World,
    shown_by_thread,
    shown_of_log,
    write_committed,
)
from lockstep.systems.dledger.recorded_pushes import Message, Rpc, answer_record, request_body
from lockstep.systems.dledger.recording_lines import Handler, Line, RecvPush, RespPush, Store
from lockstep.systems.dledger.step_placement import PlacedStep

THREAD = "EntryHandler"


def recv_push(world: World, line: RecvPush) -> None:
    """A request arrives: it must be what was sent. It takes effect when it is handled."""
    rpc = world.rpc(line, line.mid, follower=line.node)
    for name, value in request_body(line).items():
        if rpc.body[name] != value:
            raise world.problem(line, "mid", f"push {line.mid} was sent with {name} {rpc.body[name]!r}")


def handler(world: World, line: Handler) -> None:
    """Requests enter the follower's queues and leave them, handled or not."""
    if line.op == "clear":
        for index, mid in line.lost or ():
            rpc = world.rpc(line, mid, follower=line.node, type="APPEND", index=index)
            world.lose_request(line, rpc, queued=True)
            rpc.queued = False
        return
    rpc = world.rpc(line, line.mid, follower=line.node, type=line.type, index=line.index, term=line.reqTerm)
    if line.op == "enqueue":
        rpc.queued = True
    elif line.op == "repeated":
        world.lose_request(line, rpc)
    else:
        _take(world, line, rpc)


def _take(world: World, line: Handler, rpc: Rpc) -> None:
    node = world.node(line)
    assert line.st
    was_queued, rpc.queued = rpc.queued, False
    if rpc.type == "APPEND" and line.done and not was_queued:
        world.observe(line)  # CheckAppendFuture told it at the answer
    elif rpc.type == "APPEND" and line.done and rpc.last_index <= line.st.end:
        _handle(world, line, node, rpc, "CheckAppendFuture")
    else:
        world.observe(line)
        node.handling = Handling(rpc)


def _handle(world: World, line: Line, node: Node, rpc: Rpc, action: str) -> tuple[PlacedStep, Message | None]:
    """Begin the step in which the follower handles `rpc`, and its answer if the spec sends one."""
    step, answer = _begin(world, line, node, rpc, action)
    node.role.read(step, lambda now: now.role == "FOLLOWER")
    return step, answer


def _begin(world: World, line: Line, node: Node, rpc: Rpc, action: str) -> tuple[PlacedStep, Message | None]:
    """Begin the step in which the EntryHandler deals with `rpc`, and its answer if the spec sends one."""
    request = rpc.request(queued=True)
    step = world.step(line, node, action, thread=THREAD, m=request)
    world.take(rpc, step)
    answer: Message | None = {} if request["awaited"] else None
    if answer is not None:
        rpc.answers.append(answer)
    rpc.answered_early = False
    return step, answer


def store(world: World, line: Store) -> None:
    """The EntryHandler writes to the log, or moves the committed index."""
    node = world.node(line)
    handling = node.handling
    if handling is None:
        raise world.problem(line, "op", "no request was taken that could lead to this")
    if line.op == "updateCommittedIndex":
        _commit(world, line, node, handling)
    elif not handling.rpc.holds(line):
        raise world.problem(line, "index", f"this is not the entry of push {handling.rpc.mid}")
    elif line.ok:
        _write(world, line, node, handling)
    else:
        handling.failed_at = line


def _write(world: World, line: Store, node: Node, handling: Handling) -> None:
    """An entry is written; those of a batch are one step, which the line of its last one settles."""
    if handling.step is None:
        append = "HandleDoBatchAppend" if handling.rpc.is_batch else "HandleDoAppend"
        action = "HandleDoTruncate" if line.op == "truncate" else append
        handling.step, handling.answer = _handle(world, line, node, handling.rpc, action)
    else:
        world.observe(line)
    step = handling.step
    node.end.write(step, line.st.end)
    step.changes |= OF_LOG
    step.shows = shown_of_log(line.st)
    step.shows |= {"role": "FOLLOWER", "currTerm": line.leaderTerm, "leaderId": line.leaderId}
    if line.st.committed == line.pre.committed:
        del step.shows["committedIndex"]  # may change with the next lines
    write_committed(node, step, line)
    if handling.rpc.is_batch:
        step.late |= OF_LOG
        step.settled = line.number


def _commit(world: World, line: Store, node: Node, handling: Handling) -> None:
    if (line.argTerm, line.argIndex) != (handling.rpc.term, handling.rpc.body["commitIndex"]):
        raise world.problem(line, "argIndex", f"push {handling.rpc.mid} carried another commitIndex or term")
    if handling.step is None:
        handling.step, handling.answer = _handle(world, line, node, handling.rpc, "HandleDoCommit")
    else:
        world.observe(line)
    step = handling.step
    step.shows |= shown_of_log(line.st)
    step.settled = line.number
    if line.st.committed != line.pre.committed:
        step.late.add("committedIndex")
    write_committed(node, step, line)


def resp_push(world: World, line: RespPush) -> None:
    """The answer to the request taken last, or to one that still waits in the queue, or a refusal."""
    told = {"type": line.type, "index": line.index, "term": line.term}
    rpc = world.rpc(line, line.mid, follower=line.node, caller=line.to, **told)
    node = world.node(line)
    rpc.replies.append((line.code, line.beginIndex, line.endIndex))
    handling = node.handling
    if handling and handling.rpc is rpc and not handling.answered and line.by == THREAD:
        _answer_taken(world, line, node, handling)
    elif rpc.type == "APPEND" and rpc.queued and line.by == THREAD:
        _answer_queued(world, line, node, rpc)
    elif line.code == "NOT_FOLLOWER" and rpc.copies and world.not_follower:
        _refuse(world, line, node, rpc)
    elif line.code != "REPEATED_PUSH":
        world.lose_request(line, rpc)  # refused before it was queued, which the spec does not know


def _answer_taken(world: World, line: RespPush, node: Node, handling: Handling) -> None:
    handling.answered = True
    if handling.step is None:
        batch = "Batch" if handling.rpc.is_batch else ""
        action = f"HandleDo{batch}{handling.rpc.type.capitalize()}"
        handling.step, handling.answer = _handle(world, handling.failed_at or line, node, handling.rpc, action)
        handling.step.shows = shown_by_thread(node, line.st)
    else:
        world.observe(line)
        handling.step.shows.setdefault("committedIndex", line.st.committed)
    _send(handling.step, handling.answer, handling.rpc, line)


def _refuse(world: World, line: RespPush, node: Node, rpc: Rpc) -> None:
    """ClearCompareOrTruncateRequests."""
    step, answer = _begin(world, line, node, rpc, "ClearCompareOrTruncateRequests")
    node.role.read(step, lambda now: now.role not in ("FOLLOWER", "DOWN"))
    step.shows = shown_by_thread(node, line.st)
    _send(step, answer, rpc, line)


def _answer_queued(world: World, line: RespPush, node: Node, rpc: Rpc) -> None:
    """CheckAppendFuture: falls behind and leaves the queue, or lies beyond a gap and stays in it."""
    stays = rpc.last_index > line.st.end
    step, answer = _handle(world, line, node, rpc, "CheckAppendFuture")
    step.shows = shown_by_thread(node, line.st)
    _send(step, answer, rpc, line)
    rpc.queued = stays
    if stays:
        rpc.copies += 1
        rpc.answered_early = True


def _send(step: PlacedStep, answer: Message | None, rpc: Rpc, line: RespPush) -> None:
    if answer is not None:
        answer.update(answer_record(rpc, line))
        step.sent = [dict(answer)]
