"""A search that nobody limits takes three quarters of the memory that is free, in a container of what that may take."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockstep.models import memory_budget, spec_search
from lockstep.tla.tables.table_search import explore_by_tables
from tests.support.places import SPECS


def group(folder: Path, most: str) -> Path:
    """What a container says that uses 3,000 bytes, 1,000 of them for files."""
    told = {"max": most, "current": "3000", "stat": "anon 2000\ninactive_file 1000\n"}
    for name, text in told.items():
        (folder / f"memory.{name}").write_text(text)
    return folder


def test_a_container_may_take_what_it_does_not_use_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_budget, "_GROUP", group(tmp_path, "10000\n"))
    assert memory_budget.most_of_the_memory() == 6000
    monkeypatch.setattr(memory_budget, "_GROUP", group(tmp_path, "max\n"))
    assert (memory_budget.most_of_the_memory() or 0) > 6000
    monkeypatch.setattr(memory_budget, "_GROUP", tmp_path / "none")
    assert (memory_budget.most_of_the_memory() or 0) > 6000


@pytest.mark.parametrize("explore", [spec_search.explore_compiled, spec_search.explore_with_tables])
def test_a_search_takes_no_more_than_that(explore: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def noted(*args: object, **options: object) -> object:
        asked.update(options)
        return explore_by_tables(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("lockstep.tla.tables.table_search.explore_by_tables", noted)
    monkeypatch.setattr("lockstep.tla.tables.compiled_search.FEW", 5)
    monkeypatch.setattr(spec_search, "most_of_the_memory", lambda: 10**9)
    cfg = tmp_path / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 1\nINIT Init NEXT Next\n")
    assert callable(explore)
    explore(SPECS / "tables" / "Post.tla", cfg, deadlock=False)
    assert asked["most_memory"] == 10**9
