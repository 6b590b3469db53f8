"""`lockstep watch` as it is used: with Spark, files that grow meanwhile, kills, a service that fails, Ctrl-C."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.pipeline.generate_stage import DECLARED
from lockstep.pipeline.watch.verdict_table import WatchStore, WatchVerdict, finding_id
from lockstep.systems.file_check import check
from lockstep.systems.trace_files import import_trace, write_cluster
from tests.support.pipeline.growing_files import Pieces
from tests.support.pipeline.poison import poisoned, slow_at_first
from tests.support.pipeline.watched_traces import verdict_of
from tests.support.programs.processes import wait_until

pytestmark = pytest.mark.nightly

CAPTURED = traces_dir() / "captured"
RECORDED = {
    "figure8": CAPTURED / "dledger" / "dledger-0.2.7-figure8.ndjson",
    "torn_vote": CAPTURED / "hashicorp" / "raft-1.7.3-torn_vote.ndjson",
    "quiet": CAPTURED / "hashicorp" / "raft-1.7.3-quiet.ndjson",
}
SECONDS = 600


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of traces: two that violate properties, two that hold, two that are malformed."""
    folder = tmp_path_factory.mktemp("whole")
    for name, recorded in RECORDED.items():
        import_trace(recorded, folder / f"{name}.trace.ndjson")
    cluster = write_cluster(folder, "ordered", 1, 100)
    data = cluster.read_bytes()
    (folder / "bad.trace.ndjson").write_bytes(data.replace(b'"seq":50,', b'"seq":5x,'))
    (folder / "cut.trace.ndjson").write_bytes(data[:-70])
    return folder


@pytest.fixture(autouse=True)
def none_is_left() -> Iterator[None]:
    """End the watches that a test which fails has left running."""
    yield
    while Running.all:
        watch = Running.all.pop()
        if watch.process.poll() is None:
            watch.kill()


class Running:
    """A watch that is running, in a session of its own as one started from a terminal is."""

    all: ClassVar[list[Running]] = []

    def __init__(self, folder: Path, *options: str | Path, environment: dict[str, str] | None = None) -> None:
        self.folder = folder
        self.out, self.err = folder.parent / f"{folder.name}.out", folder.parent / f"{folder.name}.err"
        words = [sys.executable, "-m", "lockstep", "watch", *map(str, options), str(folder)]
        with self.out.open("ab") as out, self.err.open("ab") as err:
            self.process = subprocess.Popen(
                words, stdout=out, stderr=err, env=environment, start_new_session=True, preexec_fn=_hear
            )
        Running.all.append(self)

    @property
    def printed(self) -> str:
        return self.out.read_text(encoding="utf-8")

    @property
    def batches(self) -> int:
        """The number of batches that are done; Spark keeps the names of the last ones alone."""
        done = [int(path.name) for path in self.folder.glob(".lockstep/checkpoint/commits/[0-9]*") if path.suffix == ""]
        return max(done, default=-1) + 1

    def until(self, condition: Callable[[], bool]) -> None:
        wait_until(lambda: condition() or self.process.poll() is not None, SECONDS)
        assert condition(), self.err.read_text(encoding="utf-8")

    def batch_of(self, write: Callable[[], bool]) -> None:
        """Write something, and wait until a batch more is done if that completed a line."""
        before = self.batches
        if write():
            self.until(lambda: self.batches > before)

    def end(self) -> int:
        return self.process.wait(SECONDS)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


def _hear() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def rows(folder: Path) -> list[WatchVerdict]:
    return list(WatchStore(folder / ".lockstep", DECLARED).rows())


