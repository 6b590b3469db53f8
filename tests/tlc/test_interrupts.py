"""Ctrl-C and kill: no JVM and no folder may be left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.places import SPECS
from tests.support.programs.processes import jvms_of, kill, wait_until
from tests.support.sampling import sampled

MODULES = SPECS / "tlc"

# Both are set because a child of a background shell starts with SIGINT ignored, and one of nohup with SIGHUP.
CHILD = """
import signal, sys
from pathlib import Path
from lockstep.tlc import run_tlc
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
try:
    run_tlc(Path(sys.argv[1]), Path(sys.argv[2]))
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


SIGNALS = ((signal.SIGINT, -signal.SIGINT, "interrupted"), (signal.SIGTERM, 143, ""), (signal.SIGHUP, 129, ""))
#: Each signal as the JVM starts, and as TLC works.
CASES = [(*each, delay_seconds) for each in SIGNALS for delay_seconds in (0.0, 2.5)]


@pytest.mark.parametrize(("number", "status", "said", "delay_seconds"), sampled(CASES, [*CASES[::2], CASES[1]]))
def test_an_interrupt_leaves_no_jvm_and_no_temporary_folder(
    tmp_path: Path, number: int, status: int, said: str, delay_seconds: float
) -> None:
    spec, cfg = tmp_path / "Endless.tla", tmp_path / "Endless.cfg"
    for path in (spec, cfg):
        path.write_bytes((MODULES / path.name).read_bytes())
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(spec), str(cfg)],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert wait_until(lambda: jvms_of(spec)), "the child started no JVM"
        assert list(scratch.iterdir()), "the run does not use the temporary folder that is watched"
        time.sleep(delay_seconds)
        child.send_signal(number)
        output, _ = child.communicate(timeout=20)
    finally:
        child.kill()
        left = jvms_of(spec)
        kill(left)
    assert (child.returncode, output.strip()) == (status, said)
    assert left == []
    assert list(scratch.iterdir()) == []
