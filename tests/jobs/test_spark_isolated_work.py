"""Work in a process of its own: what becomes of it where that dies, or takes too long."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.jobs.spark.isolated_work import Care, DiedError, apart, killed_after


def _raise() -> None:
    raise ValueError("not so")


def test_work_apart_returns_what_it_would_and_raises_what_it_would() -> None:
    assert apart(os.getpid, 60, 1) != os.getpid()
    with pytest.raises(ValueError, match="not so"):
        apart(_raise, 60, 2)


@pytest.mark.parametrize(
    ("die", "said", "seconds"),
    [
        (lambda: os._exit(7), "died, as often as it was tried (exit code 7)", 60),
        (lambda: os._exit(0), "died, as often as it was tried (exit code 0)", 60),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "died, as often as it was tried (SIGKILL)", 60),
        (lambda: time.sleep(3600), "did not end within 0.2 s", 0.2),
    ],
)
def test_a_process_that_dies_of_its_work_is_told_of(die: Callable[[], None], said: str, seconds: float) -> None:
    with pytest.raises(DiedError) as raised:
        apart(die, seconds, 2)
    assert str(raised.value) == said


def test_half_an_answer_of_a_process_that_is_killed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pickle.dumps((b"x" * 100_000, None))
    monkeypatch.setattr("lockstep.jobs.spark.isolated_work._of_child", lambda *_: (whole[:70_000], -signal.SIGKILL))
    with pytest.raises(DiedError, match="SIGKILL"):
        apart(lambda: b"", 60, 2)


def test_work_whose_process_dies_once_is_done_by_another(tmp_path: Path) -> None:
    def work() -> int:
        if not (tmp_path / "tried").exists():
            (tmp_path / "tried").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    assert apart(work, 60, 2) == 7


def test_a_process_lives_on_once_it_has_done_what_had_to_be_done_in_time() -> None:
    with killed_after(0.2):
        pass
    time.sleep(0.4)


def test_work_is_done_apart_where_that_is_asked_for_and_else_in_this_process() -> None:
    assert Care().of(os.getpid) == os.getpid()
    assert Care(60).of(os.getpid) == os.getpid()
    assert Care(60, apart=True).of(os.getpid) != os.getpid()
    assert Care(apart=True).of(os.getpid) != os.getpid()
