"""The store: DLedgerMmapFileStore's append, truncate, updateCommittedIndex and recover."""

from __future__ import annotations

import pytest

from raftref.dledger.choices import PUBLISHED, Flaw
from raftref.dledger.messages import Entry, Index, Term
from raftref.dledger.store import LedgerStore


def entry(term: int, value: str) -> Entry:
    return Entry(Term(term), value)


A1, B1, C1, X2, Y2 = entry(1, "a"), entry(1, "b"), entry(1, "c"), entry(2, "x"), entry(2, "y")


def store(*log: Entry | None, committed: int = -1, tail: tuple[Entry, ...] = ()) -> LedgerStore:
    made = LedgerStore()
    made.log, made.tail, made.committed_index = log, tail, Index(committed)
    made.end_term = made.term_at(made.end_index)
    return made


def commit(made: LedgerStore, term: int, index: int, *, curr_term: int = 1) -> int:
    made.update_committed_index(Term(term), Index(index), curr_term=Term(curr_term))
    return made.committed_index


def test_an_empty_log_begins_and_ends_at_minus_one() -> None:
    empty = store()
    assert (empty.begin_index, empty.end_index, empty.end_term) == (-1, -1, -1)
    assert not empty.has_entry(Index(-1))
    assert empty.term_at(Index(-1)) == -1


def test_indexes_count_from_zero() -> None:
    held = store(A1, X2)
    assert (held.begin_index, held.end_index, held.end_term) == (0, 1, 2)
    assert held.entry(Index(0)) == A1
    assert held.term_at(Index(1)) == 2


@pytest.mark.parametrize("index", [-1, 2])
def test_an_index_outside_the_log_is_an_error_and_not_the_last_entry(index: int) -> None:
    with pytest.raises(IndexError):
        store(A1, B1).entry(Index(index))


class TestUpdateCommittedIndex:
    """DLedgerMmapFileStore.updateCommittedIndex: its tests in its order."""

    def test_minus_one_is_no_index(self) -> None:
        assert commit(store(A1, committed=0), 1, -1) == 0

    def test_an_empty_log_commits_nothing(self) -> None:
        assert commit(store(), 1, 0) == -1

    def test_an_empty_log_keeps_its_committed_index(self) -> None:
        assert commit(store(committed=4), 1, 5) == 4

    def test_a_lower_term_is_not_believed(self) -> None:
        assert commit(store(A1, B1), 0, 1, curr_term=1) == -1

    def test_a_higher_term_is_believed(self) -> None:
        assert commit(store(A1, B1), 7, 1, curr_term=1) == 1

    def test_the_old_index_is_a_floor(self) -> None:
        assert commit(store(A1, B1, C1, committed=2), 1, 1) == 2

    def test_what_lies_past_the_end_is_clamped_to_it(self) -> None:
        assert commit(store(A1, B1), 1, 9) == 1

    def test_the_clamp_comes_last_and_lowers_an_index_past_the_end(self) -> None:
        """CommitPastEnd: commit=4, the log ends at 3, commit 5 is learnt, and 3 is left."""
        assert commit(store(A1, B1, C1, X2, committed=4), 1, 5) == 3

    def test_a_committed_index_past_the_end_is_kept_when_it_is_learnt_again(self) -> None:
        """The test for an unchanged index comes before the clamp."""
        assert commit(store(A1, committed=4), 1, 4) == 4

    def test_an_index_below_one_past_the_end_is_not_taken_though_the_log_holds_it(self) -> None:
        assert commit(store(A1, B1, committed=4), 1, 1) == 4


