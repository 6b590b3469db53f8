"""The measure of levels runs on a small model, and its parts add up."""

from __future__ import annotations

import re
import subprocess
import sys

from tests.support.places import ROOT


def test_the_levels_of_a_small_model_have_its_states_and_every_part_some_time() -> None:
    ran = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "levels.py"), "replication"], capture_output=True, text=True, timeout=300
    )
    assert ran.returncode == 0, ran.stderr
    whole = next(line for line in ran.stdout.splitlines() if line.split()[:1] == ["all"])
    assert whole.split()[1:4] == ["102,226", "416,402", "102,226"]
    assert all(float(seconds) > 0 for seconds in re.findall(r"([\d.]+) s", whole))
