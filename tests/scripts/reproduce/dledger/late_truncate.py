"""LateTruncate: a TRUNCATE that comes late cuts what its leader has appended meanwhile."""

from __future__ import annotations

from tests.scripts.reproduce.dledger_group import DLedgerGroup, votes_only
from tests.scripts.reproduce.links import Held, hold
from tests.scripts.reproduce.reproduction import Reproduction


def confirm_behind_a_held_truncate(group: DLedgerGroup) -> Held:
    """Let n0 and n1 confirm x and y while the first TRUNCATE of n0 to n1 is under way, and return that."""
    late = hold("TRUNCATE", src="n0", dst="n1", limit=1)
    group.links.rules(late, *votes_only("n0"))
    group.up("n0", "n1")
    group.await_leads("n0", "n1")
    group.append_to("n0", "x")  # not in time: n1 gets x by the second TRUNCATE, after the first call has timed out
    held = group.links.held(late)
    group.await_end("n1", 0)
    assert group.append_to("n0", "y") == 1, "y is not confirmed"
    return held


def deliver(group: DLedgerGroup, held: Held) -> None:
    """Let the TRUNCATE arrive, and wait for its answer."""
    begin = group.links.mark()
    held.release()
    group.links.seen("TRUNCATE", src="n1", is_answer=True, since=begin)


def play(group: DLedgerGroup) -> str:
    """Deliver the TRUNCATE, and kill the leader."""
    deliver(group, confirm_behind_a_held_truncate(group))
    group.kill("n0")
    group.links.rules(*votes_only("n1"))
    group.up("n2")
    group.await_leads("n1", "n2")
    assert group.get_from("n1", 0) == "x"
    assert group.get_from("n1", 1) is None, "y is still there"
    assert group.append_to("n1", "z") == 1
    return "y was confirmed at index 1 by n0 and n1; n0 died, and n1 leads without y, and gives the index to z"


REPRODUCTION = Reproduction(
    "LateTruncate",
    ("0.2.7", "0.3.2"),
    DLedgerGroup,
    play,
    violates="CommittedEntriesStayProp",
    refused="HandleDoTruncate",
)
