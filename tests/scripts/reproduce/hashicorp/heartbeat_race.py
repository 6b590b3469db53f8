"""HeartbeatRace: a heartbeat of a newer leader is handled while the main loop is about to lead the term before."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import allow, apart, cut_off
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.raft_scenes import lead
from tests.scripts.reproduce.reproduction import Reproduction

_PLACE = "log election won"


def play(group: RaftGroup) -> str:
    """Let n1 win a term, and stall in the line of its log that says so, until n2 leads the next term."""
    links = group.links
    term, first = lead(group, "n3", "n1", "n2", command="first")

    group.arm("n1", _PLACE, "wait")
    links.rules(*votes_only("n1"))
    group.kill("n3")
    group.await_place("n1", _PLACE)

    # n2 wins the term after by the vote of n3, and n1, which stalls, gets one heartbeat.
    links.rules(*votes_only("n2"), *cut_off("n1"))
    group.start("n3")
    group.await_leads("n2")
    begin = links.mark()
    links.rules(allow("Heartbeat", src="n2", dst="n1"), *votes_only(), *cut_off("n1"))
    links.seen("Heartbeat", src="n2", dst="n1", since=begin)
    index = group.apply_at("n2", "b")
    assert index == first + 2, index

    # n1 goes on. It reaches n3 alone, and n2 does not reach it.
    links.rules(*apart("n1", "n2"), *votes_only())
    group.release("n1", _PLACE)
    both = group.await_leads("n1"), group.await_leads("n2")
    group.story.add(f"n1 leads term {both[0]}, and n2 leads term {both[1]}; n1 had won term {term + 1}")
    assert both[0] == both[1]
    assert group.apply_at("n1", "a") == index
    assert (group.read_at("n1", index), group.read_at("n2", index)) == ("a", "b")
    return f"a and b were both confirmed at index {index}, by two leaders of term {both[0]}"


REPRODUCTION = Reproduction(
    "HeartbeatRace", ("1.8.0",), partial(RaftGroup, is_recorded=False), play, violates=None, refused=None
)
