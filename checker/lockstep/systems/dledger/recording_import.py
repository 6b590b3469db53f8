"""Importing a recording of DLedger: from its lines to a trace of the spec's actions.

`import_recording` reads a recording and returns a header, the events and a summary. Each line is the effect
of an action, an observation within one, or noise; spec/dledger/README.md has the table. The header has the features
that the lines show: elections are stepwise, channels keep no order, batches are pushed where the recording's config
says so, and dispatchers remember what is pending where some have something pending. The flaws are as published.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from lockstep.base.progress import REPORT_INTERVAL, Say, silent
from lockstep.systems.dledger import recorded_follower as follower
from lockstep.systems.dledger import recorded_leader as leader
from lockstep.systems.dledger.constants import DEFAULTS, STEPWISE_ELECTIONS
from lockstep.systems.dledger.recorded_group import (
    LOG_FIELDS,
    ROLE_FIELDS,
    MarksInTerm,
    RecordedGroup,
    RecordedNode,
    RoleInTerm,
    shown_of_node,
)
from lockstep.systems.dledger.recording_lines import (
    CheckpointLine,
    CrashLine,
    DispatcherLine,
    DroppedLine,
    DuplicatedLine,
    FinalLine,
    NetErrorLine,
    QueueLine,
    RecordingHeader,
    RecoveredLine,
    RecvPush,
    RecvRespPush,
    RespPush,
    RoleLine,
    SendPush,
    ShownDispatcher,
    ShownNode,
    StopLine,
    StoppingLine,
    StoreLine,
    WatermarkLine,
)
from lockstep.systems.dledger.recording_reader import RECORDING
from lockstep.systems.dledger.step_placement import PlacedStep, Placement, place
from lockstep.systems.recording_file import NodeLine, RecordingLine, RecordingParser, line_uses
from lockstep.trace import trace_format as trace
from lockstep.trace.imported_trace import Imported, Summary
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import OBSERVE, Event
from raftref.choices import REPAIRED
from raftref.dledger.choices import Feature, Flaw

SPEC = "DLedger"

CONSTANTS: dict[str, bool | str | int] = {
    **DEFAULTS,
    STEPWISE_ELECTIONS: True,
    "Fifo": False,
    Feature.SPLIT_QUORUM_CHECK: True,
    Feature.LATE_ROLE: True,
}

#: The features that go with a map of what has no answer: a dispatcher reads the end of the log and the map, then the
#: watermark, and pushes last, so that more may be left when it pushes again.
_MAP = (Feature.PENDING_MAP, Feature.LATE_RESEND)

#: The most steps that notes name one by one.
_FAULTS_NAMED = 10

#: The constants that differ in a version.
VERSIONS: dict[str, dict[str, bool | str | int]] = {
    "0.2.7": {},
    "0.3.1.2": {Feature.NOT_FOLLOWER: True, Flaw.APPLY_UNCLAMPED: REPAIRED},
}


def import_recording(path: Path | str, say: Say = silent) -> Imported:
    """Import the recording at `path`.

    Raises TraceError, naming file, line and field, where it is no whole recording or has what the spec does
    not model; UnreadableError where it cannot be read.
    """
    notes: list[str] = []
    header, lines = RECORDING.read(Path(path), notes.append)
    return _imported(header, lines, str(path), notes, say)


def import_lines(raw: Iterator[bytes], source: str) -> Imported:
    """Import the lines of a recording; `source` names them in messages."""
    notes: list[str] = []
    header, lines = RECORDING.parse(raw, source, notes.append)
    return _imported(header, lines, source, notes)


def _imported(
    header: RecordingHeader, lines: Iterator[RecordingLine], source: str, notes: list[str], say: Say = silent
) -> Imported:
    constants = _constants(header, source)
    group = _group(header, source, constants)
    labels = {header.number: header.label}
    last = header.number
    for line in lines:
        labels[line.number] = line.label
        last = line.number
        if last % REPORT_INTERVAL == 0:
            say(f"{source}: line {last:,}")
        _read(group, line)
    labels[last + 1] = "end"
    for removal in group.early:
        removal.mark_unshown()
    constants |= dict.fromkeys(_MAP, group.batches or group.pending_map)
    say(f"{source}: placing {len(group.steps):,} steps")
    placement = place(group.steps, group.histories())
    notes += _notes_on_faults(placement, source)
    events = tuple(_events(placement, placement.steps, 0))
    return Imported(_trace_header(header, constants), events, _summary(placement, labels, group.observed, notes))


def _group(header: RecordingHeader, source: str, constants: dict[str, bool | str | int]) -> RecordedGroup:
    return RecordedGroup(
        source,
        {name: RecordedNode(name, header.nodes) for name in header.nodes},
        batches=constants["Batches"] is True,
        not_follower=constants["NotFollower"] is True,
    )


def _read(group: RecordedGroup, line: RecordingLine) -> None:
    disp = getattr(line, "disp", None)
    group.pending_map |= isinstance(disp, ShownDispatcher) and disp.pending > 0
    _check_state(group, line)
    reader = _READERS.get(type(line))
    if reader:
        reader(group, line)


class GrowingRecording:
    """The import of a recording that is still written.

    A step has its place for good once no line that comes later is to be read before it: the order of steps and that of
    their lines differ by a short while. Dispatchers remember what is pending, as those of the real DLedger do.
    """

    def __init__(self, source: str) -> None:
        """Begin before the first line; `source` names the recording in messages."""
        self._source, self._parser = source, RecordingParser(RECORDING, source)
        self._group: RecordedGroup | None = None
        self._constants: dict[str, bool | str | int] = {}
        self._count = 0
        #: Number and time of each line that a step may have yet.
        self._times: deque[tuple[int, float]] = deque()
        self._settled_line = 0

    @property
    def header(self) -> trace.Header | None:
        """The header of the trace, None before that of the recording."""
        header = self._parser.header
        return None if header is None else _trace_header(header, self._constants)

    def add(self, text: bytes) -> None:
        """Read the next line; raises TraceError as import_recording does."""
        line = self._parser.take(text)
        header = self._parser.header
        if self._group is None:
            assert header is not None
            self._constants = _constants(header, self._source) | dict.fromkeys(_MAP, True)
            self._group = _group(header, self._source, self._constants)
            self._group.pending_map = True
        if line is not None:
            self._times.append((line.number, line.t_ms))
            _read(self._group, line)

    def events(self, until_ms: float) -> list[Event]:
        """Return the events of the lines up to a moment; raises ContradictedError."""
        group = self._group
        while self._times and self._times[0][1] <= until_ms:
            self._settled_line = self._times.popleft()[0]
        if group is None or not any(step.line <= self._settled_line for step in group.steps):
            return []
        placement = place(group.steps, group.histories())
        settled = list(takewhile(lambda step: max(step.line, step.settled) <= self._settled_line, placement.steps))
        found = _events(placement, settled, self._count)
        self._count += len(found)
        group.settle(settled)
        return found


def _events(placement: Placement, steps: Sequence[PlacedStep], first: int) -> list[Event]:
    """Return the events of some steps of a placement, numbered from `first` on."""
    forced, disputed = frozenset(placement.forced), frozenset(placement.disputed)
    return [
        _event(seq, step, forced=step in forced, disputed=step in disputed) for seq, step in enumerate(steps, first)
    ]


def _check_state(group: RecordedGroup, line: RecordingLine) -> None:
    """Raise TraceError unless the state that a line shows is one that the lines above lead to, now or before.

    The state that a step shows is compared with the spec, by the checker. A process that is stopped before it has
    recovered shows what it has loaded so far.
    """
    st = getattr(line, "st", None)
    if not isinstance(line, NodeLine) or not isinstance(st, ShownNode) or isinstance(line, _SHOWN_BY_STEPS):
        return
    node = group.node(line)
    if node.role.now.role == "DOWN" and isinstance(line, StoppingLine):
        return
    if not node.role.has_been(RoleInTerm(st.role, st.term)):
        raise group.problem(line, "st.role", f"{st.role} in term {st.term}: by the lines above it never was that")
    for name, history, value in (("end", node.end, st.end), ("committed", node.committed, st.committed)):
        if not history.has_been(value):
            raise group.problem(line, f"st.{name}", f"{value}: by the lines above it never was that")


#: Lines whose state their steps show, or which begin a life.
_SHOWN_BY_STEPS = (RecoveredLine, SendPush, CrashLine, StopLine, FinalLine)


def _constants(header: RecordingHeader, source: str) -> dict[str, bool | str | int]:
    """Return the constants of the header for this version with this config."""
    if header.version not in VERSIONS:
        problem = f"field `version`: {header.version!r} is none of {', '.join(VERSIONS)}"
        raise TraceError(source, header.number, problem)
    batches = header.config.get("enableBatchPush") is True
    return {**CONSTANTS, **VERSIONS[header.version], **dict.fromkeys(_MAP, batches), "Batches": batches}


def _event(seq: int, step: PlacedStep, *, forced: bool, disputed: bool) -> Event:
    sent = None if step.sent is None else tuple(step.sent)
    step_fields = (step.node, step.action, step.args, step.shows, sent)
    return Event(seq, *step_fields, t_ms=step.t_ms, line=step.line, forced=forced, disputed=disputed)


def _trace_header(header: RecordingHeader, constants: dict[str, bool | str | int]) -> trace.Header:
    return trace.Header(
        format=trace.FORMAT,
        system="dledger",
        version=header.version,
        spec=SPEC,
        nodes=header.nodes,
        constants=constants,
        origin=f"recorded from OpenMessaging DLedger {header.version}, scenario {header.scenario}",
        scenario=f"{header.scenario}, seed {header.seed}",
    )


def _notes_on_faults(placement: Placement, source: str) -> Iterator[str]:
    """Yield what is wrong with the steps that no order explains, for the first few."""
    faults = [f"{source}:{line}: {fault}" for line, fault in placement.faults()]
    yield from faults[:_FAULTS_NAMED]
    if len(faults) > _FAULTS_NAMED:
        yield f"{len(faults) - _FAULTS_NAMED} more such steps; `forced` in the trace marks them"


def _summary(placement: Placement, labels: dict[int, str], observed: set[int], notes: Sequence[str]) -> Summary:
    acted = {step.line for step in placement.steps if step.action != OBSERVE}
    observed = observed | {step.line for step in placement.steps if step.action == OBSERVE}
    return Summary(
        uses=line_uses(labels, acted, observed),
        actions=dict(sorted(Counter(step.action for step in placement.steps).items())),
        moved=tuple(sorted(step.line for step in placement.moved if not step.hidden)),
        forced=tuple(sorted(step.line for step in placement.forced)),
        hidden=dict(sorted(Counter(step.action for step in placement.steps if step.hidden).items())),
        notes=tuple(notes),
    )


def _role(group: RecordedGroup, line: RoleLine) -> None:
    """ChangeToCandidate, NextTerm, SetCurrVoteFor, ChangeToLeader, ChangeToFollower."""
    node = group.node(line)
    for name, value in (("prevRole", node.role.now.role), ("prevTerm", node.role.now.term)):
        if getattr(line, name) not in (None, value):
            raise group.problem(line, name, f"{getattr(line, name)}: the lines before lead to {value}")
    args: dict[str, Any] = {}
    action = line.op[0].upper() + line.op[1:]
    if line.op == "nextTerm":
        args["term"] = line.term
    elif line.op == "setCurrVoteFor" and _voted_so_before(group, node, line):
        action = OBSERVE
    elif line.op == "setCurrVoteFor":
        args["candidate"] = _named(group, line, "votedFor")
    elif line.op == "changeToFollower":
        args["leader"] = _named(group, line, "leaderId")
    node.vote = (line.term, line.votedFor)
    step = group.step(line, node, action, thread="MemberState", **args)
    step.shows = {
        "role": line.role,
        "currTerm": line.term,
        "leaderId": line.leaderId,
        "currVoteFor": line.votedFor,
        "ledgerEndIndex": line.endIndex,
    }
    if line.endIndex != -1:
        step.shows["ledgerEndTerm"] = line.endTerm
    if action == OBSERVE:
        return
    step.changes = set(ROLE_FIELDS)
    if line.op == "setCurrVoteFor":
        _reads_of_a_vote(group, node, line, step)
        return
    if line.op == "nextTerm":
        _read_of_a_term(group, node, line, step)
    if line.op == "changeToFollower":
        _read_of_a_leader(group, line, step)
    node.role.write(step, RoleInTerm(line.role, line.term))
    if line.term != node.marks.now.term:
        node.marks.write(step, MarksInTerm(line.term, node.no_marks))
        step.changes.add("peerWaterMarks")


def _named(group: RecordedGroup, line: RoleLine, name: str) -> str:
    value = getattr(line, name)
    if value not in group.nodes:
        raise group.problem(line, name, f"{value!r} is not in the header")
    return str(value)


def _voted_so_before(group: RecordedGroup, node: RecordedNode, line: RoleLine) -> bool:
    """Return whether a vote is repeated since the candidate ceased to be one and the voter's role or term changed.

    A process that was stopped reads its vote requests late. In the spec a vote reaches a candidate: this one cannot be
    moved to where there was one, and it changes nothing.
    """
    candidate, term = _named(group, line, "votedFor"), line.term
    ceased = group.nodes[candidate].role.last_held(lambda now: now == RoleInTerm("CANDIDATE", term))
    return node.vote == (term, candidate) and ceased < node.role.taken_at(node.role.now)


def _reads_of_a_vote(group: RecordedGroup, node: RecordedNode, line: RoleLine, step: PlacedStep) -> None:
    """A vote reaches a candidate that still is one in this term, though its line may come later.

    It comes too late where the voter had followed it by then: the candidate leads.
    """
    term, candidate = line.term, group.nodes[step.args["candidate"]]
    asks, leads = RoleInTerm("CANDIDATE", term), RoleInTerm("LEADER", term)
    is_late = (
        candidate.role.last_held(lambda now: now == asks) < node.role.taken_at(node.role.now)
        and line.leaderId == candidate.name
    )
    node.role.read(step, lambda now: now.term == term)
    candidate.role.read(step, lambda now: now == (leads if is_late else asks))


def _read_of_a_leader(group: RecordedGroup, line: RoleLine, step: PlacedStep) -> None:
    """A follower follows a node that has led the term, and may lead it no more."""
    term = line.term
    group.nodes[step.args["leader"]].role.read(step, lambda now: now == RoleInTerm("LEADER", term), ends=False)


def _read_of_a_term(group: RecordedGroup, node: RecordedNode, line: RoleLine, step: PlacedStep) -> None:
    """A term after the next one was heard from a node that was in it."""
    if line.term == node.role.now.term + 1:
        return
    others = [other for other in group.nodes.values() if other is not node]
    others.sort(key=lambda other: other.role.now.term != line.term)
    any(other.role.read(step, lambda now: now.term == line.term) for other in others)


def _store(group: RecordedGroup, line: StoreLine) -> None:
    if line.by != "main":
        _check_store(group, line)
    if line.op == "appendAsLeader":
        leader.append_as_leader(group, line)
    elif line.by == "main":
        group.observe(line)  # part of Restart
    elif line.by == leader.CHECKER and line.op == "updateCommittedIndex":
        leader.quorum_ack_checker(group, line)
    elif line.by == follower.THREAD:
        follower.store(group, line)
    else:
        raise group.problem(line, "by", f"{line.by!r} is not known to call {line.op}")


def _check_store(group: RecordedGroup, line: StoreLine) -> None:
    """The store's lines are atomic with their effect, so each goes on from where the last one ended."""
    node = group.node(line)
    for name, value in (("end", node.end.now), ("committed", node.committed.now)):
        if getattr(line.pre, name) != value:
            raise group.problem(line, f"pre.{name}", f"the lines before lead to {value}")
    if line.op == "updateCommittedIndex":
        if line.currTerm != node.role.now.term:
            raise group.problem(line, "currTerm", f"the lines before lead to {node.role.now.term}")
        return
    if line.ok and (line.index, line.entryTerm) != (line.st.end, line.st.endTerm):
        raise group.problem(line, "index", "the entry written is not the end of the log")


