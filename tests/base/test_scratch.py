"""A temporary folder is removed when its process ends, and that of a killed process by the next run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from lockstep.base import scratch as module
from lockstep.base.errors import EnvironmentFailedError
from lockstep.base.scratch import remove_stale, scratch
from tests.support.programs.lockstep_command import lockstep
from tests.support.programs.processes import wait_until

#: A process that has two folders, prints their names, and then runs the given code.
HOLDER = """
import sys, time
from lockstep.base.interrupts import raise_interrupts
from lockstep.base.scratch import lasting, scratch
raise_interrupts()
with scratch("outer") as outer, scratch("inner") as inner:
    lasting("java")
    (inner / "file").write_text("x")
    print("ready", flush=True)
    if sys.argv[1] == "fail":
        raise ValueError
    time.sleep(600 if sys.argv[1] == "wait" else 0)
"""


def with_signals() -> None:
    """Handle signals as on a terminal: nohup and `&` make the process that runs the tests ignore them."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def holder(folder: Path, what: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", HOLDER, what],
        env={**os.environ, "TMPDIR": str(folder)},
        preexec_fn=with_signals,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    return child


@pytest.mark.parametrize("what", ["end", "fail"])
def test_a_process_that_ends_leaves_no_scratch_folder(tmp_path: Path, what: str) -> None:
    holder(tmp_path, what).wait(timeout=60)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_process_that_is_interrupted_leaves_no_scratch_folder(tmp_path: Path, number: int) -> None:
    child = holder(tmp_path, "wait")
    assert list(tmp_path.glob("lockstep-run-*/inner-*/file"))
    child.send_signal(number)
    child.wait(timeout=60)
    assert list(tmp_path.iterdir()) == []


def test_the_next_run_removes_the_folder_of_a_killed_process_and_not_of_a_living_one(tmp_path: Path) -> None:
    living, killed = holder(tmp_path, "wait"), holder(tmp_path, "wait")
    (tmp_path / "lockstep-run-not-ours").write_text("a file")
    killed.kill()
    killed.wait()
    try:
        assert len([each for each in tmp_path.iterdir() if each.is_dir()]) == 2
        assert holder(tmp_path, "end").wait(timeout=60) == 0
        (left,) = [each for each in tmp_path.iterdir() if each.is_dir()]
        assert left.name.startswith(f"lockstep-run-{living.pid}-")
        assert (tmp_path / "lockstep-run-not-ours").exists()
    finally:
        living.kill()
        living.wait()


def test_a_folder_that_is_just_being_made_is_not_taken_for_a_stale_one(tmp_path: Path) -> None:
    fresh, old = tmp_path / "lockstep-run-1-fresh", tmp_path / "lockstep-run-1-old"
    for folder in (fresh, old):
        folder.mkdir()
    os.utime(old, (time.time() - 3600,) * 2)
    remove_stale(tmp_path)
    assert list(tmp_path.iterdir()) == [fresh]


def test_a_command_that_is_killed_leaves_nothing_that_the_next_one_does_not_remove(tmp_path: Path) -> None:
    folder = tmp_path / "scratch"
    folder.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-m", "lockstep", "model", "replication", "--engine", "tlc"],
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        assert wait_until(lambda: list(folder.glob("*/tlc-*/meta")))
    finally:
        child.kill()
        child.wait()
    assert list(folder.iterdir())
    assert lockstep("model", "witness_leader", cwd=tmp_path, TMPDIR=str(folder)).returncode == 0
    assert list(folder.iterdir()) == []


def test_the_machine_is_blamed_where_no_folder_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "absent"))
    monkeypatch.setattr(module, "_RUN", module._ProcessFolder())
    with pytest.raises(EnvironmentFailedError, match="no temporary folder can be made: "), scratch("any"):
        pass
