"""DeleteThenStore: a server that cannot store what replaces deleted entries takes the deleted ones for present."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import Frame, cut_off, drop
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.raft_scenes import lead
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: RaftGroup) -> str:
    """Let n2 fail to store an entry of n1 in the place of those of n3; then let n3 commit its own with n2."""
    links = group.links
    term, first = lead(group, "n3", "n1", "n2", "n4", "n5", command="first")

    # x and y reach n2 alone.
    behind = [drop("AppendEntries", src="n3", dst=name) for name in ("n1", "n4", "n5")]
    links.rules(*votes_only("n3"), *behind)
    group.apply_unawaited("n3", "x", "y")
    group.await_last("n2", first + 2)

    # n1 leads with n4 and n5, and its first entry reaches n2 alone.
    group.arm("n2", "store", "fail")
    mine = [drop("AppendEntries", src="n1", dst=name) for name in ("n4", "n5")]
    links.rules(*votes_only("n1"), *cut_off("n3"), drop("RequestVote", "RequestPreVote", dst="n2"), *mine)
    group.await_leads("n1", term + 1)
    group.await_place("n2", "store")

    # n3 leads once more. n2 takes its log for that of n3, and stores what is behind it. It hears of no commit.
    def commits(frame: Frame) -> bool:
        return frame.dst == "n2" and bool(frame.fields.get("LeaderCommitIndex", 0) > first)

    links.rules(
        *cut_off("n1"),
        drop("AppendEntries", src="n3", dst="n5"),
        drop("AppendEntries", where=commits),
        *votes_only("n3"),
    )
    group.await_leads("n3")
    group.await_applied("n4", first + 3)
    assert (group.read_at("n3", first + 1), group.read_at("n4", first + 1)) == ("x", "x")

    links.rules(*cut_off("n3", "n4"), *votes_only("n2"))
    group.await_leads("n2")
    # With all connected n2 commits its first entry, and comes to apply what it does not have.
    links.rules(*votes_only("n2"))
    group.await_death("n2")
    panics = [line for line in group.log("n2").read_text().splitlines() if line.startswith("panic: ")]
    assert panics == ["panic: log not found"], panics
    group.story.add(f"n2, which leads, dies: {panics[0]}")
    return f"n3 and n4 had served x at index {first + 1}; n2 leads without it, and dies as it comes to apply it"


REPRODUCTION = Reproduction(
    "DeleteThenStore",
    ("1.8.0",),
    partial(RaftGroup, voters=("n1", "n2", "n3", "n4", "n5"), is_recorded=False),
    play,
    violates=None,
    refused=None,
)
