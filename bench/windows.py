"""What checking one long trace in parts costs: python bench/windows.py TRACE [--every 20000] [--cores 2]

Three things are done with each part of the trace, one after the other, so that whatever else runs on the machine slows
all of them alike: the pass that finds the state behind it, its check from the state before it, and the same lines in a
check of the whole trace. Processor time counts. Then the parts are checked by so many processes at once, beside one
check of the whole trace in one process, by the clock.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import NamedTuple

from lockstep.conformance.check import TraceVerdict, check_trace
from lockstep.pipeline.windows.checkpoints import checkpoints
from lockstep.pipeline.windows.combine import combined
from lockstep.pipeline.windows.part import PartVerdict, check_part
from lockstep.pipeline.windows.state_bytes import state_bytes
from lockstep.report.text_table import table
from lockstep.systems.opening import open_trace
from lockstep.systems.specs import system_of, trace_spec
from lockstep.trace.format import Event, TracePart
from lockstep.trace.json_lines import file_lines


class Job(NamedTuple):
    """A part of a trace: behind which line it begins, its last line (None: of the trace), the state it begins in."""

    path: Path
    begin: int
    end: int | None
    state: bytes | None


def numbered(path: Path, begin: int, end: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield the lines behind `begin` up to `end`, with their numbers."""
    return itertools.islice(enumerate(file_lines(path), 1), begin, end)


def checked(job: Job) -> PartVerdict:
    """Check a part, in a process that knows nothing else of the trace."""
    trace = open_trace(job.path)
    spec = trace_spec(trace.header, str(job.path))
    part = TracePart(
        trace.header,
        numbered(job.path, job.begin, job.end),
        str(job.path),
        before=job.begin,
        is_last=job.end is None,
        least_integer=trace.least_integer,
    )
    return check_part(part, spec, system_of(trace.header, str(job.path)).interface(spec), job.state)


class Timed:
    """Adds up the processor time that goes into what is done between `begin` and `end`."""

    def __init__(self) -> None:
        """Begin with none."""
        self.seconds = 0.0

    def __enter__(self) -> None:
        """Begin."""
        self._begin = time.process_time()

    def __exit__(self, *_: object) -> None:
        """End."""
        self.seconds += time.process_time() - self._begin


class Paced:
    """The events of a trace: behind every so many of them something else is done, whose time does not count."""

    def __init__(self, path: Path, every: int, other: Iterator[None], tell: Callable[[int, float], None]) -> None:
        """Read the trace at `path`.

        Arguments: `other` does a piece of work each time that it is asked; `tell` is told then how many events there
        were, and how many seconds they took.
        """
        self.trace, self.source, self.every, self.other, self.tell = open_trace(path), str(path), every, other, tell
        self.others = Timed()

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield the events."""
        begin = time.process_time()
        for line, event in self.trace:
            yield line, event
            if (line - 1) % self.every == 0:
                told = time.process_time() - begin - self.others.seconds
                with self.others:
                    next(self.other, None)
                    self.tell(line - 1, told)


def side_by_side(path: Path, every: int) -> list[Job]:
    """Print what the pass and the parts cost beside one check of the whole trace; return the parts."""
    trace = open_trace(path)
    spec = trace_spec(trace.header, str(path))
    interface = system_of(trace.header, str(path)).interface(spec)
    passing, writing, parting, whole = Timed(), Timed(), Timed(), Timed()
    jobs: list[Job] = []
    found: list[PartVerdict] = []

    def work() -> Iterator[None]:
        states = checkpoints(numbered(path, 1, None), str(path), spec, interface, every)
        begin, state = 1, None
        while True:
            with passing:
                each = next(states, None)
            jobs.append(Job(path, begin, None if each is None else each.line, state))
            with parting:
                found.append(checked(jobs[-1]))
            if each is None:
                return
            with writing:
                begin, state = each.line, state_bytes(each.state)
            yield

    def tell(events: int, seconds: float) -> None:
        parts = f"the pass {passing.seconds / seconds:.2f}, the parts {parting.seconds / seconds:.2f} of one check"
        print(f"{events:,} events: one check {seconds:.1f} s; {parts}", file=sys.stderr, flush=True)

    other = work()
    paced = Paced(path, every, other, tell)
    with whole:
        verdict = check_trace(paced, spec, interface)
    for _ in other:
        pass
    same(combined(str(path), found), verdict)
    once = whole.seconds - paced.others.seconds
    rows = [
        ("one check of the whole trace", once),
        ("the pass", passing.seconds),
        ("writing the states as bytes", writing.seconds),
        ("the checks of all parts", parting.seconds),
    ]
    told = [(name, f"{seconds:.1f} s", f"{seconds / once:.2f}") for name, seconds in rows]
    print(f"{verdict.events:,} events, {len(jobs)} parts, the last state {len(jobs[-1].state or b''):,} bytes\n")
    print(table(("processor time", "seconds", "of one check"), told), "\n", flush=True)
    return jobs


def same(parts: TraceVerdict, whole: TraceVerdict) -> None:
    """End where the parts do not say what the check of the whole trace says."""
    left, right = ({**asdict(each), "seconds": 0.0} for each in (parts, whole))
    if left != right:
        raise SystemExit(f"the parts: {parts.reason}; the whole trace: {whole.reason}")


def by_the_clock(path: Path, jobs: Iterable[Job], cores: int) -> None:
    """Print how long the parts take on some cores, and the whole trace on one."""
    listed = list(jobs)
    trace = open_trace(path)
    spec = trace_spec(trace.header, str(path))
    begin = time.perf_counter()
    whole = check_trace(trace, spec, system_of(trace.header, str(path)).interface(spec))
    alone = time.perf_counter() - begin
    with ProcessPoolExecutor(cores) as pool:
        begin = time.perf_counter()
        found = list(pool.map(checked, listed))
        parted = time.perf_counter() - begin
    same(combined(str(path), found), whole)
    rows = [("one process, the whole trace", alone, 1.0), (f"{cores} processes, its parts", parted, alone / parted)]
    print(table(("by the clock", "seconds", "speed"), [(name, f"{s:.1f} s", f"{r:.2f}x") for name, s, r in rows]))


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", type=Path)
    parser.add_argument("--every", type=int, default=20_000, help="events of a part")
    parser.add_argument("--cores", type=int, default=2)
    args = parser.parse_args()
    jobs = side_by_side(args.trace, args.every)
    by_the_clock(args.trace, jobs, args.cores)


if __name__ == "__main__":
    main()
