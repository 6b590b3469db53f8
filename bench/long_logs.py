"""The cost of long logs of hashicorp/raft: python bench/long_logs.py [--commands 100 400 2000 10000]

A recording of the real library, without faults, is prolonged: its leader goes on with one command after another, each
with the lines that the recorder writes for one. What is measured is the import of such a recording and the check of
its trace, both in processor time and per event of the trace, and how much of that the last tenth of the events takes.
All of it is measured in one run: only the ratios carry over.
"""

from __future__ import annotations

import argparse
import platform
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_check import check_trace
from lockstep.report.text_table import table
from lockstep.systems.hashicorp.recording_import import import_recording
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace.trace_format import Event, write_trace
from lockstep.trace.trace_reader import read_trace
from tests.support.systems.prolonged_recordings import Prolonged, Snapshots

COMMANDS = (100, 400, 2_000, 10_000)


class Timed:
    """A trace that takes the processor time of each of its events."""

    def __init__(self, path: Path) -> None:
        """Open the trace."""
        self.trace = read_trace(path)
        self.source, self.times = self.trace.source, list[float]()

    def __iter__(self) -> Iterator[tuple[int, Event]]:
        """Yield the events, and note when each is asked for."""
        for each in self.trace:
            self.times.append(time.process_time())
            yield each


def imported(folder: Path, commands: int, snapshots: Snapshots | None = None) -> tuple[Path, int, float]:
    """Import a recording of some commands more; return its trace, the events and the seconds of processor time."""
    recording, trace = folder / f"long-{commands}.ndjson", folder / f"long-{commands}.trace.ndjson"
    with recording.open("wb") as file:
        for line in Prolonged().with_commands(commands, snapshots):
            file.write(msgspec.json.encode(line) + b"\n")
    begin = time.process_time()
    found = import_recording(recording, trace_spec)
    seconds = time.process_time() - begin
    if found.summary.refuted is not None:
        raise SystemExit(f"{recording}: line {found.summary.refuted} is not explained")
    write_trace(trace, found.header, iter(found.events))
    return trace, len(found.events), seconds


def checked(path: Path) -> tuple[float, float]:
    """Check a trace; return the seconds of processor time of all events, and of the last tenth."""
    trace = Timed(path)
    spec = trace_spec(trace.trace.header, str(path))
    verdict = check_trace(trace, spec, SYSTEMS[trace.trace.header.spec].interface(spec))
    trace.times.append(time.process_time())
    if verdict.verdict is not Verdict.HOLDS:
        raise SystemExit(f"{path}: {verdict.verdict}: {verdict.reason}")
    return trace.times[-1] - trace.times[0], trace.times[-1] - trace.times[-1 - len(trace.times) // 10]


def rows(folder: Path, commands: list[int], snapshots: Snapshots | None) -> Iterator[tuple[object, ...]]:
    """Yield a row for each length."""
    imported(folder, 1, snapshots)  # loads the spec
    first = None
    for count in commands:
        path, events, importing = imported(folder, count, snapshots)
        checking, last = checked(path)
        cost = importing / events, checking / events
        first = first or cost
        rate = events // 10 / last
        print(f"{count:,} commands: {importing:.1f} s, {checking:.1f} s", file=sys.stderr, flush=True)
        yield (
            count, events, f"{events / importing:,.0f}", f"{cost[0] / first[0]:.1f}x",
            f"{events / checking:,.0f}", f"{cost[1] / first[1]:.1f}x", f"{rate:,.0f}",
        )  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commands", type=int, nargs="+", default=COMMANDS)
    parser.add_argument("--snapshot", type=int, nargs=2, metavar=("EVERY", "TRAILING"), default=(1_000, 2_000))
    args = parser.parse_args()
    print(f"lockstep {version('lockstep-raft')}, Python {platform.python_version()}\n")
    with tempfile.TemporaryDirectory() as name:
        for title, snapshots in (
            ("No snapshots", None),
            (
                f"A snapshot every {args.snapshot[0]:,} commands, which leaves {args.snapshot[1]:,} entries",
                args.snapshot,
            ),
        ):
            heads = ("commands", "events", "import events/s", "cost", "check events/s", "cost", "of the last tenth")
            found = rows(Path(name), args.commands, snapshots and Snapshots(*snapshots))
            print(f"{title}\n\n{table(heads, list(found))}\n", flush=True)


if __name__ == "__main__":
    main()
