"""Beginnings and endings that several scripts of hashicorp/raft have in common."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.scripts.reproduce.raft_group import RaftGroup, votes_only


def lead(group: RaftGroup, leader: str, *followers: str, command: str) -> tuple[int, int]:
    """Start a group that a server leads, and let all apply a command; return the term, and the command's index."""
    group.links.rules(*votes_only(leader))
    group.start(*sorted((leader, *followers)))
    term = group.await_leads(leader)
    index = group.apply_at(leader, command)
    assert index is not None
    for name in followers:
        group.await_applied(name, index)
    return term, index


def begin_snapshot(group: RaftGroup, name: str) -> Callable[[], None]:
    """Let a server begin a snapshot that it is slow to write; return what lets it end."""
    group.arm(name, "persist", "wait")
    saving = threading.Thread(target=group.snapshot_at, args=(name,), daemon=True)
    saving.start()
    group.await_place(name, "persist")

    def end() -> None:
        group.release(name, "persist")
        saving.join(10)

    return end


def sent_for_ever(group: RaftGroup, command: str, times: int) -> tuple[int, int]:
    """Let n1 send n2 its snapshot some times, apply a command that n3 gets, and send it to n2 as often once more.

    Return how often it was sent in all, and the index of the command, which n2 does not have.
    """
    links = group.links
    begin = links.mark()
    links.rules(*votes_only("n1"))
    links.seen("InstallSnapshot", src="n1", dst="n2", since=begin, count=times)
    last = group.apply_at("n1", command)
    assert last is not None
    group.await_applied("n3", last)
    links.seen("InstallSnapshot", src="n1", dst="n2", since=links.mark(), count=times)
    assert group.read_at("n2", last) is None, "n2 has caught up"
    return links.count("InstallSnapshot", src="n1", dst="n2", since=begin), last
