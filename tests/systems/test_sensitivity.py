"""docs/measured/sensitivity.md lists the properties that each flaw violates; the repaired twins violate none."""

from __future__ import annotations

import functools
import re

import pytest

from tests.scripts.sensitivity import (
    HOLDS,
    VIOLATED,
    Found,
    cell,
    cfg_checking,
    checked_properties,
    flawed,
    row,
    search,
)
from tests.support.places import ROOT

SYSTEM = "HashicorpRaft"
PAGE = (ROOT / "docs" / "measured" / "sensitivity.md").read_text(encoding="utf-8")
MODELS = {each.name: each for each in flawed(SYSTEM)}


@functools.cache
def matrix() -> tuple[dict[str, str], dict[str, dict[str, str]]]:
    """The row of each model, and what each has of every property."""
    (models, properties) = re.findall(r"^  no\..*?(?=\n\n)|^  property.*?(?=\n```)", PAGE, re.MULTILINE | re.DOTALL)
    rows = {line.split()[2]: line for line in models.splitlines()[1:]}
    head, *lines = properties.splitlines()
    places = [head.index(f" {number}") + 1 for number in range(1, len(rows) + 1)]
    cells = {
        line.split()[0]: dict(zip(rows, (line[at : at + 2].strip() for at in places), strict=True)) for line in lines
    }
    return rows, cells


def test_the_page_has_every_flaw_that_the_manifest_has() -> None:
    rows, _ = matrix()
    assert rows.keys() | set(re.findall(r"^- `(\w+_bug)`", PAGE, re.MULTILINE)) == MODELS.keys()


def test_what_the_manifest_says_is_violated_is_violated_on_the_page() -> None:
    rows, cells = matrix()
    for name in rows:
        assert cells[MODELS[name].violates or ""][name] == VIOLATED


def affordable() -> list[str]:
    """The models whose two graphs have no more than 40,000 states together: the two others take half of the time."""
    sizes = {name: [int(each.replace(",", "")) for each in line.split()[3:5]] for name, line in matrix()[0].items()}
    found = [name for name, states in sizes.items() if sum(states) <= 40_000]
    assert len(found) >= len(sizes) - 2
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("name", affordable())
def test_a_search_of_both_graphs_finds_what_the_page_has(name: str) -> None:
    entry, (rows, cells) = MODELS[name], matrix()
    assert entry.twin is not None
    found, twin = search(SYSTEM, name), search(SYSTEM, entry.twin)
    assert twin.violated == frozenset()
    assert entry.violates in found.violated or not found.states
    number = list(rows).index(name) + 1
    assert rows[name].split() == " ".join(str(each) for each in row(number, entry, found, twin)).split()
    assert {prop: row_cells[name] for prop, row_cells in cells.items()} == {
        prop: cell(SYSTEM, prop, entry, found) for prop in cells
    }


def test_a_property_that_is_not_asked_of_a_model_is_neither_violated_nor_held() -> None:
    entry, found = MODELS["transfer_flag_left_bug"], Found(5, frozenset({"TransferIsOwn"}))
    cells = {prop: cell(SYSTEM, prop, entry, found) for prop in ("TransferIsOwn", "TypeOK", "SomebodyLeads")}
    assert cells == {"TransferIsOwn": VIOLATED, "TypeOK": HOLDS, "SomebodyLeads": ""}
    assert cell(SYSTEM, "TypeOK", entry, Found(0, frozenset())) == "?"


def test_every_property_of_a_trace_is_asked_and_no_other_is_left_in_the_cfg() -> None:
    checked = checked_properties(SYSTEM, "longer_log_older_term_bug")
    assert {"TypeOK", "CommittedIsStored"} < set(checked.states)
    assert "VoteOncePerTermProp" in checked.steps
    assert checked.behaviours == ("SomebodyLeads",)
    cfg = "SPECIFICATION Spec\nINVARIANTS\n  A\n  B\nPROPERTIES\n  C\nCONSTANT X = 1\n"
    assert cfg_checking(cfg, ["D"], ["E"]) == "SPECIFICATION Spec\nCONSTANT X = 1\nINVARIANTS\n  D\nPROPERTIES\n  E\n"
