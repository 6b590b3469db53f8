"""Stores on a disk: whenever a process stops or power is lost, they are as before the write under way, or after it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from raftref.disks.directory_disk import DirectoryDisk
from raftref.disks.disk import DiskError
from raftref.disks.simulated_disk import SimulatedDisk, Stopped
from raftref.hashicorp import failures
from raftref.hashicorp.choices import Config
from raftref.hashicorp.messages import RequestVoteRequest, RequestVoteResponse
from raftref.hashicorp.state import Role
from raftref.hashicorp.steps import DONE, StoreError
from raftref.hashicorp.storage.file_stores import STORES_FILE, DurableServer, FileStores
from raftref.hashicorp.stores import Stores, bootstrap_cluster
from raftref.hashicorp.values import Configuration, Entry, EntryType, Index, Log, Snapshot, Term
from raftref.hashicorp.votes import request_vote

GROUP = Configuration(frozenset({"n1", "n2", "n3"}), frozenset({"n4"}))
VALUES = st.text(max_size=40) | st.sampled_from(["", "é", "\udc80"])
INDEXES, TERMS = st.integers(1, 9).map(Index), st.integers(0, 5).map(Term)
ENTRIES = st.builds(Entry, TERMS, st.just(EntryType.COMMAND), VALUES) | st.builds(
    Entry, TERMS, st.just(EntryType.CONFIGURATION), st.none(), st.just(GROUP)
)
LOGS = st.builds(Log, INDEXES, ENTRIES)
SNAPSHOTS = st.builds(Snapshot, INDEXES, TERMS, st.just(GROUP), INDEXES, st.lists(LOGS, max_size=3).map(tuple))
Change = Callable[[Stores], Stores]

#: The writes of a server.
CHANGES: st.SearchStrategy[Change] = st.one_of(
    st.builds(lambda term: lambda stores: stores.set(current_term=term), TERMS),
    st.builds(lambda term, who: lambda stores: stores.set(last_vote_term=term, last_vote_cand=who), TERMS, VALUES),
    st.builds(lambda logs: lambda stores: stores.store_logs(logs), st.lists(LOGS, min_size=1, max_size=4)),
    st.builds(lambda least, count: lambda stores: stores.delete_range(least, Index(least + count)), INDEXES, INDEXES),
    st.builds(lambda new, retain: lambda stores: stores.save_snapshot(new, retain), SNAPSHOTS, st.integers(1, 2)),
)


def opened(disk: SimulatedDisk | DirectoryDisk) -> FileStores:
    """The stores as a new process reads them; their file is written anew as soon as it may be."""
    return FileStores(disk, min_compacted_bytes=0)


@settings(max_examples=100, deadline=None, database=None)
@given(st.lists(CHANGES, max_size=12))
def test_what_was_written_is_read_again(changes: list[Change]) -> None:
    disk = SimulatedDisk()
    held = opened(disk)
    for change in changes:
        after = change(held.stores)
        held.persist(after)
        assert opened(disk).stores == held.stores == after


@settings(max_examples=400, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.lists(CHANGES, max_size=8), st.integers(0, 40), st.booleans()), min_size=1, max_size=4),
    st.sampled_from([None, 16, 64]),
    st.data(),
)
def test_after_any_stop_the_stores_are_as_before_the_write_under_way_or_as_after_it(
    lives: list[tuple[list[Change], int, bool]], sector_bytes: int | None, data: st.DataObject
) -> None:
    disk = SimulatedDisk(sector_bytes)
    before = after = Stores()
    for changes, steps, loses_power in lives:
        disk.stop_after(steps)
        try:
            held = opened(disk)
            assert held.stores in (before, after)
            before = after = held.stores
            for change in changes:
                after = change(before)
                held.persist(after)
                before = after
        except Stopped:
            pass
        if loses_power:
            names = data.draw(st.integers(0, len(disk.unforced_names)))
            numbers = st.sampled_from(range(len(disk.unforced_writes))) if disk.unforced_writes else st.nothing()
            disk.lose_power(names, data.draw(st.sets(numbers)))
        else:
            disk.kill()
    assert opened(disk).stores in (before, after)
    assert opened(disk).stores == opened(disk).stores


class TestFiles:
    """The files that there are."""

    def snapshot(self, index: int) -> Snapshot:
        return Snapshot(Index(index), Term(1), GROUP, Index(1), ())

    def test_files_of_snapshots_that_are_not_retained_are_removed(self) -> None:
        disk = SimulatedDisk()
        held = opened(disk)
        for index in (1, 2, 3):
            held.persist(held.stores.save_snapshot(self.snapshot(index), 2))
        assert disk.names("snapshots") == ["snapshots/1-2-2", "snapshots/1-3-3"]

    def test_files_that_no_record_names_are_removed_by_the_next_start(self) -> None:
        disk = SimulatedDisk()
        held = opened(disk)
        held.persist(held.stores.save_snapshot(self.snapshot(1), 2))
        for name in ("snapshots/1-7-7", "snapshots/1-8-8.tmp", "stores.new"):
            disk.write(name, 0, b"x")
        assert opened(disk).stores == held.stores
        assert sorted(disk.files()) == ["snapshots/1-1-1", "stores"]

    def test_two_equal_snapshots_are_two(self) -> None:
        disk = SimulatedDisk()
        held = opened(disk)
        for _ in range(2):
            held.persist(held.stores.save_snapshot(self.snapshot(1), 2))
        assert len(opened(disk).stores.snapshots) == len(disk.names("snapshots")) == 2

    def test_a_write_takes_no_more_space_than_what_it_changes(self) -> None:
        disk = SimulatedDisk()
        held = FileStores(disk)
        held.persist(held.stores.store_logs([Log(Index(1), Entry(Term(1), EntryType.COMMAND, "v" * 9000))]))
        size = disk.size(STORES_FILE) or 0
        held.persist(held.stores.set(current_term=Term(2)))
        assert 0 < (disk.size(STORES_FILE) or 0) - size < 50

    def test_a_long_file_is_written_anew(self) -> None:
        disk = SimulatedDisk()
        held = FileStores(disk, min_compacted_bytes=500)
        sizes = []
        for term in range(1, 100):
            held.persist(held.stores.set(current_term=Term(term)))
            sizes.append(disk.size(STORES_FILE) or 0)
        assert max(sizes) < 1000
        assert sizes[-1] < max(sizes)

    def test_nothing_is_written_where_nothing_changed(self) -> None:
        disk = SimulatedDisk()
        held = opened(disk)
        held.persist(bootstrap_cluster(GROUP))
        disk.stop_after(0)
        held.persist(bootstrap_cluster(GROUP))

    def test_in_a_folder_they_are_the_same(self, tmp_path: Path) -> None:
        held = opened(DirectoryDisk(tmp_path, forces_names=True))
        held.persist(bootstrap_cluster(GROUP))
        held.persist(held.stores.save_snapshot(self.snapshot(1), 2).set(last_vote_term=Term(2), last_vote_cand="n2"))
        assert opened(DirectoryDisk(tmp_path)).stores == held.stores


class TestDamage:
    """A file that is damaged is not a file that was torn."""

    def three_terms(self) -> SimulatedDisk:
        disk = SimulatedDisk()
        held = FileStores(disk)
        for term in (1, 2, 3):
            held.persist(held.stores.set(current_term=Term(term)))
        return disk

    def test_the_end_of_a_record_that_was_torn_is_dropped(self) -> None:
        disk = self.three_terms()
        size = disk.size(STORES_FILE) or 0
        disk.truncate(STORES_FILE, size - 1)
        assert FileStores(disk).stores.current_term == 2
        assert (disk.size(STORES_FILE) or 0) < size - 1

    def test_damage_before_the_last_record_is_refused(self) -> None:
        disk = self.three_terms()
        disk.write(STORES_FILE, (disk.size(STORES_FILE) or 0) - 30, b"?")
        with pytest.raises(DiskError, match="a whole record follows"):
            FileStores(disk)

    def test_so_are_a_file_of_another_format_and_one_whose_begin_is_damaged(self) -> None:
        disk = self.three_terms()
        content = disk.files()[STORES_FILE]
        disk.write(STORES_FILE, 0, b"\xff")
        with pytest.raises(DiskError, match="damaged"):
            FileStores(disk)
        disk.truncate(STORES_FILE, 0)
        disk.write(STORES_FILE, 0, content[len(content) - 26 :])
        with pytest.raises(DiskError):
            FileStores(disk)

    def test_so_is_a_snapshot_that_is_gone(self) -> None:
        disk = SimulatedDisk()
        held = FileStores(disk)
        held.persist(held.stores.save_snapshot(Snapshot(Index(1), Term(1), GROUP, Index(1), ()), 2))
        disk.delete("snapshots/1-1-1")
        with pytest.raises(DiskError, match="snapshots/1-1-1"):
            FileStores(disk)


class FailingDisk(SimulatedDisk):
    """A disk whose n-th forcing from now on fails, as by a device that is broken, or all from then on."""

    fails_in: int | None = None
    fails_for_good = False

    def force(self, name: str) -> None:
        if self.fails_in is not None:
            self.fails_in -= 1
            if self.fails_in < 0:
                self.fails_in = 0 if self.fails_for_good else None
                raise OSError("no space left on device")
        super().force(name)


class TestFailedWrite:
    """A write that fails has changed nothing, or no write is taken any more."""

    def test_a_write_that_failed_is_found_by_no_start_and_the_next_one_is_taken(self) -> None:
        disk = FailingDisk()
        held = FileStores(disk)
        held.persist(Stores(current_term=Term(1)))
        disk.fails_in = 0
        with pytest.raises(StoreError, match="no space left"):
            held.persist(held.stores.set(current_term=Term(2), last_vote_cand="a long name"))
        assert held.stores == FileStores(disk).stores == Stores(current_term=Term(1))
        held.persist(held.stores.set(current_term=Term(3)))
        assert FileStores(disk).stores == Stores(current_term=Term(3))

    def test_where_it_cannot_be_undone_all_later_ones_fail(self) -> None:
        disk = FailingDisk()
        held = FileStores(disk)
        held.persist(Stores(current_term=Term(1)))
        disk.fails_in, disk.fails_for_good = 0, True
        for _ in range(2):
            with pytest.raises(StoreError):
                held.persist(held.stores.set(current_term=Term(2)))
        disk.fails_in = None
        with pytest.raises(StoreError, match="could not be undone"):
            held.persist(held.stores.set(current_term=Term(2)))

    @pytest.mark.parametrize("fails_in", [0, 1])
    def test_so_does_the_first_write(self, fails_in: int) -> None:
        disk = FailingDisk()
        held = FileStores(disk)
        disk.fails_in = fails_in
        with pytest.raises(StoreError):
            held.persist(Stores(current_term=Term(1)))
        assert held.stores == Stores()


class TestDurableServer:
    """A server whose writes are durable."""

    def server(self, disk: SimulatedDisk) -> DurableServer:
        file_stores = FileStores(disk)
        if file_stores.stores == Stores():
            file_stores.persist(bootstrap_cluster(GROUP))
        made = DurableServer("n1", ("n1", "n2", "n3"), Config(), file_stores)
        made.role = Role.SHUTDOWN
        failures.restart(made)
        return made

    def test_a_vote_outlasts_the_process(self) -> None:
        disk = SimulatedDisk()
        server = self.server(disk)
        stores = server.stores
        server.persist_vote(Term(2), "n2")
        disk.lose_power()
        again = self.server(disk)
        assert again.stores == stores.set(last_vote_term=Term(2), last_vote_cand="n2")
        assert again.last_log.index == 1

    @pytest.mark.parametrize("steps", range(7))
    def test_an_action_stopped_between_two_writes_leaves_those_before_whole(self, steps: int) -> None:
        """Source: requestVote, which writes the term, the term of the vote, and its candidate (TornVote)."""
        disk = SimulatedDisk()
        server = self.server(disk)
        m = RequestVoteRequest("n2", "n1", Term(5), Index(1), Term(1), False)
        disk.stop_after(steps)
        if steps < 6:
            with pytest.raises(Stopped):
                request_vote(server, m, DONE)
        else:
            (answer,) = request_vote(server, m, DONE).sent
            assert isinstance(answer, RequestVoteResponse)
            assert answer.granted
        disk.lose_power()
        found = FileStores(disk).stores
        terms = (found.current_term, found.last_vote_term, found.last_vote_cand)
        assert terms == [(1, 0, None), (5, 0, None), (5, 5, None), (5, 5, "n2")][steps // 2]