def _checkpoint(group: RecordedGroup, line: CheckpointLine) -> None:
    """PersistCheckPoint: placed where the committed index was the one that was written."""
    node = group.node(line)
    step = group.step(line, node, "PersistCheckPoint", thread="checkpoint")
    node.check_point = line.committedIndex
    step.shows = {"checkPoint": line.committedIndex}
    step.changes = {"checkPoint"}
    node.committed.read(step, lambda committed: committed == line.committedIndex)


def _crash(group: RecordedGroup, line: CrashLine | StopLine) -> None:
    """Crash: killed, or stopped in order (its checkpoint has a line of its own); none before it had recovered."""
    node = group.node(line)
    if node.role.now.role == "DOWN":
        return
    step = group.step(line, node, "Crash")
    step.after += node.since_barrier[:-1]
    node.barrier, node.threads, node.since_barrier = step, {}, []
    step.shows = shown_of_node(line.st) | {"role": "DOWN", "leaderId": None}
    step.changes = ROLE_FIELDS | {"peerWaterMarks", "dispatchers"}
    _forget_what_was_cut_off(node, step)
    node.role.write(step, RoleInTerm("DOWN", line.st.term))
    node.marks.write(step, MarksInTerm(line.st.term, node.no_marks))
    group.pushes.abandon(step, node.name)
    node.reset(step)
    for history in (node.role, node.marks):
        history.forget()


