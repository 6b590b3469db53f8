"""The process of a node: the folder that it keeps to itself, and how it ends when something is wrong with its files."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lockstep.base.errors import BadInputError, EnvironmentFailedError, GaveUpError
from lockstep.cluster.node_process import run_node
from lockstep.cluster.node_processes import free_addresses
from lockstep.systems.registry import SYSTEMS
from lockstep.systems.running_nodes import NodeOptions
from raftref.disks.directory_disk import DirectoryDisk
from raftref.hashicorp.storage.file_stores import FileStores
from raftref.hashicorp.stores import bootstrap_cluster
from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, Term
from raftref.runtime.driver import NodeStep
from tests.support.programs.processes import hear

SYSTEM_NAMES = ("DLedger", "HashicorpRaft")


def options(folder: Path) -> NodeOptions:
    return NodeOptions("n1", "g", dict(zip(("n1", "n2"), free_addresses(2), strict=True)), folder, time_scale=0.02)


def run(system: str, chosen: NodeOptions, say: Callable[[str], None] = lambda _: None, **given: Any) -> None:
    running = SYSTEMS[system].running
    assert running is not None
    run_node(replace(running(), **given), chosen, None, say)


@pytest.mark.parametrize("system", SYSTEM_NAMES)
def test_a_second_process_on_a_folder_is_refused_before_it_reads_the_files(system: str, tmp_path: Path) -> None:
    """Each of the two would vote, and neither would know of the other's vote."""
    chosen = options(tmp_path / "n1")
    refused: list[str] = []

    def second_one(line: str) -> None:
        if " listens on " in line:
            with pytest.raises(GaveUpError) as error:
                run(system, chosen, node=never_made)
            refused.append(str(error.value))
            raise KeyboardInterrupt  # as good an end as any

    def never_made(*_: Any) -> Any:
        raise AssertionError("the files were read")

    with pytest.raises(KeyboardInterrupt):
        run(system, chosen, second_one)
    assert refused == [f"{tmp_path / 'n1'}: the process of another node is using these files"]


@pytest.mark.parametrize("system", SYSTEM_NAMES)
def test_a_node_whose_steps_cannot_be_recorded_ends_its_process(system: str, tmp_path: Path) -> None:
    """Its steps would be missing, and the group would seem to hold."""
    running = SYSTEMS[system].running
    assert running is not None
    steps: list[NodeStep] = []

    def fails(step: NodeStep) -> None:
        steps.append(step)
        if len(steps) > 5:
            raise OSError(28, "No space left on device", "n1.steps")

    def node(chosen: NodeOptions, _: Any, log: Any) -> Any:
        return running().node(chosen, fails, log)

    with pytest.raises(EnvironmentFailedError, match=r"^n1 has failed: OSError: .*'n1.steps' \(in fails, line "):
        run(system, options(tmp_path / "n1"), node=node)
    assert len(steps) == 6


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_of_the_signals_stops_a_node_between_two_of_its_steps(number: int, tmp_path: Path) -> None:
    """An exception would fall into any step, and a process that goes on would have taken half of it."""
    ((host, port),) = free_addresses(1)
    words = ["n1", f"n1={host}:{port}", "--system", "HashicorpRaft", "--dir", str(tmp_path / "n1")]
    command = [sys.executable, "-m", "lockstep", "node", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=hear
    ) as process:
        try:
            assert process.stdout is not None
            assert "n1 listens on " in process.stdout.readline()
            process.send_signal(number)
            assert process.communicate(timeout=20)[0] == "n1 has stopped\n"
        finally:
            process.kill()
    assert process.returncode == 0


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInputError, match=f"^{tmp_path}/file/n1: Not a directory$"):
        run("DLedger", options(tmp_path / "file" / "n1"))


@pytest.mark.parametrize("data", [b"x" * 40, b"\0" * 40])
def test_damaged_stores_are_named(data: bytes, tmp_path: Path) -> None:
    folder = tmp_path / "n1"
    folder.mkdir()
    (folder / "stores").write_bytes(data)
    with pytest.raises(BadInputError, match=f"^{folder}: stores is damaged"):
        run("HashicorpRaft", options(folder))


def test_a_folder_that_cannot_be_written_is_no_address_that_is_taken(tmp_path: Path) -> None:
    folder = tmp_path / "n1"
    (folder / "stores.new").mkdir(parents=True)
    with pytest.raises(BadInputError, match=str(folder)):
        run("HashicorpRaft", options(folder))


def test_a_server_whose_log_has_a_gap_does_not_run(tmp_path: Path) -> None:
    """NewRaft fails. Source: api.go, NewRaft, failed to get log."""
    chosen = options(tmp_path / "n1")
    stores = bootstrap_cluster(Configuration(frozenset(chosen.addresses)))
    logs = {**stores.logs, Index(5): Entry(Term(1), EntryType.NOOP)}
    FileStores(DirectoryDisk(chosen.folder, forces_names=True)).persist(replace(stores, logs=logs))
    with pytest.raises(BadInputError, match=f"^{chosen.folder}: the log behind the newest snapshot has a gap"):
        run("HashicorpRaft", chosen)


def test_a_taken_address_is_no_fault_of_the_files(tmp_path: Path) -> None:
    chosen = options(tmp_path / "n1")
    with socket.socket() as taken:
        taken.bind(chosen.addresses["n1"])
        taken.listen()
        with pytest.raises(GaveUpError, match=r"^n1 cannot listen on 127\.0\.0\.1:"):
            run("DLedger", chosen)
