"""TruncatedTail: what a TRUNCATE cuts stays in the file, and comes back when the node starts again."""

from __future__ import annotations

from tests.scripts.reproduce.dledger_group import DLedgerGroup, votes_only
from tests.scripts.reproduce.links import cut_off, drop
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: DLedgerGroup) -> str:
    """Let n0 cut y, kill and start it, and let a COMMIT reach it before the entry that belongs there."""
    links = group.links
    links.rules(*votes_only("n0"))
    group.up("n0", "n1", "n2")
    group.await_leads("n0", "n1", "n2")
    assert group.append_to("n0", "x") == 0
    group.await_committed(0)
    links.rules(*votes_only("n0"), drop("APPEND", src="n0"))
    assert group.append_to("n0", "y") is None

    links.rules(*cut_off("n0"), *votes_only("n1"))
    group.await_leads("n1", "n2")
    begin = links.mark()
    links.rules(*votes_only("n1"))
    group.await_leads("n1", "n0")
    links.seen("TRUNCATE", src="n0", dst="n1", is_answer=True, since=begin)

    links.rules(*votes_only("n1"), drop("APPEND", dst="n0"))
    group.kill("n0")
    group.up("n0")
    group.await_leads("n1", "n0")
    assert group.append_to("n1", "z") == 1
    group.await_committed(1, "n0", "n1")
    assert group.get_from("n1", 1) == "z"
    group.kill("n0")
    group.kill("n1")
    found = {node: (group.stored(node).entries[1].value, group.stored(node).committed_index) for node in ("n0", "n1")}
    assert found == {"n0": ("y", 1), "n1": ("z", 1)}, found
    return "z was confirmed at index 1; n0 has committed y there, which was cut and came back"


REPRODUCTION = Reproduction(
    "TruncatedTail", ("0.2.7", "0.3.2"), DLedgerGroup, play, violates="RecoveryKeepsLogProp", refused="Restart"
)
