"""Ctrl-C, wherever it meets a command: one line, exit code 130, and nothing left of what the command had started."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.programs.processes import hear, kill, marked, wait_until

#: A command that gets Ctrl-C as soon as it imports a module.
AT_AN_IMPORT = """
import os, signal, sys
wanted = sys.argv.pop(1)

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
from lockstep.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("click", ("models",)),
        ("lockstep.cli.options", ("check", "none.ndjson")),
        ("pyspark", ("fleet", "--seeds", "1")),
        ("pyarrow", ("verify", "--seeds", "1")),
        ("z3", ("prove", "quorums_intersect")),
        ("lockstep.tla.explore", ("graph", "late_truncate_bug", "-o", "g.svg")),
    ],
)
def test_ctrl_c_while_modules_are_imported_is_reported_in_a_line(
    module: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    command = [sys.executable, "-c", AT_AN_IMPORT, module, *words]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120, preexec_fn=hear
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


@pytest.mark.parametrize(
    "delay_seconds",
    [pytest.param(0.0, id="as_spark_starts", marks=pytest.mark.nightly), pytest.param(5.0, id="as_spark_works")],
)
def test_ctrl_c_in_a_fleet_is_reported_in_a_line_and_leaves_nothing(delay_seconds: float, tmp_path: Path) -> None:
    """As a terminal does it: the whole group of processes gets the signal, Spark's Java and workers among them."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    mark = f"LOCKSTEP_TEST={tmp_path}"
    child = subprocess.Popen(
        [sys.executable, "-m", "lockstep", "fleet", "--seeds", "200"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(scratch), "LOCKSTEP_TEST": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=hear,
    )
    try:
        assert wait_until(lambda: len(marked(mark)) > 1), "the command started no Java"
        time.sleep(delay_seconds)
        os.killpg(child.pid, signal.SIGINT)
        stdout, stderr = child.communicate(timeout=60)
        assert wait_until(lambda: not marked(mark), 20)
    finally:
        child.kill()
        kill(marked(mark))
    assert (child.returncode, stdout, stderr) == (130, "", "interrupted\n")
    assert list(scratch.iterdir()) == []


#: A square of a million states, which tables explore with a thousand evaluations.
SQUARE = """---- MODULE Square ----
EXTENDS Naturals
VARIABLES x, y
Init == x = 0 /\\ y = 0
Right == x < 1000 /\\ x' = x + 1 /\\ y' = y
Up == y < 1000 /\\ y' = y + 1 /\\ x' = x
Next == Right \\/ Up
====
"""


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_search_by_tables_that_is_interrupted_says_so_in_a_line_and_leaves_nothing(
    sent: signal.Signals, code: int, tmp_path: Path
) -> None:
    """The whole group of processes gets the signal, as Ctrl-C in a terminal and the command `timeout` send it."""
    (tmp_path / "Square.tla").write_text(SQUARE)
    (tmp_path / "Square.cfg").write_text("INIT Init NEXT Next CHECK_DEADLOCK FALSE")
    mark = f"LOCKSTEP_TEST={tmp_path}"
    options = ["--engine", "tables", "--checkpoint", "square.checkpoint"]
    terminal, stderr = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-m", "lockstep", "model", "--spec", "Square.tla", *options],
        cwd=tmp_path,
        env={**os.environ, "LOCKSTEP_TEST": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        start_new_session=True,
        preexec_fn=hear,
    )
    os.close(stderr)
    try:
        with os.fdopen(terminal, errors="replace") as screen:
            output = ""
            while "waiting, level " not in output:
                output += os.read(screen.fileno(), 100).decode()
            os.killpg(child.pid, sent)
            stdout, _ = child.communicate(timeout=60)
            output += os.read(screen.fileno(), 10_000).decode()
        assert wait_until(lambda: not marked(mark), 20)
    finally:
        child.kill()
        kill(marked(mark))
    assert (child.returncode, stdout, output.rpartition("\r\033[K")[2]) == (code, "", "interrupted\r\n")
    assert "Traceback" not in output
    assert sorted(each.name for each in tmp_path.iterdir()) == ["Square.cfg", "Square.tla"]
