"""What memory has no room for is in mapped files, with the same counts; without room there is no verdict."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from lockstep.tla.loading.load import load_spec
from lockstep.tla.spec import Spec
from lockstep.tla.tables import hands
from lockstep.tla.tables.expand import Expander
from lockstep.tla.tables.search import explore_by_tables
from lockstep.tla.tables.states import room
from lockstep.tla.tables.states.room import FullError, Room, resident
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
