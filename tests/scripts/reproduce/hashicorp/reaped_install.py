"""ReapedInstall: a snapshot older than those that a server keeps is removed as it is saved, and sent again for ever."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import drop
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.raft_scenes import begin_snapshot, sent_for_ever
from tests.scripts.reproduce.reproduction import Reproduction

#: How often the same snapshot must have been sent to call that for ever.
_TIMES = 3


def play(group: RaftGroup) -> str:
    """Let n1 be slow to save a snapshot while n2, whose answers are lost, takes two that are newer."""
    links = group.links
    links.rules(*votes_only("n1"))
    group.start("n1", "n2", "n3")
    group.await_leads("n1")
    group.await_applied("n2", 2)

    links.rules(*votes_only("n1"), drop("AppendEntries", src="n2", dst="n1", is_answer=True))
    first = group.apply_at("n1", "a")
    assert first is not None
    end_snapshot = begin_snapshot(group, "n1")
    index = group.apply_at("n1", "b")
    assert index is not None
    group.await_applied("n2", index)
    for _ in range(2):
        assert group.snapshot_at("n2") == index
    end_snapshot()

    # To n1 n2 lacks a, and n1 has nothing left before that but its snapshot.
    sent, last = sent_for_ever(group, "c", _TIMES)
    return f"n2 is sent the snapshot of {first} again and again ({sent} times), and never the entry c at {last}"


REPRODUCTION = Reproduction(
    "ReapedInstall",
    ("1.8.0",),
    partial(RaftGroup, trailing_logs=2, rpc_timeout=0.3),
    play,
    violates=None,
    refused="InstallSnapshot",
)
