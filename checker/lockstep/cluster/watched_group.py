"""The check of a group while its recorders write: the nodes' files are merged, imported and checked as they grow.

What is found while lines still come rests on those that are there. So it is found once more, from the first line with
all that is written by then, before it is reported: an import of the whole decides.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from lockstep.base.errors import GaveUpError
from lockstep.base.progress import Say, silent
from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import Finding, TraceVerdict, conclude, failure
from lockstep.systems.growing_import import ContradictedError, GrowingImport
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.merged_order import LateLineError
from lockstep.systems.node_recorder import MergeOptions
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_specs import Switches, compiled, trace_spec
from lockstep.tla.state import State
from lockstep.trace.json_lines import TraceError
from lockstep.trace.trace_format import Event

#: Events are final once the lines of this time after theirs are known, or none came for as long, in seconds.
LAG = 0.4

#: The time between two looks at the files, in seconds.
POLL = 0.1


@dataclass(frozen=True, slots=True)
class GroupWatch:
    """The options of a watch of a group.

    `paths` are the nodes' files, which need not be there yet. `switches` replace constants of the trace's header;
    `output` is a file for the recording. It looks for lines every `poll` seconds, and ends after `idle_seconds` without
    one, None: never; or with the first violation, if it `ends_on_violation`.
    """

    paths: Sequence[Path]
    merge: MergeOptions
    switches: Switches
    output: Path | None = None
    poll: float = POLL
    idle_seconds: float | None = None
    ends_on_violation: bool = False

    @property
    def source(self) -> str:
        """The name of the recording in messages."""
        return str(self.output) if self.output is not None else ", ".join(map(str, self.paths))


class WatchedGroup:
    """Checks a group; `checked` counts the events of the present pass over its files."""

    def __init__(
        self,
        watch: GroupWatch,
        is_stopped: Callable[[], bool],
        on_finding: Callable[[Finding], None],
        say: Say = silent,
    ) -> None:
        """Prepare to watch.

        Arguments: `is_stopped`, whether the watch is to end: then all that is written is checked; `on_finding`, called
        with each finding, once it is certain; `say`, how far it is.
        """
        self._watch, self._is_stopped, self._on_finding, self._say = watch, is_stopped, on_finding, say
        #: The findings that were reported, and those that one pass has made so far.
        self._reported: set[tuple[str, str, int | None]] = set()
        self._suspected: set[tuple[str, str, int | None]] = set()
        self._again = ""
        self._is_first_round, self._is_over = True, False
        #: The most lines of the recording that a pass has read, and when they were read.
        self._lines, self._newest = 0, time.monotonic()
        self.checked = self.passes = 0
        self.has_ended_on_violation = False

    def run(self) -> TraceVerdict:
        """Check until the watch is to end; return the verdict on what was written by then."""
        while True:
            verdict = self._pass()
            if not self._again:
                return verdict
            self._say(f"{self._again}: checking from the first line, with all that is written")

    def _pass(self) -> TraceVerdict:
        """Check from the first line on, until the watch ends or all must be checked once more."""
        self._again, self._is_first_round, self.checked = "", True, 0
        self.passes += 1
        source, notes = self._watch.source, list[str]()
        try:
            with ExitStack() as stack:
                output = self._watch.output
                file = None if output is None else stack.enter_context(output.open("wb"))
                group = _GrowingGroup(self._watch, file, notes.append)
                verdict = self._check(group, source)
        except (LateLineError, ContradictedError) as error:
            self._again = str(error)
            return TraceVerdict(source, Verdict.INCONCLUSIVE, str(error))
        except Exception as error:  # a verdict, too
            verdict = failure(error, source)
        verdict.notes += [f"note: {each}" for each in notes]
        return verdict

    def _check(self, group: _GrowingGroup, source: str) -> TraceVerdict:
        self._read(group)
        while group.importer is None or (header := group.importer.header) is None:
            if self._is_over:
                raise GaveUpError("no node has written of its start")
            time.sleep(self._watch.poll)
            self._read(group)
        system = SYSTEMS[header.spec]
        spec = compiled(system, header, source, self._watch.switches)
        trace = _Events(source, self._events(group))
        found = check_trace(trace, spec, system.interface(spec), listener=self._listen)
        if self.has_ended_on_violation:
            conclude(found)
        return found

    def _read(self, group: _GrowingGroup) -> None:
        """Read what is written; then the watch is over if it was to end before."""
        idle = self._watch.idle_seconds
        self._is_over = self._is_stopped() or (idle is not None and time.monotonic() - self._newest >= idle)
        lines = group.read(is_over=self._is_over)
        if lines > self._lines:
            self._lines, self._newest = lines, time.monotonic()

    def _events(self, group: _GrowingGroup) -> Iterator[Event]:
        """Yield the events as the files grow; the sequence ends where all must be checked once more.

        A line may seem malformed because one above it was read before the lines that show what it means. In the first
        round of a pass all that is written by then is known, and the error is certain.
        """
        try:
            while True:
                is_idle = time.monotonic() - self._newest >= LAG
                yield from group.events(is_over=self._is_over, is_idle=is_idle)
                if self._is_over:
                    return
                self._is_first_round = False
                self._say(f"checked {self.checked:,} events so far")
                time.sleep(self._watch.poll)
                self._read(group)
        except (LateLineError, ContradictedError) as error:
            self._again = str(error)
        except TraceError as error:
            if self._is_first_round:
                raise
            self._again = str(error)

    def _listen(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        self.checked += 1
        new = [each for each in check.result.findings if _name(each) not in self._reported]
        names = {_name(each) for each in new}
        if not self._is_first_round and not names <= self._suspected:
            self._suspected |= names
            self._again = f"line {new[0].recorded_line} may be a violation"
            raise GaveUpError(self._again)
        for finding in new:
            self._reported.add(_name(finding))
            self._on_finding(finding)
            self.has_ended_on_violation |= self._watch.ends_on_violation and not finding.disputed
        if self.has_ended_on_violation:
            raise GaveUpError("the watch ends with the first violation")


def _name(finding: Finding) -> tuple[str, str, int | None]:
    return finding.kind, finding.name, finding.recorded_line


class _GrowingGroup:
    """The files of the nodes, and the import of what they have become."""

    def __init__(self, watch: GroupWatch, output: BinaryIO | None, note: Callable[[str], None]) -> None:
        self._source, self._output = watch.source, output
        self._merged = MergedFiles(watch.paths, watch.merge, note)
        self.importer: GrowingImport | None = None

    def read(self, *, is_over: bool) -> int:
        """Read what is new; return how many lines the recording has now."""
        for text in self._merged.lines(is_over=is_over):
            if self._output is not None:
                self._output.write(text)
            if self.importer is None:
                assert self._merged.recorder is not None
                self.importer = self._merged.recorder.growing(self._source, trace_spec)
            self.importer.add(text)
        if self._output is not None:
            self._output.flush()
        return self._merged.count

    def events(self, *, is_over: bool, is_idle: bool) -> Iterator[Event]:
        """Yield the events that are final."""
        assert self.importer is not None
        newest = self._merged.passed_ms
        yield from self.importer.events(math.inf if is_over else newest if is_idle else newest - LAG * 1000)


@dataclass(frozen=True, slots=True)
class _Events:
    """Events as a trace has them, whose first line is the header."""

    source: str
    events: Iterator[Event]

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        for event in self.events:
            yield event.seq + 2, event
