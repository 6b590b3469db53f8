"""The limits of a DLedger node that runs: how fast it pushes, how much it takes, and when its disk is full."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

import pytest

from raftref.dledger import pushing
from raftref.dledger.choices import Feature
from raftref.dledger.client_messages import (
    AppendEntryRequest,
    BatchAppendEntryRequest,
    RemotingFailure,
    ResponseCode,
)
from raftref.dledger.messages import Index
from raftref.dledger.runtime.driver import DEFAULTS
from raftref.dledger.runtime.push_quota import PushQuota
from raftref.dledger.runtime.replayed_run import replayed
from raftref.dledger.runtime.settings import Settings
from tests.support.systems.running_dledger import DLedgerGroup, entry
from tests.support.systems.running_groups import Answers, ask

#: The size of an entry with a value of four characters.
SIZE = 52


# ---- The quota of pushes ----


def test_a_quota_counts_the_bytes_of_one_second_of_the_clock() -> None:
    """Source: Quota.sample, validateNow, leftNow."""
    quota = PushQuota(100, 1.0)
    quota.sample(3.2, 99)
    assert not quota.is_exhausted(3.9)
    quota.sample(3.9, 1)
    assert quota.is_exhausted(3.95)
    assert quota.next_second(3.95) == 4.0
    assert not quota.is_exhausted(4.0)
    quota.sample(4.0, 99)
    assert not quota.is_exhausted(4.5)


def pushed_to_a_peer_that_was_down(settings: Settings, count: int) -> tuple[DLedgerGroup, list[float]]:
    """When a leader pushes entries to a peer that comes up once they are stored."""
    run = DLedgerGroup(1, settings=settings)
    leader, answers = run.elect(), Answers()
    behind = run.followers[0]
    run.group.kill(behind)
    for number in range(count):
        answers.ask(run.group, leader, AppendEntryRequest("", f"v{number:03}"))
        run.group.run_until(run.group.now + 0.02)  # the other peer is never far behind
    run.group.run_until(run.group.now + 5)
    assert [answer.code for _, answer in answers.given] == [ResponseCode.SUCCESS] * count
    run.group.start(behind)
    begins = run.group.now
    run.group.run_until(begins + 20)
    assert len(run.committed(behind)) == count
    steps = [step for step in run.group.steps if step.node == leader and step.at > begins]
    return run, [step.at for step in steps if step.action == "DoAppend" and step.args["peer"] == behind]


#: The number of entries by which a peer may be behind before anything else counts.
MAX_PENDING_SIZE = 20


def test_a_peer_that_is_far_behind_is_sent_no_more_than_the_quota_in_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source: EntryDispatcher.checkQuotaAndWait."""
    monkeypatch.setattr(pushing, "MAX_PENDING_SIZE", MAX_PENDING_SIZE)
    quota = replace(DEFAULTS, peer_push_throttle_point=0, peer_push_quota=5 * SIZE)
    run, moments = pushed_to_a_peer_that_was_down(quota, 60)
    *throttled, unthrottled = [list(group) for _, group in groupby(moments, int)]
    # The entry that exhausts the quota is pushed when the next second begins, and does not count for that one.
    assert {len(second) for second in throttled} == {4, 5}
    assert len(throttled) >= (60 - MAX_PENDING_SIZE) / 5
    assert len(unthrottled) >= MAX_PENDING_SIZE
    assert list(replayed(run.plan, run.group.steps))


def test_a_peer_that_is_no_further_behind_than_the_throttle_point_has_no_quota(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "MAX_PENDING_SIZE", MAX_PENDING_SIZE)
    limits = replace(DEFAULTS, peer_push_throttle_point=61 * SIZE, peer_push_quota=SIZE)
    _, moments = pushed_to_a_peer_that_was_down(limits, 60)
    assert moments[-1] - moments[0] < 1.0


def test_the_limits_are_those_of_dledger() -> None:
    """Source: DLedgerConfig."""
    assert DEFAULTS.peer_push_throttle_point == 314_572_800
    assert DEFAULTS.peer_push_quota == 20_971_520
    assert (DEFAULTS.max_pending_requests_num, DEFAULTS.max_batch_push_size) == (10_000, 4096)


def test_scaled_settings_have_other_times_and_the_same_limits() -> None:
    scaled = DEFAULTS.scaled(0.5)
    assert (scaled.max_wait_ack_time, scaled.quota_second, scaled.rpc_timeout) == (1.25, 0.5, 1.5)
    assert (scaled.max_heart_beat_leak, scaled.peer_push_quota) == (3, DEFAULTS.peer_push_quota)


