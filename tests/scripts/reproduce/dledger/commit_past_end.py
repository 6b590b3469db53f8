"""CommitPastEnd: a TRUNCATE cuts below the committed index, and what comes there next counts as committed."""

from __future__ import annotations

from tests.scripts.reproduce.dledger.late_truncate import confirm_behind_a_held_truncate, deliver
from tests.scripts.reproduce.dledger_group import PUSHES, DLedgerGroup, votes_only
from tests.scripts.reproduce.links import drop
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: DLedgerGroup) -> str:
    """Deliver a late TRUNCATE to a node that knows what it cuts to be committed; then let it lead alone."""
    held = confirm_behind_a_held_truncate(group)
    group.await_committed(1, "n1")
    deliver(group, held)
    group.kill("n0")
    # n1 leads by the vote of n2, which gets no entry of it.
    group.links.rules(*votes_only("n1"), drop(*PUSHES, src="n1"))
    group.up("n2")
    group.await_leads("n1", "n2")
    assert group.get_from("n1", 1) is None, "y is still there"
    assert group.append_to("n1", "z") is None, "z is confirmed"
    assert group.get_from("n1", 1) == "z"
    group.await_committed(1, "n1")
    group.kill("n1")
    group.links.rules(*votes_only("n0"))
    group.up("n0")
    group.await_leads("n0", "n2")
    assert group.get_from("n0", 1) == "y"
    stored = group.stored("n1")
    assert (stored.entries[1].value, stored.committed_index) == ("z", 1), stored
    return "n1 has committed z at index 1, which nobody else stores; the group has committed y there"


REPRODUCTION = Reproduction(
    "CommitPastEnd", ("0.2.7", "0.3.2"), DLedgerGroup, play, violates="IndexOrder", refused="HandleDoTruncate"
)
