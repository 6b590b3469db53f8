"""`lockstep export` takes what `check` and `view` take: behaviours in ITF, and logs that a search explains."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lockstep.base.package_data import traces_dir
from tests.support.places import ROOT
from tests.support.programs.lockstep_command import lockstep

SPEC = ROOT / "docs" / "lock_service" / "LockService.tla"
BACKUP = ROOT / "docs" / "own_logs"
FIGURE8 = traces_dir() / "counterexamples" / "dledger" / "commit" / "prior_term_commit.trace.ndjson"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A counterexample of a spec of one's own, and a trace of DLedger, as ITF; the logs of a service."""
    place = tmp_path_factory.mktemp("behaviours")
    cfg = SPEC.with_suffix(".cfg").read_text(encoding="utf-8").replace("CONSTRAINT FewTokens", "INVARIANT FewTokens")
    (place / "TooFew.cfg").write_text(cfg, encoding="utf-8")
    found = lockstep(
        *("model", "--spec", SPEC, "--cfg", "TooFew.cfg", "--engine", "compiled", "--itf", "own.itf.json"), cwd=place
    )
    assert found.returncode == 1, found.stderr
    assert lockstep("export", FIGURE8, "--to", "itf", "-o", "known.itf.json", cwd=place).returncode == 0
    subprocess.run([sys.executable, BACKUP / "service.py", "logs"], cwd=place, check=True)
    return place


def test_a_behaviour_of_ones_own_spec_in_itf_is_exported(folder: Path) -> None:
    done = lockstep("export", "own.itf.json", "--spec", SPEC, "--cfg", "TooFew.cfg", "--to", "svg", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "Lock(c = a)" in done.stdout


def test_a_trace_of_a_known_system_in_itf_is_exported_and_viewed(folder: Path) -> None:
    assert lockstep("export", "known.itf.json", "--to", "svg", cwd=folder).returncode == 0
    viewed = lockstep("view", "known.itf.json", "-o", "known.html", cwd=folder)
    assert "38 of 38 states, violated" in viewed.stdout


def test_logs_that_need_a_search_are_exported_as_the_behaviour_that_explains_them(folder: Path) -> None:
    logs = sorted((folder / "logs").glob("*.log"))
    words = ("--spec", BACKUP / "PrimaryBackup.tla", "--mapping", BACKUP / "mapping.toml", *logs)
    assert lockstep("export", *words, "--to", "itf", "-o", "logs.itf.json", cwd=folder).returncode == 0
    checked = lockstep("check", "--spec", BACKUP / "PrimaryBackup.tla", "logs.itf.json", cwd=folder)
    assert checked.returncode == 0, checked.stdout
    states = json.loads((folder / "logs.itf.json").read_text(encoding="utf-8"))["states"]
    assert len(states) > len(logs)


def test_an_itf_file_that_names_no_spec_says_what_to_give(folder: Path) -> None:
    for command in (("export", "--to", "svg"), ("view",), ("check",)):
        done = lockstep(*command, "own.itf.json", cwd=folder)
        assert done.returncode == 2
        assert "does not say which spec it is of: name that with --spec" in done.stdout + done.stderr


def test_an_itf_file_is_not_exported_as_a_test(folder: Path) -> None:
    done = lockstep("export", "known.itf.json", "--to", "pytest", cwd=folder)
    assert (done.returncode, "lines name the actions" in done.stderr) == (2, True)


def test_an_itf_file_of_a_known_system_is_exported_again_with_the_same_verdict(folder: Path) -> None:
    assert lockstep("export", "known.itf.json", "--to", "itf", "-o", "again.itf.json", cwd=folder).returncode == 0
    first, again = (lockstep("check", f"{name}.itf.json", cwd=folder).stdout for name in ("known", "again"))
    assert first.splitlines()[0].replace("known", "again") == again.splitlines()[0]


COUNTER = """---- MODULE Counter ----
EXTENDS Naturals
CONSTANT m1
VARIABLE x, s
Init == x = 0 /\\ s = m1
Step == x < 3 /\\ x' = x + 1 /\\ s' = SAID
Next == Step
Bounded == x < 2
====
"""


def exported(folder: Path, value: str, steps: int) -> subprocess.CompletedProcess[str]:
    """Export a log of steps: the second violates Bounded, and the fourth is not allowed."""
    (folder / "Counter.tla").write_text(COUNTER.replace("SAID", value), encoding="utf-8")
    cfg = "CONSTANT m1 = m1\nINIT Init\nNEXT Next\nINVARIANT Bounded\n"
    (folder / "Counter.cfg").write_text(cfg, encoding="utf-8")
    (folder / "m.toml").write_text('kind = "k"\n[lines.step]\naction = "Step"\n', encoding="utf-8")
    (folder / "s.log").write_text('{"k": "step"}\n' * steps, encoding="utf-8")
    words = ("--spec", "Counter.tla", "--mapping", "m.toml", "s.log", "--to", "itf", "-o", "s.itf.json")
    return lockstep("export", *words, cwd=folder)


def test_a_log_that_leaves_the_spec_behind_a_violation_is_no_itf_file(tmp_path: Path) -> None:
    assert exported(tmp_path, "s", 3).returncode == 0
    done = exported(tmp_path, "s", 4)
    assert (done.returncode, "as ITF, which holds states alone, it would hold" in done.stderr) == (2, True)


def test_a_string_that_reads_like_a_model_value_is_refused_of_logs_too(tmp_path: Path) -> None:
    done = exported(tmp_path, '"m1"', 2)
    assert (done.returncode, "a string that is called like a model value" in done.stderr) == (2, True)
