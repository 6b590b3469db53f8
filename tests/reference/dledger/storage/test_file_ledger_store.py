"""The store on files: what a scan finds after a crash, a loss of power, or damage."""

from __future__ import annotations

import ast
import contextlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import raftref
from raftref.dledger.choices import PUBLISHED, REPAIRED, Config
from raftref.dledger.messages import Entry, Index, Term
from raftref.dledger.storage import (
    DirectoryDisk,
    Disk,
    DiskError,
    FileLedgerStore,
    SimulatedDisk,
    Stopped,
    StorageConfig,
)
from raftref.dledger.storage.entry_coder import BODY_OFFSET, INDEX_UNIT_SIZE
from raftref.dledger.storage.entry_files import DATA_FILE, INDEX_FILE
from raftref.dledger.store import Log

PACKAGE = Path(raftref.__file__).parent


def entry(term: int, value: str) -> Entry:
    return Entry(Term(term), value)


A1, B1, C1, X2, Y2 = entry(1, "a"), entry(1, "b"), entry(1, "c"), entry(2, "x"), entry(2, "y")
#: The size of each of these in the data file.
SIZE = BODY_OFFSET + 1
#: Files as small as a disk in memory should have.
SMALL = StorageConfig(mapped_file_size_for_entry_data=4096, mapped_file_size_for_entry_index=4096)


def store(disk: Disk, *log: Entry, config: Config = PUBLISHED) -> FileLedgerStore:
    made = FileLedgerStore(disk, config, storage=SMALL)
    for each in log:
        made.append(each)
    return made


def recovered(
    disk: Disk, *, checks_body_crc: bool = False, curr_term: int = 2, config: Config = PUBLISHED
) -> FileLedgerStore:
    """Another process starts on the same files."""
    made = FileLedgerStore(disk, config, storage=SMALL, checks_body_crc=checks_body_crc)
    made.startup(curr_term=Term(curr_term))
    return made


def written_size(disk: SimulatedDisk, name: str) -> int:
    """The bytes of a file up to the last that is not zero."""
    return len(disk.files()[name].rstrip(b"\0"))


