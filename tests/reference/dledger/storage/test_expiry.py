"""Data files that are old are deleted, and a full disk takes no entry: what the store does, and what a group does."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from raftref.action import NotEnabled
from raftref.disks.directory_disk import DirectorySpace
from raftref.dledger.choices import PUBLISHED, Config, Feature
from raftref.dledger.clients import DISK_FULL
from raftref.dledger.messages import AppendRequest, Code, Entry, Index, PushType, Request, Response, Term
from raftref.dledger.server import Server
from raftref.dledger.simulation import Script
from raftref.dledger.simulation.cluster import Cluster
from raftref.dledger.simulation.scenarios import scenario_plan
from raftref.dledger.state import Role
from raftref.dledger.storage import FileLedgerStore, SimulatedDisk, StorageConfig
from raftref.dledger.storage.entry_coder import BODY_OFFSET, INDEX_UNIT_SIZE
from raftref.dledger.storage.mapped_file_list import MAX_DELETED_FILES

#: Two entries in a data file, two units in an index file.
TWO = StorageConfig(mapped_file_size_for_entry_data=2 * BODY_OFFSET + 20, mapped_file_size_for_entry_index=64)
ENTRY = Entry(Term(1), "a")
#: An hour at which nothing is deleted, and the hour at which files are.
NOON, FOUR = datetime(2030, 1, 1, 12), datetime(2030, 1, 2, 4)
HOUR = 3600


def store(disk: SimulatedDisk, count: int, storage: StorageConfig = TWO) -> FileLedgerStore:
    """A store whose files were written to an hour apart, the last one at noon; what blanks their ends is a write."""
    made = FileLedgerStore(disk, storage=storage)
    for index in range(count):
        disk.now = NOON.timestamp() - (count - 1 - index) // 2 * HOUR
        made.append(ENTRY)
    return made


class TestCleanSpace:
    """CleanSpaceService.doWork with the time and the ratio as arguments."""

    def test_files_older_than_the_reserved_hours_go_at_their_hour(self) -> None:
        held = store(SimulatedDisk(), 10)
        at = FOUR + timedelta(hours=72 - 16 - 2)
        assert at.hour != 4
        assert held.clean_space(at, 0.5) == 0
        assert held.clean_space(FOUR.replace(day=4), 0.5) == 0
        assert held.clean_space(FOUR.replace(day=5), 0.5) == 4
        assert (held.begin_index, held.end_index) == (8, 9)

    def test_only_what_is_old_goes_where_space_is_short(self) -> None:
        held = store(SimulatedDisk(), 10)
        two_are_old = NOON + timedelta(hours=72 - 2)
        assert held.clean_space(two_are_old, 0.70) == 0
        assert held.clean_space(two_are_old, 0.71) == 2
        assert held.begin_index == 4

    def test_the_oldest_go_however_young_they_are_where_space_is_very_short(self) -> None:
        held = store(SimulatedDisk(), 10)
        assert held.clean_space(NOON, 0.85) == 0
        assert held.clean_space(NOON, 0.86) == 4
        assert (held.begin_index, held.log[8:]) == (8, (ENTRY, ENTRY))

    def test_unless_that_is_disabled(self) -> None:
        held = store(SimulatedDisk(), 10, StorageConfig(116, 64, enable_disk_force_clean=False))
        assert held.clean_space(NOON, 0.95) == 0

    def test_at_least_an_hour_is_reserved(self) -> None:
        held = store(SimulatedDisk(), 6, StorageConfig(116, 64, file_reserved_hours=0))
        assert held.clean_space(NOON - timedelta(minutes=1), 0.75) == 0
        assert held.clean_space(NOON, 0.75) == 1

    def test_no_more_than_a_batch_goes_at_once_and_the_last_file_never(self) -> None:
        held = store(SimulatedDisk(), 2 * MAX_DELETED_FILES + 6)
        assert [held.clean_space(NOON, 0.9) for _ in range(3)] == [MAX_DELETED_FILES, 2, 0]

    def test_what_went_cannot_be_read_and_the_code_says_why(self) -> None:
        held = store(SimulatedDisk(), 6)
        held.clean_space(NOON, 0.9)
        assert [held.index_check(Index(each)) for each in (-1, 0, 3, 4, 5, 6)] == [
            "INDEX_OUT_OF_RANGE", "INDEX_LESS_THAN_LOCAL_BEGIN", "INDEX_LESS_THAN_LOCAL_BEGIN", None, None,
            "INDEX_OUT_OF_RANGE",
        ]  # fmt: skip
        with pytest.raises(IndexError, match="INDEX_LESS_THAN_LOCAL_BEGIN"):
            held.entry(Index(3))
        assert not held.has_entry(Index(3))
        assert held.log[3] is None

    def test_index_files_go_with_the_data_and_both_come_back_after_a_restart(self) -> None:
        disk = SimulatedDisk()
        held = store(disk, 7)
        held.clean_space(NOON, 0.9)
        assert disk.names("data") == [f"data/{3 * 116:020}"]
        assert disk.names("index") == [f"index/{6 * INDEX_UNIT_SIZE:020}"]
        again = FileLedgerStore(disk, storage=TWO)
        again.startup(curr_term=Term(1))
        assert (again.begin_index, again.end_index, again.log) == (6, 6, held.log)
        assert again.append(ENTRY) == 7

    def test_a_committed_index_below_the_begin_is_not_taken_over(self) -> None:
        held = store(SimulatedDisk(), 6)
        held.clean_space(NOON, 0.9)
        held.update_committed_index(Term(1), Index(2), curr_term=Term(1))
        assert held.committed_index == -1
        held.update_committed_index(Term(1), Index(4), curr_term=Term(1))
        assert held.committed_index == 4

    def test_a_disk_is_full_above_its_ratio_until_it_is_asked_again(self) -> None:
        held = store(SimulatedDisk(), 1)
        found = []
        for ratio in (0.90, 0.91, 0.89):
            held.clean_space(NOON, ratio)
            found.append(held.is_disk_full)
        assert found == [False, True, False]


class TestFullDisk:
    """A node whose disk is full answers so, and lives on."""

    def node(self, role: Role, config: Config = PUBLISHED) -> Server:
        made = Server("n1", ("n1", "n2", "n3"), config)
        made.member_state.role, made.member_state.curr_term, made.member_state.leader_id = role, Term(1), "n2"
        made.ledger_store.is_disk_full = True
        return made

    def test_a_leader_refuses_clients_with_disk_full(self) -> None:
        node = self.node(Role.LEADER, Config(PUBLISHED.features | {Feature.CLIENTS}, PUBLISHED.flaws))
        assert node.refusal() == DISK_FULL
        with pytest.raises(NotEnabled):
            node.append_as_leader("x")
        node.refuse_append(DISK_FULL)
        node.ledger_store.is_disk_full = False
        node.append_as_leader("x")

    def test_nor_does_it_take_a_batch(self) -> None:
        node = self.node(Role.LEADER, Config(PUBLISHED.features | {Feature.BATCHES}, PUBLISHED.flaws))
        with pytest.raises(NotEnabled):
            node.append_in_batch("x")

    def test_a_follower_answers_an_append_with_inconsistent_state(self) -> None:
        node = self.node(Role.FOLLOWER)
        m: AppendRequest = Request(PushType.APPEND, "n2", "n1", Term(1), Index(0), ENTRY, Index(-1))
        (answer,) = node.handle_do_append(m).sent
        assert isinstance(answer, Response)
        assert (answer.code, node.ledger_store.end_index) == (Code.INCONSISTENT_STATE, -1)


class Group(Script):
    """A group on files, whose followers get the positions of the leader n1."""

    def __init__(self, config: Config = PUBLISHED) -> None:
        super().__init__(config)
        self.stores: list[FileLedgerStore] = []
        self.cluster = Cluster(scenario_plan(config), self.new_store)

    def new_store(self, config: Config) -> FileLedgerStore:
        is_leader = not self.stores
        made = FileLedgerStore(
            SimulatedDisk(), config, storage=TWO, leader_position=(lambda *_: None) if is_leader else self.position
        )
        self.stores.append(made)
        return made

    def position(self, index: Index, entry: Entry) -> int | None:
        leader = self.stores[0]
        return leader.files.header_at(index).pos if leader.holds(index, entry) else None

    def server(self, node: str) -> Server:
        return self.cluster.servers[node]


def test_a_follower_that_slept_while_its_entries_expired_begins_where_the_leader_does() -> None:
    """The first branch of a comparison: the logs do not meet."""
    group = Group()
    group.elect("n1", 1, ["n2", "n3"])
    for value in "abcdefgh":
        group.take("n1", "AppendAsLeader", value)
    group.bring_in_line("n1", "n2")
    assert group.stores[0].clean_space(NOON, 0.9) == 3
    group.bring_in_line("n1", "n3")
    leader, _, late = group.stores
    assert (leader.begin_index, late.begin_index, late.end_index) == (6, 6, 7)
    assert late.log == leader.log
    assert late.files.data.files[0].from_offset == leader.files.data.files[0].from_offset


def test_a_follower_whose_log_begins_behind_the_index_to_compare_is_cut_to_the_leaders_begin() -> None:
    """The other branch: compareIndex < the follower's begin."""
    group = Group()
    group.elect("n1", 1, ["n2", "n3"])
    for value in "abcd":
        group.take("n1", "AppendAsLeader", value)
    group.bring_in_line("n1", "n2")
    group.stores[1].append(Entry(Term(1), "other"))
    group.stores[1].append(Entry(Term(1), "other"))
    assert group.stores[1].clean_space(NOON, 0.9) == 2
    group.elect("n1", 2, ["n3"])
    group.follow("n2", "n1")
    for value in "xy":
        group.take("n1", "AppendAsLeader", value)
    group.bring_in_line("n1", "n2")
    compared = [each["sent"][0]["index"] for each in group.events if each["action"] == "DoCompare"]
    leader, cut, _ = group.stores
    assert compared[-3:] == [5, 4, 3]
    assert (leader.begin_index, cut.begin_index, cut.log) == (0, 0, leader.log)


