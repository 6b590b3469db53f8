"""TornVote: a server dies between the two writes of its vote, and then has the new term with the old candidate."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import cut_off, drop, hold
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: RaftGroup) -> str:
    """Let n3 vote for n2, and later die between the writes of a vote for n1. Pre-votes are on, as by default."""
    links = group.links
    links.rules(*votes_only("n2"))
    group.start("n1", "n2", "n3")
    first = group.await_leads("n2")
    for name in ("n1", "n3"):
        group.await_applied(name, 2)

    # n1 wins the next term by the vote of n2, and n3 follows without a vote.
    silent = drop(src="n2")
    links.rules(*votes_only("n1"), drop("RequestVote", "RequestPreVote", dst="n3"), silent)
    group.await_leads("n1", first + 1)
    for name in ("n2", "n3"):
        group.await_leader_known(name, "n1")

    # It hands over to n2, and the request is late: a TimeoutNow has no term, and starts an election without pre-votes.
    late = hold("TimeoutNow", src="n1", dst="n2")
    links.rules(late, silent)
    group.transfer_in_vain("n1", "n2")
    held = links.held(late)

    links.rules(silent, drop("AppendEntries", src="n1", dst="n2"))
    index = group.until_applied_at("n1", "a")

    # n1 starts again, and asks n3 for a vote of the term after.
    group.arm("n3", "set LastVoteCand", "kill")
    links.rules(*votes_only("n1"), *cut_off("n2"))
    group.kill("n1")
    group.start("n1")
    group.await_death("n3")
    group.kill("n1")

    links.rules(*votes_only("n2"))
    group.start("n3")
    held.release()
    group.await_leads("n2", first + 2)
    assert group.apply_at("n2", "b") is not None
    assert group.read_at("n2", index) != "a", "a is still there"
    group.await_applied("n3", index)
    assert group.read_at("n3", index) != "a"
    return f"a was confirmed at index {index} by n1 and n3; n2 leads without it, and has another entry there"


REPRODUCTION = Reproduction(
    "TornVote",
    ("1.8.0",),
    # n2 is slow to stand for election by itself: TimeoutNow does nothing to a candidate.
    partial(RaftGroup, times={"n2": 4.0}),
    play,
    violates="LeaderCompleteness",
    refused="RequestVote",
)
