"""The two readings of a whole recording.

A step may depend on a line that is far below its own: on the next request of a routine, if there is one, on whether a
candidate campaigns. So the lines are read twice. The survey finds what is wrong with them, what there is to come, and
whatever the import looks up far below; that is little, and grows with elections, snapshots and clients' questions, but
not with commands. The second reading has the lines between the one whose step is taken and the last one that this step
depends on: until the requests that servers handle are answered, and until the next request of each routine is sent.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from msgspec import structs

from lockstep.systems.hashicorp.recorded_uses import RecordedUses
from lockstep.systems.hashicorp.recording_lines import DeleteRange, ServerLine, VerifyReq, VerifyResp
from lockstep.systems.hashicorp.recording_lookahead import (
    HandledRequest,
    LookaheadReader,
    Part,
    Requests,
    Routine,
    routine_of,
    start_of,
)
from lockstep.systems.hashicorp.recording_messages import Recv, RpcLine, Send
from lockstep.systems.hashicorp.recording_starts import Starts
from lockstep.systems.recording_file import RecordingLine
from lockstep.trace.json_lines import TraceError

#: A number of a call that is higher by this than all before it is kept apart.
_GAP = 4096


class LastLines:
    """The last line that is about each call, by the number of the call: eight bytes a call."""

    def __init__(self) -> None:
        """Begin with no call."""
        self._lines = array("Q")
        self._apart: dict[int, int] = {}

    def note(self, rpc: int, seq: int) -> None:
        """Note that a line is about a call."""
        count = len(self._lines)
        if rpc >= count + _GAP:
            self._apart[rpc] = seq
            return
        if rpc >= count:
            self._lines.extend([0] * (rpc + 1 - count))
        self._lines[rpc] = seq

    def last_line(self, rpc: int) -> int:
        """Return the last line about a call."""
        return max(self._lines[rpc] if rpc < len(self._lines) else 0, self._apart.get(rpc, 0))


class RequestCounts:
    """The number of requests that each routine sends, and the single calls behind those of its pipeline."""

    def __init__(self) -> None:
        """Begin before the first line."""
        self._counts: Counter[Routine] = Counter()
        self._singles: defaultdict[Routine, deque[tuple[int, int | None]]] = defaultdict(deque)
        self._pipelined: set[Routine] = set()

    def add(self, line: Send) -> None:
        """Read the next line."""
        routine = routine_of(line)
        if line.pipelined:
            self._pipelined.add(routine)
        elif routine in self._pipelined:
            self._pipelined.remove(routine)
            self._singles[routine].append((self._counts[routine], start_of(line)))
        self._counts[routine] += 1

    def expected(self, read_on: Callable[[], bool]) -> Requests:
        """Return the requests, none of them known yet; `read_on` reads one more line, if there is one."""
        found = Requests()
        found.is_whole, found.read_on, found.singles = True, read_on, dict(self._singles)
        for routine, count in self._counts.items():
            found.to_come.setdefault(routine[0], {})[routine] = count
        return found


class _SurveyReader(LookaheadReader):
    """Keeps of the lookahead what a step looks up far below its line."""

    def __init__(self, source: str, last_lines: LastLines) -> None:
        super().__init__(source)
        self.last_lines = last_lines
        self.replication, self.heartbeats = RequestCounts(), RequestCounts()
        #: The heartbeats by which a candidate follows that campaigns all the same.
        self.before_campaigns: set[int] = set()

    def add(self, line: RecordingLine) -> None:
        super().add(line)
        near = self.lookahead
        for table in (near.handlers, near.steps, near.parts):
            table.clear()

    def _replicates(self, line: Send, *, is_heartbeat: bool) -> None:
        (self.heartbeats if is_heartbeat else self.replication).add(line)

    def _part(self, handler: HandledRequest, line: Part) -> None:
        super()._part(handler, line)
        self.last_lines.note(handler.recv.rpc, line.seq)

    def _precedes_campaign(self, handler: HandledRequest) -> None:
        self.before_campaigns.add(handler.recv.seq)

    def _compacted(self, seq: int, line: DeleteRange) -> None:
        super()._compacted(seq, structs.replace(line, gone=()))


class Survey:
    """The first reading: what is wrong with the lines, and what there is to come.

    `last_of` is the last line of each server.
    """

    def __init__(self, source: str) -> None:
        """Begin before the first line; `source` names the recording in messages."""
        self.source = source
        self.last_lines, self.uses, self.starts = LastLines(), RecordedUses(), Starts(source)
        self.reader = _SurveyReader(source, self.last_lines)
        self.last_of: dict[str, int] = {}
        self._problems: dict[type, TraceError] = {}

    def add(self, line: RecordingLine) -> None:
        """Read the next line."""
        self.uses.add(line)
        if not isinstance(line, ServerLine):
            return
        self.last_of[line.node] = line.seq
        if isinstance(line, RpcLine):
            self.last_lines.note(line.rpc, line.seq)
        for each in (self.starts, self.reader):
            if type(each) not in self._problems:
                try:
                    each.add(line)
                except TraceError as error:
                    self._problems[type(each)] = error

    def refuse_starts(self) -> None:
        """Raise TraceError if a server is given what is no first configuration."""
        self._refuse(Starts)

    def refuse(self) -> None:
        """Raise TraceError if a line belongs to nothing."""
        self._refuse(_SurveyReader)

    def _refuse(self, kind: type) -> None:
        if kind in self._problems:
            raise self._problems[kind]


class _NearReader(LookaheadReader):
    """Reads what a step looks up near its line; what it looks up far below is in the survey."""

    def __init__(self, survey: Survey) -> None:
        super().__init__(survey.source)
        self._before_campaigns = survey.reader.before_campaigns
        far = self.lookahead
        self._far = (
            *(far.campaigns, far.noops, far.votes, far.rounds, far.transfers),
            *(far.saved, far.compacted, far.completed, far.duplicates, far.verified),
        )

    def add(self, line: RecordingLine) -> None:
        super().add(line)
        for table in self._far:
            table.clear()

    def _question(self, line: VerifyReq | VerifyResp) -> None:
        pass

    def _recv(self, line: Recv) -> None:
        super()._recv(line)
        self.lookahead.handlers[line.seq].precedes_campaign = line.seq in self._before_campaigns


class SecondReading:
    """The lines of a recording once more, each once all is known that its step depends on.

    `waiting` are those that are known; `lookahead` has what they show, and what the survey found far below them.
    """

    def __init__(self, lines: Iterable[RecordingLine], survey: Survey) -> None:
        """Take the lines again, and what the survey found in them."""
        self._lines, self._survey, self._reader = iter(lines), survey, _NearReader(survey)
        self.waiting: deque[RecordingLine] = deque()
        near, first = self._reader.lookahead, survey.reader
        near.replication = first.replication.expected(self._read_on)
        near.heartbeats = first.heartbeats.expected(self._read_on)
        self.lookahead = replace(
            first.lookahead,
            handlers=near.handlers,
            steps=near.steps,
            parts=near.parts,
            replication=near.replication,
            heartbeats=near.heartbeats,
        )

    def __iter__(self) -> Iterator[RecordingLine]:
        """Yield each line, and forget it."""
        while self.waiting or self._read_on():
            while self._is_open(self.waiting[0]) and self._read_on():
                pass
            yield self.waiting.popleft()

    def _is_open(self, line: RecordingLine) -> bool:
        """Return whether a server handles a request, or one during that, which came with this line or above it."""
        return any(begun <= line.seq for begun in self._reader.busy.values())

    def _read_on(self) -> bool:
        """Read one more line; return whether there was one."""
        line = next(self._lines, None)
        if line is None:
            return False
        if isinstance(line, ServerLine):
            self._survey.starts.complete(line)
            self._reader.add(line)
            if self._survey.last_of.get(line.node) == line.seq:
                self._reader.end_of(line.node)
        self.waiting.append(line)
        return True