def _forget_what_was_cut_off(node: RecordedNode, step: PlacedStep) -> None:
    """Hide the committed index where the process died between writing the log and that: the spec has one step."""
    handling = node.handling
    writes = handling and handling.rpc.type in ("APPEND", "TRUNCATE")
    if handling and writes and handling.step and not handling.commits:
        handling.step.shows.pop("committedIndex", None)
        step.shows.pop("committedIndex")


def _recovered(group: RecordedGroup, line: RecoveredLine) -> None:
    """Restart; at the first start, only what the node shows."""
    node = group.node(line)
    if line.st.term != line.currTerm:
        raise group.problem(line, "currTerm", f"the node is in term {line.st.term}")
    restarts = node.role.now.role == "DOWN"
    if restarts:
        _lose_check_point(node, line)
        resurrected = max(0, line.st.end - node.end.now)
        step = group.step(line, node, "Restart", resurrected=resurrected)
        node.barrier = step
    else:
        step = group.step(line, node, OBSERVE)
    step.shows = shown_of_node(line.st) | {"currVoteFor": line.votedFor, "log": _log(line.log)}
    node.vote = (line.currTerm, line.votedFor)
    if not restarts:
        return
    step.changes = ROLE_FIELDS | LOG_FIELDS | {"committedIndex"}
    node.role.write(step, RoleInTerm(line.st.role, line.st.term))
    node.committed.write(step, line.st.committed)
    node.end.write(step, line.st.end)
    for history in (node.role, node.committed, node.end):
        history.forget()


