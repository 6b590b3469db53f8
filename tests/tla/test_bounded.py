"""A search state by state gives up where it would take more memory than it may, also as a part of one by tables."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from lockstep.base.errors import GaveUpError
from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla import explore as explore_module
from lockstep.tla.explore import explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions, SearchProgress
from lockstep.tla.tables.compiled_search import explore_compiled
from lockstep.tla.tables.table_search import explore_by_tables

GIVEN_UP = r"the search would need more than 1e-06 GB of memory, with 1,?\d\d\d distinct states"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """A spec of 2,000 states, half of them initial ones, whose process grows by 100 bytes with each look at it."""
    module, cfg = tmp_path / "Many.tla", tmp_path / "Many.cfg"
    module.write_text(
        "---- MODULE Many ----\nEXTENDS Naturals, TLC\nVARIABLE x\nInit == x \\in 1..1000\n"
        "Next == x <= 1000 /\\ x' = x + 1000\n====\n"
    )
    cfg.write_text("INIT Init NEXT Next CHECK_DEADLOCK FALSE\n")
    monkeypatch.setattr(explore_module, "_MEMORY_CHECK", 100)
    grown = count(step=100)
    monkeypatch.setattr(explore_module, "_resident_memory", lambda: next(grown))
    return module, cfg


def test_a_search_with_enough_memory_finds_what_one_without_a_bound_finds(files: tuple[Path, Path]) -> None:
    spec = load_spec(*files, cache_dir=files[0].parent)
    looks: list[int] = []
    found = explore(spec, SearchOptions(memory_budget=10**6, on_progress=lambda each: looks.append(each.distinct)))
    assert found == explore(spec)
    assert looks == sorted(looks)
    assert list(dict.fromkeys(looks)) == list(range(100, 2_001, 100))


def test_a_search_that_needs_more_memory_gives_up(files: tuple[Path, Path]) -> None:
    spec = load_spec(*files, cache_dir=files[0].parent)
    options = SearchOptions(memory_budget=1_000, states_before_tables=10**6)
    for search in (explore, explore_compiled):
        with pytest.raises(GaveUpError, match=GIVEN_UP):
            search(spec, options)


def test_initial_states_that_take_too_much_memory_end_a_search_by_tables(files: tuple[Path, Path]) -> None:
    spec = load_spec(*files, cache_dir=files[0].parent)
    with pytest.raises(GaveUpError, match="more than 5e-07 GB of memory, with 600 distinct states"):
        explore_by_tables(spec, SearchOptions(memory_budget=500))


def test_a_search_without_tables_keeps_to_its_memory_and_reports_its_progress(
    files: tuple[Path, Path],
) -> None:
    files[0].write_text(files[0].read_text().replace("x <= 1000", 'TLCGet("level") > 0 /\\ x <= 1000'))
    reports: list[SearchProgress] = []
    found = explore_spec(SpecFiles(*files), Engine.TABLES, SearchOptions(on_progress=reports.append))
    assert any("state by state, not by tables" in note for note in found.notes)
    assert (found.distinct, reports[-1].distinct, reports[-1].lookups) == (2_000, 2_000, 0)
    with pytest.raises(GaveUpError, match=GIVEN_UP):
        explore_spec(SpecFiles(*files), Engine.TABLES, SearchOptions(memory_budget=1_000))
