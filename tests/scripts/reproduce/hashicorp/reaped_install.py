"""ReapedInstall: a snapshot older than those that a server keeps is removed as it is saved, and sent again for ever."""

from __future__ import annotations

import threading
from functools import partial

from tests.scripts.reproduce.links import drop
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
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
    group.arm("n1", "persist", "wait")
    saving = threading.Thread(target=group.snapshot_at, args=("n1",), daemon=True)
    saving.start()
    group.await_place("n1", "persist")
    index = group.apply_at("n1", "b")
    assert index is not None
    group.await_applied("n2", index)
    for _ in range(2):
        assert group.snapshot_at("n2") == index
    group.release("n1", "persist")
    saving.join(10)

    # To n1 n2 lacks a, and n1 has nothing left before that but its snapshot.
    begin = links.mark()
    links.rules(*votes_only("n1"))
    links.seen("InstallSnapshot", src="n1", dst="n2", since=begin, count=_TIMES)
    last = group.apply_at("n1", "c")
    assert last is not None
    group.await_applied("n3", last)
    links.seen("InstallSnapshot", src="n1", dst="n2", since=links.mark(), count=_TIMES)
    assert group.read_at("n2", last) is None, "n2 has caught up"
    sent = links.count("InstallSnapshot", src="n1", dst="n2", since=begin)
    return f"n2 is sent the snapshot of {first} again and again ({sent} times), and never the entry c at {last}"


REPRODUCTION = Reproduction(
    "ReapedInstall",
    ("1.8.0",),
    partial(RaftGroup, trailing_logs=2, rpc_timeout=0.3),
    play,
    violates=None,
    refused="InstallSnapshot",
)
