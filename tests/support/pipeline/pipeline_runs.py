"""Runs of the pipeline as commands, with batches so small that a run has several, and what they leave in a store."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

from lockstep.pipeline.store_tables import TABLES
from lockstep.pipeline.trace_store import TraceStore
from tests.support.pipeline.standalone import processes
from tests.support.programs.processes import kill

#: The command with batches of eight clusters. A shell lets what it runs in the background ignore SIGINT.
SMALL_BATCHES = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
import lockstep.pipeline.generate_stage as generating
generating.MAX_BATCH_CLUSTERS = 8
from lockstep.cli.command_line import main
main()
"""
RUN = "night"
WORDS = ("--run", RUN, "--seeds", "24", "--plan", "ordered", "--plan", "raft", "--events", "60", "--format", "json")
BATCHES = 6


_BEGUN: list[subprocess.Popen[bytes]] = []


def started(line: Sequence[str], **environment: str) -> subprocess.Popen[bytes]:
    """Start a command as the leader of a session of processes, which end_begun ends."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, stdout=pipe, stderr=pipe, start_new_session=True, env=os.environ | environment)
    _BEGUN.append(process)
    return process


def begun(
    store: Path, *more: str, command: Sequence[str] = ("run",), words: Sequence[str] = WORDS
) -> subprocess.Popen[bytes]:
    """Start a command of the pipeline."""
    return started([sys.executable, "-c", SMALL_BATCHES, "pipeline", *command, str(store), *words, *more])


def end_begun() -> None:
    """End what was started and still runs, as after a failure or Ctrl-C."""
    while _BEGUN:
        process = _BEGUN.pop()
        kill([each.pid for each in processes({process.pid})])
        process.wait()


def finished(store: Path, table: str) -> list[Path]:
    """The notes of the files of those batches of a table that are there: the last that is written of a batch."""
    # Below these folders Spark makes and removes others while it writes, and a note is renamed once it is whole.
    found = (store / table).glob("run=*/variant=*/batch=*/_files-*")
    return sorted(path for path in found if path.suffix != ".partial")


def wait_for(process: subprocess.Popen[bytes], store: Path, table: str, count: int) -> None:
    """Wait until a table has `count` batches."""
    while len(finished(store, table)) < count:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def rows(store: Path, table: str) -> list[dict[str, Any]]:
    """All rows of the finished batches of a table, in order, without what differs from run to run."""
    there = TraceStore.open(str(store))
    found = []
    for batch in there.batches(table, RUN):
        data = ds.dataset(there.folder(table, RUN, batch).path, format="parquet", schema=TABLES[table].schema)
        found += [{**row, "batch": batch.name, "seconds": None} for row in data.to_table().to_pylist()]
    return sorted(found, key=repr)
