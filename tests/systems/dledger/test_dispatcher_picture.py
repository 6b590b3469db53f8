"""The picture of a dispatcher's states, on the README, is what a model of the spec has."""

from __future__ import annotations

import re

import pytest

from tests.scripts.dispatcher_picture import BOXES, changes, drawn, explored
from tests.support.places import ROOT

PICTURE = ROOT / "docs" / "pictures" / "dispatcher.svg"


def test_the_picture_names_only_actions_and_states_of_the_spec() -> None:
    spec = "".join(each.read_text(encoding="utf-8") for each in sorted((ROOT / "spec/dledger").glob("*.tla")))
    actions = set(re.findall(r"^\\\* ACTION (\w+):", spec, re.MULTILINE))
    labels = set(re.findall(r'font-size="12"[^>]*>(\w+)<', PICTURE.read_text(encoding="utf-8")))
    assert len(labels) >= 8
    assert labels <= actions
    assert all(f'"{state}"' in spec for state in BOXES)


@pytest.mark.nightly
def test_the_picture_shows_every_change_of_a_dispatcher_in_the_model() -> None:
    found = explored()
    assert found.complete
    assert drawn(changes(found)) == PICTURE.read_text(encoding="utf-8")
