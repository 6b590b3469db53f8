"""The pipeline on a standalone cluster of Spark, and what dies there: the tables are those of one machine."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pipeline.pipeline_runs import (
    BATCHES,
    RUN,
    SMALL_BATCHES,
    WORDS,
    begun,
    end_begun,
    finished,
    rows,
    started,
)
from tests.support.pipeline.standalone import HOME, Process, Standalone, processes, standalone
from tests.support.places import ROOT
from tests.support.programs.processes import kill, wait_until

pytestmark = pytest.mark.nightly

TABLES = ("lines", "verdicts", "reached")
#: Settings of every run on the cluster: an executor fits into its Worker, and the log of events has the failures.
SETTINGS = {
    "spark.executor.memory": "600m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.rolling.enabled": "false",
    "spark.eventLog.compress": "false",
}
SECONDS = 1200


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    end_begun()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    with standalone(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.fixture
def cluster(running: Standalone) -> Standalone:
    """The cluster with two Workers, whatever became of them before."""
    for name in ("worker-1", "worker-2"):
        if running.daemons[name].poll() is not None:
            running.end(name)
            running.worker(name)
    return running


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The store of a run on one machine."""
    store = tmp_path_factory.mktemp("undisturbed") / "store"
    done(begun(store, "--master", "local[2]"), 0, 3)  # of so few clusters a floor may say nothing
    assert [len(finished(store, table)) for table in ("lines", "verdicts")] == [BATCHES] * 2
    return store


def done(process: subprocess.Popen[bytes], *codes: int) -> str:
    """Wait for the end of a command that began its session; returns what it output, and leaves nothing of it."""
    try:
        _, output = process.communicate(timeout=SECONDS)
    finally:
        kill([each.pid for each in processes({process.pid})])
    assert process.returncode in codes, output.decode()
    return output.decode()


def on(cluster: Standalone, events: Path) -> list[str]:
    """The options that run a command on the cluster and write the log of its events into a folder."""
    events.mkdir(exist_ok=True)
    settings = {**SETTINGS, "spark.eventLog.dir": events.as_uri()}
    return ["--master", cluster.url, *(word for pair in settings.items() for word in ("--conf", "=".join(pair)))]


def events_of_kind(events: Path, kind: str) -> list[dict[str, Any]]:
    """The events of a kind in the log of the only application."""
    (log,) = events.iterdir()
    found = [json.loads(line) for line in log.read_text().splitlines()]
    return [event for event in found if event["Event"] == f"SparkListener{kind}"]


def assert_both_worked(events: Path) -> None:
    ran = {each["Task Info"]["Executor ID"] for each in events_of_kind(events, "TaskEnd")}
    assert len(ran - {"driver"}) == 2


def lines_of(undisturbed: Path, store: Path) -> Path:
    """A store that has the lines of another, and nothing that was made of them."""
    ignored = shutil.ignore_patterns(*(table for table in TABLES if table != "lines"), "_reports", "counterexamples")
    shutil.copytree(undisturbed, store, ignore=ignored)
    return store


# ---- The same tables ----


def test_the_tables_of_a_cluster_are_those_of_one_machine(
    cluster: Standalone, undisturbed: Path, tmp_path: Path
) -> None:
    store = tmp_path / "store"
    done(begun(store, *on(cluster, tmp_path / "events")), 0, 3)
    for table in TABLES:
        assert rows(store, table) == rows(undisturbed, table) != [], table
    assert_both_worked(tmp_path / "events")
    assert wait_until(lambda: not cluster.below("worker-1") + cluster.below("worker-2"))


def test_spark_submit_with_one_archive_makes_the_same_tables(
    cluster: Standalone, undisturbed: Path, tmp_path: Path
) -> None:
    archive = tmp_path / "workers.tar.gz"
    made = ["make", "--no-print-directory", "archive", f"ARCHIVE={archive}", f"PYTHON={sys.base_prefix}/bin/python3"]
    subprocess.run(made, cwd=ROOT, check=True, capture_output=True, text=True, timeout=SECONDS)
    (tmp_path / "job.py").write_text(SMALL_BATCHES)
    submit = [str(HOME / "bin" / "spark-submit"), *on(cluster, tmp_path / "events")]
    submit += ["--archives", f"{archive}#lockstep", "--conf", "spark.pyspark.python=./lockstep/bin/python"]
    submit += ["--conf", f"spark.pyspark.driver.python={sys.executable}", str(tmp_path / "job.py")]
    store = tmp_path / "store"
    line = [*submit, "pipeline", "run", str(store), *WORDS]
    process = started(line, SPARK_HOME=str(HOME), SPARK_LOCAL_IP="127.0.0.1")
    pythons: set[str] = set()
    while process.poll() is None and not pythons:
        found = cluster.busy()
        pythons |= {str(Path(f"/proc/{found[2].pid}/cwd").resolve())} if found else set()
        time.sleep(0.02)
    done(process, 0, 3)
    for table in TABLES:
        assert rows(store, table) == rows(undisturbed, table) != [], table
    assert_both_worked(tmp_path / "events")
    # The workers ran in the folders of the Workers, where the archive was unpacked.
    assert pythons
    assert all(str(cluster.folder) in each for each in pythons)