def assert_reported_as_by_check(folder: Path, whole: Path) -> None:
    """The table has each finding of each trace once, and the counts of a check that saw each event once."""
    found = rows(folder)
    ids = Counter(finding_id(row.trace, each) for row in found for each in row.findings)
    assert ids
    assert set(ids.values()) == {1}
    for path in sorted(whole.glob("*.ndjson")):
        mine = [row for row in found if row.trace == path.name]
        if path.name == "cut.trace.ndjson":  # what has no end has no verdict that is kept
            assert mine == []
            continue
        verdict = replace(verdict_of(mine), source=str(path), seconds=0.0)
        expected = replace(check(path), seconds=0.0)
        verdict.reason = verdict.reason.replace(str(folder), str(whole))
        assert verdict == expected
        assert [row.settled for row in mine].count(True) == 1


def lines(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line and not line.startswith("replay"))


def checked(folder: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "lockstep", "check", str(folder)], capture_output=True, text=True, check=False
    )
    return done.returncode, lines(done.stdout)


def test_watch_once_prints_what_check_prints_and_ends_with_its_exit_code(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    for path in whole.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    watch = Running(folder, "--once")
    code = watch.end()
    assert (code, lines(watch.printed)) == checked(folder)
    again = Running(folder, "--once")
    assert again.end() == code
    assert_reported_as_by_check(folder, whole)


@pytest.mark.parametrize("seed", [1, 2])
def test_traces_that_grow_in_torn_pieces_get_the_verdicts_of_check(whole: Path, tmp_path: Path, seed: int) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    pieces = Pieces(whole, folder, random.Random(seed))
    pieces.write(0.1)
    watch = Running(folder, "--until-idle", "20", "--every", "0.2")
    while pieces.left:
        watch.batch_of(lambda: pieces.write(0.03))
    code = watch.end()
    assert watch.batches > 20
    assert pieces.torn > 50
    assert (code, lines(watch.printed)) == checked(folder)
    assert_reported_as_by_check(folder, whole)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_watch_that_is_killed_and_started_again_records_each_violation_once(
    whole: Path, tmp_path: Path, seed: int
) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    rng = random.Random(seed)
    pieces = Pieces(whole, folder, rng)
    kills = 0
    while pieces.left:
        watch = Running(folder, "--every", "0.2", "--patience", "3600")
        for _ in range(2):
            watch.batch_of(lambda: pieces.write(0.1))
        pieces.write(0.06)
        time.sleep(rng.uniform(0, 2))  # anywhere in the batch that reads this
        watch.kill()
        kills += 1
    last = Running(folder, "--once", "--patience", "3600")
    assert last.end() == checked(folder)[0]
    assert kills > 2
    assert_reported_as_by_check(folder, whole)


def test_a_violation_ends_the_watch_and_is_a_json_object(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    pieces = Pieces(whole, folder, random.Random(1), only="figure8")
    watch = Running(folder, "--format", "jsonl", "--exit-on", "violation", "--every", "0.2")
    pieces.write(0.5)
    watch.until(lambda: watch.batches > 0)
    assert watch.printed == ""
    pieces.write(1.0)
    assert watch.end() == 1
    found = [each for line in watch.printed.splitlines() for each in json.loads(line)["findings"]]
    assert "LeaderCompleteness" in {each["name"] for each in found}
    assert [each["id"] for each in found] == [
        finding_id(row.trace, each) for row in rows(folder) for each in row.findings
    ]


def test_a_file_that_is_replaced_ends_the_watch_with_a_message_and_no_verdict(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    path = folder / "quiet.trace.ndjson"
    data = (whole / "quiet.trace.ndjson").read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(data[:20]))
    watch = Running(folder)
    watch.until(lambda: watch.batches > 0)
    path.write_bytes(b"".join(data[:10]))
    assert watch.end() == 3
    output = watch.err.read_text(encoding="utf-8")
    assert f"lockstep: {path}: the file has shrunk or was replaced after line 20 was read; a watch follows" in output
    assert rows(folder) == []


def test_ctrl_c_ends_a_watch_with_a_summary_and_leaves_no_process(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "quiet.trace.ndjson").write_bytes((whole / "quiet.trace.ndjson").read_bytes())
    (folder / "cut.trace.ndjson").write_bytes((whole / "cut.trace.ndjson").read_bytes())
    watch = Running(folder)
    watch.until(lambda: "holds" in watch.printed)
    os.killpg(watch.process.pid, signal.SIGINT)
    assert watch.end() == 130
    assert watch.err.read_text(encoding="utf-8") == "watch: 1 holds; 1 without their end\ninterrupted\n"
    wait_until(lambda: not _group(watch.process.pid), 30)


def _group(pid: int) -> list[str]:
    found = subprocess.run(["ps", "-o", "pid=", "-g", str(pid)], capture_output=True, text=True, check=False)
    return found.stdout.split()


def test_traces_that_workers_die_of_are_inconclusive_and_the_others_are_reported_once_and_go_on(tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    whole = {each: write_cluster(tmp_path, "ordered", each, 40).read_bytes() for each in range(1, 4)}
    for name in ("exits", "crashes", "is_killed", "hangs"):
        (folder / f"{name}.trace.ndjson").write_bytes(whole[1])
    other = write_cluster(tmp_path, "five", 1, 40).read_bytes()
    (folder / "spec_is_killed.trace.ndjson").write_bytes(other)  # no other trace needs its spec
    for number, data in whole.items():
        (folder / f"good-{number}.trace.ndjson").write_bytes(data if number > 1 else data[:-70])
    watch = Running(folder, "--timeout", "30", environment=poisoned(tmp_path / "site"))
    watch.until(lambda: len(rows(folder)) == 7)
    (folder / "good-1.trace.ndjson").write_bytes(whole[1])
    watch.until(lambda: len(rows(folder)) == 8)
    os.killpg(watch.process.pid, signal.SIGINT)
    assert watch.end() == 130
    again = Running(folder, "--once", environment=poisoned(tmp_path / "site"))
    assert again.end() == 3
    died = "the check of lines 1 to 42 died, as often as it was tried"
    assert {row.trace.partition(".")[0]: (row.verdict, row.reason) for row in rows(folder)} == {
        "spec_is_killed": (
            "inconclusive",
            "the compiling of its spec died, as often as it was tried (SIGKILL)",
        ),
        "exits": ("inconclusive", f"{died} (exit code 7)"),
        "crashes": ("inconclusive", f"{died} (SIGSEGV)"),
        "is_killed": ("inconclusive", f"{died} (SIGKILL)"),
        "hangs": ("inconclusive", "the check of lines 1 to 42 did not end within 30 s"),
        **{f"good-{each}": ("holds", "a behaviour of the spec; every property holds") for each in whole},
    }
    assert len(rows(folder)) == 8
    assert again.err.read_text(encoding="utf-8").endswith("watch: 3 holds, 5 inconclusive\n")


def test_a_source_that_is_too_slow_to_start_is_started_again(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "traces"
    folder.mkdir()
    (folder / "quiet.trace.ndjson").write_bytes((whole / "quiet.trace.ndjson").read_bytes())
    watch = Running(folder, "--once", environment=slow_at_first(tmp_path / "site"))
    code = watch.end()
    assert (code, watch.err.read_text(encoding="utf-8")) == (0, "watch: 1 holds\n")
    assert len((tmp_path / "site" / "begun").read_text()) > 1


def test_two_watches_do_not_share_a_store_and_another_folder_or_switch_is_refused(whole: Path, tmp_path: Path) -> None:
    folder, store = tmp_path / "traces", tmp_path / "store"
    folder.mkdir()
    first = Running(folder, "--store", store)
    first.until(lambda: (store / "watch.json").exists())
    second = Running(folder, "--once", "--store", store)
    assert second.end() == 2
    assert f"{store}: another watch is running with this store" in second.err.read_text(encoding="utf-8")
    first.kill()
    third = Running(folder, "--once", "--store", store, "--switch", "repaired")
    assert third.end() == 2
    assert 'field `switches`: this store was begun with [], not ["repaired"]' in third.err.read_text(encoding="utf-8")
