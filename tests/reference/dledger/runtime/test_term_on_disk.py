"""A DLedger node's term and vote on its disk."""

from __future__ import annotations

from random import Random

import pytest

from raftref.disks.simulated_disk import SimulatedDisk
from raftref.dledger.choices import PUBLISHED, REPAIRED, Config
from raftref.dledger.messages import HeartBeatMessage, Index, Term, VoteMessage
from raftref.dledger.runtime.driver import DLedgerDriver
from raftref.dledger.storage import TermFile
from tests.support.systems.running_dledger import ADDRESSES, FILES


class FullDisk(SimulatedDisk):
    """Takes nothing while it is full."""

    is_full = False

    def write(self, name: str, offset: int, data: bytes) -> None:
        if self.is_full:
            raise OSError("No space left on device")
        super().write(name, offset, data)


@pytest.mark.parametrize("config", [PUBLISHED, REPAIRED])
def test_a_term_that_could_not_be_written_is_written_with_the_next_step(config: Config) -> None:
    """Source: MemberState.persistTerm."""
    disk = FullDisk()
    driver = DLedgerDriver("n1", ADDRESSES, disk, config, Random(1), lambda _: None, storage=FILES)
    driver.start(0.0)
    state = driver.server.member_state
    disk.is_full = True
    driver.on_request(0.1, "v", VoteMessage("n2", "n1", Term(7), Term(-1), Index(-1)))
    with pytest.raises(OSError, match="No space"):
        for tenth in range(2, 100):
            driver.on_time(tenth / 10)
    term = state.curr_term
    assert term > 0
    disk.is_full = False
    driver.on_request(10.1, "h", HeartBeatMessage("n2", "n1", term))
    assert (state.curr_term, state.leader_id) == (term, "n2")
    assert TermFile(disk, config).load() == (term, state.curr_vote_for)
