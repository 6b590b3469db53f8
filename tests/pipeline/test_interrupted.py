"""A run that was killed, or interrupted, and started again: the tables are those of one that nothing happened to."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.pipeline.pipeline_runs import BATCHES, begun, end_begun, finished, rows, wait_for

pytestmark = pytest.mark.nightly


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    end_begun()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    process = begun(store)
    _, output = process.communicate(timeout=1200)
    assert process.returncode in (0, 3), output  # no floor is stated for this few clusters
    assert [len(finished(store, table)) for table in ("lines", "verdicts", "reached")] == [BATCHES] * 3
    return store


@pytest.mark.parametrize(("table", "count"), [("lines", 2), ("verdicts", 3), ("reached", 1)])
def test_a_killed_run_that_is_started_again_neither_loses_nor_doubles_a_trace(
    undisturbed: Path, tmp_path: Path, table: str, count: int
) -> None:
    store = tmp_path / "store"
    killed = begun(store)
    wait_for(killed, store, table, count)
    os.killpg(killed.pid, signal.SIGKILL)
    killed.wait()
    assert len(finished(store, table)) < BATCHES
    before = {path: path.stat().st_mtime_ns for path in finished(store, table)}
    again = begun(store)
    again.communicate(timeout=1200)
    assert before.items() <= {path: path.stat().st_mtime_ns for path in finished(store, table)}.items()
    for each in ("lines", "verdicts", "reached"):
        assert rows(store, each) == rows(undisturbed, each), each
    assert len(rows(store, "verdicts")) == 48


def test_an_interrupt_ends_it_with_its_code_and_a_rerun_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    process = begun(store)
    wait_for(process, store, "verdicts", 1)
    os.kill(process.pid, signal.SIGINT)
    _, output = process.communicate(timeout=120)
    assert (process.returncode, output.decode().strip()) == (130, "interrupted")
    assert len(finished(store, "verdicts")) < BATCHES
    begun(store).communicate(timeout=1200)
    assert rows(store, "verdicts") == rows(undisturbed, "verdicts")


def test_a_store_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "_lockstep.json").write_text('{"format": "lockstep-store/7"}')
    process = begun(tmp_path)
    _, output = process.communicate(timeout=120)
    assert process.returncode == 2
    assert b"the store is 'lockstep-store/7'; this program reads 'lockstep-store/1'" in output
