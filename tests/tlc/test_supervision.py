"""A tool ends with the process that started it, however that ends; its budget is the time that it worked."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.tlc import Budget, Cause, TlcOptions, ToolMissing, run_tlc
from lockstep.tlc.supervised_process import FinishedProcess, Lines, ProcessEnd, run_supervised
from tests.support.places import SPECS
from tests.support.programs.processes import jvms_of, kill, wait_until, words_of

MODULES = SPECS / "tlc"

#: Supervises a tool that prints its last word at a signal; writes each piece of its output as a line.
SUPERVISING = """
from pathlib import Path
from lockstep.tlc.supervised_process import NO_LIMIT, run_supervised
run_supervised(
    ["/bin/sh", "-c", "echo $$ > tool; echo first; while [ ! -e go ]; do sleep 0.05; done; echo last"],
    cwd=Path(),
    stderr=Path("stderr.txt"),
    on_output=lambda piece: print(piece, flush=True),
    budget=NO_LIMIT,
    should_stop=lambda: False,
)
"""


def copied(module: str, folder: Path) -> tuple[Path, Path]:
    for suffix in (".tla", ".cfg"):
        (folder / f"{module}{suffix}").write_bytes((MODULES / f"{module}{suffix}").read_bytes())
    return folder / f"{module}.tla", folder / f"{module}.cfg"


def supervised(folder: Path, *command: str, budget: Budget | None = None) -> FinishedProcess:
    return run_supervised(
        command,
        cwd=folder,
        stderr=folder / "stderr.txt",
        on_output=lambda _: None,
        budget=budget or Budget(wall_seconds=60),
        should_stop=lambda: False,
    )


def test_a_killed_command_takes_tlc_with_it(tmp_path: Path) -> None:
    spec, cfg = copied("Endless", tmp_path)
    command = [sys.executable, "-m", "lockstep", "model", "--spec", str(spec), "--cfg", str(cfg)]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        assert wait_until(lambda: jvms_of(spec)), "the command started no TLC"
        child.kill()
        child.wait()
        assert wait_until(lambda: not jvms_of(spec), 5)
    finally:
        child.kill()
        kill(jvms_of(spec))


def test_the_children_of_a_tool_end_with_it(tmp_path: Path) -> None:
    ended = supervised(tmp_path, "/bin/sh", "-c", "sleep 600 & echo $! > child; exit 3")
    assert (ended.end, ended.status) == (ProcessEnd.EXITED, 3)
    child = int((tmp_path / "child").read_text())
    assert wait_until(lambda: not Path(f"/proc/{child}/cmdline").exists(), 5)


def test_the_last_output_of_a_tool_that_ended_unseen_is_not_lost(tmp_path: Path) -> None:
    """The reader is stopped while the tool writes and ends, as may happen on a busy machine."""
    command = [sys.executable, "-c", SUPERVISING]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "b'first\\n'\n"
            time.sleep(0.05)  # until it waits for more
            child.send_signal(signal.SIGSTOP)
            (tmp_path / "go").touch()
            tool = int((tmp_path / "tool").read_text())
            assert wait_until(lambda: not words_of(tool)), "the tool did not end"
            time.sleep(0.2)  # until it has waited long enough
            child.send_signal(signal.SIGCONT)
            assert child.stdout.read().splitlines() == ["b'last\\n'", "b''"]
        finally:
            child.kill()


def test_the_end_of_output_is_reported_once_though_a_child_of_the_tool_holds_it_open(tmp_path: Path) -> None:
    pieces: list[bytes] = []
    ended = run_supervised(
        ("/bin/sh", "-c", "sleep 600 & echo last"),
        cwd=tmp_path,
        stderr=tmp_path / "stderr.txt",
        on_output=pieces.append,
        budget=Budget(wall_seconds=60),
        should_stop=lambda: False,
    )
    assert (ended.end, pieces) == (ProcessEnd.EXITED, [b"last\n", b""])


def test_a_tool_that_cannot_be_run_is_missing(tmp_path: Path) -> None:
    for name, content in {"nonsense": b"\x00\x01", "not_executable": b"#!/bin/sh\n"}.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "nonsense").chmod(0o755)
    for name in ("nonsense", "not_executable", "absent"):
        with pytest.raises(ToolMissing, match=f"{name} cannot be run: "):
            supervised(tmp_path, str(tmp_path / name))


def test_time_that_a_tool_did_not_work_is_not_taken_from_its_budget(tmp_path: Path) -> None:
    """The tool waits most of the time, as it does for the processor on a busy machine."""
    budget = Budget(cpu_seconds=0.5)
    assert supervised(tmp_path, "/bin/sleep", "1.5", budget=budget).end is ProcessEnd.EXITED
    begin = time.monotonic()
    ended = supervised(tmp_path, sys.executable, "-c", "while True: pass", budget=budget)
    assert (ended.end, ended.spent) == (ProcessEnd.TIMED_OUT, "0.5 s of processor time")
    assert time.monotonic() - begin < 20


def test_a_tool_that_waits_for_ever_is_ended_by_the_clock(tmp_path: Path) -> None:
    ended = supervised(tmp_path, "/bin/sleep", "600", budget=Budget(cpu_seconds=0.2))
    assert (ended.end, ended.spent) == (ProcessEnd.TIMED_OUT, "1 s (5 times its processor time)")


def test_where_processor_time_is_unknown_the_clock_is_several_times_as_patient() -> None:
    budget = Budget(cpu_seconds=60)
    assert budget.spent(None, 299) == ""
    assert budget.spent(None, 301) == "300 s (5 times its processor time)"
    assert Budget(wall_seconds=7).spent(None, 8) == Budget(60, 7).spent(1, 8) == "7 s"


def test_a_model_that_worked_for_its_budget_is_inconclusive_and_one_that_was_stopped_is_not(tmp_path: Path) -> None:
    spec, cfg = copied("Endless", tmp_path)
    options = TlcOptions(budget=Budget(cpu_seconds=2))

    def pause() -> None:
        assert wait_until(lambda: jvms_of(spec))
        (process,) = jvms_of(spec)
        os.kill(process, signal.SIGSTOP)
        time.sleep(3)
        os.kill(process, signal.SIGCONT)

    pausing = threading.Thread(target=pause)
    pausing.start()
    result = run_tlc(spec, cfg, options)
    pausing.join()
    assert (result.verdict, result.cause) == (Verdict.INCONCLUSIVE, Cause.TIMED_OUT)
    assert result.reason == "the budget of 2 s of processor time was spent before TLC finished"
    assert result.wall_seconds > 3


def test_output_is_cut_into_lines_wherever_its_pieces_end() -> None:
    found: list[str] = []
    lines = Lines(found.append)
    for piece in (b"a\r\nb", b"\xc3", b"\xb6\n\nc", b""):
        lines(piece)
    assert found == ["a", "bö", "", "c"]
