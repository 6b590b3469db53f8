"""A step of a trace in a process of its own: what becomes of one that dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from lockstep.jobs.spark.apart import TIMES_APART, Care
from lockstep.pipeline.watch.specs import Specs
from lockstep.pipeline.watch.task import stepped, stepped_with
from lockstep.pipeline.watch.under_way import Limits, Row, Step, UnderWay
from lockstep.systems.trace_files import write_cluster

APART = Care(60, apart=True)


def test_a_step_apart_is_a_step_and_one_that_dies_settles_its_trace_with_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_cluster(tmp_path, "ordered", 1, 40)
    lines = path.read_bytes().splitlines(keepends=True)
    specs = Specs(tmp_path, {})
    specs.compile(lines[0], str(path))
    rows = [Row("lines", 1, b"".join(lines[:20]))]
    kept, told = stepped_with(APART, None, path.name, str(path), rows, specs, Limits())
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
    kept, told = stepped_with(APART, kept, path.name, str(path), rows, specs, Limits())
    assert len(tried.read_text()) == TIMES_APART
    way = UnderWay.of(kept)
    assert (way.verdict, way.reason, way.state) == (
        "inconclusive",
        "the check of lines 21 to 30 died, as often as it was tried (SIGKILL)",
        b"",
    )
    assert [(row[3], row[-2], row[-1]) for row in told] == [("inconclusive", True, None)]


def test_a_trace_that_waited_and_dies_is_waited_for_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else each look would say that it has waited long enough, and a watch that ends once it is idle would not end."""
    path = write_cluster(tmp_path, "ordered", 1, 40)
    lines = path.read_bytes().splitlines(keepends=True)
    specs = Specs(tmp_path, {})
    specs.compile(lines[0], str(path))
    rows = [Row("lines", 1, b"".join([*lines[:10], *lines[11:20]]))]
    kept, told = stepped_with(APART, None, path.name, str(path), rows, specs, Limits())
    assert [row[-1] > 0 for row in told] == [True]
    monkeypatch.setattr(Step, "_check", lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    _, told = stepped_with(APART, kept, path.name, str(path), [Row("lines", 20, lines[20])], specs, Limits())
    assert [(row[3], row[-1]) for row in told] == [("inconclusive", None), ("", 0.0)]


def untimed(kept: bytes) -> bytes:
    way = UnderWay.of(kept)
    way.seconds = 0.0
    return way.kept()
