"""Commands that need a package which is not installed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from lockstep.base.extras import EXTRAS, MissingExtraError, extra
from tests.support.places import ROOT

SERVICE = str(ROOT / "docs" / "lock_service" / "LockService.tla")

#: The command, in a Python that has not the modules named first; they end at `--`.
BLOCKED = """
import sys
end = sys.argv.index("--")
for name in sys.argv[1:end]:
    sys.modules[name] = None
sys.argv = ["lockstep", *sys.argv[end + 1:]]
from lockstep.cli.command_line import main
main()
"""


def without(modules: frozenset[str], folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the command where importing these modules fails."""
    command = [sys.executable, "-c", BLOCKED, *modules, "--", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)


@pytest.mark.parametrize(
    ("extra", "words"),
    [
        ("spark", ("verify",)),
        ("spark", ("fleet", "--seeds", "1")),
        ("spark", ("pipeline", "run", "store", "--seeds", "1")),
        ("prove", ("prove", "quorums_intersect")),
        ("draw", ("graph", "late_truncate_bug", "-o", "g.svg")),
        ("tables", ("model", "--spec", SERVICE, "--engine", "tables")),
    ],
)
def test_a_command_without_its_extra_is_inconclusive_and_says_in_a_line_what_to_install(
    extra: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    done = without(EXTRAS[extra], tmp_path, *words)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (3, "", 1)
    assert done.stderr.endswith(
        f", which is missing; pip install 'lockstep-raft[{extra}]' (in a checkout: make install)\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_simulating_checking_and_exploring_need_no_extra(tmp_path: Path) -> None:
    every = frozenset[str]().union(*EXTRAS.values())
    assert without(every, tmp_path, "simulate", "--events", "30").returncode == 0
    held = without(every, tmp_path, "check", "ordered-1.trace.ndjson")
    assert (held.returncode, ": holds: " in held.stdout) == (0, True)
    assert without(every, tmp_path, "explain", "DL105").returncode == 0
    assert without(every, tmp_path, "model", "--spec", SERVICE, "--engine", "compiled").returncode == 0


def test_a_search_on_a_card_without_a_card_is_refused_in_a_line(tmp_path: Path) -> None:
    if shutil.which("nvidia-smi"):
        pytest.skip("there may be a card")
    done = without(frozenset[str](), tmp_path, "model", "--spec", SERVICE, "--engine", "tables", "--device", "cuda")
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1)
    assert done.stderr.startswith("lockstep: --device cuda: Numba finds no graphics card of NVIDIA with CUDA")


def test_a_device_goes_with_tables_alone(tmp_path: Path) -> None:
    for words in (("--engine", "compiled", "--spec", SERVICE), ("quorum",)):
        done = without(frozenset(), tmp_path, "model", *words, "--device", "cuda")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--device go with --spec and --engine tables" in done.stderr


def test_a_package_of_an_extra_that_cannot_be_imported_is_named_with_its_reason() -> None:
    with pytest.raises(MissingExtraError, match="of the extra `tables` cannot be used: Numba needs"), extra("tables"):
        raise ImportError("Numba needs NumPy 2.4 or less")


def test_a_name_that_a_module_of_lockstep_lacks_is_no_fault_of_an_extra() -> None:
    with pytest.raises(ImportError, match="cannot import name 'nothing'"), extra("tables"):
        raise ImportError("cannot import name 'nothing'", name="lockstep.tla")


def test_another_missing_module_is_no_missing_extra(tmp_path: Path) -> None:
    done = without(frozenset({"msgspec"}), tmp_path, "check", "t.ndjson")
    assert (done.returncode, "pip install" in done.stderr) == (4, False)


def test_every_extra_that_a_command_asks_for_is_declared_and_dev_has_all_of_them() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(declared) == {*EXTRAS, "gpu", "all", "dev"}
    assert declared["all"] == [f"lockstep-raft[{','.join(EXTRAS)}]"]
    assert "lockstep-raft[all]" in declared["dev"]
