"""ConflictAtSnapshot: a snapshot is installed over a log that disagrees with it, and the log stays."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import cut_off
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.raft_scenes import lead, sent_for_ever
from tests.scripts.reproduce.reproduction import Reproduction

#: How often the same snapshot must have been sent to call that for ever.
_TIMES = 5


def play(group: RaftGroup) -> str:
    """Let n2 store entries that nobody else has, and get a snapshot of others in their places."""
    _, index = lead(group, "n2", "n1", "n3", command="a")

    group.links.rules(*cut_off("n2"), *votes_only("n1"))
    group.apply_unawaited("n2", "b", "c")
    group.await_leads("n1")
    # The no-op of n1 is at the place of b, and d at that of c.
    assert group.apply_at("n1", "d") == index + 2
    assert group.snapshot_at("n1") == index + 2

    sent, last = sent_for_ever(group, "e", _TIMES)
    return f"n2 gets the same snapshot again and again ({sent} times), and never the entry e at {last} behind it"


REPRODUCTION = Reproduction(
    "ConflictAtSnapshot",
    ("1.8.0",),
    partial(RaftGroup, trailing_logs=1),
    play,
    violates="LogAgreesWithSnapshot",
    refused="InstallSnapshot",
)
