"""A sample of the nightly tests is bounded in time, drawn by a word, and fails if hardly any test ran."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import TESTS

QUICK = "\n".join(f"def test_quick_{number}(): pass" for number in range(30))
SLOW = "import time\ndef test_slow(): time.sleep(600)"

#: A test that goes on after its end is cut off again after a fifth of a second.
CONFTEST = """
import tests.support.nightly_sample
from tests.support.nightly_sample import *

tests.support.nightly_sample.ALARM_PERIOD = 0.2
"""


def sample(folder: Path, tests: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest on some tests with the options of a sample."""
    (folder / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (folder / "test_inner.py").write_text(tests, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-v", "--rootdir", str(folder), *options, "test_inner.py"]
    environment = {"PYTHONPATH": str(TESTS.parent), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def order(printed: str) -> list[str]:
    return re.findall(r"::(test_quick_\d+) PASSED", printed)


def test_the_drawn_word_decides_the_order_alone(tmp_path: Path) -> None:
    first, again, other = (order(sample(tmp_path, QUICK, "--draw", word).stdout) for word in ("a", "a", "b"))
    assert len(first) == 30
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other)


def test_a_test_that_still_runs_when_the_time_is_up_is_cut_off_and_counted(tmp_path: Path) -> None:
    done = sample(tmp_path, f"{QUICK}\n{SLOW}", "--minutes", "0.03")
    assert "sample: 30 tests came to their end, 1 were cut off, 0 were not reached" in done.stdout
    assert done.returncode == pytest.ExitCode.OK


def test_a_test_that_raises_something_else_as_it_is_cut_off_has_not_failed(tmp_path: Path) -> None:
    wraps = "import time\ndef test_wraps():\n    try: time.sleep(600)\n    except BaseException: raise ValueError"
    done = sample(tmp_path, f"{QUICK}\n{wraps}", "--minutes", "0.03")
    assert "sample: 30 tests came to their end, 1 were cut off, 0 were not reached" in done.stdout
    assert done.returncode == pytest.ExitCode.OK


def test_a_test_that_goes_on_after_it_was_cut_off_is_cut_off_again(tmp_path: Path) -> None:
    goes_on = "import time\ndef test_goes_on():\n    try: time.sleep(600)\n    except BaseException: time.sleep(600)"
    done = sample(tmp_path, f"{QUICK}\n{goes_on}", "--minutes", "0.03")
    assert "sample: 30 tests came to their end, 1 were cut off, 0 were not reached" in done.stdout
    assert done.returncode == pytest.ExitCode.OK


def test_tests_after_the_end_are_not_begun(tmp_path: Path) -> None:
    first = "\n".join(f"def test_first_{number}(): pass" for number in range(10))
    done = sample(tmp_path, f"{first}\n{SLOW}\n{QUICK}", "--minutes", "0.03")
    assert "sample: 10 tests came to their end, 1 were cut off, 30 were not reached" in done.stdout
    assert done.returncode == pytest.ExitCode.OK


def test_a_sample_in_which_hardly_any_test_ends_fails(tmp_path: Path) -> None:
    done = sample(tmp_path, f"{SLOW}\n{QUICK}", "--minutes", "0.01")
    assert "sample: 0 tests came to their end, 1 were cut off, 30 were not reached; at least 10" in done.stdout
    assert done.returncode == pytest.ExitCode.NO_TESTS_COLLECTED


def test_a_failure_within_the_time_fails_the_sample(tmp_path: Path) -> None:
    done = sample(tmp_path, f"{QUICK}\ndef test_wrong(): assert False", "--minutes", "1")
    assert "1 failed" in done.stdout
    assert done.returncode == pytest.ExitCode.TESTS_FAILED


def test_a_run_without_the_options_is_no_sample(tmp_path: Path) -> None:
    done = sample(tmp_path, QUICK)
    assert order(done.stdout) == [f"test_quick_{number}" for number in range(30)]
    assert "sample:" not in done.stdout


def test_make_sample_knows_the_options_of_a_sample() -> None:
    arguments = f"ARGS={TESTS / 'tla' / 'test_systems_equal_tlc.py'} --collect-only -q"
    made = ["make", "--no-print-directory", "sample", "MINUTES=1", arguments]
    done = subprocess.run(made, cwd=TESTS.parent, capture_output=True, text=True, timeout=120, check=False)
    assert "sample: 0 tests came to their end" in done.stdout, done.stdout + done.stderr
    assert "once more" not in done.stdout
