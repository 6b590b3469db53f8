"""The durable part of a server: LogStore, StableStore, FileSnapshotStore."""

from __future__ import annotations

import pytest

from raftref.hashicorp.stores import LogNotFoundError, Stores
from raftref.hashicorp.values import Index, Log, Term
from tests.support.systems.hashicorp import command, snapshot


def logs(*indexes: int, term: int = 1) -> list[Log]:
    return [Log(Index(index), command(term, f"v{index}")) for index in indexes]


def saved(*places: tuple[int, int]) -> list[tuple[int, int]]:
    """The places of the snapshots that are kept of two, after some were saved in this order."""
    stores = Stores()
    for index, term in places:
        stores = stores.save_snapshot(snapshot(index, term), 2)
    return [(each.index, each.term) for each in stores.snapshots]


def test_a_log_that_was_never_written_has_no_index_and_no_entry() -> None:
    assert (Stores().first_index(), Stores().last_index()) == (0, 0)
    with pytest.raises(LogNotFoundError):
        Stores().get_log(Index(1))


def test_entries_are_stored_at_their_own_indexes_and_replace_what_is_there() -> None:
    stores = Stores().store_logs(logs(1, 2, 3)).store_logs(logs(3, 4, term=2))
    assert [stores.get_log(Index(i)).term for i in range(1, 5)] == [1, 1, 2, 2]


def test_nothing_keeps_a_log_from_having_gaps() -> None:
    stores = Stores().store_logs(logs(1, 2, 7)).delete_range(Index(1), Index(1))
    assert (stores.first_index(), stores.last_index(), sorted(stores.logs)) == (2, 7, [2, 7])


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_a_range_is_whole_only_with_its_first_and_its_last_entry(gap: int) -> None:
    stores = Stores().store_logs(logs(1, 2, 3, 4, 5))
    assert stores.has_range(Index(1), Index(3))
    assert not stores.delete_range(Index(gap), Index(gap)).has_range(Index(1), Index(3))


def test_both_ends_of_a_range_are_deleted_and_what_is_not_there_is_no_error() -> None:
    stores = Stores().store_logs(logs(1, 2, 3, 4)).delete_range(Index(3), Index(9))
    assert sorted(stores.logs) == [1, 2]


def test_a_write_leaves_the_stores_before_it_as_they_were() -> None:
    before = Stores().store_logs(logs(1))
    after = before.store_logs(logs(2)).set(current_term=Term(3))
    assert (sorted(before.logs), before.current_term) == ([1], 0)
    assert (sorted(after.logs), after.current_term) == ([1, 2], 3)


def test_the_newest_snapshots_are_kept_by_term_and_then_by_index() -> None:
    assert saved((9, 1), (3, 2), (5, 2), (4, 1)) == [(5, 2), (3, 2)]


def test_two_snapshots_of_one_place_count_twice_and_the_later_one_is_the_newer() -> None:
    """Seen with FileSnapshotStore of v1.7.3 and of v1.8.0, which retained two: their names differ in the time."""
    first, second, third = (snapshot(5, 2, *logs(*range(2, 2 + count))) for count in range(3))
    stores = Stores().save_snapshot(first, 2).save_snapshot(second, 2)
    assert stores.snapshots == (second, first)
    assert stores.save_snapshot(third, 2).snapshots == (third, second)


def test_a_snapshot_older_than_two_of_one_place_is_removed_as_it_is_saved() -> None:
    assert saved((10, 2), (10, 2), (7, 2)) == [(10, 2), (10, 2)]
