"""`lockstep check --reached` prints what traces reach of the protocol, as docs/measured/coverage.md shows it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.base.package_data import traces_dir
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep

EXAMPLE = ROOT / "docs" / "own_logs"
PAGE = ROOT / "docs" / "measured" / "coverage.md"
FIGURE8 = traces_dir() / "counterexamples" / "dledger" / "commit" / "prior_term_commit.trace.ndjson"


def test_the_page_shows_what_the_logs_of_the_example_reach_by_the_definitions_of_their_spec(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (definitions,) = re.findall(r"^```tla\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert definitions in (EXAMPLE / "PrimaryBackup.tla").read_text(encoding="utf-8")
    subprocess.run([sys.executable, EXAMPLE / "service.py", "logs"], cwd=tmp_path, check=True)
    own = ("--spec", EXAMPLE / "PrimaryBackup.tla", "--mapping", EXAMPLE / "mapping.toml")
    done = lockstep("check", "--reached", *own, "logs", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = re.search(r"^reached by 1 of 1 traces:\n.*?^every part is reached$", page, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert done.stdout.endswith(f"\n{shown[0]}\n")


def test_what_no_trace_reaches_is_named_and_a_trace_that_cannot_be_read_is_not_among_those_counted(
    tmp_path: Path,
) -> None:
    done = lockstep("check", "--reached", FIGURE8, tmp_path / "missing.trace.ndjson", cwd=tmp_path)
    assert done.returncode == 2
    assert "\nreached by 1 of 2 traces:\n" in done.stdout
    assert re.search(r"^  log +another leader +1 +100 % +3$", done.stdout, re.MULTILINE)
    assert "\nnever reached, of kind fault: Crash, " in done.stdout


def test_a_verdict_in_json_has_what_the_trace_reaches_where_that_is_asked_for(tmp_path: Path) -> None:
    (verdict,) = json.loads(lockstep("check", "--reached", "--format", "json", FIGURE8, cwd=tmp_path).stdout)
    assert {"kind": "log", "name": "another leader", "times": 3} in verdict["reached"]
    (verdict,) = json.loads(lockstep("check", "--format", "json", FIGURE8, cwd=tmp_path).stdout)
    assert "reached" not in verdict


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--engine", "tlc"), "--reached needs the compiled spec; leave --engine out"),
        (("--format", "junit"), "--reached goes with --format text, json or jsonl, not junit"),
    ],
)
def test_coverage_is_refused_where_nobody_counts_it_or_nothing_shows_it(
    tmp_path: Path, options: tuple[str, ...], problem: str
) -> None:
    done = lockstep("check", "--reached", *options, FIGURE8, cwd=tmp_path)
    assert (done.returncode, problem in done.stderr) == (2, True)
