"""A count is confirmed by searches that share nothing but the spec; if one of them differs, the reason is printed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lockstep.base.errors import GaveUpError
from lockstep.base.verdict import Verdict
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables import fingerprints
from lockstep.tla.tables.confirmed_count import explore_until_confirmed
from lockstep.tla.tables.table_search import explore_by_tables
from tests.support.places import SPECS
from tests.support.programs.lockstep_command import lockstep

POST = SPECS / "tables" / "Post.tla"

LOPSIDED = """---- MODULE Lopsided ----
EXTENDS Naturals, TLC
CONSTANTS Station, Favourite
VARIABLE count
Init == count = [n \\in Station |-> 0]
Next == \\E n \\in Station : count[n] < (IF n = Favourite THEN 3 ELSE 1) /\\ count' = [count EXCEPT ![n] = @ + 1]
Symmetry == Permutations(Station)
====
"""


def post(folder: Path, *lines: str, most: int = 1) -> tuple[Path, Path]:
    """The post with three stations, and more lines of a cfg."""
    cfg = folder / "Post.cfg"
    constants = f"CONSTANT Station = {{a, b, c}} Most = {most}"
    cfg.write_text("\n".join([constants, "INIT Init", "NEXT Next", "CHECK_DEADLOCK FALSE", *lines, ""]))
    return POST, cfg


def lopsided(folder: Path) -> tuple[Path, Path]:
    """Write a spec that has a SYMMETRY and is not symmetric."""
    module, cfg = folder / "Lopsided.tla", folder / "Lopsided.cfg"
    module.write_text(LOPSIDED)
    constants = "CONSTANT Station = {a, b, c} Favourite = a"
    cfg.write_text(f"{constants} INIT Init NEXT Next CHECK_DEADLOCK FALSE SYMMETRY Symmetry\n")
    return module, cfg


def loaded(files: tuple[Path, Path], folder: Path) -> Spec:
    return load_spec(*files, cache_dir=folder)


def test_functions_of_fingerprints_and_orbits_confirm_a_count(tmp_path: Path) -> None:
    found = explore_until_confirmed(loaded(post(tmp_path, "SYMMETRY Symmetry"), tmp_path), SearchOptions())
    whole = explore_by_tables(loaded(post(tmp_path), tmp_path))
    assert found.doubt == ""
    assert found.distinct < whole.distinct
    counts = (
        f"the orbits have {whole.distinct:,} states and {whole.generated:,} successors, as a search without SYMMETRY"
    )
    assert found.confirmed == (
        "functions 0 and 1 of fingerprints come to the same",
        counts,
    )
    assert found.orbits is not None
    assert found.orbits.levels == whole.levels


def test_orbits_are_counted_under_constraints_too(tmp_path: Path) -> None:
    lines = "CONSTRAINT Few", "ACTION_CONSTRAINT Slow"
    found = explore_until_confirmed(loaded(post(tmp_path, "SYMMETRY Symmetry", *lines), tmp_path), SearchOptions())
    assert (found.doubt, len(found.confirmed)) == ("", 2)


def test_too_many_states_without_symmetry_are_not_explored_and_a_confirmation_says_so(tmp_path: Path) -> None:
    found = explore_until_confirmed(
        loaded(post(tmp_path, "SYMMETRY Symmetry"), tmp_path), SearchOptions(), max_without_symmetry=10
    )
    assert (found.doubt, found.confirmed[1].split(", ")[-1]) == (
        "",
        "which are too many to be explored without SYMMETRY",
    )


def test_a_violation_is_confirmed(tmp_path: Path) -> None:
    found = explore_until_confirmed(loaded(post(tmp_path, "INVARIANT NoneIsFull", most=2), tmp_path), SearchOptions())
    assert found.violation is not None
    assert found.confirmed == ("functions 0 and 1 of fingerprints come to the same",)


def test_fingerprints_that_collide_confirm_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = fingerprints.FingerprintFunction.__call__
    monkeypatch.setattr(
        fingerprints.FingerprintFunction, "__call__", lambda self, *columns: right(self, *columns) & 0xFF
    )
    found = explore_until_confirmed(loaded(post(tmp_path), tmp_path), SearchOptions())
    assert found.confirmed == ()
    assert "functions 0 and 1 of fingerprints: distinct: " in found.doubt


def test_a_spec_that_is_not_symmetric_is_not_confirmed_under_symmetry(tmp_path: Path) -> None:
    found = explore_until_confirmed(loaded(lopsided(tmp_path), tmp_path), SearchOptions())
    assert found.doubt == "orbits, and no SYMMETRY: distinct: 32 and 16"


def test_the_command_confirms_or_is_inconclusive(tmp_path: Path) -> None:
    spec, cfg = post(tmp_path, "SYMMETRY Symmetry")
    words = ("model", "--engine", "tables", "--confirm")
    done = lockstep(*words, "--spec", spec, "--cfg", cfg, cwd=tmp_path)
    assert (done.returncode, done.stdout.count("note: confirmed: ")) == (0, 2)
    assert "functions 0 and 1 of fingerprints" in done.stdout
    done = lockstep(*words, "--spec", lopsided(tmp_path)[0], cwd=tmp_path)
    assert (done.returncode, "not confirmed: orbits, and no SYMMETRY" in done.stdout) == (3, True)
    refused = lockstep("model", "ordered", "--confirm", cwd=tmp_path)
    assert (refused.returncode, "go with --spec and --engine tables" in refused.stderr) == (2, True)


def test_a_spec_that_tables_cannot_explore_is_not_confirmed(tmp_path: Path) -> None:
    module, cfg = tmp_path / "Prints.tla", tmp_path / "Prints.cfg"
    module.write_text(
        "---- MODULE Prints ----\nEXTENDS Naturals, TLC\nVARIABLE x\nInit == x = 0\n"
        "Next == x < 3 /\\ Print(x, TRUE) /\\ x' = x + 1\n====\n"
    )
    cfg.write_text("INIT Init NEXT Next\n")
    with pytest.raises(GaveUpError, match="no count can be confirmed that is not found by tables: Print"):
        explore_spec(SpecFiles(module, cfg), Engine.TABLES, SearchOptions(confirm=True))


def test_a_search_that_gives_up_is_not_confirmed(tmp_path: Path) -> None:
    files = post(tmp_path)
    found = explore_spec(
        SpecFiles(*files), Engine.TABLES, SearchOptions(check_deadlock=False, memory_budget=1, confirm=True)
    )
    assert (found.verdict, found.reason.startswith("given up")) == (Verdict.INCONCLUSIVE, True)


def test_an_orbit_has_as_many_states_as_there_are_different_images() -> None:
    hashes = np.array([[1, 4, 9], [2, 4, 9], [3, 5, 9]], np.uint64)
    assert fingerprints.orbit_sizes(hashes.T).tolist() == [3, 2, 1]
