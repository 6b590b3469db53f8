"""TransferFlagLeft: the flag of a transfer outlives the leadership, and refuses the writes of the next one."""

from __future__ import annotations

import time
from functools import partial

from tests.scripts.reproduce.links import cut_off, hold
from tests.scripts.reproduce.raft_group import RaftGroup, votes_only
from tests.scripts.reproduce.raft_scenes import lead
from tests.scripts.reproduce.reproduction import Reproduction

#: The time of a call, in seconds, for which the flag may stand: half of that in Consul and Nomad.
_RPC_TIMEOUT = 5.0


def play(group: RaftGroup) -> str:
    """Let n1 hand over to n2 with no answer to TimeoutNow, lose its leadership, and lead again."""
    links = group.links
    term, _ = lead(group, "n1", "n2", "n3", command="a")

    lost = hold("TimeoutNow", src="n1", dst="n2")
    links.rules(*votes_only("n1"), lost)
    group.transfer_in_vain("n1", "n2")
    links.held(lost)

    links.rules(*cut_off("n1"), *votes_only("n1"))
    group.until(lambda: (group.status("n1") or {}).get("state") != "Leader")
    links.rules(*votes_only("n1"))
    again = group.await_leads("n1")
    assert again > term
    began = time.monotonic()
    assert group.apply_at("n1", "b") is None, "b is confirmed"
    assert "ErrLeadershipTransferInProgress" in group.story.lines[-1]
    group.until_applied_at("n1", "c")
    stood = time.monotonic() - began
    return f"n1 leads term {again}, and refuses writes for {stood:.1f} s: a transfer of term {term} seems to go on"


REPRODUCTION = Reproduction(
    "TransferFlagLeft",
    ("1.8.0",),
    partial(RaftGroup, rpc_timeout=_RPC_TIMEOUT),
    play,
    violates="TransferIsOwn",
    refused="EndTransfer",
)
