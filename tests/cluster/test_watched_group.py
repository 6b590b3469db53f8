"""`lockstep watch FILES`: a group is checked while the recorders of its nodes write."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.package_data import traces_dir
from lockstep.base.verdict import Verdict
from lockstep.cluster import watched_group
from lockstep.cluster.watched_group import GroupWatch, WatchedGroup
from lockstep.conformance.trace_verdict import Finding, TraceVerdict
from lockstep.systems import merged_order
from lockstep.systems.node_recorder import MergeOptions
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.processes import wait_until
from tests.support.systems.hashicorp_recordings import recording as simulated
from tests.support.systems.hashicorp_recordings import written
from tests.support.systems.split_recordings import split

CAPTURED = traces_dir() / "captured"
QUIET, TORN_VOTE = (CAPTURED / "hashicorp" / f"raft-1.7.3-{name}.ndjson" for name in ("quiet", "torn_vote"))
FAULT_FREE, RESTARTS, FIGURE8 = (
    CAPTURED / "dledger" / f"dledger-0.2.7-{name}.ndjson" for name in ("fault_free", "restarts", "figure8")
)

NIGHTLY = pytest.mark.nightly


class Writers:
    """The recorders of a group, as far as the lines that they write: all files grow together, in the order of time."""

    def __init__(self, folder: Path, recording: Path) -> None:
        whole = folder / "whole"
        whole.mkdir()
        self.paths: list[Path] = []
        lines: list[tuple[float, int, Path, str]] = []
        for path in split(recording, whole):
            self.paths.append(folder / path.name)
            for text in path.read_text().splitlines(keepends=True):
                at = json.loads(text)["at" if recording.parent.name == "hashicorp" else "t"]
                lines.append((at, len(lines), self.paths[-1], text))
        self._lines: Iterator[tuple[float, int, Path, str]] = iter(sorted(lines, key=lambda line: line[:2]))
        self.count = len(lines)
        self.written = 0

    def write(self, count: int) -> None:
        """Write the next lines."""
        for _, (_, _, path, text) in zip(range(count), self._lines, strict=False):
            with path.open("a") as file:
                file.write(text)
            self.written += 1

    def write_past(self, what: str) -> None:
        """Write the next lines up to the first one with a text."""
        for _, _, path, text in self._lines:
            with path.open("a") as file:
                file.write(text)
            self.written += 1
            if what in text:
                return
        raise AssertionError(f"no line has {what}")


class Watched:
    """A watch in a thread."""

    def __init__(self, paths: Sequence[Path], output: Path | None = None, *, ends_on_violation: bool = False) -> None:
        self.findings: list[Finding] = []
        self._over = threading.Event()
        watch = GroupWatch(paths, MergeOptions(), {}, output, poll=0.01, ends_on_violation=ends_on_violation)
        self.group = WatchedGroup(watch, self._over.is_set, self.findings.append)
        self.verdict: TraceVerdict | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        self.verdict = self.group.run()

    def stopped(self) -> TraceVerdict:
        """Let the watch end, and return its verdict."""
        self._over.set()
        self._thread.join(60)
        assert self.verdict is not None
        return self.verdict

    def ended(self) -> TraceVerdict:
        """Return the verdict of a watch that ends by itself."""
        self._thread.join(60)
        assert self.verdict is not None
        return self.verdict


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a simulated recorder are there at once."""
    monkeypatch.setattr(merged_order, "SETTLED", 0.05)
    monkeypatch.setattr(watched_group, "LAG", 0.1)


