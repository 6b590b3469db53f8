"""The import of a recording that is still written.

A line is read once the lines of a while after it are known, which show how a handler goes on and what a routine sends
next.
"""

from __future__ import annotations

from collections import deque
from math import inf

from lockstep.systems.hashicorp import recording_lines as s
from lockstep.systems.hashicorp.recording_import import Reader, trace_header
from lockstep.systems.hashicorp.recording_lookahead import LookaheadReader
from lockstep.systems.hashicorp.recording_reader import RECORDING
from lockstep.systems.hashicorp.recording_replay import NotAStepError
from lockstep.systems.hashicorp.recording_starts import Starts, first_voters
from lockstep.systems.recording_file import RecordingLine, RecordingParser
from lockstep.systems.system import Compile
from lockstep.trace.trace_format import Event, Header

#: The time that a line of a request is waited with for the answer of its handler, in milliseconds.
PATIENCE_MS = 2000.0


class GrowingRecording:
    """Makes a trace of a recording of hashicorp/raft line by line."""

    def __init__(self, source: str, compile_: Compile) -> None:
        """Begin before the first line; `source` names the recording in messages."""
        self._source, self._compile = source, compile_
        self._parser = RecordingParser(RECORDING, source)
        self._lookahead = LookaheadReader(source)
        self._waiting: deque[RecordingLine] = deque()
        self._header: Header | None = None
        self._reader: Reader | None = None
        self._is_over = False

    @property
    def header(self) -> Header | None:
        """The header of the trace, None before the first start: it shows who votes at first."""
        return self._header

    def add(self, text: bytes) -> None:
        """Read the next line; raises TraceError as import_recording does."""
        line = self._parser.take(text)
        if line is None:
            return
        self._lookahead.add(line)
        self._waiting.append(line)
        if isinstance(line, s.StoreLogs) and line.function == "BootstrapCluster":
            self._bootstrap()
        if self._header is None and isinstance(line, s.StartLine):
            recorded = self._parser.header
            assert recorded is not None
            self._header = trace_header(recorded, first_voters(recorded, line, self._source))
            spec = self._compile(self._header, self._source)
            self._reader = Reader(spec, recorded, self._lookahead.lookahead, self._source)

    def _bootstrap(self) -> None:
        """Let the servers whose starts wait begin with the configuration that they are given."""
        starts = Starts(self._source)
        lines = [line for line in self._waiting if isinstance(line, s.ServerLine)]
        for each in lines:
            starts.add(each)
        for each in lines:
            starts.complete(each)

    def events(self, until_ms: float) -> list[Event]:
        """Return the events of the lines up to a moment; none after one that is no step of the spec."""
        reader = self._reader
        if reader is None:
            return []
        while self._waiting and self._waiting[0].t_ms <= until_ms and not self._is_over:
            if self._is_handled(self._waiting[0], until_ms):
                break
            try:
                reader.read_line(self._waiting.popleft())
            except NotAStepError:
                self._is_over = True
        if until_ms == inf and not self._waiting and not self._is_over:
            self._is_over = True
            reader.roles.end()
        return reader.replay.take_events()

    def _is_handled(self, line: RecordingLine, until_ms: float) -> bool:
        """Return whether a server has yet to answer the request or client of a line, and may do so; or be bootstrapped.

        The step depends on that.
        """
        lookahead = self._lookahead.lookahead
        if isinstance(line, s.StartLine) and line.inc == 1 and not line.persisted.log:
            return until_ms - line.t_ms <= PATIENCE_MS
        if isinstance(line, s.VerifyReq):
            return (line.life, line.k) not in lookahead.verified and until_ms - line.t_ms <= PATIENCE_MS
        handler = lookahead.handlers.get(line.seq)
        if handler is None or not self._lookahead.handles(handler):
            return False
        if until_ms - line.t_ms <= PATIENCE_MS:
            return True
        self._lookahead.give_up(handler)
        return False
