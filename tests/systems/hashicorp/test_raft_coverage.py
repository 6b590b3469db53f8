"""docs/measured/coverage.md lists what clusters of hashicorp/raft reach, and leaves nothing out."""

from __future__ import annotations

import re

import pytest

from tests.scripts.raft_coverage import everything, section
from tests.support.places import ROOT


def page_block() -> str:
    text = (ROOT / "docs" / "measured" / "coverage.md").read_text(encoding="utf-8")
    of_raft = text[text.index("### hashicorp/raft") :]
    (block,) = re.findall(r"^```text\n(.*?)^```$", of_raft, re.MULTILINE | re.DOTALL)
    return str(block)


def test_the_page_lists_every_part_once_as_reached_or_with_its_reason() -> None:
    reached, _, never = page_block().partition("Never reached:")
    rows = re.findall(r"^  (\w+) +(.*?)  +(?:\d|seldom: |unreachable: )", f"{reached}{never}", re.MULTILINE)
    assert sorted(rows) == sorted(everything())


@pytest.mark.nightly
def test_the_page_lists_what_clusters_reach() -> None:
    assert re.sub(r"\n{2,}", "\n\n", section()) == page_block()
