"""The stores: in memory and on files they are alike, and a crash loses exactly what is not durable."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hashicorp import command, inmem, on_files, snapshot
from raftref.disks.directory_disk import DirectoryDisk
from raftref.disks.disk import Disk
from raftref.disks.simulated_disk import SimulatedDisk, Stopped
from raftref.hashicorp.stores import (
    CURRENT_TERM,
    LAST_VOTE_CAND,
    LAST_VOTE_TERM,
    LogNotFoundError,
    StoreError,
    Stores,
)
from raftref.hashicorp.values import Index, Log

MAKERS = {
    "memory": lambda _: inmem(),
    "simulated files": lambda _: on_files(SimulatedDisk()),
    "files": lambda folder: on_files(DirectoryDisk(folder)),
}


@pytest.fixture(params=MAKERS.values(), ids=MAKERS)
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> Stores:
    made: Stores = request.param(tmp_path)
    return made


def logs(*indexes: int, term: int = 1) -> list[Log]:
    return [Log(Index(index), command(term, f"v{index}")) for index in indexes]


def contents(stores: Stores) -> tuple[object, ...]:
    keys = [stores.stable.get(key) for key in (CURRENT_TERM, LAST_VOTE_TERM, LAST_VOTE_CAND)]
    return (dict(stores.logs.all_logs()), keys, tuple(stores.snapshots.all_snapshots()))


# ---- What they are (LogStore, StableStore, FileSnapshotStore) ----


def test_a_log_that_was_never_written_has_no_index_and_no_entry(stores: Stores) -> None:
    assert (stores.logs.first_index(), stores.logs.last_index()) == (0, 0)
    with pytest.raises(LogNotFoundError):
        stores.logs.get_log(Index(1))


def test_entries_are_stored_at_their_own_indexes_and_replace_what_is_there(stores: Stores) -> None:
    stores.logs.store_logs(logs(1, 2, 3))
    stores.logs.store_logs(logs(3, 4, term=2))
    assert [stores.logs.get_log(Index(i)).term for i in range(1, 5)] == [1, 1, 2, 2]


def test_nothing_keeps_a_log_from_having_gaps(stores: Stores) -> None:
    stores.logs.store_logs(logs(1, 2, 7))
    stores.logs.delete_range(Index(1), Index(1))
    assert (stores.logs.first_index(), stores.logs.last_index(), sorted(stores.logs.all_logs())) == (2, 7, [2, 7])


def test_both_ends_of_a_range_are_deleted_and_what_is_not_there_is_no_error(stores: Stores) -> None:
    stores.logs.store_logs(logs(1, 2, 3, 4))
    stores.logs.delete_range(Index(3), Index(9))
    assert sorted(stores.logs.all_logs()) == [1, 2]


def test_a_key_that_was_never_set_has_no_value(stores: Stores) -> None:
    assert stores.stable.get(LAST_VOTE_CAND) is None
    stores.stable.set(LAST_VOTE_CAND, "n2")
    stores.stable.set_together({LAST_VOTE_TERM: 3, CURRENT_TERM: 3})
    assert [stores.stable.get(key) for key in (CURRENT_TERM, LAST_VOTE_TERM, LAST_VOTE_CAND)] == [3, 3, "n2"]


def test_the_newest_snapshots_are_kept_by_term_and_then_by_index(stores: Stores) -> None:
    for index, term in ((9, 1), (3, 2), (5, 2), (4, 1)):
        stores.snapshots.save(snapshot(index, term))
    assert [(each.index, each.term) for each in stores.snapshots.all_snapshots()] == [(5, 2), (3, 2)]


def test_two_snapshots_of_one_place_count_twice_and_the_later_one_is_the_newer(stores: Stores) -> None:
    """Seen with FileSnapshotStore of v1.7.3 and of v1.8.0, which retained two: their names differ in the time."""
    first, second, third = (snapshot(5, 2, *logs(*range(2, 2 + count))) for count in range(3))
    stores.snapshots.save(first)
    stores.snapshots.save(second)
    assert list(stores.snapshots.all_snapshots()) == [second, first]
    stores.snapshots.save(third)
    assert list(stores.snapshots.all_snapshots()) == [third, second]


def test_a_snapshot_older_than_two_of_one_place_is_removed_as_it_is_saved(stores: Stores) -> None:
    for index in (10, 10, 7):
        stores.snapshots.save(snapshot(index, 2))
    assert [each.index for each in stores.snapshots.all_snapshots()] == [10, 10]


# ---- What is durable ----

WRITES: dict[str, Callable[[Stores], None]] = {
    "StoreLogs": lambda stores: stores.logs.store_logs(logs(3, 4, 5, term=2)),
    "DeleteRange": lambda stores: stores.logs.delete_range(Index(2), Index(3)),
    "Set": lambda stores: stores.stable.set(LAST_VOTE_TERM, 7),
    "several keys": lambda stores: stores.stable.set_together({LAST_VOTE_TERM: 7, LAST_VOTE_CAND: "n3"}),
    "snapshot": lambda stores: stores.snapshots.save(snapshot(3, 2, *logs(2, 3))),
}


def begun(disk: Disk) -> Stores:
    stores = on_files(disk)
    stores.logs.store_logs(logs(1, 2, 3))
    stores.stable.set_together({CURRENT_TERM: 2, LAST_VOTE_TERM: 2, LAST_VOTE_CAND: "n1"})
    stores.snapshots.save(snapshot(2, 1, *logs(2)))
    return stores


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_was_written_is_there_when_the_power_fails_after_the_call(write: Callable[[Stores], None]) -> None:
    disk = SimulatedDisk(sector_bytes=16)
    stores = begun(disk)
    write(stores)
    disk.lose_power()
    assert contents(on_files(disk)) == contents(stores)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
@pytest.mark.parametrize("power", [False, True], ids=["killed", "without power"])
def test_a_crash_at_any_step_of_a_call_leaves_all_of_it_or_nothing(
    write: Callable[[Stores], None], power: bool
) -> None:
    """Each step of the disk is the last one once; of what was not forced every single write survives once."""
    wanted, reached = contents(begun_and(write)), set()
    for steps in range(6):
        for survivor in range(12):
            disk = SimulatedDisk(sector_bytes=64)
            stores = begun(disk)
            before = contents(stores)
            disk.stop_after(steps)
            died = False
            try:
                write(stores)
            except Stopped:
                died = True
            left = len(disk.unforced_writes)
            if power:
                disk.lose_power(len(disk.unforced_names), [survivor] if survivor < left else [])
            else:
                disk.kill()
            found = contents(on_files(disk))
            assert found in (before, wanted)
            assert died or found == wanted
            reached.add((died, found == wanted))
            if not power or survivor >= left:
                break
    assert {(True, False), (False, True)} <= reached


def begun_and(write: Callable[[Stores], None]) -> Stores:
    stores = begun(SimulatedDisk())
    write(stores)
    return stores


def test_a_frame_that_is_not_whole_is_cut_off_and_the_next_one_takes_its_place() -> None:
    disk = SimulatedDisk()
    stores = begun(disk)
    size = disk.size("log")
    assert size is not None
    disk.write("log", size, b"\0\0\0\x20half of a frame")
    again = on_files(disk)
    assert (disk.size("log"), contents(again)) == (size, contents(stores))
    again.logs.store_logs(logs(4))
    assert sorted(on_files(disk).logs.all_logs()) == [1, 2, 3, 4]


class FullDisk(SimulatedDisk):
    """A disk that takes no more."""

    full = False

    def write(self, name: str, offset: int, data: bytes) -> None:
        if self.full:
            raise OSError("no space left on device")
        super().write(name, offset, data)


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_that_fails_is_an_error_and_has_changed_nothing(write: Callable[[Stores], None]) -> None:
    disk = FullDisk()
    stores = begun(disk)
    before = contents(stores)
    disk.full = True
    with pytest.raises(StoreError, match="no space left"):
        write(stores)
    assert contents(stores) == before
    disk.full = False
    assert contents(on_files(disk)) == before
