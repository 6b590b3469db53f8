"""An import of a long recording holds the log, and of all else no more than that of a short one."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lockstep.systems.hashicorp.recording_import import Reader, import_recording, trace_header
from lockstep.systems.hashicorp.recording_reader import RECORDING
from lockstep.systems.hashicorp.recording_survey import LastLines, SecondReading, Survey
from lockstep.systems.merged_files import MergedFiles
from lockstep.systems.node_recorder import MergeOptions
from lockstep.systems.recording_file import RecordingLine
from lockstep.systems.trace_specs import trace_spec
from lockstep.trace import stored_events
from lockstep.trace.stored_events import StoredEvents
from lockstep.trace.trace_format import Event
from tests.support.sampling import sampled
from tests.support.systems.hashicorp_recordings import PLANS, simulated, written
from tests.support.systems.prolonged_recordings import Prolonged, Snapshots
from tests.support.systems.split_recordings import split

SHORT, LONG = 50, 150

#: The most memory that a command may take, in bytes: the logs of three servers have it, and what they have applied.
BYTES_EACH = 8_000


def recording(folder: Path, commands: int, snapshots: Snapshots | None = None) -> Path:
    path = folder / f"{commands}.ndjson"
    path.write_bytes(b"".join(written(list(Prolonged().with_commands(commands, snapshots)))))
    return path


class Watched:
    """A recording that is imported line by line, with the most that was held at once."""

    def __init__(self, raw: list[bytes], *, at_once: bool = False) -> None:
        """Survey the lines; `at_once`: know all of them before the first is read."""
        header, lines = RECORDING.parse(raw, "r")
        survey = Survey("r")
        survey.uses.add(header)
        for line in lines:
            survey.add(line)
        self.reading, self.at_once = SecondReading(RECORDING.parse(raw, "r")[1], survey), at_once
        spec = trace_spec(trace_header(header), "r")
        self.reader = Reader(spec, header, self.reading.lookahead, "r", survey)
        self.events: list[Event] = []
        self.most = 0
        self.departed = self.reader.read(self.lines(), self.events.append)

    def lines(self) -> Iterator[RecordingLine]:
        while self.at_once and self.reading._read_on():
            pass
        for line in self.reading:
            yield line
            self.most = max(self.most, self.held)

    @property
    def held(self) -> int:
        """The number of lines, calls and requests that are held."""
        lookahead, calls = self.reading.lookahead, self.reader.calls
        queues = [*lookahead.replication.queues.values(), *lookahead.heartbeats.queues.values()]
        tables: list[Any] = [self.reading.waiting, lookahead.handlers, lookahead.steps, lookahead.parts, *queues]
        tables += [calls.known, calls.current, calls.replies, calls._ends, self.reader.leaders.sent]
        return sum(map(len, [*tables, *calls.pipelines.values()]))


@pytest.mark.parametrize(
    "snapshots",
    [
        pytest.param(None, id="without snapshots", marks=pytest.mark.nightly),
        pytest.param(Snapshots(20, 30), id="with snapshots"),
    ],
)
def test_the_lines_and_calls_that_are_held_do_not_grow_with_the_commands(
    snapshots: Snapshots | None, tmp_path: Path
) -> None:
    short, long = (
        Watched(recording(tmp_path, count, snapshots).read_bytes().splitlines(keepends=True)) for count in (SHORT, LONG)
    )
    assert short.departed is long.departed is None
    assert len(long.events) > 2 * len(short.events)
    assert long.most == short.most < 200


def peak_of(path: Path) -> int:
    """The most memory that an import takes, in bytes."""
    tracemalloc.start()
    try:
        assert import_recording(path, trace_spec).summary.refuted is None
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.nightly
def test_an_import_takes_no_more_memory_than_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_events, "IN_MEMORY_BYTES", 1)
    import_recording(recording(tmp_path, 1), trace_spec)  # loads the spec
    short, long = (peak_of(recording(tmp_path, count)) for count in (SHORT, LONG))
    assert long - short < (LONG - SHORT) * BYTES_EACH


SAMPLE = [("pipelines", 3), ("heartbeats beside", 8), ("transfers", 59), ("snapshots and chaos among five", 2)]
CLUSTERS = [*SAMPLE, *((plan, seed) for plan in PLANS for seed in range(1, 9))]


@pytest.mark.parametrize(("plan", "seed"), sampled(list(dict.fromkeys(CLUSTERS)), SAMPLE[:2]))
def test_an_import_that_knows_few_lines_below_makes_the_same_events_as_one_that_knows_all(plan: str, seed: int) -> None:
    raw = list(written(simulated(plan, seed)))
    few, all_ = Watched(raw), Watched(raw, at_once=True)
    assert few.events == all_.events
    assert few.most < all_.most


def test_a_server_that_never_answers_is_waited_for_until_its_last_line(tmp_path: Path) -> None:
    """Its process was killed while it handled a request, and was not started again."""
    lines = [msgspec.json.decode(line) for line in recording(tmp_path, LONG).read_bytes().splitlines()]
    last = [line for line in lines if line.get("node") == "n3" and line["kind"] == "recv"][20]
    ends = ("node", "from", "to")
    kept = [line for line in lines if line["seq"] <= last["seq"] or "n3" not in map(line.get, ends)]
    for seq, line in enumerate(kept):
        line["seq"] = seq
    kept[-1]["events"] = len(kept)
    found = Watched(list(written(kept)))
    assert found.departed is None
    assert len(kept) > 6 * LONG
    assert found.most < 200


def test_the_lines_that_a_merge_holds_do_not_grow_with_the_commands(tmp_path: Path) -> None:
    held = []
    for count in (SHORT, LONG):
        folder = tmp_path / str(count)
        folder.mkdir()
        merged = MergedFiles(split(recording(tmp_path, count), folder), MergeOptions(None, 0), lambda _text: None)
        most = 0
        for _ in merged.lines(is_over=True):
            assert merged._order is not None
            numbers: Any = merged._group
            tables = vars(numbers._numbers).values()
            here = sum(len(each._queue) for each in merged._order._feeds)
            here += sum(len(each) for each in tables if not isinstance(each, int))
            most = max(most, here)
        held.append(most)
    assert held[1] == held[0]


def test_the_last_line_about_a_call_is_known_by_any_number() -> None:
    lines = LastLines()
    for rpc, seq in ((3, 1), (9_000, 2), (3, 5), (6_000, 7), (4_000, 8), (8_000, 9), (9_000, 11)):
        lines.note(rpc, seq)
    assert [lines.last_line(rpc) for rpc in (3, 9_000, 6_000, 4_000, 8_000, 5)] == [5, 11, 7, 8, 9, 0]


def events_of(count: int) -> StoredEvents:
    found = StoredEvents()
    for seq in range(count):
        found.append(Event(seq, "n1", "Crash", shows={"log": ["x" * 100]}, t_ms=0.25))
    return found


@pytest.mark.parametrize("in_memory", [1, 1 << 20])
def test_events_in_a_file_are_a_sequence(in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_events, "IN_MEMORY_BYTES", in_memory)
    found = events_of(2_000)
    listed = [Event(seq, "n1", "Crash", shows={"log": ["x" * 100]}, t_ms=0.25) for seq in range(2_000)]
    assert len(found) == 2_000
    assert list(found) == listed
    assert [one for one, _ in zip(found, found, strict=True)] == listed  # two readers at once
    assert (found[0], found[-1], found[1_500], found[3:5]) == (listed[0], listed[-1], listed[1_500], listed[3:5])
    with pytest.raises(IndexError):
        found[2_000]


#: Stores events until a file may not grow any more, and reads what it holds.
ON_A_FULL_DISK = """
import resource, signal
from lockstep.base.errors import EnvironmentFailedError
from lockstep.trace.stored_events import StoredEvents
from lockstep.trace.trace_format import Event

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 21, 1 << 21))
found = StoredEvents()
try:
    while True:
        found.append(Event(len(found), "n1", "Crash"))
except EnvironmentFailedError as error:
    print(len(found) > 10_000, error)
try:
    list(found)
except EnvironmentFailedError as error:
    print(error)
"""


def test_a_full_disk_is_a_failure_of_the_machine() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ON_A_FULL_DISK], capture_output=True, text=True, timeout=60, check=False
    )
    error = "the temporary file of an import cannot be written or read: [Errno 27] File too large"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"True {error}\n{error}\n", "")
