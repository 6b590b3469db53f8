"""VerifyCountsNonvoters: VerifyLeader counts the answer of a server that has no vote."""

from __future__ import annotations

from functools import partial

from raftref.hashicorp.membership import ChangeCommand
from tests.scripts.reproduce.links import apart
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: RaftGroup) -> str:
    """Let n1 reach n4 alone, which has no vote, while n2 and n3 elect n3."""
    links = group.links
    links.rules(*votes_only("n1"))
    group.start("n1", "n2", "n3", "n4")
    group.await_leads("n1")
    group.change(ChangeCommand.ADD_NONVOTER, "n4")
    old = group.apply_at("n1", "old")
    assert old is not None
    for name in ("n2", "n3", "n4"):
        group.await_applied(name, old)

    links.rules(*apart("n1", "n2"), *apart("n1", "n3"), *apart("n3", "n4"), *votes_only("n3"))
    group.await_leads("n3")
    index = group.apply_at("n3", "new")
    assert index is not None
    assert group.verify_at("n1"), "n1 does not confirm that it leads"
    assert group.read_at("n1", index) is None, "n1 has what n3 has confirmed"
    return f"n3 confirmed a write at index {index}; later n1 confirmed that it leads, and its state lacks that write"


REPRODUCTION = Reproduction(
    "VerifyCountsNonvoters",
    ("1.8.0",),
    # n1 is the slow one, so that its lease lasts while n3 is elected.
    partial(RaftGroup, others=("n4",), times={"n1": 10.0}),
    play,
    violates="VerifiedLeads",
    refused="HandleVerify",
)