def test_a_dispatcher_whose_next_entry_expired_compares_anew() -> None:
    group = Group()
    group.elect("n1", 1, ["n2", "n3"])
    group.take("n1", "AppendAsLeader", "a")
    group.bring_in_line("n1", "n2")
    for value in "bcdef":
        group.take("n1", "AppendAsLeader", value)
    group.stores[0].clean_space(NOON, 0.9)
    group.take("n1", "DoAppend", "n2")
    assert group.server("n1").dispatchers["n2"].type is PushType.COMPARE
    group.bring_in_line("n1", "n2")
    assert (group.stores[1].begin_index, group.stores[1].log) == (4, group.stores[0].log)


def test_a_dispatcher_whose_unanswered_entry_expired_compares_anew() -> None:
    group = Group()
    group.elect("n1", 1, ["n2", "n3"])
    group.take("n1", "AppendAsLeader", "a")
    group.bring_in_line("n1", "n2")
    for value in "bcdef":
        group.take("n1", "AppendAsLeader", value)
        group.take("n1", "DoAppend", "n2")
        group.lose("n1", "n2")
    group.stores[0].clean_space(NOON, 0.9)
    group.take("n1", "DoCheckAppendResponse", "n2")
    assert group.server("n1").dispatchers["n2"].type is PushType.COMPARE
    group.bring_in_line("n1", "n2")
    assert group.stores[1].log == group.stores[0].log


def test_the_space_of_a_folder_is_that_of_its_disk_and_a_missing_folder_is_made(tmp_path: Path) -> None:
    """Source: DLedgerUtils.getDiskPartitionSpaceUsedPercent."""
    space = DirectorySpace(tmp_path / "node" / "data")
    usage = shutil.disk_usage(tmp_path)
    assert space.used_ratio() == pytest.approx(usage.used / usage.total, abs=0.01)
    assert abs(space.time_of_day() - datetime.now()) < timedelta(seconds=60)
