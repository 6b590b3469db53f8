"""StaleInstall: a snapshot of what a server has applied long ago is installed, and sets its state machine back."""

from __future__ import annotations

from functools import partial

from tests.scripts.reproduce.links import hold
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: RaftGroup) -> str:
    """Let the first InstallSnapshot to n3 come late: its call has timed out, and the second has done its work."""
    links = group.links
    late = hold("InstallSnapshot", src="n1", dst="n3", limit=1)
    links.rules(late, *votes_only("n1"))
    group.start("n1", "n2")
    group.await_leads("n1")
    for value in ("a", "b", "c"):
        assert group.apply_at("n1", value) is not None
    assert group.snapshot_at("n1") is not None
    group.start("n3")
    held = links.held(late)
    index = group.apply_at("n1", "d")
    assert index is not None
    group.await_applied("n3", index)
    assert group.read_at("n3", index) == "d"

    begin = links.mark()
    held.release()
    links.seen("InstallSnapshot", src="n3", dst="n1", is_answer=True, since=begin)
    assert group.read_at("n3", index) is None, "d is still there"
    return f"n3 had served d at index {index}; after the late snapshot its state machine does not have it"


REPRODUCTION = Reproduction(
    "StaleInstall",
    ("1.8.0",),
    partial(RaftGroup, trailing_logs=1),
    play,
    violates="FsmNeverGoesBackProp",
    refused="InstallSnapshot",
)
