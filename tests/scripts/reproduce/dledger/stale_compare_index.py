"""StaleCompareIndex: a leader goes on from where a comparison of an earlier leadership stopped."""

from __future__ import annotations

from tests.scripts.reproduce.dledger_group import PUSHES, DLedgerGroup, votes_only
from tests.scripts.reproduce.links import cut_off, drop
from tests.scripts.reproduce.reproduction import Reproduction


def play(group: DLedgerGroup) -> str:
    """Let n0 compare in vain, be deposed, and lead once more."""
    links = group.links
    links.rules(*votes_only("n0"))
    group.up("n0", "n1", "n2")
    group.await_leads("n0", "n1", "n2")
    group.append_to("n0", "x")
    group.await_committed(0)

    # Dispatchers begin with COMPARE in a new process, and nobody answers them.
    links.rules(*votes_only("n0"), drop("COMPARE", src="n0"))
    group.stop("n0")
    begin = links.mark()
    group.up("n0")
    group.await_leads("n0", "n1", "n2")
    for peer in ("n1", "n2"):
        links.seen("COMPARE", src="n0", dst=peer, since=begin)

    links.rules(*cut_off("n0"), *votes_only("n1"))
    group.await_leads("n1", "n2")
    assert group.append_to("n1", "y") == 1, "y is not confirmed"

    # n0 follows, and gets y.
    begin = links.mark()
    links.rules(*votes_only("n1"))
    group.await_leads("n1", "n0")
    group.await_end("n0", 1, begin)

    # n0 leads again. Comparisons and TRUNCATEs reach its peers, and what would bring y back does not.
    begin = links.mark()
    silent = drop("HEART_BEAT", *PUSHES, src="n1")
    links.rules(*votes_only("n0"), silent, drop("APPEND", "COMMIT", src="n0"))
    group.await_leads("n0", "n1", "n2")
    for peer in ("n1", "n2"):
        links.seen("TRUNCATE", src=peer, is_answer=True, since=begin)

    links.rules(*cut_off("n0"), *votes_only("n1"))
    group.await_leads("n1", "n2")
    assert group.get_from("n1", 0) == "x"
    assert group.get_from("n1", 1) is None, "y is still there"
    assert group.append_to("n1", "z") == 1
    assert group.get_from("n1", 1) == "z"
    return "y was confirmed at index 1; the next leader has no entry there, and gives the index to z"


REPRODUCTION = Reproduction(
    "StaleCompareIndex",
    ("0.2.7", "0.3.2"),
    DLedgerGroup,
    play,
    violates="CommittedEntriesStayProp",
    refused="DoCompare",
)
