"""SnapshotRegress: a snapshot that is saved late takes the place of a newer one that was installed meanwhile."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import cut_off, hold
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.raft_scenes import begin_snapshot, lead
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: RaftGroup) -> str:
    """Let n2 be slow to save its snapshot, and install one of n1 meanwhile."""
    links = group.links
    _, first = lead(group, "n1", "n2", "n3", command="a")
    end_snapshot = begin_snapshot(group, "n2")

    links.rules(*cut_off("n2"), *votes_only("n1"))
    for value in ("b", "c", "d"):
        index = group.apply_at("n1", value)
    assert index is not None
    assert group.snapshot_at("n1") == index
    begin = links.mark()
    links.rules(*votes_only("n1"))
    links.seen("InstallSnapshot", src="n2", dst="n1", is_answer=True, since=begin)
    group.await_applied("n2", index)
    newer = group.status("n2")
    assert newer is not None

    # Nothing of n1 mends it while one looks.
    links.rules(*votes_only("n1"), hold("AppendEntries", "InstallSnapshot", src="n1", dst="n2"))
    end_snapshot()
    older = group.status("n2")
    assert older is not None
    for shown in (newer, older):
        group.story.add(
            "n2: " + ", ".join(f"{name} {shown[name]}" for name in ("lastSnapshot", "lastLog", "appliedIndex"))
        )
    assert (newer["lastSnapshot"]["index"], older["lastSnapshot"]["index"]) == (index, first)
    assert older["lastLog"]["index"] < older["appliedIndex"] == index
    return f"n2 has applied up to {index}, and takes its log to end at {older['lastLog']['index']}"


REPRODUCTION = Reproduction(
    "SnapshotRegress",
    ("1.8.0",),
    partial(RaftGroup, trailing_logs=1),
    play,
    violates="IndexOrder",
    refused="PersistSnapshot",
)
