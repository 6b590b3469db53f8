"""The lookahead of a recording: how a handler goes on, what a routine sends next.

A step of the spec is a whole handler, or a whole campaign, and the recorder writes a line for each part of it. So a
step is taken at one of its lines, with the others in view. And a request is recorded when it is sent, which is after
it was built; its content shows when that may have been.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass, field
from itertools import chain

from lockstep.systems.hashicorp.recording_lines import (
    COMPLETE,
    DeleteRange,
    FsmApply,
    FsmRestore,
    FsmSnapshot,
    LeaderLine,
    LibLog,
    ServerLine,
    SnapshotSaved,
    StableFail,
    StableSet,
    StartedLine,
    StartLine,
    StateLine,
    StoppedLine,
    StoreLogs,
    VerifyReq,
    VerifyResp,
    Written,
)
from lockstep.systems.hashicorp.recording_messages import (
    AppendEntries,
    Duplicate,
    Recv,
    Respond,
    Send,
    TimeoutNow,
)
from lockstep.systems.recording_file import RecordingLine
from lockstep.trace.json_lines import TraceError

#: A node and which of its lives.
Life = tuple[str, int]

#: A routine of a leader in a term: the leader's life, the peer, the term.
Routine = tuple[Life, str, int]

#: Lines of the main loop while it handles a request, or campaigns.
Part = StableSet | StableFail | StoreLogs | DeleteRange | SnapshotSaved | FsmRestore | StateLine | LeaderLine

#: Those of them that are durable writes, or were to be.
WRITES = (StableSet, StableFail, StoreLogs, DeleteRange, SnapshotSaved)


class Requests:
    """Requests of leaders' routines that are yet to be sent, in order, by routine.

    `to_come` counts, by life and routine, those of lines that are not known yet: `read_on` reads one more line, if
    there is one. Nothing is known of them unless the recording `is_whole`. `known` counts the others, sent or not.
    `singles` are the single calls of a routine that follow one of its pipeline: how many requests of the routine stand
    before each, and where it starts.
    """

    def __init__(self) -> None:
        self.queues: dict[Routine, deque[Send]] = {}
        self.to_come: dict[Life, dict[Routine, int]] = {}
        self.known: Counter[Routine] = Counter()
        self.singles: dict[Routine, deque[tuple[int, int | None]]] = {}
        self.is_whole = False
        self.read_on: Callable[[], bool] = lambda: False

    def append(self, line: Send) -> None:
        """Add the request of the next line."""
        routine = routine_of(line)
        self.queues.setdefault(routine, deque()).append(line)
        self.known[routine] += 1
        to_come = self.to_come.get(line.life, {})
        if routine in to_come:
            to_come[routine] -= 1
            if not to_come[routine]:
                del to_come[routine]
                if not to_come:
                    del self.to_come[line.life]

    def sent(self, line: Send) -> None:
        """Forget a request that is sent."""
        routine = routine_of(line)
        queue = self.queues.get(routine)
        if queue and queue[0] is line:
            queue.popleft()
            if not queue and self.is_whole and not self.left(routine):
                for table in (self.queues, self.known, self.singles):
                    table.pop(routine, None)

    def left(self, routine: Routine) -> int:
        """Return how many requests of a routine are to come in lines that are not known."""
        return self.to_come.get(routine[0], {}).get(routine, 0)

    def first(self, routine: Routine) -> Send | None:
        """Return the next request of a routine, None if it sends no more."""
        return next(self.all(routine), None)

    def all(self, routine: Routine) -> Iterator[Send]:
        """Yield the requests of a routine; as many lines are read as that takes."""
        place = 0
        while True:
            queue = self.queues.get(routine, ())
            if place < len(queue):
                yield queue[place]
                place += 1
            elif not self.left(routine) or not self.read_on():
                return

    def firsts(self, life: Life, terms: Set[int]) -> list[Send]:
        """Return the next request of each routine of a life; of routines of other terms only those that are known."""
        for routine in [each for each in self.to_come.get(life, ()) if each[2] in terms]:
            self.first(routine)
        return [queue[0] for routine, queue in self.queues.items() if routine[0] == life and queue]

    def next_single(self, routine: Routine, sent: Set[int]) -> int | None:
        """Return where the next single call of a routine starts, None if it makes none or sends a snapshot."""
        following = next((each for each in self.all(routine) if each.rpc not in sent), None)
        single = next(
            (each for each in self.queues.get(routine, ()) if not each.pipelined and each.rpc not in sent), None
        )
        if following is None or single is not None:
            return None if single is None else start_of(single)
        singles = self.singles.get(routine, deque())
        while singles and singles[0][0] < self.known[routine]:
            singles.popleft()
        return singles[0][1] if singles else None


def routine_of(line: Send) -> Routine:
    """Return the routine that sends a request."""
    return line.life, line.to, line.body.term


def start_of(line: Send) -> int | None:
    """Return where the entries of a request start, None if it sends a snapshot."""
    return line.body.prev_index + 1 if isinstance(line.body, AppendEntries) else None


@dataclass(slots=True)
class HandledRequest:
    """A request that a main loop handles: its line, what that writes meanwhile, its answer if it has one.

    `shuts_down`: Shutdown is called on its server before that has answered. `overlaps`: another request of the server
    is handled at the same time, the one of them by the main loop and the other a heartbeat beside it. `is_early`: it
    came before the server was observed, so no line says whom that takes for its leader. `heartbeat`: one by which the
    leader of the old term is known again while a vote enters a new one; both are one step, that of the vote.
    `precedes_campaign`: by this heartbeat a candidate follows, and its main loop campaigns before it looks. `commits`:
    the FSM has applied what only this request commits, so the handler had come so far, whether it has an answer or not.
    `replicates`: routines of the leader that this request ends go on with what they do, until the handler returns.
    `placed`: the line at which its step is to be taken, None while that is not known.
    """

    recv: Recv
    parts: list[Part] = field(default_factory=list)
    respond: Respond | None = None
    shuts_down: bool = False
    overlaps: bool = False
    is_early: bool = False
    heartbeat: HandledRequest | None = None
    precedes_campaign: bool = False
    commits: bool = False
    replicates: bool = False
    placed: int | None = None

    def place(self) -> RecordingLine:
        """Return the line at which the step is taken.

        It is the last write to the log, or the FSM's restoring: the other routines of the node, which read the log and
        the FSM, are recorded as they read. Without such a write it is the line at which the handler begins; of a vote
        that enters a term it is the first write, since a heartbeat may be handled before that. Where routines of a
        leader replicate meanwhile, it is the answer: they are stopped once the handler returns.
        """
        if self.heartbeat is not None:
            return self.heartbeat.place()
        if self.recv.beside:
            return self._place_beside()
        if self.replicates and not self.overlaps and self.respond is not None:
            return self.respond
        if self.recv.msg == "RequestVote":
            return next((part for part in self.parts if isinstance(part, WRITES)), self.recv)
        marks = (SnapshotSaved, FsmRestore) if self.recv.msg == "InstallSnapshot" else (StoreLogs, DeleteRange)
        return next((part for part in reversed(self.parts) if isinstance(part, marks)), self.recv)

    def _place_beside(self) -> RecordingLine:
        """Return the line at which a heartbeat beside the main loop was handled.

        It is the last one that it writes; but where the main loop handles a request meanwhile, that at which the server
        follows, which the main loop sees at once. One that writes nothing has read the term of the server at some
        moment, which its answer shows: the term before it or the one after it.
        """
        if self.parts:
            follows = [part for part in self.parts if isinstance(part, StateLine)] if self.overlaps else []
            return (follows or self.parts)[-1]
        obs, respond = self.recv.obs, self.respond
        if obs is None or respond is None or respond.body.success == (self.recv.body.term >= obs.term):
            return self.recv
        return respond


@dataclass(slots=True)
class Lookahead:
    """The lines that a step may need before the recording comes to them.

    `handlers` by the line that begins one, `steps` by that at which the step is taken, `parts` of handlers and
    campaigns by line; `campaigns` are the writes of electSelf by the first of them; `noops` the line at which a
    leader stores its first entry, by the line at which it wins; `votes` the requests of a campaign, by life and
    term; `rounds` those for pre-votes, by life and peer in order; `replication` what the routine that replicates to a
    peer sends, `heartbeats` what the routine beside it sends; `transfers` the TimeoutNow requests of a life in order;
    `saved` the line of the snapshot that was begun at a line, `compacted` the line at which the log was compacted after
    it, `completed` the lines of the snapshots whose routine came to its end; `duplicates` the line at which a request
    is copied, by its number: that of the loss of the first copy may stand above it; `verified` the answer to a client
    that asks whether a server leads, by the life and the number of the question.
    """

    handlers: dict[int, HandledRequest] = field(default_factory=dict)
    steps: dict[int, HandledRequest] = field(default_factory=dict)
    parts: set[int] = field(default_factory=set)
    campaigns: dict[int, list[StableSet | StableFail]] = field(default_factory=dict)
    noops: dict[int, StoreLogs] = field(default_factory=dict)
    votes: dict[tuple[Life, int], dict[str, Send]] = field(default_factory=lambda: defaultdict(dict))
    rounds: dict[tuple[Life, str], deque[Send]] = field(default_factory=lambda: defaultdict(deque))
    replication: Requests = field(default_factory=Requests)
    heartbeats: Requests = field(default_factory=Requests)
    transfers: dict[Life, deque[Send]] = field(default_factory=lambda: defaultdict(deque))
    saved: dict[int, SnapshotSaved] = field(default_factory=dict)
    compacted: dict[int, DeleteRange] = field(default_factory=dict)
    completed: set[int] = field(default_factory=set)
    duplicates: dict[int, Duplicate] = field(default_factory=dict)
    verified: dict[tuple[Life, int], VerifyResp] = field(default_factory=dict)


class LookaheadReader:
    """Reads the lookahead line by line; `open` are the requests that servers handle, by server."""

    def __init__(self, source: str) -> None:
        """Begin before the first line; `source` names the recording in messages."""
        self.source, self.lookahead = source, Lookahead()
        self.open: dict[str, HandledRequest] = {}
        self.beside: dict[str, list[HandledRequest]] = {}
        #: The first line of the requests that a server handles one during the other, while it does.
        self.busy: dict[str, int] = {}
        #: The heartbeats that were answered while a main loop handles its request.
        self.within: dict[str, list[HandledRequest]] = {}
        #: The servers whose NewRaft has not returned: the recorder does not observe them yet.
        self.starting = set[str]()
        self.campaign: dict[str, list[StableSet | StableFail]] = {}
        #: The heartbeat that has made a server a follower since its main loop wrote a state.
        self.overtaking: dict[str, HandledRequest] = {}
        self.won: dict[str, StateLine] = {}
        self.read_for: dict[str, FsmSnapshot] = {}
        self.last_saved: dict[str, SnapshotSaved] = {}
        self.shut_down: set[str] = set()
        self.asked: set[tuple[Life, int]] = set()

    def add(self, line: RecordingLine) -> None:
        """Read the next line; raises TraceError where it belongs to nothing."""
        if not isinstance(line, ServerLine):
            return
        match line:
            case Recv():
                self._recv(line)
            case Respond():
                self._respond(line)
            case Send():
                self._send(line)
            case Duplicate():
                self.lookahead.duplicates[line.rpc] = line
            case VerifyReq() | VerifyResp():
                self._question(line)
            case StateLine() if line.state == "Shutdown":
                self._shuts_down(line)
            case StartLine():
                self._ends(line.node)
                self.starting.add(line.node)
            case StoppedLine():
                self._ends(line.node)
            case StartedLine():
                self.starting.discard(line.node)
            case LibLog() if line.text == COMPLETE:
                self._completed(line.node)
            case FsmSnapshot():
                self._completed(line.node)
                self.read_for[line.node] = line
            case FsmApply() if line.node in self.open:
                obs = self.open[line.node].recv.obs
                self.open[line.node].commits |= obs is not None and line.i > obs.commit
            case FsmRestore() if line.node in self.open:
                self._part(self.open[line.node], line)
            case Written():
                self._written(line)

    def handles(self, handler: HandledRequest) -> bool:
        """Return whether a server handles a request still, in its main loop or beside it."""
        node = handler.recv.node
        return self.open.get(node) is handler or any(each is handler for each in self.beside.get(node, ()))

    def end(self) -> None:
        """Take the requests that are still handled as they are: no line is known that goes on with one."""
        for handler in chain(self.open.values(), *self.beside.values()):
            self._place(handler)
        self.busy.clear()

    def end_of(self, node: str) -> None:
        """Take the requests that a server still handles as they are: none of its lines follows."""
        for handler in self._handled(node):
            self._place(handler)
        self.busy.pop(node, None)

    def _handled(self, node: str) -> list[HandledRequest]:
        return [*([self.open[node]] if node in self.open else []), *self.beside.get(node, ())]

    def _rests(self, node: str) -> None:
        """Note that a server handles no request, if that is so."""
        if not self._handled(node):
            self.busy.pop(node, None)

    def _ends(self, node: str) -> None:
        self.end_of(node)
        for table in (self.open, self.beside, self.campaign, self.overtaking, self.won, self.read_for, self.last_saved):
            table.pop(node, None)
        self.shut_down.discard(node)

    def _shuts_down(self, line: StateLine) -> None:
        self.shut_down.add(line.node)
        for handler in self._handled(line.node):
            handler.shuts_down = True
        self._written(line)

    def _completed(self, node: str) -> None:
        """The routine of snapshots has come to the end of one, or would not begin the next."""
        saved = self.last_saved.pop(node, None)
        if saved is not None:
            self.lookahead.completed.add(saved.seq)

    def _question(self, line: VerifyReq | VerifyResp) -> None:
        """A client asks whether the server leads, or has its answer: once each."""
        question, place = (line.life, line.k), (self.source, line.number)
        if isinstance(line, VerifyReq):
            if question in self.asked:
                raise TraceError(*place, f"field `k`: {line.node} was asked question {line.k} before")
            self.asked.add(question)
        elif question not in self.asked:
            raise TraceError(*place, f"field `k`: nobody has asked {line.node} question {line.k}")
        elif question in self.lookahead.verified:
            raise TraceError(*place, f"field `k`: question {line.k} was answered before")
        else:
            self.lookahead.verified[question] = line

    def _recv(self, line: Recv) -> None:
        handler = self.lookahead.handlers[line.seq] = HandledRequest(
            line, shuts_down=line.node in self.shut_down, is_early=line.node in self.starting
        )
        self.busy.setdefault(line.node, line.seq)
        if line.beside:
            if line.node in self.open:
                handler.overlaps = self.open[line.node].overlaps = True
            self.beside.setdefault(line.node, []).append(handler)
            return
        for each in self.beside.get(line.node, ()):
            each.overlaps = handler.overlaps = True
        if line.node in self.open:
            raise TraceError(self.source, line.number, f"field `rpc`: {line.node} has not answered the one before")
        self.open[line.node] = handler
        self.within[line.node] = []

    def _respond(self, line: Respond) -> None:
        handler = self._of_beside(line) if line.beside else self.open.pop(line.node, None)
        if handler is None or (handler.recv.rpc, handler.recv.copy) != (line.rpc, line.copy):
            raise TraceError(self.source, line.number, f"field `rpc`: {line.node} is not handling request {line.rpc}")
        handler.respond = line
        if line.beside and line.node in self.open:
            self.within[line.node].append(handler)
        elif not line.beside:
            self._surround(handler)
            self._share(handler)
        self._place(handler)
        self._rests(line.node)

    def _share(self, handler: HandledRequest) -> None:
        """Give a heartbeat what the main loop wrote as it followed or entered the term, if its step is taken first.

        It has written nothing of that itself: it came to its end once the main loop had.
        """
        entering = [part for part in handler.parts if isinstance(part, StateLine) or _is_term(part)]
        for each in self.within[handler.recv.node] if any(map(_is_term, entering)) else ():
            has_seen = entering[0].seq < self._answered(each) and not any(map(_is_term, each.parts))
            is_first = each.place().seq < handler.place().seq and self._is_pending(each)
            if has_seen and is_first and each.recv.body.term == handler.recv.body.term:
                each.parts = sorted((*entering, *each.parts), key=lambda part: part.seq)
                handler.parts = [part for part in handler.parts if part not in entering]
                return

    def _answered(self, handler: HandledRequest) -> int:
        return handler.recv.seq if handler.respond is None else handler.respond.seq

    def _surround(self, handler: HandledRequest) -> None:
        """Make a vote and a heartbeat one step if that made the leader known after the vote had forgotten it."""
        enters = [part for part in handler.parts if isinstance(part, StableSet) and part.key == "CurrentTerm"]
        if (
            handler.recv.msg != "RequestVote"
            or not enters
            or any(isinstance(part, StableFail) for part in handler.parts)
        ):
            return
        forgets = max((part.seq for part in handler.parts if isinstance(part, LeaderLine)), default=handler.recv.seq)
        for each in self.within[handler.recv.node]:
            knows = [part.seq for part in each.parts if isinstance(part, LeaderLine)]
            is_old = each.recv.body.term < handler.recv.body.term and len(each.parts) == 1
            if is_old and knows and forgets < knows[0] < enters[0].seq and self._is_pending(each):
                assert each.placed is not None
                del self.lookahead.steps[each.placed]
                handler.heartbeat = each
                return

    def _is_pending(self, handler: HandledRequest) -> bool:
        """Return whether the step of an answered request is yet to be taken.

        Of a recording that grows it may be taken before the main loop answers, if that takes long.
        """
        return handler.placed is not None and self.lookahead.steps.get(handler.placed) is handler

    def give_up(self, handler: HandledRequest) -> None:
        """Take a request that is handled still as it is."""
        self._place(handler)

    def _place(self, handler: HandledRequest) -> None:
        """Note where the step of a request is to be taken, unless it was taken."""
        steps = self.lookahead.steps
        if handler.placed is not None and steps.pop(handler.placed, None) is not handler:
            return
        handler.placed = handler.place().seq
        steps[handler.placed] = handler

    def _of_beside(self, line: Respond) -> HandledRequest | None:
        handlers = self.beside.get(line.node, [])
        found = next((each for each in handlers if each.recv.rpc == line.rpc), None)
        if found is not None:
            handlers.remove(found)
        return found

    def _part_beside(self, line: Part) -> None:
        """Read a line of a heartbeat beside the main loop; of several the one whose term or leader it has."""
        handlers = self.beside.get(line.node, [])
        if not handlers:
            raise TraceError(self.source, line.number, f"field `by`: {line.node} is handling no heartbeat")
        value = line.value if isinstance(line, StableSet) else line.leader if isinstance(line, LeaderLine) else None
        fitting = [each for each in handlers if value in (each.recv.body.term, each.recv.source)]
        handler = (fitting or sorted(handlers, key=lambda each: int(each.recv.body.term)))[-1]
        self._part(handler, line)
        if isinstance(line, StateLine):
            self.overtaking[line.node] = handler

    def _send(self, line: Send) -> None:
        if line.msg == "RequestVote":
            self.lookahead.votes[line.life, line.body.term][line.to] = line
        elif line.msg == "RequestPreVote":
            self.lookahead.rounds[line.life, line.to].append(line)
        elif isinstance(line.body, TimeoutNow):
            self.lookahead.transfers[line.life].append(line)
        else:
            handler = self.open.get(line.node)
            if handler is not None and any(isinstance(part, StateLine) for part in handler.parts):
                handler.replicates |= not any(isinstance(part, StoreLogs | DeleteRange) for part in handler.parts)
            is_heartbeat = isinstance(line.body, AppendEntries) and line.body.is_heartbeat
            self._replicates(line, is_heartbeat=is_heartbeat)

    def _replicates(self, line: Send, *, is_heartbeat: bool) -> None:
        (self.lookahead.heartbeats if is_heartbeat else self.lookahead.replication).append(line)

    def _written(self, line: Written) -> None:
        node = line.node
        if isinstance(line, StateLine):
            self.overtaking.pop(node, None)
        if line.caller == "processRPC" and isinstance(line, Part):
            if node not in self.open:
                raise TraceError(self.source, line.number, f"field `by`: {node} is handling no request")
            self._part(self.open[node], line)
        elif line.caller == "processHeartbeat" and isinstance(line, Part):
            self._part_beside(line)
        elif isinstance(line, StableSet | StableFail) and line.function == "electSelf":
            self._of_campaign(line)
        elif isinstance(line, StateLine) and line.state == "Leader":
            self.won[node] = line
        elif isinstance(line, StoreLogs) and line.caller == "runLeader" and node in self.won:
            self.lookahead.noops[self.won.pop(node).seq] = line
        elif isinstance(line, SnapshotSaved) and node in self.read_for:
            self.lookahead.saved[self.read_for.pop(node).seq] = self.last_saved[node] = line
        elif isinstance(line, DeleteRange):
            self._compaction(line)

    def _part(self, handler: HandledRequest, line: Part) -> None:
        handler.parts.append(line)
        self.lookahead.parts.add(line.seq)

    def _of_campaign(self, line: StableSet | StableFail) -> None:
        if line.key == "CurrentTerm":
            if line.node in self.overtaking:
                self._precedes_campaign(self.overtaking.pop(line.node))
            self.campaign[line.node] = self.lookahead.campaigns[line.seq] = [line]
        elif line.node not in self.campaign:
            raise TraceError(self.source, line.number, f"field `by`: {line.node} has begun no campaign")
        else:
            self.campaign[line.node].append(line)
            self.lookahead.parts.add(line.seq)

    def _precedes_campaign(self, handler: HandledRequest) -> None:
        handler.precedes_campaign = True

    def _compaction(self, line: DeleteRange) -> None:
        """A handler that installs a snapshot compacts the log once the FSM has it; else a routine of its own did."""
        handler = self.open.get(line.node)
        if handler is not None and any(isinstance(part, FsmRestore) for part in handler.parts):
            self._part(handler, line)
        elif line.node in self.last_saved:
            self._compacted(self.last_saved.pop(line.node).seq, line)
        else:
            raise TraceError(self.source, line.number, f"field `why`: {line.node} has saved no snapshot")

    def _compacted(self, saved: int, line: DeleteRange) -> None:
        self.lookahead.compacted[saved] = line


def _is_term(part: Part) -> bool:
    return isinstance(part, StableSet) and part.key == "CurrentTerm"