def _lose_check_point(node: RecordedNode, line: RecoveredLine) -> None:
    """CrashInPersistCheckPoint: a node that had a checkpoint, and has a log, comes back with nothing committed."""
    died = node.barrier
    if died and node.check_point != -1 and line.st.committed == -1 != line.st.end:
        died.action = "CrashInPersistCheckPoint"
        node.check_point = -1


def _log(entries: tuple[tuple[int, int, str], ...]) -> list[dict[str, Any]]:
    return [{"term": term, "value": value} for _index, term, value in entries]


def _dropped(group: RecordedGroup, line: DroppedLine) -> None:
    if line.rpc == "push":
        ends = (line.src, line.dst) if line.dir == "req" else (line.dst, line.src)
        rpc = group.push(line, line.mid, caller=ends[0], follower=ends[1])
        if line.dir == "req":
            group.lose_request(line, rpc)
        else:
            group.lose_answer(line, rpc, rpc.answers[0] if rpc.answers else None)


def _duplicated(group: RecordedGroup, line: DuplicatedLine) -> None:
    if line.rpc == "push" and line.dir == "req":
        rpc = group.push(line, line.mid)
        step = group.step(line, group.nodes[rpc.follower], "Duplicate", m=rpc.request())
        rpc.duplicate(step)
        group.observe(line)


