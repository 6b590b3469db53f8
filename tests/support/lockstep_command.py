"""The command as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def lockstep(*args: str | Path, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `lockstep` with these arguments in a folder, with these variables beside its environment."""
    command = [sys.executable, "-m", "lockstep", *map(str, args)]
    return subprocess.run(
        command, cwd=cwd, env={**os.environ, **environ}, capture_output=True, text=True, check=False, timeout=120
    )
