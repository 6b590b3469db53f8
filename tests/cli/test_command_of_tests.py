"""The command that tests run in a forked process ends as the one that a user starts, whatever happens in it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import lockstep.__main__
from tests.support.programs import lockstep_command
from tests.support.programs.lockstep_command import Run


def fail() -> None:
    raise RuntimeError("planted")


def leave() -> None:
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("main", "status", "said"), [(fail, 1, "RuntimeError: planted"), (leave, 3, ""), (lambda: None, 0, "")]
)
def test_a_command_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, main: Callable[[], None], status: int, said: str
) -> None:
    monkeypatch.setattr(lockstep.__main__, "main", main)
    out, err = tmp_path / "out", tmp_path / "err"
    pid = os.fork()
    if pid == 0:
        sys.stderr = open(2, "w", closefd=False)  # noqa: SIM115 - pytest has one of its own
        lockstep_command._become(Run(args=[], cwd=str(tmp_path), environ=dict(os.environ), out=str(out), err=str(err)))
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == status
    assert err.read_text().endswith(f"{said}\n" if said else "")
    assert bool(err.read_text()) == bool(said)


def test_a_command_that_takes_too_long_is_no_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Late:
        @staticmethod
        def ran(run: Run) -> int:
            for name in (run["out"], run["err"]):
                Path(name).write_text("")
            return -signal.SIGALRM

    monkeypatch.setattr(lockstep_command._Forks, "of_this_process", Late)
    with pytest.raises(subprocess.TimeoutExpired):
        lockstep_command.lockstep("check", cwd=tmp_path)
