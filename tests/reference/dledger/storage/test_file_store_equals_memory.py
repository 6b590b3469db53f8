"""The store on files is the store that the spec knows: Hypothesis drives both, and they must show the same."""

from __future__ import annotations

import contextlib
import copy
from itertools import takewhile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from raftref.dledger.choices import PUBLISHED, Flaw
from raftref.dledger.messages import Entry, Index, Term
from raftref.dledger.storage import DiskError, FileLedgerStore, SimulatedDisk, StorageConfig
from raftref.dledger.storage.entry_coder import HEADER_TO_INDEX_SIZE
from raftref.dledger.storage.mapped_file_list import MIN_BLANK_LEN
from raftref.dledger.store import LedgerStore, Log

SMALL = StorageConfig(mapped_file_size_for_entry_data=4096, mapped_file_size_for_entry_index=4096)
TERMS = st.integers(0, 3).map(Term)
INDEXES = st.integers(-1, 6).map(Index)
EQUAL_SIZES = st.builds(Entry, TERMS, st.sampled_from("abc"))


def readable(tail: Log) -> Log:
    """The entries behind the log up to the first hole, where a scan ends."""
    return tuple(takewhile(lambda entry: entry is not None, tail))


def assert_log_is_what_the_files_have(store: FileLedgerStore) -> None:
    """Read all files again, as the store does not after every change."""
    again = copy.copy(store)
    again._read_files(len(store.log))
    assert (store.log, store.tail) == (again.log, again.tail)


class BothStores(RuleBasedStateMachine):
    """The store in memory and the store on files take the same steps."""

    config = PUBLISHED
    storage = SMALL
    #: How far behind the next index a TRUNCATE may go.
    max_gap = 2

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.memory = LedgerStore(self.config)
        self.files = self.opened()

    def opened(self) -> FileLedgerStore:
        return FileLedgerStore(self.disk, self.config, storage=self.storage)

    @rule(entry=EQUAL_SIZES)
    def append(self, entry: Entry) -> None:
        assert self.memory.append(entry) == self.files.append(entry)

    @rule(offset=st.integers(0, 8), entry=EQUAL_SIZES)
    def truncate(self, offset: int, entry: Entry) -> None:
        index = Index(offset % (len(self.memory.log) + 1 + self.max_gap))
        self.memory.truncate(index, entry)
        self.files.truncate(index, entry)

    @rule(back=st.integers(0, 8))
    def truncate_to_an_equal_entry(self, back: int) -> None:
        held = [entry for entry in self.memory.log if entry is not None]
        if held:
            index = back % len(self.memory.log)
            BothStores.truncate(self, index, self.memory.log[index] or held[0])

    @rule(term=TERMS, new_index=INDEXES, curr_term=TERMS)
    def update_committed_index(self, term: Term, new_index: Index, curr_term: Term) -> None:
        for store in (self.memory, self.files):
            store.update_committed_index(term, new_index, curr_term=curr_term)

    @rule()
    def persist_check_point(self) -> None:
        self.memory.persist_check_point()
        self.files.persist_check_point()

    @rule()
    def flush(self) -> None:
        self.files.flush()

    @rule(curr_term=TERMS)
    def die_and_recover(self, curr_term: Term) -> None:
        """Another process opens the files; the store in memory recovers as far as its scan goes."""
        found = self.files.resurrectable_count()
        assert found == self.memory.resurrectable_count()
        self.disk.kill()
        self.files = self.opened()
        self.files.startup(curr_term=curr_term)
        self.memory.recover(found, curr_term=curr_term)

    @rule(curr_term=TERMS)
    def recover_within_the_process(self, curr_term: Term) -> None:
        found = self.files.resurrectable_count()
        for store in (self.memory, self.files):
            store.recover(found, curr_term=curr_term)

    @invariant()
    def both_show_the_same(self) -> None:
        assert self.shown(self.files) == self.shown(self.memory)

    @invariant()
    def the_log_is_what_the_files_have(self) -> None:
        assert_log_is_what_the_files_have(self.files)

    def shown(self, store: LedgerStore) -> dict[str, object]:
        return {
            "log": tuple(store.log),
            "tail": readable(store.tail),
            "ends": (store.begin_index, store.end_index, store.end_term),
            "committed": (store.committed_index, store.check_point),
            "scan": store.scanned_count(),
        }


