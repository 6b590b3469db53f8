"""What the importer knows while it reads: each node as its lines told it, and the steps found so far."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lockstep.systems.dledger.recorded_pending_map import Pendings, Removal
from lockstep.systems.dledger.recorded_pushes import Message, Rpc, Wire
from lockstep.systems.dledger.recording_lines import (
    DispatcherLine,
    DispatcherState,
    Line,
    NodeLine,
    NodeState,
    RecvRespPush,
    Store,
    StoreState,
)
from lockstep.systems.dledger.step_placement import History, PlacedStep
from lockstep.trace.json_lines import TraceError

#: What a change of these parts of a node may alter in what it shows.
OF_ROLE = {"role", "currTerm", "leaderId", "currVoteFor"}
OF_LOG = {"log", "ledgerBeginIndex", "ledgerEndIndex", "ledgerEndTerm"}


class RoleNow(NamedTuple):
    """The role of a node, in a term."""

    role: str
    term: int


class MarksNow(NamedTuple):
    """The watermarks that count for the current term, as the spec has them."""

    term: int
    marks: dict[str, int]


@dataclass(eq=False)
class Answer:
    """An answer that has arrived and whose effect was not recorded yet.

    `message` is None where the spec's network holds no such answer. `removal` is that of its push from the pendingMap,
    where another push shows that it has happened.
    """

    rpc: Rpc
    line: RecvRespPush
    message: Message | None
    removal: Removal | None = None


@dataclass(eq=False)
class Dispatcher:
    """One EntryDispatcher: its thread, its type as the spec has it, and the call it waits for.

    `write_index` is the next to push after what was pushed, where batches are; the recorded one is after what was
    gathered.
    """

    type: History[str]
    term: int = -1
    starts_at_end: bool = True
    write_index: int = -1
    awaited: Rpc | None = None
    answer: Answer | None = None
    entering: DispatcherLine | None = None
    pendings: Pendings = field(default_factory=Pendings)

    def compares(self, step: PlacedStep) -> None:
        """Let `step` send it to COMPARE, where it forgets what it has pushed if it leaves APPEND."""
        if self.type.now == "APPEND":
            self.pendings.clear(step)
        self.type.write(step, "COMPARE")


@dataclass(eq=False)
class Handling:
    """A request that the EntryHandler took; its step and its answer (to be filled) once it had an effect."""

    rpc: Rpc
    step: PlacedStep | None = None
    answer: Message | None = None
    failed_at: Line | None = None
    answered: bool = False


class Node:
    """One node, as far as the lines told."""

    def __init__(self, name: str, nodes: tuple[str, ...]) -> None:
        """Start with a node that was never started."""
        self.name = name
        self.peers = tuple(peer for peer in nodes if peer != name)
        self.no_marks = dict.fromkeys(nodes, -1)
        self.role = History(RoleNow("CANDIDATE", 0))
        self.vote: tuple[int, str | None] = (0, None)
        self.check_point = -1
        self.committed = History(-1)
        self.end = History(-1)
        self.marks = History(MarksNow(0, self.no_marks))
        self.dispatchers: dict[str, Dispatcher] = {}
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
            self.dispatchers[peer] = Dispatcher(history)
        self.handling: Handling | None = None
        self.unmarked: dict[int, PlacedStep] = {}
        self.append_answers: list[Answer] = []
        self.marks_by_term: dict[int, dict[str, int]] = {}

    def histories(self) -> Iterator[History[Any]]:
        """Yield all histories of this node."""
        yield from (self.role, self.committed, self.end, self.marks)
        yield from (dispatcher.type for dispatcher in self.dispatchers.values())

    def leads(self, term: int) -> bool:
        """Tell whether the node is the leader of `term` now."""
        return self.role.now == RoleNow("LEADER", term)


@dataclass
class World:
    """All nodes, all messages, all steps, and which lines were of use.

    `pending_map`: the lines show that dispatchers remember what has no answer. `early` are the removals from that map
    that happened before a line told their effect.
    """

    source: str
    nodes: dict[str, Node]
    batches: bool = False
    not_follower: bool = False
    pending_map: bool = False
    wire: Wire = field(default_factory=Wire)
    steps: list[PlacedStep] = field(default_factory=list)
    observed: set[int] = field(default_factory=set)
    early: list[Removal] = field(default_factory=list)

    def step(self, line: Line, node: Node, action: str, *, thread: str = "", **args: Any) -> PlacedStep:
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

    def take(self, rpc: Rpc, step: PlacedStep) -> None:
        """Let `step` remove one copy of a request from the network."""
        rpc.copies -= 1
        rpc.touch(step)

    def lose_request(self, line: Line, rpc: Rpc, *, queued: bool = False) -> bool:
        """Lose one copy of a request, if one is under way."""
        if not rpc.copies:
            return False
        step = self.step(line, self.nodes[rpc.follower], "Lose", m=rpc.request(queued=queued))
        self.take(rpc, step)
        return True

    def lose_answer(self, line: Line, rpc: Rpc, answer: Message | None) -> None:
        """Lose an answer, if the spec's network holds it."""
        if answer is not None:
            step = self.step(line, self.nodes[rpc.caller], "Lose", m=answer)
            rpc.remove(answer, step)

    def rpc(self, line: Line, mid: int | None, **told: Any) -> Rpc:
        """Return the push `mid`; what `line` tells of it, by field, must be so."""
        rpc = self.wire.get(mid)
        if rpc is None:
            raise self.problem(line, "mid", f"no push {mid} was sent")
        for name, value in told.items():
            if value is not None and getattr(rpc, name) != value:
                raise self.problem(line, "mid", f"push {mid} has {name} {getattr(rpc, name)!r}, not {value!r}")
        return rpc

    def peer(self, line: NodeLine, name: str, peer: str | None) -> str:
        """Return `peer`, the value of field `name`, if it is one."""
        if peer is None or peer not in self.node(line).peers:
            raise self.problem(line, name, f"{peer!r} is no peer of {line.node!r}")
        return peer

    def node(self, line: NodeLine) -> Node:
        """Return the node of `line`."""
        return self.nodes[line.node]

    def problem(self, line: Line, name: str, text: str) -> TraceError:
        """Return the error that names the file, the line and the field."""
        return TraceError(self.source, line.number, f"field `{name}`: {text}")

    def observe(self, line: Line) -> None:
        """Count `line` as an observation within an action."""
        self.observed.add(line.number)


