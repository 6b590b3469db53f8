"""What memory has no room for is in mapped files, with the same counts; without room there is no verdict."""

from __future__ import annotations

import errno
import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from lockstep.tla.loading.load_spec import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.tables import hands
from lockstep.tla.tables.expand import Expander
from lockstep.tla.tables.search import explore_by_tables
from lockstep.tla.tables.states import room
from lockstep.tla.tables.states import seen as seen_module
from lockstep.tla.tables.states.room import FullError, Room, resident
from lockstep.tla.tables.states.seen import Seen
from lockstep_command import lockstep
from places import SPECS
from tables import differences


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Spec:
    """The post, explored in many pieces, with small files."""
    monkeypatch.setattr(room, "_BLOCK", 1 << 12)
    monkeypatch.setattr(Expander, "size", 37)
    monkeypatch.setattr(hands, "_UNEVEN", 2)
    cfg = tmp_path / "Post.cfg"
    lines = "CONSTANT Station = {a, b} Most = 2", "INIT Init NEXT Next", "SYMMETRY Symmetry", "CHECK_DEADLOCK FALSE"
    cfg.write_text("\n".join([*lines, "INVARIANT TypeOK", "PROPERTY CountsUp", ""]))
    return load_spec(SPECS / "tables" / "Post.tla", cfg, cache_dir=tmp_path)


@pytest.mark.parametrize("processes", [1, 2])
def test_nothing_depends_on_whether_arrays_are_in_files(processes: int, spec: Spec) -> None:
    most = explore_by_tables(spec, processes=processes).memory
    options = {"most_memory": most, "processes": processes, "bits": 64}
    assert explore_by_tables(spec, **options).mapped > 0
    assert differences(spec, **options) == []


@pytest.mark.parametrize("processes", [1, 2])
def test_without_room_for_files_there_is_no_verdict(processes: int, spec: Spec) -> None:
    most = explore_by_tables(spec, processes=processes).memory
    found = explore_by_tables(spec, most_memory=most, most_files=3 << 12, processes=processes)
    assert (found.complete, found.violation) == (False, None)
    assert "GB of files, with " in found.gave_up


def test_the_command_takes_no_more_memory_and_files_than_it_is_told(tmp_path: Path) -> None:
    cfg = tmp_path / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 2\nINIT Init NEXT Next\nCHECK_DEADLOCK FALSE\n")
    words = ("model", "--engine", "tables", "--spec", SPECS / "tables" / "Post.tla", "--cfg", cfg)
    enough = lockstep(*words, "--memory", "1", "--disk", "1", cwd=tmp_path)
    assert (enough.returncode, "given up" in enough.stdout) == (0, False)
    little = lockstep(*words, "--memory", "0.000001", "--disk", "0", cwd=tmp_path)
    assert (little.returncode, "the search would need more than 1e-06 GB of memory" in little.stdout) == (3, True)
    for wrong in ("0", "-1", "much"):
        refused = lockstep(*words, "--memory", wrong, cwd=tmp_path)
        assert (refused.returncode, "Invalid value for '--memory'" in refused.stderr) == (2, True)


def test_on_a_full_disk_there_is_no_verdict(spec: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    most = explore_by_tables(spec).memory
    monkeypatch.setattr(os, "posix_fallocate", full)
    found = explore_by_tables(spec, most_memory=most)
    assert (found.complete, "room on the disk: No space left" in found.gave_up) == (False, True)


def test_what_is_kept_for_properties_of_behaviours_counts(tmp_path: Path) -> None:
    cfg = tmp_path / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 2\nINIT Init NEXT Next\nPROPERTY Ends\n")
    spec = load_spec(SPECS / "tables" / "Post.tla", cfg, cache_dir=tmp_path)
    found = explore_by_tables(spec, check_deadlock=False, keep_edges=True)
    assert found.graph is not None
    states, steps = found.graph.states, found.graph.follows.edges()
    assert found.graph.nbytes == states.rows.nbytes + sum(each.nbytes for each in steps) + 8 * len(found.graph.actions)
    without = explore_by_tables(_without_properties(spec), check_deadlock=False)
    assert found.memory >= without.memory + found.graph.nbytes // 2
    little = explore_by_tables(spec, check_deadlock=False, most_memory=without.memory, most_files=0)
    assert (little.complete, "GB of memory" in little.gave_up) == (False, True)


def _without_properties(spec: Spec) -> Spec:
    other = Spec(spec.source)
    other.temporal = {}
    return other


def test_a_set_of_fingerprints_grows_in_its_own_room(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = np.random.default_rng(0).integers(1, 2**63, (2, 1 << 18)).astype(np.uint64)
    monkeypatch.setattr(seen_module, "_AT_ONCE", 1 << 12)
    seen = Seen(2, numbered=True)
    for part in np.array_split(numbers, 300, axis=1):
        seen.add(part)
    tracemalloc.start()
    seen._grow()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1.1 * seen.nbytes
    assert seen.numbers(numbers).tolist() == list(range(1 << 18))


def test_files_have_no_name_and_are_given_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "_BLOCK", 1 << 12)
    own = Room(0, 1 << 14, tmp_path)
    own.used = 1
    array = own.kept(np.arange(1000))
    assert (array.tolist(), resident([array, array[5:]]), own.mapped) == (list(range(1000)), 0, 8000)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(FullError):
        own.zeros((2000,), np.int64)
    del array
    own._block = np.zeros(0, np.uint8)
    assert own.mapped == 0
