"""How fast traces are checked: python bench/check_speed.py [--events 3000]

Everything is measured in one run, side by side: machines are noisy, and only the ratios carry over. Of several runs
the fastest counts; the shares of the parts are in processor time, of the fastest run of each event. The whole
process, with the start of Python and the loading of the compiled spec, is measured as well; so is TLC on one short
trace, and how the cost of an event grows with the length of the logs.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from importlib.metadata import version
from math import inf
from pathlib import Path

from lockstep.base.verdict import Verdict
from lockstep.conformance.by_tlc.tlc_trace_check import check_with_tlc, hold_with_tlc
from lockstep.conformance.property_evaluation import EvaluationMode, IncrementalEvaluation, LiteralEvaluation
from lockstep.conformance.trace_check import Events, TraceCheck, check_trace
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.report.text_table import table
from lockstep.systems.dledger import DLEDGER
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_files import write_cluster
from lockstep.systems.trace_specs import tlc_spec, trace_spec
from lockstep.tla.spec import Spec
from lockstep.tla.state import State
from lockstep.tlc import find_java
from lockstep.trace.trace_format import FORMAT, Event, Header, write_trace
from lockstep.trace.trace_reader import read_trace

PLANS = ("ordered", "fine", "batches", "votes")
#: A plan of hashicorp/raft, whose parts are timed as well.
RAFT = "raft"
#: How many events of each plan have their parts timed.
MAX_SHARED = 600
#: What is done with an event.
PARTS = ("reading", "step", "shown", "sent", "properties")
RUNS = 3
#: Events of the trace that TLC checks alone; of each of those it checks in one run, and how many these are.
ALONE, SHORT, TOGETHER = 1000, 200, 30
LENGTHS = (1_000, 10_000, 100_000)
#: Appends that are measured at each length.
MEASURED = 500


def of_dledger(trace: Events, spec: Spec, evaluation: EvaluationMode = EvaluationMode.INCREMENTAL) -> TraceVerdict:
    """Check a trace of DLedger."""
    return check_trace(trace, spec, DLEDGER.interface(spec), evaluation)


def checked(path: Path, evaluation: EvaluationMode, runs: int = RUNS) -> TraceVerdict:
    """Check a trace some times; return the verdict of the fastest run."""
    found = []
    for _ in range(runs):
        trace = read_trace(path)
        found.append(of_dledger(trace, trace_spec(trace.header, str(path)), evaluation))
    best = min(found, key=lambda each: each.seconds)
    if best.verdict is not Verdict.HOLDS:
        raise SystemExit(f"{path}: {best.verdict}: {best.reason}")
    return best


def speed(folder: Path, events: int) -> str:
    """Events a second of each plan, with every property on, in both ways of evaluating them."""
    rows = []
    for plan in PLANS:
        path = write_cluster(folder, plan, 3, events)
        quick = checked(path, EvaluationMode.INCREMENTAL)
        literal = checked(path, EvaluationMode.LITERAL, runs=1)
        size = path.stat().st_size / events
        row = (plan, events, round(size), round(quick.observed / events), round(events / quick.seconds))
        rows.append((*row, round(events / literal.seconds), f"{literal.seconds / quick.seconds:.1f}x"))
    return table(("plan", "events", "bytes each", "values each", "events/s", "literal", "ratio"), rows)


def shares(folder: Path, events: int) -> str:
    """Microseconds of processor time an event, and the share, of each thing that is done with it."""
    rows = []
    for plan in (*PLANS, RAFT):
        path = write_cluster(folder, plan, 3, events)
        least = [dict.fromkeys(PARTS, inf) for _ in range(events)]
        for _ in range(RUNS):
            trace = read_trace(path)
            spec = trace_spec(trace.header, str(path))
            check = ByParts(Counted(path), spec, SYSTEMS[trace.header.spec].interface(spec))
            check.run()
            for known, found in zip(least, check.trace.spent, strict=True):
                known.update({part: min(known[part], found[part]) for part in PARTS})
        spent = [sum(each[part] for each in least) for part in PARTS]
        shown = (f"{part / events * 1e6:.0f} ({part / sum(spent):.0%})" for part in spent)
        rows.append((plan, *shown, round(sum(spent) / events * 1e6)))
    return table(("plan", *PARTS, "in all"), rows)


class Counted:
    """A trace, and the processor time that each of its events takes, by what is done with it."""

    def __init__(self, path: Path) -> None:
        """Open the trace."""
        self._trace = read_trace(path)
        self.source, self.spent = self._trace.source, list[dict[str, float]]()

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield the events, and note how long each took to read."""
        begin = time.thread_time()
        for each in self._trace:
            self.spent.append({**dict.fromkeys(PARTS, 0.0), "reading": time.thread_time() - begin})
            yield each
            begin = time.thread_time()

    def note(self, part: str, begin: float) -> None:
        """Note that a part of what is done with the last event has ended."""
        self.spent[-1][part] += time.thread_time() - begin


class ByParts(TraceCheck):
    """A check that notes how long each part of it takes."""

    trace: Counted

    def _step(self, state: State, line: int, event: Event) -> State | None:
        begin = time.thread_time()
        after = super()._step(state, line, event)
        self.trace.note("step", begin)
        return after

    def _shows(self, after: State, line: int, event: Event) -> bool:
        begin = time.thread_time()
        agrees = super()._shows(after, line, event)
        self.trace.note("shown", begin)
        return agrees

    def _sent(self, state: State, after: State, line: int, event: Event) -> bool:
        begin = time.thread_time()
        agrees = super()._sent(state, after, line, event)
        self.trace.note("sent", begin)
        return agrees

    def failing(self, properties: LiteralEvaluation | IncrementalEvaluation, state: State, after: State) -> list[str]:
        """Return what fails, and note how long that took."""
        begin = time.thread_time()
        failed = super().failing(properties, state, after)
        self.trace.note("properties", begin)
        return failed


