"""A search that begins state by state and goes on by tables finds what each of the two finds alone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from lockstep.models.search_result import Engine, SpecFiles
from lockstep.models.spec_search import explore_spec
from lockstep.tla.exploration import Exploration
from lockstep.tla.explore import LiteralSearch, explore
from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import STATES_BEFORE_TABLES, SearchOptions, SearchProgress
from lockstep.tla.spec import Spec
from lockstep.tla.tables import table_search
from lockstep.tla.tables.compiled_search import explore_compiled
from lockstep.tla.tables.table_search import TableExploration
from tests.support.places import SPECS
from tests.support.tla.tables import spec_of_one_part

POST = SPECS / "tables" / "Post.tla"
COUNTS = ("distinct", "generated", "depth", "complete", "violation", "unchecked", "levels")


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def cfg(folder: Path, *lines: str) -> Path:
    """A cfg of the post with two stations."""
    path = folder / f"{abs(hash(lines))}.cfg"
    path.write_text("\n".join(["CONSTANT Station = {a, b} Most = 1", "INIT Init NEXT Next", *lines, ""]))
    return path


def post(cache: Path, *lines: str) -> Spec:
    return load_spec(POST, cfg(cache, *lines), cache_dir=cache)


def counts(found: Exploration | TableExploration) -> list[Any]:
    return [getattr(found, name) for name in COUNTS]


@pytest.mark.parametrize("few", [1, 20, 10_000])
@pytest.mark.parametrize(
    "lines",
    [
        ("CHECK_DEADLOCK FALSE", "INVARIANT TypeOK"),
        ("CHECK_DEADLOCK FALSE", "INVARIANTS TypeOK NoneIsFull"),
        ("CHECK_DEADLOCK FALSE", "SYMMETRY Symmetry", "CONSTRAINT Few"),
        ("CHECK_DEADLOCK FALSE", "PROPERTY Ends"),
        ("CHECK_DEADLOCK TRUE",),
    ],
    ids=["holds", "violated", "symmetry", "a behaviour", "a deadlock"],
)
def test_the_result_does_not_depend_on_when_tables_begin(few: int, lines: tuple[str, ...], cache: Path) -> None:
    spec = post(cache, *lines)
    theirs = explore(spec)
    ours = explore_compiled(spec, SearchOptions(states_before_tables=few))
    assert counts(ours) == counts(theirs)
    if few != 20:
        assert isinstance(ours, TableExploration) is (few == 1)
    assert (
        explore_compiled(spec, SearchOptions(states_before_tables=few, max_states=7)).distinct
        == explore(spec, SearchOptions(max_states=7)).distinct
    )


def test_a_small_search_never_begins_tables(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_search, "explore_by_tables", None)
    spec = post(cache, "CHECK_DEADLOCK FALSE")
    assert explore(spec).distinct < STATES_BEFORE_TABLES
    assert isinstance(explore_compiled(spec), Exploration)
    with pytest.raises(TypeError):
        explore_compiled(spec, SearchOptions(states_before_tables=20))


def test_the_compiled_engine_goes_on_by_tables_and_the_literal_one_never(cache: Path) -> None:
    given = POST, cfg(cache, "CHECK_DEADLOCK FALSE")
    seen: list[SearchProgress] = []
    options = SearchOptions(states_before_tables=20, on_progress=seen.append)
    ours, theirs = (
        explore_spec(SpecFiles(*given), Engine.COMPILED, options),
        explore_spec(SpecFiles(*given), Engine.LITERAL),
    )
    assert (ours.engine, theirs.engine) == (Engine.COMPILED, Engine.LITERAL)
    assert (ours.distinct, ours.generated, ours.depth) == (theirs.distinct, theirs.generated, theirs.depth)
    assert any("two distinct states had the same fingerprint" in note for note in ours.notes)
    assert theirs.notes == ()
    assert seen != []


def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Note how many states each search state by state had seen at its end."""
    found: list[int] = []
    run = LiteralSearch.run

    def counting(self: LiteralSearch) -> Exploration:
        try:
            return run(self)
        finally:
            found.append(len(self.result.states))

    monkeypatch.setattr(LiteralSearch, "run", counting)
    return found


def test_a_spec_that_tables_cannot_explore_is_not_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """TLCSet would be evaluated twice, and Print would print twice."""
    module, config = tmp_path / "Counting.tla", tmp_path / "Counting.cfg"
    module.write_text(
        "---- MODULE Counting ----\nEXTENDS Naturals, TLC\nVARIABLE x\nInit == x = 0 /\\ TLCSet(1, 0)\n"
        "Next == x < 30 /\\ TLCSet(1, TLCGet(1) + 1) /\\ x' = x + 1\n====\n"
    )
    config.write_text("INIT Init NEXT Next CHECK_DEADLOCK FALSE\n")
    searches = counted(monkeypatch)
    spec = load_spec(module, config, cache_dir=tmp_path)
    found = explore_compiled(spec, SearchOptions(states_before_tables=5))
    assert (found.distinct, searches) == (31, [31])
    (note,) = found.notes
    assert note.endswith("not by tables: TLCGet or TLCSet make it matter how often a formula is evaluated")
    small = explore_compiled(spec)
    assert (small.distinct, small.notes) == (31, ())  # so small a search asks for no tables


def test_a_search_without_numpy_goes_on_state_by_state(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = post(cache, "CHECK_DEADLOCK FALSE")
    searches = counted(monkeypatch)
    # An import puts another package here, and that would stay for the tests that come after.
    monkeypatch.setattr("lockstep.tla.tables", sys.modules["lockstep.tla.tables"])
    for name in [name for name in sys.modules if name.startswith(("numpy", "lockstep.tla.tables"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numpy", None)
    found = explore_compiled(spec, SearchOptions(states_before_tables=5))
    assert isinstance(found, Exploration)
    assert searches == [found.distinct]
    assert "numpy" in found.notes[0]


def test_every_state_is_found_one_by_one_where_tables_gain_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_search, "GAIN_CHECK", 1_000)
    found = explore_spec(spec_of_one_part(tmp_path), Engine.COMPILED, SearchOptions(states_before_tables=5))
    assert (found.distinct, found.generated) == (256, 2049)
    (note,) = found.notes
    assert note.startswith(
        "note: explored state by state, not by tables: its actions and properties read nearly as many"
    )


def test_a_note_of_both_searches_stands_once(tmp_path: Path) -> None:
    module, config = tmp_path / "Misses.tla", tmp_path / "Misses.cfg"
    module.write_text(
        "---- MODULE Misses ----\nEXTENDS Naturals\nVARIABLES x, y\nInit == x = [a |-> 0] /\\ y = 0\n"
        "Miss(k) == y < 30 /\\ y' = y + 1 /\\ x' = [x EXCEPT ![k] = 1]\nNext == Miss(\"b\")\n====\n"
    )
    config.write_text("INIT Init NEXT Next\n")
    options = SearchOptions(check_deadlock=False, states_before_tables=5)
    notes = explore_spec(SpecFiles(module, config), Engine.COMPILED, options).notes
    assert len([note for note in notes if "EXCEPT" in note]) == 1
