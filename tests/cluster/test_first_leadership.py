"""A first leadership of DLedger 0.4.0, which the recorder does not know, empties the logs of the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scripts.reproduce.dledger_group import DLedgerGroup, votes_only
from tests.scripts.reproduce.links import Frame, cut_off, drop


def has_second(frame: Frame) -> bool:
    """An answer to the push of the entry at index 1."""
    return bool(frame.fields.get("index") == 1)


@pytest.mark.nightly
def test_a_first_leadership_of_0_4_0_loses_what_was_confirmed(tmp_path: Path) -> None:
    """All began with empty logs; n1 leads for the first time, and its APPENDs reach nobody; then n2 leads."""
    with DLedgerGroup(tmp_path, "0.4.0", is_recorded=False) as group:
        links = group.links
        links.rules(*votes_only("n0"))
        group.up("n0", "n1", "n2")
        group.await_leads("n0", "n1", "n2")
        assert [group.append_to("n0", value) for value in "xy"] == [0, 1]
        for follower in ("n1", "n2"):
            links.seen(src=follower, is_answer=True, where=has_second)
        assert [group.get_from("n0", index) for index in (0, 1)] == ["x", "y"]

        begin = links.mark()
        silent = (*votes_only("n1"), drop("APPEND", src="n1"))
        links.rules(*cut_off("n0"), *silent)
        group.await_leads("n1", "n2")
        links.seen("TRUNCATE", src="n2", is_answer=True, since=begin)
        links.rules(*silent)
        group.await_leads("n1", "n0")
        links.seen("TRUNCATE", src="n0", is_answer=True, since=begin)

        links.rules(*cut_off("n1"), *votes_only("n2"))
        group.await_leads("n2", "n0")
        assert group.get_from("n2", 0) is None
        assert group.append_to("n2", "z") == 0
        assert group.get_from("n2", 0) == "z"
