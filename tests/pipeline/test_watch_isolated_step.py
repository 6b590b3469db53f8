"""A step of a trace in a process of its own, which may die."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from lockstep.jobs.spark.isolated_work import MAX_ATTEMPTS, Isolation
from lockstep.pipeline.watch.resumed_check import BatchCheck, SourceRow, TraceProgress, WatchLimits
from lockstep.pipeline.watch.spec_cache import SpecCache
from lockstep.pipeline.watch.watch_task import check_batch, check_isolated
from lockstep.systems.trace_files import write_cluster

ISOLATED = Isolation(60, is_always=True)


def test_an_isolated_step_gives_the_same_result_and_one_that_dies_settles_its_trace_with_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_cluster(tmp_path, "ordered", 1, 40)
    lines = path.read_bytes().splitlines(keepends=True)
    specs = SpecCache(tmp_path, {})
    specs.compile(lines[0], str(path))
    rows = [SourceRow("lines", 1, b"".join(lines[:20]))]
    kept, verdict, _ = check_isolated(ISOLATED, None, path.name, str(path), rows, specs, WatchLimits())
    same, _, _ = check_batch(None, path.name, str(path), rows, specs, WatchLimits())
    assert untimed(kept) == untimed(same)
    assert verdict is None
    tried = tmp_path / "tried"
    tried.write_text("")

    def die(*_: object) -> None:
        tried.write_text(tried.read_text() + "x")
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(BatchCheck, "_check", die)
    rows = [SourceRow("lines", 21, b"".join(lines[20:25])), SourceRow("lines", 26, b"".join(lines[25:30]))]
    kept, verdict, due = check_isolated(ISOLATED, kept, path.name, str(path), rows, specs, WatchLimits())
    assert len(tried.read_text()) == MAX_ATTEMPTS
    assert TraceProgress.from_bytes(kept).state == b""
    assert verdict is not None
    assert (verdict.verdict, verdict.reason, verdict.settled, due) == (
        "inconclusive",
        "the check of lines 21 to 30 died, as often as it was tried (SIGKILL)",
        True,
        None,
    )


def test_a_trace_that_waited_and_dies_is_waited_for_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each look would say that it has waited long enough, and a watch that ends once it is idle would not end."""
    path = write_cluster(tmp_path, "ordered", 1, 40)
    lines = path.read_bytes().splitlines(keepends=True)
    specs = SpecCache(tmp_path, {})
    specs.compile(lines[0], str(path))
    rows = [SourceRow("lines", 1, b"".join([*lines[:10], *lines[11:20]]))]
    kept, _, due = check_isolated(ISOLATED, None, path.name, str(path), rows, specs, WatchLimits())
    assert due is not None
    assert due > 0
    monkeypatch.setattr(BatchCheck, "_check", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    rows = [SourceRow("lines", 20, lines[20])]
    _, verdict, due = check_isolated(ISOLATED, kept, path.name, str(path), rows, specs, WatchLimits())
    assert verdict is not None
    assert (verdict.verdict, due) == ("inconclusive", 0.0)


def untimed(kept: bytes) -> bytes:
    progress = TraceProgress.from_bytes(kept)
    progress.result.seconds = 0.0
    return progress.to_bytes()