def write_committed(node: Node, step: PlacedStep, line: Store) -> None:
    """Record that a call of the store moved the committed index, if it did; whether it may, the spec says."""
    if line.st.committed != line.pre.committed:
        step.changes.add("committedIndex")
        node.committed.write(step, line.st.committed)


def shown_of_log(st: StoreState | NodeState) -> dict[str, Any]:
    """Return what `st` shows of a log; the code is at odds with itself on the end term of an empty one."""
    shows: dict[str, Any] = {
        "ledgerBeginIndex": st.begin,
        "ledgerEndIndex": st.end,
        "committedIndex": st.committed,
    }
    if st.end != -1:
        shows["ledgerEndTerm"] = st.endTerm
    return shows


def shown_of_node(st: NodeState) -> dict[str, Any]:
    """Return what `st` shows of a node."""
    return {"role": st.role, "currTerm": st.term, "leaderId": st.leader, **shown_of_log(st)}


def shown_by_thread(node: Node, st: NodeState) -> dict[str, Any]:
    """Return what `st` shows where its line is not atomic with its effect: `st` may be older than that."""
    shows = shown_of_node(st)
    past: set[str] = set()
    if node.role.is_past(RoleNow(st.role, st.term)):
        past |= OF_ROLE
    if node.end.is_past(st.end):
        past |= OF_LOG
    if node.committed.is_past(st.committed):
        past.add("committedIndex")
    return {name: value for name, value in shows.items() if name not in past}


def shown_of_dispatcher(disp: DispatcherState, peer: str, *, gathers: bool = False, **changed: Any) -> dict[str, Any]:
    """Return what `disp` shows of the dispatcher for `peer`, where `changed` replaces what the line has.

    Where it `gathers` entries for a batch, its writeIndex is ahead of what was pushed by those, and is not shown.
    """
    shown = {"type": disp.type, "term": disp.term, "compareIndex": disp.compareIndex}
    pushed = {} if gathers else {"writeIndex": disp.writeIndex}
    return {"dispatchers": {peer: {**shown, **pushed, **changed}}}
