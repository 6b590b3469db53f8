"""The journal of a server: it has every step that was forced, whole, whenever the process dies or the power fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from raftref.disks.directory_disk import DirectoryDisk
from raftref.disks.disk import Disk, DiskError
from raftref.disks.simulated_disk import SimulatedDisk, Stopped
from raftref.hashicorp.runtime.journal_stores import JOURNAL, JournalStores
from raftref.hashicorp.stores import Stores, bootstrap_cluster
from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, Log, Snapshot, Term

GROUP = Configuration(frozenset({"n1", "n2"}), frozenset({"n3"}))


def command(index: int, term: int = 1) -> Log:
    return Log(Index(index), Entry(Term(term), EntryType.COMMAND, f"é{index}"))


def snapshot(index: int) -> Snapshot:
    return Snapshot(Index(index), Term(1), GROUP, Index(1), (command(2),))


def history() -> list[Stores]:
    """The stores of a server after each of its steps."""
    states = [Stores(), bootstrap_cluster(GROUP)]
    states.append(states[-1].set(current_term=Term(2), last_vote_term=Term(2), last_vote_cand="n2"))
    states.append(states[-1].store_logs([command(index) for index in range(2, 8)]))
    states.append(states[-1].delete_range(Index(6), Index(7)).store_logs([command(6, 2)]))
    for index in (3, 5, 6):
        states.append(states[-1].save_snapshot(snapshot(index), 2))
        states.append(states[-1].delete_range(states[-1].first_index(), Index(index - 1)))
    states.append(states[-1].save_snapshot(snapshot(6), 2))
    states.append(states[-1].store_logs([command(9), command(7)]))
    return states


def persist_all(disk: Disk, **given: int) -> Iterator[Stores]:
    stores = JournalStores(disk, **given)
    assert stores.load() is None
    states = history()
    for before, after in zip(states, states[1:], strict=False):
        yield after
        stores.persist(before, after)


@pytest.mark.parametrize("min_rewrite_bytes", [0, 1 << 20])
def test_what_was_persisted_is_there_after_each_step(tmp_path: Path, min_rewrite_bytes: int) -> None:
    disk, expected = DirectoryDisk(tmp_path, forces_names=True), None
    for following in persist_all(disk, min_rewrite_bytes=min_rewrite_bytes):
        assert JournalStores(disk).load() == expected
        expected = following
    assert JournalStores(disk).load() == expected
    assert len(disk.names("")) == 3


def ends(sector_bytes: int | None, min_rewrite_bytes: int) -> Iterator[tuple[SimulatedDisk, list[Stores | None]]]:
    """Yield the disk of a process that died before each of its steps on it, and what may be durable then."""
    for steps in range(10_000):
        disk = SimulatedDisk(sector_bytes)
        disk.stop_after(steps)
        possible: list[Stores | None] = [None, None]
        try:
            for following in persist_all(disk, min_rewrite_bytes=min_rewrite_bytes):
                possible = [possible[1], following]
        except Stopped:
            yield disk, possible
            continue
        assert steps > 30
        return


@pytest.mark.parametrize("min_rewrite_bytes", [0, 1 << 20])
def test_a_process_that_dies_leaves_the_stores_before_its_last_step_or_after_it(min_rewrite_bytes: int) -> None:
    for disk, possible in ends(None, min_rewrite_bytes):
        disk.kill()
        found = JournalStores(disk).load()
        assert found in possible
        assert JournalStores(disk).load() == found


@pytest.mark.parametrize("min_rewrite_bytes", [0, 1 << 20])
@pytest.mark.parametrize("sector_bytes", [None, 64])
def test_a_loss_of_power_takes_nothing_that_was_forced(sector_bytes: int | None, min_rewrite_bytes: int) -> None:
    random = Random(1)
    for disk, possible in ends(sector_bytes, min_rewrite_bytes):
        names = random.randint(0, len(disk.unforced_names))
        disk.lose_power(names, [n for n in range(len(disk.unforced_writes)) if random.random() < 0.5])
        stores = JournalStores(disk)
        found = stores.load()
        assert found in possible
        after = (found or Stores()).set(current_term=Term(9))
        stores.persist(found or Stores(), after)
        disk.lose_power()
        assert JournalStores(disk).load() == after


def test_a_line_that_was_torn_is_dropped_and_one_that_is_damaged_is_an_error() -> None:
    disk = SimulatedDisk()
    *_, last = persist_all(disk)
    size = disk.size(JOURNAL) or 0
    disk.write(JOURNAL, size, b"12345678 {\"term\":77}\nhalf a li")
    assert JournalStores(disk).load() == last
    assert disk.size(JOURNAL) == size
    disk.write(JOURNAL, 100, b"?")
    with pytest.raises(DiskError, match="journal.jsonl: the line at byte .* is damaged"):
        JournalStores(disk).load()


def test_a_snapshot_that_is_missing_or_damaged_is_an_error() -> None:
    disk = SimulatedDisk()
    list(persist_all(disk))
    name = next(name for name in disk.names("") if name != JOURNAL)
    disk.write(name, 20, b"?")
    with pytest.raises(DiskError, match=f"{name} is missing or damaged"):
        JournalStores(disk).load()
    disk.delete(name)
    with pytest.raises(DiskError, match=f"{name} is missing or damaged"):
        JournalStores(disk).load()