class TestKill:
    """kill -9 keeps all that was written, forced or not."""

    def test_a_killed_process_comes_back_with_its_log_and_the_checkpoint(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1, X2)
        held.update_committed_index(Term(2), Index(1), curr_term=Term(2))
        held.persist_check_point()
        held.update_committed_index(Term(2), Index(2), curr_term=Term(2))
        disk.kill()
        again = recovered(disk)
        assert (again.log, again.committed_index, again.check_point) == ((A1, B1, X2), 1, 1)

    def test_a_store_that_was_not_started_up_knows_nothing(self) -> None:
        disk = SimulatedDisk()
        store(disk, A1)
        assert FileLedgerStore(disk, storage=SMALL).log == ()

    def test_the_end_in_the_checkpoint_is_not_believed(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        held.persist_check_point()
        held.append(B1)
        assert recovered(disk).log == (A1, B1)

    def test_a_checkpoint_past_the_end_is_clamped(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1)
        held.flush()
        held.append(X2)
        held.update_committed_index(Term(2), Index(2), curr_term=Term(2))
        held.persist_check_point()
        disk.lose_power(names=len(disk.unforced_names), writes=range(2, len(disk.unforced_writes)))
        assert recovered(disk).check_point == 2
        assert recovered(disk).committed_index == 1

    def test_the_committed_position_lies_behind_the_last_entry_that_was_committed(self) -> None:
        """Source: DLedgerMmapFileStore.updateCommittedIndex, committedPos."""
        disk = SimulatedDisk()
        held = store(disk, A1, entry(1, "bbb"), C1)
        assert held.committed_pos == -1
        held.update_committed_index(Term(2), Index(1), curr_term=Term(2))
        assert held.committed_pos == 2 * SIZE + 2
        held.truncate(Index(0), X2)
        assert held.committed_pos == 2 * SIZE + 2
        held.persist_check_point()
        assert recovered(disk).committed_pos == SIZE

    def test_what_truncate_cut_comes_back(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1, C1)
        held.truncate(Index(0), A1)
        assert (held.log, held.tail) == ((A1,), (B1, C1))
        assert recovered(disk).log == (A1, B1, C1)

    def test_what_was_cut_comes_back_behind_an_entry_of_the_same_size(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1, C1)
        held.truncate(Index(0), A1)
        held.append(entry(1, "z"))
        assert recovered(disk).log == (A1, entry(1, "z"), C1)

    def test_what_was_cut_does_not_come_back_behind_an_entry_of_another_size(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1, C1)
        held.truncate(Index(0), A1)
        held.append(entry(1, "zz"))
        assert held.tail == ()
        assert recovered(disk).log == (A1, entry(1, "zz"))

    def test_a_process_that_dies_between_data_and_index_comes_back_with_the_entry(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        disk.stop_after(1)
        with pytest.raises(Stopped):
            held.append(B1)
        disk.kill()
        again = recovered(disk)
        assert again.log == (A1, B1)
        assert again.entry(Index(1)) == B1

    @pytest.mark.parametrize(("steps", "log"), [(0, (A1, B1, C1)), (1, (A1, X2)), (2, (A1, X2))])
    def test_a_process_that_dies_within_a_truncate_has_written_the_entry_or_not(self, steps: int, log: Log) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1, C1)
        disk.stop_after(steps)
        try:
            held.truncate(Index(1), X2)
        except Stopped:
            assert steps < 2
        disk.kill()
        assert recovered(disk).log == log

    def test_a_recovery_must_be_given_the_count_that_its_scan_finds(self) -> None:
        held = store(SimulatedDisk(), A1, B1)
        held.truncate(Index(0), A1)
        for resurrected in (0, 2):
            with pytest.raises(ValueError, match="scan finds 1"):
                held.recover(resurrected, curr_term=Term(1))
        assert held.log == (A1,)


class TestLostPower:
    """A loss of power keeps what was forced."""

    def test_lost_power_loses_what_was_not_forced(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1)
        held.flush()
        held.append(C1)
        disk.lose_power()
        assert recovered(disk).log == (A1, B1)

    def test_a_cut_that_was_not_forced_is_undone_with_what_was_written_over_it(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1, C1)
        held.flush()
        held.truncate(Index(1), X2)
        disk.lose_power()
        assert recovered(disk).log == (A1, B1, C1)

    def test_an_entry_whose_data_survives_needs_no_index(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        held.flush()
        held.append(B1)
        disk.lose_power(writes=[0])
        again = recovered(disk)
        assert (again.log, written_size(disk, INDEX_FILE)) == ((A1, B1), 2 * INDEX_UNIT_SIZE)

    def test_behind_data_that_was_lost_the_scan_finds_nothing(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        held.flush()
        held.append(B1)
        held.append(C1)
        disk.lose_power(writes=[1, 2, 3])
        assert recovered(disk).log == (A1,)

    def test_the_checkpoint_is_never_forced(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        held.update_committed_index(Term(1), Index(0), curr_term=Term(1))
        held.persist_check_point()
        held.flush()
        disk.lose_power()
        assert (recovered(disk).log, recovered(disk).committed_index) == ((A1,), -1)

    @settings(max_examples=100, deadline=None, database=None)
    @given(
        st.lists(st.sampled_from([A1, B1, C1]), max_size=4), st.lists(st.sampled_from([X2, Y2]), max_size=4), st.data()
    )
    def test_forced_entries_survive_and_of_the_others_the_first_ones(
        self, forced: list[Entry], unforced: list[Entry], data: st.DataObject
    ) -> None:
        disk = SimulatedDisk()
        held = store(disk, *forced)
        held.flush()
        for each in unforced:
            held.append(each)
        writes = data.draw(st.sets(st.sampled_from(range(len(disk.unforced_writes))))) if unforced else set()
        names = data.draw(st.integers(0, len(disk.unforced_names)))
        log = held.log
        disk.lose_power(names, writes)
        found = recovered(disk).log
        assert found == log[: len(found)]
        assert len(found) >= len(forced)


class TestTakenAsForced:
    """Where the flushed position says more than was forced: DefaultMmapFile.setFlushedPosition."""

    def test_what_a_restart_recovered_is_not_forced_by_the_next_flush(self) -> None:
        disk = SimulatedDisk()
        store(disk, A1, B1)
        disk.kill()
        recovered(disk).flush()
        disk.lose_power()
        assert recovered(disk).log == ()

    def test_with_writes_at_once_a_restart_forces_what_the_process_before_had_not(self) -> None:
        """With AsyncFlush repaired: the process died between the write of an entry and the forcing of it."""
        disk = SimulatedDisk()
        store(disk, A1, B1)
        disk.kill()
        assert recovered(disk, config=REPAIRED).log == (A1, B1)
        disk.lose_power()
        assert recovered(disk, config=REPAIRED).log == (A1, B1)

    def test_with_writes_at_once_what_truncate_cut_does_not_come_back_with_the_power(self) -> None:
        """AsyncFlush and TruncatedTail repaired."""
        disk = SimulatedDisk()
        held = store(disk, A1, B1, C1, config=REPAIRED)
        held.truncate(Index(1), B1)
        disk.lose_power()
        assert recovered(disk, config=REPAIRED).log == (A1, B1)

    def test_a_recovered_log_is_forced_by_the_flush_after_the_next_append(self) -> None:
        disk = SimulatedDisk()
        store(disk, A1, B1)
        disk.kill()
        again = recovered(disk)
        again.append(C1)
        again.flush()
        disk.lose_power()
        assert recovered(disk).log == (A1, B1, C1)

    def test_what_precedes_an_equal_entry_that_truncate_kept_is_not_forced(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1)
        held.truncate(Index(1), B1)
        held.flush()
        disk.lose_power()
        assert recovered(disk).log == ()

    def test_a_flush_forces_only_what_was_written_to(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        held.flush()
        disk.stop_after(0)
        held.flush()


class TestDamage:
    """An entry that cannot be read ends the scan."""

    @pytest.mark.parametrize("offset", [0, 4, 8, 24, 44], ids=["magic", "size", "index", "pos", "body size"])
    def test_a_flipped_bit_in_the_header_ends_the_scan(self, offset: int) -> None:
        disk = SimulatedDisk()
        store(disk, A1, B1, C1)
        place = SIZE + offset + 3
        disk.write(DATA_FILE, place, bytes([disk.read(DATA_FILE, place, 1)[0] ^ 8]))
        assert recovered(disk).log == (A1,)

    def test_a_term_that_falls_ends_it(self) -> None:
        disk = SimulatedDisk()
        store(disk, A1, X2, B1)
        assert recovered(disk).log == (A1, X2)

    @pytest.mark.parametrize("damaged", [BODY_OFFSET, 40], ids=["body", "crc"])
    def test_a_damaged_body_goes_unnoticed_unless_repaired(self, damaged: int) -> None:
        """As published the CRC is 0, and nobody looks at it."""
        disk = SimulatedDisk()
        made = FileLedgerStore(disk, storage=SMALL, checks_body_crc=True)
        for each in (A1, B1, C1):
            made.append(each)
        disk.write(DATA_FILE, SIZE + damaged, b"?")
        assert len(recovered(disk).log) == 3
        assert recovered(disk, checks_body_crc=True).log == (A1,)

    def test_a_file_cut_within_a_header_ends_the_scan_there(self) -> None:
        disk = SimulatedDisk()
        store(disk, A1, B1, C1)
        disk.truncate(DATA_FILE, 2 * SIZE + 20)
        assert recovered(disk).log == (A1, B1)

    def test_a_file_cut_within_a_body_reads_as_zeros_unless_repaired(self) -> None:
        disk = SimulatedDisk()
        store(disk, entry(1, "whole"))
        disk.truncate(DATA_FILE, BODY_OFFSET + 2)
        assert recovered(disk).log == (entry(1, "wh\0\0\0"),)
        assert recovered(disk, checks_body_crc=True).log == ()

    def test_a_write_torn_by_a_loss_of_power_comes_back_torn_unless_repaired(self) -> None:
        for checks_body_crc, log in ((False, (entry(1, "l" * 16 + "\0" * 64),)), (True, ())):
            disk = SimulatedDisk(sector_bytes=64)
            FileLedgerStore(disk, storage=SMALL, checks_body_crc=checks_body_crc).append(entry(1, "l" * 80))
            disk.lose_power(names=2, writes=[0, 1])
            assert recovered(disk, checks_body_crc=checks_body_crc).log == log

    def test_an_index_file_that_is_damaged_or_gone_is_written_anew(self) -> None:
        for damage in (b"\xff" * INDEX_UNIT_SIZE, b""):
            disk = SimulatedDisk()
            store(disk, A1, B1, C1)
            whole = disk.files()[INDEX_FILE]
            disk.write(INDEX_FILE, INDEX_UNIT_SIZE, damage)
            if not damage:
                disk.delete(INDEX_FILE)
            assert recovered(disk).log == (A1, B1, C1)
            assert disk.files()[INDEX_FILE] == whole

    def test_without_a_data_file_nothing_is_there_whatever_the_others_say(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        held.update_committed_index(Term(1), Index(0), curr_term=Term(1))
        held.persist_check_point()
        disk.delete(DATA_FILE)
        again = recovered(disk)
        assert (again.log, again.committed_index) == ((), -1)
        assert again.append(B1) == 0

    @settings(max_examples=200, deadline=None, database=None)
    @given(st.sampled_from([DATA_FILE, INDEX_FILE, "checkpoint"]), st.integers(0, 200), st.binary(max_size=60))
    def test_no_damage_keeps_a_node_from_starting(self, name: str, pos: int, data: bytes) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1, C1)
        held.persist_check_point()
        disk.write(name, pos, data)
        again = recovered(disk)
        end = again.append(Y2) if again.end_term <= 2 else again.end_index
        assert again.end_index == end
        assert recovered(disk).log[: end + 1] == again.log

    @settings(max_examples=200, deadline=None, database=None)
    @given(st.binary(max_size=200))
    def test_files_of_any_bytes_do_not_keep_a_node_from_starting(self, data: bytes) -> None:
        disk = SimulatedDisk()
        for name in (DATA_FILE, INDEX_FILE, "checkpoint"):
            disk.write(name, 0, data)
        assert recovered(disk).log == ()


class TestPositions:
    """A leader sends the position of an entry; a follower's must lie there too."""

    def test_an_append_that_lies_elsewhere_is_refused_after_it_was_written(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        with pytest.raises(DiskError, match="at 49 and not at 50"):
            held.append(B1, pos=50)
        sizes = (written_size(disk, DATA_FILE), written_size(disk, INDEX_FILE))
        assert (held.log, sizes) == ((A1,), (2 * SIZE, INDEX_UNIT_SIZE))

    def test_an_entry_behind_one_that_lies_elsewhere_is_lost_with_the_process(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        with pytest.raises(DiskError):
            held.append(B1, pos=50)
        held.append(C1)
        assert held.log == (A1, C1)
        assert recovered(disk).log == (A1,)

    def test_a_truncate_brings_the_file_in_line_with_the_leaders(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        with pytest.raises(DiskError):
            held.append(B1, pos=50)
        held.truncate(Index(1), C1, pos=SIZE)
        assert recovered(disk).log == (A1, C1)

    def test_an_equal_entry_that_lies_elsewhere_is_written_all_the_same(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1)
        held.truncate(Index(1), B1, pos=SIZE + 5)
        assert held.log == (A1, B1)
        assert recovered(disk).log == (A1,)

    def test_an_equal_entry_elsewhere_is_kept_there_when_a_truncate_names_it_again(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1, B1)
        held.truncate(Index(1), B1, pos=SIZE + 5)
        held.truncate(Index(1), B1)
        held.append(C1)
        assert written_size(disk, DATA_FILE) == 3 * SIZE + 5

    def test_a_truncate_to_a_position_that_no_file_has_lets_the_log_begin_there(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, A1)
        held.truncate(Index(7), B1, pos=2**40)
        assert (held.begin_index, held.end_index, held.entry(Index(7))) == (7, 7, B1)
        assert disk.names("data") == [f"data/{2**40:020}"]
        held.append(C1)
        again = recovered(disk)
        assert (again.begin_index, again.log) == (7, held.log)

    def test_an_index_that_no_index_file_has_is_not_committed(self) -> None:
        """A log that begins with a blank seems to begin at 0. Source: DLedgerMmapFileStore.updateCommittedIndex."""
        held = store(SimulatedDisk())
        for pos in (SMALL.mapped_file_size_for_entry_data - 24, SMALL.mapped_file_size_for_entry_data):
            with contextlib.suppress(DiskError):
                held.truncate(Index(200), A1, pos)
        assert (held.begin_index, held.end_index) == (0, 200)
        with pytest.raises(DiskError, match="no file with the byte 96"):
            held.update_committed_index(Term(1), Index(3), curr_term=Term(1))
        assert (held.committed_index, held.committed_pos) == (-1, -1)

    def test_a_log_that_begins_within_a_file_is_lost_with_the_process(self) -> None:
        disk = SimulatedDisk()
        held = store(disk)
        held.truncate(Index(7), B1, pos=700)
        assert (held.begin_index, held.entry(Index(7))) == (7, B1)
        assert recovered(disk).log == ()

    @pytest.mark.parametrize("pos", [-1, 2**63])
    def test_no_file_can_have_some_positions(self, pos: int) -> None:
        held = store(SimulatedDisk(), A1)
        with pytest.raises(DiskError, match="cannot go on"):
            held.truncate(Index(1), B1, pos=pos)
        assert held.log == (A1,)


#: Two entries in a data file, whose rest is blank; two units in an index file.
TWO = StorageConfig(mapped_file_size_for_entry_data=2 * SIZE + 30, mapped_file_size_for_entry_index=2 * INDEX_UNIT_SIZE)
FILE = TWO.mapped_file_size_for_entry_data


class TestManyFiles:
    """An entry that does not fit goes to the next file."""

    def store(self, disk: Disk, *log: Entry) -> FileLedgerStore:
        made = FileLedgerStore(disk, storage=TWO)
        made.startup(curr_term=Term(2))
        for each in log:
            made.append(each)
        return made

    def test_every_file_has_the_configured_length_from_the_begin(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, A1, B1, C1)
        assert {name: len(content) for name, content in disk.files().items()} == {
            f"data/{0:020}": FILE,
            f"data/{FILE:020}": FILE,
            f"index/{0:020}": 64,
            f"index/{64:020}": 64,
        }

    def test_the_rest_of_a_file_that_is_left_is_blank(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, A1, B1, C1)
        assert disk.files()[DATA_FILE][2 * SIZE :] == bytes.fromhex("ffffffff0000001e") + bytes(22)

    def test_an_entry_must_leave_space_for_a_blank(self) -> None:
        left = FILE - SIZE
        for length, file_count in ((left - BODY_OFFSET - 8, 1), (left - BODY_OFFSET - 7, 2)):
            disk = SimulatedDisk()
            self.store(disk, A1, entry(1, "b" * length))
            assert len(disk.names("data")) == file_count

    def test_an_entry_that_fits_into_no_file_is_refused(self) -> None:
        held = self.store(SimulatedDisk(), A1)
        with pytest.raises(DiskError):
            held.append(entry(1, "b" * FILE))
        assert held.log == (A1,)

    def test_a_log_of_many_files_comes_back(self) -> None:
        disk = SimulatedDisk()
        held = self.store(disk, A1, B1, C1, A1, B1, C1, A1, X2, Y2)
        again = self.store(disk)
        assert (again.log, again.begin_index, again.end_term) == (held.log, 0, 2)
        assert again.append(Y2) == 9

    def test_damage_before_the_third_last_file_is_not_met_by_the_scan(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, *[A1, B1] * 5)
        disk.write(f"data/{FILE:020}", 0, b"?")
        assert self.store(disk).log == (A1, B1, None, B1, A1, B1, A1, B1, A1, B1)

    def test_the_scan_begins_before_a_file_whose_first_entry_is_not_what_the_index_says(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, *[A1, B1] * 5)
        disk.write(f"index/{2 * 64:020}", 12, b"?")
        files = disk.files()
        assert len(self.store(disk).log) == 10
        assert disk.files()[f"index/{2 * 64:020}"] != files[f"index/{2 * 64:020}"]

    def test_a_log_that_ends_far_before_the_last_file_is_not_opened(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, *[A1, B1] * 5)
        disk.write(f"data/{2 * FILE:020}", SIZE, b"?")
        with pytest.raises(DiskError, match="check them"):
            self.store(disk)

    def test_files_that_do_not_follow_one_another_are_not_opened(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, *[A1, B1] * 3)
        disk.delete(f"data/{FILE:020}")
        with pytest.raises(DiskError, match="does not follow"):
            self.store(disk)

    def test_a_file_that_is_too_long_is_not_opened_and_a_short_one_is_lengthened(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, A1)
        disk.truncate(DATA_FILE, SIZE)
        assert self.store(disk).log == (A1,)
        assert disk.size(DATA_FILE) == FILE
        disk.truncate(DATA_FILE, FILE + 1)
        with pytest.raises(DiskError, match="configured length"):
            self.store(disk)

    def test_a_file_whose_name_is_no_offset_is_passed_over(self) -> None:
        disk = SimulatedDisk()
        self.store(disk, A1)
        disk.write("data/notes", 0, b"mine")
        assert self.store(disk).log == (A1,)

    def test_a_truncate_deletes_the_files_behind(self) -> None:
        disk = SimulatedDisk()
        held = self.store(disk, *[A1, B1] * 3)
        held.truncate(Index(1), X2)
        assert (held.log, disk.names("data"), len(disk.names("index"))) == ((A1, X2), [DATA_FILE], 1)

    def test_each_flush_forces_one_file_and_force_all_of_them(self) -> None:
        for calls, log in ((["flush"], (A1, B1)), (["flush", "flush"], (A1, B1, C1)), (["force"], (A1, B1, C1))):
            disk = SimulatedDisk()
            held = self.store(disk, A1, B1, C1)
            for call in calls:
                getattr(held, call)()
            assert held.is_forced == (len(log) == 3)
            disk.lose_power()
            assert self.store(disk).log == log

    @pytest.mark.parametrize("steps", range(7))
    def test_a_process_that_dies_where_files_change_comes_back(self, steps: int) -> None:
        disk = SimulatedDisk()
        held = self.store(disk, A1, B1)
        disk.stop_after(steps)
        try:
            held.append(C1)
        except Stopped:
            assert steps < 5
        disk.kill()
        again = self.store(disk)
        assert again.log == ((A1, B1, C1) if steps >= 3 else (A1, B1))
        assert again.append(Y2) == len(again.log) - 1

    @pytest.mark.parametrize("sizes", [(0, 32), (48, 0), (48, 33)])
    def test_some_lengths_make_no_sense(self, sizes: tuple[int, int]) -> None:
        with pytest.raises(ValueError, match="cannot hold"):
            StorageConfig(*sizes)


def test_a_negative_index_cannot_be_truncated_to() -> None:
    held = store(SimulatedDisk(), A1)
    with pytest.raises(IndexError):
        held.truncate(Index(-1), X2)
    assert held.log == (A1,)


def play(disk: Disk) -> list[object]:
    """One life of a store with everything in it, and the next one."""
    held = store(disk, A1, B1, entry(1, "long"))
    held.flush()
    held.truncate(Index(1), X2)
    held.update_committed_index(Term(2), Index(1), curr_term=Term(2))
    held.persist_check_point()
    held.persist_check_point()
    held.append(Y2)
    held.truncate(Index(4), Y2)
    again = recovered(disk)
    again.flush()
    return [held.log, held.tail, again.log, again.tail, again.committed_index]


def test_on_a_folder_the_store_does_what_it_does_on_a_simulated_disk(tmp_path: Path) -> None:
    simulated = SimulatedDisk()
    assert play(DirectoryDisk(tmp_path)) == play(simulated)
    written = {str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == simulated.files()
    assert set(written) == {DATA_FILE, INDEX_FILE, "checkpoint", "checkpoint.bak"}


def imports(file: Path) -> set[str]:
    tree = ast.parse(file.read_text())
    plain = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}


def test_neither_core_nor_simulation_knows_of_files() -> None:
    files = [*(PACKAGE / "simulation").rglob("*.py"), *(PACKAGE / "dledger").rglob("*.py")]
    # The wire shares the form of an entry's header with the files.
    wire = {"client_messages.py", "wire.py", "wire_answers.py", "wire_fields.py"}
    others = [file for file in files if file.parent.name not in ("storage", "runtime") and file.name not in wire]
    assert len(others) > 30
    for file in others:
        assert not any(module.startswith("raftref.dledger.storage") for module in imports(file)), file


def test_only_the_disk_that_is_a_folder_reaches_the_operating_system() -> None:
    files = [file for package in ("dledger/storage", "disks") for file in (PACKAGE / package).glob("*.py")]
    reaching = {file.name for file in files if imports(file) & {"os", "pathlib", "io"}}
    assert reaching == {"directory_disk.py"}