class BothRepairedStores(BothStores):
    """The same with a tail that is gone."""

    config = PUBLISHED.without(Flaw.TRUNCATED_TAIL)


class BothStoresOfManyFiles(BothRepairedStores):
    """The same with three entries in a data file and two units in an index file.

    Without gaps, which would lie in several files; and in one term, since no scan sees the terms of all files.
    """

    storage = StorageConfig(mapped_file_size_for_entry_data=160, mapped_file_size_for_entry_index=64)
    max_gap = 0

    @rule(entry=EQUAL_SIZES)
    def append(self, entry: Entry) -> None:
        super().append(Entry(Term(1), entry.value))

    @rule(offset=st.integers(0, 8), entry=EQUAL_SIZES)
    def truncate(self, offset: int, entry: Entry) -> None:
        super().truncate(offset, Entry(Term(1), entry.value))


@pytest.mark.parametrize("examples", [40, pytest.param(150, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("machine", [BothStores, BothRepairedStores, BothStoresOfManyFiles])
def test_with_entries_of_equal_size_both_stores_show_the_same(machine: type[BothStores], examples: int) -> None:
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=25, deadline=None, database=None)
    )


#: Sizes of bodies and multiples of them: entries that lie across one another, and now and then fit.
ANY_SIZES = st.builds(Entry, TERMS, st.sampled_from(["", "a", "bb", "é", "\udcc3\udca9", "c" * 49, "d" * 150]))
POSITIONS = st.none() | st.integers(0, 12).map(lambda k: 49 * k) | st.integers(0, 700)


class AnyPositions(RuleBasedStateMachine):
    """A store whose leader places entries anywhere: over others, before them, with gaps between."""

    storage = SMALL

    def __init__(self) -> None:
        super().__init__()
        self.disk = SimulatedDisk()
        self.store = FileLedgerStore(self.disk, storage=self.storage)

    @rule(entry=ANY_SIZES, pos=st.none() | POSITIONS)
    def append(self, entry: Entry, pos: int | None) -> None:
        try:
            self.store.append(entry, pos)
        except DiskError:
            assert pos is not None or self.begins_with_no_entry()

    def begins_with_no_entry(self) -> bool:
        """Whether the begin of the log was written over, so that any index may be read there."""
        return self.store.begin_index > self.store.end_index

    @rule(index=st.integers(0, 12).map(Index), entry=ANY_SIZES, pos=POSITIONS)
    def truncate(self, index: Index, entry: Entry, pos: int | None) -> None:
        self.store.truncate(index, entry, pos)

    @rule(back=st.integers(1, 6))
    def truncate_to_an_equal_entry(self, back: int) -> None:
        held = self.store.log[-back] if back <= len(self.store.log) else None
        if held is not None:
            self.store.truncate(Index(len(self.store.log) - back), held)

    @rule()
    def die_and_recover(self) -> None:
        self.store = FileLedgerStore(self.disk, storage=self.storage)
        self.store.startup(curr_term=Term(3))

    @invariant()
    def the_log_is_what_the_files_have(self) -> None:
        assert_log_is_what_the_files_have(self.store)


class AnyPositionsInManyFiles(AnyPositions):
    """The same with small files; what does not fit is refused, and so may files be at a start."""

    storage = StorageConfig(mapped_file_size_for_entry_data=250, mapped_file_size_for_entry_index=64)

    @rule(entry=ANY_SIZES, pos=st.none() | POSITIONS)
    def append(self, entry: Entry, pos: int | None) -> None:
        with contextlib.suppress(DiskError):
            self.store.append(entry, pos)

    @rule(index=st.integers(0, 12).map(Index), entry=ANY_SIZES, pos=POSITIONS)
    def truncate(self, index: Index, entry: Entry, pos: int | None) -> None:
        with contextlib.suppress(DiskError):
            self.store.truncate(index, entry, pos)

    @rule(back=st.integers(1, 6))
    def truncate_to_an_equal_entry(self, back: int) -> None:
        try:
            super().truncate_to_an_equal_entry(back)
        except DiskError:
            assert self.begins_too_near_the_end_of_a_file()

    def begins_too_near_the_end_of_a_file(self) -> bool:
        """Whether an entry that did not fit let the log begin where not even an index has space."""
        first = self.store.files.data.files[0]
        return first.file_size - first.start_position < HEADER_TO_INDEX_SIZE

    @rule()
    def die_and_recover(self) -> None:
        try:
            super().die_and_recover()
        except DiskError:
            self.disk = SimulatedDisk()
            super().die_and_recover()


@pytest.mark.parametrize("examples", [50, pytest.param(200, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("machine", [AnyPositions, AnyPositionsInManyFiles])
def test_wherever_entries_are_placed_the_log_is_what_the_files_have(machine: type[AnyPositions], examples: int) -> None:
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=20, deadline=None, database=None)
    )


@pytest.mark.parametrize("left", [MIN_BLANK_LEN, HEADER_TO_INDEX_SIZE - 1, HEADER_TO_INDEX_SIZE, 47])
def test_a_log_that_begins_with_a_blank_is_refused_only_where_the_blank_has_no_space_for_an_index(left: int) -> None:
    """The entry of the first TRUNCATE does not fit at its position; the next one lies in the next file.

    DLedger reads the index at the begin of the log and no more: in a blank that is 0, and in a shorter one it fails.
    """
    entry, storage = Entry(Term(0), ""), AnyPositionsInManyFiles.storage
    store = FileLedgerStore(SimulatedDisk(), storage=storage)
    with pytest.raises(DiskError, match="is at 250 and not at"):
        store.truncate(Index(0), entry, storage.mapped_file_size_for_entry_data - left)
    store.append(entry)
    is_refused = left < HEADER_TO_INDEX_SIZE
    with pytest.raises(DiskError, match="ends at 250") if is_refused else contextlib.nullcontext():
        store.truncate(Index(0), entry)
    assert (store.begin_index, tuple(store.log)) == (0, (entry,))
    assert_log_is_what_the_files_have(store)


UNEQUAL_SIZES = st.builds(Entry, TERMS, st.sampled_from(["a", "bb", "cccccccc", "d" * 50]))
APPENDS = st.lists(UNEQUAL_SIZES, max_size=5)
CUTS = st.tuples(st.integers(0, 8), UNEQUAL_SIZES, st.booleans())


def cut(store: LedgerStore, place: int, other: Entry, keep: bool) -> None:
    """TRUNCATE at a place within the log or just behind it: with the entry that is there, or another."""
    index = Index(place % (len(store.log) + 1))
    held = store.log[index] if keep and index < len(store.log) else None
    store.truncate(index, held or other)


def recovered(disk: SimulatedDisk) -> LedgerStore:
    disk.kill()
    store = FileLedgerStore(disk, storage=SMALL)
    store.startup(curr_term=Term(3))
    return store


@settings(max_examples=300, deadline=None, database=None)
@given(APPENDS, CUTS, APPENDS)
def test_with_unequal_sizes_the_scan_finds_no_more_of_what_was_cut_than_the_spec_allows(
    before: list[Entry], one_cut: tuple[int, Entry, bool], after: list[Entry]
) -> None:
    disk = SimulatedDisk()
    memory, files = LedgerStore(), FileLedgerStore(disk, storage=SMALL)
    for store in (memory, files):
        for entry in before:
            store.append(entry)
        cut(store, *one_cut)
        for entry in after:
            store.append(entry)
    assert files.log == memory.log
    found = files.resurrectable_count()
    assert found <= memory.resurrectable_count()
    memory.recover(found, curr_term=Term(3))
    assert recovered(disk).log == memory.log


def test_with_unequal_sizes_and_two_cuts_an_entry_may_come_back_that_its_successor_had_replaced() -> None:
    """The spec's tail has one entry an index, the last one; the file may keep an older one elsewhere.

    The first log is long, old; then short, short; then long again. Both short ones were written over the first
    long one, so that behind the second long one `old` still stands whole.
    """
    short, long, old = Entry(Term(1), "s"), Entry(Term(1), "l" * 50), Entry(Term(1), "old")
    disk = SimulatedDisk()
    memory, files = LedgerStore(), FileLedgerStore(disk, storage=SMALL)
    for store in (memory, files):
        store.append(long)
        store.append(old)
        store.truncate(Index(0), short)
        store.append(short)
        store.truncate(Index(0), long)
    assert memory.tail == (short,)
    assert recovered(disk).log == (long, old)
