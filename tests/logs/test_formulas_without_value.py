"""An explanation with a state in which a property has no value is left out, and the verdict names the property."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from lockstep.base.verdict import Verdict
from lockstep.conformance.trace_verdict import TraceVerdict
from lockstep.models.search_result import SpecFiles
from lockstep.systems.file_check import own_check

Check = Callable[[str], TraceVerdict]

SHELF = """---- MODULE Shelf ----
EXTENDS Naturals, Sequences
VARIABLES n, box
Init == n = 0 /\\ box = <<>>
Take(k) == n' = n + k /\\ UNCHANGED box
Push == box' = Append(box, n) /\\ UNCHANGED n
Next == (\\E k \\in 1..2 : Take(k)) \\/ Push
Small == n = 2 => Head(box) < 100
Steps == [][n' = 2 => Head(box) < 100]_n
====
"""
MAPPING = """kind = "e"
[hidden]
Take = 1
[lines.see]
shows = { n = "n" }
[lines.take]
action = "Take"
args = { k = "k" }
[lines.push]
action = "Push"
"""


@pytest.fixture(params=["INVARIANT Small", "PROPERTY Steps"])
def name(request: pytest.FixtureRequest) -> str:
    """The name of each of two properties that take the head of an empty box."""
    return str(request.param)


@pytest.fixture
def check(tmp_path: Path, name: str) -> Check:
    (tmp_path / "Shelf.tla").write_text(SHELF)
    (tmp_path / "Shelf.cfg").write_text(f"INIT Init\nNEXT Next\n{name}\n")
    (tmp_path / "mapping.toml").write_text(MAPPING)
    log = tmp_path / "a.log"

    def check(text: str) -> TraceVerdict:
        log.write_text(text)
        return own_check(SpecFiles(tmp_path / "Shelf.tla", mapping=tmp_path / "mapping.toml")).check_logs([log])

    return check


def test_a_hidden_step_without_a_value_is_left_out_and_others_explain_the_lines(check: Check) -> None:
    found = check('{"e": "see", "n": 1}\n{"e": "push"}\n{"e": "see", "n": 1}\n')
    assert found.verdict is Verdict.HOLDS, found.reason


def test_a_log_without_an_explanation_left_is_inconclusive_and_names_the_property(check: Check, name: str) -> None:
    property_name = name.split()[1]
    for lines in ('{"e": "see", "n": 2}\n', '{"e": "take", "k": 2}\n{"e": "see", "n": 2}\n'):
        found = check(lines)
        assert found.verdict is Verdict.INCONCLUSIVE
        assert re.search(rf": Take(, which is hidden)?: {property_name} has no value: Head of the", found.reason)


def test_an_initial_state_without_a_value_is_the_specs_fault_and_names_the_property(
    tmp_path: Path, name: str, check: Check
) -> None:
    text = SHELF.replace("n = 0 /\\", "n = 2 /\\").replace("n' = 2 =>", "n = 2 =>").replace("_n", "_<<n, box>>")
    (tmp_path / "Shelf.tla").write_text(text)
    found = check('{"e": "push"}\n')
    assert found.verdict is (Verdict.MALFORMED if "Small" in name else Verdict.INCONCLUSIVE)
    assert f"{name.split()[1]} has no value: Head of the empty sequence" in found.reason
