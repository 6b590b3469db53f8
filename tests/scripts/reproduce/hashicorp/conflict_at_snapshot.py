"""ConflictAtSnapshot: a snapshot is installed over a log that disagrees with it, and the log stays."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import cut_off
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.reproduction import Reproduction

#: How often the same snapshot must have been sent to call that for ever.
_TIMES = 5


def play(group: RaftGroup) -> str:
    """Let n2 store entries that nobody else has, and get a snapshot of others in their places."""
    links = group.links
    links.rules(*votes_only("n2"))
    group.start("n1", "n2", "n3")
    group.await_leads("n2")
    index = group.apply_at("n2", "a")
    assert index is not None
    for name in ("n1", "n3"):
        group.await_applied(name, index)

    links.rules(*cut_off("n2"), *votes_only("n1"))
    group.apply_unawaited("n2", "b", "c")
    group.await_leads("n1")
    # The no-op of n1 is at the place of b, and d at that of c.
    assert group.apply_at("n1", "d") == index + 2
    assert group.snapshot_at("n1") == index + 2

    begin = links.mark()
    links.rules(*votes_only("n1"))
    links.seen("InstallSnapshot", src="n1", dst="n2", since=begin, count=_TIMES)
    last = group.apply_at("n1", "e")
    assert last is not None
    group.await_applied("n3", last)
    links.seen("InstallSnapshot", src="n1", dst="n2", since=links.mark(), count=_TIMES)
    assert group.read_at("n2", last) is None, "n2 has caught up"
    sent = links.count("InstallSnapshot", src="n1", dst="n2", since=begin)
    return f"n2 gets the same snapshot again and again ({sent} times), and never the entry e at {last} behind it"


REPRODUCTION = Reproduction(
    "ConflictAtSnapshot",
    ("1.8.0",),
    partial(RaftGroup, trailing_logs=1),
    play,
    violates="LogAgreesWithSnapshot",
    refused="InstallSnapshot",
)
