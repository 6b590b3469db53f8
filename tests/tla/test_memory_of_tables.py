"""A search by tables without enough memory is inconclusive."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.search_options import SearchOptions
from lockstep.tla.spec import Spec
from lockstep.tla.tables import table_search
from lockstep.tla.tables.fingerprint_set import FingerprintSet
from lockstep.tla.tables.table_search import explore_by_tables
from tests.support.places import SPECS
from tests.support.programs.lockstep_command import lockstep


def test_the_command_takes_no_more_memory_than_its_option_allows(tmp_path: Path) -> None:
    cfg = tmp_path / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 2\nINIT Init NEXT Next\nCHECK_DEADLOCK FALSE\n")
    words = ("model", "--engine", "tables", "--spec", SPECS / "tables" / "Post.tla", "--cfg", cfg)
    enough = lockstep(*words, "--memory", "1", cwd=tmp_path)
    assert (enough.returncode, "given up" in enough.stdout) == (0, False)
    little = lockstep(*words, "--memory", "0.000001", cwd=tmp_path)
    assert (little.returncode, "the search would need more than 1e-06 GB of memory" in little.stdout) == (3, True)
    for wrong in ("0", "-1", "much"):
        refused = lockstep(*words, "--memory", wrong, cwd=tmp_path)
        assert (refused.returncode, "Invalid value for '--memory'" in refused.stderr) == (2, True)


def test_threads_find_what_one_finds_and_go_with_searches_that_have_tables(tmp_path: Path) -> None:
    (tmp_path / "Post.cfg").write_text("CONSTANT Station = {a, b} Most = 2\nINIT Init NEXT Next\n")
    words = "model", "--spec", str(SPECS / "tables" / "Post.tla"), "--cfg", "Post.cfg", "--no-deadlock"
    counts = set()
    for threads in ("1", "3"):
        done = lockstep(*words, "--engine", "tables", "--threads", threads, "--format", "json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)
        counts.add((found["distinct"], found["generated"], found["depth"]))
    assert len(counts) == 1
    for engine in (("--engine", "literal"), ()):
        refused = lockstep(*words, *engine, "--threads", "2", cwd=tmp_path)
        assert (refused.returncode, "--threads goes with" in refused.stderr) == (2, True)


def test_memory_for_properties_of_behaviours_counts_towards_the_budget(tmp_path: Path) -> None:
    cfg = tmp_path / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 2\nINIT Init NEXT Next\nPROPERTY Ends\n")
    spec = load_spec(SPECS / "tables" / "Post.tla", cfg, cache_dir=tmp_path)
    found = explore_by_tables(spec, SearchOptions(check_deadlock=False, keep_edges=True))
    assert found.graph is not None
    states, steps = found.graph.states, found.graph.successors.edges()
    assert found.graph.nbytes == states.rows.nbytes + sum(each.nbytes for each in steps) + 8 * len(found.graph.actions)
    without = explore_by_tables(_without_properties(spec), SearchOptions(check_deadlock=False))
    assert found.memory >= without.memory + found.graph.nbytes // 2
    little = explore_by_tables(spec, SearchOptions(check_deadlock=False, memory_budget=without.memory))
    assert (little.complete, "GB of memory" in little.gave_up) == (False, True)


def _without_properties(spec: Spec) -> Spec:
    other = Spec(spec.source)
    other.temporal = {}
    return other


def test_a_set_of_fingerprints_is_three_quarters_full_at_most_and_knows_what_it_took_as_it_grew() -> None:
    seen = FingerprintSet()
    places = seen.nbytes // 8
    seen.add(np.arange(1, 3 * places // 4 + 1, dtype=np.uint64))
    assert (seen.nbytes, seen.peak) == (8 * places, 8 * places)
    seen.add(np.array([2**40], np.uint64))
    assert (seen.nbytes, seen.peak) == (16 * places, 24 * places)
    seen.add(np.array([2**41], np.uint64))
    assert seen.peak == 16 * places


def test_what_a_set_takes_as_it_grows_counts_towards_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = _post(tmp_path)
    whole = explore_by_tables(spec, SearchOptions(check_deadlock=False)).memory
    right = FingerprintSet.add

    def add(self: FingerprintSet, *rest: Any) -> Any:
        found = right(self, *rest)
        self.peak = 10 * whole
        return found

    monkeypatch.setattr(FingerprintSet, "add", add)
    assert explore_by_tables(spec, SearchOptions(check_deadlock=False)).memory > 10 * whole


def test_numbers_of_parents_take_four_bytes_where_they_fit(tmp_path: Path) -> None:
    search = table_search._TableSearch(_post(tmp_path), SearchOptions(), None, set())
    for least, size in ((-1, 4), (2**31 - 4, 4), (2**31 - 3, 8)):
        parents = least + np.arange(4)
        search.list_found(np.zeros(4, np.uint64), parents)
        assert (search.parents[-1].itemsize, search.parents[-1].tolist()) == (size, parents.tolist())


def _post(folder: Path) -> Spec:
    cfg = folder / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 2\nINIT Init NEXT Next\n")
    return load_spec(SPECS / "tables" / "Post.tla", cfg, cache_dir=folder)


def test_a_set_of_fingerprints_grows_without_other_memory_than_its_tables() -> None:
    numbers = np.random.default_rng(0).integers(1, 2**63, 1 << 18).astype(np.uint64)
    seen = FingerprintSet(numbered=True)
    for part in np.array_split(numbers, 300):
        seen.add(part)
    before, as_it_grows = seen.nbytes, seen.nbytes_as_it_grows
    tracemalloc.start()
    seen._grow()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1 * seen.nbytes
    assert as_it_grows == before + seen.nbytes
    assert seen.numbers(numbers).tolist() == list(range(1 << 18))
