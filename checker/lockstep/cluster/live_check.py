"""The check of a group while it runs: its steps are sorted by time, replayed as a trace, and the trace is checked."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from lockstep.base.errors import GaveUpError
from lockstep.base.interrupts import SAID
from lockstep.base.verdict import Verdict
from lockstep.cluster.step_files import growing_steps, whole_steps
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.systems.merged_order import LateLineError
from lockstep.systems.running_nodes import NodeKind, RunningNodes
from lockstep.systems.simulated_clusters import event_of
from lockstep.systems.system import System
from lockstep.systems.trace_specs import compiled, reference_header
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.trace.trace_format import Event, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.runtime.driver import NodeStep

#: The time for the check of one event when the check is given up, in seconds.
PATIENCE = 0.5


class LiveCheck:
    """Checks a group while it runs, in a thread; `checked` counts its events.

    A process that is paused writes a step that others may have gone past. Then `late` says so, and the check begins
    once more when no node runs, with all steps in their order.
    """

    def __init__(
        self,
        system: System,
        running: RunningNodes,
        nodes: Sequence[str],
        kind: NodeKind,
        steps: Sequence[Path],
        trace: Path,
    ) -> None:
        """Prepare the check of a group.

        Arguments: `system` and `running`, what the nodes are; `nodes`, their names; `kind`, theirs;
        `steps`, the files in which they record; `trace`, the file for the trace of the group.
        """
        self._system, self._running, self._steps, self._path = system, running, steps, trace
        self._plan = running.plan(len(nodes), kind)
        self._header = reference_header(system, self._plan, "lockstep cluster", f"{len(nodes)} nodes that ran")
        self.checked = 0
        self.late = ""
        self.verdict: TraceVerdict | None = None
        self._over, self._given_up = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)

    def start(self) -> None:
        """Begin to check."""
        self._thread.start()

    def end(self) -> None:
        """Let what is left be checked: no node runs any more."""
        self._over.set()

    def finish(self) -> TraceVerdict:
        """Check what is left, now that no node runs, and return the verdict."""
        self.end()
        self._thread.join()
        assert self.verdict is not None
        return self.verdict

    def give_up(self) -> TraceVerdict:
        """Check no more events; return the verdict on a group that was not checked to its end."""
        self._given_up.set()
        self._thread.join(PATIENCE)
        return self.verdict or TraceVerdict(str(self._path), Verdict.INCONCLUSIVE, self._unchecked())

    def _unchecked(self) -> str:
        return f"{SAID} when {self.checked:,} events had been checked, and not all that the nodes recorded"

    @property
    def is_done(self) -> bool:
        """Whether there is a verdict."""
        return self.verdict is not None

    def status(self) -> str:
        """Return how far the check has come, as a line."""
        if self.late and not self._over.is_set():
            return f"{self.late}: all steps are checked when the group has stopped"
        return f"checked {self.checked:,} events so far"

    def _run(self) -> None:
        try:
            spec = compiled(self._system, self._header, str(self._path))
            verdict = self._check(spec, self._as_they_come())
            if self.late:
                self._over.wait()
                verdict = self._check(spec, whole_steps(self._steps))
            self.verdict = verdict
        except Exception as error:  # a verdict, too, and the thread must not end without one
            self.verdict = failure(error, str(self._path))

    def _check(self, spec: Spec, steps: Iterable[NodeStep]) -> TraceVerdict:
        self.checked = 0
        with self._path.open("wb") as file:
            trace = Trace(self._written(file, steps), str(self._path))
            trace.least_integer = self._system.least_integer
            return check_trace(trace, spec, self._system.interface(spec), listener=self._count)

    def _count(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        self.checked += 1
        if self._given_up.is_set():
            raise GaveUpError(self._unchecked())

    def _written(self, file: IO[bytes], steps: Iterable[NodeStep]) -> Iterator[bytes]:
        events = map(event_of, self._running.replay(self._plan, steps))
        for line in trace_lines(self._header, events):
            file.write(line)
            file.flush()
            yield line

    def _as_they_come(self) -> Iterator[NodeStep]:
        """Yield the steps while the group runs, up to one that comes too late."""
        try:
            yield from growing_steps(self._steps, self._over.is_set)
        except LateLineError as error:
            self.late = str(error)
