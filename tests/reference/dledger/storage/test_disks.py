"""The simulated disk: what survives what; and that a folder is such a disk."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raftref.dledger.storage import DirectoryDisk, Disk, SimulatedDisk, Stopped


def disk_with(*writes: tuple[str, bytes], sector_bytes: int | None = None) -> SimulatedDisk:
    """A disk on which each file was written from its end on, nothing of it forced."""
    disk = SimulatedDisk(sector_bytes)
    for name, data in writes:
        disk.write(name, disk.size(name) or 0, data)
    return disk


class TestLosePower:
    """Writes that were not forced are gone, but for those that the caller lets survive."""

    def test_lost_power_loses_what_was_not_forced(self) -> None:
        disk = disk_with(("f", b"ab"))
        disk.force("f")
        disk.write("f", 1, b"XY")
        disk.write("g", 0, b"g")
        disk.lose_power()
        assert disk.files() == {"f": b"ab"}

    def test_forcing_one_file_forces_no_other_content(self) -> None:
        disk = disk_with(("f", b"f"), ("g", b"g"))
        disk.force("g")
        disk.lose_power()
        assert disk.files() == {"f": b"", "g": b"g"}

    def test_any_unforced_write_may_survive_without_those_before_it(self) -> None:
        disk = disk_with(("f", b"ab"), ("f", b"cd"), ("f", b"ef"))
        disk.lose_power(names=1, writes=[2, 0])
        assert disk.files() == {"f": b"ab\0\0ef"}

    def test_with_sectors_a_write_survives_in_part(self) -> None:
        disk = disk_with(("f", b"abc"), ("f", b"defghi"), sector_bytes=4)
        assert [write.data for write in disk.unforced_writes] == [b"abc", b"d", b"efgh", b"i"]
        disk.lose_power(names=1, writes=[0, 2])
        assert disk.files() == {"f": b"abc\0efgh"}

    def test_the_first_changes_of_names_survive(self) -> None:
        disk = disk_with(("new", b"n"), ("old", b"o"))
        disk.force("old")
        disk.delete("old")
        disk.rename("new", "old")
        disk.lose_power(names=1, writes=[0])
        assert disk.files() == {"new": b"n"}

    def test_a_name_may_survive_and_its_content_not(self) -> None:
        disk = disk_with(("new", b"n"))
        disk.rename("new", "old")
        disk.lose_power(names=2)
        assert disk.files() == {"old": b""}

    def test_a_cut_that_was_not_forced_is_undone(self) -> None:
        disk = disk_with(("f", b"abc"))
        disk.force("f")
        disk.truncate("f", 1)
        disk.truncate("f", 2)
        assert disk.files() == {"f": b"a\0"}
        disk.lose_power()
        assert disk.files() == {"f": b"abc"}

    def test_what_survived_one_loss_survives_the_next(self) -> None:
        disk = disk_with(("f", b"ab"))
        disk.lose_power(names=1, writes=[0])
        disk.lose_power()
        assert disk.files() == {"f": b"ab"}

    @pytest.mark.parametrize(("names", "writes"), [(2, []), (-1, []), (0, [1]), (0, [-1])])
    def test_more_than_is_unforced_cannot_survive(self, names: int, writes: list[int]) -> None:
        disk = disk_with(("f", b"ab"))
        with pytest.raises(IndexError, match="cannot survive"):
            disk.lose_power(names, writes)
        assert disk.files() == {"f": b"ab"}


class TestKill:
    """A process dies between two steps."""

    def test_a_killed_process_leaves_all_that_it_wrote(self) -> None:
        disk = disk_with(("f", b"ab"))
        disk.kill()
        assert disk.files() == {"f": b"ab"}

    def test_a_later_loss_of_power_takes_what_was_not_forced(self) -> None:
        disk = disk_with(("f", b"ab"))
        disk.kill()
        disk.lose_power()
        assert disk.files() == {}

    def test_a_stopped_disk_takes_no_step_until_the_process_is_killed(self) -> None:
        disk = SimulatedDisk()
        disk.stop_after(1)
        disk.write("f", 0, b"a")
        for _ in range(2):
            with pytest.raises(Stopped):
                disk.write("f", 1, b"b")
        disk.kill()
        disk.write("f", 1, b"c")
        assert disk.files() == {"f": b"ac"}

    def test_reading_is_no_step(self) -> None:
        disk = disk_with(("f", b"ab"))
        disk.stop_after(0)
        assert (disk.size("f"), disk.read("f", 1, 5)) == (2, b"b")


NAMES = st.sampled_from(["a", "b", "folder/c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), NAMES, st.integers(0, 9), st.binary(max_size=9)),
        st.tuples(st.just("truncate"), NAMES, st.integers(0, 9)),
        st.tuples(st.just("force"), NAMES),
        st.tuples(st.just("delete"), NAMES),
        st.tuples(st.just("rename"), NAMES, NAMES),
    ),
    max_size=12,
)


def take(disk: Disk, step: tuple[object, ...]) -> object:
    method, *arguments = step
    try:
        return getattr(disk, str(method))(*arguments)
    except FileNotFoundError:
        return "no such file"


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_a_folder_does_what_the_simulated_disk_does(steps: list[tuple[object, ...]]) -> None:
    simulated = SimulatedDisk()
    with TemporaryDirectory() as root:
        folder = DirectoryDisk(Path(root))
        for step in steps:
            assert take(folder, step) == take(simulated, step)
            assert [folder.names(each) for each in ("", "folder")] == [simulated.names(each) for each in ("", "folder")]
            for name in ("a", "b", "folder/c"):
                assert folder.size(name) == simulated.size(name)
                assert folder.read(name, 2, 5) == simulated.read(name, 2, 5)
        written = {
            str(path.relative_to(root)): path.read_bytes() for path in sorted(Path(root).rglob("*")) if path.is_file()
        }
        assert written == simulated.files()


def test_a_file_is_modified_when_it_is_written_to_and_not_when_it_is_read_or_renamed(tmp_path: Path) -> None:
    disk, folder = SimulatedDisk(), DirectoryDisk(tmp_path)
    for number, at in enumerate((5.0, 7.0)):
        disk.now = at
        disk.write("f", number, b"x")
        assert disk.modified("f") == at
    disk.now = 9.0
    disk.read("f", 0, 1)
    disk.rename("f", "g")
    assert disk.modified("g") == 7.0
    folder.write("f", 0, b"x")
    assert folder.modified("f") == (tmp_path / "f").stat().st_mtime
    for each in (disk, folder):
        with pytest.raises(FileNotFoundError):
            each.modified("nothing")


def test_a_disk_that_forces_names_does_all_that_the_other_does(tmp_path: Path) -> None:
    disk = DirectoryDisk(tmp_path / "root", forces_names=True)
    disk.write("a/b/c", 0, b"x")
    disk.force("a/b/c")
    disk.write("d", 0, b"y")
    disk.force("d")
    assert (disk.names("a/b"), disk.names("")) == (["a/b/c"], ["d"])


def test_names_are_forced_again_once_a_name_has_changed_and_not_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forced: list[str] = []
    fsync = os.fsync

    def listens(descriptor: int) -> None:
        forced.append(Path(f"/proc/self/fd/{descriptor}").resolve().relative_to(tmp_path).as_posix())
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", listens)
    disk = DirectoryDisk(tmp_path / "root", forces_names=True)

    def force(name: str) -> set[str]:
        forced.clear()
        disk.force(name)
        return {*forced}

    disk.write("a/b", 0, b"x")
    assert force("a/b") == {"root/a/b", "root/a", "root", "."}
    assert force("a/b") == {"root/a/b"}
    disk.write("c", 0, b"x")
    assert force("c") == {"root/c", "root", "."}
    disk.rename("c", "a/d")
    assert force("a/d") == {"root/a/d", "root/a", "root", "."}
    disk.delete("a/d")
    assert force("a/b") == {"root/a/b", "root/a", "root", "."}
    # What a process that has died left is not known.
    disk = DirectoryDisk(tmp_path / "root", forces_names=True)
    assert force("a/b") == {"root/a/b", "root/a", "root", "."}