@pytest.mark.parametrize("recording", [RESTARTS, pytest.param(QUIET, marks=NIGHTLY)], ids=["DLedger", "hashicorp/raft"])
def test_a_group_that_runs_is_checked_as_its_lines_come(recording: Path, tmp_path: Path) -> None:
    writers, output = Writers(tmp_path, recording), tmp_path / "group.ndjson"
    watched = Watched(writers.paths, output)
    writers.write(writers.count // 2)
    assert wait_until(lambda: watched.group.checked > 60)
    half = watched.group.checked
    writers.write(writers.count)
    assert wait_until(lambda: watched.group.checked > half + 30)
    verdict = watched.stopped()
    assert verdict.verdict is Verdict.HOLDS, verdict
    assert verdict.events == watched.group.checked
    checked = json.loads(lockstep("check", "--format", "jsonl", "group.ndjson", cwd=tmp_path).stdout)
    assert (checked["verdict"], checked["events"]) == ("holds", verdict.events)


@pytest.mark.parametrize(
    ("recording", "breaks"),
    [(FIGURE8, "LeaderCompleteness"), pytest.param(TORN_VOTE, "LeaderCompleteness", marks=NIGHTLY)],
    ids=["figure 8", "torn vote"],
)
def test_a_violation_is_reported_while_the_group_runs(recording: Path, breaks: str, tmp_path: Path) -> None:
    writers = Writers(tmp_path, recording)
    watched = Watched(writers.paths)
    while not watched.findings and writers.written < writers.count:
        writers.write(20)
        time.sleep(0.03)
        assert watched.verdict is None, watched.verdict
    assert wait_until(lambda: watched.findings)
    assert watched.findings[0].name == breaks
    writers.write(writers.count)
    verdict = watched.stopped()
    assert verdict.verdict is Verdict.VIOLATED
    assert [each.name for each in watched.findings] == [each.name for each in verdict.findings]


@NIGHTLY
def test_a_watch_ends_with_the_first_violation_if_that_was_asked_for(tmp_path: Path) -> None:
    writers = Writers(tmp_path, FIGURE8)
    writers.write(writers.count)
    watched = Watched(writers.paths, ends_on_violation=True)
    verdict = watched.ended()
    assert verdict.verdict is Verdict.VIOLATED
    assert [each.name for each in verdict.findings] == ["LeaderCompleteness"]


def test_a_node_that_writes_late_lets_all_lines_be_checked_in_their_order(tmp_path: Path) -> None:
    """The last line of n1, of its checkpoint, comes when a later one of n2 has been checked."""
    writers = Writers(tmp_path, FAULT_FREE)
    writers.write(writers.count)
    path = writers.paths[1]
    *lines, last = path.read_text().splitlines(keepends=True)
    assert '"kind":"checkpoint"' in last
    path.write_text("".join(lines))
    watched = Watched(writers.paths)
    assert wait_until(lambda: watched.group.checked > 300)
    time.sleep(0.5)
    before = watched.group.passes
    with path.open("a") as file:
        file.write(last)
    assert wait_until(lambda: watched.group.passes > before)
    verdict = watched.stopped()
    assert verdict.verdict is Verdict.HOLDS, verdict


@NIGHTLY
def test_files_that_are_not_there_yet_are_waited_for(tmp_path: Path) -> None:
    writers = Writers(tmp_path, QUIET)
    watched = Watched(writers.paths)
    time.sleep(0.1)
    assert watched.verdict is None
    writers.write(writers.count)
    assert wait_until(lambda: watched.group.checked > 100)
    assert watched.stopped().verdict is Verdict.HOLDS


def test_a_file_that_is_damaged_ends_the_watch_with_its_place(tmp_path: Path) -> None:
    writers = Writers(tmp_path, QUIET)
    writers.write(writers.count)
    with writers.paths[1].open("a") as file:
        file.write('{"kind":"send"}\n')
    verdict = Watched(writers.paths).ended()
    assert verdict.verdict is Verdict.MALFORMED
    assert f"{writers.paths[1]}:" in verdict.reason
    assert "field `node`: missing" in verdict.reason


@pytest.fixture
def election(tmp_path: Path) -> Path:
    """A recording in which a candidate asks for pre-votes."""
    path = tmp_path / "hashicorp" / "election.ndjson"
    path.parent.mkdir()
    path.write_bytes(b"".join(written(simulated({"events": 60}, 1))))
    return path


def test_requests_that_come_late_do_not_make_the_files_malformed(election: Path, tmp_path: Path) -> None:
    """A candidate whose requests are not written yet seems to have asked nobody."""
    writers = Writers(tmp_path, election)
    writers.write_past('"state":"Candidate"')
    watched = Watched(writers.paths)
    assert wait_until(lambda: watched.group.checked > 0)
    time.sleep(3 * watched_group.LAG)
    writers.write(writers.count)
    verdict = watched.stopped()
    assert verdict.verdict is Verdict.HOLDS, verdict
    assert watched.group.passes == 2


@pytest.mark.parametrize("is_stopped", [False, True], ids=["while more may come", "once the watch is to end"])
def test_a_line_that_no_other_line_explains_ends_the_watch_with_its_place(
    is_stopped: bool, election: Path, tmp_path: Path
) -> None:
    writers = Writers(tmp_path, election)
    writers.write(writers.count)
    last = json.loads(writers.paths[0].read_text().splitlines()[-1])
    wrong = {"kind": "stable_set", "node": last["node"], "at": last["at"], "key": "CurrentTerm", "value": 9, "by": "?"}
    watched = Watched(writers.paths)
    assert wait_until(lambda: watched.group.checked > 0)
    with writers.paths[0].open("a") as file:
        file.write(json.dumps(wrong) + "\n")
    verdict = watched.stopped() if is_stopped else watched.ended()
    assert verdict.verdict is Verdict.MALFORMED, verdict
    assert "field `by`: '?' is not known to write CurrentTerm" in verdict.reason


def test_groups_of_which_nothing_is_written_have_no_verdict(tmp_path: Path) -> None:
    watched = Watched([tmp_path / "n1"])
    verdict = watched.stopped()
    assert verdict.verdict in (Verdict.INCONCLUSIVE, Verdict.MALFORMED)


# ---- The command ----


def files(folder: Path, recording: Path, change: Callable[[list[dict[str, Any]]], None] = lambda _: None) -> list[str]:
    return [path.name for path in split(recording, folder, changed=change)]


def test_the_command_ends_with_the_verdict_and_the_exit_code_of_check(tmp_path: Path) -> None:
    names = files(tmp_path, FIGURE8)
    done = lockstep("watch", "--once", "-o", "group.ndjson", *names, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    lines = done.stdout.splitlines()
    assert "DL105 LeaderCompleteness is violated by ChangeToLeader" in lines[0]
    assert any(line.startswith("group.ndjson: violated: a behaviour of the spec that violates ") for line in lines)
    assert lockstep("check", "group.ndjson", cwd=tmp_path).returncode == 1


@NIGHTLY
def test_the_command_prints_objects_for_programs(tmp_path: Path) -> None:
    done = lockstep("watch", "--once", "--format", "jsonl", *files(tmp_path, FIGURE8), cwd=tmp_path)
    *found, verdict = map(json.loads, done.stdout.splitlines())
    assert [each["finding"]["name"] for each in found] == [each["name"] for each in verdict["findings"]]
    assert (len(found), verdict["verdict"], verdict["exit_code"]) == (5, "violated", 1)


def test_options_of_the_other_form_are_refused(tmp_path: Path) -> None:
    for words, said in (
        (["--store", "s", "n1.ndjson", "n2.ndjson"], "--store goes with DIR"),
        (["--master", "local[2]", "n1.ndjson", "n2.ndjson"], "--master goes with DIR"),
        (["nowhere"], "Directory 'nowhere' does not exist."),
        (["--skew", "5 ms", "."], "--skew goes with FILES"),
        (["--once", "--until-idle", "1", "."], "--once and --until-idle say different things"),
    ):
        done = lockstep("watch", *words, cwd=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr


def test_the_recording_does_not_overwrite_the_file_of_a_node_that_has_not_started(tmp_path: Path) -> None:
    output = tmp_path / "n2.ndjson"
    done = lockstep("watch", "--once", "-o", str(output), "n1.ndjson", "n2.ndjson", cwd=tmp_path)
    assert (done.returncode, "the recording would overwrite what it is made of" in done.stderr) == (2, True), done
    assert not output.exists()


@NIGHTLY
def test_ctrl_c_ends_the_command_with_the_verdict(tmp_path: Path) -> None:
    names = files(tmp_path, QUIET)
    words = [sys.executable, "-m", "lockstep", "watch", "-o", "group.ndjson", *names]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    output = tmp_path / "group.ndjson"
    assert wait_until(lambda: output.exists() and output.stat().st_size > 30_000, 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out.split(" (")[0]) == (
        0,
        "group.ndjson: holds: a behaviour of the spec; every property holds",
    ), err