def _net_error(group: RecordedGroup, line: NetErrorLine) -> None:
    """A dead node takes no request; the caller's own step is at the dispatcher's line."""
    if line.rpc == "push":
        rpc = group.push(line, line.mid, caller=line.node, follower=line.dst, type=line.type)
        lost = line.reason == "refused" and group.lose_request(line, rpc)
        if not lost and rpc.type in ("COMPARE", "TRUNCATE"):
            group.observe(line)


def _final(group: RecordedGroup, line: FinalLine) -> None:
    """Observe: the state of a node at the end."""
    node = group.node(line)
    step = group.step(line, node, OBSERVE)
    step.shows = shown_of_node(line.st) | {"currVoteFor": line.votedFor, "log": _log(line.log)}


_READERS: dict[type[RecordingLine], Callable[[RecordedGroup, Any], None]] = {
    RoleLine: _role,
    StoreLine: _store,
    SendPush: leader.send_push,
    RecvRespPush: leader.recv_resp_push,
    DispatcherLine: leader.change_state,
    WatermarkLine: leader.watermark,
    RecvPush: follower.recv_push,
    QueueLine: follower.handler,
    RespPush: follower.resp_push,
    CheckpointLine: _checkpoint,
    CrashLine: _crash,
    StopLine: _crash,
    RecoveredLine: _recovered,
    DroppedLine: _dropped,
    DuplicatedLine: _duplicated,
    NetErrorLine: _net_error,
    FinalLine: _final,
}
