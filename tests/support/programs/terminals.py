"""The command on a terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path


def on_a_terminal(folder: Path, *words: str, columns: int = 80, code: int = 0, **environ: str) -> str:
    """Return what the command prints to a terminal of `columns` columns; it must exit with `code`."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    command = [sys.executable, "-m", "lockstep", *words]
    env = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
    env |= {"TERM": "xterm"} | environ
    with subprocess.Popen(command, cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs, env=env) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            said += part
        assert process.wait(timeout=120) == code
    os.close(ours)
    return said.decode()
