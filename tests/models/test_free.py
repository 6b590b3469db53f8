"""A search that nobody limits takes three quarters of what is free: of the container's memory, and of a real disk."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lockstep.models import free, search
from lockstep.tla.tables.search import explore_by_tables
from places import SPECS


def group(folder: Path, most: str) -> Path:
    """What a container says that uses 3,000 bytes, 1,000 of them for files."""
    told = {"max": most, "current": "3000", "stat": "anon 2000\ninactive_file 1000\n"}
    for name, text in told.items():
        (folder / f"memory.{name}").write_text(text)
    return folder


def test_a_container_may_take_what_it_does_not_use_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free, "_GROUP", group(tmp_path, "10000\n"))
    assert free.most_of_the_memory() == 6000
    monkeypatch.setattr(free, "_GROUP", group(tmp_path, "max\n"))
    assert (free.most_of_the_memory() or 0) > 6000
    monkeypatch.setattr(free, "_GROUP", tmp_path / "none")
    assert (free.most_of_the_memory() or 0) > 6000


def test_files_are_not_kept_where_they_would_be_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = tmp_path.stat().st_dev
    mounts = tmp_path / "mounts"
    monkeypatch.setattr(free, "_MOUNTS", mounts)
    line = f"36 25 {os.major(device)}:{os.minor(device)} / {tmp_path} rw,nosuid shared:19 - %s none rw\n"
    for kind, is_disk in {"tmpfs": False, "ext4": True}.items():
        mounts.write_text("22 28 0:99999 / /sys rw - tmpfs none rw\n" + line % kind)
        assert (free.most_of_the_disk(tmp_path / "kept") > 0) is is_disk


@pytest.mark.parametrize("explore", [search.explore_compiled, search.explore_with_tables])
def test_a_search_takes_no_more_than_that(explore: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}

    def noted(*args: object, **options: object) -> object:
        asked.update(options)
        return explore_by_tables(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("lockstep.tla.tables.search.explore_by_tables", noted)
    monkeypatch.setattr("lockstep.tla.tables.either.FEW", 5)
    monkeypatch.setattr(search, "most_of_the_memory", lambda: 10**9)
    monkeypatch.setattr(search, "most_of_the_disk", lambda _: 10**8)
    cfg = tmp_path / "Post.cfg"
    cfg.write_text("CONSTANT Station = {a, b} Most = 1\nINIT Init NEXT Next\n")
    assert callable(explore)
    explore(SPECS / "tables" / "Post.tla", cfg, deadlock=False)
    assert (asked["most_memory"], asked["most_files"]) == (10**9, 10**8)