def whole_process(folder: Path) -> str:
    """Seconds of `lockstep check` on a trace of 1,000 events."""
    path = write_cluster(folder, "ordered", 5, 1000)
    seconds = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        subprocess.run([sys.executable, "-m", "lockstep", "check", str(path)], check=True, capture_output=True)
        seconds.append(time.perf_counter() - begin)
    return f"  a process that checks 1,000 events: {min(seconds):.2f} s"


def beside_tlc(folder: Path) -> str:
    """One trace, and many in one run, with TLC alone and with the compiled spec."""
    path = write_cluster(folder, "ordered", 6, ALONE)
    quick = checked(path, EvaluationMode.INCREMENTAL)
    trace = read_trace(path)
    found = check_with_tlc(trace, tlc_spec(DLEDGER, trace.header, str(path)))
    if found.verdict is not Verdict.HOLDS:
        raise SystemExit(f"{path}: TLC: {found.verdict}: {found.reason}")
    paths = [write_cluster(folder, "ordered", seed, SHORT) for seed in range(100, 100 + TOGETHER)]
    all_quick = sum(checked(each, EvaluationMode.INCREMENTAL, runs=1).seconds for each in paths)
    traces = [read_trace(each) for each in paths]
    held = tlc_spec(DLEDGER, traces[0].header, str(paths[0]))
    begin = time.perf_counter()
    if not hold_with_tlc(traces, held):
        raise SystemExit("TLC: not all of the traces hold")
    together = time.perf_counter() - begin
    several = f"{TOGETHER} traces"
    rows = [
        ("TLC, one trace", ALONE, *_rate(ALONE, found.seconds)),
        ("compiled spec, one trace", ALONE, *_rate(ALONE, quick.seconds)),
        ("ratio", None, f"{found.seconds / quick.seconds:.0f}x", None),
        (f"TLC, {several} in one run", SHORT * TOGETHER, *_rate(SHORT * TOGETHER, together)),
        (f"compiled spec, {several}", SHORT * TOGETHER, *_rate(SHORT * TOGETHER, all_quick)),
        ("ratio", None, f"{together / all_quick:.1f}x", None),
    ]
    return table(("engine", "events", "time", "events/s"), rows)


def _rate(events: int, seconds: float) -> tuple[str, int]:
    return f"{seconds:.2f} s", round(events / seconds)


def long_log(length: int) -> Iterator[Event]:
    """A group of one appends and commits; it shows the end of its log, and not the log."""
    steps = [("NextTerm", {"term": 1}), ("SetCurrVoteFor", {"candidate": "n1"}), ("ChangeToLeader", {})]
    seq = 0
    for action, args in steps:
        yield Event(seq, "n1", action, args, {"currTerm": 1})
        seq += 1
    for index in range(length):
        yield Event(seq, "n1", "AppendAsLeader", {"value": f"v{index}"}, {"ledgerEndIndex": index})
        yield Event(seq + 1, "n1", "QuorumAckChecker", {}, {"committedIndex": index})
        seq += 2


def length_of_logs(folder: Path, longest: int) -> str:
    """The cost of an event with short and long logs."""
    header = Header(
        format=FORMAT,
        system="bench",
        version="1",
        spec="DLedger",
        nodes=("n1",),
        constants={"StepwiseElections": True, "Fifo": True, "AsyncFlush": "repaired"},
    )
    rows: list[tuple[object, ...]] = []
    for length in (each for each in LENGTHS if each <= longest):
        path = folder / f"long-{length}.ndjson"
        write_trace(path, header, long_log(length + MEASURED))
        cost = min(last_events(path, 2 * MEASURED) for _ in range(RUNS if length < LENGTHS[-1] else 1)) * 1e6
        rows.append((length, round(cost), f"{cost / float(str(rows[0][1])):.1f}x" if rows else "1.0x"))
    return table(("entries", "microseconds an event", "ratio"), rows)


class Timed:
    """A trace that takes the time of its last events."""

    def __init__(self, path: Path, last: int) -> None:
        """Open the trace; the last ones are timed."""
        self.trace, self.last = read_trace(path), last
        self.source, self.times = self.trace.source, deque[float](maxlen=last + 1)

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield the events, and note when each is asked for."""
        for each in self.trace:
            self.times.append(time.perf_counter())
            yield each


def last_events(path: Path, last: int) -> float:
    """Return the seconds that each of the last events of a trace takes."""
    trace = Timed(path, last)
    found = of_dledger(trace, trace_spec(trace.trace.header, str(path)))
    if found.verdict is not Verdict.HOLDS:
        raise SystemExit(f"{path}: {found.verdict}: {found.reason}")
    return (trace.times[-1] - trace.times[0]) / (len(trace.times) - 1)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=3000)
    parser.add_argument("--longest", type=int, default=10_000, help="of the logs, up to 100000; 0: no long logs")
    args = parser.parse_args()
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}, Java {find_java().version}\n")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        print("Checking traces, every property on, one core\n")
        print(speed(folder, args.events), "\n")
        print("Where the time goes: microseconds of processor time an event\n")
        print(shares(folder, min(args.events, MAX_SHARED)), "\n")
        print(whole_process(folder), "\n")
        print(beside_tlc(folder), "\n", flush=True)
        if args.longest:
            print(length_of_logs(folder, args.longest))


if __name__ == "__main__":
    main()
