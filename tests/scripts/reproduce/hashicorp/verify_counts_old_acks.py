"""VerifyCountsOldAcks: VerifyLeader counts the answer to a heartbeat that was sent before it was asked."""

from __future__ import annotations

import threading
from functools import partial

from tests.scripts.reproduce.links import apart, cut_off, drop, hold
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.raft_scenes import lead
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: RaftGroup) -> str:
    """Let the answer of n2 to a heartbeat be late, until n3 leads and n1 is asked whether it leads."""
    links = group.links
    lead(group, "n1", "n2", "n3", command="old")

    # n3 hears nothing, and stands for election in vain, since n2 knows a leader.
    late = hold("Heartbeat", src="n2", dst="n1", is_answer=True)
    begin = links.mark()
    links.rules(*cut_off("n3"))
    links.seen("RequestPreVote", src="n3", dst="n2", since=begin)

    # n2 answers a heartbeat, and starts again; then it knows no leader.
    rest = [drop("AppendEntries", src="n1"), *apart("n1", "n3"), *votes_only("n3")]
    links.rules(late, *rest)
    held = links.held(late)
    links.rules(drop("Heartbeat", src="n1"), *rest)
    group.kill("n2")
    group.start("n2")
    group.await_leads("n3")
    index = group.apply_at("n3", "new")
    assert index is not None

    answers: list[bool] = []
    asked = threading.Thread(target=lambda: answers.append(group.verify_at("n1")), daemon=True)
    asked.start()
    asked.join(0.3)  # n1 notes the question, and its heartbeats get no answer
    assert not answers, "n1 has answered without the late answer"
    held.release()
    asked.join(10)
    assert answers == [True], "n1 does not confirm that it leads"
    assert group.read_at("n1", index) is None, "n1 has what n3 has confirmed"
    return (
        f"n3 has confirmed a write at index {index}; later n1 confirmed that it leads, and its state does not have it"
    )


REPRODUCTION = Reproduction(
    "VerifyCountsOldAcks",
    ("1.8.0",),
    # n1 is the slow one, so that its lease lasts while n3 is elected.
    partial(RaftGroup, times={"n1": 6.0, "n3": 0.5, "n2": 1.0}, rpc_timeout=10.0),
    play,
    violates="VerifiedLeads",
    refused="HandleVerify",
)
