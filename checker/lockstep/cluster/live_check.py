"""The check of a group while it runs: its steps are merged, taken again as a trace, and the trace is checked."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from math import inf
from pathlib import Path
from typing import IO

from lockstep.cluster.step_files import merged_steps
from lockstep.conformance.trace_check import TraceCheck, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict, failure
from lockstep.systems.running_nodes import NodeKind, RunningNodes
from lockstep.systems.simulated_clusters import event_of
from lockstep.systems.system import System
from lockstep.systems.trace_specs import compiled, reference_header
from lockstep.tla.state import State
from lockstep.trace.trace_format import Event, trace_lines
from lockstep.trace.trace_reader import Trace
from raftref.runtime.driver import NodeStep


class LiveCheck:
    """Checks a group while it runs, in a thread; `events` and `checked` count, and `last` has each node's last step."""

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
        self.events = self.checked = 0
        self.last: dict[str, NodeStep] = {}
        self.verdict: TraceVerdict | None = None
        #: Since when a process is stopped, for whoever runs the processes to set.
        self.stopped_since: Callable[[], float] = lambda: inf
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="check", daemon=True)

    def start(self) -> None:
        """Begin to check."""
        self._thread.start()

    def finish(self) -> TraceVerdict:
        """Check what is left, now that no node runs, and return the verdict."""
        self._over.set()
        self._thread.join()
        assert self.verdict is not None
        return self.verdict

    @property
    def is_done(self) -> bool:
        """Whether there is a verdict."""
        return self.verdict is not None

    def _run(self) -> None:
        try:
            spec = compiled(self._system, self._header, str(self._path))
            with self._path.open("wb") as file:
                trace = Trace(self._written(file), str(self._path))
                trace.least_integer = self._system.least_integer
                self.verdict = check_trace(trace, spec, self._system.interface(spec), listener=self._count)
        except Exception as error:  # a verdict, too, and the thread must not end without one
            self.verdict = failure(error, str(self._path))

    def _count(self, check: TraceCheck, state: State, line: int, event: Event, after: State | None) -> None:
        self.checked += 1

    def _written(self, file: IO[bytes]) -> Iterator[bytes]:
        for line in trace_lines(self._header, self._events()):
            file.write(line)
            file.flush()
            yield line

    def _events(self) -> Iterator[Event]:
        for event in self._running.replay(self._plan, self._watched()):
            self.events += 1
            yield event_of(event)

    def _watched(self) -> Iterator[NodeStep]:
        for step in merged_steps(self._steps, self._over.is_set, stopped_since=lambda: self.stopped_since()):
            self.last[step.node] = step
            yield step