def test_a_batch_is_pushed_once_it_has_reached_its_size_or_there_is_no_more() -> None:
    """Source: EntryDispatcher.doBatchAppendInner, maxBatchPushSize."""
    settings = replace(DEFAULTS, max_batch_push_size=2 * SIZE)
    run = DLedgerGroup(7, features={Feature.BATCHES}, settings=settings)
    leader = run.elect()
    assert ask(run.group, leader, entry(0)).code == ResponseCode.SUCCESS
    run.group.run_until(run.group.now + 1)
    before = len(run.group.steps)
    values = ("aaaa", "bbbb", "c" * 100, "dddd", "e")
    assert ask(run.group, leader, BatchAppendEntryRequest("", values)).code == ResponseCode.SUCCESS
    run.group.run_until(run.group.now + 1)
    pushes = [step.args for step in run.group.steps[before:] if step.action == "DoBatchAppend"]
    for peer in run.followers:
        assert [push["count"] for push in pushes if push["peer"] == peer][:3] == [2, 1, 2]


# ---- The sizes of entries ----


def test_an_entry_that_overflows_the_leaders_buffer_is_no_answer_of_the_protocol() -> None:
    """Source: DLedgerMmapFileStore.localEntryBuffer, 4 MiB; DLedgerEntryCoder.encode."""
    run = DLedgerGroup(1)
    leader = run.elect()
    answer = ask(run.group, leader, AppendEntryRequest("", "x" * (4 * 1024 * 1024 - 47)))
    assert answer == RemotingFailure(1, "java.nio.BufferOverflowException")


def test_an_entry_that_fits_into_no_file_is_a_disk_error_and_the_next_one_is_stored() -> None:
    """Source: DLedgerMmapFileStore.appendAsLeader, its checks of preAppend and append."""
    run = DLedgerGroup(1)
    leader = run.elect()
    answer = ask(run.group, leader, AppendEntryRequest("", "x" * (65_536 - 47)))
    assert (answer.code, answer.index, answer.leader_id) == (ResponseCode.DISK_ERROR, -1, leader)
    assert ask(run.group, leader, entry(1)).index == 0


def test_a_node_that_pushes_no_batches_stores_every_entry_of_a_clients_batch() -> None:
    """Source: DLedgerServer.handleAppend, which asks nothing of isEnableBatchPush."""
    run = DLedgerGroup(1)
    leader = run.elect()
    answer = ask(run.group, leader, BatchAppendEntryRequest("", ("a", "b", "c")))
    assert (answer.code, answer.index) == (ResponseCode.SUCCESS, 2)
    assert run.committed(leader) == ["a", "b", "c"]
    assert list(replayed(run.plan, run.group.steps))


def test_of_a_batch_the_entries_before_one_that_is_too_long_stay() -> None:
    """Source: DLedgerServer.handleAppend, its loop over a BatchAppendEntryRequest."""
    run = DLedgerGroup(7, features={Feature.BATCHES})
    leader = run.elect()
    answer = ask(run.group, leader, BatchAppendEntryRequest("", ("a", "x" * 65_536, "b")))
    assert answer.code == ResponseCode.DISK_ERROR
    assert ask(run.group, leader, entry(1)).index == 1


# ---- A disk that is full ----


@dataclass
class Space:
    """A disk whose use a test decides, at an hour at which nothing expires."""

    used: float = 0.5

    def used_ratio(self) -> float:
        return self.used

    def time_of_day(self) -> datetime:
        return datetime(2024, 1, 1, 12)


def test_a_leader_whose_disk_is_full_above_nine_tenths_refuses_clients_until_it_has_space() -> None:
    """Source: DLedgerConfig.getDiskFullRatio; CleanSpaceService, which looks every 100 ms."""
    space = {node: Space() for node in ("n1", "n2", "n3")}
    run = DLedgerGroup(1, space=space)
    leader = run.elect()
    for used, code in ((0.89, ResponseCode.SUCCESS), (0.91, ResponseCode.DISK_FULL), (0.89, ResponseCode.SUCCESS)):
        space[leader].used = used
        run.group.run_until(run.group.now + 0.2)
        answer = ask(run.group, leader, entry(1))
        assert (answer.code, answer.leader_id) == (code, leader)
    assert [step.action for step in run.group.steps if step.action.startswith("Disk")] == ["DiskFull", "DiskHasSpace"]
    # A client that is refused for that changes nothing, and is no step.
    assert list(replayed(run.plan, run.group.steps))


def test_a_follower_whose_disk_is_full_stores_nothing_and_catches_up_once_it_has_space() -> None:
    """Source: DLedgerMmapFileStore.appendAsFollower; EntryHandler.handleDoAppend, INCONSISTENT_STATE."""
    space = {node: Space() for node in ("n1", "n2", "n3")}
    run = DLedgerGroup(1, space=space)
    leader = run.elect()
    assert ask(run.group, leader, entry(1)).code == ResponseCode.SUCCESS
    behind = run.followers[0]
    space[behind].used = 0.95
    run.group.run_until(run.group.now + 0.2)
    assert ask(run.group, leader, entry(2)).code == ResponseCode.SUCCESS
    run.group.run_until(run.group.now + 2)
    assert run.driver(behind).server.ledger_store.end_index == Index(0)
    space[behind].used = 0.5
    run.group.run_until(run.group.now + 6)
    assert run.committed(behind) == ["v1", "v2"]
    assert list(replayed(run.plan, run.group.steps))
