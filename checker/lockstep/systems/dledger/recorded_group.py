"""A recorded group, as far as its lines are read: its nodes, its pushes, and the steps found so far."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lockstep.systems.dledger.recorded_pending_map import PendingMap, Removal
from lockstep.systems.dledger.recorded_pushes import Message, RecordedPush, RecordedPushes
from lockstep.systems.dledger.recording_lines import (
    DispatcherLine,
    RecvRespPush,
    ShownDispatcher,
    ShownLog,
    ShownNode,
    StoreLine,
)
from lockstep.systems.dledger.step_placement import History, PlacedStep
from lockstep.systems.recording_file import NodeLine, RecordingLine
from lockstep.trace.json_lines import TraceError

#: The fields of a node that a change of its role, or of its log, may alter.
ROLE_FIELDS = {"role", "currTerm", "leaderId", "currVoteFor"}
LOG_FIELDS = {"log", "ledgerBeginIndex", "ledgerEndIndex", "ledgerEndTerm"}


class RoleInTerm(NamedTuple):
    """The role of a node, in a term."""

    role: str
    term: int


class MarksInTerm(NamedTuple):
    """The watermarks that count for the current term, as the spec has them."""

    term: int
    marks: dict[str, int]


@dataclass(eq=False)
class ArrivedAnswer:
    """An answer that has arrived and whose effect was not recorded yet.

    `message` is None where the spec's network holds no such answer. `removal` is that of its push from the pendingMap,
    where another push shows that it has happened.
    """

    rpc: RecordedPush
    line: RecvRespPush
    message: Message | None
    removal: Removal | None = None


@dataclass(eq=False)
class RecordedDispatcher:
    """One EntryDispatcher: its thread, its type as the spec has it, and the call it waits for.

    `write_index` is the next to push after what was pushed, where batches are; the recorded one is after what was
    gathered.
    """

    type: History[str]
    term: int = -1
    starts_at_end: bool = True
    write_index: int = -1
    awaited: RecordedPush | None = None
    answer: ArrivedAnswer | None = None
    entering: DispatcherLine | None = None
    pendings: PendingMap = field(default_factory=PendingMap)

    def compares(self, step: PlacedStep) -> None:
        """Let `step` send it to COMPARE, where it forgets what it has pushed if it leaves APPEND."""
        if self.type.now == "APPEND":
            self.pendings.clear(step)
        self.type.write(step, "COMPARE")


@dataclass(eq=False)
class Handling:
    """A request that the EntryHandler took; its step and its answer (to be filled) once it had an effect.

    `followed` is the term in which the node last followed when it was taken. `failed_at` is the line at which the store
    refused it; `failed_as` the role that the node had then. `commits`: it has come to the committed index, the last
    that it does.
    """

    rpc: RecordedPush
    followed: float
    step: PlacedStep | None = None
    answer: Message | None = None
    failed_at: RecordingLine | None = None
    failed_as: str = "FOLLOWER"
    answered: bool = False
    commits: bool = False


class RecordedNode:
    """One node, as far as its lines are read."""

    def __init__(self, name: str, nodes: tuple[str, ...]) -> None:
        """Start with a node that was never started."""
        self.name = name
        self.peers = tuple(peer for peer in nodes if peer != name)
        self.no_marks = dict.fromkeys(nodes, -1)
        self.role = History(RoleInTerm("CANDIDATE", 0))
        self.vote: tuple[int, str | None] = (0, None)
        self.check_point = -1
        self.committed = History(-1)
        self.end = History(-1)
        self.marks = History(MarksInTerm(0, self.no_marks))
        self.dispatchers: dict[str, RecordedDispatcher] = {}
        self.barrier: PlacedStep | None = None
        self.threads: dict[str, PlacedStep] = {}
        self.since_barrier: list[PlacedStep] = []
        self.reset(None)

    def reset(self, died: PlacedStep | None) -> None:
        """Forget what a process knows, at its death."""
        for peer in self.peers:
            history = self.dispatchers[peer].type if peer in self.dispatchers else History("COMPARE")
            if died:
                history.write(died, "COMPARE")
                history.forget()
            self.dispatchers[peer] = RecordedDispatcher(history)
        self.handling: Handling | None = None
        self.unmarked: dict[int, PlacedStep] = {}
        self.append_answers: list[ArrivedAnswer] = []
        self.marks_by_term: dict[int, dict[str, int]] = {}

    def histories(self) -> Iterator[History[Any]]:
        """Yield all histories of this node."""
        yield from (self.role, self.committed, self.end, self.marks)
        yield from (dispatcher.type for dispatcher in self.dispatchers.values())

    def leads(self, term: int) -> bool:
        """Return whether the node is the leader of `term` now."""
        return self.role.now == RoleInTerm("LEADER", term)


@dataclass
class RecordedGroup:
    """All nodes, all messages, all steps, and the lines that were of use.

    `pending_map`: the lines show that dispatchers remember what has no answer. `early` are the removals from that map
    that happened before a line showed their effect.
    """

    source: str
    nodes: dict[str, RecordedNode]
    batches: bool = False
    not_follower: bool = False
    pending_map: bool = False
    pushes: RecordedPushes = field(default_factory=RecordedPushes)
    steps: list[PlacedStep] = field(default_factory=list)
    observed: set[int] = field(default_factory=set)
    early: list[Removal] = field(default_factory=list)

    def histories(self) -> list[History[Any]]:
        """Return the histories of all nodes."""
        return [history for node in self.nodes.values() for history in node.histories()]

    def settle(self, steps: Sequence[PlacedStep]) -> None:
        """Forget what is needed to place steps: these have their place for good."""
        gone = frozenset(steps)
        self.steps = [step for step in self.steps if step not in gone]
        for history in self.histories():
            history.settle(gone)
        for node in self.nodes.values():
            node.since_barrier = [step for step in node.since_barrier if step not in gone]
        for step in steps:
            step.after.clear()

    def step(
        self, line: RecordingLine, node: RecordedNode, action: str, *, thread: str = "", **args: Any
    ) -> PlacedStep:
        """Begin a step at `line`, after the one before it in its thread."""
        step = PlacedStep(node.name, action, line.number, line.t_ms, args)
        before = node.threads.get(thread, node.barrier)
        if before:
            step.after.append(before)
        if thread:
            node.threads[thread] = step
        node.since_barrier.append(step)
        self.steps.append(step)
        return step

    def take(self, rpc: RecordedPush, step: PlacedStep) -> None:
        """Let `step` remove one copy of a request from the network."""
        rpc.copies -= 1
        rpc.touch(step)

    def lose_request(self, line: RecordingLine, rpc: RecordedPush, *, queued: bool = False) -> bool:
        """Lose one copy of a request, if one is under way."""
        if not rpc.copies:
            return False
        step = self.step(line, self.nodes[rpc.follower], "Lose", m=rpc.request(queued=queued))
        self.take(rpc, step)
        return True

    def lose_answer(self, line: RecordingLine, rpc: RecordedPush, answer: Message | None) -> None:
        """Lose an answer, if the spec's network holds it."""
        if answer is not None:
            step = self.step(line, self.nodes[rpc.caller], "Lose", m=answer)
            rpc.remove(answer, step)

    def push(self, line: RecordingLine, mid: int | None, **fields: Any) -> RecordedPush:
        """Return the push `mid`, which must have the given fields."""
        rpc = self.pushes.get(mid)
        if rpc is None:
            raise self.problem(line, "mid", f"no push {mid} was sent")
        for name, value in fields.items():
            if value is not None and getattr(rpc, name) != value:
                raise self.problem(line, "mid", f"push {mid} has {name} {getattr(rpc, name)!r}, not {value!r}")
        return rpc

    def peer(self, line: NodeLine, name: str, peer: str | None) -> str:
        """Return `peer`, the value of field `name`, if it is one."""
        if peer is None or peer not in self.node(line).peers:
            raise self.problem(line, name, f"{peer!r} is no peer of {line.node!r}")
        return peer

    def node(self, line: NodeLine) -> RecordedNode:
        """Return the node of `line`."""
        return self.nodes[line.node]

    def problem(self, line: RecordingLine, name: str, text: str) -> TraceError:
        """Return the error that names the file, the line and the field."""
        return TraceError(self.source, line.number, f"field `{name}`: {text}")

    def observe(self, line: RecordingLine) -> None:
        """Count `line` as an observation within an action."""
        self.observed.add(line.number)