class TestTruncate:
    """DLedgerMmapFileStore.truncate."""

    def test_an_empty_follower_writes_the_entry_that_it_carries(self) -> None:
        empty = store()
        empty.truncate(Index(0), A1)
        assert empty.log == (A1,)

    def test_an_equal_entry_is_kept_and_what_follows_is_cut(self) -> None:
        held = store(A1, B1, C1)
        held.truncate(Index(1), B1)
        assert held.log == (A1, B1)

    def test_another_entry_is_written_over(self) -> None:
        held = store(A1, B1, C1)
        held.truncate(Index(1), X2)
        assert held.log == (A1, X2)

    def test_a_truncate_may_write_one_entry_behind_the_end(self) -> None:
        held = store(A1)
        held.truncate(Index(1), X2)
        assert held.log == (A1, X2)

    def test_a_truncate_further_behind_the_end_leaves_holes(self) -> None:
        """get throws for the index and is ignored; truncateOffset moves the write position forward."""
        held = store(A1)
        held.truncate(Index(3), X2)
        assert held.log == (A1, None, None, X2)
        assert not held.has_entry(Index(2))
        with pytest.raises(IndexError):
            held.entry(Index(2))

    def test_a_truncate_behind_the_end_brings_back_what_the_file_still_holds(self) -> None:
        held = store(A1, tail=(B1, C1))
        held.truncate(Index(2), X2)
        assert (held.log, held.tail) == ((A1, B1, X2), ())

    def test_a_repaired_store_brings_nothing_back(self) -> None:
        held = LedgerStore(PUBLISHED.without(Flaw.TRUNCATED_TAIL))
        held.log = (A1, B1)
        held.truncate(Index(0), A1)
        held.truncate(Index(2), X2)
        assert held.log == (A1, None, X2)

    def test_below_the_first_entry_there_is_nothing(self) -> None:
        held = store(A1)
        with pytest.raises(IndexError):
            held.truncate(Index(-1), X2)
        assert held.log == (A1,)

    def test_the_committed_index_stays_past_the_end(self) -> None:
        """CommitPastEnd: truncate never lowers committedIndex."""
        held = store(A1, B1, C1, committed=2)
        held.truncate(Index(0), A1)
        assert held.committed_index == 2

    def test_as_published_what_is_cut_stays_in_the_file(self) -> None:
        held = store(A1, B1, C1)
        held.truncate(Index(0), A1)
        assert held.tail == (B1, C1)

    def test_a_second_cut_keeps_the_file_behind_it_in_order(self) -> None:
        held = store(A1, B1, C1)
        held.truncate(Index(1), B1)
        held.truncate(Index(0), A1)
        assert held.tail == (B1, C1)

    def test_writing_one_behind_the_end_writes_over_the_tail(self) -> None:
        held = store(A1, tail=(B1, C1))
        held.truncate(Index(1), X2)
        assert (held.log, held.tail) == ((A1, X2), (C1,))

    def test_in_a_repaired_store_nothing_stays_behind_the_end(self) -> None:
        held = LedgerStore(PUBLISHED.without(Flaw.TRUNCATED_TAIL))
        held.log = (A1, B1)
        held.truncate(Index(0), A1)
        assert held.tail == ()


def test_append_writes_over_the_first_entry_of_the_tail() -> None:
    """DLedgerMmapFileStore.appendAsFollower: the write position is the end of the log."""
    held = store(A1, tail=(B1, C1))
    assert held.append(X2) == 1
    assert (held.log, held.tail) == ((A1, X2), (C1,))


class TestRecover:
    """DLedgerMmapFileStore.recover."""

    def test_the_scan_goes_on_while_terms_do_not_fall(self) -> None:
        assert store(A1, tail=(B1, X2, C1, Y2)).resurrectable_count() == 2

    def test_a_tail_of_an_earlier_term_than_the_last_entry_is_not_found(self) -> None:
        assert store(X2, tail=(A1,)).resurrectable_count() == 0

    def test_the_tail_behind_an_empty_log_is_found(self) -> None:
        assert store(tail=(A1, X2)).resurrectable_count() == 2

    def test_resurrected_entries_are_in_the_log_again_and_the_others_stay_behind_it(self) -> None:
        held = store(A1, tail=(B1, C1))
        held.recover(1, curr_term=Term(2))
        assert (held.log, held.tail) == ((A1, B1), (C1,))

    def test_behind_a_hole_nothing_is_found(self) -> None:
        held = store(A1, None, X2, tail=(Y2,))
        assert held.resurrectable_count() == 0
        held.recover(0, curr_term=Term(2))
        assert (held.log, held.tail) == ((A1,), (None, X2, Y2))

    def test_a_file_that_begins_with_a_hole_holds_nothing(self) -> None:
        assert store(None, A1).scanned_count() == 0

    def test_where_terms_fall_the_log_ends(self) -> None:
        """PreConditions.check(entryTerm >= lastEntryTerm)."""
        held = store(A1, X2, B1)
        held.recover(0, curr_term=Term(2))
        assert (held.log, held.tail) == ((A1, X2), (B1,))

    def test_the_committed_index_is_that_of_the_checkpoint(self) -> None:
        held = store(A1, B1, C1, committed=1)
        held.persist_check_point()
        held.committed_index = Index(2)
        held.recover(0, curr_term=Term(3))
        assert held.committed_index == 1

    def test_a_checkpoint_past_the_end_is_clamped(self) -> None:
        held = store(A1)
        held.check_point = Index(5)
        held.recover(0, curr_term=Term(1))
        assert held.committed_index == 0

    def test_without_a_checkpoint_nothing_is_committed(self) -> None:
        held = store(A1, committed=0)
        held.recover(0, curr_term=Term(1))
        assert held.committed_index == -1

    @pytest.mark.parametrize("count", [-1, 2])
    def test_more_than_the_scan_finds_is_an_error(self, count: int) -> None:
        with pytest.raises(ValueError, match="scan"):
            store(X2, tail=(Y2, A1)).recover(count, curr_term=Term(2))
