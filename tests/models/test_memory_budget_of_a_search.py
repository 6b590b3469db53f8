"""A search without a limit may use three quarters of the free memory, or of the memory that its container has left."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.models import default_memory_budget, spec_search
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables.table_search import TableExploration, explore_by_tables
from tests.support.places import SPECS


def group(folder: Path, most: str) -> Path:
    """Write the files of a container that uses 3,000 bytes, 1,000 of them for files, and return their folder."""
    files = {"max": most, "current": "3000", "stat": "anon 2000\ninactive_file 1000\n"}
    for name, text in files.items():
        (folder / f"memory.{name}").write_text(text)
    return folder


def test_the_default_memory_budget_is_what_the_container_has_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(default_memory_budget, "_GROUP", group(tmp_path, "10000\n"))
    assert default_memory_budget.default_memory_budget() == 6000
    monkeypatch.setattr(default_memory_budget, "_GROUP", group(tmp_path, "max\n"))
    assert (default_memory_budget.default_memory_budget() or 0) > 6000
    monkeypatch.setattr(default_memory_budget, "_GROUP", tmp_path / "none")
    assert (default_memory_budget.default_memory_budget() or 0) > 6000


@pytest.mark.parametrize("engine", [Engine.COMPILED, Engine.TABLES])
def test_a_search_without_a_memory_budget_gets_the_default_one(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    budgets = []

    def noted(spec: Spec, options: SearchOptions) -> TableExploration:
        budgets.append(options.memory_budget)
        return explore_by_tables(spec, options)

    monkeypatch.setattr("lockstep.tla.tables.table_search.explore_by_tables", noted)
    monkeypatch.setattr(spec_search, "default_memory_budget", lambda: 10**9)
    cfg = tmp_path / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 1\nINIT Init NEXT Next\n")
    options = SearchOptions(check_deadlock=False, states_before_tables=5)
    explore_spec(SpecFiles(SPECS / "tables" / "Post.tla", cfg), engine, options)
    assert budgets == [10**9]