def write_committed(node: RecordedNode, step: PlacedStep, line: StoreLine) -> None:
    """Record that a call of the store moved the committed index, if it did."""
    if line.st.committed != line.pre.committed:
        step.changes.add("committedIndex")
        node.committed.write(step, line.st.committed)


def shown_of_log(st: ShownLog | ShownNode) -> dict[str, Any]:
    """Return the fields of a log in `st`, but for the end term of an empty one, which the code has in two ways."""
    shows: dict[str, Any] = {
        "ledgerBeginIndex": st.begin,
        "ledgerEndIndex": st.end,
        "committedIndex": st.committed,
    }
    if st.end != -1:
        shows["ledgerEndTerm"] = st.endTerm
    return shows


def shown_of_node(st: ShownNode) -> dict[str, Any]:
    """Return the fields of a node in `st`."""
    return {"role": st.role, "currTerm": st.term, "leaderId": st.leader, **shown_of_log(st)}


def shown_by_thread(node: RecordedNode, st: ShownNode) -> dict[str, Any]:
    """Return the fields of a node in `st`, without those that may be older than the effect of its line."""
    shows = shown_of_node(st)
    past: set[str] = set()
    if node.role.is_past(RoleInTerm(st.role, st.term)):
        past |= ROLE_FIELDS
    if node.end.is_past(st.end):
        past |= LOG_FIELDS
    if node.committed.is_past(st.committed):
        past.add("committedIndex")
    return {name: value for name, value in shows.items() if name not in past}


def shown_of_dispatcher(disp: ShownDispatcher, peer: str, *, gathers: bool = False, **changed: Any) -> dict[str, Any]:
    """Return the fields of the dispatcher for `peer` in `disp`, with those in `changed` replaced.

    Where it `gathers` entries for a batch, its writeIndex is after what was pushed, and is left out.
    """
    shown = {"type": disp.type, "term": disp.term, "compareIndex": disp.compareIndex}
    pushed = {} if gathers else {"writeIndex": disp.writeIndex}
    return {"dispatchers": {peer: {**shown, **pushed, **changed}}}