def test_workers_without_lockstep_end_it_before_any_work(cluster: Standalone, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    subprocess.run([sys.base_prefix + "/bin/python3", "-m", "venv", "--without-pip", str(bare)], check=True)
    python = ("--conf", f"spark.pyspark.python={bare}/bin/python")
    output = done(begun(tmp_path / "store", *on(cluster, tmp_path / "events"), *python), 3)
    assert "Spark's workers cannot run lockstep" in output
    assert "No module named 'lockstep'" in output
    assert "make archive" in output
    assert not (tmp_path / "store" / "lines").exists()


# ---- What dies ----


def killed_in_the_middle(cluster: Standalone, process: subprocess.Popen[bytes], store: Path, what: str) -> Process:
    """Kill a part of the cluster that has a verdict to find at this moment."""
    while True:
        assert process.poll() is None, process.communicate()
        begun_writing = any((store / "verdicts").glob("run=*/variant=*/batch=*"))
        found = cluster.busy() if begun_writing else None
        if found is not None:
            name, executor, python = found
            pid = {"Python worker": python.pid, "executor": executor.pid, "Worker": cluster.daemons[name].pid}[what]
            os.kill(pid, signal.SIGKILL)
            return python
        time.sleep(0.005)


@pytest.mark.parametrize("what", ["Python worker", "executor", "Worker"])
def test_a_process_killed_in_the_middle_changes_no_row(
    cluster: Standalone, undisturbed: Path, tmp_path: Path, what: str
) -> None:
    store = lines_of(undisturbed, tmp_path / "store")
    events = tmp_path / "events"
    process = begun(store, *on(cluster, events), command=("check",), words=("--run", RUN))
    killed_in_the_middle(cluster, process, store, what)
    done(process, 0)
    assert rows(store, "verdicts") == rows(undisturbed, "verdicts") != []
    # What was killed had been at work: Spark lost an attempt, or an executor, and made up for it.
    reasons = [
        each["Task End Reason"]["Reason"] for each in events_of_kind(events, "TaskEnd") if each["Task Info"]["Failed"]
    ]
    assert ("ExceptionFailure" if what == "Python worker" else "ExecutorLostFailure") in reasons
    assert len(events_of_kind(events, "ExecutorRemoved")) == (0 if what == "Python worker" else 1)
    if what == "Worker":
        assert sum(each.poll() is not None for each in cluster.daemons.values()) == 1
    assert wait_until(lambda: not cluster.below("worker-1") + cluster.below("worker-2"))


def test_an_interrupt_leaves_no_executor_and_a_rerun_goes_on(
    cluster: Standalone, undisturbed: Path, tmp_path: Path
) -> None:
    store = lines_of(undisturbed, tmp_path / "store")
    words = {"command": ("check",), "words": ("--run", RUN)}
    process = begun(store, *on(cluster, tmp_path / "events"), **words)
    assert wait_until(lambda: cluster.busy() and finished(store, "verdicts"), SECONDS)
    os.kill(process.pid, signal.SIGINT)
    assert done(process, 130).strip().endswith("interrupted")
    assert len(finished(store, "verdicts")) < BATCHES
    assert wait_until(lambda: not cluster.below("worker-1") + cluster.below("worker-2"))
    done(begun(store, *on(cluster, tmp_path / "again"), **words), 0)
    assert rows(store, "verdicts") == rows(undisturbed, "verdicts")


# ---- A full disk ----


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip(f"a full disk is not shown: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", "--lazy", str(disk)], check=True)


def test_a_store_without_room_ends_the_run_and_with_room_it_goes_on(undisturbed: Path, small_disk: Path) -> None:
    store = small_disk / "store"
    output = done(begun(store, "--master", "local[2,4]"), 3)
    assert "no space left on device" in output.lower()
    assert len(finished(store, "lines")) < BATCHES
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    done(begun(store, "--master", "local[2,4]"), 0, 3)
    for table in TABLES:
        assert rows(store, table) == rows(undisturbed, table), table


def test_a_worker_without_room_for_its_scratch_files_is_said(
    undisturbed: Path, small_disk: Path, tmp_path: Path
) -> None:
    store = lines_of(undisturbed, tmp_path / "store")
    words = {"command": ("check",), "words": ("--run", RUN)}
    with standalone(tmp_path / "full", workers=0) as cluster:
        cluster.worker("worker-1", local=small_disk)
        output = done(begun(store, *on(cluster, tmp_path / "events"), **words), 3)
        assert "no space left on device" in output.lower()
        subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
        done(begun(store, *on(cluster, tmp_path / "again"), **words), 0)
    assert rows(store, "verdicts") == rows(undisturbed, "verdicts")


# ---- A damaged file ----


def test_one_changed_byte_of_a_table_ends_the_stage_and_names_the_file(undisturbed: Path, tmp_path: Path) -> None:
    store = lines_of(undisturbed, tmp_path / "store")
    part = max((store / "lines").rglob("part-*.parquet"), key=lambda each: each.stat().st_size)
    (part.parent / f".{part.name}.crc").unlink()  # another file system has none
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 0x10
    part.write_bytes(data)
    output = done(begun(store, "--master", "local[2,4]", command=("check",), words=("--run", RUN)), 3)
    assert f"{part.name} cannot be read" in output
