"""A step of a trace in a process of its own: what becomes of one that dies, or never ends."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.pipeline.watch.apart import DiedError, apart, killed_after
from lockstep.pipeline.watch.specs import Specs
from lockstep.pipeline.watch.task import TIMES_APART, stepped, stepped_apart
from lockstep.pipeline.watch.under_way import Limits, Row, Step, UnderWay
from lockstep.systems.traces import write_cluster


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


def test_a_step_apart_is_a_step_and_one_that_dies_settles_its_trace_with_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_cluster(tmp_path, "ordered", 1, 40)
    lines = path.read_bytes().splitlines(keepends=True)
    specs = Specs(tmp_path, {})
    specs.compile(lines[0], str(path))
    rows = [Row("lines", 1, b"".join(lines[:20]))]
    kept, told = stepped_apart(None, path.name, str(path), rows, specs, Limits())
    same, _ = stepped(None, path.name, str(path), rows, specs, Limits())
    assert untimed(kept) == untimed(same)
    assert told == []
    tried = tmp_path / "tried"
    tried.write_text("")

    def die(*_: object) -> None:
        tried.write_text(tried.read_text() + "x")
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(Step, "_check", die)
    rows = [Row("lines", 21, b"".join(lines[20:25])), Row("lines", 26, b"".join(lines[25:30]))]
    kept, told = stepped_apart(kept, path.name, str(path), rows, specs, Limits())
    assert len(tried.read_text()) == TIMES_APART
    way = UnderWay.of(kept)
    assert (way.verdict, way.reason, way.state) == (
        "inconclusive",
        "the check of lines 21 to 30 died, as often as it was tried (SIGKILL)",
        b"",
    )
    assert [(row[3], row[-2], row[-1]) for row in told] == [("inconclusive", True, None)]


def untimed(kept: bytes) -> bytes:
    way = UnderWay.of(kept)
    way.seconds = 0.0
    return way.kept()
