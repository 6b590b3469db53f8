"""Work in a process of its own, which may die, or take too long."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.jobs.spark.isolated_work import Isolation, WorkDiedError, killed_after, run_isolated


def _raise() -> None:
    raise ValueError("not so")


def test_isolated_work_returns_or_raises_as_other_work_does() -> None:
    assert run_isolated(os.getpid, 60, 1) != os.getpid()
    with pytest.raises(ValueError, match="not so"):
        run_isolated(_raise, 60, 2)


@pytest.mark.parametrize(
    ("die", "message", "seconds"),
    [
        (lambda: os._exit(7), "died, as often as it was tried (exit code 7)", 60),
        (lambda: os._exit(0), "died, as often as it was tried (exit code 0)", 60),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "died, as often as it was tried (SIGKILL)", 60),
        (lambda: time.sleep(3600), "did not end within 0.2 s", 0.2),
    ],
)
def test_a_process_that_dies_of_its_work_is_reported(die: Callable[[], None], message: str, seconds: float) -> None:
    with pytest.raises(WorkDiedError) as raised:
        run_isolated(die, seconds, 2)
    assert str(raised.value) == message


def test_half_an_answer_of_a_process_that_is_killed_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = pickle.dumps((b"x" * 100_000, None))
    monkeypatch.setattr("lockstep.jobs.spark.isolated_work._run_child", lambda *_: (whole[:70_000], -signal.SIGKILL))
    with pytest.raises(WorkDiedError, match="SIGKILL"):
        run_isolated(lambda: b"", 60, 2)


def test_work_whose_process_dies_once_is_done_by_another(tmp_path: Path) -> None:
    def work() -> int:
        if not (tmp_path / "tried").exists():
            (tmp_path / "tried").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return 7

    assert run_isolated(work, 60, 2) == 7


def test_a_process_lives_on_once_it_has_done_what_had_to_be_done_in_time() -> None:
    with killed_after(0.2):
        pass
    time.sleep(0.4)


def test_work_is_isolated_only_where_that_is_requested() -> None:
    assert Isolation().run(os.getpid) == os.getpid()
    assert Isolation(60).run(os.getpid) == os.getpid()
    assert Isolation(60, is_always=True).run(os.getpid) != os.getpid()
    assert Isolation(is_always=True).run(os.getpid) != os.getpid()
