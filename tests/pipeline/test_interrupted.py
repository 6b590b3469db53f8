"""A run that was killed, or interrupted, and started again: the tables are those of one that nothing happened to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
import pytest

from lockstep.pipeline.store.schema import TABLES
from lockstep.pipeline.store.store import Store

pytestmark = pytest.mark.nightly

#: The command with batches of eight clusters.
SMALL_BATCHES = """
import lockstep.pipeline.stages.generate as generating
generating.BATCH_CLUSTERS = 8
from lockstep.cli import main
main()
"""
WORDS = ("--run", "night", "--seeds", "24", "--plan", "ordered", "--plan", "raft", "--events", "60", "--format", "json")
BATCHES = 6


def begun(store: Path) -> subprocess.Popen[bytes]:
    """The command, as the leader of a group of processes."""
    words = [sys.executable, "-c", SMALL_BATCHES, "pipeline", "run", str(store), *WORDS]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def finished(store: Path, table: str) -> list[Path]:
    # Below these folders Spark makes and removes others while it writes.
    return sorted((store / table).glob("run=*/variant=*/batch=*/_SUCCESS"))


def wait_for(process: subprocess.Popen[bytes], store: Path, table: str, count: int) -> None:
    """Wait until so many batches of a table are there."""
    while len(finished(store, table)) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def rows(store: Path, table: str) -> list[dict[str, Any]]:
    """All rows of the finished batches of a table, in order, without what differs from run to run."""
    there = Store.open(str(store))
    found = []
    for batch in there.batches(table, "night"):
        data = ds.dataset(there.folder(table, "night", batch).path, format="parquet", schema=TABLES[table])
        found += [{**row, "batch": batch.name, "seconds": None} for row in data.to_table().to_pylist()]
    return sorted(found, key=repr)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    process = begun(store)
    _, said = process.communicate(timeout=1200)
    assert process.returncode in (0, 3), said  # of so few clusters a floor may say nothing
    assert [len(finished(store, table)) for table in ("lines", "verdicts", "reached")] == [BATCHES] * 3
    return store


@pytest.mark.parametrize(("table", "count"), [("lines", 2), ("verdicts", 3), ("reached", 1)])
def test_what_was_killed_and_started_again_neither_loses_nor_doubles_a_trace(
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
    _, said = process.communicate(timeout=120)
    assert (process.returncode, said.decode().strip()) == (130, "interrupted")
    assert len(finished(store, "verdicts")) < BATCHES
    begun(store).communicate(timeout=1200)
    assert rows(store, "verdicts") == rows(undisturbed, "verdicts")


def test_a_store_of_another_version_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "_lockstep.json").write_text('{"format": "lockstep-store/7"}')
    process = begun(tmp_path)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 2
    assert b"the store is 'lockstep-store/7'; this program reads 'lockstep-store/1'" in said
