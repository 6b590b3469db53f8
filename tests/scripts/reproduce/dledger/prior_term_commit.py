"""PriorTermCommit: an entry of an earlier term is committed by counting copies (Figure 8 of the Raft paper)."""

from __future__ import annotations

from tests.scripts.reproduce.dledger_group import PUSHES, DLedgerGroup, votes_only
from tests.scripts.reproduce.links import cut_off, drop
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: DLedgerGroup) -> str:
    """Let n0 and n1 each store an entry alone, let n0 commit its own in a later term, and let n1 lead."""
    links = group.links
    links.rules(*votes_only("n0"), drop(*PUSHES, src="n0"))
    group.up("n0", "n1", "n2")
    group.await_leads("n0", "n1", "n2")
    assert group.append_to("n0", "x") is None

    links.rules(*cut_off("n0"), *votes_only("n1"), drop(*PUSHES, src="n1"))
    group.await_leads("n1", "n2")
    assert group.append_to("n1", "y") is None

    links.rules(*cut_off("n1"), *votes_only("n0"))
    group.await_leads("n0", "n2")
    group.await_committed(0, "n0")
    assert group.get_from("n0", 0) == "x"

    links.rules(*cut_off("n0"), *votes_only("n1"))
    group.await_leads("n1", "n2")
    assert group.append_to("n1", "z") == 1
    assert group.get_from("n1", 0) == "y"
    group.await_committed(1, "n1", "n2")
    return "n0 had committed x at index 0 and served it; the next leader has committed y there"


REPRODUCTION = Reproduction(
    "PriorTermCommit", ("0.2.7", "0.3.2"), DLedgerGroup, play, violates="LeaderCompleteness", refused="ActOnQuorumIndex"
)
