"""The example of docs/own_logs: a primary and two backups that write logs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.places import ROOT

EXAMPLE = ROOT / "docs" / "own_logs"


def service(folder: Path, seed: int, *words: str) -> list[Path]:
    """The logs of one run of the service."""
    command = [sys.executable, EXAMPLE / "service.py", folder, "--seed", seed, *words]
    subprocess.run(list(map(str, command)), check=True)
    return sorted(folder.glob("*.log"))
